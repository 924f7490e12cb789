"""Text for terminals: literal, and drawn by rich without what it would read from the environment."""

from io import StringIO
from typing import Final

from rich.console import Console, RenderableType
from rich.text import Text

from touchstone.scorers.reporting.words import visible

#: Width if lines are not to be broken: wider than any line.
_UNBROKEN_CELLS: Final = 100_000


def literal(text: str, style: str = "") -> Text:
    """Literal text: no markup and no control characters."""
    return Text(visible(text), style=style)


def drawn(block: RenderableType, *, colour: bool, width: int | None) -> str:
    """A block as text. Without colour and width it is plain, the same everywhere."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=width or _UNBROKEN_CELLS,
        height=100,  # given a width and a height, rich does not query the terminal
        color_system="standard" if colour else None,
        force_terminal=colour,
        no_color=not colour,
        force_jupyter=False,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(block, soft_wrap=width is None and isinstance(block, Text))
    # Cells are padded with spaces, which a file does not need.
    return "".join(f"{line.rstrip(' ')}\n" for line in stream.getvalue().splitlines())
