"""A limit on dead letters: a bad deploy of a producer, or of a suite, must not turn a whole topic into dead letters."""

from collections import Counter, deque
from collections.abc import Mapping

from touchstone.schemas.settings.house import WorkerSettings


class DeadLimit:
    """Counts the latest records and the dead ones among them. Once reached, it stays reached: a person has to look.

    The window slides by slices: it holds at least `dead_window_records` records as soon as so many were seen.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._on = settings.dead_limit == "on"
        self._share = settings.dead_limit_share
        self._number = settings.dead_limit_records
        self._window = settings.dead_window_records
        self._slices: deque[tuple[int, Mapping[str, int]]] = deque()
        self._records = 0
        self._codes: Counter[str] = Counter()
        self.reached = False

    def admits(self, records: int, dead: Mapping[str, int]) -> bool:
        """Count a slice before its dead letters are sent. `dead`: code → records. False: they must not be sent."""
        if not self._on:
            return True
        if self.reached:
            return not dead
        self._slices.append((records, dead))
        self._records += records
        self._codes.update(dead)
        while self._records - self._slices[0][0] >= self._window:
            gone, codes = self._slices.popleft()
            self._records -= gone
            self._codes.subtract(codes)
        if not dead:
            return True
        count = self.dead
        self.reached = count >= self._number and count > self._share * self._records
        return not self.reached

    @property
    def records(self) -> int:
        """Records in the window."""
        return self._records

    @property
    def dead(self) -> int:
        """Dead ones among them."""
        return self._codes.total()

    def codes(self, most: int = 5) -> str:
        """The commonest codes and their counts, as `not_json 812, too_large 3`."""
        return ", ".join(f"{code} {count}" for code, count in self._codes.most_common(most) if count)

    def why(self) -> str:
        """One line that says what happened and how to continue."""
        return (
            f"{self.dead} of the last {self._records} records are dead letters ({self.codes()}): the worker stopped reading; "
            "check the producer, then restart the worker, with --dead-limit off if these records should become dead letters"
        )
