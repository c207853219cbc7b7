"""What is given to assistants is true: every command, option, key of the configuration and stage that it names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args

import click
import pytest

from tests.project.repository import ROOT, blocks
from veraz.cli.main import app
from veraz.config import SECTIONS
from veraz.nouns.diagnosis import ChangeKind, Stage

FILES = tuple(sorted((ROOT / "outputs").glob("*.md")))
_CODE = re.compile(r"`([^`\n]+)`")
_KEY = re.compile(r"\[(\w+)\] (\w+)")


def spans(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return _CODE.findall(text)


def test_both_files_are_there() -> None:
    assert {f.name for f in FILES} >= {"prompt-advanced-rag-debugger.md", "skill-advanced-rag.md"}


def parsed(words: list[str]) -> None:
    """Raises click.UsageError for a verb, an option or a value that does not exist."""
    command: click.Command = app
    rest = words[1:]
    while isinstance(command, click.Group):
        name = next(w for w in rest if not w.startswith("-"))
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"no command {name!r} in {words}"
        rest.remove(name)
        command = found
    command.make_context("veraz", rest, parent=click.Context(app, obj=None))


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_every_command_can_be_parsed(page: Path) -> None:
    commands = [shlex.split(line) for block in blocks(page, "sh") for line in block.splitlines() if line]
    assert len(commands) > 3
    for words in commands:
        assert words[0] == "veraz"
        parsed(words)
    for span in spans(page):
        if span.startswith("veraz ") and len(span.split()) > 2:
            words = shlex.split(span)
            if words[1] == "supersede":
                words += ["--source", "SLUG"]
            parsed(words)


def options() -> set[str]:
    found: set[str] = set()

    def collect(command: click.Command) -> None:
        found.update(name for p in command.params if isinstance(p, click.Option) for name in p.opts)
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                inner = command.get_command(click.Context(command), name)
                assert inner is not None
                collect(inner)

    collect(app)
    return found


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_every_option_verb_and_key_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known, verbs = options(), set(app.list_commands(click.Context(app)))
    named = {w for span in spans(page) for w in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", span)}
    assert named <= known, named - known
    assert {span.split()[1] for span in spans(page) if span.startswith("veraz ")} <= verbs
    keys = _KEY.findall(text)
    assert all(section in SECTIONS and key in SECTIONS[section].__struct_fields__ for section, key in keys), (
        keys
    )


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_every_stage_is_named(page: Path) -> None:
    told = set(spans(page))
    stages = set(get_args(Stage)) - {"found"}
    assert stages <= told, stages - told


def test_every_kind_of_change_is_explained() -> None:
    told = set(spans(ROOT / "outputs" / "prompt-advanced-rag-debugger.md"))
    assert set(get_args(ChangeKind)) <= told


def test_a_command_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(click.UsageError):
        parsed(["veraz", "diagnose", "q", "--expected", "x"])
    with pytest.raises(AssertionError):
        parsed(["veraz", "diagnosis", "q"])
