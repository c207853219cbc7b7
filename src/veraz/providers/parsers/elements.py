"""XML of a vocabulary that is not known: its words in their order, and nothing made of them."""

from __future__ import annotations

from veraz.providers.parsers.fields import language_code
from veraz.providers.parsers.narrative import Reading
from veraz.providers.parsers.xmltree import Element, attribute, children, name_of, words
from veraz.text.decode import storable


def read(root: Element) -> Reading:
    """A paragraph for each element that holds text of its own, with what runs on inside it; the others only hold these."""
    found = Reading("xml")
    for text in _texts(root):
        found.paragraph(text)
    found.warnings.append(
        f"<{storable(name_of(root))[0]}> begins no vocabulary that is known: its text is kept, headings and tables are not told"
    )
    if lang := attribute(root, "lang"):
        found.stated["lang"] = language_code(lang)
    return found


def _texts(root: Element) -> list[str]:
    texts: list[str] = []
    todo = [root]
    while todo:
        element = todo.pop()
        if _speaks(element):
            texts.append(words(element))
        else:
            todo += reversed(list(children(element)))
    return texts


def _speaks(element: Element) -> bool:
    own = [element.text, *(child.tail for child in element)]
    return any(text and text.strip() for text in own)
