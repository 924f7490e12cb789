import json
import uuid
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.streams.fakes import FakeRecord, safe_event
from touchstone.schemas.case import EXPECTATIONS_MAX, SafeCase
from touchstone.schemas.result import Failure, Finding, NotChecked, Scorecard, ScoreResult
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.identity import NAMESPACE, deterministic_id
from touchstone.scorers.scoring import ResultMaker
from touchstone.streams.wire.codec import Codec, Read, Reject, Skip, encode_result, source_of

CODEC = Codec({"safe": SafeCase}, known_kinds=["toy"], bytes_max=100_000)


def read(value: bytes | None, headers: list[tuple[str, bytes]] | None = None, codec: Codec = CODEC) -> Read | Skip | Reject:
    return codec.read(FakeRecord(5, value, headers=headers or ()))


def dumps(document: object) -> bytes:
    return json.dumps(document).encode()


def test_plain_json_is_read() -> None:
    step = read(dumps(safe_event("e1")))
    assert isinstance(step, Read)
    assert (step.event_id, step.format, step.case.case_id) == ("e1", "json", "T-1")


def test_structured_cloudevents_are_read_by_content_type() -> None:
    envelope = {"specversion": "1.0", "id": "ce-1", "source": "/x", "type": "touchstone.safe", "data": safe_event()}
    step = read(dumps(envelope), [("content-type", b"application/cloudevents+json; charset=utf-8")])
    assert isinstance(step, Read)
    assert (step.event_id, step.format) == ("ce-1", "cloudevents_structured")


def test_structured_cloudevents_are_recognised_without_headers() -> None:
    step = read(dumps({"specversion": "1.0", "id": "ce-1", "source": "/x", "type": "t", "data": safe_event("inner")}))
    assert isinstance(step, Read)
    assert step.event_id == "inner"


def test_binary_cloudevents_take_id_and_kind_from_headers() -> None:
    event = safe_event()
    del event["kind"]
    headers = [("ce_specversion", b"1.0"), ("ce_id", b"ce-9"), ("ce_source", b"/x"), ("ce_type", b"touchstone.safe")]
    step = read(dumps(event), headers)
    assert isinstance(step, Read)
    assert (step.event_id, step.format) == ("ce-9", "cloudevents_binary")


def test_an_event_without_an_id_gets_uuid5_of_its_topics_id_partition_and_offset() -> None:
    step = CODEC.read(FakeRecord(5, dumps(safe_event())), "mgpdI_45THaAR-YN238gDQ")
    assert isinstance(step, Read)
    assert step.event_id == str(uuid.uuid5(NAMESPACE, "mgpdI_45THaAR-YN238gDQ/0/5"))


@pytest.mark.parametrize(("other", "is_same"), [({}, True), ({"timestamp": 2}, False), ({"value": dumps(safe_event(batch_id="b2"))}, False)])
def test_where_the_topic_has_no_id_another_event_at_its_position_has_another_one(other: dict[str, Any], is_same: bool) -> None:
    record = FakeRecord(5, dumps(safe_event()), timestamp=1)
    first, second = CODEC.read(record), CODEC.read(replace(record, **other))
    assert isinstance(first, Read)
    assert isinstance(second, Read)
    assert (first.event_id == second.event_id) is is_same


def test_a_schema_registry_frame_is_taken_off() -> None:
    assert isinstance(read(b"\x00\x00\x00\x00\x07" + dumps(safe_event())), Read)


def test_a_missing_kind_is_inferred_from_keys_only_one_kind_has() -> None:
    event = safe_event()
    del event["kind"]
    assert isinstance(read(dumps(event)), Read)


@pytest.mark.parametrize("kind", ["summary", "trace", "selftest", "toy"])
def test_another_suites_kind_is_skipped(kind: str) -> None:
    step = read(dumps({"kind": kind}))
    assert isinstance(step, Skip)
    assert step.reason == "other_kind"


def test_a_production_trace_without_kind_is_skipped() -> None:
    codec = Codec({"safe": SafeCase}, signatures={"trace": ProductionTrace.signature})
    assert isinstance(read(dumps({"traceId": "t", "outputs": {}}), codec=codec), Skip)


