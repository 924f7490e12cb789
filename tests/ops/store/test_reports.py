from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ops.batch.files import lines
from tests.streams.results_topic import BEGAN, TOPIC, projection, result
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.ops.store.reports import Chosen, StoredEntries, Wanted, choose, only_suite
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Failure, Label, ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.scorers.reporting import LayoutOptions
from touchstone.scorers.reporting.report import RunFacts
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.scorer import SafeScorer
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.scorers.suite import Suite, unknown_suite

QUOTING = SafeSettings(quote=True)


def reported(store: ResultStore, chosen: Chosen, settings: Any = QUOTING, suite: Suite = SUITE) -> Any:
    return suite.report(StoredEntries(store, chosen), RunFacts(suite, settings, chosen.config_digest, BEGAN, asked={"batch_id": "*"}))


def test_results_that_are_no_safe_results_are_named(store: ResultStore) -> None:
    """A result with one value, as another program might write it."""
    store.apply(projection(result().model_copy(update={"values": {"CR": 1.0}})), 1.0)
    with pytest.raises(ConfigError, match=result().result_id):
        reported(store, choose(store, Wanted("safe_v0")))


def records(count: int = 12) -> list[dict[str, Any]]:
    return [
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
        for number in range(count)
    ]


def events(written: Iterable[dict[str, Any]], settings: SafeSettings, **told: Any) -> list[ScoreResult]:
    scorer = SafeScorer(settings)
    made = []
    for offset, record in enumerate(written):
        case = SafeCase.model_validate(record)
        card = scorer.evaluate(case)
        given = {name: getattr(card, name) for name in ("label", "values", "findings", "details", "attributes")}
        made.append(result(event=case.id, offset=offset, **told).model_copy(update={"case_id": case.test_id} | given))
    return made


@pytest.mark.parametrize("settings", [QUOTING, SafeSettings()], ids=["quoting", "withholding"])
@pytest.mark.parametrize("format", FORMATS)
def test_the_stored_report_is_the_batch_commands_report(store: ResultStore, tmp_path: Path, settings: SafeSettings, format: str) -> None:
    run = Run(SUITE, settings)
    facts = run.score(find_sources([lines(tmp_path / "b1.jsonl", *records())], any_file=False))
    live = events(records(), settings, digest=facts.config_digest, version=SUITE.version)
    store.apply(projection(*reversed(live), live[0]), 1.0)
    fixed = replace(facts, generated_at=BEGAN)
    batch = SUITE.report(run.entries, fixed)
    stored = SUITE.report(StoredEntries(store, choose(store, Wanted("safe_v0", one_concern=True))), fixed)
    options = LayoutOptions(SUITE.verdict(batch, None))
    assert stored == batch
    assert "".join(lay_out(SUITE, stored, format, options)) == "".join(lay_out(SUITE, batch, format, options))


def test_a_case_that_could_not_be_scored_is_an_error_and_no_zero(store: ResultStore) -> None:
    label: Label = "unscored"
    failed = result(event="x", offset=7).model_copy(
        update={"label": label, "values": {}, "failures": (Failure(component="safe_v0", kind="defect", code="boom"),)}
    )
    store.apply(projection(failed, *events(records(3), QUOTING)), 1.0)
    report = reported(store, choose(store, Wanted("safe_v0", "I25"))).batch
    assert report.total_cases == 3
    assert [(error.where, error.what) for error in report.errors] == [("touchstone.generations[0]@7", "could not be scored (safe_v0: boom)")]


def test_batches_scored_in_several_ways_are_never_mixed(store: ResultStore) -> None:
    store.apply(
        projection(result(event="a", digest="old"), result(event="a", digest="new", seconds=9), result(event="b", offset=1, digest="old", batch="b2")), 1.0
    )
    newest = choose(store, Wanted("safe_v0", "I25"))
    assert newest.keys is not None
    assert ([key.batch_id for key in newest.keys], newest.others, newest.config_digest) == (["b1"], 1, "new")
    assert [one.event_id for one in StoredEntries(store, newest)] == ["a"]
    old = choose(store, Wanted("safe_v0", "I25", config_digest="old"))
    assert [one.event_id for one in StoredEntries(store, old)] == ["a", "b"]


def test_without_a_name_everything_that_was_scored_last_is_chosen_in_a_batch_or_not(store: ResultStore) -> None:
    in_none = result(event="c", offset=2, batch=None)
    store.apply(projection(result(event="a"), result(event="b", offset=1, batch="b2"), in_none, result(event="d", offset=3, digest="old", seconds=-9)), 1.0)
    chosen = choose(store, Wanted("safe_v0"))
    assert (chosen.keys, chosen.others, chosen.config_digest) == (None, 1, "d1")
    assert [one.event_id for one in StoredEntries(store, chosen)] == ["a", "b", "c"]


