from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchstone.scorers.clinical.formats.fhir.fhirpath import (
    Environment,
    FhirPathError,
    Undecided,
    Verdict,
    compile_expression,
    corrected,
    decide,
    parse,
    truth,
)
from touchstone.scorers.clinical.formats.fhir.invariant_shortcuts import SHORTCUTS, SHORTCUTS_BY_EXPRESSION
from touchstone.scorers.clinical.formats.fhir.tables import Invariant, definitions

ITEM: dict[str, Any] = {
    "resourceType": "Observation",
    "status": "final",
    "valueQuantity": {"value": 5, "code": "mg"},
    "code": {"coding": [{"system": "a", "code": "1"}, {"system": "b", "code": "2"}]},
    "given": ["x", None],
    "_given": [None, {"extension": [{"url": "u", "valueString": "v"}]}],
    "low": {"value": 1, "code": "mg"},
}


def value(expression: str, item: Any = ITEM) -> list[Any]:
    return compile_expression(parse(expression))(item, Environment(item, item, item))


@pytest.mark.parametrize(
    ("text", "pattern", "by", "expected"),
    [
        ("a1b22", "[0-9]+", "#", "a#b#"), ("a-b", "\\-", "", "ab"), ("x" * 3_000 + "1", "[0-9]", "", "x" * 3_000), ("abc", "b*", "-", "-a--c-"),
        ("a" * 60, "(a+)+b", "", None), ("a" * 60, "(?=a)(a|aa)+b", "", None), ("x" * 5_000, "a", "", None), ("abc", "(b)", "$1$1", None),
    ],
)  # fmt: skip
def test_parts_are_replaced_in_bounded_time_or_not_at_all(text: str, pattern: str, by: str, expected: str | None) -> None:
    expression = f"status.replaceMatches('{pattern}', '{by}')"
    if expected is None:
        with pytest.raises(Undecided):
            value(expression, {"status": text})
    else:
        assert value(expression, {"status": text}) == [expected]


@pytest.mark.parametrize("pattern", ["(?=a)(a+)+b", "(?!x)(a|aa)+b", "(?=a).*.*.*b"])
def test_a_pattern_that_may_take_too_long_is_undecided(pattern: str) -> None:
    for function in ("matches", "matchesFull"):
        with pytest.raises(Undecided):
            value(f"status.{function}('{pattern}')", {"status": "a" * 60})
    assert value("status.matches('^(a+)+b$')", {"status": "a" * 4_000}) == [False]
    with pytest.raises(FhirPathError):
        value("status.matches('(')")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("status", ["final"]),
        ("status = 'final' and code.exists()", [True]),
        ("value.exists()", [True]),
        ("value.ofType(Quantity).value", [5]),
        ("value is Quantity", [True]),
        ("(value as string).exists()", [False]),
        ("code.coding.where(system = 'a').code", ["1"]),
        ("code.coding.select(code).isDistinct()", [True]),
        ("code.coding.all(code.exists())", [True]),
        ("code.coding[1].code", ["2"]),
        ("given.count()", [2]),
        ("given.extension('u').value", ["v"]),
        ("given.where(hasValue()).count()", [1]),
        ("low <= value", [True]),
        ("1 + 2 * 3", [7]),
        ("7 mod 5 = 2 and 7 div 5 = 1", [True]),
        ("'a' & 'b'", ["ab"]),
        ("status in ('final' | 'draft')", [True]),
        ("('final' | 'draft') contains status", [True]),
        ("status.matches('fin')", [True]),
        ("status.matches('^fin$')", [False]),
        ("status.matchesFull('fin')", [False]),
        ("status.matches('fin.*')", [True]),
        ("status.startsWith('f') and status.substring(1) = 'inal'", [True]),
        ("absent = 1", []),
        ("absent.empty() or false", [True]),
        ("{}.exists().not()", [True]),
        ("iif(status = 'final', 1, 2)", [1]),
        ("%resource.status", ["final"]),
        ("Observation.status", ["final"]),
        ("code.coding.first().system | code.coding.first().system", ["a"]),
        ("descendants().where($this = '2').count()", [1]),
        ("true xor false", [True]),
        ("(1 | 1 | 2).count()", [2]),
        ("-1 < 0", [True]),
        ("code.coding.exists(code = '2')", [True]),
    ],
)
def test_an_expression_has_its_value(expression: str, expected: list[Any]) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize("expression", ["status = ", "foo(", "a.b(1", "$index", "x.noSuchFunction()", "'open", "a ? b", "(" * 4000])
def test_what_cannot_be_read_or_is_not_supported_is_refused(expression: str) -> None:
    with pytest.raises(FhirPathError):
        compile_expression(parse(expression))


@pytest.mark.parametrize(("start", "end"), [("2020", "2020-05"), ("2020-01-01T10:00:00Z", "2020-01-01T11:00:00"), ("2020-01-01", "2020-01-01T01:00:00Z")])
def test_times_that_cannot_be_ordered_are_undecided(start: str, end: str) -> None:
    with pytest.raises(Undecided):
        value("start <= end", {"start": start, "end": end})


