"""What a planted fault is, and the texts that it is planted in.

A plant makes a small corpus in a tenant of its own, breaks one thing (or two), and says which stage must be named. It knows
nothing of how a diagnosis is made; whether a suggested change helps is told by an ordinary search or answer afterwards.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from tests.support.corpus import Record, put, record
from tests.support.hashing import DIMENSION, HashingEmbedder
from tests.support.reranking import SaidReranker

from veraz.config import AnswerConfig, IngestConfig, SearchConfig
from veraz.engine import AsyncVeraz
from veraz.engine.core import Models
from veraz.nouns.corpus import Vectors
from veraz.providers.rerankers.registry import OpenedReranker

SOURCE = "guides"
_number = itertools.count()


@dataclass(frozen=True)
class Topic:
    """A question, the sentence that answers it, and what else is said about the same thing."""

    lang: str
    title: str
    fact: str
    question: str
    others: tuple[str, ...]


TOPICS: tuple[Topic, ...] = (
    Topic(
        "en", "Amoxicillin for ear infections",
        "Children with otitis take amoxicillin twice a day for five days.",
        "How long do children with otitis take amoxicillin?",
        ("Otitis often heals by itself.", "Amoxicillin may cause a rash.", "Ear drops are kept in the fridge."),
    ),
    Topic(
        "en", "Storing insulin",
        "An opened insulin pen keeps for four weeks at room temperature.",
        "How long does an opened insulin pen keep?",
        ("Insulin must not freeze.", "Pens are labelled with the date.", "Needles are thrown into a sharps box."),
    ),
    Topic(
        "en", "Warfarin and food",
        "Large portions of spinach weaken warfarin within a few days.",
        "Does spinach weaken warfarin?",
        ("Warfarin is taken in the evening.", "Blood is tested every month.", "Cranberry juice may matter."),
    ),
    Topic(
        "es", "Golpe de calor",
        "Ante un golpe de calor se enfrían el cuello y las axilas con agua fresca.",
        "¿Qué se enfría ante un golpe de calor?",
        ("El calor agota a los ancianos.", "Beber agua previene calambres.", "El sol del mediodía se evita."),
    ),
    Topic(
        "es", "Metformina y riñón",
        "La metformina se suspende cuando el filtrado glomerular baja de treinta.",
        "¿Cuándo se suspende la metformina?",
        ("La metformina se toma con comida.", "El filtrado se mide cada año.", "La diarrea es frecuente."),
    ),
    Topic(
        "fr", "Gastro-entérite",
        "La solution de réhydratation se donne par petites gorgées toutes les cinq minutes.",
        "Comment donne-t-on la solution de réhydratation ?",
        ("La gastro-entérite guérit seule.", "Le lait reste permis.", "Les mains se lavent souvent."),
    ),
    Topic(
        "de", "Zeckenbiss",
        "Nach einem Zeckenbiss wird die Einstichstelle vier Wochen lang beobachtet.",
        "Wie lange wird die Einstichstelle nach einem Zeckenbiss beobachtet?",
        ("Zecken sitzen im hohen Gras.", "Eine Zeckenkarte hilft.", "Borreliose wird mit Antibiotika behandelt."),
    ),
)  # fmt: skip

Mend = Callable[[Mapping[str, Any]], Awaitable[None]]


@dataclass
class Planted:
    """`given` are the arguments of the question beside it; `stage` is what must be named first, `then` what must be named after
    the first suggested change was made (a fault behind the fault). `again` ingests the material anew, as a changed source or a
    mended file would, given the values of a suggested change. `mendable` is false where nothing may be suggested that works."""

    engine: AsyncVeraz
    question: str
    expect: str
    stage: str
    given: dict[str, Any] = field(default_factory=dict)
    then: tuple[str, ...] = ()
    cause: str | None = None
    again: Mend | None = None
    needle: str | None = None  # what must be in a hit afterwards; None: any passage of the document
    is_mendable: bool = True


Plant = Callable[[AsyncVeraz, Path], Awaitable[Planted]]
PLANTS: dict[str, Plant] = {}


def plant(kind: str, variant: str) -> Callable[[Plant], Plant]:
    def keep(function: Plant) -> Plant:
        name = f"{kind}/{variant}"
        assert name not in PLANTS, name
        PLANTS[name] = function
        return function

    return keep


# --- where it is planted


async def own_tenant(engine: AsyncVeraz, roles: Sequence[str] = ("public",), **sections: Any) -> AsyncVeraz:
    """The same open engine in a new tenant, with other configuration."""
    identity = await engine.ensure_tenant(f"plant-{next(_number)}")
    return configured(engine.acting_as(msgspec_replace(identity, roles=tuple(roles))), **sections)


def msgspec_replace(value: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(value, **changes)


def configured(
    engine: AsyncVeraz,
    *,
    search: Mapping[str, Any] | None = None,
    answer: Mapping[str, Any] | None = None,
    ingest: Mapping[str, Any] | None = None,
    embedder: HashingEmbedder | None = None,
    reranker: SaidReranker | None = None,
) -> AsyncVeraz:
    other = copy(engine)
    changes: dict[str, Any] = {
        "search": SearchConfig(**(search or {})),
        "answer": AnswerConfig(**(answer or {})),
        "ingest": IngestConfig(**{"isolated": False, **(ingest or {})}),
    }
    other.config = msgspec.structs.replace(engine.config, **changes)
    if embedder is not None:
        other._models = Models(embedder)
    if reranker is not None:
        other._rerankers = {"cohere": OpenedReranker(reranker, 1.0)}
    return other


def document(topic: Topic, name: str = "wanted", **fields: Any) -> dict[str, Any]:
    """The document that holds the fact, as one chunk."""
    text = " ".join((topic.fact, *topic.others))
    return record(name, text, lang=topic.lang, title=topic.title, **fields)


def bystanders(topic: Topic, count: int = 4) -> list[Record]:
    """Documents about other things."""
    rest = [t for t in TOPICS if t is not topic]
    return [
        record(f"other-{n}", f"{rest[n % len(rest)].fact} Note {n}.", lang=rest[n % len(rest)].lang,
               title=f"{rest[n % len(rest)].title} {n}")
        for n in range(count)
    ]  # fmt: skip


def rivals(topic: Topic, count: int, *, name: str = "rival") -> list[Record]:
    """Documents that say the question's words, none of which answers it: each ranks before a passage that says them once."""
    words = " ".join(re.findall(r"\w+", topic.question))
    return [
        record(f"{name}-{n}", f"{words}. {words} again {n}.", lang=topic.lang, title=f"{words} {n}")
        for n in range(count)
    ]


