"""Small evidence for the tests of the answer stage: revision texts, hits on them, and an embedder of word
counts."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import numpy.typing as npt

from veraz.answer.sentences import RevisionKey
from veraz.answer.words import content_words, stem
from veraz.nouns.corpus import Span, Vectors
from veraz.nouns.evidence import DocumentRef, Hit

DIMENSION = 512


def document(external_id: str, title: str, **changes: object) -> DocumentRef:
    fields: dict[str, object] = {
        "external_id": external_id,
        "source": "demo",
        "authority": 3,
        "license": None,
        "title": title,
        "url": None,
        "lang": "en",
        "revision": 1,
        "published_at": None,
        "revised_at": date(2024, 1, 1),
        "superseded_by": None,
        "is_current": True,
    }
    return DocumentRef(**(fields | changes))  # type: ignore[arg-type]


def hits_of(ref: DocumentRef, text: str, first_rank: int = 1) -> list[Hit]:
    """One hit for each "## heading" of a text."""
    found = []
    matches = list(re.finditer(r"^#+ (.+)\n", text, re.M))
    bounds = [(0, 0, ref.title), *((m.start(), m.end(), m.group(1)) for m in matches)]
    ends = [*(m.start() for m in matches), len(text)]
    for ord_, ((_, start, heading), end) in enumerate(zip(bounds, ends, strict=True)):
        body = text[start:end]
        if not body.strip():
            continue
        left = start + len(body) - len(body.lstrip())
        right = start + len(body.rstrip())
        found.append(hit(ref, text, left, right, heading, first_rank + len(found), ord_))
    return found


def hit(ref: DocumentRef, text: str, start: int, end: int, heading: str, rank: int, ord_: int = 0) -> Hit:
    return Hit(
        rank=rank,
        score=1 / rank,
        chunk_id=uuid5(NAMESPACE_URL, f"{ref.external_id}/{start}"),
        document=ref,
        ord=ord_,
        kind="paragraph",
        heading_path=(ref.title, heading),
        page=None,
        start=start,
        end=end,
        body=text[start:end],
        spans=(Span(start, end),),
        token_count=1,
    )


def key(ref: DocumentRef) -> RevisionKey:
    return ref.source, ref.external_id, ref.revision


def embed(texts: list[str]) -> Vectors:
    """Bags of stems as unit vectors: alike texts are near, and nothing else is claimed."""
    return np.stack([vector(text) for text in texts])


def vector(text: str) -> npt.NDArray[np.float32]:
    counts = np.full(DIMENSION, 0.01, np.float32)
    for word in content_words(text):
        digest = hashlib.sha256(stem(word).encode()).digest()
        counts[int.from_bytes(digest[:4], "big") % DIMENSION] += 1
    return (counts / np.linalg.norm(counts)).astype(np.float32)
