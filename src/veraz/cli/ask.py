"""`veraz ask`"""

from __future__ import annotations

from typing import Any

import click

from veraz.cli.asked import asked_of
from veraz.cli.options import arm_options, budget_option, question_options, verb
from veraz.cli.output import emit
from veraz.cli.render.answer import show_answer
from veraz.cli.render.console import console
from veraz.cli.session import with_engine
from veraz.cli.state import State


@verb(
    "ask",
    example='veraz ask "Can I take metformin with an eGFR of 40?"\n'
    'veraz ask "¿Qué hacer ante un golpe de calor?" --min-authority 4 --json',
)
@question_options
@arm_options
@budget_option
@click.pass_obj
def command(state: State, /, question: str, budget: int | None, **given: Any) -> None:
    """Answer QUESTION from what was ingested, every sentence with its citation.

    There are four outcomes, and each exits 0: answered; conflicting, when current sources disagree; insufficient, when
    they do not say enough; routed, when a fixed rule (an emergency, say) answers before any search.
    """
    asked = asked_of(**given)
    answer = with_engine(state, lambda engine: engine.ask(question, **asked, budget=budget))
    if state.json:
        emit(state, answer)
    else:
        show_answer(console(), answer)
