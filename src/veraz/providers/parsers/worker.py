"""The process in which parsers run: `python -m veraz.providers.parsers.worker`. Not to be run by hand.

It reads one pickled Task a frame and writes one JSON Reply; a frame is its length in four bytes and its content. The end of
its input ends it. Replies are JSON, not pickles: a document that takes this process over must not reach the one that asked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import struct
import sys
import warnings
from typing import BinaryIO, NamedTuple

import msgspec

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.ocr import OcrMode, Wordless
from veraz.providers.parsers import parser_for

FRAME = struct.Struct("!I")
SAVE_ANEW = "open and save the file again with the program that made it, or convert it"


RECOGNITION_MEMORY = 1 << 30
"""Bytes that the models and the picture of one page take: 0.8 GiB were measured."""
RECOGNITION_TIME = 4
"""A page to recognise counts as so many documents. It takes 5 to 20 seconds of a processor that has nothing else to do."""


class Limits(msgspec.Struct, frozen=True):
    """What one document may cost: seconds, bytes of memory, characters of text."""

    seconds: float = 30.0
    memory: int = 1 << 30
    characters: int = 50_000_000

    def recognising(self, pages: int) -> Limits:
        """For a document of which so many pages are to be recognised: more time for each, and memory for the models."""
        return Limits(
            self.seconds * (1 + RECOGNITION_TIME * pages), self.memory + RECOGNITION_MEMORY, self.characters
        )


class Task(NamedTuple):
    """One document, the seconds that it may take, and what becomes of its pages without text."""

    item: RawItem
    seconds: float
    ocr: OcrMode


class Refusal(msgspec.Struct, frozen=True):
    """The parts of an ItemError."""

    reason: str
    path: str = ""
    external_id: str | None = None
    stage: str = "parse"
    fix: str | None = None

    def error(self, item: RawItem) -> ItemError:
        return ItemError(
            self.reason,
            path=self.path or item.place,
            external_id=self.external_id or item.external_id,
            stage=self.stage,
            fix=self.fix,
        )


class Reply(msgspec.Struct, frozen=True):
    """Exactly one of the three is set. `wordless`: so many pages are to be recognised first, by a process with the time and
    memory for them. `tired`: the process holds more memory than it should, and wants to be replaced."""

    document: ParsedDocument | None = None
    refusal: Refusal | None = None
    wordless: int = 0
    tired: bool = False


def parse(item: RawItem, characters: int, ocr: OcrMode = "off") -> Reply:
    """What the parser of the item says of it; whatever goes wrong is a refusal."""
    try:
        document = parser_for(item, ocr).parse(item)
    except Wordless as error:
        return Reply(wordless=error.pages)
    except ItemError as error:
        return Reply(refusal=Refusal(error.reason, error.path, error.external_id, error.stage, error.fix))
    except MemoryError:
        return Reply(refusal=TOO_LARGE, tired=True)
    except RecursionError:
        return Reply(refusal=TOO_DEEP)
    except Exception as error:  # a library's own failure costs this document alone
        detail = " ".join(str(error).split())[:200]
        return Reply(
            refusal=Refusal(
                f"its parser failed: {type(error).__name__}{': ' if detail else ''}{detail}",
                fix=SAVE_ANEW,
            )
        )
    if len(document.text) > characters:
        return Reply(
            refusal=Refusal(f"holds {len(document.text):,} characters", fix="split the file"), tired=True
        )
    return Reply(document=document)


TOO_DEEP = Refusal("nested too deeply", fix="simplify the file, or leave it out")
TOO_LARGE = Refusal(
    "needs more memory than a document may", fix="split the file, or raise [ingest] parse_memory_mb"
)


def main() -> None:
    memory, characters = int(sys.argv[1]), int(sys.argv[2])
    source, target = _channels()
    _bound_memory(memory)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    while (frame := _read(source)) is not None:
        task: Task = pickle.loads(frame)
        # Should the parent be gone, nobody else ends a parser that hangs.
        _end_after(task.seconds * 1.5 + 5)
        reply = _encoded(parse(task.item, characters, task.ocr))
        _end_after(0)
        target.write(FRAME.pack(len(reply)) + reply)
        target.flush()


def _end_after(seconds: float) -> None:
    """The system ends this process then; 0 takes that back."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _encoded(reply: Reply) -> bytes:
    try:
        return msgspec.json.encode(reply)
    except MemoryError:
        return msgspec.json.encode(Reply(refusal=TOO_LARGE, tired=True))


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes, out of the way of libraries that print."""
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return source, target


def _bound_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows, where time and crashes are bounded still
        return
    # Private writable memory: mapped libraries do not count. Without it (macOS), all address space.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(source: BinaryIO) -> bytes | None:
    head = source.read(FRAME.size)
    if len(head) < FRAME.size:
        return None
    (size,) = FRAME.unpack(head)
    frame = source.read(size)
    return frame if len(frame) == size else None


if __name__ == "__main__":
    main()
