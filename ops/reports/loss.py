"""The loss report in every format, and the verdict with which it ends."""

from touchstone.ops.reports.loss_verdict import loss_verdict
from touchstone.ops.reports.verdict import Verdict
from touchstone.schemas.reports.summary import LossReport

FORMATS = ("json", "console", "markdown", "junit")


def render(report: LossReport, format: str, verdict: Verdict) -> str:
    """The report as `json`, `console`, `markdown` or `junit`, ending with a newline. Raises `ValueError` for another format."""
    match format:
        case "json":
            return report.model_dump_json(indent=2) + "\n"
        case "console":
            from touchstone.ops.reports.loss_console import render_console

            return render_console(report)
        case "markdown":
            from touchstone.ops.reports.loss_markdown import render_markdown

            return render_markdown(report, verdict)
        case "junit":
            from touchstone.ops.reports.loss_junit import render_junit

            return render_junit(report)
        case _:
            raise ValueError(f"unknown report format {format!r}; known: {', '.join(FORMATS)}")


__all__ = ["FORMATS", "Verdict", "loss_verdict", "render"]
