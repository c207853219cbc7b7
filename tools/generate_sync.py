#!/usr/bin/env python3
"""Writes src/veraz/sync.py: `Veraz`, the blocking twin of `AsyncVeraz`.

python tools/generate_sync.py           write it
python tools/generate_sync.py --check   exit 1 if it is not current

Signatures and docstrings are copied from the classes of engine/; a body hands the coroutine to a portal.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "src/veraz/engine"
PARTS = (
    "core", "tenants", "corpus", "lifecycle", "indexes", "questions", "evaluation", "sweeps", "runs", "diagnosis", "observation",
    "__init__",
)  # fmt: skip
"""The files of the engine, in the order in which their methods stand in what is written."""
TARGET = ROOT / "src/veraz/sync.py"
_Function = ast.AsyncFunctionDef | ast.FunctionDef
BY_HAND = {"open", "close", "acting_as"}

HEADER = '''"""`Veraz`, for code that does not await. Generated from engine/ by tools/generate_sync.py: do not edit."""

from __future__ import annotations

{imports}
from veraz.portal import Portal


class Veraz:
    """An open database and the identity that acts on it, for code that does not await.

    Use it as a context manager, or call `close`. Every call runs on one background event loop, so it works in threads,
    scripts and notebooks alike; calls from several threads run side by side. Errors come as they were raised, and Ctrl-C
    ends the call. `AsyncVeraz` is the same for code that awaits.
    """

    def __init__(self, engine: AsyncVeraz, portal: Portal) -> None:
        self._engine = engine
        self._portal = portal

    @property
    def config(self) -> Config:
        return self._engine.config

    @classmethod
    def open({open_parameters}) -> Veraz:
{open_docstring}
        portal = Portal()
        try:
            return cls(portal.run(AsyncVeraz.open({open_call})), portal)
        except BaseException:
            portal.close()
            raise

    def close(self) -> None:
        """Closes the connections and ends the background loop. Safe to repeat."""
        if not self._portal.closed:
            try:
                self._portal.run(self._engine.close())
            finally:
                self._portal.close()

    def acting_as({acting_parameters}) -> Veraz:
{acting_docstring}
        return Veraz(self._engine.acting_as(identity), self._portal)

    def __enter__(self) -> Veraz:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

{methods}
'''


def generate() -> str:
    modules = {name: ast.parse((ENGINE / f"{name}.py").read_text(encoding="utf-8")) for name in PARTS}
    classes = {n.name: n for module in modules.values() for n in module.body if isinstance(n, ast.ClassDef)}
    written = _bases("AsyncVeraz", classes)
    methods = [n for name, of in classes.items() if name in written for n in of.body]
    public = {
        n.name: n for n in methods if isinstance(n, ast.AsyncFunctionDef) and not n.name.startswith("_")
    }
    opened = public["open"]
    acting = next(n for n in methods if isinstance(n, ast.FunctionDef) and n.name == "acting_as")
    text = HEADER.format(
        imports=_imports(modules, [*public.values(), acting]),
        open_parameters=_parameters(opened),
        open_docstring=_docstring(opened),
        open_call=_call(opened),
        acting_parameters=_parameters(acting),
        acting_docstring=_docstring(acting),
        methods="\n".join(_method(node) for name, node in public.items() if name not in BY_HAND),
    )
    return _formatted(text)


def _bases(name: str, classes: dict[str, ast.ClassDef]) -> set[str]:
    """A class and what it inherits from."""
    above = [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
    return {name}.union(*(_bases(base, classes) for base in above))


def _method(node: ast.AsyncFunctionDef) -> str:
    assert node.returns is not None, f"{node.name} has no return annotation"
    return (
        f"    def {node.name}({_parameters(node)}) -> {ast.unparse(node.returns)}:\n{_docstring(node)}\n"
        f"        return self._portal.run(self._engine.{node.name}({_call(node)}))\n"
    )


def _parameters(node: _Function) -> str:
    return ast.unparse(node.args)


def _call(node: ast.AsyncFunctionDef) -> str:
    given = node.args
    positional = [a.arg for a in (*given.posonlyargs, *given.args)[1:]]
    return ", ".join([*positional, *(f"{a.arg}={a.arg}" for a in given.kwonlyargs)])


def _docstring(node: _Function) -> str:
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return ""
    return f'        """{first.value.value!s}"""'


def _imports(modules: dict[str, ast.Module], methods: list[_Function]) -> str:
    """The imports of the engine's files that the signatures need; what one of these defines comes from there."""
    needed = {
        n.id
        for m in methods
        for part in (m.args, m.returns)
        if part
        for n in ast.walk(part)
        if isinstance(n, ast.Name)
    }
    needed = needed - {"Self"} | {"TracebackType", "Config"}
    lines = ["from veraz.engine import AsyncVeraz"]
    for name, module in modules.items():
        for node in module.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                taken = [alias for alias in node.names if (alias.asname or alias.name) in needed]
                if taken and isinstance(node, ast.ImportFrom):
                    lines.append(ast.unparse(ast.ImportFrom(node.module, taken, 0)))
                elif taken:
                    lines.append(ast.unparse(ast.Import(taken)))
        assigned = (t for n in module.body if isinstance(n, ast.Assign) for t in n.targets)
        own = sorted(needed & {t.id for t in assigned if isinstance(t, ast.Name)})
        if own:
            lines.append(f"from veraz.engine.{name} import {', '.join(own)}")
    return "\n".join(dict.fromkeys(lines))


def _formatted(text: str) -> str:
    for command in (["check", "--select", "I", "--fix"], ["format"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(TARGET), "-"],
            input=text, capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        text = done.stdout
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the file is not current"
    )
    wanted = generate()
    if not parser.parse_args().check:
        TARGET.write_text(wanted, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != wanted:
        print(
            f"{TARGET.relative_to(ROOT)} is not current: run python tools/generate_sync.py", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
