"""Options that several commands have."""

from enum import StrEnum

FORMAT_HELP = "How the report is written: console, json, markdown, junit or html (one self-contained page)."


class Format(StrEnum):
    """How a report is written."""

    console = "console"
    json = "json"
    markdown = "markdown"
    junit = "junit"
    html = "html"
