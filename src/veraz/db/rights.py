"""What the login that serves may not be: a bug in a request must not meet rights that pass row-level security by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

from veraz.db.statements import statement
from veraz.errors import DatabaseError

FIX = "serve with the login that `veraz init` prints (VERAZ_RUNTIME_URL); veraz init --renew-runtime-login prints it anew"


@dataclass(frozen=True, slots=True)
class Rights:
    """Of a login and of every role that it is a member of: whoever serves could take them. `owns` names three objects at most."""

    login: str
    powers: tuple[str, ...]
    roles: tuple[str, ...]
    owns: tuple[str, ...]
    serves: bool  # may take the role veraz_app


async def read_rights(connection: AsyncConnection[Any]) -> Rights:
    row = await (await connection.execute(statement("db", "rights"))).fetchone()
    assert row is not None
    login, powers, roles, owns, serves = row
    return Rights(login, tuple(powers), tuple(roles), tuple(owns), serves)


def require_unprivileged(rights: Rights) -> None:
    """Raises DatabaseError naming what the login holds beyond what serving needs."""
    held = []
    if rights.powers:
        held.append(f"has {', '.join(rights.powers)}")
    if "SUPERUSER" not in rights.powers:  # which is a member of everything
        if rights.roles:
            held.append(f"is a member of {', '.join(rights.roles)}")
        if rights.owns:
            held.append(f"owns {', '.join(rights.owns)}")
    if held:
        raise DatabaseError(f"the login {rights.login} must not serve: it {' and '.join(held)}", fix=FIX)
    if not rights.serves:
        raise DatabaseError(f"the login {rights.login} cannot serve: it may not act as veraz_app", fix=FIX)
