"""Measure the cross-format check: contradictions put into pairs of documents, and rewordings that mean the same (docs/consistency.md)."""

from collections.abc import Sequence

from touchstone.ops.cli.common.progress import working
from touchstone.ops.lab.command import Arguments, at_least, show


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = Arguments("consistency", __doc__, epilog="example: python -m touchstone.ops.lab consistency --data DIR")
    parser.data("folder with crossformat/, hl7v2/ and ccda/; default: the suite's sample patients")
    parser.add_argument("--seed", type=at_least(0), default=1, help="seed of the changes (default: 1)")
    parser.json()
    asked = parser.parse_args(arguments)
    from touchstone.ops.lab.consistency.run import as_text, measured

    with working() as say:
        found = measured(asked.data, asked.seed, say)
    show(found, as_text, as_json=asked.json)
