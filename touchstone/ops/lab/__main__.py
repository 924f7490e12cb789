"""The laboratory's one door: `python -m touchstone.ops.lab NAME …`; without a name it lists what there is."""

import sys
from collections.abc import Sequence
from importlib import import_module

from touchstone.ops.cli.common.shared import EXIT_ERROR, EXIT_STOPPED, one_line
from touchstone.ops.lab.command import EXIT_USAGE, PROGRAM
from touchstone.scorers.base import ConfigError

#: Name → its module below touchstone.ops.lab, whose `main` takes the rest of the command line, and what it does.
EXPERIMENTS = {
    "agreement": ("agreement.command", "compare verdicts with labelled files, or with the official FHIR validator (--oracle)"),
    "consistency": ("consistency.command", "put contradictions into pairs of documents, and count those that the cross-format check finds"),
    "models evaluate": ("models.command", "measure an NLI model on labelled sets"),
    "losses": ("losses.command", "measure whether the loss orders summaries as truth does"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one experiment and return its exit code: 2 for a wrong command line, 3 for an error that the user can fix."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in {"-h", "--help"}:
        print(listing())
        return 0
    name = chosen(words)
    if name is None:
        names = [each for each in EXPERIMENTS if each.split()[0] == words[0]] or list(EXPERIMENTS)
        print(one_line(f"{' '.join(words[:2])!r} is not in the laboratory; choose from {', '.join(names)}"), file=sys.stderr)
        return EXIT_USAGE
    run = import_module(f"touchstone.ops.lab.{EXPERIMENTS[name][0]}").main
    try:
        return int(run(words[len(name.split()) :]) or 0)
    except ConfigError as error:
        print(one_line(str(error)), file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_STOPPED
    except BrokenPipeError:  # the reader (head, less) has gone
        sys.stdout = None
        return 0


def chosen(words: Sequence[str]) -> str | None:
    """The name that the command line begins with, the longest if there are several; None if there is none."""
    for length in (3, 2, 1):
        name = " ".join(words[:length])
        if name in EXPERIMENTS:
            has_parts = any(each.startswith(f"{name} ") for each in EXPERIMENTS)
            return None if has_parts and words[length:] and not words[length].startswith("-") else name
    return None


def listing() -> str:
    """Every name with what it does, a line each."""
    width = max(map(len, EXPERIMENTS)) + 2
    return "\n".join([f"usage: {PROGRAM} NAME [--help] …", "", *(f"  {name:{width}}{does}" for name, (_, does) in EXPERIMENTS.items())])


if __name__ == "__main__":
    sys.exit(main())
