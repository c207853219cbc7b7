"""The building blocks of every verb: commands that take the global options anywhere, and the types of their values."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import click

from veraz.cli.state import State
from veraz.nouns.fusion import Fusion
from veraz.nouns.rerank import RERANKERS

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:  # generic from click 8.5 on
    DateType = click.ParamType[date]
    MomentType = click.ParamType[datetime]
    ListType = click.ParamType[tuple[str, ...]]
    NumbersType = click.ParamType[tuple[int, ...]]
    TextType = click.ParamType[str]
else:
    DateType = MomentType = ListType = NumbersType = TextType = click.ParamType


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Given before the verb, after it, or both: the last one counts, and an absent one changes nothing."""
    if value and parameter.name:
        setattr(context.ensure_object(State), parameter.name, value)


def _global(*names: str, **attributes: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_remember, **attributes)


GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    _global(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Configuration file (default: $VERAZ_CONFIG, then ./veraz.toml).",
    ),
    _global(
        "--database", metavar="URL", help="Another PostgreSQL than the embedded one (VERAZ_DATABASE_URL)."
    ),
    _global("--tenant", metavar="SLUG", help="The tenant to act in (default: default)."),
    _global(
        "--roles", metavar="A,B", help="The roles to act with, which open access labels (default: public)."
    ),
    _global("--json", is_flag=True, help="One JSON document on stdout, everything else on stderr."),
    _global("--debug", is_flag=True, help="Show the traceback of an error (VERAZ_DEBUG=1)."),
)


GLOBAL_TITLE = "Global options, before or after the verb"
QUESTION = "question"
"""The one text that may be blank: it finds nothing, which is a normal outcome."""
BLANK = "it is empty; give a value (an unset variable of the shell?), or leave it out"


def takes_debug(arguments: Sequence[str]) -> bool:
    return "--debug" in arguments or os.environ.get("VERAZ_DEBUG", "") not in ("", "0")


class _Documented(click.Command):
    """A command with an example, the global options, and a help page that sets those apart."""

    def __init__(self, *args: Any, example: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.example = example
        self.params = [*self.params, *GLOBAL_OPTIONS]

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            self._refuse_blank(context, args)
            return super().parse_args(context, args)
        except click.UsageError as error:
            error.ctx = error.ctx or context  # the parser does not always say which command it read
            raise

    def _refuse_blank(self, context: click.Context, args: list[str]) -> None:
        """`--tenant "$UNSET"` must not act in the default tenant, nor `ingest "$UNSET"` read the working directory. Read before
        conversion: the path of an empty text is the working directory, and a callback would not see the difference."""
        given, _, _ = self.make_parser(context).parse_args(list(args))
        for parameter in self.get_params(context):
            value = given.get(parameter.name or "")
            texts = value if isinstance(value, list | tuple) else (value,)
            if parameter.name != QUESTION and any(isinstance(t, str) and not t.strip() for t in texts):
                raise click.BadParameter(BLANK, context, parameter)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.get_params(context) if isinstance(p, click.Option)]
        own = [described(option) for option in options if option not in GLOBAL_OPTIONS]
        for title, records in (
            ("Options", own),
            (GLOBAL_TITLE, [described(option) for option in GLOBAL_OPTIONS]),
        ):
            with formatter.section(title):
                formatter.write_dl(records, col_max=24)
        if isinstance(self, click.Group):
            self.format_commands(context, formatter)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def described(option: click.Option) -> tuple[str, str]:
    """An option as `-k N` and its help: the same for the help page and the reference, whatever click's version says."""
    names = ", ".join([*sorted(option.opts, key=len), *option.secondary_opts])
    if option.is_flag:
        return names, option.help or ""
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    return f"{names} {option.metavar or '|'.join(map(str, choices))}", option.help or ""


class Verb(_Documented):
    pass


class VerbGroup(_Documented, click.Group):
    """A verb with sub-commands: `veraz server start`."""


def verb(name: str, *, example: str, **attributes: Any) -> Callable[[Callable[..., Any]], Verb]:
    made: Callable[[Callable[..., Any]], Verb] = click.command(name, cls=Verb, example=example, **attributes)
    return made


def subverb(group: VerbGroup, name: str, *, example: str) -> Callable[[Callable[..., Any]], Verb]:
    return cast("Callable[[Callable[..., Any]], Verb]", group.command(name, cls=Verb, example=example))


# Types


class IsoDate(DateType):
    name = "date"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> date:
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date; write YYYY-MM-DD", parameter, context)


class CommaList(ListType):
    """`a, b` as ("a", "b"). At least one."""

    name = "a,b"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        parts = tuple(part.strip() for part in value.split(",") if part.strip())
        return parts or self.fail(f"{value!r} names nothing; write a,b", parameter, context)


class CutOffs(NumbersType):
    name = "5,10"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
            self.fail(f"{value!r} is no list of cut-offs; write 5,10,20,100", parameter, context)
        return tuple(sorted({int(part) for part in parts}))