DEEP = b"[" * 10_000 + b"]" * 10_000
REJECTED = {
    "empty": b"",
    "not_utf8": b'{"kind":"\xff"}',
    "not_json": b"{nope",
    "too_deep": b'{"kind":"safe","x":' + DEEP + b"}",
    "too_large": b'{"x":"' + b"a" * 100_001 + b'"}',
    "not_an_object": b"[1,2]",
    "kind_missing": b"{}",
    "kind_unknown": b'{"kind":"sfae"}',
    "byte_order_mark": b"\xef\xbb\xbf{}",
    "schema_missing": b'{"kind":"safe","concern_id":"I25","batch_id":"b"}',
    "schema_string_type": dumps(safe_event(test_id=7)),
    "schema_too_long": dumps(safe_event(expectations={"signal_generation": {"must_find_signals": ["x"] * (EXPECTATIONS_MAX + 1)}})),
    "schema_blank_expectation": dumps(safe_event(expectations={"event_summary": {"must_contain_phrases": ["fine", " \t"]}})),
    "schema_string_pattern_mismatch": dumps(safe_event(batch_id="a\nb")),
    "duplicate_key": dumps(safe_event()).replace(b'"test_id"', b'"test_id":"other","test_id"', 1),
    "specversion_unknown": dumps({"specversion": "2.0", "id": "1", "type": "t", "source": "s", "data": {"kind": "safe"}}),
    "cloudevents_data_missing": dumps({"specversion": "1.0", "id": "1", "type": "t", "source": "s", "data": "text"}),
}


@pytest.mark.parametrize("code", REJECTED)
def test_what_cannot_be_read_is_rejected_with_a_reason(code: str) -> None:
    step = read(REJECTED[code])
    assert isinstance(step, Reject)
    assert step.code == code


def test_null_is_rejected_as_empty() -> None:
    step = read(None)
    assert isinstance(step, Reject)
    assert step.code == "empty"


@pytest.mark.parametrize(("version", "code"), [(b"1.0", None), (b"1.7", None), (b"1", None), (b"0.3", "specversion_unknown"), (b"2.0", "specversion_unknown")])
def test_a_cloudevent_of_another_major_version_is_not_read_as_one_of_ours(version: bytes, code: str | None) -> None:
    step = read(dumps(safe_event()), [("ce_specversion", version), ("ce_id", b"1")])
    assert (step.code, step.where) == (code, "ce_specversion") if isinstance(step, Reject) else code is None


def test_a_batch_of_cloudevents_is_rejected_by_name() -> None:
    step = read(b"[]", [("content-type", b"application/cloudevents-batch+json")])
    assert isinstance(step, Reject)
    assert step.code == "cloudevents_batch"


def test_the_path_names_fields_and_indices() -> None:
    step = read(REJECTED["schema_blank_expectation"])
    assert isinstance(step, Reject)
    assert step.where == "expectations.event_summary.must_contain_phrases.1"


def test_the_path_never_contains_the_payloads_own_keys() -> None:
    step = read(dumps(safe_event(correlation={"Jane Doe 1954": []})))
    assert isinstance(step, Reject)
    assert step.where == "correlation.*"


def test_a_null_counts_as_an_absent_field() -> None:
    step = read(dumps(safe_event("e1", correlation=None, output={"signals": None, "summary": None}, expectations={"event_summary": None})))
    assert isinstance(step, Read)
    assert step.case.correlation == {}


def test_numbers_in_the_correlation_map_are_read_as_text() -> None:
    step = read(dumps(safe_event(correlation={"attempt": 3})))
    assert isinstance(step, Read)
    assert step.case.correlation == {"attempt": "3"}


def test_a_huge_correlation_map_is_one_error() -> None:
    step = read(dumps(safe_event(correlation={f"k{n}": [] for n in range(1000)})))
    assert isinstance(step, Reject)
    assert (step.code, step.where) == ("schema_too_long", "correlation")


@given(st.binary(max_size=300))
def test_no_bytes_make_the_codec_raise(value: bytes) -> None:
    assert read(value) is not None


