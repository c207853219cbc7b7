"""Running coroutines from code that does not await: one event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from veraz.errors import UsageError

Result = TypeVar("Result")

GRACE_SECONDS = 5.0
"""How long an interrupted call waits for its coroutine to give back what it holds, a connection for one."""


class Portal:
    """A loop that any number of threads may hand coroutines to, also threads that run a loop themselves.

    `close` ends what still runs. A portal that is never closed ends with the process.
    """

    def __init__(self) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=_serve, args=(started,), name="veraz", daemon=True)
        self._thread.start()
        self._loop, self._stop = started.result()

    @property
    def closed(self) -> bool:
        return self._loop.is_closed()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Blocks until `coroutine` is done. Its error is raised as it is; an interruption of the wait cancels it.

        Raises UsageError after `close`, and inside a callback of a running call, which would wait for itself.
        """
        self._check(coroutine)
        outcome: Future[Result] = Future()
        running: list[asyncio.Task[Result]] = []

        def begin() -> None:
            running.append(self._loop.create_task(coroutine))
            running[0].add_done_callback(lambda task: _hand_over(task, outcome))

        def cancel() -> None:
            if running:
                running[0].cancel()
            else:  # interrupted before `begin` was handed over
                coroutine.close()
                outcome.cancel()

        try:
            self._loop.call_soon_threadsafe(begin)
            return outcome.result()
        except BaseException:
            if not outcome.done():
                self._loop.call_soon_threadsafe(cancel)
                with contextlib.suppress(BaseException):
                    outcome.exception(GRACE_SECONDS)
            raise

    def close(self) -> None:
        """Cancels what runs and ends the thread. Safe to repeat."""
        if not self.closed and threading.current_thread() is not self._thread:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def _check(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        inside = threading.current_thread() is self._thread
        if inside or self.closed:
            coroutine.close()
            raise UsageError(
                "a callback called back into the same Veraz" if inside else "this Veraz is closed",
                fix="do it after the call, or use AsyncVeraz" if inside else "open another: Veraz.open()",
            )


def _serve(started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    async def until_stopped() -> None:
        stop = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

    asyncio.run(until_stopped())


def _hand_over(task: asyncio.Task[Result], outcome: Future[Result]) -> None:
    if task.cancelled():
        outcome.cancel()
    elif error := task.exception():
        outcome.set_exception(error)
    else:
        outcome.set_result(task.result())
