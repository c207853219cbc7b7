"""Connection strings: what of one is shown, and how another login's is made from it."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.support.hashing import HashingEmbedder

from veraz.db.session import Database, login_url, redact
from veraz.engine import AsyncVeraz
from veraz.errors import ConfigError, DatabaseError
from veraz.schema.apply import verifier

ADMINISTRATORS = [
    "postgresql://admin:s3cret@db.example:6432/veraz?sslmode=require&sslrootcert=/etc/ca.pem",
    "postgresql://admin@db.example",
    "host=/var/run/postgresql dbname='my base' user=admin",
    "host=a,b port=1,2 dbname=veraz target_session_attrs=read-write",
    "postgresql://admin@[::1]:5433/veraz",
    "host=db.example dbname=veraz sslcert=/etc/admin.crt sslkey=/etc/admin.key",
]


@pytest.mark.parametrize("url", ADMINISTRATORS)
def test_the_runtime_logins_url_reaches_the_same_database_with_its_own_credentials(url: str) -> None:
    given, made = conninfo_to_dict(url), conninfo_to_dict(login_url(url, "veraz_app", "p@ss/w?rd"))
    assert (made.pop("user"), made.pop("password")) == ("veraz_app", "p@ss/w?rd")
    defaults = {"host": "localhost", "port": "5432", "dbname": "postgres"}
    own = ("user", "password", "sslcert", "sslkey")
    assert made == {**defaults, **{name: value for name, value in given.items() if name not in own}}


UNREADABLE = [
    "postgres//admin:s3cret@db/veraz",
    "postgresql://admin:s3cret@db:port/veraz",
    "http://admin:s3cret@db/veraz",
    "postgresql://admin:s3cret@[::1/veraz",
    "postgresql://admin:s3cret@db:99999/veraz",
    "postgresql://admin:s3cret@db:0/veraz",
    "host=db,e port=5432,x user=admin password=s3cret",
    "postgresql://admin:s3cret@%zz/veraz",
    "postgresql://admin:s3cret@db/veraz?nope=1",
    "postgresql://admin:s3cret@127.0.0.1:1/veraz?sslmode=maybe",
    "postgresql://admin:s3cret@127.0.0.1:1/veraz?target_session_attrs=any-old",
    "service=s3cret-less",
    "host=db port=5432 password=s3cret dbname",
    "s3cret",
]


@pytest.mark.parametrize("url", UNREADABLE)
async def test_a_url_that_cannot_be_read_is_wrong_configuration_and_its_password_is_not_told(
    url: str,
) -> None:
    with pytest.raises(ConfigError, match=r"URL cannot be used[\s\S]*fix: check --database") as refused:
        await Database.open(url)
    assert refused.value.exit_code == 2
    assert "s3cret" not in str(refused.value) or "s3cret-less" in url


@pytest.mark.parametrize("name", ["VERAZ_DATABASE_URL", "VERAZ_RUNTIME_URL"])
async def test_a_variable_that_holds_no_url_is_wrong_configuration(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://x")
    with pytest.raises(ConfigError, match=name):
        await AsyncVeraz.open(embedder=HashingEmbedder(), serving=name == "VERAZ_RUNTIME_URL")


async def test_a_server_that_does_not_answer_is_no_wrong_configuration() -> None:
    with pytest.raises(DatabaseError, match=r"cannot reach PostgreSQL at admin@127\.0\.0\.1:1/veraz"):
        await Database.open("postgresql://admin:s3cret@127.0.0.1:1/veraz")


def test_what_is_shown_of_a_url_holds_no_password() -> None:
    assert redact("postgresql://admin:s3cret@db.example/veraz") == "admin@db.example:5432/veraz"


async def test_the_runtime_password_reaches_no_statement_and_so_no_log(empty_database: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database) as connection:
        sent = verifier(connection, "s3cret").as_string(connection)
    assert sent.startswith("'SCRAM-SHA-256$4096:")
    assert "s3cret" not in sent
