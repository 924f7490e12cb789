"""The laboratory's one door: `python -m touchstone.ops.lab NAME …`; without a name it lists all."""

import sys
from collections.abc import Sequence
from importlib import import_module

from touchstone.ops.cli.common.shared import EXIT_ERROR, EXIT_STOPPED, one_line
from touchstone.ops.lab.command import EXIT_USAGE, PROGRAM
from touchstone.scorers.base import ConfigError

#: Name → its module below touchstone.ops.lab, whose `main` takes the rest of the command line, and its description.
EXPERIMENTS = {
    "agreement": ("agreement.command", "compare verdicts with labelled files, or with the official FHIR validator (--oracle)"),
    "alarms": ("agreement.alarms", "list the findings on valid documents, by code"),
    "hl7v2-profiles": ("agreement.profile_rules", "break the rules of HL7 v2 conformance profiles one by one, and count those that are found"),
    "consistency": ("consistency.command", "put contradictions into pairs of documents, and count those that the cross-format check finds"),
    "models evaluate": ("models.command", "measure an NLI model on labelled sets"),
    "models curve": ("models.curve", "measure up to how many words of premise an NLI model answers, and denials in other words"),
    "losses": ("losses.command", "measure whether the loss orders summaries as truth does"),
    "chaos": ("chaos.command", "kill workers and brokers while events flow, and check that every promise was kept"),
    "mutants": ("mutants.command", "take fences out one by one, and see that a test fails each time"),
    "value-sets": ("value_sets", "count which value sets of FHIR packages and C-CDA can be decided, and which code systems are lacking"),
    "bench": ("bench.streams.command", "both runners beside bare loops: rates, latency, memory"),
    "bench before": ("bench.streams.before_command", "the runners of an earlier commit beside those of this tree: what a change has won or cost"),
    "bench latency": ("bench.streams.latency_command", "from an event's append until its result was read back, and in which stage the time goes"),
    "bench scale": ("bench.streams.scale", "one, two and four workers, a long backlog, and thousands of partitions"),
    "bench nli": ("bench.nli.command", "the NLI engine and the summary suite beside the libraries' own calls"),
    "bench nli-gpu": ("bench.nli.gpu", "the NLI engine on a GPU beside the computed ceiling"),
    "bench judge": ("bench.judge.command", "the judge beside a raw client, and what suites ask it"),
    "bench judge-faults": ("bench.judge.faults", "every fault of a judge's server in every way of asking: requests, cents and seconds"),
    "bench live": ("bench.live.command", "the live service with many clients, some of which read nothing"),
    "bench history": ("bench.history.command", "lists, searches and counts over many cases, and reindexing and removal in the archive"),
    "bench clinical": ("bench.clinical.command", "FHIR, HL7 v2 and C-CDA validation in one table"),
    "bench fhir": ("bench.clinical.fhir", "FHIR validation beside fhir.resources"),
    "bench hostile-fhir": ("bench.clinical.hostile_fhir", "time and memory of FHIR validation on hostile input"),
    "bench hl7v2": ("bench.clinical.hl7v2", "HL7 v2 validation beside hl7apy and bare splits"),
    "bench schematron": ("bench.clinical.schematron", "C-CDA's Schematron rules beside lxml's XSLT route"),
    "bench terminology": ("bench.clinical.terminology", "questions a second to a terminology server"),
    "build nli-model": ("build.models.train", "train the default NLI model"),
    "build nli-blend": ("build.models.blend", "mix two adapters of one base"),
    "build nli-teacher": ("build.models.teach", "label training pairs with a larger model"),
    "build commentary": ("build.commentary", "learn the weights of the commentary model"),
    "build graphs": ("build.graphs.command", "write the ONNX graphs that ship"),
    "build bill": ("build.bill", "write the software bill of materials of a release (CycloneDX)"),
    "build tables clinical": ("build.tables.clinical.command", "compile the tables of the shared clinical checks"),
    "build tables fhir": ("build.tables.fhir.command", "compile the tables of the FHIR validator"),
    "build tables hl7v2": ("build.tables.hl7v2.command", "compile the tables of the HL7 v2 validator"),
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
    try:
        run = import_module(f"touchstone.ops.lab.{EXPERIMENTS[name][0]}").main
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
    """Every name with its description, a line each."""
    width = max(map(len, EXPERIMENTS)) + 2
    return "\n".join([f"usage: {PROGRAM} NAME [--help] …", "", *(f"  {name:{width}}{does}" for name, (_, does) in EXPERIMENTS.items())])


if __name__ == "__main__":
    sys.exit(main())
