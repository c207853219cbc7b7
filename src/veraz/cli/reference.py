"""The reference of the command line and of the configuration, made from the commands and the sections themselves.

python -m veraz.cli.reference > docs/reference/cli.md
python -m veraz.cli.reference configuration > docs/reference/configuration.md
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from veraz.cli.main import VERBS, app
from veraz.cli.options import GLOBAL_OPTIONS, GLOBAL_TITLE, described
from veraz.cli.shapes import shape, shapes
from veraz.config import SECTIONS, Config

INTRODUCTION = """\
<!-- Made by `python -m veraz.cli.reference`; a test checks that it is current. Do not edit. -->

# The command line

Every command takes `--help` and `--json`. With `--json` exactly one JSON document is on stdout, an error included
(`{"error": {"what", "where", "fix", "exit_code"}}`); progress, notes and messages are on stderr.

Configuration comes from `veraz.toml`, from `VERAZ_*` variables over it, and from flags over both: see
[configuration](configuration.md).

## Exit codes

| code | meaning |
|---|---|
| 0 | done; a refusal, a conflict, a route or an empty result is a normal outcome |
| 1 | an unexpected error: a bug, to be reported with the output of `--debug` |
| 2 | wrong usage or configuration |
| 3 | a server or provider could not be reached |
| 4 | some inputs failed; the rest was kept |
| 5 | a check or gate failed |
| 130 | stopped with Ctrl-C; one line says what was committed, and a rerun continues |
| 141 | the reader of the output went away (`veraz search … \\| head -1`) |

`NO_COLOR=1`, and any output that is not a terminal, gives plain text without escape sequences.
"""


SHAPES = """\
## JSON shapes

`[…]` is a list, `{…}` an object; dates are ISO 8601, ids strings, scores finite and higher is better. `start` and `end` are
Unicode code point offsets into the revision's text. `eval run` with several modes prints `{"runs": [run, …]}`; `demo` prints
`{"ingest", "questions": [{"shows", "expected", "question", "answer"}]}`; `tenant list` prints `{"tenants": [tenant, …]}`,
`key list` `{"keys": [info, …]}`, `key revoke` an `info`. Fields may be added, not removed.
"""

CONFIGURATION = """\
<!-- Made by `python -m veraz.cli.reference configuration`; a test checks that it is current. Do not edit. -->

# Configuration

A key is set in `veraz.toml` (`--config FILE`, else `$VERAZ_CONFIG`, else `veraz.toml` in the working directory), by its
environment variable over that, or by a flag over both. Unknown keys and variables are errors, and so are empty variables and
flags: a value that somebody forgot must not fall back to a default. `VERAZ_EMBEDDER_OPTIONS` and `VERAZ_AUTH_ROLES` take a
JSON object; lists take `a,b`. `VERAZ_RUNTIME_URL` is short for `VERAZ_DATABASE_RUNTIME_URL`; `VERAZ_DEBUG=1` shows tracebacks.
"""


def configuration() -> str:
    """The page on configuration, in Markdown."""
    top = [(name, default) for name, default in _defaults(Config) if name not in SECTIONS]
    parts = [CONFIGURATION, "## Top level\n", _explained(Config), _keys("", top)]
    for name, section in SECTIONS.items():
        parts += [f"## [{name}]\n", _explained(section), _keys(name, _defaults(section))]
    return "\n".join(parts)


def _defaults(section: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    made = section()
    return [(name, getattr(made, name)) for name in section.__struct_fields__]


def _explained(section: type[msgspec.Struct]) -> str:
    return " ".join((section.__doc__ or "").split()) + "\n"


def _keys(section: str, keys: list[tuple[str, Any]]) -> str:
    lines = []
    for name, default in keys:
        variable = f"VERAZ_{section}_{name}".replace("__", "_").upper()
        lines.append(f"| `{name}` | `{msgspec.json.encode(default).decode()}` | `{variable}` |")
    return "\n".join(["| key | default | variable |", "|---|---|---|", *lines, ""])


def reference() -> str:
    """The whole page, in Markdown."""
    parts = [INTRODUCTION, f"## {GLOBAL_TITLE}\n", _table(GLOBAL_OPTIONS)]
    context = click.Context(app, info_name="veraz")
    for name in VERBS:
        command = app.get_command(context, name)
        assert command is not None
        parts += _pages(command, f"veraz {name}")
    return "\n".join([*parts, SHAPES, *_shapes()])


def _shapes() -> Iterator[str]:
    for name, noun in shapes().items():
        hidden = ("results",) if name == "eval run" else ()
        lines = textwrap.wrap(
            shape(noun, without=hidden), 110, break_long_words=False, break_on_hyphens=False
        )
        yield "\n".join([f"### {name}\n", "```text", *lines, "```", ""])


def _pages(command: click.Command, path: str) -> Iterator[str]:
    yield f"## {path}\n"
    yield f"{_help(command)}\n"
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from (page.replace("## ", "### ", 1) for page in _pages(inner, f"{path} {name}"))
        return
    options = [p for p in command.params if isinstance(p, click.Option) and p not in GLOBAL_OPTIONS]
    yield f"```console\n{_usage(command, path)}\n```\n"
    if options:
        yield _table(options)
    yield f"```sh\n{getattr(command, 'example', '')}\n```\n"


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _usage(command: click.Command, path: str) -> str:
    arguments = [p.metavar or (p.name or "").upper() for p in command.params if isinstance(p, click.Argument)]
    required = [described(p)[0] for p in command.params if isinstance(p, click.Option) and p.required]
    return " ".join([path, *arguments, *required, "[OPTIONS]"])


def _table(options: tuple[click.Option, ...] | list[click.Option]) -> str:
    rows = [described(option) for option in options]
    lines = [f"| `{_cell(name)}` | {_cell(meaning)} |" for name, meaning in rows]
    return "\n".join(["| option | meaning |", "|---|---|", *lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(configuration() if sys.argv[1:] == ["configuration"] else reference())
