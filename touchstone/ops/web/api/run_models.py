"""Models of the API's responses about runs."""

from pydantic import Field

from touchstone.ops.web.response_models import Answer


class Run(Answer):
    """What one version and configuration of a suite scored, of one batch or of all. `run`: its name in addresses. `total`: its results."""

    run: str
    suite: str
    suite_version: str
    config_digest: str
    total: int
    concern_id: str | None
    batch_id: str | None
    labels: dict[str, int]
    first_at: str
    last_at: str


class Runs(Answer):
    """The runs, latest first."""

    runs: list[Run]


class Flip(Answer):
    """How many cases went from one label to another; also those that kept theirs."""

    from_label: str = Field(alias="from")
    to: str
    count: int


class Shift(Answer):
    """The means of one value over the cases that have it in both runs. `low`, `high`: 95 % interval of the difference. `changed`: cases that differ."""

    name: str
    before: float
    now: float
    difference: float
    low: float | None
    high: float | None
    pairs: int
    changed: int


class CodeCounts(Answer):
    """How many results of either run have a code."""

    code: str
    before: int
    now: int


class Changed(Answer):
    """A case whose label changed. The event ids differ if the runs are paired by case ids."""

    event_id: str
    result_id: str
    event_before: str
    result_before: str
    label_before: str
    label: str
    case_id: str | None
    name: str


class Compared(Answer):
    """Two runs side by side: `a` before, `b` now. `paired_by`: the id that joins their cases. `cases`: a page of those whose label changed."""

    a: Run
    b: Run
    paired_by: str
    pairs: int
    flips: list[Flip]
    shifts: list[Shift]
    codes: list[CodeCounts]
    cases: list[Changed]
    next: str | None
