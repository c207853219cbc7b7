"""Languages as callers name them: ISO 639-1 codes, and a few words beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from veraz.errors import UsageError

_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk
kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc
oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn
to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
ISO_639_1: Final = frozenset(_CODES.split())
NO_LANGUAGE: Final = "xx"


def check_lang(lang: str, words: Sequence[str], analysers: Sequence[str]) -> str:
    """One of `words`, xx, or an ISO 639-1 code, in lower case and without its region (`pt-BR` is `pt`). Raises UsageError for any
    other: it would quietly be taken for a language without stop words and stems."""
    named = lang.strip().lower()
    code = named.replace("_", "-").partition("-")[0]
    if named in (*words, NO_LANGUAGE):
        return named
    if code in ISO_639_1:
        return code
    raise UsageError(
        f"{lang[:40]!r} is no language",
        fix=f"--lang takes {', '.join(words)}, or an ISO 639-1 code; stop words and stems are known for {', '.join(analysers)}; "
        f"{NO_LANGUAGE} takes words as they stand",
    )
