"""Which files of a folder are left out: patterns of the caller, and of `.verazignore` files, in the syntax of `.gitignore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pathspec

from veraz.errors import ItemError, UsageError
from veraz.text.decode import NotText, decode

FILE = ".verazignore"


class Ignored:
    """The rules that hold below one root. A file of rules in a folder holds below that folder; the last rule that matches
    decides, and deeper files come later."""

    def __init__(self, root: Path, excluded: Sequence[str] = ()) -> None:
        self._root = root
        self._excluded = rules(excluded)
        self._files: dict[Path, pathspec.GitIgnoreSpec | None] = {}
        self.used: set[str] = set()
        """What left something out so far: `--exclude`, or the path of a file of rules."""

    def __call__(self, path: Path, *, is_folder: bool) -> bool:
        """Whether `path`, somewhere below the root, is left out. Folders above it were asked before."""
        if self._excluded.match_file(_relative(path, self._root, is_folder)):
            self.used.add("--exclude")
            return True
        by: Path | None = None
        for folder in self._above(path):
            if (spec := self._rules_of(folder)) is not None:
                found = spec.check_file(_relative(path, folder, is_folder)).include
                by = by if found is None else folder if found else None
        if by is not None:
            self.used.add(_printable(by / FILE))
        return by is not None

    def enter(self, folder: Path) -> None:
        """Reads the rules of a folder before anything in it is asked about. Raises ItemError, naming their file, where they
        cannot be known: then nothing of the folder may be read."""
        self._rules_of(folder)

    def _above(self, path: Path) -> list[Path]:
        """Folders from the root down to the one that holds `path`."""
        found: list[Path] = []
        for folder in path.parents:
            found.append(folder)
            if folder == self._root:
                break
        return found[::-1]

    def _rules_of(self, folder: Path) -> pathspec.GitIgnoreSpec | None:
        if folder not in self._files:
            self._files[folder] = _read(folder / FILE)
        return self._files[folder]


def rules(patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    """Raises UsageError naming the pattern that is none."""
    for pattern in patterns:
        try:
            pathspec.GitIgnoreSpec.from_lines([pattern])
        except ValueError as error:
            raise UsageError(
                f"{pattern!r} is no pattern: {error}", fix="write it as in a .gitignore file"
            ) from None
    return pathspec.GitIgnoreSpec.from_lines(patterns)


def _read(file: Path) -> pathspec.GitIgnoreSpec | None:
    """None where there is no such file. What cannot be read might leave out what nobody may see, so it is no empty one."""
    fix = "mend it or remove it; until then nothing of its folder is read"
    try:
        if not file.is_symlink() and (file.is_dir() or not file.exists()):
            return None
        if not file.is_file():
            raise ItemError("the rules of what is left out are in no file", path=_printable(file), fix=fix)
        return rules(decode(file.read_bytes()).text.splitlines())
    except OSError as error:
        reason = f"the rules of what is left out cannot be read: {error.strerror or error}"
    except NotText as error:
        reason = f"the rules of what is left out cannot be read: {error}"
    except UsageError as error:
        reason = error.what
    raise ItemError(reason, path=_printable(file), fix=fix)


def _printable(path: Path) -> str:
    return str(path).encode(errors="backslashreplace").decode()


def _relative(path: Path, root: Path, is_folder: bool) -> str:
    return path.relative_to(root).as_posix() + ("/" if is_folder else "")
