"""Write the graphs that ship: `python -m touchstone.ops.lab.build.graphs [--check]`; the same bytes each time."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import get_args

from touchstone.ops.lab.build.graphs.encoder import content_of
from touchstone.scorers.engines.encoder_shape import GRAPHS, Form, Shape, Task

#: The encoders with a graph: all-MiniLM-L6-v2 and its like, all-mpnet-base-v2 and its like.
MINILM = Shape("bert", layers=6, hidden=384, heads=12, intermediate=1536, words=30_522, positions=512, first=0, types=2, buckets=0, eps=1e-12)
MPNET = Shape("mpnet", layers=12, hidden=768, heads=12, intermediate=3072, words=30_527, positions=514, first=2, types=0, buckets=32, eps=1e-5)
SHAPES = (MINILM, MPNET)


def files(folder: Path = GRAPHS, shapes: tuple[Shape, ...] = SHAPES) -> dict[Path, bytes]:
    """Each graph's file and what belongs into it."""
    return {shape.graph(task, form, folder): content_of(shape, task, form) for shape in shapes for task in get_args(Task) for form in get_args(Form)}


def main(arguments: list[str] | None = None) -> int:
    """Write, or compare. Returns the exit code: 0, or 1 with the names of files that differ."""
    parser = argparse.ArgumentParser(prog="python -m touchstone.ops.lab.build.graphs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; say which files differ")
    told = parser.parse_args(arguments)
    wrong = [path for path, content in files().items() if not path.is_file() or path.read_bytes() != content]
    if told.check:
        sys.stdout.write("".join(f"{path.name} differs\n" for path in wrong))
        return 1 if wrong else 0
    GRAPHS.mkdir(exist_ok=True)
    for path, content in files().items():
        path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
