"""judgements.jsonl: who judged which span how good for which query. A log: lines are added, never changed."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import fault, objects
from veraz.nouns.suite import JudgedSpan, Judgement

FILE_NAME = "judgements.jsonl"
GRADES = range(4)
LINE_FIX = (
    "query_id, source, external_id, start, end, sha256 and grade (0 to 3, or null to take one back); "
    "judge and at as you like"
)
SHA256 = re.compile("[0-9a-f]{64}")

Key = tuple[str, str, str, int, int, str]
"""Query, source, external id, start, end, sha256: one unit of one query."""


class _Line(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    query_id: str | int
    external_id: str | int
    start: int
    end: int
    sha256: str
    grade: int | None
    source: str = ""
    judge: str = ""
    at: datetime | None = None


def text_hash(text: str) -> str:
    """The sha256 that binds a judgement to its text: hexadecimal, of UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def key_of(judgement: Judgement) -> Key:
    return (
        judgement.query_id,
        judgement.source,
        judgement.external_id,
        judgement.start,
        judgement.end,
        judgement.sha256,
    )


def read_judgements(path: Path, sources: tuple[str, ...] = ()) -> tuple[Judgement, ...]:
    """All lines in file order. Where a line names no source, the only one of `sources` is meant. Raises UsageError, naming
    file and line."""
    return tuple(_judgement(path, number, record, sources) for number, record in objects(path))


def latest(judgements: Iterable[Judgement]) -> dict[tuple[str, Key], Judgement]:
    """What each judge says of each span now, by (judge, key), the spans in the order in which they were last judged."""
    kept: dict[tuple[str, Key], Judgement] = {}
    for judgement in judgements:
        place = (judgement.judge, key_of(judgement))
        kept.pop(place, None)
        if judgement.grade is not None:
            kept[place] = judgement
    return kept


def settled(judgements: Iterable[Judgement]) -> dict[str, tuple[JudgedSpan, ...]]:
    """Query id → its judged spans. Where judges differ, the median counts, of an even number the lower one of the two in the
    middle: a grade that somebody gave, and not the kinder one."""
    given: defaultdict[Key, list[int]] = defaultdict(list)
    for judgement in latest(judgements).values():
        if judgement.grade is not None:
            given[key_of(judgement)].append(judgement.grade)
    spans: defaultdict[str, list[JudgedSpan]] = defaultdict(list)
    for (query_id, source, external_id, start, end, sha256), grades in given.items():
        middle = sorted(grades)[(len(grades) - 1) // 2]
        spans[query_id].append(JudgedSpan(source, external_id, start, end, sha256, middle))
    return {query_id: tuple(found) for query_id, found in spans.items()}


def document_grades(spans: Mapping[str, Iterable[JudgedSpan]]) -> dict[str, dict[str, int]]:
    """Query id → external id → the best grade of its spans: for who ranks documents."""
    grades: dict[str, dict[str, int]] = {}
    for query_id, found in spans.items():
        documents = grades.setdefault(query_id, {})
        for span in found:
            documents[span.external_id] = max(span.grade, documents.get(span.external_id, 0))
    return grades


def unit_grades(spans: Mapping[str, Iterable[JudgedSpan]]) -> dict[str, dict[str, int]]:
    """Query id → unit → grade."""
    return {query_id: {span.unit: span.grade for span in found} for query_id, found in spans.items()}


def judgement_line(judgement: Judgement) -> str:
    stated: dict[str, Any] = {
        name: value
        for name in ("query_id", "source", "external_id", "start", "end", "sha256", "grade", "judge", "at")
        if (value := getattr(judgement, name)) not in (None, "") or name == "grade"
    }
    return msgspec.json.encode(stated).decode()


class JudgementLog:
    """Adds lines to the file, each on the disk before `add` returns. Several processes may add to one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mended = False

    def add(self, judgement: Judgement) -> None:
        """Raises UsageError where the file cannot be written."""
        line = judgement_line(judgement).encode() + b"\n"
        try:
            if not self._mended:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.mend()
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(descriptor, line)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise UsageError(
                f"{self.path}: cannot be written: {error.strerror or error}",
                fix="give a suite that can be written",
            ) from error

    def mend(self) -> bool:
        """Cuts a last line that a power failure or a full disk left half written. True if there was one. Raises OSError."""
        self._mended = True
        if not self.path.exists():
            return False
        content = self.path.read_bytes()
        whole, _, rest = content.rpartition(b"\n")
        if not rest.strip():
            return False
        kept = whole + b"\n" if whole else b""
        if _is_line(rest):
            kept = content + b"\n"  # whole, and an editor left out the line's end
        part = self.path.with_name(self.path.name + ".part")
        part.write_bytes(kept)
        part.replace(self.path)
        return kept != content + b"\n"


def _is_line(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _judgement(path: Path, number: int, record: dict[str, Any], sources: tuple[str, ...]) -> Judgement:
    try:
        line = msgspec.convert(record, _Line)
    except msgspec.ValidationError as error:
        fault(path, number, f"no judgement: {error}", LINE_FIX)
    source = line.source or (sources[0] if len(sources) == 1 else "")
    what = None
    if not source:
        what = "no source, and suite.toml does not name exactly one"
    elif not str(line.query_id).strip() or not str(line.external_id).strip():
        what = "a blank id"
    elif not 0 <= line.start < line.end:
        what = f"the span {line.start}–{line.end} holds nothing"
    elif not SHA256.fullmatch(line.sha256):
        what = f"sha256 {line.sha256[:70]!r} is not 64 digits of lower-case hexadecimal"
    elif line.grade is not None and line.grade not in GRADES:
        what = f"grade {line.grade}"
    if what:
        fault(path, number, what, LINE_FIX)
    return Judgement(
        str(line.query_id),
        source,
        str(line.external_id),
        line.start,
        line.end,
        line.sha256,
        line.grade,
        line.judge,
        line.at,
    )
