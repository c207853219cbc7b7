"""Tokens: the genuine ones give what the mapping says, and no other reaches the database."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.identity.token_issuer import AUDIENCE, ISSUER, Issuer, connections_taken, part
from tests.support import databases
from tests.support.corpus import put, record

from veraz.config import AuthConfig
from veraz.engine import AsyncVeraz
from veraz.errors import AccessDenied, ConfigError, UsageError
from veraz.identity.claims import granted

MAPPED = {"clinician": ("clinical", "public"), "hr": ("staff",)}


@pytest.fixture
async def accepting(database: str, issuer: Issuer) -> AsyncIterator[AsyncVeraz]:
    """An engine that accepts the issuer's tokens and maps two roles."""
    settings = issuer.settings(roles=MAPPED, write_roles=("hr",), default_roles=("everybody",))
    async with await databases.open_engine(database, auth=settings) as engine:
        yield engine


# Genuine tokens


@pytest.mark.parametrize(
    ("algorithm", "kid"), [("RS256", "rsa"), ("PS256", "rsa"), ("ES256", "ec"), ("EdDSA", "ed")]
)
async def test_a_genuine_token_gives_tenant_labels_and_subject(
    accepting: AsyncVeraz, issuer: Issuer, algorithm: str, kid: str
) -> None:
    found = await accepting.authenticate(token=issuer.token(algorithm, kid, roles=["clinician", "unmapped"]))
    own = await accepting.identity()
    assert (found.tenant_id, found.tenant, found.subject) == (own.tenant_id, "default", "ada")
    assert found.roles == ("everybody", "clinical", "public", "user:ada")
    assert not found.may_write


async def test_labels_open_documents_and_write_roles_allow_writing(
    accepting: AsyncVeraz, issuer: Issuer
) -> None:
    await put(
        accepting,
        record("pay", "The salaryword is secret.", acl=["staff"]),
        record("own", "The diaryword.", acl=["user:ada"]),
    )
    nurse = accepting.acting_as(
        await accepting.authenticate(token=issuer.token(roles=["clinician"], sub="bob"))
    )
    clerk = accepting.acting_as(await accepting.authenticate(token=issuer.token(roles=["hr"])))
    assert [
        h.document.external_id for h in (await nurse.search("salaryword diaryword", lang="en")).hits
    ] == []
    found = await clerk.search("salaryword diaryword", lang="en")
    assert {h.document.external_id for h in found.hits} == {"pay", "own"}
    with pytest.raises(AccessDenied, match="bob may not write in tenant default"):
        await nurse.delete("pay", source="s")
    assert await clerk.delete("pay", source="s")


async def test_a_tenant_is_named_by_slug_or_id(accepting: AsyncVeraz, issuer: Issuer) -> None:
    beta = await accepting.add_tenant("beta")
    for name in ("beta", str(beta.tenant_id), str(beta.tenant_id).upper()):
        found = await accepting.authenticate(token=issuer.token(tenant=name))
        assert (found.tenant_id, found.tenant) == (beta.tenant_id, "beta")


async def test_nested_and_namespaced_claims_and_a_fixed_tenant(database: str, issuer: Issuer) -> None:
    settings = issuer.settings(
        tenant_claim="https://example.org/tenant",
        roles_claim="realm_access.roles",
        roles={"a": ("one",)},
        subject_claim="email",
    )
    claims = {"tenant": ..., "roles": ..., "realm_access": {"roles": ["a"]}, "email": "ada@example.org"}
    async with await databases.open_engine(database, auth=settings) as engine:
        found = await engine.authenticate(
            token=issuer.token(**claims, **{"https://example.org/tenant": "default"})
        )
    assert (found.tenant, found.roles) == ("default", ("one", "user:ada@example.org"))
    async with await databases.open_engine(database, auth=issuer.settings(tenant_claim="")) as engine:
        assert (await engine.authenticate(token=issuer.token(tenant="elsewhere"))).tenant == "default"


# Everything else


def _tampered(token: str) -> str:
    header, claims, seal = token.split(".")
    forged = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    return f"{header}.{part({**forged, 'roles': ['hr']})}.{seal}"


