"""Take fences out one by one, and see that a test fails each time.

Works on a copy; the checkout is not touched. Exit codes: 0 every mutant was killed, 1 one survived, 3 the tests prove
nothing, because they fail without a mutant or cannot be run.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from touchstone.ops.lab.command import Arguments, show
from touchstone.ops.lab.mutants.listed import MUTANTS
from touchstone.ops.lab.mutants.mutant import Mutant, Verdict, copy_of, repository, verdict, without_a_mutant

EXIT_SURVIVED, EXIT_ERROR = 1, 3


def main(arguments: Sequence[str]) -> int:
    """Run the chosen mutants and print one line as each ends."""
    parser = Arguments("mutants", __doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="only mutants whose name or file holds this text (repeatable); default: all")
    parser.add_argument("--list", action="store_true", help="print the table of mutants, in Markdown, and run nothing")
    parser.json()
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if not options.only or any(text in mutant.name or text in mutant.file for text in options.only)]
    if not chosen:
        parser.error(f"no mutant's name or file holds {' or '.join(options.only)}")
    if options.list:
        print(table(chosen), end="")
        return 0
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="touchstone-mutants-") as folder:
        copy = copy_of(repository(), Path(folder))
        failing = without_a_mutant(chosen, copy)
        for mutant in chosen:
            proves_nothing = failing.intersection(mutant.tests)
            found = Verdict(mutant, "broken", tuple(sorted(proves_nothing)), 0.0) if proves_nothing else verdict(mutant, copy)
            verdicts.append(found)
            if not options.json:
                print(f"{found.fate:9} {found.seconds:5.1f} s  {mutant.name}  {', '.join(found.by[:1])}", flush=True)
    fates = {found.fate for found in verdicts}
    killed = sum(found.fate == "killed" for found in verdicts)
    answer = {
        "mutants": len(verdicts),
        "killed": killed,
        "verdicts": [{"name": one.mutant.name, "fate": one.fate, "by": one.by, "seconds": round(one.seconds, 1)} for one in verdicts],
    }
    show(answer, lambda found: f"{found['killed']} of {found['mutants']} killed\n", as_json=options.json)
    return EXIT_ERROR if "broken" in fates else EXIT_SURVIVED if "survived" in fates else 0


def table(mutants: Sequence[Mutant]) -> str:
    """The mutants as a table in Markdown, for the docs."""
    rows = [f"| `{one.name}` | {one.promise} | {_files(one)} |" for one in mutants]
    return "\n".join(["| mutant | without its fence | tests that fail |", "|---|---|---|", *rows, ""])


def _files(mutant: Mutant) -> str:
    """The files of a mutant's tests, without folders."""
    stems = dict.fromkeys(Path(test.partition("::")[0]).stem for test in mutant.tests)
    return ", ".join(f"`{stem}`" for stem in stems)
