"""`veraz tenant` and `veraz key` on a real database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cli.conftest import Run, document
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.hashing import HashingEmbedder

from veraz.cli import session
from veraz.engine import AsyncVeraz
from veraz.nouns.corpus import Identity


@pytest.fixture
def veraz(run: Run, database: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run`, on a fresh database with the schema."""

    async def opened(config: Any, _bars: Any) -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, embedder=HashingEmbedder())

    monkeypatch.setattr(session, "open_engine", opened)
    monkeypatch.setenv("VERAZ_HOME", str(test_home()))
    monkeypatch.setenv("VERAZ_DATABASE_URL", database)
    return run


def identified(url: str, key: str) -> Identity:
    async def authenticate() -> Identity:
        async with await databases.open_engine(url) as engine:
            return await engine.authenticate(key=key)

    return asyncio.run(authenticate())


def test_a_key_from_its_making_to_its_end(veraz: Run, database: str) -> None:
    made = document(
        veraz("key", "add", "portal", "--roles", "public,clinical", "--expires", "90d", "--write", "--json")
    )
    info = made["info"]
    assert (info["name"], info["tenant"], info["roles"], info["may_write"], info["state"]) == (
        "portal", "default", ["public", "clinical"], True, "active",
    )  # fmt: skip
    assert made["key"].startswith(info["prefix"] + "_")
    found = identified(database, made["key"])
    assert (found.roles, found.may_write) == (("public", "clinical"), True)
    listed = document(veraz("key", "list", "--json"))["keys"]
    assert [(k["prefix"], k["last_used_at"] is not None) for k in listed] == [(info["prefix"], True)]
    shown = veraz("key", "list").stdout
    assert info["prefix"] in shown
    assert made["key"] not in shown
    assert document(veraz("key", "revoke", info["prefix"], "--json"))["state"] == "revoked"
    assert veraz("key", "revoke", made["key"]).stdout == f"revoked {info['prefix']} (portal)\n"
    again = veraz("key", "revoke", "vz_00000000")
    assert (again.exit_code, again.stdout) == (2, "")
    assert "no key vz_00000000 in tenant default" in again.stderr


def test_a_key_is_printed_once_on_a_line_of_its_own(veraz: Run, database: str) -> None:
    shown = veraz("key", "add", "portal", "--roles", "public", "--expires", "never")
    assert shown.exit_code == 0
    key = shown.stdout.splitlines()[-1]
    assert identified(database, key).roles == ("public",)
    assert "expires  never" in shown.stdout
    assert shown.stdout.count(key) == 1


def test_the_roles_of_a_key_are_said_and_never_the_operators_own(
    veraz: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERAZ_ROLES", "public,hr")
    refused = veraz("key", "add", "portal")
    assert refused.exit_code == 2
    assert "fix: veraz key add portal --roles public" in refused.stderr
    made = document(veraz("key", "add", "portal", "--roles", "public", "--json"))
    assert made["info"]["roles"] == ["public"]
    past = veraz("key", "add", "portal", "--roles", "public", "--expires", "2020-01-01")
    assert (past.exit_code, "2020-01-01 is past" in past.stderr) == (2, True)


def test_a_tenant_from_its_making_to_its_end(veraz: Run) -> None:
    made = document(veraz("tenant", "add", "clinic-north", "--name", "Clinic North", "--json"))
    assert (made["slug"], made["name"], made["disabled_at"]) == ("clinic-north", "Clinic North", None)
    assert veraz("tenant", "add", "clinic-north").exit_code == 2
    assert veraz("key", "add", "k", "--roles", "public", "--tenant", "clinic-north").exit_code == 0
    listed = document(veraz("tenant", "list", "--json"))["tenants"]
    assert [(t["slug"], t["keys"]) for t in listed] == [("clinic-north", 1), ("default", 0)]
    assert veraz("tenant", "disable", "clinic-north").stdout == "disabled clinic-north\n"
    assert "disabled since" in veraz("tenant", "list").stdout
    refused = veraz("search", "x", "--tenant", "clinic-north", "--mode", "lexical")
    assert (refused.exit_code, "it is disabled" in refused.stderr) == (2, True)
    assert document(veraz("tenant", "enable", "clinic-north", "--json"))["disabled_at"] is None
    assert veraz("search", "x", "--tenant", "clinic-north", "--mode", "lexical").exit_code == 0


def test_removing_a_tenant_needs_its_slug_twice(veraz: Run) -> None:
    veraz("tenant", "add", "clinic-north")
    for arguments in ([], ["--yes", "clinic"], ["--yes", "default"]):
        refused = veraz("tenant", "remove", "clinic-north", *arguments)
        assert refused.exit_code == 2
        assert "fix: veraz tenant remove clinic-north --yes clinic-north" in refused.stderr
    assert len(document(veraz("tenant", "list", "--json"))["tenants"]) == 2
    veraz("key", "add", "k", "--roles", "public", "--tenant", "clinic-north")
    removed = document(veraz("tenant", "remove", "clinic-north", "--yes", "clinic-north", "--json"))
    assert removed == {"slug": "clinic-north", "rows": 1}
    assert [t["slug"] for t in document(veraz("tenant", "list", "--json"))["tenants"]] == ["default"]


def test_init_prints_what_it_could_not_do(veraz: Run, empty_database: str) -> None:
    """The runtime login of this server was made by another database's init."""
    shown = veraz("init", "--database", empty_database)
    assert shown.exit_code == 0
    assert "note: the login veraz_app was there already" in shown.stdout
