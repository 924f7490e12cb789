from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from tests.ops.judge_folders import GOOD, calibrated
from tests.ops.web.history import history
from tests.ops.web.served import ALL, ONE, TOKENS, served
from touchstone.ops.store.judges import JudgeStore
from touchstone.ops.web.api.sources import Opened
from touchstone.ops.web.openapi import openapi
from touchstone.schemas.prevalence import JudgeStatus, Window
from touchstone.scorers.calibration.live import live_prevalence
from touchstone.scorers.reporting.intervals import Rate, wilson

WINDOW = Window(since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 1, 2, tzinfo=UTC))


def keep(opened: Opened, folder: Path) -> None:
    """A suite that was measured, and a mode of another suite that was not."""
    calibration = calibrated(folder, "one")
    rate = live_prevalence(calibration, Rate(40, 200), WINDOW)
    one = JudgeStatus(subject="one", state="promoted", decides=True, calibration=calibration, prevalence=rate, stale=("the labels changed",))
    other = JudgeStatus(subject="two/missing_lab", state="uncalibrated", decides=False, reasons=("it was never calibrated",))
    JudgeStore(opened.history.engine).keep_states([one, other], 1_800_000_000)


async def test_judges_are_told_with_recalls_and_rates_as_the_document_says(tmp_path: Path) -> None:
    with history(tmp_path) as sources:
        keep(sources, tmp_path)
        async with served(sources=sources) as web:
            answer = (await web.get("/api/judges")).json()
    document = openapi()
    schema = document["paths"]["/api/judges"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(answer)
    one, other = answer["judges"]
    interval = wilson(GOOD.failed_found, GOOD.failed)
    assert interval is not None
    assert one["recalls"]["fail_recall"] == {"count": 45, "total": 50, "share": 0.9, "low": interval.low, "high": interval.high}
    assert (one["title"], one["state"], one["decides"], one["stale"]) == ("Suite one", "promoted", True, ["the labels changed"])
    assert one["prevalence"]["corrected"] == pytest.approx((40 / 200 + 0.9 - 1) / (0.9 + 0.9 - 1))
    assert (other["title"], other["recalls"], other["prevalence"]) == ("Suite two: missing lab", None, None)


async def test_a_token_sees_the_judges_of_its_suites_alone(tmp_path: Path) -> None:
    with history(tmp_path) as sources:
        keep(sources, tmp_path)
        async with served(sources=sources, tokens=TOKENS) as web:
            told = {token: [one["subject"] for one in (await web.get("/api/judges", token)).json()["judges"]] for token in (ALL, ONE)}
            assert (await web.get("/api/judges")).status_code == 401
    assert told == {ALL: ["one", "two/missing_lab"], ONE: ["one"]}
