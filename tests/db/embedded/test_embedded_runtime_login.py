"""The embedded server's own unprivileged login: made once, kept beside the superuser's password, shared by all that serve."""

from __future__ import annotations

import asyncio
import stat

import pytest
from embedded_helpers import MakeServer
from psycopg.conninfo import conninfo_to_dict
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder

from veraz.config import Config
from veraz.db.embedded.layout import find_layout
from veraz.engine import AsyncVeraz
from veraz.errors import DatabaseError


async def test_serving_needs_no_configuration(make_server: MakeServer) -> None:
    server = make_server()
    config = Config(home=str(server.home))

    async def serve() -> AsyncVeraz:
        return await AsyncVeraz.open(config=config, embedder=HashingEmbedder(), serving=True)

    async with await serve() as first, await serve() as second:
        for engine in (first, second):
            assert conninfo_to_dict(engine._database.url)["user"] == "veraz_app"
        await put(first, record("a", "The openword."))
        assert [h.document.external_id for h in (await second.search("openword", lang="en")).hits] == ["a"]
        with pytest.raises(DatabaseError, match="administrator's work"):
            await first.tenants()
    layout = find_layout(server.home)
    assert layout is not None
    assert stat.S_IMODE(layout.runtime_password.stat().st_mode) == 0o600

    layout.runtime_password.unlink()  # a server of an earlier release has none
    opened = await asyncio.gather(*(serve() for _ in range(3)))
    assert len({conninfo_to_dict(e._database.url)["password"] for e in opened}) == 1
    for engine in opened:
        await engine.close()

    async with await AsyncVeraz.open(config=config, embedder=HashingEmbedder()) as administrator:
        made = await administrator.init(renew_runtime_login=True)
    async with await serve() as engine:
        assert engine._database.url == made.runtime_url
