"""A parser process whose parser does what a broken or attacked one does, by the words of the document."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.ocr import OcrMode, Wordless
from veraz.providers.parsers import plain, worker


class Hostile:
    def __init__(self, ocr: OcrMode = "off") -> None:
        self.ocr = ocr

    def parse(self, item: RawItem) -> ParsedDocument:
        word = (item.payload or b"").split()[0]
        if word == b"hang":
            time.sleep(60)
        elif word == b"spin":
            while True:
                pass
        elif word == b"crash":
            os.abort()
        elif word == b"exit":
            os._exit(7)
        elif word == b"memory":
            bytearray(1 << 31)
        elif word == b"creep":
            held = []
            while True:
                held.append(bytearray(1 << 20))
        elif word == b"deep":
            return self.parse(item)
        elif word == b"print":
            print("noise" * 10_000)
            sys.stderr.write("noise" * 10_000)
        elif word == b"wordless" and self.ocr == "elsewhere":
            raise Wordless(2)
        elif word == b"wordless" and self.ocr == "here":
            time.sleep(4)  # longer than an ordinary document may take in the test
        elif word == b"flood":
            flood()
        elif word == b"raise":
            raise ZeroDivisionError("division by zero")
        return plain.PlainParser().parse(item)


def flood() -> None:
    """Answers by itself, with a length that no reply may have, and does not stop."""
    pipes = [fd for fd in range(3, 32) if _is_open_pipe(fd)]
    while True:
        for fd in pipes:
            with contextlib.suppress(OSError):
                os.write(fd, b"\xff" * 65_536)


def _is_open_pipe(fd: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False


worker.parser_for = lambda _, ocr: Hostile(ocr)  # type: ignore[assignment]

if __name__ == "__main__":
    worker.main()
