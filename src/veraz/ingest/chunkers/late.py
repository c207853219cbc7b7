"""Late chunking (Günther et al. 2024): the chunks of `structure`, whose vectors are pooled from token vectors of the whole
document, so that a passage's vector knows what its pronouns and headings mean.

The vectors come from `TokenEmbedder.embed_spans(doc.text, [chunk.spans for chunk in chunks])`. The lexical arm reads the same
text as always.
"""

from __future__ import annotations

import msgspec

from veraz.errors import UsageError
from veraz.ingest.chunkers.context import ChunkContext
from veraz.ingest.chunkers.structure import CHUNKER, Structure
from veraz.nouns.corpus import Chunk, ParsedDocument
from veraz.providers.ports import Embedder, TokenEmbedder

NAME = "late"


class Late(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    @property
    def version(self) -> str:
        return f"{NAME}/1 {CHUNKER}"

    @property
    def pooled(self) -> bool:
        return True

    def chunk(self, doc: ParsedDocument, context: ChunkContext) -> tuple[Chunk, ...]:
        return Structure().chunk(doc, context)


def token_embedder(embedder: Embedder) -> TokenEmbedder:
    """The embedder as one that pools spans of a document. Raises UsageError where it cannot."""
    if isinstance(embedder, TokenEmbedder) and embedder.gives_tokens:
        return embedder
    raise UsageError(
        f"chunker {NAME!r} needs token vectors, which the embedder of the space {embedder.space.name!r} does not give",
        fix="use the embedder 'local', or 'hub' with a model that gives token vectors and pools their mean",
    )
