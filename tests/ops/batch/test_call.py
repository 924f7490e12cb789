import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import pytest

from tests.ops.batch.files import ONE, QUOTING
from touchstone.ops.batch.call import score
from touchstone.scorers.base import Document
from touchstone.scorers.safe import SUITE


def test_a_reader_that_fails_is_told_by_its_place_alone() -> None:
    def broken(document: Document, _: Any) -> None:
        raise KeyError(document.data.decode())

    with pytest.raises(ValueError, match=r"the suite could not read the document \(KeyError at test_call\.py:\d+\)") as raised:
        score(replace(SUITE, read=broken), "secret-canary", settings=QUOTING)
    assert "secret-canary" not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.filterwarnings("error")
async def test_a_call_in_a_running_loop_waits_and_leaves_nothing_behind() -> None:
    before = threading.active_count()
    inside = score(SUITE, json.loads(json.dumps(ONE)), settings=QUOTING)
    assert inside.values == (await asyncio.to_thread(score, SUITE, json.loads(json.dumps(ONE)), settings=QUOTING)).values
    assert not [thread for thread in threading.enumerate() if thread.name == "touchstone-score"]
    assert threading.active_count() <= before + 1  # to_thread's own
