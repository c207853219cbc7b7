"""Which judged sets are swept, and where the documents of each are. Reads folders, knows no database."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from veraz.errors import UsageError
from veraz.evaluation.dataset import Dataset, load_dataset, scan_corpus
from veraz.evaluation.sweeps.pipeline import SweepSet


def read_sets(
    folders: Sequence[Path],
    *,
    sources: Sequence[str] = (),
    tenants: Sequence[str] = (),
    qrels: Sequence[str] = (),
    corpora: Sequence[str] = (),
) -> tuple[SweepSet, ...]:
    """The sets of these folders, named after them. The other arguments are `SET=VALUE`, or a value alone where only one set
    can be meant: where there is one, or one without a corpus. Raises UsageError for a set that is not there, and as
    `load_dataset`."""
    if not folders:
        raise UsageError("no judged set is given", fix="veraz eval sweep DIR --grid FILE")
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two sets are called {next(n for n in names if names.count(n) > 1)!r}",
            fix="rename a folder: sets are named after their folders",
        )
    bare = [name for name, folder in zip(names, folders, strict=True) if not _has_corpus(folder)]
    where = {
        option: _by_set(option, values, names, bare)
        for option, values in (
            ("--source", sources),
            ("--in-tenant", tenants),
            ("--qrels", qrels),
            ("--corpus", corpora),
        )
    }
    return tuple(
        SweepSet(
            dataset=_dataset(folder, where["--qrels"].get(name), where["--corpus"].get(name)),
            source=where["--source"].get(name),
            tenant=where["--in-tenant"].get(name),
        )
        for name, folder in zip(names, folders, strict=True)
    )


def _has_corpus(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("corpus.jsonl", "corpus.jsonl.gz"))


def _by_set(option: str, values: Sequence[str], names: Sequence[str], bare: Sequence[str]) -> dict[str, str]:
    """What is stated, by set. A value alone is of the only set, or of the only one without a corpus."""
    found: dict[str, str] = {}
    alone = names if len(names) == 1 else bare
    for stated in values:
        name, equals, value = stated.partition("=")
        if not equals or (name not in names and len(names) == 1):
            if len(alone) != 1:
                raise UsageError(
                    f"{option} {stated!r} could be of {', '.join(alone or names)}",
                    fix=f"write {option} SET={stated}",
                )
            name, value = alone[0], stated
        if name not in names:
            raise UsageError(
                f"{option} {stated!r}: no set is called {name!r}", fix=f"one of {', '.join(names)}"
            )
        if name in found:
            raise UsageError(f"{option} is given twice for {name}", fix="give it once")
        if not value.strip():
            raise UsageError(f"{option} {stated!r} has no value", fix=f"write {option} {name}=VALUE")
        found[name] = value
    return found


def _dataset(folder: Path, qrels: str | None, corpus: str | None) -> Dataset:
    dataset = load_dataset(folder, qrels=Path(qrels) if qrels else None)
    if corpus is None:
        return dataset
    path = Path(corpus)
    if not path.is_file():
        raise UsageError(f"{path}: no such file", fix="give --corpus an existing .jsonl or .jsonl.gz file")
    scanned = scan_corpus(path)
    both = hashlib.sha256(f"{dataset.fingerprint} {scanned.digest}".encode()).hexdigest()
    return replace(dataset, corpus_path=path, documents=len(scanned.ids), fingerprint=both)
