import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from touchstone.scorers.json_keys import has_key_twice

STRINGS = st.text(st.sampled_from('a:"\\é{},[] \n'), max_size=4)


class Pairs(list[tuple[str, Any]]):
    """An object with its keys as they are written."""


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(STRINGS, inner), max_size=4).map(Pairs),
    max_leaves=12,
)


def written(value: Any, quoted: Any, colon: str) -> str:
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{quoted(key)}{colon}{written(one, quoted, colon)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(one, quoted, colon) for one in value) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def repeats(value: Any) -> bool:
    if isinstance(value, Pairs):
        return len({key for key, _ in value}) < len(value) or any(repeats(one) for _, one in value)
    return isinstance(value, list) and any(repeats(one) for one in value)


def escaped(text: str) -> str:
    return '"' + "".join(f"\\u{ord(character):04x}" for character in text) + '"'


@given(VALUES, st.sampled_from([json.dumps, lambda text: json.dumps(text, ensure_ascii=False), escaped]), st.sampled_from([":", ": ", " :\n"]))
@example(Pairs([("a", ":"), ("a", 1)]), escaped, ":")
@example(Pairs([("a", ""), ("a", Pairs([("b", ":")]))]), json.dumps, ":")
def test_exactly_the_texts_with_a_key_twice_are_found(value: Any, quoted: Any, colon: str) -> None:
    text = written(value, quoted, colon).encode()
    assert has_key_twice(text, orjson.loads(text)) == repeats(value)


@pytest.mark.parametrize(
    "text",
    [
        b'{"a": 1, "a": 1}',
        b'[{"b": [{"a": {}, "c": 2, "a": ":"}]}]',
        b'{"a": "\\u003a", "a": 1}',
        b'{"x": "\\u003A", "a": 0, "\\u0061": 1}',
        b'{"a":' * 300 + b'{"b":1,"b":2}' + b"}" * 300,
        b'{"a":' * 1_000 + b'{"b":1,"b":2}' + b"}" * 1_000,
        b'{"a:\\"": "\\\\", "\\u003c": 1, "a:\\u0022": 2}',
    ],
)
def test_a_key_twice_is_found_at_any_depth_and_in_any_writing(text: bytes) -> None:
    assert has_key_twice(text, orjson.loads(text))


@pytest.mark.parametrize("depth", [254, 255, 300, 1_000, 1_023])
def test_a_deep_text_without_one_is_not_refused(depth: int) -> None:
    text = b'{"a":' * depth + b"1" + b"}" * depth
    assert not has_key_twice(text, orjson.loads(text))
