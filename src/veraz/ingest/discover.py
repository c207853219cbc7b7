"""Finding documents: files, folders, globs, .jsonl[.gz] collections and standard input, as a stream.

What cannot be taken is a value in the stream, not an exception: one bad line or file never stops the rest.
"""

from __future__ import annotations

import gzip
import json
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any, BinaryIO, NoReturn

from veraz.errors import ItemError
from veraz.ingest.formats import COMPRESSED, READ, media_of
from veraz.ingest.ignore import Ignored
from veraz.nouns.corpus import RawItem

_COLLECTIONS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
MAX_BYTES = 1 << 29
"""Of one file, also once it is decompressed."""
MAX_LINE = 1 << 28
"""Bytes of one line of a collection."""
_MAGIC = frozenset("*?[")


def discover(
    paths: Sequence[str],
    *,
    stdin: BinaryIO | None = None,
    exclude: Sequence[str] = (),
    names_only: bool = False,
) -> Iterator[RawItem | ItemError]:
    """Raw items, and an ItemError for everything that could not be taken, in the order of `paths`
    (folders sorted). `exclude` holds patterns as in a .gitignore file for what folders and globs hold; with
    `names_only` files are not read: they come without a payload.

    A file's external id is its path below the folder or glob root that named it, with `/`; a record's is
    its `id`. Two files with one id are two documents: the second gives an ItemError that names both places. Records with one
    id are versions of one document. Collections are read one line at a time, and nothing of them is kept in memory.
    """
    seen: dict[str, str] = {}
    for found in _all(paths, stdin, _Choice(tuple(exclude), names_only)):
        if (
            isinstance(found, ItemError)
            or found.record is not None
            or (first := seen.setdefault(found.external_id, found.path)) is found.path
        ):
            yield found
        else:
            yield ItemError(
                f"the same external id was already read from {first}",
                path=found.path,
                external_id=found.external_id,
                fix="give each document its own id, or ingest the common parent folder",
            )


@dataclass(frozen=True, slots=True)
class _Choice:
    exclude: tuple[str, ...]
    names_only: bool


def _all(paths: Sequence[str], stdin: BinaryIO | None, choice: _Choice) -> Iterator[RawItem | ItemError]:
    for path in paths:
        if path == "-":
            yield from _stdin(stdin)
        else:
            yield from _path(path, choice)


def _path(path: str, choice: _Choice) -> Iterator[RawItem | ItemError]:
    named = Path(path)
    try:
        is_folder, is_there = named.is_dir(), named.exists() or named.is_symlink()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        yield _unreadable(named, error)
        return
    if is_folder:
        yield from _folder(named, choice)
    elif is_there:
        yield from _file(named, named.name, choice)
    elif _MAGIC & set(path):
        yield from _glob(path, choice)
    else:
        yield ItemError(
            "no such file or folder", path=_printable(path), fix="check the path; quote globs from the shell"
        )


def _printable(path: Path | str) -> str:
    """The path with whatever is no UTF-8 escaped: a report must be able to name it."""
    return str(path).encode(errors="backslashreplace").decode()


def _glob(pattern: str, choice: _Choice) -> Iterator[RawItem | ItemError]:
    parts = Path(pattern).parts
    depth = next(n for n, part in enumerate(parts) if _MAGIC & set(part))
    root = Path(*parts[:depth])
    empty = True
    for found in _walk(root, Ignored(root, choice.exclude), parts[depth:]):
        empty = False
        if isinstance(found, ItemError):
            yield found
        else:
            yield from _file(found, found.relative_to(root).as_posix(), choice)
    if empty:
        yield ItemError(
            "nothing matches",
            path=_printable(pattern),
            fix="check the pattern; ** matches any depth of folders",
        )


def _matches(names: Sequence[str], pattern: Sequence[str], *, begun: bool = False) -> bool:
    """Whether a path below the root fits the pattern, or, with `begun`, may be that of a folder above one that does."""
    if not names:
        return begun or all(part == "**" for part in pattern)
    if not pattern:
        return False
    if pattern[0] == "**":
        return _matches(names, pattern[1:], begun=begun) or _matches(names[1:], pattern, begun=begun)
    return fnmatchcase(names[0], pattern[0]) and _matches(names[1:], pattern[1:], begun=begun)


# Folders


def _folder(root: Path, choice: _Choice) -> Iterator[RawItem | ItemError]:
    empty = True
    for found in _walk(root, Ignored(root, choice.exclude)):
        empty = False
        if isinstance(found, ItemError):
            yield found
        else:
            yield from _file(found, found.relative_to(root).as_posix(), choice)
    if empty:
        yield ItemError(
            "no files in this folder",
            path=_printable(root),
            fix=f"put files of a kind that is read there: {READ}",
        )


def _walk(root: Path, ignored: Ignored, pattern: Sequence[str] = ("**",)) -> Iterator[Path | ItemError]:
    """Files below `root` that fit the pattern, sorted, without hidden and ignored ones. Linked folders are entered once: a loop
    ends at its start. Folders that cannot be looked into are errors, also of patterns: what is gone must not be guessed."""
    visited: set[tuple[int, int]] = set()
    stack = [root]
    while stack:
        at = stack.pop()
        try:
            is_folder = at.is_dir()
            if at != root and not _matches(at.relative_to(root).parts, pattern, begun=is_folder):
                continue
            if at != root and ignored(at, is_folder=is_folder):
                continue
            if not is_folder:
                yield at if _may_be_read(at) else _no_file(at)
                continue
            place = at.stat()
            if (place.st_dev, place.st_ino) in visited:
                continue
            visited.add((place.st_dev, place.st_ino))
            names = sorted(entry for entry in os.listdir(at) if not entry.startswith("."))  # noqa: PTH208
            ignored.enter(at)
            stack += [at / name for name in reversed(names)]
        except FileNotFoundError as error:
            if at != root or pattern == ("**",):
                yield _unreadable(at, error)
        except OSError as error:
            yield _unreadable(at, error)
        except ItemError as error:
            yield error


