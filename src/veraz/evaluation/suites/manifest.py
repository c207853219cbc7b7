"""suite.toml: what a suite is, where its documents come from, how its questions are split."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from veraz.errors import UsageError
from veraz.evaluation.lines import write_lines
from veraz.nouns.suite import Manifest

FILE_NAME = "suite.toml"
FIX = 'name = "…", version = "1", and as you like: description, license, sources, lang, splits'


class _Keys(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    version: str
    description: str = ""
    license: str = ""
    sources: list[str] = []
    lang: str = "auto"
    splits: list[str] = msgspec.field(default_factory=lambda: ["all"])


def is_suite(folder: Path) -> bool:
    return (folder / FILE_NAME).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Raises UsageError, naming the file, for a key that is missing, unknown or wrong."""
    path = folder / FILE_NAME
    try:
        keys = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Keys)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}", fix=FIX) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"{path}: {error}", fix=FIX) from error
    for name, values in (("name", [keys.name]), ("version", [keys.version])):
        _check(path, name, values)
    for name, values in (("sources", keys.sources), ("splits", keys.splits)):
        _check(path, name, values)
    if not keys.splits:
        raise UsageError(
            f"{path}: splits is empty", fix='leave it out, or name some: splits = ["tune", "private"]'
        )
    return Manifest(
        name=keys.name,
        version=keys.version,
        description=keys.description,
        license=keys.license,
        sources=tuple(keys.sources),
        lang=keys.lang,
        splits=tuple(keys.splits),
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes suite.toml. Raises UsageError where that is not possible."""
    write_lines(folder / FILE_NAME, _lines(manifest))


def _lines(manifest: Manifest) -> Iterable[str]:
    yield f"name = {_text(manifest.name)}"
    yield f"version = {_text(manifest.version)}"
    for name in ("description", "license"):
        if value := getattr(manifest, name):
            yield f"{name} = {_text(value)}"
    if manifest.sources:
        yield f"sources = [{', '.join(map(_text, manifest.sources))}]"
    if manifest.lang != "auto":
        yield f"lang = {_text(manifest.lang)}"
    if manifest.splits != ("all",):
        yield f"splits = [{', '.join(map(_text, manifest.splits))}]"


def _text(value: str) -> str:
    """A basic string of TOML, which escapes as JSON does, and the delete character besides."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")


def _check(path: Path, name: str, values: list[str]) -> None:
    if any(not value.strip() for value in values):
        raise UsageError(f"{path}: {name} is blank", fix=FIX)
    if len(set(values)) != len(values):
        raise UsageError(f"{path}: {name} names one of its values twice", fix="name each once")
