"""The system under test, as the self-test sees it: a task goes in, a status and an output come out."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, Protocol

from touchstone.scorers.selftest.system_settings import Status

#: The only type of task that is ever sent.
READ_INFO: Final = "READ_INFO"
#: A system in one of these states is still at work. Every other status ends a task.
PENDING: Final = frozenset({"ACCEPTED", "CREATED", "IN_PROGRESS", "PENDING", "PROCESSING", "QUEUED", "RUNNING", "STARTED", "SUBMITTED", "WAITING"})
#: An answer of more characters is a fault of the system: a rubric is not applied to a flood.
OUTPUT_CHARS_MAX: Final = 1_000_000
NAMESPACE: Final = re.compile(r"selftest-\d{8}-\d{4}-[a-z0-9]+")
_STATUS: Final = re.compile(r"[A-Z][A-Z_]{0,39}")

FaultCode = Literal["unreachable", "broken", "refused", "failed", "unreadable", "too_large", "timeout"]


@dataclass(frozen=True, slots=True)
class Names:
    """The namespace of a run: all its identifiers begin with `run_id`."""

    run_id: str

    @classmethod
    def new(cls, moment: datetime | None = None, randomness: str | None = None) -> "Names":
        """`selftest-YYYYMMDD-HHMM-<random>`, in UTC."""
        return cls(f"selftest-{(moment or datetime.now(UTC)).astimezone(UTC):%Y%m%d-%H%M}-{randomness or secrets.token_hex(4)}")

    def session(self, number: int) -> str:
        """A session per case, so that a system with a memory does not carry one case into the next. It has the form of a run id, too."""
        return f"{self.run_id}{number:03d}"


@dataclass(frozen=True, slots=True)
class Task:
    """A request to the system. Its type is fixed: nothing but `READ_INFO` can be made."""

    session_id: str
    task_group_id: str
    prompt: str
    task_type: Literal["READ_INFO"] = field(default="READ_INFO", init=False)

    def __post_init__(self) -> None:
        """Refuse a name outside the self-test's namespace, which would be our own defect."""
        if not (NAMESPACE.fullmatch(self.session_id) and NAMESPACE.fullmatch(self.task_group_id)):
            raise ValueError("a self-test's identifiers begin with selftest-YYYYMMDD-HHMM-")

    def document(self, **more: Any) -> dict[str, Any]:
        """The task as JSON."""
        return {"session_id": self.session_id, "task_group_id": self.task_group_id, "task_type": self.task_type, "prompt": self.prompt, **more}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task stands. `task_id`: the system's own name of it; the session's if it has none.

    For systems that get each turn as one request: `said`, the turns so far as (user, system), and `carried`, values for the next turn's template.
    """

    task_id: str
    status: Status
    output: str
    said: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    carried: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Replace lone surrogates, which JSON can contain and a UTF-8 report cannot."""
        object.__setattr__(self, "output", writable(self.output))

    @property
    def is_final(self) -> bool:
        """True if the system has finished, or waits for a reply."""
        return self.status not in PENDING


class SystemFault(Exception):
    """The system gave no outcome. It is the system's failure; the message never quotes what it sent.

    `unreachable`: no connection; `broken`: the connection ended before the answer did; `refused`: it answered with an error; `failed`: a function
    raised, or a program ended with an error; `unreadable`: what it sent has another form; `too_large`; `timeout`.
    """

    def __init__(self, code: FaultCode, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code: FaultCode = code
        self.detail = detail


class SystemUnderTest(Protocol):
    """The interface of all adapters."""

    @property
    def name(self) -> str:
        """Where the system is, for the report; without credentials."""
        ...

    async def open(self) -> None:
        """Connect, if the adapter must do so before it asks. Raises `ConfigError`."""
        ...

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        """Submit a task and wait until it ends or waits for a reply. Raises `SystemFault`."""
        ...

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        """Reply to a task that waits for it, and wait again. Raises `SystemFault`."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


def writable(text: str) -> str:
    """The text with a question mark for each lone surrogate."""
    return text.encode("utf-8", "replace").decode()


def outcome_of(document: Any, task_id: str) -> Outcome:
    """The outcome in a system's JSON: `status`, `output` (or `result`), `task_id`. Raises `SystemFault`."""
    if not isinstance(document, Mapping):
        raise SystemFault("unreadable", "not a JSON object")
    status = status_of(document.get("status"))
    output = next((document[name] for name in ("output", "result") if document.get(name) is not None), "")
    if not isinstance(output, str):
        raise SystemFault("unreadable", "the output is no text")
    if len(output) > OUTPUT_CHARS_MAX:
        raise SystemFault("too_large", f"an output of more than {OUTPUT_CHARS_MAX} characters")
    return Outcome(task_id_of(document) or task_id, status, output)


def status_of(word: Any) -> Status:
    """A status in capitals. Raises `SystemFault`."""
    if not isinstance(word, str) or not _STATUS.fullmatch(word.strip().upper()):
        raise SystemFault("unreadable", "no status")
    return word.strip().upper()


def task_id_of(document: Any) -> str | None:
    """The system's name of a task; None if it gives none. Raises `SystemFault` for one that cannot be used."""
    found = next((document[name] for name in ("task_id", "taskId", "id") if document.get(name) is not None), None) if isinstance(document, Mapping) else None
    if found is None:
        return None
    if not isinstance(found, str | int) or not re.fullmatch(r"[A-Za-z0-9_.:~-]{1,200}", str(found)) or str(found).strip(".") == "":
        raise SystemFault("unreadable", "a task_id that cannot be part of a path")
    return str(found)
