"""What a chat model is asked about a chunk, and what is taken from its answer. Pure.

The text of a document is untrusted, and so is what a model makes of it: it is put between marks that it cannot know, and what
comes back is one line of plain characters, cut to a length, that is embedded and never shown as the document's.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template

from veraz.nouns.chat import ChatMessage
from veraz.nouns.corpus import Chunk, ParsedDocument
from veraz.text.decode import storable

FILE = Path(__file__).with_name("context_prompt.toml")
GAP = "[…]"

_LONGEST_ANSWER = 4_000
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"(?:the )?context(?: of the passage)?\s*:\s*", re.IGNORECASE)
_NOTHING = re.compile(r"\W*none\W*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]")
_QUOTES = "\"'`“”„«»‘’"


@dataclass(frozen=True, slots=True)
class Prompt:
    system: Template
    user: Template
    version: str  # of both


@cache
def prompt() -> Prompt:
    given = tomllib.loads(FILE.read_text(encoding="utf-8"))
    system, user = given["system"].strip(), given["user"].strip()
    version = hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:12]
    return Prompt(Template(system), Template(user), version)


def messages(document: ParsedDocument, chunk: Chunk, *, words: int, window: int) -> tuple[ChatMessage, ...]:
    """What is asked about one chunk, with at most `window` characters of the document."""
    said = _clip(chunk.display if chunk.embedded is None else chunk.embedded, window)
    material = {
        "title": _line(document.title),
        "headings": " › ".join(map(_line, chunk.heading_path)) or "none",
        "document": excerpt(document.text, chunk.spans[0].start, chunk.spans[-1].end, window),
        "passage": said,
    }
    material = {name: storable(text)[0] for name, text in material.items()}
    mark = hashlib.sha256("\0".join(material.values()).encode()).hexdigest()[:20]
    values = {**material, "mark": mark, "words": str(words)}
    asked = prompt()
    return (
        ChatMessage("system", asked.system.substitute(values)),
        ChatMessage("user", asked.user.substitute(values)),
    )


def excerpt(text: str, start: int, end: int, most: int) -> str:
    """The text, where it has at most `most` characters; of a longer one its opening and what stands around text[start:end],
    mostly before it."""
    if len(text) <= most:
        return text.strip()
    opening = most // 4
    around = most - opening
    spare = max(0, around - (end - start))
    begin = max(0, start - spare * 2 // 3)
    stop = min(len(text), begin + around)
    begin = max(0, stop - around)
    if begin <= opening:
        return _words(text, 0, most).strip() + f"\n{GAP}"
    tail = f"\n{GAP}" if stop < len(text) else ""
    return f"{_words(text, 0, opening).strip()}\n{GAP}\n{_words(text, begin, stop).strip()}{tail}"


def _words(text: str, start: int, stop: int) -> str:
    """text[start:stop] without the halves of words at its ends, if it has white space near them."""
    if start > 0 and not text[start - 1].isspace():
        found = re.search(r"\s", text[start : min(start + 80, stop)])
        start += found.end() if found else 0
    if stop < len(text) and not text[stop].isspace():
        cut = max(text.rfind(" ", max(start, stop - 80), stop), text.rfind("\n", max(start, stop - 80), stop))
        stop = cut if cut > start else stop
    return text[start:stop]


def _line(text: str) -> str:
    return " ".join(text.split())[:1_000]


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


# What comes back


def cleaned(answer: str, *, complete: bool = True) -> str:
    """One line of an answer, without thoughts, labels, quotation marks and characters that are not seen; "" for one that says
    nothing. An answer that is not `complete` ends with its last whole sentence, if it has one."""
    text, _ = storable(answer)
    text = _THOUGHT.sub(" ", text)[:_LONGEST_ANSWER]
    text = " ".join("".join(map(_seen, text)).split())
    text = _LABEL.sub("", text.strip("`* "), count=1) if _LABEL.match(text.strip("`* ")) else text.strip("`")
    text = _unquoted(text.strip())
    if not any(map(str.isalnum, text)) or _NOTHING.fullmatch(text):
        return ""
    if not complete:
        ends = [found.end() for found in _SENTENCE_END.finditer(f"{text} ")]
        text = text[: ends[-1]] if ends and ends[-1] < len(text) else text
    return text


def _seen(char: str) -> str:
    """Joiners shape words in some scripts and stay; whatever else is not seen goes, as do signs that turn the direction."""
    if char in "\u200c\u200d" or char.isspace():
        return char if char in "\u200c\u200d" else " "
    return "" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") else char


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES:
        return text[1:-1].strip()
    return text


# What fits


def fitted(
    chunks: Sequence[Chunk],
    contexts: Sequence[str],
    *,
    most: int,
    limit: int,
    count_tokens: Callable[[Sequence[str]], list[int]],
) -> list[Chunk]:
    """The chunks with their contexts and tokens. A context adds at most `most` tokens, and no chunk comes to hold more than
    `limit`: the context is cut, to nothing if need be, the body never."""
    done = list(chunks)
    todo = [n for n, context in enumerate(contexts) if context]
    said = {n: contexts[n] for n in todo}
    while todo:
        tried = {n: replace(chunks[n], context=said[n]) for n in todo}
        counts = dict(zip(todo, count_tokens([tried[n].embedded_text for n in todo]), strict=True))
        again = []
        for n in todo:
            allowed = min(limit, chunks[n].token_count + most)
            if counts[n] <= allowed:
                done[n] = replace(tried[n], token_count=counts[n])
                continue
            own = max(1, counts[n] - chunks[n].token_count)
            share = max(0, allowed - chunks[n].token_count) / own
            said[n] = shortened(said[n], min(int(len(said[n]) * share * 0.97), len(said[n]) - 2))
            if said[n]:
                again.append(n)
        todo = again
    return done


def shortened(text: str, size: int) -> str:
    """At most `size` characters: whole sentences if they are more than half of that, else whole words and "…". "" where nothing
    that says something fits."""
    if size < 8:
        return ""
    if len(text) <= size:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, size + 1) if found.end() <= size]
    if ends and ends[-1] * 2 > size:
        return text[: ends[-1]]
    space = text.rfind(" ", size // 2, size)
    return text[: space if space > 0 else size - 1].rstrip(" ,;:–—-") + "…"
