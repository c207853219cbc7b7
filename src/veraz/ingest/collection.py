"""The records of a .jsonl collection, as a stream: one JSON object a line, at most one line in memory."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NoReturn

from veraz.errors import ItemError
from veraz.nouns.corpus import RawItem

MAX_LINE = 1 << 26
"""Bytes of one line. Without a bound a file that is no collection, or a bomb in a .gz, is one line that fills the memory."""


def records(path: str, stream: BinaryIO, head: Sequence[bytes] = ()) -> Iterator[RawItem | ItemError]:
    """A RawItem for each line of `stream` that is not blank, and an ItemError, with the number of the line, for each that is no
    record. `head`: lines that were read from it before."""
    number, numbered = 0, enumerate(_lines(stream, head), 1)
    while True:
        try:
            number, row = next(numbered)
        except StopIteration:
            return
        except EOFError:
            yield ItemError(
                "the compressed file ends too early; what precedes was read",
                path=f"{path}:{number + 1}",
                fix="fetch it again",
            )
            return
        except (gzip.BadGzipFile, zlib.error) as error:
            yield ItemError(
                f"not a sound gzip file: {error}",
                path=f"{path}:{number + 1}",
                fix="compress it again, or drop the .gz",
            )
            return
        if row is None:
            yield _too_long(path, number)
            continue
        if number == 1:
            row = row.removeprefix(b"\xef\xbb\xbf")
        if row.strip():
            yield _record(path, number, row)


def _lines(stream: BinaryIO, head: Sequence[bytes]) -> Iterator[bytes | None]:
    """None for a line longer than MAX_LINE, which is passed over."""
    for row in itertools.chain(head, iter(lambda: stream.readline(MAX_LINE + 1), b"")):
        if len(row) <= MAX_LINE or row.endswith(b"\n"):
            yield row
            continue
        rest = row
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE)
        yield None


def _too_long(path: str, line: int) -> ItemError:
    return ItemError(
        f"a line of more than {MAX_LINE >> 20} MiB",
        path=f"{path}:{line}",
        fix="write one JSON object a line, and give a larger document as a file of its own",
    )


def _record(path: str, line: int, row: bytes) -> RawItem | ItemError:
    try:
        record = _object(row)
        external_id = _id(record)
    except ItemError as error:
        return ItemError(error.reason, path=f"{path}:{line}", fix=error.fix)
    return RawItem(path, external_id, "record", record=record, line=line)


def _object(row: bytes) -> dict[str, Any]:
    fix = 'write one JSON object a line, in UTF-8: {"id": …, "text": …}'
    try:
        value = json.loads(row.decode("utf-8"), parse_constant=_not_json)
    except UnicodeDecodeError as error:
        raise ItemError(f"invalid UTF-8 at byte {error.start} of the line", fix=fix) from None
    except RecursionError:
        raise ItemError("not usable JSON: nested too deeply", fix=fix) from None
    except ValueError as error:
        raise ItemError(f"not valid JSON: {error}", fix=fix) from None
    if not isinstance(value, dict):
        raise ItemError(f"a JSON {type(value).__name__} where an object is expected", fix=fix)
    return value


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _id(record: dict[str, Any]) -> str:
    value = record.get("id", record.get("_id"))
    if isinstance(value, bool) or not isinstance(value, str | int):
        found = (
            "no field id" if value is None else f"field id: {type(value).__name__} where a string is expected"
        )
        raise ItemError(found, fix='give every record a string or integer "id"')
    text = str(value).strip()
    if not text or "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ItemError(
            "field id: blank, or with characters that cannot be stored", fix="give it printable text"
        )
    return text
