import json
import logging
import re
import signal

import pytest
import structlog

from touchstone.schemas.settings.house import LogSettings
from touchstone.streams.telemetry.logs import configure

CANARY = "CANARY-7f3a"


@pytest.fixture(autouse=True)
def restored():  # type: ignore[no-untyped-def]
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_field_that_is_not_on_the_list_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(format="json"))
    structlog.get_logger("x").info("happened", count=3, summary=CANARY)
    (line,) = lines(capsys)
    assert line["count"] == 3
    assert CANARY not in json.dumps(line)


def test_an_exception_is_told_by_type_and_place_without_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(format="json"))
    try:
        raise ValueError(CANARY)
    except ValueError:
        structlog.get_logger("x").error("failed", exc_info=True)
    (line,) = lines(capsys)
    assert str(line["exception"]).startswith("ValueError at test_logs.py:")
    assert CANARY not in json.dumps(line)


def test_a_librarys_arguments_and_prepared_texts_are_kept_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(format="json"))
    logging.getLogger("aiokafka.consumer").warning("cannot read %s", CANARY)
    logging.getLogger("faust.agents").error(f"failed on {CANARY}")  # noqa: G004 -- what Faust does
    first, second = lines(capsys)
    assert first["message"] == "cannot read …"
    assert CANARY not in json.dumps([first, second])


def test_a_library_that_retries_is_a_warning_and_every_argument_a_gap(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(format="json"))
    logging.getLogger("aiokafka.consumer.group_coordinator").error("Marking dead (node %s)for %-5.2f%% of %(group)s", 1, CANARY)
    logging.getLogger("faust.app").error("crashed: %r", CANARY)
    first, second = lines(capsys)
    assert (first["level"], first["message"]) == ("warning", "Marking dead (node …)for …% of …")
    assert (second["level"], second["message"]) == ("error", "crashed: …")
    assert "code" not in first


def test_a_signal_is_written_as_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(format="console"))
    structlog.get_logger("x").info("stopping", signal=signal.SIGINT)
    assert "signal=2" in re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().err)


def test_a_librarys_repeats_are_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(format="json"))
    for attempt in range(100):
        logging.getLogger("aiokafka.conn").warning("Unable to connect to node %s", attempt)
    assert len(lines(capsys)) == 1


def test_a_librarys_info_is_not_even_built(capsys: pytest.CaptureFixture[str]) -> None:
    configure(LogSettings(level="debug"))
    assert not logging.getLogger("aiokafka").isEnabledFor(logging.INFO)
