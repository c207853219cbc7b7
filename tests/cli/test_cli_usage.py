"""What the commands accept, what their help says, and how they refuse."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import click
import pytest
from tests.cli import cli_nouns as nouns
from tests.cli.conftest import FakeEngine, Run, document

from veraz import AsyncVeraz
from veraz.cli import reference
from veraz.cli.asked import FILTERS
from veraz.cli.interrupt import NOTHING
from veraz.cli.main import VERBS, app
from veraz.cli.options import GLOBAL_OPTIONS, arm_options, question_options
from veraz.errors import DatabaseError
from veraz.nouns.lifecycle import Retention

ROOT = Path(__file__).resolve().parents[2]


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(app)
    for name in VERBS:
        command = app.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", c) for inner, c in command.commands.items())


COMMANDS = dict(commands())


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_help_with_an_example(run: Run, path: str) -> None:
    result = run(*path.split(), "--help")
    assert result.exit_code == 0
    example = result.stdout.split("Example:\n")[1]
    assert f"veraz {path.split()[0]}" in example
    assert COMMANDS[path].help
    assert all(len(line) <= 80 for line in result.stdout.split("Example:")[0].splitlines())


def test_the_short_list_names_every_verb(run: Run) -> None:
    listed = run("--help").stdout
    assert all(f"  {name} " in listed and line in listed for name, line in VERBS.items())
    assert {p.name for p in (ROOT / "src/veraz/cli").glob("*.py")} >= {f"{name}.py" for name in VERBS}


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_takes_the_global_options(path: str) -> None:
    given = {name for p in COMMANDS[path].params if isinstance(p, click.Option) for name in p.opts}
    assert given >= {"--config", "--database", "--tenant", "--roles", "--debug", "--json"}


def test_every_option_of_every_command_has_help() -> None:
    silent = [
        f"{path} {option.opts[0]}"
        for path, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []


def test_the_reference_documents_every_command_and_flag_and_is_current() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for path, command in COMMANDS.items():
        assert f"# veraz {path}\n" in page
        for option in command.params:
            if isinstance(option, click.Option):
                assert all(name in page for name in option.opts)
    assert page == reference.reference(), "run: python -m veraz.cli.reference > docs/reference/cli.md"


def test_the_configuration_page_is_current() -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")
    assert page == reference.configuration(), (
        "run: python -m veraz.cli.reference configuration > docs/reference/configuration.md"
    )


def test_global_options_work_before_and_after_the_verb(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = nouns.SEARCH
    before = run(
        "--json", "--tenant", "a", "--roles", "x,y", "--database", "postgresql://h/d", "search", "burn"
    )
    assert document(before)["trace_id"] == str(nouns.TRACE)
    assert (fake.config.tenant, fake.config.roles, fake.config.database.url) == (
        "a",
        ("x", "y"),
        "postgresql://h/d",
    )
    after = run("search", "burn", "--tenant", "b", "--roles", "z", "--json")
    assert document(after) == document(before)
    assert (fake.config.tenant, fake.config.roles) == ("b", ("z",))
    run("--tenant", "a", "search", "burn", "--tenant", "c")
    assert fake.config.tenant == "c"


def test_global_options_work_around_a_sub_command(run: Run, fake: FakeEngine) -> None:
    fake.answers["merge_index"] = {"en": 5}
    for arguments in (
        ["--json", "index", "build"],
        ["index", "--json", "build"],
        ["index", "build", "--json"],
    ):
        assert document(run(*arguments))["merged"] == {"en": 5}


def test_search_hands_over_what_was_asked(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = nouns.SEARCH
    flags = "-k 3 --mode lexical --lang es --fusion rrf --rerank maxsim --exact --explain --source a,b --doc-lang en"
    more = (
        "--as-of 2024-06-01 --min-authority 4 --license cc0,mit --jurisdiction es"
        " --published-from 2019-01-01 --published-to 2019-12-31 --ef-search 300 --probes 7 --oversampling 12"
    )
    result = run(
        "search",
        "dolor",
        *flags.split(),
        *more.split(),
        "--revised-from",
        "2020-01-01",
        "--revised-to",
        "2021-12-31",
        "--filter",
        "lang = 'en' or lang = 'fr'",
        "--filter",
        "authority >= 4",
    )
    assert result.exit_code == 0
    _, (question,), given = fake.calls[0]
    filters = given.pop("filters")
    assert question == "dolor"
    assert given == {
        "k": 3,
        "mode": "lexical",
        "lang": "es",
        "fusion": "rrf",
        "rerank": "maxsim",
        "exact": True,
        "explain": True,
        "as_of": date(2024, 6, 1),
        "ef_search": 300,
        "probes": 7,
        "oversampling": 12,
        "group": None,
        "per_document": None,
    }
    assert (filters.sources, filters.authority, filters.langs) == (("a", "b"), 4, ("en",))
    assert (filters.revised_from, filters.revised_to) == (date(2020, 1, 1), date(2021, 12, 31))
    assert (filters.licenses, filters.jurisdictions) == (("cc0", "mit"), ("es",))
    assert (filters.published_from, filters.published_to) == (date(2019, 1, 1), date(2019, 12, 31))
    assert filters.where == "(lang = 'en' or lang = 'fr') and (authority >= 4)"


def test_several_filters_are_each_an_expression(run: Run, fake: FakeEngine) -> None:
    result = run("search", "a", "--filter", "lang = 'en') or (lang = 'fr'", "--filter", "authority >= 4")
    assert result.exit_code == 2
    assert "never opened" in result.stderr
    assert fake.calls == []


def test_defaults_of_search_and_ask(run: Run, fake: FakeEngine) -> None:
    fake.answers |= {"search": nouns.SEARCH, "ask": nouns.ANSWER}
    run("search", "x")
    run("ask", "x")
    assert fake.calls[0][2]["k"] == 10
    assert fake.calls[0][2]["fusion"] is None
    assert fake.calls[0][2]["rerank"] is fake.calls[1][2]["rerank"] is None
    assert fake.calls[1][2]["k"] is None, "the configured [answer] evidence"
    assert fake.calls[1][2]["lang"] == "auto"
    run("ask", "x", "--fusion", "rrf", "--exact", "-k", "3")
    assert {name: fake.calls[2][2][name] for name in ("fusion", "exact", "k")} == {
        "fusion": "rrf",
        "exact": True,
        "k": 3,
    }


def test_ingest_hands_over_what_was_stated(run: Run, fake: FakeEngine) -> None:
    fake.answers["ingest"] = nouns.ingested()
    flags = "--source s --name N --license L --authority 5 --base-url U --jurisdiction J --lang fr --acl a,b"
    access = (
        "--acl-rule all --owner user:ana --readable-from 2027-01-31 --readable-until 2027-02-01T12:00+01:00"
    )
    result = run(
        "ingest",
        "x.md",
        "y",
        *flags.split(),
        *access.split(),
        "--revised-at",
        "2024-02-03",
        "--supersedes",
        "old.md",
    )
    assert result.exit_code == 0
    _, (paths,), given = fake.calls[0]
    del given["progress"]
    assert paths == ["x.md", "y"]
    assert given == {
        "source": "s",
        "name": "N",
        "license": "L",
        "authority": 5,
        "base_url": "U",
        "jurisdiction": "J",
        "lang": "fr",
        "acl": ("a", "b"),
        "acl_rule": "all",
        "owner": "user:ana",
        "readable_from": datetime(2027, 1, 31, tzinfo=UTC),
        "readable_until": datetime(2027, 2, 1, 11, tzinfo=UTC),
        "revised_at": date(2024, 2, 3),
        "supersedes": "old.md",
        "chunker": None,
        "context": None,
        "exclude": (),
        "prune": False,
        "confirmed": False,
        "dry_run": False,
        "stdin": None,
    }


def test_ingest_reads_standard_input_only_when_asked(run: Run, fake: FakeEngine) -> None:
    fake.answers["ingest"] = nouns.ingested()
    run("ingest", "-", "--source", "s", input="text")
    assert fake.calls[0][2]["stdin"] is not None
    assert fake.calls[0][2]["lang"] is None


def test_a_question_that_is_no_utf8_is_still_a_question(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = nouns.SEARCH
    run("search", "caf\udce9")
    assert fake.calls[0][1] == ("caf?",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serch", "x"], "No such command"),
        (["search"], "Missing argument 'QUESTION'"),
        (["search", "x", "-k", "0"], "0 is not in the range"),
        (["search", "x", "--revised-from", "2020-13-01"], "'2020-13-01' is not a date; write YYYY-MM-DD"),
        (["search", "x", "--source", ","], "',' names nothing"),
        (["search", "x", "--min-authority", "6"], "6 is not in the range"),
        (["search", "x", "--colour"], "No such option"),
        (
            ["search", "x", "--revised-from", "2021-01-01", "--revised-to", "2020-01-01"],
            "no day is on or after",
        ),
        (["ingest", "x"], "Missing option '--source'"),
        (["ingest", "--source", "s"], "Missing argument 'PATH…'"),
        (["eval", "run", "d", "--k", "5,x"], "'5,x' is no list of cut-offs"),
        (["eval", "run", "d", "--k", "0"], "'0' is no list of cut-offs"),
        (["server", "destroy"], "this deletes every document"),
        (["status", "--config", "none.toml"], "none.toml: no such configuration file"),
        (["status", "--tenant", " "], "Invalid value for '--tenant': it is empty"),
        (["--tenant", "", "status"], "Invalid value for '--tenant': it is empty"),
        (["ingest", "", "--source", "s"], "'PATH…': it is empty"),
        (["eval", "run", ""], "'DIR': it is empty"),
        (["eval", "run", "d", "--gate", "map>0", "--gate", ""], "Invalid value for '--gate': it is empty"),
        (["retention", "set", "--history-days", "-1"], "'-1' is no number from 0 on; write one, or for-ever"),
        (["retention", "set", "--trace-days", "--5"], "'--5' is no number from 0 on"),
        (["retention", "set", "--history-revisions", "-0"], "'-0' is no number from 0 on"),
        (["retention", "set", "--deleted-days", "for ever"], "'for ever' is no number from 0 on"),
    ],
)
def test_wrong_usage_exits_2_with_what_and_fix(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, *rest = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert said in result.stderr
    assert any(line.startswith("  fix: ") for line in rest)
    assert "Traceback" not in result.stderr


TEXTS = [
    (path, option.opts[0])
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]


@pytest.mark.parametrize(("path", "option"), TEXTS)
def test_an_empty_value_is_refused_by_every_option_of_every_command(
    run: Run, fake: FakeEngine, path: str, option: str
) -> None:
    """`delete ID --erase --tenant "$UNSET"` must not erase in the tenant `default`."""
    for empty in ("", " "):
        result = run(*path.split(), option, empty)
        assert (result.exit_code, fake.calls) == (2, [])
        assert f"'{option}'" in result.stderr
        assert "it is empty" in result.stderr


def test_an_empty_variable_exits_2(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAZ_TENANT", "")
    result = run("status")
    assert (result.exit_code, "VERAZ_TENANT is empty" in result.stderr) == (2, True)


@pytest.mark.parametrize("question", ["-the", "-5 degrees", "-k", "--fever or not"])
@pytest.mark.parametrize("verb", ["search", "ask"])
def test_a_question_that_begins_with_a_hyphen_is_asked_after_two(
    run: Run, fake: FakeEngine, verb: str, question: str
) -> None:
    fake.answers |= {"search": nouns.SEARCH, "ask": nouns.ANSWER}
    taken_for_an_option = run(verb, question)
    assert taken_for_an_option.exit_code == 2
    assert f"comes last, after --: app {verb} [OPTIONS] -- " in taken_for_an_option.stderr
    assert run(verb, "--json", "--", question).exit_code == 0
    assert fake.calls[-1][1] == (question,)


def test_a_misspelt_option_is_not_taken_for_a_question(run: Run) -> None:
    assert "after --" not in run("search", "x", "--colour").stderr
    assert "after --" not in run("status", "-q").stderr


@pytest.mark.parametrize("module", ["veraz", "veraz.cli.main"])
def test_the_command_line_runs_as_a_module(module: str) -> None:
    command = [sys.executable, "-m", module]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith("veraz ")
    wrong = subprocess.run([*command, "serch"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, "No such command 'serch'" in wrong.stderr) == (2, True)
    assert "where: veraz\n" in wrong.stderr


def test_for_ever_takes_a_limit_away_and_nothing_else_does(run: Run, fake: FakeEngine) -> None:
    fake.answers |= {"retention": Retention(10, 3, None, None), "set_retention": None}
    run("retention", "set", "--history-days", "for-ever", "--trace-days", "0")
    assert fake.calls[-1][1] == (Retention(None, 3, None, 0),)


def test_an_unknown_variable_and_an_unknown_key_exit_2(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "veraz.toml").write_text("[search]\npol = 3\n")
    result = run("status")
    assert result.exit_code == 2
    assert "veraz.toml: unknown key 'pol' in [search]" in result.stderr
    (tmp_path / "veraz.toml").unlink()
    monkeypatch.setenv("VERAZ_POOL", "3")
    result = run("status")
    assert result.exit_code == 2
    assert "VERAZ_POOL: unknown variable" in result.stderr


def test_an_error_is_a_json_document_too(run: Run, fake: FakeEngine) -> None:
    fake.answers["status"] = DatabaseError("cannot reach it", fix="start it")
    result = run("status", "--json")
    assert result.exit_code == 3
    assert document(result) == {
        "error": {"what": "cannot reach it", "where": None, "fix": "start it", "exit_code": 3}
    }
    assert result.stderr == "error: cannot reach it\n  fix: start it\n"
    assert document(run("search", "--json"))["error"]["exit_code"] == 2


def test_a_bug_is_told_from_an_error_and_shows_its_place(
    run: Run, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers["status"] = ZeroDivisionError("division by zero")
    result = run("status")
    assert result.exit_code == 1
    assert "error: unexpected ZeroDivisionError: division by zero" in result.stderr
    assert "  where: veraz/cli/" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("status", "--debug").stderr
    assert "Traceback" in run("--debug", "status").stderr
    monkeypatch.setenv("VERAZ_DEBUG", "1")
    assert "Traceback" in run("status").stderr
    monkeypatch.setenv("VERAZ_DEBUG", "0")
    assert "Traceback" not in run("status").stderr


def test_errors_of_concurrent_work_are_told_one_by_one(run: Run, fake: FakeEngine) -> None:
    fake.answers["status"] = BaseExceptionGroup("work", [DatabaseError("gone", fix="wait")])
    result = run("status")
    assert (result.exit_code, result.stderr) == (3, "error: gone\n  fix: wait\n")


def test_ctrl_c_exits_130_with_one_line(run: Run, fake: FakeEngine) -> None:
    fake.answers["search"] = KeyboardInterrupt()
    result = run("search", "x")
    assert result.exit_code == 130
    assert result.stderr.strip().splitlines() == [NOTHING]


def test_help_loads_neither_the_engine_nor_the_terminal_library() -> None:
    code = (
        "import sys; from veraz.cli.main import app\n"
        "try: app.main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'psycopg', 'rich', 'veraz.engine', 'onnxruntime'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_global_options_are_listed_apart(run: Run) -> None:
    own, shared = run("search", "--help").stdout.split("Global options")
    assert "--tenant" not in own
    assert all(option.opts[0] in shared for option in GLOBAL_OPTIONS)


def test_a_verb_group_alone_shows_its_help(run: Run) -> None:
    for arguments in ([], ["server"]):
        result = run(*arguments)
        assert result.output.startswith("Usage: ")
        assert "Example:" in result.output


@pytest.mark.parametrize("verb", ["search", "context", "ask", "diagnose"])
def test_the_engine_takes_what_the_options_of_a_question_give(verb: str) -> None:
    given = {p.name for p in _questioned.__click_params__} | {"question"}  # type: ignore[attr-defined]
    asked = {name for name in given if name not in FILTERS} | {"filters"}
    takes = set(inspect.signature(getattr(AsyncVeraz, verb)).parameters)
    assert asked <= takes
    assert set(FILTERS) <= given


@arm_options
@question_options
def _questioned() -> None: ...
