"""Reports for people and programs: one `render` for every format, and one verdict behind every printed word and exit code."""

from dataclasses import dataclass
from datetime import datetime

from ops.reporters.verdict import Verdict, verdict_of
from schemas.report import SafeV0BatchReport

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
            from ops.reporters.safe_json import render_json

            return render_json(report, options.generated_at)
        case "console":
            from ops.reporters.safe_console import render_console

            return render_console(report, verbose=options.verbose)
        case "markdown":
            from ops.reporters.safe_markdown import render_markdown

            return render_markdown(report, options.generated_at, verdict_of(report, options.min_pass_rate))
        case "junit":
            from ops.reporters.safe_junit import render_junit

            return render_junit(report, options.generated_at)
        case _:
            raise ValueError(f"unknown report format {format!r}; known: {', '.join(FORMATS)}")


__all__ = ["FORMATS", "SUFFIXES", "RenderOptions", "Verdict", "render", "verdict_of"]
