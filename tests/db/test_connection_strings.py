"""Connection strings: what of one is shown, and how another login's is made from it."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from veraz.db.session import Database, login_url, redact
from veraz.errors import DatabaseError
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


@pytest.mark.parametrize(
    "url", ["postgres//admin:s3cret@db/veraz", "postgresql://admin:s3cret@db:port/veraz"]
)
async def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(DatabaseError, match=r"cannot [\s\S]*fix: ") as refused:
        await Database.open(url)
    assert "s3cret" not in str(refused.value)


def test_what_is_shown_of_a_url_holds_no_password() -> None:
    assert redact("postgresql://admin:s3cret@db.example/veraz") == "admin@db.example:5432/veraz"


async def test_the_runtime_password_reaches_no_statement_and_so_no_log(empty_database: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database) as connection:
        sent = verifier(connection, "s3cret").as_string(connection)
    assert sent.startswith("'SCRAM-SHA-256$4096:")
    assert "s3cret" not in sent