def _unsigned(header: bytes) -> str:
    return f"{part(header)}.{part(b'{}')}.{part(b'x')}"


Forge = Callable[[Issuer], str]
NOW = int(time.time())
FORGED: dict[str, tuple[Forge, str]] = {
    "empty": (lambda _: "", "not a signed token"),
    "words": (lambda _: "let me in", "not a signed token"),
    "two parts": (lambda i: i.token().rsplit(".", 1)[0], "not a signed token"),
    "no signature": (lambda i: i.token().rsplit(".", 1)[0] + ".", "not a signed token"),
    "a line break": (lambda i: i.token() + "\n", "not a signed token"),
    "an injected header": (lambda i: i.token() + "\r\nX: y", "not a signed token"),
    "huge": (lambda i: i.token(filler="x" * 20_000), "not a signed token"),
    "a deep header": (lambda _: _unsigned(b"[" * 9_000), "header cannot be read"),
    "a header that is a list": (
        lambda _: _unsigned(b"[]"),
        "header cannot be read",
    ),
    "alg none": (lambda i: i.forged({"alg": "none", "kid": "rsa"}), "algorithm is not one of"),
    "alg None": (lambda i: i.forged({"alg": "NoNe", "kid": "rsa"}), "algorithm is not one of"),
    "alg missing": (lambda i: i.forged({"kid": "rsa"}), "algorithm is not one of"),
    "alg a number": (lambda i: i.forged({"alg": 1, "kid": "rsa"}), "algorithm is not one of"),
    "hmac with the public key": (
        lambda i: i.forged({"alg": "HS256", "kid": "rsa"}, i.public_pem()),
        "algorithm is not one of",
    ),
    "hmac said to be rsa": (
        lambda i: i.forged({"alg": "RS256", "kid": "rsa"}, i.public_pem()),
        "signature is not its issuer's",
    ),
    "an ec key for rsa": (lambda i: i.token("ES256", "rsa", "ec"), "not for its algorithm"),
    "an rsa key for ec": (lambda i: i.token("RS256", "ec", "rsa"), "not for its algorithm"),
    "another key of the issuer": (
        lambda i: i.token("RS256", "rsa", "short"),
        "signature is not its issuer's",
    ),
    "a short key": (lambda i: i.token("RS256", "short"), "too short to be safe"),
    "kid missing": (lambda i: i.token(kid=None), "which key signed it"),
    "kid empty": (lambda i: i.token(kid="", key="rsa"), "which key signed it"),
    "kid huge": (lambda i: i.token(kid="k" * 300, key="rsa"), "which key signed it"),
    "kid unknown": (lambda i: i.token(kid="../../etc/passwd", key="rsa"), "no such key"),
    "kid as SQL": (lambda i: i.token(kid="' or 1=1 --", key="rsa"), "no such key"),
    "extensions": (
        lambda i: i.token(headers={"crit": ["b64"], "b64": True}),
        "extensions|header cannot be read",
    ),
    "its own key": (
        lambda i: i.forged({"alg": "RS256", "kid": "x", "jwk": i.keys[0], "jku": "https://evil.example"}),
        "no such key",
    ),
    "tampered": (lambda i: _tampered(i.token()), "signature is not its issuer's"),
    "expired": (lambda i: i.token(exp=NOW - 3600), "has expired"),
    "no expiry": (lambda i: i.token(exp=...), "lacks the claim exp"),
    "expiry as text": (lambda i: i.token(exp=str(NOW + 9_000)), "claim exp is not a number"),
    "expiry true": (lambda i: i.token(exp=True), "has expired"),
    "expiry endless": (lambda i: i.token(exp=float("inf")), "claims cannot be read"),
    "expiry a list": (lambda i: i.token(exp=[NOW + 9_000]), "claims cannot be read"),
    "not yet valid": (lambda i: i.token(nbf=NOW + 100_000), "not valid yet"),
    "issued later": (lambda i: i.token(iat=NOW + 100_000), "not valid yet"),
    "another audience": (lambda i: i.token(aud="billing"), "another audience"),
    "no audience": (lambda i: i.token(aud=...), "lacks the claim aud"),
    "audience a number": (lambda i: i.token(aud=7), "another audience"),
    "another issuer": (lambda i: i.token(iss="https://login.example.com/"), "another issuer"),
    "issuer with a slash less": (lambda i: i.token(iss=ISSUER.rstrip("/")), "another issuer"),
    "roles a string": (lambda i: i.token(roles="hr"), "roles is not a list"),
    "roles an object": (lambda i: i.token(roles={"hr": True}), "roles is not a list"),
    "roles null": (lambda i: i.token(roles=None), "roles is not a list"),
    "roles nested": (lambda i: i.token(roles=[["hr"]]), "roles holds what is no string"),
    "roles numbers": (lambda i: i.token(roles=[1]), "roles holds what is no string"),
    "a blank role": (lambda i: i.token(roles=[" "]), "roles holds what is no string"),
    "a role with a NUL": (lambda i: i.token(roles=["hr\0"]), "roles holds what is no string"),
    "a role with a surrogate": (lambda i: i.token(roles=["\ud800"]), "roles holds what is no string"),
    "a long role": (lambda i: i.token(roles=["r" * 201]), "roles holds what is no string"),
    "many roles": (lambda i: i.token(roles=[f"r{n}" for n in range(65)]), "roles holds more than 64"),
    "tenant missing": (lambda i: i.token(tenant=...), "tenant is missing"),
    "tenant null": (lambda i: i.token(tenant=None), "tenant is neither"),
    "tenant as SQL": (lambda i: i.token(tenant="default' or true --"), "tenant is neither"),
    "tenant a list": (lambda i: i.token(tenant=["default"]), "tenant is neither"),
    "tenant an object": (lambda i: i.token(tenant={"slug": "default"}), "tenant is neither"),
    "tenant in capitals": (lambda i: i.token(tenant="DEFAULT"), "tenant is neither"),
    "tenant with a line break": (lambda i: i.token(tenant="default\n"), "tenant is neither"),
    "tenant long": (lambda i: i.token(tenant="t" * 64), "tenant is neither"),
    "tenant an odd uuid": (
        lambda i: i.token(tenant="{00000000-0000-0000-0000-000000000000}"),
        "tenant is neither",
    ),
    "subject a number": (lambda i: i.token(sub=7), "sub|claims cannot be read"),
    "subject with a line break": (lambda i: i.token(sub="ada\nroot"), "sub is no string"),
    "subject long": (lambda i: i.token(sub="a" * 196), "sub is no string"),
}