@given(
    st.lists(
        st.tuples(st.sampled_from(["content-type", "ce_id", "ce_type", "ce_specversion", "ce_source", "x"]), st.none() | st.binary(max_size=20)), max_size=6
    )
)
def test_no_headers_make_the_codec_raise(headers: list[tuple[str, bytes]]) -> None:
    assert read(dumps(safe_event()), headers) is not None


def test_a_cloudevents_id_that_is_not_text_gives_way_to_the_position() -> None:
    ids = set()
    for raw in (b"\xff\xfe", b"\xfe\xff"):
        step = CODEC.read(FakeRecord(5, dumps(safe_event()), headers=[("ce_specversion", b"1.0"), ("ce_id", raw)]), "topic-1")
        assert isinstance(step, Read)
        ids.add(step.event_id)
    assert ids == {str(uuid.uuid5(NAMESPACE, "topic-1/0/5"))}


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8) | st.integers(-(2**70), 2**70),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["kind", "id", "test_id", "concern_id", "batch_id", "expectations", "output", "correlation", "timestamp", "data", "specversion"]),
        json_values,
    )
)
def test_no_document_makes_the_codec_raise(document: dict[str, object]) -> None:
    assert read(dumps(document | {"kind": "safe"})) is not None


@given(st.text(max_size=40))
def test_deterministic_ids_are_rfc_4122_version_5(name: str) -> None:
    assert deterministic_id(name) == str(uuid.uuid5(NAMESPACE, name))


def test_result_ids_differ_by_event_suite_version_and_configuration() -> None:
    quadruples = [("e", "s", "1", "d"), ("f", "s", "1", "d"), ("e", "t", "1", "d"), ("e", "s", "2", "d"), ("e", "s", "1", "c")]
    assert len({ResultMaker(suite, version, digest).id_of(event) for event, suite, version, digest in quadruples}) == 5


def test_an_encoded_result_reads_back_as_the_strict_model() -> None:
    card = Scorecard(
        label="Review",
        values={"CR": 0.5},
        findings=(Finding(severity="major", code="cr_missing", path="x[0]", message="m"),),
        failures=(Failure(component="judge", kind="timeout", code="t"),),
        components_missing=("judge",),
        not_checked=(NotChecked(check="c", reason="r"),),
        details={"a": [1, {"b": None}]},
        attributes={"n": 3, "s": "ü", "none": None},
        models={"nli": "m@1"},
    )
    record = FakeRecord(5, dumps(safe_event("é1", correlation={"k": "v"})))
    step = CODEC.read(record)
    assert isinstance(step, Read)
    key, value, headers = encode_result(ResultMaker("s", "1", "d").result(step.case, step.event_id, source_of(record), card, 0.0001))
    result = ScoreResult.model_validate_json(value)
    assert result.model_dump(include=set(Scorecard.model_fields)) == card.model_dump()
    assert (result.event_id, result.correlation, result.source.offset) == ("é1", {"k": "v"}, 5)
    assert result.result_id.encode() == key == dict(headers)["ce_id"]
    assert dict(headers)["ce_type"] == b"touchstone.result"
    assert set(json.loads(value)) == set(ScoreResult.model_fields)


def test_huge_arrays_are_rejected_quickly() -> None:
    codec = Codec({"safe": SafeCase}, bytes_max=50_000_000)
    value = orjson.dumps(safe_event(output={"signals": [1] * 1_000_000}))
    step = read(value, codec=codec)
    assert isinstance(step, Reject)
    assert step.code in {"schema_string_type", "schema_too_long"}


def test_a_record_of_another_suites_kind_is_skipped_although_it_does_not_say_its_kind() -> None:
    codec = Codec({"safe": SafeCase}, signatures={"summary": frozenset({"generated"})})
    assert codec.read(FakeRecord(0, b'{"generated": "x"}')) == Skip("other_kind", "json")
    assert Codec({"safe": SafeCase}).read(FakeRecord(0, b'{"generated": "x"}')) == Reject("kind_missing", "kind", "json")
