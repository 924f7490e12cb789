"""Write the ONNX graphs that ship; the same bytes each time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from touchstone.ops.lab.build.graphs.encoder import content_of
from touchstone.ops.lab.command import Arguments
from touchstone.scorers.engines.encoder_shape import GRAPHS, Form, Shape, Task

#: The encoders with a graph: those with the shapes of all-MiniLM-L6-v2 and of all-mpnet-base-v2.
MINILM = Shape("bert", layers=6, hidden=384, heads=12, intermediate=1536, words=30_522, positions=512, first=0, types=2, buckets=0, eps=1e-12)
MPNET = Shape("mpnet", layers=12, hidden=768, heads=12, intermediate=3072, words=30_527, positions=514, first=2, types=0, buckets=32, eps=1e-5)
SHAPES = (MINILM, MPNET)


def files(folder: Path = GRAPHS, shapes: tuple[Shape, ...] = SHAPES) -> dict[Path, bytes]:
    """The content of each graph's file."""
    return {shape.graph(task, form, folder): content_of(shape, task, form) for shape in shapes for task in get_args(Task) for form in get_args(Form)}


def main(arguments: Sequence[str]) -> int:
    """Write, or compare: 1 if a file differs."""
    parser = Arguments("build graphs", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; print the files that differ, and exit with 1 if there are any")
    asked = parser.parse_args(arguments)
    contents = files()
    if asked.check:
        wrong = [path for path, content in contents.items() if not path.is_file() or path.read_bytes() != content]
        print("".join(f"{path.name} differs\n" for path in wrong), end="")
        return 1 if wrong else 0
    GRAPHS.mkdir(exist_ok=True)
    for path, content in contents.items():
        path.write_bytes(content)
    return 0
