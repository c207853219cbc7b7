"""What the parsers of whole files share: decoding, refusing empty files, and the document made from an
outline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from veraz.errors import ItemError
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.fields import Stated
from veraz.providers.parsers.outline import Outline, build_blocks, build_sections, repeated_spans, ruler_spans
from veraz.text.decode import Decoded, NotText, decode


def decoded(item: RawItem) -> Decoded:
    """The text of the item's bytes. Raises ItemError for what is not text and for what holds no text."""
    try:
        found = decode(item.payload or b"", html=item.media == "html")
    except NotText as error:
        raise refused(item, str(error), "save the file as UTF-8, or leave it out") from None
    if not found.text.strip():
        raise no_content(item)
    return found


def located(error: ItemError, item: RawItem) -> ItemError:
    """The same error with the place of the item in it."""
    return ItemError(
        error.reason, path=item.place, external_id=item.external_id, stage=error.stage, fix=error.fix
    )


def no_content(item: RawItem) -> ItemError:
    return refused(item, "no content", "leave the file out, or check how it was exported")


def refused(item: RawItem, reason: str, fix: str) -> ItemError:
    return ItemError(reason, path=item.place, external_id=item.external_id, stage="parse", fix=fix)


def document(
    item: RawItem,
    outline: Outline,
    version: str,
    *,
    title: str,
    stated: Stated,
    warnings: Sequence[str] = (),
    media: str = "",
) -> ParsedDocument:
    """The parsed document; a file that names no title is called by its name. `media` says more than the item could: "docx"."""
    if outline.blank:
        raise no_content(item)
    sections = build_sections(outline)
    return ParsedDocument(
        external_id=item.external_id,
        text=outline.text,
        title=title or outline.title or PurePosixPath(item.external_id).stem,
        sections=sections,
        blocks=build_blocks(outline, sections),
        parser=version,
        media=media or item.media,
        page_starts=outline.page_starts,
        warnings=(*warnings, *outline.warnings),
        rulers=ruler_spans(outline),
        repeated=repeated_spans(outline),
        **stated,
    )
