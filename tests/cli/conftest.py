"""The command line run in this process, and a stand-in for the engine where only its formatting is under test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from veraz.cli import session
from veraz.cli.main import app

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No veraz.toml of the working directory, no VERAZ_* of the developer."""
    for name in [name for name in os.environ if name.startswith("VERAZ_") and name != "VERAZ_SHARED"]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VERAZ_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run() -> Run:
    """`run("search", "burns", "--json")` as a shell would: output, stderr and exit code."""

    def invoke(*arguments: str, **attributes: Any) -> Result:
        return CliRunner().invoke(app, list(arguments), **attributes)

    return invoke


class FakeEngine:
    """Answers each method with the value it was given, or raises it, and records the calls."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.config: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.answers:
            raise AttributeError(name)

        async def method(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            answer = self.answers[name]
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return method

    async def __aenter__(self) -> FakeEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine()

    async def opened(config: Any, _bars: Any) -> FakeEngine:
        engine.config = config
        return engine

    monkeypatch.setattr(session, "open_engine", opened)
    return engine


def document(result: Result) -> Any:
    """The one JSON document on stdout."""
    return json.loads(result.stdout)
