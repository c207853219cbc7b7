"""Search results in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from veraz.cli.render.console import (
    clean,
    counted,
    explained_by,
    path_of,
    revised,
    show_indented,
    show_parts,
    standing,
    sufficiency_of,
    text,
    timings,
)
from veraz.cli.render.snippet import matches, terms, window
from veraz.nouns.evidence import ArmScore, DocumentExcerpts, Hit, SearchResult

SNIPPET = 300
INDENT = 4
SHOWN_OWNERS = 4


def show_result(
    out: Console,
    result: SearchResult,
    *,
    explain: bool = False,
    tenant: str | None = None,
    grouped: bool = False,
) -> None:
    if not result.hits:
        out.print("nothing found", style="bold")
    wanted = terms(result.question)
    if grouped:
        _show_documents(out, result.documents, wanted)
    for hit in () if grouped else result.hits:
        _show_hit(out, hit, wanted)
        if explain:
            show_indented(out, explanation(hit, result.config), INDENT)
        out.print()
    if explain:
        _show_terms(out, result.hits, result.lang)
    for note in (*result.notes, *_shortfall(result)):
        show_indented(out, text(f"note: {note}", "yellow"), 0)
    asked = [
        *([counted(len(result.documents), "document")] if grouped else []),
        counted(len(result.hits), "hit"),
        result.mode,
        f"question read as {result.lang}",
        sufficiency_of(result),
    ]
    show_parts(out, asked)
    show_parts(out, timings(result.timings_ms))
    out.print(text(explained_by(result.trace_id, tenant), "dim"), soft_wrap=True)


def _show_hit(out: Console, hit: Hit, wanted: Sequence[str]) -> None:
    heading = text(path_of(hit.document.title, hit.heading_path), "bold cyan")
    heading.append(f"  {hit.score:.4f}", style="dim")
    show_indented(out, heading, INDENT, label=text(f"{hit.rank:>2}", "bold"))
    show_parts(
        out,
        [_place(hit), revised(hit.document.revised_at), standing(hit.document, current="current")],
        INDENT,
    )
    show_indented(out, emphasised(window(clean(hit.body), wanted, SNIPPET), wanted), INDENT)
    show_parts(
        out,
        [_arm("lexical", hit.lexical), _arm("semantic", hit.semantic), _arm("rerank", hit.rerank)],
        INDENT,
    )
    if hit.also:
        owners = ", ".join(f"{d.source}/{d.external_id}" for d in hit.also[:SHOWN_OWNERS])
        more = f" and {len(hit.also) - SHOWN_OWNERS} more" if len(hit.also) > SHOWN_OWNERS else ""
        show_indented(out, text(f"the same in {owners}{more}", "dim"), INDENT)
    show_indented(out, text(f"chunk {hit.chunk_id}", "dim"), INDENT)


def _show_documents(out: Console, documents: Sequence[DocumentExcerpts], wanted: Sequence[str]) -> None:
    for n, found in enumerate(documents, start=1):
        heading = text(found.document.title, "bold cyan")
        heading.append(f"  {found.score:.4f}", style="dim")
        show_indented(out, heading, INDENT, label=text(f"{n:>2}", "bold"))
        place = f"{found.document.source}/{found.document.external_id}"
        dated, state = revised(found.document.revised_at), standing(found.document, current="current")
        show_parts(out, [place, dated, state], INDENT)
        for passage in found.passages:
            page = f", p. {passage.page}" if passage.page is not None else ""
            ranks = ", ".join(f"#{c.rank}" for c in passage.chunks if c.rank is not None)
            own = passage.heading_path[:1] == (found.document.title,)
            path = " › ".join(clean(part) for part in passage.heading_path[own:])
            show_indented(out, text(f"{path or 'beginning'}{page} ({ranks})", "dim"), INDENT)
            snippet = window(clean(passage.text), wanted, SNIPPET)
            show_indented(out, emphasised(snippet, wanted), INDENT + 2)
        if found.more:
            show_indented(out, text(f"{counted(found.more, 'more chunk')} of it found", "dim"), INDENT)
        out.print()


def _place(hit: Hit) -> str:
    page = f" p. {hit.page}" if hit.page is not None else ""
    return f"{hit.document.source}/{hit.document.external_id}#{hit.ord}{page}"


def _arm(name: str, score: ArmScore | None) -> Text | None:
    return text(f"{name} #{score.rank} {score.score:.4f}", "dim") if score else None


def emphasised(snippet: str, wanted: Sequence[str]) -> Text:
    shown = Text(snippet)
    for start, end in matches(snippet, wanted):
        shown.stylize("bold", start, end)
    return shown


def _shortfall(result: SearchResult) -> Iterator[str]:
    if result.shortfall:
        yield (
            f"the approximate {result.shortfall.get('arm', '')} scan came up short and was repeated: "
            + ", ".join(f"{name} {value}" for name, value in result.shortfall.items() if name != "arm")
        )


# --explain


def explanation(hit: Hit, config: Mapping[str, Any]) -> Text:
    """How the fused score came about, arm by arm."""
    explain = hit.explain or {}
    fusion = explain.get("fusion", {})
    method = fusion.get("method", config.get("fusion", ""))
    reranked: Mapping[str, Any] | None = explain.get("rerank")
    fused = hit.score if reranked is None else reranked["fused_score"]
    lines = [text(f"fused by {method}: {arithmetic(hit, config)} = {fused:.4f}", "dim")]
    if reranked is not None:
        lines.append(text(_reranked(hit, reranked, config.get("rerank") or {}), "dim"))
    ties = explain.get("ties", {})
    if ties:
        lines.append(
            text(
                f"ties would be broken by authority {ties.get('authority')}, then {revised(ties.get('revised_at'))}",
                "dim",
            )
        )
    return Text("\n").join(lines)


def _reranked(hit: Hit, said: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """How the reranker's score and the fused one were mixed."""
    name, weight = record.get("name", "reranker"), float(record.get("weight", 1.0))
    place = f"rank {said['fused_rank']} as fused"
    if hit.rerank is None:
        return f"{place}; not scored by {name}, so behind what was"
    mixed = f"{1 - weight:.2g} × fused {said['fused']:.4f} + {weight:.2g} × {name} {said['reranked']:.4f}"
    return f"{place}; reranked: {mixed} (of {hit.rerank.score:.4f}) = {hit.score:.4f}"