def repeating(
    engine: AsyncVeraz, records: Sequence[Record], *, source: str = SOURCE, **settings: Any
) -> Mend:
    """Ingests again into the same source what a change names: its chunker, its configuration."""

    async def again(values: Mapping[str, Any]) -> None:
        sections: dict[str, Any] = {"ingest": dict(values.get("ingest", {}))}
        chunker = values.get("chunker")
        other = engine
        if sections["ingest"]:
            kept = {
                name: getattr(engine.config.ingest, name) for name in engine.config.ingest.__struct_fields__
            }
            other = copy(engine)
            changed = IngestConfig(**{**kept, **sections["ingest"]})
            other.config = msgspec.structs.replace(engine.config, ingest=changed)
        if values.get("delete_first"):
            await engine.delete(values["external_id"], source=source)
        await put(other, *records, source=source, **{**settings, **({"chunker": chunker} if chunker else {})})

    return again


# --- vectors whose order a test decides

_PLACE = re.compile(r"sem(\d+|q)\b")


def placed(text: str) -> Vectors | None:
    """A text with the word `semq` stands at 0 degrees, one with `sem12` at 12 steps of 0.4 degrees: the nearer, the better."""
    found = _PLACE.search(text)
    if found is None:
        return None
    step = 0 if found[1] == "q" else int(found[1])
    angle = np.radians(0.4 * step)
    vector = np.zeros(DIMENSION, dtype=np.float32)
    vector[0], vector[1 + step % (DIMENSION - 1)] = np.cos(angle), np.sin(angle)
    return vector


def placing() -> HashingEmbedder:
    return HashingEmbedder(place=placed)