class Words(TextType):
    """Free text. Bytes of the command line that are no UTF-8 become U+FFFD: they could not be stored."""

    name = "text"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> str:  # noqa: ARG002
        return str(value).encode("utf-8", "replace").decode("utf-8")


DATE, LIST, CUTOFFS, WORDS = IsoDate(), CommaList(), CutOffs(), Words()
AUTHORITY = click.IntRange(1, 5)
MODES = ("hybrid", "lexical", "semantic")


class Moment(MomentType):
    """A date, which is its first moment, or a date and time; without a zone it is UTC."""

    name = "time"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time; write YYYY-MM-DD or YYYY-MM-DDTHH:MM+01:00", parameter, context)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


TIME = Moment()


# Options that several verbs share


def access_options(function: Function) -> Function:
    """Who may read documents: labels, the rule that reads them, an owner, and a window of time."""
    for decorate in reversed(
        [
            click.option("--acl-rule", type=click.Choice(["any", "all", "owner"]),
                         help="Which labels a reader needs: any of them (default), all, or only the owner's."),
            click.option("--owner", type=WORDS, metavar="LABEL", help="A label that may always read them."),
            click.option("--readable-from", type=TIME, metavar="TIME", help="Nobody but the owner reads them before."),
            click.option("--readable-until", type=TIME, metavar="TIME", help="Nobody but the owner reads them from then on."),
        ]
    ):  # fmt: skip
        function = decorate(function)
    return function


def question_options(function: Function) -> Function:
    """The question itself, how it is searched, and the simple filters."""
    return questions(required=True, source_flag="--source")(function)


def questions(*, required: bool, source_flag: str) -> Callable[[Function], Function]:
    """The same for a verb that may go without a question, and whose --source says something else."""

    def decorated(function: Function) -> Function:
        return _questioned(function, required, source_flag)

    return decorated


def _questioned(function: Function, required: bool, source_flag: str) -> Function:
    for decorate in reversed(
        [
            click.argument("question", type=WORDS, required=required),
            click.option(
                "-k",
                "k",
                type=click.IntRange(1, 1000),
                metavar="N",
                help="How many hits (search: 10; ask and context: [answer] evidence, which is 12 and what sufficiency was fitted"
                " with).",
            ),
            click.option(
                "--mode",
                type=click.Choice(MODES),
                default="hybrid",
                help="Which arms answer (default: hybrid).",
            ),
            click.option(
                "--lang",
                metavar="auto|any|xx",
                default="auto",
                help="Language of the question, for its stop words and stems (default: auto). It filters nothing.",
            ),
            click.option(
                source_flag,
                "sources",
                type=LIST,
                metavar="A,B",
                help="Only documents of these sources.",
            ),
            click.option(
                "--min-authority",
                type=AUTHORITY,
                metavar="1-5",
                help="Only sources of at least this authority.",
            ),
            click.option(
                "--revised-from", type=DATE, metavar="DATE", help="Only revisions dated on or after this day."
            ),
            click.option(
                "--revised-to", type=DATE, metavar="DATE", help="Only revisions dated on or before this day."
            ),
            click.option("--doc-lang", type=LIST, metavar="A,B", help="Only documents in these languages."),
            click.option(
                "--license", "licenses", type=LIST, metavar="A,B", help="Only documents under these licences."
            ),
            click.option(
                "--jurisdiction",
                "jurisdictions",
                type=LIST,
                metavar="A,B",
                help="Only guidance that applies there.",
            ),
            click.option(
                "--published-from",
                type=DATE,
                metavar="DATE",
                help="Only documents published on or after this day.",
            ),
            click.option(
                "--published-to",
                type=DATE,
                metavar="DATE",
                help="Only documents published on or before this day.",
            ),
            click.option(
                "--filter",
                "where",
                type=WORDS,
                multiple=True,
                metavar="EXPR",
                help="Only what meets this expression, e.g. \"authority >= 4 and not lang = 'fr'\"; several must all hold.",
            ),
            click.option(
                "--as-of",
                type=DATE,
                metavar="DATE",
                help="The revisions that held on this day, under today's permissions (default: the current ones).",
            ),
        ]
    ):
        function = decorate(function)
    return function


budget_option = click.option(
    "--budget",
    type=click.IntRange(16, 1_000_000),
    metavar="TOKENS",
    help="Read only as many hits as have this many tokens, the best first (default: all -k of them).",
)


rerank_option = click.option(
    "--rerank",
    type=click.Choice(RERANKERS),
    metavar="NAME|none",
    help=f"Who puts the best hits in another order: {', '.join(RERANKERS[1:])}; none for the fused order (default: as"
    " configured).",
)


def arm_options(function: Function) -> Function:
    """How the arms are read and fused."""
    for decorate in reversed(
        [
            click.option(
                "--fusion",
                type=click.Choice(get_args(Fusion)),
                help="How the arms are fused (default: as configured).",
            ),
            rerank_option,
            click.option(
                "--exact",
                is_flag=True,
                help="Read everything instead of approximating: slower, the reference for recall.",
            ),
        ]
    ):
        function = decorate(function)
    return function
