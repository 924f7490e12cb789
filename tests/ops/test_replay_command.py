import asyncio
import os
import signal
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.ops.commands import Commands
from touchstone.streams.process.replay import Replayed


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asks for; `done`: what it is told."""
    told: dict[str, Any] = {}

    async def replay(suite: Any, topics: tuple[str, ...], settings: Any, **options: Any) -> Replayed:
        told.update(options, topics=topics)
        done: Replayed = told["done"]
        return done

    monkeypatch.setattr("touchstone.streams.process.replay.replay", replay)
    monkeypatch.setattr("touchstone.streams.telemetry.logs.configure", lambda _: None)
    monkeypatch.setattr("touchstone.streams.process.suites.running_suite", lambda name, _: (SimpleNamespace(name=name), ("touchstone.judge",)))
    return told


@pytest.mark.parametrize(
    ("done", "code", "last"),
    [
        (Replayed(), 0, "clinical_judge: 0 events shed on touchstone.judge"),
        (Replayed(Counter(budget=18), 18, Counter(scored=18)), 0, "clinical_judge: 18 scored now"),
        (Replayed(Counter(budget=18), 18, Counter(scored=5, shed=13)), 1, "clinical_judge: 5 scored now, 13 shed again"),
        (Replayed(Counter(budget=18), 16, Counter(scored=16)), 0, "clinical_judge: 16 scored now, 2 gone from the topic"),
    ],
)
def test_it_says_what_became_of_them_and_its_exit_code_whether_any_are_left(run: Commands, asked: dict[str, Any], done: Replayed, code: int, last: str) -> None:
    asked["done"] = done
    ran = run("replay", "--suite", "clinical_judge", "--reason", "budget")
    assert (ran.code, ran.out.splitlines()[-1]) == (code, last)
    assert (asked["reason"], asked["dry"], asked["topics"]) == ("budget", False, ("touchstone.judge",))


def test_a_dry_run_only_counts(run: Commands, asked: dict[str, Any]) -> None:
    asked["done"] = Replayed(Counter(budget=3, too_old=1))
    ran = run("replay", "--suite", "clinical_judge", "--dry-run")
    assert (ran.code, ran.out) == (0, "clinical_judge: 4 events shed (budget 3, too_old 1) on touchstone.judge\n")
    assert asked["dry"] is True


def test_an_unknown_suite_is_refused_in_one_line(run: Commands) -> None:
    assert "is not installed" in run("replay", "--suite", "nonsense").one_line


def test_following_scores_them_until_a_signal(run: Commands, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    async def catch_up(suite: Any, topics: tuple[str, ...], settings: Any, stop: asyncio.Event, **options: Any) -> None:
        asked.update(options, topics=topics)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 30)

    monkeypatch.setattr("touchstone.streams.process.replay.catch_up", catch_up)
    ran = run("replay", "--suite", "clinical_judge", "--reason", "budget", "--follow", "--every", "5")
    assert (ran.code, ran.out) == (0, "")
    assert asked == {"reason": "budget", "every_s": 5.0, "topics": ("touchstone.judge",)}


def test_following_a_dry_run_is_refused_in_one_line(run: Commands) -> None:
    assert "not both" in run("replay", "--suite", "clinical_judge", "--follow", "--dry-run").one_line
