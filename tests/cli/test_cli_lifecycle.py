"""The verbs of a document's life on a real server: what they print, and their exit codes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.cli.conftest import Run, document
from tests.db.server_fixture import test_home
from tests.ingest.test_supersession import edition
from tests.support import databases
from tests.support.corpus import put
from tests.support.hashing import HashingEmbedder

from veraz.cli import session
from veraz.cli.access import changed
from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.corpus import Access


@pytest.fixture
def veraz(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run`, on a fresh database with two documents, the second of two revisions."""

    async def opened(config: Any, bars: Any) -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, report=bars.say, embedder=HashingEmbedder())

    async def fill() -> None:
        async with await databases.open_engine(database) as engine:
            await put(engine, edition("old"), edition("new"))
            await put(engine, edition("new", says="Reworded."))

    monkeypatch.setattr(session, "open_engine", opened)
    monkeypatch.setenv("VERAZ_HOME", str(test_home()))
    monkeypatch.setenv("VERAZ_DATABASE_URL", database)
    asyncio.run(fill())
    return run


def hits(veraz: Run) -> set[str]:
    found = document(veraz("search", "fever rule", "--lang", "en", "--json"))
    return {hit["document"]["external_id"] for hit in found["hits"]}


def test_delete_and_restore(veraz: Run) -> None:
    assert document(veraz("delete", "new", "--source", "s", "--json"))["deleted"] is True
    assert hits(veraz) == {"old"}
    assert veraz("delete", "new", "--source", "s").exit_code == 4
    assert document(veraz("restore", "new", "--source", "s", "--json")) == {
        "external_id": "new",
        "source": "s",
        "text_is_gone": False,
    }
    assert hits(veraz) == {"old", "new"}
    refused = veraz("restore", "new", "--source", "s")
    assert (refused.exit_code, "is not deleted" in refused.stderr) == (4, True)


def test_erase(veraz: Run) -> None:
    wrong = veraz("delete", "new", "--source", "s", "--rewrite")
    assert (wrong.exit_code, "without --erase" in wrong.stderr) == (2, True)
    erased = document(veraz("delete", "new", "--source", "s", "--erase", "--json"))
    assert (erased["deleted"], erased["revisions"], erased["chunks"]) == (True, 2, 2)
    assert hits(veraz) == {"old"}
    said = veraz("delete", "old", "--source", "s", "--erase", "--rewrite").stdout
    assert "erased old of s: 1 revision, 1 chunk" in said
    assert "write-ahead log" in said
    assert "freed pages" not in said
    assert "its text is gone" in veraz("restore", "new", "--source", "s").stdout
    absent = veraz("delete", "absent", "--source", "s", "--erase", "--json")
    assert (absent.exit_code, document(absent)["deleted"]) == (4, False)


def test_a_second_erasure_says_when_the_first_one_was(veraz: Run) -> None:
    erase = ("delete", "new", "--source", "s", "--erase")
    first = document(veraz(*erase, "--json"))
    assert (first["deleted"], first["erased_before"]) == (True, None)
    again = veraz(*erase)
    assert (again.exit_code, again.stdout) == (4, "")
    assert f"already erased on {datetime.now(UTC):%Y-%m-%d}" in again.stderr
    assert "vacuumed once more" in again.stderr
    told = document(veraz(*erase, "--rewrite", "--json"))
    assert (told["deleted"], told["revisions"]) == (False, 0)
    assert told["erased_before"].startswith(f"{datetime.now(UTC):%Y-%m-%d}")
    veraz("restore", "new", "--source", "s")
    assert document(veraz(*erase, "--json"))["deleted"] is True


def test_access(veraz: Run) -> None:
    shown = document(veraz("access", "old", "--source", "s", "--json"))
    assert (shown["access"]["labels"], shown["changed"]) == (["public"], False)
    said = veraz(
        "access", "old", "--source", "s", "--acl", "hr,board", "--acl-rule", "all", "--owner", "boss"
    ).stdout
    assert "the owner boss, who holds all of hr, board" in " ".join(said.split())
    assert "changed" in said
    assert hits(veraz) == {"new"}
    assert veraz("show", "old", "--source", "s", "--roles", "hr,board", "--json").exit_code == 0
    assert veraz("access", "old", "--source", "s", "--acl", "hr", "--acl-rule", "owner").exit_code == 2
    assert veraz("access", "absent", "--source", "s").exit_code == 4


def test_supersede(veraz: Run) -> None:
    said = document(
        veraz("supersede", "old", "--by", "new", "--source", "s", "--since", "2020-01-01", "--json")
    )
    assert (said["superseded_by"], said["superseded_from"], said["pinned"]) == ("new", "2020-01-01", True)
    assert hits(veraz) == {"new"}
    assert "superseded by new" in veraz("show", "old", "--source", "s").stdout
    cycle = veraz("supersede", "new", "--by", "old", "--source", "s")
    assert (cycle.exit_code, "new → old → new" in cycle.stderr) == (2, True)
    veraz("delete", "new", "--source", "s")
    assert "which was deleted, as an operator said" in " ".join(
        veraz("show", "old", "--source", "s").stdout.split()
    )
    assert "is not superseded" in veraz("supersede", "old", "--undo", "--source", "s").stdout
    assert hits(veraz) == {"old"}
    assert veraz("supersede", "old", "--source", "s").exit_code == 2


def test_retention(veraz: Run) -> None:
    assert "for ever" in veraz("retention", "show").stdout
    assert veraz("retention", "set").exit_code == 2
    assert veraz("retention", "set", "--history-days", "-3").exit_code == 2
    assert veraz("retention", "set", "--history-days", "soon").exit_code == 2
    policy = document(veraz("retention", "set", "--history-revisions", "0", "--trace-days", "9", "--json"))
    unset = {"history_days": None, "deleted_days": None, "run_days": None, "recall_days": None}
    assert policy == {**unset, "history_revisions": 0, "trace_days": 9}
    policy = document(veraz("retention", "set", "--trace-days", "for-ever", "--json"))
    assert policy == {**unset, "history_revisions": 0, "trace_days": None}
    assert "would remove 1 revision" in veraz("retention", "run", "--dry-run").stdout
    purged = document(veraz("retention", "run", "--json"))
    assert (purged["revisions"], purged["dry_run"]) == (1, False)
    gone = veraz("show", "new", "--source", "s", "--revision", "1")
    assert (gone.exit_code, "was purged" in gone.stderr) == (2, True)


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ({}, Access(("hr",), "any", "boss")),
        ({"acl": ("a", "b")}, Access(("a", "b"), "any", "boss")),
        ({"acl_rule": "owner"}, Access(("boss",), "owner", "boss")),
        ({"no_owner": True}, Access(("hr",))),
        ({"owner": "chief"}, Access(("hr",), "any", "chief")),
    ],
)
def test_what_no_option_names_stays(given: dict[str, Any], after: Access) -> None:
    assert changed(Access(("hr",), "any", "boss"), **given) == after


def test_labels_open_what_was_the_owners_alone() -> None:
    assert changed(Access(("boss",), "owner", "boss"), acl=("hr",)) == Access(("hr",), "any", "boss")
    with pytest.raises(UsageError, match="opposite"):
        changed(Access(), owner="boss", no_owner=True)
    with pytest.raises(UsageError, match="needs an owner"):
        changed(Access(), acl_rule="owner")
