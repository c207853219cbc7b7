"""How libraries over SQLAlchemy are told which database."""

from __future__ import annotations

from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL


def sqlalchemy_url(conninfo: str, driver: str) -> URL:
    at = {key: str(value) for key, value in conninfo_to_dict(conninfo).items() if value is not None}
    return URL.create(
        driver,
        username=at.get("user"),
        password=at.get("password"),
        host=at.get("host"),
        port=int(at["port"]) if at.get("port") else None,
        database=at.get("dbname"),
    )
