import time
from typing import Any

import pytest

from tests.ops.selftest import systems
from touchstone.ops.selftest.python_system import PythonFunction
from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system import OUTPUT_CHARS_MAX, Outcome, SystemFault, Task
from touchstone.scorers.selftest.system_settings import PythonSystem

SESSION = "selftest-20260206-1234-a001"


def function(name: str) -> PythonFunction:
    return PythonFunction(PythonSystem(adapter="python", function=f"tests.ops.selftest.systems:{name}"))


def task(prompt: str = "Summarise it.") -> Task:
    return Task(SESSION, "selftest-20260206-1234-a", prompt)


async def outcome(name: str, prompt: str = "Summarise it.", timeout_s: float = 20) -> Outcome:
    system = function(name)
    try:
        return await system.ask(task(prompt), timeout_s)
    finally:
        await system.close()


async def fault(name: str, prompt: str = "Summarise it.", timeout_s: float = 20) -> SystemFault:
    with pytest.raises(SystemFault) as raised:
        await outcome(name, prompt, timeout_s)
    return raised.value


@pytest.mark.parametrize("name", ["answer", "answer_later", "instance"])
async def test_functions_of_every_kind_are_called_and_a_text_is_complete(name: str) -> None:
    assert await outcome(name) == Outcome(SESSION, "COMPLETE", "The tool scores texts.\nIt runs on Kafka.\nIt writes reports.")


async def test_the_function_gets_the_task_and_nothing_but_read_info() -> None:
    systems.CALLS.clear()
    await outcome("answer")
    assert systems.CALLS == [{"session_id": SESSION, "task_group_id": "selftest-20260206-1234-a", "task_type": "READ_INFO", "prompt": "Summarise it."}]


async def test_a_reply_comes_with_the_task_that_it_belongs_to() -> None:
    system = function("answer")
    before = await system.ask(task("Please organise it."), 20)
    assert (before.status, before.task_id) == ("AWAITING_RESPONSE", "t-1")
    after = await system.reply(task("Please organise it."), before, "Flat.", 20)
    assert after.status == "COMPLETE"
    assert systems.CALLS[-1]["reply"] == "Flat."
    assert systems.CALLS[-1]["task_id"] == "t-1"


@pytest.mark.parametrize(("name", "code"), [("raises", "failed"), ("times_out_itself", "failed"), ("leaves", "failed")])
async def test_what_a_function_raises_is_its_failure_and_is_not_quoted(name: str, code: str) -> None:
    error = await fault(name)
    assert error.code == code
    assert "secret" not in str(error)


@pytest.mark.parametrize("name", ["hangs", "blocks_its_loop"])
async def test_a_function_that_hangs_times_out_and_holds_nobody_up(name: str) -> None:
    began = time.monotonic()
    assert (await fault(name, "Please organise it.", 0.2)).code == "timeout"
    assert time.monotonic() - began < 15


async def test_after_a_coroutine_that_hung_the_next_one_is_answered() -> None:
    system = function("blocks_its_loop")
    with pytest.raises(SystemFault):
        await system.ask(task("Please organise it."), 0.2)
    assert (await system.ask(task(), 20)).output == "done"
    await system.close()


@pytest.mark.parametrize("case", ["number", "no_status", "running", "no_text"])
async def test_an_answer_of_another_form_is_unreadable(case: str) -> None:
    assert (await fault("returns", case)).code == "unreadable"


async def test_a_status_is_read_in_any_case_of_letters() -> None:
    assert (await outcome("returns", "lower_case")).status == "COMPLETE"


async def test_a_flood_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    flood: Any = "a" * (OUTPUT_CHARS_MAX + 1)
    monkeypatch.setitem(systems.RETURNS, "flood", flood)
    assert (await fault("returns", "flood")).code == "too_large"


@pytest.mark.parametrize(
    ("path", "told"), [("no_such_module_here:f", "cannot be imported"), ("tests.ops.selftest.systems:nothing", "no function"),
     ("tests.ops.selftest.systems:not_a_function", "no function")]
)  # fmt: skip
def test_a_function_that_is_not_there_is_told_before_anything_is_asked(path: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        PythonFunction(PythonSystem(adapter="python", function=path))