def test_times_compare_across_timezones() -> None:
    assert value("start < end", {"start": "2020-01-01T10:00:00+02:00", "end": "2020-01-01T09:00:00Z"}) == [True]


def test_every_invariant_of_r4_compiles() -> None:
    assert definitions().uncompiled == ()
    assert len({rule.key for one in definitions().types.values() for rule in one.invariants}) > 200


def test_membership_is_as_the_value_sets_at_hand_say_and_undecided_without_them() -> None:
    made = compile_expression(parse("code.memberOf('http://a.example/set')"))
    item = {"code": {"coding": [{"system": "http://a.example", "code": "x"}]}}
    for verdict in (True, False):
        assert made(item, Environment(item, item, item, member=lambda _, url, told=verdict: told if url == "http://a.example/set" else None)) == [verdict]
    for unknown in (None, lambda _, __: None):
        with pytest.raises(Undecided):
            made(item, Environment(item, item, item, member=unknown))


def test_an_evaluation_that_visits_too_much_is_undecided() -> None:
    with pytest.raises(Undecided):
        value("a.all(%context.b contains $this)", {"a": ["x"] * 3000, "b": ["x"] * 3000})


RULES = [(name, rule) for name, one in definitions().types.items() for rule in one.invariants]
NAMES = sorted({field.element.removesuffix("[x]") for one in definitions().types.values() for field in one.fields.values()})


@given(st.sampled_from(RULES), st.data())
def test_a_verdict_from_names_alone_is_the_verdict_of_the_values(case: tuple[str, Invariant], data: st.DataObject) -> None:
    name, rule = case
    elements = sorted({field.element.removesuffix("[x]"): field for field in definitions().types[name].fields.values()}.items())
    chosen = data.draw(st.lists(st.sampled_from(elements), unique_by=lambda one: one[0]))
    verdict = decide(rule.tree, frozenset(element for element, _ in chosen))
    if verdict not in {Verdict.TRUE, Verdict.FALSE}:
        return
    values = {"primitive": "x", "xhtml": "x"}
    item: dict[str, Any] = {field.name: [one] if field.many else one for _, field in chosen for one in [values.get(field.kind, {"id": "x"})]}
    try:
        evaluated = truth(rule.run(item, Environment(item, item, item)))
    except Undecided:
        return
    assert evaluated == (verdict is Verdict.TRUE), rule.key


_CODING = st.fixed_dictionaries({}, optional={"system": st.just("http://a.org"), "code": st.sampled_from(["confirmed", "entered-in-error"])})
_CONCEPT = st.fixed_dictionaries({}, optional={"coding": st.lists(_CODING, min_size=1, max_size=2), "text": st.just("x")})
_TIMES = st.sampled_from(["2020", "2020-01", "2020-01-02", "2020-01-02T10:00:00Z", "2020-01-02T10:00:00+01:00", "2021-01-01T00:00:00.5Z"])
_ENTRY = st.fixed_dictionaries(
    {}, optional={"request": st.just({"method": "GET"}), "response": st.just({"status": "200"}), "search": st.just({"mode": "match"})}
)
_ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["batch", "history", "document", "batch-response", "searchset"])},
    optional={
        "entry": st.lists(_ENTRY, min_size=1, max_size=3),
        "start": _TIMES,
        "end": _TIMES,
        "fullUrl": st.sampled_from(["http://a/Patient/1", "http://a/Patient/1/_history/2"]),
        "verificationStatus": _CONCEPT,
        "clinicalStatus": _CONCEPT,
    },
)


@pytest.mark.parametrize("key", sorted(SHORTCUTS))
@given(item=_ITEM)
def test_where_a_hot_rule_is_said_to_hold_its_expression_holds(key: str, item: dict[str, Any]) -> None:
    for rule in {id(rule): rule for _, rule in RULES if rule.key == key}.values():
        if SHORTCUTS[key](item, item):
            assert truth(rule.run(item, Environment(item, item, item)))


@pytest.mark.parametrize("expression", sorted(SHORTCUTS_BY_EXPRESSION))
@pytest.mark.parametrize("value", ["2020", "2020-01", "2020-01-02", "2020-01-02T10:00:00Z", {"start": "2020"}])
def test_where_a_hot_expression_is_said_to_hold_it_holds(expression: str, value: Any) -> None:
    kind = "DateTime" if isinstance(value, str) else "Period"
    around = Environment({}, {}, value, kind=kind)
    assert SHORTCUTS_BY_EXPRESSION[expression](value, {}) is (isinstance(value, str) and len(value) > 7)
    assert not SHORTCUTS_BY_EXPRESSION[expression](value, {}) or truth(compile_expression(parse(corrected(expression)))(value, around))
