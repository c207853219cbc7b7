"""Whether a diagnosis of a planted fault is right, and whether what it suggests helps: told by ordinary searches and answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.diagnosis.planting import Planted, configured

from veraz.engine import AsyncVeraz
from veraz.nouns.diagnosis import Change, Diagnosis
from veraz.nouns.question import Filters


@dataclass
class Asking:
    """A question as it is asked now, changes included."""

    engine: AsyncVeraz
    question: str
    given: dict[str, Any]

    @property
    def verb(self) -> str:
        return str(self.given.get("verb", "ask"))

    def request(self) -> dict[str, Any]:
        """What search and ask take of it."""
        return {n: v for n, v in self.given.items() if n not in ("verb", "fact", "source")}


@dataclass
class Judged:
    """`named`: the stages in the order in which they were named; `wanted`: in which they had to be. `was_real`: before anything
    was mended the passage did not come; `is_back`: in the end it did, by an ordinary search or answer."""

    wanted: tuple[str, ...]
    named: list[str] = field(default_factory=list)
    causes: list[str | None] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    was_real: bool = False
    is_back: bool = False
    mends: int = 0
    mended: int = 0

    @property
    def is_right(self) -> bool:
        return tuple(self.named) == self.wanted and self.was_real and self.is_back


async def judge(planted: Planted) -> Judged:
    wanted = (planted.stage,) if planted.stage == "found" else (planted.stage, *planted.then, "found")
    judged = Judged(wanted)
    asking = Asking(planted.engine, planted.question, dict(planted.given))
    judged.was_real = await comes(asking, planted) == (planted.stage == "found")
    for _ in range(len(wanted) + 2):  # a wrong name must not go on for ever
        found = await asking.engine.diagnose(asking.question, expect=planted.expect, **asking.given)
        judged.named.append(found.stage)
        judged.causes.append(found.cause)
        judged.diagnoses.append(found)
        if found.stage == "found" or found.change is None:
            break
        judged.mends += 1
        asking = await mended(asking, planted, found.change)
        judged.mended += 1
    judged.is_back = await comes(asking, planted)
    return judged


async def mended(asking: Asking, planted: Planted, change: Change) -> Asking:
    """A change made, as who reads the JSON of a diagnosis would make it."""
    values, engine = dict(change.values), asking.engine
    if change.kind == "request":
        return await _asked_otherwise(asking, values, dict(change.settings))
    if change.kind == "settings":
        return replace(asking, engine=with_settings(engine, values))
    place = {"source": values.pop("source", None)}
    name = values.pop("external_id", None)
    if change.kind == "restore":
        await engine.restore(name, **place)
    elif change.kind == "supersede":
        await engine.supersede(name, **place, **values)
    elif change.kind == "access":
        standing = await engine.standing(name, **place)
        await engine.set_access(name, **place, access=replace(standing.access, **values))
    else:
        if values.pop("restore", False):
            await engine.restore(name, **place)
        assert planted.again is not None, f"nothing to ingest again for {change}"
        await planted.again({**values, "external_id": name})
    return asking


async def _asked_otherwise(asking: Asking, values: dict[str, Any], settings: dict[str, Any]) -> Asking:
    engine = with_settings(asking.engine, settings)
    if "roles" in values:
        identity = await engine.identity()
        engine = engine.acting_as(replace(identity, roles=tuple(values.pop("roles"))))
    question = values.pop("question", asking.question)
    given = dict(asking.given)
    if "filters" in values:
        given["filters"] = replace(given.get("filters") or Filters(), **values.pop("filters"))
    return Asking(engine, question, {**given, **values})


def with_settings(engine: AsyncVeraz, settings: dict[str, Any]) -> AsyncVeraz:
    """The engine under a veraz.toml with these keys."""
    sections: dict[str, dict[str, Any]] = {}
    for section in ("search", "answer", "ingest"):
        present = getattr(engine.config, section)
        sections[section] = {name: getattr(present, name) for name in present.__struct_fields__}
    for dotted, value in settings.items():
        section, key = dotted.split(".")
        sections[section][key] = value
    return configured(engine, **sections)  # type: ignore[arg-type]


async def comes(asking: Asking, planted: Planted) -> bool:
    """Whether the passage is among the hits, as its own document's; or quoted in the answer."""
    name, order = planted.expect, None
    if "#" in name and name != "wanted#2":
        name, number = name.rsplit("#", 1)
        order = int(number)
    source = asking.given.get("source")
    if asking.verb == "search":
        hits = (await asking.engine.search(asking.question, **{"k": 10, **_set(asking.request())})).hits
        return any(
            h.document.external_id == name
            and source in (None, h.document.source)
            and order in (None, h.ord)
            and _holds(planted.needle, h.body)
            for h in hits
        )
    answer = await asking.engine.ask(asking.question, **_set(asking.request()))
    return any(c.external_id == name and _holds(planted.needle, c.quote) for c in answer.citations)


def _set(request: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in request.items() if not (name == "k" and value is None)}


def _holds(needle: str | None, text: str) -> bool:
    return needle is None or " ".join(needle.split()) in " ".join(text.split())