def test_a_batch_that_only_one_concern_has_says_the_concern(store: ResultStore) -> None:
    """A report of SAFE v0 is of one concern; where the batch leaves only one, it need not be named."""
    store.apply(
        projection(
            result(event="a"), result(event="b", offset=1, concern="I30", batch="b2"), result(event="c", offset=2, concern="I30", batch="b1", digest="old")
        ),
        1.0,
    )

    def wanted(batch: str | None, **given: str) -> Wanted:
        return Wanted("safe_v0", None, batch, one_concern=True, **given)

    chosen = choose(store, wanted("b2"))
    assert (chosen.concern_id, [one.event_id for one in StoredEntries(store, chosen)]) == ("I30", ["b"])
    assert choose(store, wanted("b1", config_digest="old")).concern_id == "I30"
    with pytest.raises(ConfigError, match="holds I25, I30 of suite safe_v0 with a batch 'b1'; choose one with --concern"):
        choose(store, wanted("b1"))
    with pytest.raises(ConfigError, match="holds I25, I30 of suite safe_v0; choose one with --concern"):
        choose(store, wanted(None))
    with pytest.raises(ConfigError, match="no stored batch matches 'b3': the store holds b1, b2; check"):
        choose(store, wanted("b3"))


def test_of_a_store_without_a_batch_nobody_is_asked_for_a_concern(store: ResultStore) -> None:
    with pytest.raises(ConfigError, match="the store holds no batch of suite safe_v0; check --store"):
        choose(store, Wanted("safe_v0", one_concern=True))


def test_entries_can_be_read_again_and_two_at_once(store: ResultStore) -> None:
    store.apply(projection(*events(records(5), QUOTING)), 1.0)
    entries = StoredEntries(store, choose(store, Wanted("safe_v0")))
    assert [(one.event_id, other.event_id) for one, other in zip(entries, entries, strict=True)] == [(f"e{number}",) * 2 for number in range(5)]


def test_every_pass_of_a_report_sees_the_store_as_it_was_at_the_first(store: ResultStore) -> None:
    first, second = events(records(2), QUOTING)
    store.apply(projection(first), 1.0)
    with StoredEntries(store, choose(store, Wanted("safe_v0"))) as entries:
        assert len(list(entries)) == 1
        store.apply(projection(second, first=1, expected=1), 2.0)
        assert len(list(entries)) == 1
    assert len(list(entries)) == 2


def test_a_suite_that_is_not_installed_here_is_reported_like_any_other(store: ResultStore) -> None:
    store.apply(projection(result(suite="theirs"), result(event="b", offset=1, suite="theirs", label="Fail", score=0.25)), 1.0)
    suite = unknown_suite("theirs", "0.1")
    report = reported(store, choose(store, Wanted("theirs")), suite=suite)
    assert (report.labels.passed, report.labels.failed, report.means["CR"]) == (1, 1, 0.625)
    assert suite.verdict(report, None).exit_code == 1


def test_what_is_not_there_is_named_beside_what_is(store: ResultStore) -> None:
    store.apply(projection(result(), result(event="b", offset=1, concern="I26")), 1.0)
    with pytest.raises(ConfigError, match=r"I25, I26.*--concern"):
        choose(store, Wanted("safe_v0", one_concern=True))
    with pytest.raises(ConfigError, match="holds b1"):
        choose(store, Wanted("safe_v0", "I25", "b9*"))
    with pytest.raises(ConfigError, match=r"no result of suite clinical; check --store"):
        choose(store, Wanted("clinical"))
    with pytest.raises(ConfigError, match=r"that was scored so; choose others"):
        choose(store, Wanted("safe_v0", config_digest="d9"))


def test_the_suite_is_the_one_that_the_store_holds_or_that_the_batch_is_of(store: ResultStore) -> None:
    with pytest.raises(ConfigError, match="holds no results; check --store"):
        only_suite(store, None, None)
    store.apply(projection(result()), 1.0)
    assert only_suite(store, None, None) == "safe_v0"
    store.apply(projection(result(event="b", offset=1, suite="theirs", concern="C", batch="t7"), first=1), 2.0)
    with pytest.raises(ConfigError, match=r"of several suites \(safe_v0, theirs\); choose one with --suite"):
        only_suite(store, None, None)
    assert (only_suite(store, "C", None), only_suite(store, None, "t*"), only_suite(store, "I25", "b1")) == ("theirs", "theirs", "safe_v0")
    with pytest.raises(ConfigError, match="no stored batch fits --concern and --batch"):
        only_suite(store, "C", "b1")


def test_positions_do_not_hinder_a_reader(store: ResultStore, store_url: str) -> None:
    store.apply(projection(result()), 1.0)
    reader = ResultStore.open(store_url)
    assert reader.positions(TOPIC) == {0: 1}
    reader.close()
