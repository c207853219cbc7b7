"""Menus that a page shows twice, above and below or between its parts: blocks of links and nothing else."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser, LexborNode

_MAX_LINKS = 5_000
_MAX_DEPTH = 12
_LONGEST = 5_000
_MENU = 3  # links
_OFTEN = 3  # times that a single link is said
_BLOCKS = frozenset({"center", "div", "dl", "ol", "p", "section", "ul"})


def repeated_menus(tree: LexborHTMLParser) -> frozenset[int]:
    """The elements whose words are all in links, and that say what an earlier one said: of three links or more the second and all
    later ones; of fewer from the second on where they come three times or more ("back to the top")."""
    if tree.body is None:
        return frozenset()
    found: dict[int, tuple[LexborNode, int]] = {}
    within: dict[int, bool] = {}
    for link in tree.body.css("a[href]")[:_MAX_LINKS]:
        if (block := _outermost(link, within)) is not None:
            node, links = found.get(block.mem_id, (block, 0))
            found[block.mem_id] = (node, links + 1)
    said: dict[str, list[tuple[int, int]]] = {}
    for node, links in found.values():
        if words := "".join(filter(str.isalnum, node.text() or "")).casefold():
            said.setdefault(words, []).append((node.mem_id, links))
    return frozenset(
        key
        for same in said.values()
        if len(same) >= (2 if same[0][1] >= _MENU else _OFTEN)
        for key, _ in same[1:]
    )


def _outermost(link: LexborNode, within: dict[int, bool]) -> LexborNode | None:
    """The widest element around a link that holds nothing but links; None where that is the link alone, amid text."""
    best: LexborNode | None = None
    node = link.parent
    for _ in range(_MAX_DEPTH):
        if node is None or node.tag in ("body", "html", "main", "article"):
            break
        if node.mem_id not in within:
            within[node.mem_id] = _links_only(node)
        if not within[node.mem_id]:
            break
        if node.tag in _BLOCKS:
            best = node
        node = node.parent
    return best


def _links_only(node: LexborNode) -> bool:
    words = node.text() or ""
    if len(words) > _LONGEST or node.css_first("img[alt], table, input, h1, h2, h3, h4, h5, h6") is not None:
        return False
    linked = sum(_letters(link.text() or "") for link in node.css("a[href]"))
    return 0 < linked == _letters(words)


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