def arithmetic(hit: Hit, config: Mapping[str, Any]) -> str:
    """The sum that gives the hit's score: a term for each arm that was asked.

    minmax normalises an arm's score over that arm's own pool, of which only the result's own explanation can know the ends.
    """
    explain = hit.explain or {}
    arms: Mapping[str, Mapping[str, Any]] = explain.get("arms", {})
    method = explain.get("fusion", {}).get("method", config.get("fusion"))
    terms_ = [_term(_spoken(name, arm), name, arm, str(method), config) for name, arm in arms.items()]
    return " + ".join(terms_) or "0"


def _spoken(name: str, arm: Mapping[str, Any]) -> str:
    """The arm's name, and whose score it is where another engine has the lexical arm."""
    return f"{name} ({arm['engine']})" if "engine" in arm else name


def _term(spoken: str, name: str, arm: Mapping[str, Any], method: str, config: Mapping[str, Any]) -> str:
    weight = arm.get("weight")
    if weight is None:
        semantic = float(config.get("semantic_weight", 0.5))
        weight = semantic if name == "semantic" else 1 - semantic
    if method == "rrf":
        share = f"{arm['share']:.2g} × " if "share" in arm else ""
        return f"{share}{weight:.2g}/({config.get('rrf_k', 60)} + {spoken} rank {arm['rank']})"
    if "normalised" in arm:
        share = f", in another language: counts {arm['share']:.2g}" if "share" in arm else ""
        return f"{weight:.2g} × {spoken} {arm['normalised']:.4f} (of {arm['score']:.4f}{share})"
    return f"{weight:.2g} × normalised({spoken} {arm['score']:.4f})"


def _show_terms(out: Console, hits: Sequence[Hit], lang: str) -> None:
    """The question's terms as the lexical arm read them; they are the same for every hit."""
    found = next((hit.explain["terms"] for hit in hits if hit.explain and hit.explain.get("terms")), ())
    if not found:
        return
    out.print("terms of the question", style="bold")
    for term in found:
        if term["chunks"]:
            line = f"{term['lexeme']} ({term['analyser']}): idf {term['idf']:.3f}, in {counted(term['chunks'], 'chunk')}"
            show_indented(out, text(line), INDENT)
    present = {term["lexeme"] for term in found if term["chunks"]}
    if absent := sorted({t["lexeme"] for t in found if t["analyser"] == lang} - present):
        show_indented(out, text(f"in no chunk: {', '.join(absent)}"), INDENT)
    out.print()
