"""Words as an HTML page shows them."""

from html import escape

from touchstone.scorers.reporting.words import counted, visible


def shown(text: str) -> str:
    """Text that is safe in elements and attributes: no markup and no direction marks."""
    return escape(visible(text), quote=True)


def plural(noun: str) -> str:
    """`cases` of `case`."""
    return counted(2, noun).removeprefix("2 ")
