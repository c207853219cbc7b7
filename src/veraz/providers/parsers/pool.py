"""Parsing in processes of its own, so that a document that hangs, crashes or takes all memory costs itself alone.

`multiprocessing` would run the caller's script again in each process, and knows no limits; so the processes are started and
spoken to here. Each serves one document at a time and lives for many.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import pickle
import sys
from collections.abc import Sequence

import msgspec

from veraz.errors import UnavailableError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.ocr import OcrMode
from veraz.providers.parsers.worker import (
    FRAME,
    SAVE_ANEW,
    TOO_DEEP,
    TOO_LARGE,
    Limits,
    Refusal,
    Reply,
    Task,
    parse,
)

WORKER = "veraz.providers.parsers.worker"
MAX_REPLY = 1 << 30
_KILL = 9
_PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""What a system says that has no room for another process or file just now."""
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)  # seconds
DOCUMENTS_EACH = 500
"""Documents after which a process is replaced: libraries leak."""


class ParsersHere:
    """In this process and without limits: for tests, and for callers who trust their files."""

    def __init__(self, *, ocr: bool = False) -> None:
        self._ocr: OcrMode = "here" if ocr else "off"

    async def parse(self, item: RawItem) -> ParsedDocument:
        return _opened(item, await asyncio.to_thread(parse, item, Limits().characters, self._ocr))

    async def close(self) -> None:
        pass


class ParserPool:
    """Up to `size` documents at once (0: one a processor), in processes that are started when they are first needed. Bound to one
    event loop. With `ocr`, pages without text are recognised: by processes of their own, so that all other documents keep to the
    narrower limits."""

    def __init__(self, size: int, limits: Limits, *, ocr: bool = False, module: str = WORKER) -> None:
        self._limits = limits
        self._ocr = ocr
        self._readers = _Crew(module, limits)
        self._recognisers = _Crew(module, limits.recognising(1))
        self._places = asyncio.Semaphore(size or os.cpu_count() or 1)

    async def parse(self, item: RawItem) -> ParsedDocument:
        async with self._places:
            mode: OcrMode = "elsewhere" if self._ocr else "off"
            reply = await self._readers.ask(Task(item, self._limits.seconds, mode))
            if reply.wordless:
                seconds = self._limits.recognising(reply.wordless).seconds
                reply = await self._recognisers.ask(Task(item, seconds, "here"))
        return _opened(item, reply)

    async def close(self) -> None:
        await self._readers.close()
        await self._recognisers.close()


class _Crew:
    """Processes with the same limits."""

    def __init__(self, module: str, limits: Limits) -> None:
        self._module = module
        self._limits = limits
        self._closed = False
        self.idle: list[_Worker] = []

    async def ask(self, task: Task) -> Reply:
        worker = await self._worker()
        reply = None
        try:
            reply = await worker.ask(task)
        finally:
            if reply is None or reply.tired or worker.tired or self._closed:
                await worker.stop()
            else:
                self.idle.append(worker)
        return reply

    async def _worker(self) -> _Worker:
        """A process that is free. Where the system has no room for a new one it is asked again for some seconds: others end.
        Raises UnavailableError if it stays so."""
        pauses = iter(_PAUSES)
        while (rested := self._rested()) is None:
            try:
                return await _Worker.start(self._module, self._limits)
            except OSError as error:
                if error.errno not in _PASSING or (pause := next(pauses, None)) is None:
                    raise _cannot_start(error) from error
            await asyncio.sleep(pause)
        return rested

    def _rested(self) -> _Worker | None:
        """An idle process. One that was ended meanwhile, as by a system short of memory, must not cost the next document."""
        while self.idle:
            if (worker := self.idle.pop()).alive:
                return worker
        return None

    async def close(self) -> None:
        self._closed = True
        idle, self.idle = self.idle, []
        for worker in idle:
            await worker.stop()


def _opened(item: RawItem, reply: Reply) -> ParsedDocument:
    if reply.document is None:
        raise (reply.refusal or Refusal("its parser gave nothing", fix=SAVE_ANEW)).error(item)
    return reply.document


class _Worker:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._served = 0
        self._broken = False

    @classmethod
    async def start(cls, module: str, limits: Limits) -> _Worker:
        # A session of its own: Ctrl-C is for the caller, who lets documents in work be finished.
        process = await asyncio.create_subprocess_exec(
            *_command(module, limits),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            start_new_session=True,
        )
        return cls(process)

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    @property
    def tired(self) -> bool:
        return self._broken or self._served >= DOCUMENTS_EACH

    async def ask(self, task: Task) -> Reply:
        """The process's reply; a process that does not give one is broken, and says what that means for the document."""
        self._served += 1
        try:
            frame = pickle.dumps(task, pickle.HIGHEST_PROTOCOL)
        except RecursionError:
            return Reply(refusal=TOO_DEEP)
        try:
            async with asyncio.timeout(task.seconds):
                return await self._exchange(frame)
        except TimeoutError:
            self._broken = True
            return Reply(
                refusal=Refusal(
                    f"took longer than {task.seconds:g} s to parse",
                    fix="split or simplify the file, or raise [ingest] parse_seconds",
                )
            )
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
            self._broken = True
            return Reply(refusal=await self._last_words())

    async def _exchange(self, frame: bytes) -> Reply:
        source, target = self._process.stdout, self._process.stdin
        if source is None or target is None:
            raise ConnectionError
        target.write(FRAME.pack(len(frame)))
        target.write(frame)
        await target.drain()
        (size,) = FRAME.unpack(await source.readexactly(FRAME.size))
        if size > MAX_REPLY:
            raise ConnectionError
        return msgspec.json.decode(await source.readexactly(size), type=Reply)

    async def _last_words(self) -> Refusal:
        try:
            async with asyncio.timeout(5):
                code = await self._process.wait()
        except TimeoutError:
            await self.stop()
            return Refusal("its parser answered nothing that can be read", fix=SAVE_ANEW)
        if (
            code == 1
        ):  # Python ended by itself: it could not even say so, which is what being out of memory looks like
            return TOO_LARGE
        if code == -_KILL:
            return Refusal(
                f"its parser was ended from outside ({_named(code)}), as a system short of memory does",
                fix="ingest it again, with fewer --workers if memory is short",
            )
        return Refusal(
            f"its parser crashed ({_named(code)})",
            fix=SAVE_ANEW,
        )

    async def stop(self) -> None:
        self._kill()
        # asyncio takes a process to have ended once its pipes have: what it wrote and nobody read would be waited for for ever.
        if self._process.stdout is not None:
            with contextlib.suppress(ConnectionError):
                while await self._process.stdout.read(1 << 16):
                    pass
        await self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


def _cannot_start(error: OSError) -> UnavailableError:
    fix = "end other programs, lower --workers, or raise the limits of this user (ulimit -u, ulimit -n); then run it again"
    return UnavailableError(
        f"no process to parse documents in could be started: {error.strerror or error}",
        fix=fix if error.errno in _PASSING else f"check that {sys.executable} can be run; then run it again",
    )


def _command(module: str, limits: Limits) -> Sequence[str]:
    return (sys.executable, "-P", "-m", module, str(limits.memory), str(limits.characters))


def _named(code: int) -> str:
    import signal

    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return f"exit code {code}"
