"""Reports for people and programs: one `render` for every format, and one verdict behind every printed word and exit code."""

from dataclasses import dataclass
from datetime import datetime

from touchstone.ops.reports.verdict import Verdict, verdict_of
from touchstone.schemas.reports.safe import SafeV0BatchReport

#: Format → ending of its file.
SUFFIXES = {"json": ".json", "console": ".txt", "markdown": ".md", "junit": ".xml"}
FORMATS = tuple(SUFFIXES)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What a rendering needs beside the report. `min_pass_rate`: ratio; the gate that the verdict applies, if any."""

    generated_at: datetime
    verbose: bool = False
    min_pass_rate: float | None = None


def render(report: SafeV0BatchReport, format: str, options: RenderOptions) -> str:
    """The report as `json`, `console`, `markdown` or `junit`, ending with a newline. Raises `ValueError` for another format."""
    match format:
        case "json":
            from touchstone.ops.reports.safe_json import render_json

            return render_json(report, options.generated_at)
        case "console":
            from touchstone.ops.reports.safe_console import render_console

            return render_console(report, verbose=options.verbose)
        case "markdown":
            from touchstone.ops.reports.safe_markdown import render_markdown

            return render_markdown(report, options.generated_at, verdict_of(report, options.min_pass_rate))
        case "junit":
            from touchstone.ops.reports.safe_junit import render_junit

            return render_junit(report, options.generated_at)
        case _:
            raise ValueError(f"unknown report format {format!r}; known: {', '.join(FORMATS)}")


__all__ = ["FORMATS", "SUFFIXES", "RenderOptions", "Verdict", "render", "verdict_of"]
