"""A system under test that is a function in this process."""

import asyncio
import contextlib
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from touchstone.scorers.base import ConfigError
from touchstone.scorers.selftest.system import OUTPUT_CHARS_MAX, Outcome, SystemFault, Task, outcome_of
from touchstone.scorers.selftest.system_settings import COMPLETE, PythonSystem


class PythonFunction:
    """Calls `function(task)` with the task as a dict, and with `reply` and `task_id` in it for a reply.

    It returns `{"status": …, "output": …}`, or a text, which counts as COMPLETE. A plain function runs in a thread of its own: one that never
    returns fails its case with a timeout, and does not keep the process from ending.
    """

    def __init__(self, settings: PythonSystem) -> None:
        """Import the function. Raises `ConfigError`."""
        self.name = f"python:{settings.function}"
        self._function = _imported(settings.function)
        self._loop: _LoopThread | None = None
        self._loops: list[_LoopThread] = []

    async def open(self) -> None:
        """Nothing to connect beforehand."""

    async def ask(self, task: Task, timeout_s: float) -> Outcome:
        """Call the function with the task."""
        return await self._call(task, task.document(), timeout_s)

    async def reply(self, task: Task, before: Outcome, text: str, timeout_s: float) -> Outcome:
        """Call the function with the task and the reply to it."""
        return await self._call(task, task.document(task_id=before.task_id, reply=text), timeout_s)

    async def close(self) -> None:
        """Stop the threads of coroutines; a hanging call is abandoned."""
        for loop in self._loops:
            loop.stop()

    async def _call(self, task: Task, document: dict[str, Any], timeout_s: float) -> Outcome:
        """One call. Trap: a function's own TimeoutError is its failure, not our limit."""
        try:
            async with asyncio.timeout(timeout_s) as limit:
                answer = await self._called(document)
        except TimeoutError:
            if limit.expired():
                self._loop = None  # it may hang: the next call gets another, and calls that run beside it go on
                raise SystemFault("timeout") from None
            raise SystemFault("failed", "TimeoutError") from None
        except Exception as error:  # noqa: BLE001  # whatever the system under test raises is its failure
            raise SystemFault("failed", type(error).__name__) from None
        if isinstance(answer, str):
            if len(answer) > OUTPUT_CHARS_MAX:
                raise SystemFault("too_large", f"an output of more than {OUTPUT_CHARS_MAX} characters")
            return Outcome(task.session_id, COMPLETE, answer)
        outcome = outcome_of(answer, task.session_id) if isinstance(answer, Mapping) else None
        if outcome is None:
            raise SystemFault("unreadable", "neither a text nor a dict with status and output")
        if not outcome.is_final:
            raise SystemFault("unreadable", f"the function returned while its task is {outcome.status}")
        return outcome

    async def _called(self, document: dict[str, Any]) -> Any:
        """The function's return value. It never runs in the run's own loop, where a blocking coroutine would stop every time limit."""
        if not _is_async(self._function):
            answer = await _in_thread(self._function, document)
            if not inspect.isawaitable(answer):
                return answer
        else:
            answer = self._function(document)
        if self._loop is None:
            self._loop = _LoopThread()
            self._loops.append(self._loop)
        return await self._loop.call(answer)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # an object may have an async __call__


class _LoopThread:
    """An event loop in a thread of its own: a blocking coroutine can be abandoned, and objects bound to the loop survive between calls."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="selftest-system", daemon=True).start()

    def _run(self) -> None:
        self._loop.run_forever()
        # An abandoned call is cancelled, so that it can clean up.
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def call(self, awaitable: Awaitable[Any]) -> asyncio.Future[Any]:
        """Run it there; cancelling the future cancels it."""

        async def run() -> Any:
            return await awaitable

        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self._loop))

    def stop(self) -> None:
        """End the thread as soon as its loop can."""
        with contextlib.suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._loop.stop)


async def _in_thread(function: Callable[..., Any], document: dict[str, Any]) -> Any:
    """The return value of a plain function. It does not run in asyncio's own threads, because the loop waits for those at its end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(answer: Any, error: Exception | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(answer)
            else:
                done.set_exception(error)

    def work() -> None:
        answer: Any = None
        error: Exception | None = None
        try:
            answer = function(document)
        except (StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit) as raised:
            error = RuntimeError(type(raised).__name__)  # a future takes none of these
        except Exception as raised:  # noqa: BLE001  # handed to whoever waits
            error = raised
        with contextlib.suppress(RuntimeError):  # the run has ended meanwhile
            loop.call_soon_threadsafe(settle, answer, error)

    threading.Thread(target=work, name="selftest-system", daemon=True).start()
    return await done


def _imported(path: str) -> Callable[..., Any]:
    """The function at `module:name`; the working directory is searched, too. Raises `ConfigError`."""
    module, _, name = path.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
    except ImportError as error:
        raise ConfigError(f"python:{path}: module {error.name or module} cannot be imported; install its package, or start where it is") from None
    except Exception as error:  # noqa: BLE001  # a module of the user's may raise whatever it likes
        raise ConfigError(f"python:{path}: importing it raised {type(error).__name__}") from None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ConfigError(f"python:{path}: the module has no function of that name")
    return found  # type: ignore[no-any-return]  # any callable may be the system
