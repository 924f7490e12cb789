"""`If-Match`: a reviewer names the state of the case that they saw."""

from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers

from tests.ops.web.history import history
from tests.ops.web.served import served
from touchstone.ops.web.api.calls import Refusal
from touchstone.ops.web.api.preconditions import check_seen

SAID = {"reviewer": "ann", "verdict": "fail"}


def status(*given: str, is_needed: bool = True) -> int:
    """The status of a request for a case of revision 2; 200 if it is accepted."""
    try:
        check_seen(Headers(raw=[(b"if-match", one.encode("latin-1")) for one in given]), 2, is_needed=is_needed)
    except Refusal as error:
        return error.status
    return 200


@pytest.mark.parametrize(
    ("given", "expected"),
    [(('"2"',), 200), (('"1", "2"',), 200), (('"1","2" ,',), 200), (('"1"', '"2"'), 200), (('"a,b", "2"',), 200),
     (('"1"',), 412), (('W/"2"',), 412), (('W/"2", "1"',), 412), (('"22"',), 412), (('""',), 412), (('"2-gzip"',), 412),
     ((), 428), (("*",), 428), ((" * ",), 428),
     (("2",), 400), (('"2',), 400), (('"1" "2"',), 400), (("",), 400), (('*, "2"',), 400), (('w/"2"',), 400), (('"\u00e9"',), 412), (('"2"; x',), 400)],
)  # fmt: skip
def test_only_who_has_seen_the_present_state_may_annotate(given: tuple[str, ...], expected: int) -> None:
    assert status(*given) == expected


@pytest.mark.parametrize(("given", "expected"), [((), 200), (("*",), 200), (('"2"',), 200), (('"1"',), 412), (('W/"2"',), 412), (("2",), 400)])
def test_a_thumb_needs_no_condition_and_keeps_to_one_that_is_given(given: tuple[str, ...], expected: int) -> None:
    assert status(*given, is_needed=False) == expected


async def test_each_refusal_says_how_to_mend_it_and_writes_nothing(tmp_path: Path) -> None:
    with history(tmp_path) as opened:
        async with served(sources=opened) as web:

            async def patch(body: Any, tag: str | None) -> Any:
                return await web.client.patch("/api/cases/e-0", json=body, headers={} if tag is None else {"If-Match": tag})

            assert (await patch({"annotations": [SAID]}, '"0"')).status_code == 200
            for tag, code, says in ((None, 428, "read it with GET"), ("*", 428, "does not say which state"), ('W/"1"', 412, "weak"), ('"0"', 412, '"1" now')):
                answer = await patch({"annotations": [SAID | {"reviewer": "bob"}]}, tag)
                assert (answer.status_code, says in answer.json()["error"]) == (code, True)
                assert (answer.headers.get("etag") == '"1"') == (code == 412)
            assert (await patch({"feedback": "up"}, '"0"')).status_code == 412
            case = (await web.get("/api/cases/e-0")).json()
            assert ([one["reviewerId"] for one in case["annotations"]], case["feedback"]) == (["ann"], None)
