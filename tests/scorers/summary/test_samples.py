from touchstone.ops.batch.cases import BatchCase, cases_of
from touchstone.ops.batch.sources import find_sources
from touchstone.scorers.base import NoSettings
from touchstone.scorers.summary import SUITE
from touchstone.scorers.summary.golds import load_golds
from touchstone.scorers.summary.samples import GOLDS, expected, samples


def test_the_samples_are_valid_and_each_has_an_expectation() -> None:
    found = [case for source in find_sources(samples().paths, any_file=False) for case in cases_of(source, SUITE, NoSettings())]
    cases = [one for one in found if isinstance(one, BatchCase)]
    assert len(cases) == len(found)
    assert {case.event_id for case in cases} == expected().keys()
    known = load_golds(GOLDS).keys()
    assert {case.case.gold_ref for case in cases if case.case.gold_ref} - {"incident-larkspur-99"} <= known  # type: ignore[attr-defined]
    assert len(known) == 4
