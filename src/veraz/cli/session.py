"""Opening the engine for a verb: configuration from the global options, and what is said while something slow begins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from veraz.cli.render.bars import Bars, open_bars
from veraz.cli.state import State

if TYPE_CHECKING:
    from veraz.config import Config
    from veraz.engine import AsyncVeraz

Result = TypeVar("Result")
Work = Callable[["AsyncVeraz"], Awaitable[Result]]


def configuration(state: State) -> Config:
    """The configuration that the global options, the environment and the file give together. Raises ConfigError."""
    from veraz.config import load

    flags = {"database.url": state.database, "tenant": state.tenant, "roles": state.roles, **state.settings}
    return load(state.config, flags=flags)


def with_engine(state: State, work: Work[Result], *, bars: Bars | None = None) -> Result:
    """Runs `work` on an open engine. `bars` is the display to share, so that two bars do not fight over one line."""
    config = configuration(state)
    if not state.debug:
        _silence_the_driver()
    with bars or open_bars() as shown:
        return asyncio.run(_run(config, work, shown))


def _silence_the_driver() -> None:
    """The pool warns of each connection that it could not make. The command says once what is wrong, and what to do."""
    logging.getLogger("psycopg").addHandler(logging.NullHandler())


async def _run(config: Config, work: Work[Result], bars: Bars) -> Result:
    async with await open_engine(config, bars) as engine:
        return await work(engine)


async def open_engine(config: Config, bars: Bars) -> AsyncVeraz:
    from veraz.engine import AsyncVeraz

    return await AsyncVeraz.open(config=config, report=bars.say, model_progress=bars.model)
