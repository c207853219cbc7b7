"""Two first ingests into one source at the same instant: both must find it, on as many backends as a busy server has."""

from __future__ import annotations

import threading
from typing import LiteralString, cast
from uuid import UUID

import psycopg

from veraz.db.statements import statement
from veraz.ingest.store import source_key

AT_ONCE, TIMES = 6, 300


def test_all_of_them_get_the_source(database: str) -> None:
    sql = cast("LiteralString", statement("ingest", "ensure_source").as_string(None))
    with psycopg.connect(database) as connection:
        row = connection.execute("select tenant_id from veraz.tenant").fetchone()
    assert row is not None
    tenant: UUID = row[0]
    together = threading.Barrier(AT_ONCE, timeout=60)
    refused: list[str] = []

    def work() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("select set_config('veraz.tenant_id', %s, false)", [str(tenant)])
            for n in range(TIMES):
                unset = dict.fromkeys(("name", "license", "jurisdiction", "authority", "base_url", "chunker"))
                together.wait()
                try:
                    connection.execute(
                        sql, {"source_id": source_key(tenant, f"s{n}"), "slug": f"s{n}", **unset}
                    )
                except psycopg.Error as error:
                    refused.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == []
