"""API keys: what they look like, what is stored of them, when they end, and whom they let in."""

from __future__ import annotations

import asyncio
import hashlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identity.token_issuer import connections_taken
from tests.support.corpus import maintenance_rows, put, record

from veraz.engine import AsyncVeraz
from veraz.errors import AccessDenied, UsageError
from veraz.identity.keys import expiry, key_digest, key_prefix, make_key

NOW = datetime(2026, 5, 6, 7, 8, tzinfo=UTC)


# The key itself


def test_a_key_has_a_public_beginning_and_256_secret_bits() -> None:
    made = [make_key() for _ in range(200)]
    assert all(re.fullmatch(r"vz_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", k.text) for k in made)
    assert all(k.text.startswith(f"{k.prefix}_") for k in made)
    assert len({k.text[12:] for k in made}) == len({k.prefix for k in made}) == 200
    assert all(key_digest(k.text) == k.digest == hashlib.sha256(k.text.encode()).digest() for k in made)
    assert made[0].text not in repr(made[0])


@given(st.one_of(st.text(), st.none(), st.binary(), st.text("vz_abc0-", min_size=50, max_size=60)))
def test_what_is_no_key_is_refused_without_repeating_it(presented: object) -> None:
    with pytest.raises(AccessDenied) as refused:
        key_digest(presented)
    assert refused.value.what == "this is not an API key"


def test_a_prefix_is_taken_from_a_whole_key() -> None:
    key = make_key()
    assert key_prefix(key.text) == key_prefix(f" {key.prefix}\n") == key.prefix
    for wrong in ("", "vz_", "vz_ABCDEFGH", "vz_abcdefghi", "' or true --"):
        with pytest.raises(UsageError, match="no key's prefix"):
            key_prefix(wrong)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("never", None),
        ("1d", NOW + timedelta(days=1)),
        ("90d", NOW + timedelta(days=90)),
        ("2026-05-07", datetime(2026, 5, 7, tzinfo=UTC)),
        ("2031-01-31", datetime(2031, 1, 31, tzinfo=UTC)),
    ],
)
def test_when_a_key_ends(text: str, end: datetime | None) -> None:
    assert expiry(text, NOW) == end


@pytest.mark.parametrize(
    "text", ["", "0d", "-1d", "999999d", "90", "2026-05-06", "2020-01-01", "2026-13-01", "forever"]
)
def test_an_end_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        expiry(text, NOW)
    assert refused.value.fix


# Keys of a tenant


async def test_a_key_acts_in_its_tenant_with_its_roles(engine: AsyncVeraz) -> None:
    await put(engine, record("open", "The openword."), record("pay", "The salaryword.", acl=["hr"]))
    beta = engine.acting_as(await engine.ensure_tenant("beta"))
    reader = await engine.add_key("portal", roles=["public", "hr", "hr"], expires="90d")
    foreign = await beta.add_key("other", roles=["hr"])
    found = await engine.authenticate(key=reader.key)
    own = await engine.identity()
    assert (found.tenant_id, found.roles, found.may_write, found.subject) == (
        own.tenant_id, ("public", "hr"), False, reader.info.prefix,
    )  # fmt: skip
    hits = (await engine.acting_as(found).search("salaryword openword", lang="en")).hits
    assert {h.document.external_id for h in hits} == {"open", "pay"}
    stranger = await engine.authenticate(key=foreign.key)
    assert (stranger.tenant, stranger.roles) == ("beta", ("hr",))
    assert (await engine.acting_as(stranger).search("salaryword openword", lang="en")).hits == ()


async def test_only_the_hash_and_the_public_beginning_are_stored(engine: AsyncVeraz) -> None:
    made = await engine.add_key("portal", roles=["public"])
    (row,) = await maintenance_rows(engine, "select prefix, key_hash, k::text from veraz.api_key k")
    assert (row[0], bytes(row[1])) == (made.info.prefix, hashlib.sha256(made.key.encode()).digest())
    assert made.key[12:] not in row[2]
    assert made.info.expires_at is not None
    assert timedelta(days=364) < made.info.expires_at - datetime.now(UTC) <= timedelta(days=365)


