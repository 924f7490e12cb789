"""A clock that tests move."""


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now
