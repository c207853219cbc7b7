"""What arms gave, kept on disk as it comes, so that a sweep that was killed goes on where it stood.

One file for each way of asking an arm of one corpus, named by a hash of everything that decides its answers; a record is added
and flushed with each question. A record that was cut off in the middle, and all after it, are asked again. It holds ids, scores
and hashes: no text of documents or questions.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import msgspec

from veraz.errors import UsageError
from veraz.nouns.evidence import Candidate
from veraz.nouns.sweep import Asked, Owner

FORMAT = 2
"""Raised when equal keys would mean other answers: by the files' layout, or by what an arm gives."""
FOLDER = "arms"
_HEAD = 8  # bytes before a record: its length and its CRC-32


class _Record(msgspec.Struct, array_like=True):
    question: bytes
    candidates: list[tuple[UUID, float, int, date | None, float]] | None
    owners: list[tuple[UUID, str, UUID | None, bytes]]
    milliseconds: float


def question_key(question: str) -> bytes:
    return hashlib.blake2b(question.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class KeptArms:
    """Answers of one way of asking, by question. Only where they stand is held in memory. `known`: how many were found on disk;
    `owners`: of all chunks in them."""

    def __init__(self, path: Path) -> None:
        self._places: dict[bytes, tuple[int, int]] = {}
        self._times: dict[bytes, float] = {}
        self._path = path
        self._file = _opened(path)
        self.owners: dict[UUID, Owner] = {}
        end = 0
        for end, payload in _records(self._file):
            record = msgspec.msgpack.decode(payload, type=_Record)
            self._places[record.question] = end - len(payload), len(payload)
            self._times[record.question] = record.milliseconds
            self.owners.update(_asked(record).owners)
        self._file.seek(end)
        self._file.truncate()
        self.known = len(self._places)

    @property
    def milliseconds(self) -> Collection[float]:
        """What each question took."""
        return self._times.values()

    def get(self, question: str) -> Asked | None:
        if (place := self._places.get(question_key(question))) is None:
            return None
        self._file.seek(place[0])
        return _asked(msgspec.msgpack.decode(self._file.read(place[1]), type=_Record))

    def keep(self, question: str, asked: Asked) -> None:
        """Adds an answer. Raises UsageError where the file cannot be written."""
        key = question_key(question)
        payload = msgspec.msgpack.encode(_record(key, asked))
        try:
            at = self._file.seek(0, os.SEEK_END)
            self._file.write(
                len(payload).to_bytes(4, "big") + zlib.crc32(payload).to_bytes(4, "big") + payload
            )
            self._file.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._places[key] = at + _HEAD, len(payload)
        self._times[key] = asked.milliseconds

    def forget(self) -> None:
        """Drops all answers: they are no longer what the arm would give."""
        self._places.clear()
        self._times.clear()
        self.owners.clear()
        self._file.seek(0)
        self._file.truncate()
        self.known = 0

    def close(self) -> None:
        self._file.close()


def arms_path(folder: Path, key: Mapping[str, Any]) -> Path:
    """The file for what `key` describes, which is everything that decides an arm's answers."""
    plain = msgspec.json.encode([FORMAT, key], order="deterministic")
    return folder / FOLDER / f"{hashlib.sha256(plain).hexdigest()[:24]}.bin"


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Makes the folder and holds it for this process. Raises UsageError where another sweep holds it or it cannot be written."""
    try:
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("a+b")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with file:
        if not _try_lock(file):
            raise UsageError(
                f"{folder}: another sweep is at work in it", fix="wait for it, or give another --out"
            )
        yield


def _try_lock(file: BinaryIO) -> bool:
    """The system drops the lock when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: two sweeps in one folder are not told apart
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _opened(path: Path) -> BinaryIO:
    try:
        path.touch()
        return path.open("r+b")
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: cannot be written: {error.strerror or error}", fix="give --out a place that can be written"
    )


def _records(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Where each whole record ends, and what it holds; it stops at the first that is not whole."""
    file.seek(0)
    data = file.read()
    at = 0
    while at + _HEAD <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        payload = data[at + _HEAD : at + _HEAD + length]
        if len(payload) < length or zlib.crc32(payload) != int.from_bytes(data[at + 4 : at + _HEAD], "big"):
            return
        at += _HEAD + length
        yield at, payload


def _record(key: bytes, asked: Asked) -> _Record:
    candidates = asked.candidates
    return _Record(
        key,
        None
        if candidates is None
        else [(c.chunk_id, c.score, c.authority, c.revised_at, c.share) for c in candidates],
        [(chunk, o.external_id, o.document_id, o.body) for chunk, o in asked.owners.items()],
        asked.milliseconds,
    )


def _asked(record: _Record) -> Asked:
    return Asked(
        None if record.candidates is None else tuple(Candidate(*row) for row in record.candidates),
        {chunk: Owner(name, document, body) for chunk, name, document, body in record.owners},
        record.milliseconds,
    )


def witnesses(questions: Sequence[str], kept: KeptArms, most: int = 3) -> tuple[str, ...]:
    """Questions whose answers are known, spread over all: they are asked again to see that the corpus is still the same."""
    known = [question for question in questions if kept.get(question) is not None]
    step = max(1, -(-len(known) // most))
    return tuple(known[::step])
