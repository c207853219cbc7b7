"""Which files of a folder are left out: patterns of the caller, and of `.verazignore` files, in the syntax of `.gitignore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pathspec

from veraz.errors import UsageError

FILE = ".verazignore"


class Ignored:
    """The rules that hold below one root. A file of rules in a folder holds below that folder; the last rule that matches
    decides, and deeper files come later."""

    def __init__(self, root: Path, excluded: Sequence[str] = ()) -> None:
        self._root = root
        self._excluded = rules(excluded)
        self._files: dict[Path, pathspec.GitIgnoreSpec | None] = {}

    def __call__(self, path: Path, *, is_folder: bool) -> bool:
        """Whether `path`, somewhere below the root, is left out. Folders above it were asked before."""
        if self._excluded.match_file(_relative(path, self._root, is_folder)):
            return True
        ignored = False
        for folder in self._above(path):
            if (spec := self._rules_of(folder)) is not None:
                found = spec.check_file(_relative(path, folder, is_folder)).include
                ignored = ignored if found is None else found
        return ignored

    def _above(self, path: Path) -> list[Path]:
        """Folders from the root down to the one that holds `path`."""
        found = [folder for folder in path.parents if folder == self._root or self._root in folder.parents]
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
    """Raises UsageError where the rules cannot be read: what they leave out must not be read instead."""
    try:
        if not file.is_file():
            return None
        return rules(file.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror or error}", fix="make it readable for this user"
        ) from None
    except UsageError as error:
        raise UsageError(f"{file}: {error.what}", fix=error.fix) from None


def _relative(path: Path, root: Path, is_folder: bool) -> str:
    return path.relative_to(root).as_posix() + ("/" if is_folder else "")
