from collections.abc import Iterator
from pathlib import Path

from touchstone.scorers.base import Reading
from touchstone.scorers.engines.batcher_metrics import Counts
from touchstone.scorers.engines.tokens import Tokenizer, Words
from touchstone.scorers.judges.serve.budget import Balance
from touchstone.scorers.judges.serve.counts import Counts as JudgeCounts
from touchstone.scorers.judges.settings import JudgeSettings
from touchstone.streams.telemetry.metric_list import METRICS
from touchstone.streams.telemetry.readings import families

#: One line for each metric: name, kind, labels. A line is added with a metric; it leaves, or changes, with an entry in the changelog that says so.
NAMES = Path(__file__).with_name("names.txt")


def engine_readings() -> Iterator[Reading]:
    """What an engine exposes, without a model; and a judge, without a server."""
    judge = JudgeCounts("a-model")
    judge.unanswered["refused"] += 1
    judge.faults["judge_5xx"] += 1
    yield from judge.readings(is_up=True, in_flight=0, limit=1, paused_s=0.0, left_usd=1.0, balance=Balance(), settings=JudgeSettings(budget_usd=1.0))
    yield from Counts("nli").readings(depth=0, limit=1, budget=1, up=True)
    yield from Tokenizer(Words(None, 0, False, 1), 1).readings("nli")
    # Of the embedder alone, which cannot be made without a model.
    yield Reading("engine_vectors_remembered", "counter", "", 0, (("engine", "embedder"),))


def exported() -> set[str]:
    """Every metric that a process of Touchstone exposes, as a line of the list."""
    lines = {f"{metric.name} {metric.kind} {','.join(metric.labels)}".rstrip() for metric in METRICS}
    for family in families("a_suite", engine_readings()):
        name = family.name + ("_total" if family.type == "counter" else "")
        labels = [label for label in family.samples[0].labels if label != "le"]
        lines.add(f"{name} {family.type} {','.join(labels)}")
    return lines


def listed() -> set[str]:
    return set(NAMES.read_text(encoding="utf-8").splitlines())


def test_no_metric_was_renamed_and_none_lost_a_label() -> None:
    assert listed() - exported() == set(), "a name is a contract: keep it, or remove its line from names.txt and tell so in CHANGELOG.md"


def test_every_metric_is_on_the_list() -> None:
    assert exported() - listed() == set(), "add these lines to tests/streams/telemetry/names.txt"