@pytest.mark.parametrize("forged", FORGED)
async def test_anything_else_is_refused_before_a_transaction_opens(
    accepting: AsyncVeraz, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    make, said = FORGED[forged]
    token = make(issuer)
    await accepting.authenticate(
        token=issuer.token()
    )  # the first look at the schema takes a connection of its own
    with connections_taken(accepting, monkeypatch) as taken:
        with pytest.raises(AccessDenied, match=said) as refused:
            await accepting.authenticate(token=token)
        assert taken == []
        await accepting.authenticate(token=issuer.token())
        assert len(taken) == 1
    assert (refused.value.exit_code, bool(refused.value.fix)) == (2, True)
    shown = f"{refused.value} {refused.value.__cause__}"
    assert not [p for p in token.split(".") if len(p) > 4 and p in shown]


@pytest.mark.parametrize("tenant", ["nobody", "00000000-0000-0000-0000-000000000000"])
async def test_an_unknown_tenant_is_refused(accepting: AsyncVeraz, issuer: Issuer, tenant: str) -> None:
    with pytest.raises(AccessDenied, match="names a tenant that does not exist or is disabled"):
        await accepting.authenticate(token=issuer.token(tenant=tenant))


async def test_leeway_covers_clocks_that_differ(database: str, issuer: Issuer) -> None:
    late = issuer.token(exp=int(time.time()) - 60)
    async with await databases.open_engine(database, auth=issuer.settings(leeway=120)) as engine:
        assert (await engine.authenticate(token=late)).subject == "ada"
    async with await databases.open_engine(database, auth=issuer.settings(leeway=10)) as engine:
        with pytest.raises(AccessDenied, match="has expired"):
            await engine.authenticate(token=late)


async def test_without_a_configuration_no_token_is_accepted(engine: AsyncVeraz, issuer: Issuer) -> None:
    with pytest.raises(AccessDenied, match="tokens are not accepted here"):
        await engine.authenticate(token=issuer.token())


async def test_exactly_one_credential_is_taken(engine: AsyncVeraz) -> None:
    for credentials in ({}, {"key": "a", "token": "b"}):
        with pytest.raises(UsageError, match="a key or a token"):
            await engine.authenticate(**credentials)


# Labels


def grant(issuer: Issuer, given: list[str], **settings: Any) -> tuple[str, ...]:
    return granted(issuer.claims(roles=given), issuer.settings(**settings), "default").roles


def test_unmapped_roles_give_nothing_unless_they_are_passed_on(issuer: Issuer) -> None:
    assert grant(issuer, ["a", "hr"], roles=MAPPED) == ("staff", "user:ada")
    assert grant(issuer, ["a", "hr"], roles=MAPPED, pass_roles=True) == ("a", "staff", "user:ada")


def test_a_role_cannot_pose_as_another_person(issuer: Issuer) -> None:
    assert grant(issuer, ["user:root"], pass_roles=True) == ("user:ada",)


def test_a_token_without_subject_or_roles_gives_the_default_labels_alone(issuer: Issuer) -> None:
    found = granted(issuer.claims(sub=..., roles=...), issuer.settings(default_roles=("public",)), "default")
    assert (found.roles, found.subject, found.may_write) == (("public",), None, False)


def test_a_mapping_that_gives_too_many_labels_is_refused(issuer: Issuer) -> None:
    with pytest.raises(AccessDenied, match="more than 64 labels"):
        grant(issuer, ["a"], roles={"a": tuple(f"l{n}" for n in range(64))})


# A shared secret

SECRET = "0123456789abcdef0123456789abcdef"


async def test_a_shared_secret_is_read_from_the_named_variable(
    database: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = AuthConfig(issuer=ISSUER, audience=AUDIENCE, secret_env="TOKEN_SECRET", algorithms=("HS256",))
    token = issuer.forged({"alg": "HS256"}, SECRET.encode())
    async with await databases.open_engine(database, auth=settings) as engine:
        monkeypatch.setenv("TOKEN_SECRET", SECRET)
        assert (await engine.authenticate(token=token)).roles == ("user:ada",)
        with pytest.raises(AccessDenied, match="signature"):
            await engine.authenticate(token=issuer.forged({"alg": "HS256"}, b"another"))
        with pytest.raises(AccessDenied, match="algorithm"):
            await engine.authenticate(token=issuer.token())
        monkeypatch.setenv("TOKEN_SECRET", "short")
        with pytest.raises(ConfigError, match="TOKEN_SECRET holds 5 bytes"):
            await engine.authenticate(token=token)


# The configuration


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"algorithms": ("none",)}, "algorithms names none"),
        ({"algorithms": ("HS256",)}, "algorithms must be of"),
        ({"algorithms": ("RS256", "HS256")}, "algorithms must be of"),
        ({"algorithms": ()}, "algorithms must be of"),
        ({"audience": ""}, "issuer and audience must be set"),
        ({"issuer": ""}, "issuer and audience must be set"),
        ({"secret_env": "S"}, "jwks and secret_env are both set"),
        ({"jwks": "", "secret_env": "S"}, "algorithms must be of"),
        ({"jwks": "", "secret_env": "VERAZ_S", "algorithms": ("HS256",)}, "must not begin with VERAZ_"),
        ({"jwks": "http://login.example.org/keys"}, "jwks must be a file or an https URL"),
        ({"leeway": 3600}, "leeway is 3600"),
        ({"roles_claim": ""}, "must not be empty"),
    ],
)
def test_a_configuration_that_would_accept_too_much_is_refused(
    issuer: Issuer, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        issuer.settings(**changes)


async def test_a_missing_library_is_named(
    accepting: AsyncVeraz, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(ConfigError, match=r"PyJWT[\s\S]*pip install 'veraz\[server\]'"):
        await accepting.authenticate(token=issuer.token())
