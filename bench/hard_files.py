"""What becomes of hard files, format by format: outcome, text recall, headings, tables, merged cells, time.

python bench/hard_files.py FOLDER… [--markdown FILE]

Every file goes through the parser processes with their ordinary limits. Recall is the share of the words (each as often as it
stands there) that another extractor finds and that are in the parsed text too: pdfminer.six for PDF, kreuzberg for the rest,
all text nodes for XML. Neither shares code with the parser that it checks. A low figure is looked into, not averaged away:
running heads that are removed on purpose and references that are left out count as lost here.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import re
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from veraz.errors import ItemError
from veraz.ingest.discover import discover
from veraz.nouns.corpus import ParsedDocument, RawItem
from veraz.providers.parsers.pool import ParserPool
from veraz.providers.parsers.worker import Limits

WORD = re.compile(r"\w+")
MIME = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".doc": "application/msword",
    ".html": "text/html",
    ".htm": "text/html",
    ".csv": "text/csv",
}


@dataclass(frozen=True, slots=True)
class Row:
    path: str
    suffix: str
    outcome: str  # ingested, warned or refused
    seconds: float
    document: ParsedDocument | None
    reason: str
    recall: float | None

    @property
    def tables(self) -> int:
        return sum(block.kind == "table" for block in self.document.blocks) if self.document else 0

    @property
    def headings(self) -> int:
        return sum(section.level > 0 for section in self.document.sections) if self.document else 0

    @property
    def repeated(self) -> int:
        """Cells that say what their left or upper neighbour says and are no figures: where a cell spans several places."""
        return sum(map(_repeated, _tables(self.document))) if self.document else 0


def _tables(document: ParsedDocument) -> list[list[list[str]]]:
    return [
        [
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in document.text[block.start : block.end].splitlines()
            if not re.fullmatch(r"[|\-: ]+", line)
        ]
        for block in document.blocks
        if block.kind == "table"
    ]


def _repeated(table: list[list[str]]) -> int:
    found = 0
    for r, line in enumerate(table):
        for c, cell in enumerate(line):
            left = line[c - 1] if c else ""
            above = table[r - 1][c] if r and c < len(table[r - 1]) else ""
            found += bool(re.search(r"[^\W\d]{3}", cell)) and cell in (left, above)
    return found


def words(text: str) -> Counter[str]:
    folded = unicodedata.normalize("NFKC", text).replace("\xad", "").casefold()
    return Counter(WORD.findall(folded))


def other_text(path: Path) -> str | None:
    """None where the other extractor cannot read the file."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".pdf":
            from pdfminer.high_level import extract_text

            return extract_text(io.BytesIO(path.read_bytes()))
        if suffix in (".xml", ".nxml"):
            from lxml import etree

            parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
            return " ".join(etree.fromstring(path.read_bytes(), parser).itertext())
        if suffix in MIME:
            import kreuzberg

            return kreuzberg.extract_bytes_sync(path.read_bytes(), MIME[suffix]).content
        return path.read_text(encoding="utf-8", errors="ignore")
    except Exception:  # an independent witness that does not speak is no witness
        return None


def recall(document: ParsedDocument, other: str | None) -> float | None:
    theirs = words(other or "")
    if sum(theirs.values()) < 5:
        return None
    ours = words(f"{document.title}\n{document.text}")
    return sum((theirs & ours).values()) / sum(theirs.values())


async def one(pool: ParserPool, item: RawItem) -> Row:
    started = time.perf_counter()
    path = Path(item.path)
    try:
        document = await pool.parse(item)
    except ItemError as error:
        return Row(item.path, path.suffix, "refused", time.perf_counter() - started, None, error.reason, None)
    seconds = time.perf_counter() - started
    other = await asyncio.wait_for(asyncio.to_thread(other_text, path), 300)
    outcome = "warned" if document.warnings else "ingested"
    return Row(
        item.path,
        path.suffix,
        outcome,
        seconds,
        document,
        "; ".join(document.warnings),
        recall(document, other),
    )


async def measure(folders: list[str]) -> list[Row]:
    pool = ParserPool(1, Limits())
    rows = []
    for item in discover(folders, exclude=["*.jsonl"]):
        if isinstance(item, ItemError):
            suffix = Path(item.path.partition(":")[0]).suffix
            rows.append(Row(item.path, suffix, "refused", 0.0, None, item.reason, None))
        else:
            rows.append(await one(pool, item))
    await pool.close()
    return rows


def by_format(rows: list[Row]) -> str:
    lines = [
        "| format | files | ingested | with warnings | refused | text recall (median, least) | headings | tables "
        "| merged places | slowest |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for suffix in sorted({row.suffix for row in rows}):
        own = [row for row in rows if row.suffix == suffix]
        count = Counter(row.outcome for row in own)
        known = sorted(row.recall for row in own if row.recall is not None)
        share = f"{known[len(known) // 2]:.3f}, {known[0]:.3f}" if known else "–"
        lines.append(
            f"| {suffix} | {len(own)} | {count['ingested']} | {count['warned']} | {count['refused']} | {share} | "
            f"{sum(r.headings for r in own)} | {sum(r.tables for r in own)} | {sum(r.repeated for r in own)} | "
            f"{max(r.seconds for r in own):.1f} s |"
        )
    return "\n".join(lines)


def by_file(rows: list[Row]) -> str:
    lines = ["| file | outcome | s | recall | headings | tables | said |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {Path(row.path).parent.name}/{Path(row.path).name} | {row.outcome} | {row.seconds:.1f} | "
        f"{'–' if row.recall is None else f'{row.recall:.3f}'} | {row.headings} | {row.tables} | {row.reason[:160]} |"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("folders", nargs="+")
    options.add_argument("--markdown", type=Path, help="where to write both tables")
    arguments = options.parse_args()
    measured = asyncio.run(measure(arguments.folders))
    text = f"{by_format(measured)}\n\n{by_file(measured)}\n"
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
