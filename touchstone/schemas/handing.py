"""What every event has in common that hands a trace on to a slower stage."""

from typing import ClassVar

from touchstone.schemas.case import Case, Identifier


class TraceRequest(Case):
    """A trace, or what a stage needs of it. Its `id` is that of the trace's event, so the results of all stages are of the same event.

    `day`: of the trace, in UTC, by which its results are grouped.
    """

    id_names: ClassVar[tuple[str, ...]] = ("trace_id",)

    trace_id: Identifier
    test_case_id: Identifier | None = None
    day: Identifier | None = None

    @property
    def case_id(self) -> str:
        """The trace's id."""
        return self.trace_id
