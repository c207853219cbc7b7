"""Mail (EML): subject, the text that was meant to be read, and the mails that it forwards.

Of alternatives the plain one is read, unless the HTML one has a table or more to say. Attachments are named, not read.
"""

from __future__ import annotations

import contextlib
import email
import email.utils
import re
from collections.abc import Sequence
from datetime import datetime
from email.message import Message
from email.policy import EmailPolicy
from typing import Any

from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers import html, plain
from veraz.providers.parsers.fields import Stated, language_code
from veraz.providers.parsers.file import document, no_content, refused
from veraz.providers.parsers.outline import Outline
from veraz.providers.parsers.writing import Writer
from veraz.text.decode import NotText, declared, decode, storable

VERSION = "mail/1"

_DEPTH = 20
_LONGEST_FIELD = 20_000
"""Characters of a header field that are read."""
_FIELDS = ("from", "to", "cc", "date", "message-id")
_TEXTS = ("text/plain", "text/html")
_ENCRYPTED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNED = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_SOFT_BREAK = re.compile(r"(?<!^--)(?<!\n--) \r?\n")


class _Policy(EmailPolicy):
    """Reading addresses and encoded words takes time that grows with the square of their number."""

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        return super().header_fetch_parse(name, value[:_LONGEST_FIELD])


_POLICY = _Policy()


class MailParser:
    def parse(self, item: RawItem) -> ParsedDocument:
        if not (payload := item.payload or b"").strip():
            raise no_content(item)
        try:
            return _read(item, email.message_from_bytes(payload, policy=_POLICY))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            # What the standard library makes of headers and parts that break every rule.
            reason = f"malformed mail: {type(error).__name__}"
            raise refused(item, reason, "save the message again as .eml") from None


def _read(item: RawItem, message: Message[str, str]) -> ParsedDocument:
    if not any(_header(message, name) for name in ("from", "date", "subject", "received", "content-type")):
        raise refused(item, "no mail: it has no header fields", "save the message again as .eml")
    reader = _Reader(item)
    reader.message(message, 0)
    if not reader.out.pieces:
        reason = "; ".join(filter(None, ("a mail without text", *reader.notes, reader.attached())))
        raise refused(item, reason, "ingest what is attached to it")
    title = _words(_header(message, "subject"))
    made = reader.out.outline()
    return document(
        item, made, VERSION, title=title, stated=_stated(message), warnings=reader.warnings(message)
    )


