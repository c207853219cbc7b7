"""Finding documents: files, folders, globs, .jsonl[.gz] collections and standard input, as a stream.

What cannot be taken is a value in the stream, not an exception: one bad line or file never stops the rest.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from veraz.errors import ItemError
from veraz.ingest.collection import MAX_LINE, records
from veraz.ingest.formats import COMPRESSED, READ, media_of
from veraz.ingest.ignore import Ignored
from veraz.nouns.corpus import RawItem

COLLECTIONS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
MAX_BYTES = 1 << 29
"""Of one file, also once it is decompressed, and of a text on standard input."""
_RULES_NAMED = 3
_MAGIC = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was named, or that a folder or a glob holds; a collection is one file."""

    path: Path
    external_id: str


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
    its `id`. Two files with one id are two documents: the second gives an ItemError that names both places; a file that is named
    twice is read once. Records with one id are versions of one document. Collections are read one line at a time, and nothing of
    them is kept in memory. Raises UsageError for a pattern that is none; of a folder whose
    .verazignore cannot be known nothing is read.
    """
    seen: dict[str, str] = {}
    for path in paths:
        for found in _stdin(stdin) if path == "-" else _items(path, exclude, names_only):
            if isinstance(found, ItemError) or found.record is not None:
                yield found
            elif (first := seen.get(found.external_id)) is None:
                seen[found.external_id] = found.path
                yield found
            elif first != found.path and not _is_same_file(first, found.path):
                yield ItemError(
                    f"the same external id was already read from {first}",
                    path=found.path,
                    external_id=found.external_id,
                    fix="give each document its own id, or ingest the common parent folder",
                )


def _is_same_file(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)  # noqa: PTH121
    except OSError:
        return False


def _items(path: str, exclude: Sequence[str], names_only: bool) -> Iterator[RawItem | ItemError]:
    for found in find(path, exclude):
        if isinstance(found, ItemError):
            yield found
        else:
            yield from _file(found, names_only)


def find(path: str, exclude: Sequence[str] = ()) -> Iterator[Found | ItemError]:
    """The files of one path (a file, a folder, a glob) without those that are hidden or left out, sorted; and an ItemError for
    each place that cannot be looked into. Raises UsageError as `discover`."""
    named = Path(path)
    try:
        is_folder, is_there = named.is_dir(), named.exists() or named.is_symlink()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        yield _unreadable(named, error)
        return
    if is_folder:
        yield from _folder(named, exclude)
    elif is_there:
        yield Found(named, named.name)
    elif _MAGIC & set(path):
        yield from _glob(path, exclude)
    else:
        yield ItemError(
            "no such file or folder", path=_printable(path), fix="check the path; quote globs from the shell"
        )


def _printable(path: Path | str) -> str:
    """The path with whatever is no UTF-8 escaped: a report must be able to name it."""
    return str(path).encode(errors="backslashreplace").decode()


def _glob(pattern: str, exclude: Sequence[str]) -> Iterator[Found | ItemError]:
    parts = Path(pattern).parts
    depth = next(n for n, part in enumerate(parts) if _MAGIC & set(part))
    root = Path(*parts[:depth])
    empty, ignored = True, Ignored(root, exclude)
    for found in _walk(root, ignored, parts[depth:]):
        empty = False
        yield found if isinstance(found, ItemError) else _below(root, found)
    if empty and ignored.used:
        yield _all_left_out("nothing matches that is not", pattern, ignored)
    elif empty:
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


def _folder(root: Path, exclude: Sequence[str]) -> Iterator[Found | ItemError]:
    empty, ignored = True, Ignored(root, exclude)
    for found in _walk(root, ignored):
        empty = False
        yield found if isinstance(found, ItemError) else _below(root, found)
    if empty and ignored.used:
        yield _all_left_out("everything in this folder is", root, ignored)
    elif empty:
        yield ItemError(
            "no files in this folder",
            path=_printable(root),
            fix=f"put files of a kind that is read there: {READ}",
        )


def _all_left_out(what: str, path: Path | str, ignored: Ignored) -> ItemError:
    by = ", ".join(sorted(ignored.used)[:_RULES_NAMED])
    more = len(ignored.used) - _RULES_NAMED
    by += f" and {more} more" if more > 0 else ""
    return ItemError(
        f"{what} left out by {by}",
        path=_printable(path),
        fix="change these rules, or name a file by itself: then none counts",
    )


def _below(root: Path, path: Path) -> Found | ItemError:
    """What a folder or a glob holds. A pipe is read only where it is named by itself: here, nobody may ever write to it."""
    external_id = path.relative_to(root).as_posix()
    if _is_special(path):
        return ItemError(
            "a pipe, a socket or a device, not a file",
            path=_printable(path),
            external_id=external_id,
            fix="leave it out with --exclude, or name it by itself",
        )
    return Found(path, external_id)


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False  # whoever opens it says why
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


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
                yield at
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


# Files


def _file(found: Found, names_only: bool) -> Iterator[RawItem | ItemError]:
    path, external_id, name = found.path, found.external_id, found.path.name.lower()
    if (shown := _printable(path)) != str(path):
        yield ItemError("its name is not UTF-8, and cannot be an id", path=shown, fix="rename it")
    elif name.endswith(COLLECTIONS):
        yield from _collection(path)
    elif names_only:
        yield RawItem(str(path), external_id, "text")
    else:
        yield _read(path, external_id, name.removesuffix(COMPRESSED))


def _read(path: Path, external_id: str, name: str) -> RawItem | ItemError:
    try:
        payload = read_payload(path)
    except OSError as error:
        return _unreadable(path, error)
    except (EOFError, zlib.error) as error:
        return ItemError(f"not a sound gzip file: {error}", path=str(path), fix="fetch it again")
    if len(payload) > MAX_BYTES:
        return _too_large(str(path), external_id)
    media = media_of(name, payload)
    if media is None:
        suffix = PurePath(name).suffix
        return ItemError(
            f"files of type {suffix} are not read",
            path=str(path),
            external_id=external_id,
            fix=_unknown(suffix),
        )
    return RawItem(str(path), external_id, media, payload=payload)


def _too_large(path: str, external_id: str) -> ItemError:
    return ItemError(f"larger than {MAX_BYTES >> 20} MiB", path=path, external_id=external_id, fix="split it")


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


def _collection(path: Path) -> Iterator[RawItem | ItemError]:
    try:
        with path.open("rb") as raw:
            opened: Any = gzip.GzipFile(fileobj=raw) if path.name.lower().endswith(".gz") else raw
            yield from records(str(path), opened)
    except OSError as error:
        yield _unreadable(path, error)


def _stdin(stdin: BinaryIO | None) -> Iterator[RawItem | ItemError]:
    """A collection when the first character that is not blank opens a JSON object, else one plain text."""
    if stdin is None:
        yield ItemError("no standard input", path="-", fix="pipe text or .jsonl lines into the command")
        return
    head: list[bytes] = []
    size = 0
    while size <= MAX_BYTES and (row := stdin.readline(MAX_LINE + 1)):
        head.append(row)
        size += len(row)
        if row.strip(b"\xef\xbb\xbf \t\r\n"):
            break
    last = head[-1].lstrip(b"\xef\xbb\xbf \t") if head else b""
    if last.startswith(b"{"):
        yield from records("-", stdin, head)
        return
    payload = b"".join(head)
    payload += stdin.read(max(0, MAX_BYTES + 1 - len(payload)))
    if len(payload) > MAX_BYTES:
        yield _too_large("-", "stdin")
    else:
        yield RawItem("-", "stdin", media_of("stdin", payload) or "text", payload=payload)
