"""OCR: text in pictures. `rapid.py` is the engine; another one implements `ports.OcrEngine` and takes its place here."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Literal

from veraz.providers.ports import OcrEngine

VERSION = "rapidocr/pp-ocrv6-small/1"
"""Raised whenever the same page gives another text: stored documents with such pages are then parsed again."""

OcrMode = Literal["off", "missing", "elsewhere", "here"]
"""What becomes of pages without text: named as such; named with the packages that are missing; left to another process, which
has the time and memory for them (Wordless is raised); or recognised at once."""


class Wordless(Exception):
    """So many pages are to be recognised by OCR before the document can be given."""

    def __init__(self, pages: int) -> None:
        super().__init__(pages)
        self.pages = pages


def installed() -> bool:
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


@cache
def engine() -> OcrEngine:
    """The engine of this process; its models load when it first reads. Raises ModuleNotFoundError without the extra."""
    from veraz.providers.ocr.rapid import RapidEngine

    return RapidEngine()
