"""The documents of a suite of suites/, as they are ingested: the judged ones, and others beside them.

python tools/suite_documents.py DATA OUT [--suite NAME …] [--others N]

DATA holds medquad, aemps_epi_es and casimedicos_parallel. OUT gets a folder a suite, named as the source that the suite searches:

    veraz ingest OUT/medquad --source medquad          # medquad-lay
    veraz ingest OUT/aemps --source aemps              # aemps
    veraz ingest OUT/aemps-labels --source aemps-labels  # aemps-editions: every dated version of a label
    veraz ingest OUT/casimedicos --source casimedicos  # cross-language

The others are the same in every run: of medquad half of them are about the same subjects, the likeliest mistakes.
`--others -1` takes all.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.labels import labels

ROOT = Path(__file__).resolve().parents[1]
Record = dict[str, Any]
SOURCES = {
    "medquad-lay": "medquad",
    "aemps": "aemps",
    "aemps-editions": "aemps-labels",
    "cross-language": "casimedicos",
}
OTHERS = 300


def judged(suite: str) -> set[str]:
    """External ids of the documents that a suite judges."""
    lines = (ROOT / "suites" / suite / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["external_id"] for line in lines}


def medquad(data: Path, out: Path, wanted: set[str], others: int) -> int:
    rows = _mixed(_lines(data / "medquad" / "corpus.jsonl.gz"))
    subjects = {row["focus"].casefold() for row in rows if row["id"] in wanted}
    rest = [row for row in rows if row["id"] not in wanted]
    near = [row for row in rest if row["focus"].casefold() in subjects]
    far = [row for row in rest if row["focus"].casefold() not in subjects]
    if others >= 0:
        near = near[: others // 2]
        far = far[: others - len(near)]
    chosen = [row for row in rows if row["id"] in wanted] + near + far
    kept = ("id", "title", "text", "lang")
    return _write(out / "medquad.jsonl", ({key: row[key] for key in kept} for row in chosen))


def aemps(data: Path, out: Path, wanted: set[str], others: int) -> int:
    """Whole files: what one of them says of a medicine, another often says of its sister."""
    files = sorted((data / "aemps_epi_es" / "xml_2025-06-04").glob("*.xml.gz"))
    rest = [file for file in files if file.name not in wanted]
    chosen = [file for file in files if file.name in wanted] + (rest if others < 0 else rest[:others])
    for file in chosen:
        shutil.copyfile(file, out / file.name)
    return len(chosen)


def editions(data: Path, out: Path, wanted: set[str], others: int) -> int:
    rows = labels(data / "aemps_epi_es")
    rest = list(dict.fromkeys(row["id"] for row in _mixed(rows) if row["id"] not in wanted))
    names = wanted | set(rest if others < 0 else rest[:others])
    return _write(out / "labels.jsonl", (row for row in rows if row["id"] in names))


def casimedicos(data: Path, out: Path, wanted: set[str], others: int) -> int:
    """Each case in all its languages."""
    rows = list(_lines(data / "casimedicos_parallel" / "corpus.jsonl.gz"))
    groups = {row["group"] for row in rows if row["id"] in wanted}
    rest = list(dict.fromkeys(row["group"] for row in _mixed(rows) if row["group"] not in groups))
    groups |= set(rest if others < 0 else rest[: others // 4])
    kept = ("id", "title", "text", "lang")
    return _write(
        out / "casimedicos.jsonl", ({key: row[key] for key in kept} for row in rows if row["group"] in groups)
    )


WRITERS: dict[str, Callable[[Path, Path, set[str], int], int]] = {
    "medquad-lay": medquad,
    "aemps": aemps,
    "aemps-editions": editions,
    "cross-language": casimedicos,
}


def _lines(file: Path) -> Iterator[Record]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _mixed(rows: Iterable[Record]) -> list[Record]:
    """In an order that is fixed and follows nothing."""
    return sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).digest())


def _write(file: Path, rows: Iterable[Record]) -> int:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    file.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the documents of a suite, to be ingested.")
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--suite", action="append", choices=sorted(SOURCES), help="default: all")
    parser.add_argument(
        "--others", type=int, default=OTHERS, help=f"documents beside the judged ones ({OTHERS}); -1: all"
    )
    given = parser.parse_args(arguments)
    for suite in given.suite or SOURCES:
        folder = given.out / SOURCES[suite]
        folder.mkdir(parents=True, exist_ok=True)
        count = WRITERS[suite](given.data, folder, judged(suite), given.others)
        print(f"{folder}: {count} documents for {suite}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