async def test_writing_needs_a_key_that_may(engine: AsyncVeraz) -> None:
    reader = engine.acting_as(
        await engine.authenticate(key=(await engine.add_key("r", roles=["public"])).key)
    )
    writer = engine.acting_as(
        await engine.authenticate(key=(await engine.add_key("w", roles=["public"], may_write=True)).key)
    )
    await put(writer, record("a", "The openword."))
    with pytest.raises(AccessDenied, match=r"vz_\w{8} may not write in tenant default"):
        await put(reader, record("b", "Another."), clean=False)
    with pytest.raises(AccessDenied, match="may not write"):
        await reader.delete("a", source="s")
    assert [h.document.external_id for h in (await reader.search("openword", lang="en")).hits] == ["a"]
    assert await maintenance_rows(engine, "select external_id from veraz.document") == [("a",)]


async def test_a_revoked_and_an_expired_key_are_refused_from_the_next_request_on(engine: AsyncVeraz) -> None:
    first, second = [await engine.add_key(name, roles=["public"]) for name in ("first", "second")]
    assert (await engine.authenticate(key=first.key)).tenant == "default"
    revoked = await engine.revoke_key(first.key)
    assert (revoked.prefix, revoked.state, revoked.name) == (first.info.prefix, "revoked", "first")
    assert (await engine.revoke_key(first.info.prefix)).revoked_at == revoked.revoked_at
    await maintenance_rows(
        engine,
        "update veraz.api_key set created_at = now() - interval '2 days', expires_at = now() - interval '1 second'"
        " where name = 'second' returning 1",
    )
    for key in (first, second):
        with pytest.raises(
            AccessDenied, match=f"{key.info.prefix} is unknown, expired or revoked"
        ) as refused:
            await engine.authenticate(key=key.key)
        assert key.key not in str(refused.value)
    assert {(k.name, k.state) for k in await engine.keys()} == {("first", "revoked"), ("second", "expired")}


async def test_keys_of_another_tenant_are_neither_listed_nor_revoked(engine: AsyncVeraz) -> None:
    beta = engine.acting_as(await engine.ensure_tenant("beta"))
    made = await engine.add_key("portal", roles=["public"])
    assert await beta.keys() == ()
    with pytest.raises(UsageError, match="no key"):
        await beta.revoke_key(made.info.prefix)
    assert (await engine.authenticate(key=made.key)).subject == made.info.prefix


@pytest.mark.parametrize(
    "key", ["", "x", "vz_abcdefgh_short", "' or true --", "vz_abcdefgh_" + "a" * 44, "\0" * 55]
)
async def test_a_malformed_key_reaches_no_database(
    engine: AsyncVeraz, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    with connections_taken(engine, monkeypatch) as taken:
        with pytest.raises(AccessDenied, match="not an API key"):
            await engine.authenticate(key=key)
        assert taken == []
        with pytest.raises(AccessDenied, match="unknown, expired or revoked"):
            await engine.authenticate(key=make_key().text)
        assert len(taken) == 1


async def test_a_key_whose_secret_differs_in_one_character_is_refused(engine: AsyncVeraz) -> None:
    made = await engine.add_key("portal", roles=["public"])
    for place in (3, 12, -1):
        other = "b" if made.key[place] == "a" else "a"
        altered = made.key[:place] + other + (made.key[place + 1 :] if place != -1 else "")
        with pytest.raises(AccessDenied, match="unknown"):
            await engine.authenticate(key=altered)


async def test_the_last_use_is_noted_once_a_minute(engine: AsyncVeraz) -> None:
    made = await engine.add_key("portal", roles=["public"])
    assert [k.last_used_at for k in await engine.keys()] == [None]
    await asyncio.gather(*(engine.authenticate(key=made.key) for _ in range(12)))
    (used,) = await engine.keys()
    assert used.last_used_at is not None
    await engine.authenticate(key=made.key)
    assert (await engine.keys())[0].last_used_at == used.last_used_at
    await maintenance_rows(
        engine, "update veraz.api_key set last_used_at = now() - interval '61 seconds' returning 1"
    )
    await engine.authenticate(key=made.key)
    later = (await engine.keys())[0].last_used_at
    assert later is not None
    assert later >= used.last_used_at


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        (" ", ["public"]),
        ("a\nb", ["public"]),
        ("n" * 101, ["public"]),
        ("a", []),
        ("a", [" "]),
        ("a", ["r\0"]),
    ],
)
async def test_a_key_without_a_usable_name_or_role_is_refused(
    engine: AsyncVeraz, name: str, roles: list[str]
) -> None:
    with pytest.raises(UsageError) as refused:
        await engine.add_key(name, roles=roles)
    assert refused.value.fix
    with pytest.raises(UsageError, match="65 roles"):
        await engine.add_key("a", roles=[f"r{n}" for n in range(65)])
    assert await engine.keys() == ()