class _Reader:
    def __init__(self, item: RawItem) -> None:
        self.item, self.out = item, Writer()
        self.attachments: list[str] = []
        self.notes: list[str] = []

    def message(self, message: Message[str, str], depth: int) -> None:
        """A mail, below its subject; one inside another also shows who wrote it, to whom and when."""
        self.out.heading(
            depth + 1, _words(_header(message, "subject")) or ("Forwarded message" if depth else "")
        )
        if depth:
            shown = ((name.capitalize(), _words(_header(message, name))) for name in ("from", "to", "date"))
            self.out.block("paragraph", "\n".join(f"{name}: {words}" for name, words in shown if words))
        self._part(message, depth)

    def attached(self) -> str:
        return f"attached: {_listed(self.attachments)}" if self.attachments else ""

    def warnings(self, message: Message[str, str]) -> tuple[str, ...]:
        count = len(self.attachments)
        notes = list(dict.fromkeys(self.notes))
        if message.defects:
            notes.append(f"malformed mail: {type(message.defects[0]).__name__}")
        long = [name for name, value in message.raw_items() if len(value) > _LONGEST_FIELD]
        notes += [
            f"the field {name} is read as far as its first {_LONGEST_FIELD:,} characters" for name in long
        ]
        if count:
            notes.append(f"{count} attachment{'s' * (count > 1)} left out: {_listed(self.attachments)}")
        return tuple(notes)

    def _part(self, part: Message[str, str], depth: int) -> None:
        kind = part.get_content_type()
        if kind in _ENCRYPTED and not (
            kind == "application/pkcs7-mime" and part.get_param("smime-type") == "signed-data"
        ):
            raise refused(self.item, "encrypted mail", "decrypt it and save it again")
        if depth > _DEPTH:
            self.notes.append(f"mails nested more than {_DEPTH} deep left out")
        elif kind == "message/rfc822":
            for inner in _children(part):
                self.message(inner, depth + 1)
        elif kind == "multipart/alternative":
            self._alternatives(_children(part), depth)
        elif part.is_multipart():
            for child in _children(part):
                self._part(child, depth)
        elif _is_text(part):
            self._append(self._outline(part), depth)
        elif kind not in _SIGNED:
            self.attachments.append(_words(part.get_filename() or kind))

    def _append(self, made: Outline, depth: int) -> None:
        self.out.append(made, depth + 1)

    def _alternatives(self, parts: Sequence[Message[str, str]], depth: int) -> None:
        made: dict[str, Outline] = {}
        for part in parts:
            # The HTML one may come in a container, with its images, or in pieces before and after what is attached.
            texts = [inner for inner in part.walk() if _is_text(inner)]
            if texts:
                made.setdefault(texts[0].get_content_type(), self._joined(texts))
                self._beside(part)
            elif not part.is_multipart():
                self._part(part, depth)
        first, rich = made.get("text/plain"), made.get("text/html")
        chosen = rich if first is None or (rich is not None and _says_more(rich, first)) else first
        if chosen is not None:
            self._append(chosen, depth)

    def _joined(self, texts: Sequence[Message[str, str]]) -> Outline:
        """Pieces of one text as one."""
        if len(texts) == 1:
            return self._outline(texts[0])
        whole = Writer()
        for text in texts:
            whole.append(self._outline(text))
        return whole.outline()

    def _beside(self, container: Message[str, str]) -> None:
        """Names what stands beside the text of an alternative; images that are shown in it are no attachments."""
        for part in container.walk():
            shown = part.get_content_maintype() == "image" and part.get_content_disposition() != "attachment"
            if not (part.is_multipart() or _is_text(part) or shown or part.get_content_type() in _SIGNED):
                self.attachments.append(_words(part.get_filename() or part.get_content_type()))

    def _outline(self, part: Message[str, str]) -> Outline:
        text = self._text(part).replace("\r\n", "\n").strip("\n")
        if part.get_content_type() == "text/html":
            return html.outline(text)
        flowed = str(part.get_param("format") or "").lower() == "flowed"
        return plain.outline(_SOFT_BREAK.sub(" ", text) if flowed else text)

    def _text(self, part: Message[str, str]) -> str:
        """In the character set that the part names; where that fails, as any text."""
        data: Any = part.get_payload(decode=True)
        payload = data if isinstance(data, bytes) else b""
        charset = part.get_content_charset("")
        if codec := declared(charset or "ascii", payload):
            with contextlib.suppress(UnicodeDecodeError):
                return storable(payload.decode(codec))[0]
        try:
            found = decode(payload, html=part.get_content_type() == "text/html")
        except NotText as error:
            self.notes.append(f"a text part left out: {error}")
            return ""
        if charset:
            self.notes.append(f"a text part is not {charset}, as it says: read as {found.encoding}")
        return found.text


def _is_text(part: Message[str, str]) -> bool:
    return part.get_content_type() in _TEXTS and part.get_content_disposition() != "attachment"


def _children(part: Message[str, str]) -> list[Message[str, str]]:
    payload: Any = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _says_more(rich: Outline, first: Outline) -> bool:
    if any(piece.kind == "table" for piece in rich.pieces) and not any(
        p.kind == "table" for p in first.pieces
    ):
        return True
    return len(first.text.split()) * 2 < len(rich.text.split())


# Header


def _header(message: Message[str, str], name: str) -> str:
    """A header that cannot be parsed counts as it stands."""
    try:
        return str(message.get(name) or "")
    except (ValueError, IndexError, AttributeError, TypeError, RecursionError):
        return next((str(text) for key, text in message.raw_items() if key.lower() == name), "")


def _words(text: str) -> str:
    return " ".join(storable(text)[0].split())


def _stated(message: Message[str, str]) -> Stated:
    meta = {name: words for name in _FIELDS if (words := _words(_header(message, name)))}
    stated: Stated = {"lang": language_code(_header(message, "content-language")), "meta": meta}
    if (sent := _sent(meta.get("date", ""))) is not None:
        meta["date"] = sent.isoformat()
        stated["published_at"] = sent.date()
    return stated


def _sent(written: str) -> datetime | None:
    try:
        return email.utils.parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
