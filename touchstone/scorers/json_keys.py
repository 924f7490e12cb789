"""Objects with a key twice: parsers keep the second without a word, and nobody sees that a value is gone."""

import re
from typing import Any, Final

from orjson import dumps

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def has_key_twice(text: bytes | bytearray, document: Any) -> bool:
    """Whether the text that was read as `document` has an object with a key twice, at any depth.

    Cheap: a colon of the text belongs to a key or is part of a string. Both come again when the document is written, except those that
    went with a key's first value. Only a colon that the text writes as an escape is not counted in it. Where that leaves a doubt, the
    keys of both are counted, which is exact.
    """
    try:
        again = dumps(document)
    except TypeError:  # deeper than orjson writes, though it reads it
        again = b""
    # One byte is looked for much faster than five.
    if text.count(b":") == again.count(b":") and (b"\\" not in text or b"\\u003" not in text):
        return False
    return _STRING.sub(b"", text).count(b":") > _keys(document)


def _keys(document: Any) -> int:
    """How many keys all objects of a document have together."""
    count, left = 0, [document]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            count += len(part)
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
    return count
