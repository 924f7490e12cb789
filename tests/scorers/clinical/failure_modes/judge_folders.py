"""Folders of judges as tests want them, and a scripted server that answers their questions."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.doubles.judges import Fault, JudgeServer
from tests.scorers.judges.helpers import QUICK
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.clinical.failure_modes import SAMPLE_JUDGES, FailureModeSettings, build

NAME = "ignores_pregnancy"
QUESTION = "Does a drug harm the unborn child?"
PROMPT = (SAMPLE_JUDGES / "story_against_request" / "prompt.md").read_text(encoding="utf-8")
AT = "2026-09-01T10:00:00Z"
COUNTS = {"failed": 40, "failed_found": 38, "passed": 40, "passed_found": 39}
EXAMPLES = [
    {"trace_id": "x1", "patient": "p1", "fails": True, "critique": "Isotretinoin.", "text": "Persona: pregnant, isotretinoin"},
    {"trace_id": "x2", "patient": "p2", "fails": False, "critique": "Fine.", "text": "Persona: pregnant, folic acid"},
]
TRACE: dict[str, Any] = {
    "id": "e1",
    "traceId": "t1",
    "timestamp": "2026-09-10T00:00:00Z",
    "prompt": "A woman of 31 who is pregnant",
    "persona": {"age": 31, "sex": "female", "conditions": ["Asthma"], "medications": ["Salbutamol"], "labs": []},
    "outputs": {},
}
PASS = {"critique": "No such drug.", "where": "", "verdict": "pass"}
FAIL = {"critique": "She takes isotretinoin.", "where": "persona, medications", "verdict": "fail"}


def made(root: Path, name: str = NAME, *, examples: list[dict[str, Any]] | None = None, prompt: str = PROMPT, **about: Any) -> Path:
    """A judge's folder."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prompt.md").write_text(prompt, encoding="utf-8")
    said = {"kind": "llm", "question": QUESTION, "description": "A drug that is contraindicated in pregnancy.", **about}
    (folder / "judge.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items()), encoding="utf-8")
    (folder / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (EXAMPLES if examples is None else examples)), encoding="utf-8")
    return folder


def calibrated(folder: Path, details: Mapping[str, Any], *actions: str, **basis: Any) -> None:
    """Give a folder a calibration of what a result's details say of its judge, and a history. `basis`: parts that were others."""
    from touchstone.schemas.calibration import Basis
    from touchstone.scorers.calibration.folder import measured

    subject = f"failure_modes/{folder.name}"
    measured_then = {"judge": details["judge"], "prompt": details["prompt"], "model": details["model"], "labels": "l1"} | basis
    calibration = {
        "subject": subject, "at": AT, "basis": measured_then, "seed": 0, "train": 10, "dev": COUNTS, "test": COUNTS, "test_reads": 1,
        "floor": 0.8, "least": 30,
    }  # fmt: skip
    (folder / "calibration.json").write_text(json.dumps(calibration), encoding="utf-8")
    promoted = measured(Basis.model_validate(measured_then))
    lines = ({"subject": subject, "at": AT, "action": action, "calibration": promoted} for action in actions)
    (folder / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def settings(root: Path, judge: Mapping[str, Any] | None = None, **chosen: Any) -> FailureModeSettings:
    """The settings with a server that is never reached."""
    given = {**QUICK, "base_url": "http://127.0.0.1:9/v1", "api_key": "key-of-a-test", **(judge or {})}
    judges = {"folder": root, **chosen.pop("judges", {})}
    return FailureModeSettings.model_validate({"judges": judges, "judge": given, **chosen})


@asynccontextmanager
async def judged(root: Path, answer: Any = PASS, *faults: Fault, judge: Mapping[str, Any] | None = None, **chosen: Any) -> AsyncIterator[Any]:
    """The scorer with its judges behind a scripted server, and the server. `answer`: of every question, or a function of it."""
    async with JudgeServer(answer if callable(answer) else lambda _: answer, faults=faults, keep_bodies=True) as server:
        scorer = build(settings(root, {"base_url": server.base_url, **(judge or {})}, **chosen))
        try:
            yield scorer, server
        finally:
            await scorer.close()


def trace(**changed: Any) -> ProductionTrace:
    """The trace, with something changed."""
    return ProductionTrace.model_validate(TRACE | changed)


async def promoted(root: Path, name: str = NAME, **basis: Any) -> Path:
    """A judge that was calibrated as it is now, and promoted. `basis`: parts of what was measured that were others."""
    folder = made(root, name)
    async with judged(root) as (scorer, _):
        details = (await scorer.score(trace())).details["judges"][name]
    calibrated(folder, details, "calibrate", "promote", **basis)
    return folder
