"""What an Office file states about itself."""

from __future__ import annotations

import re

from veraz.providers.parsers.fields import Stated, language_code
from veraz.providers.parsers.zipped import Package
from veraz.text.decode import storable

_DC = "{http://purl.org/dc/elements/1.1/}"
# What programs write when nobody gave a title.
_NO_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel)\b.*|powerpoint[ -]pr\w+|pr[äeé]sentation|document\s*\d*|slide \d+|untitled.*|"
    r"untitled|sin título|ohne titel|word document|.*\.(?:docx?|rtf|pptx?|xlsx?|dotx?))",
    re.I,
)


def read_properties(package: Package) -> tuple[Stated, str]:
    """Stated fields, and a title that a person gave ("": none). Dates of the file are those of a program, not of the guidance."""
    stated: Stated = {}
    name = package.related("", "core-properties")
    if name is None:
        return stated, ""
    root = package.xml(name)
    stated["lang"] = language_code(root.findtext(f"{_DC}language") or "")
    title = " ".join(storable(root.findtext(f"{_DC}title") or "")[0].split())
    return stated, "" if _NO_TITLE.fullmatch(title) else title