def _may_be_read(path: Path) -> bool:
    """Not a pipe, a device or a socket: reading one may never end. What is not there is told by reading it."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(kind)


def _no_file(path: Path) -> ItemError:
    return ItemError(
        "a pipe, a device or a socket",
        path=_printable(path),
        fix="move it away, or leave it out with --exclude",
    )


# Files


def _file(path: Path, external_id: str, choice: _Choice) -> Iterator[RawItem | ItemError]:
    name = path.name.lower()
    if (shown := _printable(path)) != str(path):
        yield ItemError("its name is not UTF-8, and cannot be an id", path=shown, fix="rename it")
        return
    if name.endswith(_COLLECTIONS):
        yield from _collection_file(path)
        return
    if choice.names_only:
        yield RawItem(str(path), external_id, "text")
        return
    try:
        payload = read_payload(path)
    except OSError as error:
        yield _unreadable(path, error)
        return
    except (EOFError, zlib.error) as error:
        yield ItemError(f"not a sound gzip file: {error}", path=str(path), fix="fetch it again")
        return
    if len(payload) > MAX_BYTES:
        yield ItemError(
            f"larger than {MAX_BYTES >> 20} MiB", path=str(path), external_id=external_id, fix="split it"
        )
        return
    media = media_of(name.removesuffix(COMPRESSED), payload)
    if media is None:
        suffix = PurePath(name.removesuffix(COMPRESSED)).suffix
        yield ItemError(
            f"files of type {suffix} are not read",
            path=str(path),
            external_id=external_id,
            fix=_unknown(suffix),
        )
        return
    yield RawItem(str(path), external_id, media, payload=payload)


def read_payload(path: Path) -> bytes:
    """The bytes of a file, decompressed where its name says so; at most one byte more than may be. Raises OSError, and EOFError
    or zlib.error for an unsound gzip file."""
    with path.open("rb") as raw:
        opened: Any = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(COMPRESSED) else raw
        content: bytes = opened.read(MAX_BYTES + 1)
    return content


def _unknown(suffix: str) -> str:
    if suffix in (".json", ".parquet"):
        return "convert it to .jsonl: one JSON object with id and text on each line"
    return f"convert it to one of {READ}, or leave it out"


def _unreadable(path: Path, error: OSError) -> ItemError:
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return ItemError(
            "a link to a file that is not there", path=_printable(path), fix="repair the link or remove it"
        )
    fix = "make it readable for this user" if isinstance(error, PermissionError) else "check the file"
    return ItemError(f"cannot be read: {error.strerror or error}", path=_printable(path), fix=fix)


# Collections


def _collection_file(path: Path) -> Iterator[RawItem | ItemError]:
    try:
        with path.open("rb") as raw:
            opened: Any = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw
            yield from _collection(str(path), opened)
    except OSError as error:
        yield _unreadable(path, error)


def _collection(path: str, opened: Any) -> Iterator[RawItem | ItemError]:
    number = 0
    rows = _rows(opened)
    while True:
        try:
            row = next(rows)
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
        number += 1
        if row is None:
            yield ItemError(
                f"a line of more than {MAX_LINE >> 20} MiB",
                path=f"{path}:{number}",
                fix="write one JSON object a line, and split what is larger",
            )
            continue
        if number == 1:
            row = row.removeprefix(b"\xef\xbb\xbf")
        if row.strip():
            yield _record(path, number, row)


def _rows(opened: Any) -> Iterator[bytes | None]:
    """Lines; None for one that is too long, which is passed over and never held as a whole."""
    while row := opened.readline(MAX_LINE + 1):
        if len(row) <= MAX_LINE:
            yield row
            continue
        while row and not row.endswith(b"\n"):
            row = opened.readline(1 << 20)
        yield None


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
        raise ItemError(f"not valid JSON: {str(error).partition(';')[0]}", fix=fix) from None
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


# Standard input


def _stdin(stdin: BinaryIO | None) -> Iterator[RawItem | ItemError]:
    """A collection when the first character that is not blank opens a JSON object, else one plain text."""
    if stdin is None:
        yield ItemError("no standard input", path="-", fix="pipe text or .jsonl lines into the command")
        return
    head = b""
    while row := stdin.readline(MAX_LINE + 1):
        head += row
        if row.strip(b"\xef\xbb\xbf \t\r\n") or len(head) > MAX_BYTES:
            break
    if head[head.rstrip(b"\r\n").rfind(b"\n") + 1 :].lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        yield from _collection("-", _Continued(head, stdin))
        return
    payload = head + stdin.read(MAX_BYTES + 1 - len(head))
    if len(payload) > MAX_BYTES:
        yield ItemError(f"more than {MAX_BYTES >> 20} MiB", path="-", external_id="stdin", fix="split it")
    else:
        yield RawItem("-", "stdin", media_of("stdin", payload) or "text", payload=payload)


class _Continued:
    """Lines of what was read already, and then of the rest."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = BytesIO(head), rest

    def readline(self, most: int) -> bytes:
        row = self._head.readline(most)
        if not row or row.endswith(b"\n") or len(row) == most:
            return row or self._rest.readline(most)
        return row + self._rest.readline(most - len(row))
