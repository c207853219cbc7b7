"""From a parsed document to what needs writing: its chunks, what is in none, their languages and hashes. Pure but for a chunker
that looks at meanings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from veraz.errors import ItemError, MalformedResponse
from veraz.ingest import failures, plan
from veraz.ingest.chunkers import ChunkContext, Chunker, dropped
from veraz.ingest.chunkers.context import CountTokens, Embed
from veraz.ingest.stages import Parsed, Prepared
from veraz.nouns.corpus import Chunk, Dropped, ParsedDocument, RawItem
from veraz.providers.ports import LanguageDetector

SURE_CHARACTERS = 200
"""A section shorter than this is taken to be in the document's language."""
SAMPLE_CHARACTERS = 4_000
"""Of a document that states no language: what its language is told by."""


@dataclass(frozen=True, slots=True)
class Cutter:
    """How the documents of one run are cut. `limit`: most tokens of a chunk. `source_name` stands in the header of a document
    that states no publisher. `lang_is_stated`: by the caller, who is believed for every section. `embed` may block."""

    chunker: Chunker
    limit: int
    header: bool
    source_name: str
    lang_is_stated: bool
    count_tokens: CountTokens
    embed: Embed
    detector: LanguageDetector

    def cut_each(self, parsed: Sequence[Parsed]) -> list[Prepared | ItemError]:
        """One outcome for each, in order. Raises UsageError for a limit into which nothing fits."""
        return [self._cut(one) for one in parsed]

    def _cut(self, parsed: Parsed) -> Prepared | ItemError:
        try:
            return self.cut(parsed)
        except ItemError as error:
            return error
        except MalformedResponse as error:  # of a chunker that looks at meanings
            return failures.cannot_be_embedded(parsed.item, error)

    def cut(self, parsed: Parsed) -> Prepared:
        """Raises ItemError (stage "chunk") for a document without content, and for one of which the chunker lost text."""
        item, document, stored = parsed.item, parsed.document, parsed.stored
        lang = document.lang or self.detector.detect(document.text[:SAMPLE_CHARACTERS]) or "und"
        chunks = self.chunker.chunk(document, self._context(document, lang))
        if not chunks:
            raise _failed(item, "no content", "leave the file out")
        expected = stored.current_revision_id if stored else None
        return Prepared(
            item=item,
            document=document,
            lang=lang,
            langs=self._langs(document, lang, chunks),
            chunks=chunks,
            dropped=_dropped(item, document, chunks),
            hashes=tuple(self.hash(document, chunk) for chunk in chunks),
            raw_hash=parsed.raw_hash,
            stated=parsed.stated,
            expected=expected,
            is_new=expected is None,
            deleted_at=stored.deleted_at if stored else None,
            was=parsed.was,
        )

    def _context(self, document: ParsedDocument, lang: str) -> ChunkContext:
        name = document.publisher or self.source_name
        return ChunkContext(name, self.limit, self.count_tokens, lang, self.header, self.embed)

    def hash(self, document: ParsedDocument, chunk: Chunk) -> bytes:
        return plan.pooled_hash(document, chunk) if self.chunker.pooled else plan.content_hash(chunk)

    def _langs(self, document: ParsedDocument, lang: str, chunks: Sequence[Chunk]) -> tuple[str, ...]:
        """The language of each chunk: its section's, where that holds enough words to be sure of another one."""
        if self.lang_is_stated or len(document.sections) == 1:
            return (lang,) * len(chunks)
        sections = {
            section.ord: self.detector.certain(document.text[section.start : section.end]) or lang
            for section in document.sections
            if section.end - section.start >= SURE_CHARACTERS
        }
        return tuple(sections.get(chunk.section, lang) for chunk in chunks)


def _dropped(item: RawItem, document: ParsedDocument, chunks: Sequence[Chunk]) -> tuple[Dropped, ...]:
    try:
        return dropped(document, chunks)
    except ValueError as error:  # a fault of the chunker: nobody may be shown a document with holes
        fix = "choose another chunker for the source, and report this one"
        raise _failed(item, str(error), fix) from None


def _failed(item: RawItem, reason: str, fix: str) -> ItemError:
    return ItemError(reason, path=item.place, external_id=item.external_id, stage="chunk", fix=fix)
