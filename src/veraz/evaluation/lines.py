"""Lines of text files, plain or gzipped, with the place of every fault."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from veraz.errors import UsageError

JSON_FIX = "one JSON object a line, encoded as UTF-8"


def fault(path: Path, line: int, what: str, fix: str) -> NoReturn:
    raise UsageError(f"{path}:{line}: {what}", fix=fix)


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank with their numbers from 1, without line ends and byte order mark."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                line = (raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw).rstrip(b"\r\n")
                if line.strip():
                    yield number, line
    except (OSError, EOFError) as error:  # gzip reports a cut or foreign file while it is read
        fault(path, number + 1, f"cannot be read: {error}", "check the file and its permissions")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """As `numbered_lines`, decoded. Raises UsageError for a line that is not UTF-8."""
    for number, line in numbered_lines(path):
        try:
            yield number, line.decode()
        except UnicodeDecodeError:
            fault(path, number, "not UTF-8", "save the file as UTF-8")


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a .jsonl file with their line numbers. Raises UsageError for anything else."""
    decoder = msgspec.json.Decoder(dict[str, Any])
    for number, line in numbered_lines(path):
        try:
            value = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            fault(path, number, f"not a JSON object: {error}", JSON_FIX)
        yield number, value


def identifier(path: Path, line: int, record: dict[str, Any]) -> str:
    """The record's `_id` (BEIR) or `id`; numbers are taken as their digits."""
    value = record.get("_id", record.get("id"))
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        fault(path, line, "no usable id", "give every record a non-empty string `id` (or `_id`)")
    return str(value)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes the file whole or not at all, making its folder. Raises UsageError where that is not
    possible.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        part.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {error}", fix="give a place that can be written"
        ) from error
