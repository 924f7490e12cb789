"""Small tables for notebooks (`_repr_html_`). Every text is escaped; what is long is cut, and says so."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

#: Rows of one table, and characters of one cell.
ROWS_MAX = 100
CHARS_MAX = 200


def cell(value: object) -> str:
    """A value as the text of a cell: two places for a fraction, nothing for None."""
    text = "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= CHARS_MAX else f"{text[:CHARS_MAX]}…")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], count: int | None = None) -> str:
    """A table. `count`: of all rows, where `rows` is not counted easily."""
    shown = iter(rows)
    body = ["<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in islice(shown, ROWS_MAX)]
    rest = (sum(1 for _ in shown) if count is None else count - len(body)) if len(body) == ROWS_MAX else 0
    if rest > 0:
        body.append(f'<tr><td colspan="{len(header)}">… and {rest:,} more</td></tr>')
    return f"<table><thead><tr>{''.join(f'<th>{cell(name)}</th>' for name in header)}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def titled(title: str, *lines: str) -> str:
    """A heading with lines of text below it."""
    return f"<p><strong>{cell(title)}</strong>{''.join(f'<br>{cell(line)}' for line in lines if line)}</p>"
