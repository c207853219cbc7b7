# make bench
"""How well scans are recognised: characters wrong, by language, resolution and wear; time and memory a page.

python bench/scans.py [FILE…] [--markdown FILE]

The texts are those of the demonstration, printed on pages, drawn at a resolution and worn as a scanner does it: grey paper,
grain, blur. FILEs are scans of your own: they go through the parser processes, and it says what was made of them.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.pdf import Page, build
from tests.support.scans import drawn, error_rate, scan, worn

from veraz.errors import ItemError
from veraz.nouns.corpus import RawItem
from veraz.providers import ocr
from veraz.providers.parsers.pdf import PdfParser
from veraz.providers.parsers.pool import ParserPool
from veraz.providers.parsers.worker import Limits

LANGUAGES = {"asma": "es", "diabetes": "es", "golpe": "es", "gastro": "fr", "tension": "fr"}
CORPUS = Path(__file__).resolve().parents[1] / "src" / "veraz" / "demo" / "corpus"
_KEEP = re.compile(r"[^ -~À-ÿœŒ’–•€]")


@dataclass(frozen=True, slots=True)
class Row:
    lang: str
    dpi: int
    noise: float
    rate: float
    seconds: float


def texts() -> Iterator[tuple[str, str]]:
    """Language and text of each page, without markup: one a language."""
    taken: Counter[str] = Counter()
    for path in sorted(CORPUS.glob("*.md")):
        lang = LANGUAGES.get(path.name.split("-")[0], "en")
        taken[lang] += 1
        if taken[lang] > 1:
            continue
        body = path.read_text("utf-8").split("---", 2)[-1]
        words = _KEEP.sub(" ", re.sub(r"[#*_`|>\[\]]", " ", body))
        yield lang, " ".join(words.split())[:1500]


def measured(text: str, lang: str, dpi: int, noise: float) -> Row:
    lines = textwrap.wrap(text, 78)
    [picture] = drawn(build(Page().lines(50, 60, *lines, size=10, step=13)), dpi)
    if noise:
        picture = worn(picture, noise=noise)
    item = RawItem("s.pdf", "s.pdf", "pdf", payload=scan([picture]))
    started = time.process_time()
    document = PdfParser("here").parse(item)
    return Row(lang, dpi, noise, error_rate(" ".join(lines), document.text), time.process_time() - started)


def measure() -> list[Row]:
    kinds = [(300, 0.0), (300, 18.0), (200, 18.0), (150, 18.0), (100, 18.0)]
    return [measured(text, lang, dpi, noise) for dpi, noise in kinds for lang, text in texts()]


def table(rows: list[Row]) -> Iterator[str]:
    yield "| scanned at | paper | en | es | fr | processor seconds a page (median, most) |"
    yield "|---|---|---|---|---|---|"
    for dpi, noise in dict.fromkeys((row.dpi, row.noise) for row in rows):
        same = [row for row in rows if (row.dpi, row.noise) == (dpi, noise)]
        rates = [
            f"{100 * statistics.mean(row.rate for row in same if row.lang == lang):.2f} %"
            for lang in ("en", "es", "fr")
        ]
        seconds = [row.seconds for row in same]
        paper = "worn" if noise else "clean"
        yield (
            f"| {dpi} dpi | {paper} | {' | '.join(rates)} | {statistics.median(seconds):.1f}, {max(seconds):.1f} |"
        )


def held(pool: ParserPool) -> str:
    """The most writable and resident memory of the process that recognised, as Linux counts it."""
    for worker in pool._recognisers.idle:
        status = Path(f"/proc/{worker._process.pid}/status")
        if status.exists():
            found = re.findall(r"(VmHWM|VmData):\s+(\d+)", status.read_text())
            return ", ".join(f"{name} {int(size) // 1024} MiB" for name, size in found)
    return "not known here"


async def files(pool: ParserPool, paths: list[Path]) -> Iterator[str]:
    lines = [
        "| file | pages | seconds | confidence | headings | tables | what is said of it |",
        "|---|---|---|---|---|---|---|",
    ]
    for path in paths:
        started = time.perf_counter()
        name = f"{path.parent.name}/{path.name}"
        try:
            document = await pool.parse(RawItem(str(path), path.name, "pdf", payload=path.read_bytes()))
        except ItemError as error:
            lines.append(f"| {name} | | | | | | refused: {error.reason} |")
            continue
        seconds = time.perf_counter() - started
        sure = document.meta.get("recognised", {}).get("confidence", [])
        tables = sum(block.kind == "table" for block in document.blocks)
        lines.append(
            f"| {name} | {len(document.page_starts)} | {seconds:.1f} | {min(sure, default=0):.2f} "
            f"| {len(document.sections) - 1} | {tables} | {'; '.join(document.warnings)} |"
        )
    return iter(lines)


async def of_files(paths: list[Path]) -> list[str]:
    pool = ParserPool(1, Limits(), ocr=True)
    try:
        return [*await files(pool, paths), "", f"Memory of the process: {held(pool)}"]
    finally:
        await pool.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--markdown", type=Path)
    stated = parser.parse_args()
    if not ocr.installed():
        print("skipped: needs pip install 'veraz[ocr]'")
        return
    report = "\n".join(asyncio.run(of_files(stated.files)) if stated.files else table(measure()))
    print(report)
    if stated.markdown:
        stated.markdown.write_text(report + "\n", "utf-8")


if __name__ == "__main__":
    main()
