"""What several documents of a source say to the letter, counted when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.repeated import Repeated, RepeatedText

NOTE = "Report side effects to your doctor or to the national centre."
WARNING = "Do not take it if you are pregnant."


async def take(engine: AsyncVeraz, folder: Path, *records: Mapping[str, Any], source: str = "s") -> None:
    path = folder / "c.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    await engine.ingest([path], source=source)


def leaflet(name: str, *paragraphs: str, **more: Any) -> dict[str, Any]:
    """A document with a chunk for each paragraph."""
    body = "\n\n".join(f"# Part {n}\n\n{text}" for n, text in enumerate(paragraphs))
    return {"id": name, "title": f"Leaflet {name}", "text": body, "format": "markdown", **more}


async def test_texts_are_counted_by_documents(engine: AsyncVeraz, tmp_path: Path) -> None:
    await take(
        engine,
        tmp_path,
        leaflet("a", NOTE, WARNING, "Only here: a."),
        leaflet("b", NOTE, WARNING, NOTE),
        leaflet("c", NOTE, "Only here: c."),
        leaflet("hidden", NOTE, WARNING, acl=["board"]),
    )
    await take(engine, tmp_path, leaflet("far", NOTE), source="other")
    assert await engine.repeated("s") == Repeated(
        "s", 6, 8, (RepeatedText(3, 4, "a", NOTE), RepeatedText(2, 2, "a", WARNING))
    )
    assert [text.body for text in (await engine.repeated("s", least=3)).texts] == [NOTE]
    assert [text.body for text in (await engine.repeated("s", top=1)).texts] == [NOTE]
    assert await engine.repeated("other") == Repeated("other", 0, 0, ())


async def test_what_is_gone_counts_no_more(engine: AsyncVeraz, tmp_path: Path) -> None:
    await take(engine, tmp_path, *(leaflet(name, NOTE) for name in "abc"))
    await engine.delete("a", source="s")
    assert (await engine.repeated("s")).texts == (RepeatedText(2, 2, "b", NOTE),)
    await take(engine, tmp_path, leaflet("b", "Something else now."))
    assert (await engine.repeated("s")).texts == ()
    await engine.restore("a", source="s")
    assert (await engine.repeated("s")).texts == (RepeatedText(2, 2, "a", NOTE),)


async def test_a_misspelt_source_is_named(engine: AsyncVeraz, tmp_path: Path) -> None:
    await take(engine, tmp_path, leaflet("a", NOTE))
    with pytest.raises(UsageError, match="no source 'x'"):
        await engine.repeated("x")
