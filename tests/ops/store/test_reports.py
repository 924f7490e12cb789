"""The full report from the store equals the batch command's over the same cases."""

from collections.abc import Iterable

import pytest

from tests.streams.results_topic import BEGAN, TOPIC, projection, result
from touchstone.ops.batch.batch_scoring import Selection
from touchstone.ops.batch.batches import BatchEntry
from touchstone.ops.reports import RenderOptions, render
from touchstone.ops.store.reports import Wanted, choose, report_from_store
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Failure, Label, ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe.observation import score_batch
from touchstone.scorers.safe.report import build_report
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings

OPTIONS = RenderOptions(BEGAN)
QUOTING = SafeSettings(quote=True)


def test_results_that_are_no_safe_results_are_named(store: ResultStore) -> None:
    """A result with one value, as another program might write it."""
    store.apply(projection(result().model_copy(update={"values": {"CR": 1.0}})), 1.0)
    with pytest.raises(ConfigError, match=result().result_id):
        report_from_store(store, choose(store, Wanted("safe_v0", None)), "*", SafeSettings())


def cases(count: int = 12) -> list[SafeCase]:
    """Cases of three archetypes that pass, are to review and fail."""
    return [
        SafeCase.model_validate(
            {
                "id": f"e{number}",
                "test_id": f"T{number:02}",
                "archetype": f"A{number % 3}",
                "concern_id": "I25",
                "batch_id": "b1",
                "expectations": {
                    "signal_generation": {"must_find_signals": ["fever", "räsh"]},
                    "followup_questions": {"forbidden_terms": ["policy"]},
                    "event_summary": {"must_contain_phrases": ["pain"]},
                },
                "output": {
                    "signals": ["FEVER", "RÄSH"][: number % 3],
                    "summary": "much pain" if number % 4 else "",
                    "followup_questions": [{"text": "the Policy?"}] if number % 5 == 0 else [],
                },
            }
        )
        for number in range(count)
    ]


def events(scored: Iterable[SafeCase], settings: SafeSettings) -> list[ScoreResult]:
    """What a worker would have produced for them."""
    scorer = SafeScorer(settings)
    told = []
    for offset, case in enumerate(scored):
        card = scorer.evaluate(case)
        plain = result(event=case.id, offset=offset)
        told.append(
            plain.model_copy(
                update={
                    "case_id": case.test_id,
                    "label": card.label,
                    "values": card.values,
                    "findings": card.findings,
                    "details": card.details,
                    "attributes": card.attributes,
                }
            )
        )
    return told


@pytest.mark.parametrize("settings", [QUOTING, SafeSettings()], ids=["quoting", "withholding"])
@pytest.mark.parametrize("format", ["json", "console", "markdown", "junit"])
def test_the_stored_report_is_the_batch_commands_report(store: ResultStore, settings: SafeSettings, format: str) -> None:
    batch = cases()
    live = events(batch, settings)
    store.apply(projection(*reversed(live), live[0]), 1.0)
    selection = Selection("I25", "*", by_case=True)
    entries = [BatchEntry(case.test_id, case.model_dump(mode="json")) for case in batch]
    expected = build_report(score_batch(selection.cases(entries), SafeScorer(settings)), concern_id="I25", batch_id="b1", settings=settings)
    chosen = choose(store, Wanted("safe_v0", None))
    assert render(report_from_store(store, chosen, "*", settings), format, OPTIONS) == render(expected, format, OPTIONS)


def test_a_case_that_could_not_be_scored_is_an_error_and_no_zero(store: ResultStore) -> None:
    label: Label = "unscored"
    failed = result(event="x", offset=7).model_copy(
        update={"label": label, "values": {}, "failures": (Failure(component="safe_v0", kind="defect", code="boom"),)}
    )
    store.apply(projection(failed, *events(cases(3), QUOTING)), 1.0)
    report = report_from_store(store, choose(store, Wanted("safe_v0", "I25")), "*", QUOTING)
    assert report.total_cases == 3
    assert [(error.where, error.what) for error in report.errors] == [("touchstone.generations[0]@7", "could not be scored (safe_v0: boom)")]


def test_batches_scored_in_several_ways_are_never_mixed(store: ResultStore) -> None:
    store.apply(
        projection(result(event="a", digest="old"), result(event="a", digest="new", seconds=9), result(event="b", offset=1, digest="old", batch="b2")), 1.0
    )
    newest = choose(store, Wanted("safe_v0", "I25"))
    assert (newest.batch_id, newest.others, newest.keys[0].config_digest) == ("b1", 1, "new")
    assert len(choose(store, Wanted("safe_v0", "I25", config_digest="old")).keys) == 2


def test_what_is_not_there_is_named_beside_what_is(store: ResultStore) -> None:
    store.apply(projection(result(), result(event="b", offset=1, concern="I26")), 1.0)
    with pytest.raises(ConfigError, match=r"I25, I26.*--concern"):
        choose(store, Wanted("safe_v0", None))
    with pytest.raises(ConfigError, match="holds b1"):
        choose(store, Wanted("safe_v0", "I25", "b9*"))


def test_positions_do_not_hinder_a_reader(store: ResultStore, store_url: str) -> None:
    store.apply(projection(result()), 1.0)
    reader = ResultStore.open(store_url)
    assert reader.positions(TOPIC) == {0: 1}
    reader.close()
