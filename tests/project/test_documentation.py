"""The documentation is true where a machine can tell: links, commands, options, hints in errors, paths."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.project.repository import ROOT, blocks, pages, sources
from veraz.cli.main import app
from veraz.errors import VerazError
from veraz.schema.apply import scripts

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)


def _page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# Links


@pytest.mark.parametrize("page", pages(), ids=_page_id)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        if not linked.exists() or (anchor and anchor not in _anchors(linked)):
            broken.append(target)
    assert broken == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            targets = _LINK.findall(page.read_text(encoding="utf-8"))
            waiting += [(page.parent / t.partition("#")[0]).resolve() for t in targets if "://" not in t]
    assert [_page_id(p) for p in pages() if p not in reached] == []


# Commands


def _commands(text: str) -> Iterator[list[str]]:
    """The `veraz …` commands of a shell block, as words: comments, variables and what follows a pipe are left out."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.split(r"\s(?:&&|\||;)\s", line):
            words = shlex.split(part, comments=True)
            if words[:1] == ["veraz"]:
                yield words[1:]


def _said() -> list[tuple[str, list[str]]]:
    return [
        (_page_id(page), words)
        for page in pages()
        for language in ("sh", "console")
        for block in blocks(page, language)
        for words in _commands(block)
        if "[OPTIONS]" not in words
    ]


@pytest.mark.parametrize(
    ("page", "words"), _said(), ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else value
)
def test_every_command_that_is_shown_can_be_parsed(page: str, words: list[str]) -> None:
    context = click.Context(app, info_name="veraz")
    command: click.Command = app
    rest = list(words)
    while isinstance(command, click.Group):
        name = next((w for w in rest if not w.startswith("-")), None)
        assert name is not None or "--help" in rest or "--version" in rest, f"{page}: no verb in {words}"
        if name is None:
            return
        found = command.get_command(context, name)
        assert found is not None, f"{page}: no command {name!r}"
        rest.remove(name)
        command = found
    if "--help" not in rest:
        rest = [w if not w.startswith("$(") else "x" for w in rest]
        command.make_context("veraz", rest, resilient_parsing=False, parent=click.Context(app, obj=None))


def test_the_readme_shows_the_commands_of_a_first_hour() -> None:
    shown = {words[0] for page, words in _said() if page == "README.md"}
    assert shown >= {"demo", "ingest", "search", "ask", "show", "delete", "eval", "init", "status"}


def test_hints_in_errors_name_commands_that_exist() -> None:
    unknown = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "fix":
                texts = [
                    n.value
                    for n in ast.walk(node.value)
                    if isinstance(n, ast.Constant) and isinstance(n.value, str)
                ]
                unknown += [
                    f"{path.name}:{node.value.lineno}: veraz {verb}"
                    for t in texts
                    for verb in _unknown_verbs(t)
                ]
    assert unknown == []


def _unknown_verbs(text: str) -> list[str]:
    known = set(app.list_commands(click.Context(app)))
    return [
        verb
        for verb in re.findall(r"(?:(?<=^)|(?<=[`(:,] )|(?<=`)|(?<=then ))veraz ([a-z]+)", text)
        if verb not in known
    ]


# Reference


def test_every_error_is_described() -> None:
    described = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    missing = [cls.__name__ for cls in _below(VerazError) if f"`{cls.__name__}`" not in described]
    assert missing == []
    for cls in _below(VerazError):
        row = next(line for line in described.splitlines() if line.startswith(f"| `{cls.__name__}`"))
        assert f"| {cls.exit_code} |" in row


def _below(cls: type[VerazError]) -> list[type[VerazError]]:
    inherited = [sub for child in cls.__subclasses__() for sub in _below(child)]
    return [cls, *(c for c in inherited if c.__module__ == "veraz.errors")]


def test_every_table_is_described() -> None:
    described = (ROOT / "docs/reference/schema.md").read_text(encoding="utf-8")
    tables = {
        name for s in scripts("migrations") for name in re.findall(r"create table veraz\.(\w+)", s.text)
    }
    assert len(tables) > 15
    assert [t for t in sorted(tables) if f"| `{t}` |" not in described] == []
    named = set(re.findall(r"^\| `(\w+)` \|", described, re.M))
    assert named - tables == {"embedding_N"}


def test_every_word_of_the_vocabulary_is_defined_once() -> None:
    words = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/vocabulary.md").read_text(encoding="utf-8"), re.M)[1:]
    each = [w for entry in words for w in entry.split(", ")]
    assert len(each) == len(set(each)) > 30


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    folder = ROOT / "docs/decisions"
    records = sorted(p.name for p in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    listed = _LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert [r for r in records if r not in listed] == []


# Paths and the version


def test_no_file_names_a_place_of_somebodys_machine() -> None:
    private = re.compile(r"(?<![\w.:/])/(?:work|root|home/\w+|Users)/[\w.-]+")
    temporary = re.compile(r"(?<![\w.:/])/tmp/[\w.-]+")  # tests may invent one
    found = []
    for path in sources():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        outside_tests = not path.is_relative_to(ROOT / "tests")
        matches = private.findall(text) + (temporary.findall(text) if outside_tests else [])
        found += [f"{_page_id(path)}: {m}" for m in matches]
    assert found == []


def test_the_version_stands_in_one_place() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/veraz/__init__.py"
    assigned = [
        _page_id(p)
        for p in (ROOT / "src").rglob("*.py")
        if re.search(r"^__version__ *=", p.read_text("utf-8"), re.M)
    ]
    assert assigned == ["src/veraz/__init__.py"]
