import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.streams.results_topic import headers_of, ledger, records, result
from touchstone.ops.store.results import ResultStore
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.suite import unknown_suite
from touchstone.streams.account.batch_reports import encode_report, payload
from touchstone.streams.account.projection import project

SUITES = usable_suites()
NUMBERS = st.one_of(
    st.integers(-3, 3), st.sampled_from([10**400, -(10**400), 1e308, -1e308, 1.7e308, 5e-324, float("inf"), float("nan")]),
    st.sampled_from([sign * (2**power + more) for power in (31, 32, 53, 62, 63, 64) for more in (-1, 0, 1) for sign in (1, -1)]),
)  # fmt: skip
TIMES = st.sampled_from(
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59"]
)
TEXTS = st.one_of(st.text(max_size=5), TIMES, st.sampled_from(["", "\0", "\ud800", "x" * 512, "\U0001f600" * 512, "x" * 513, "safe_v0", "Pass", "@huge"]))
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6)


def paths(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    pairs = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, inner in pairs:
        yield from paths(inner, (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    if not isinstance(document, (dict, list)):
        return document  # an earlier change has taken the place away
    copy: Any = dict(document) if isinstance(document, dict) else list(document)
    with contextlib.suppress(IndexError, KeyError, TypeError):
        copy[at[0]] = changed(copy[at[0]], at[1:], value)
    return copy


GOOD = [result(size=3, details={"x": 1}), ledger(("dead", "not_json", ((1, 2), (4, 5))), ("skipped", "other_kind", ((3, 3),)))]
PLACES = [(event, at) for event in GOOD for at in paths(json.loads(event.model_dump_json()))]


def _worse(document: Any, at: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Most often of the type that the place wants: what is refused for its type never comes to arithmetic."""
    for step in at:
        document = document[step]
    fitting = TIMES if at == ("scored_at",) else NUMBERS if isinstance(document, (int, float)) else ANYTHING
    return st.one_of(fitting, fitting, ANYTHING)


@st.composite
def hostile(draw: st.DrawFn) -> tuple[list[tuple[str, bytes]], bytes]:
    event, at = draw(st.sampled_from(PLACES))
    document = json.loads(event.model_dump_json())
    document = changed(document, at, draw(_worse(document, at)))
    for _ in range(draw(st.integers(0, 2))):
        document = changed(document, draw(st.sampled_from([place for of, place in PLACES if of is event and place])), draw(LEAVES))
    # Python itself refuses to write an integer this long; others do not.
    return headers_of(event), json.dumps(document).replace('"@huge"', "9" * 5_000).encode()


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(hostile(), min_size=1, max_size=4))
def test_no_record_stops_the_projector(tmp_path: Path, told: list[tuple[list[tuple[str, bytes]], bytes]]) -> None:
    store = _store(tmp_path)
    first = store.positions("hostile").get(0, 0)
    (shape,) = records(GOOD[0])
    polled = [replace(shape, offset=first + index, value=value, headers=headers) for index, (headers, value) in enumerate(told)]
    read = project("hostile", {0: first or None}, {0: polled}, SUITES)
    assert read.reached == {0: first + len(told)}
    assert len(read.results) + read.ledger_records + read.rejected.total() == len(told)
    store.apply(read, 1.0)
    for state in store.due(2.0, 1_000):
        suite = SUITES.get(state.key.suite) or unknown_suite(state.key.suite, state.key.suite_version)
        encode_report(state, payload(state, store.summary(state.report_id), final=True, suite=suite), suite)


_OPEN: dict[Path, ResultStore] = {}


def _store(folder: Path) -> ResultStore:
    if folder not in _OPEN:
        _OPEN[folder] = ResultStore.open(f"sqlite:///{folder / 'store.db'}", create=True)
    return _OPEN[folder]
