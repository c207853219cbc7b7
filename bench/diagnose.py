"""How many planted faults a diagnosis names, and how many of its suggestions bring the passage back.

python bench/diagnose.py [--kind "cut by k"] [--show]

Plants every fault of tests/diagnosis in a fresh database on the server that tests share, or $VERAZ_TEST_SERVER: small corpora in
several languages, one thing broken in each, or two at once. A suggestion counts when an ordinary search or answer finds the
passage after it was made.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.db.server_fixture import test_server
from tests.diagnosis import plants_index, plants_search, plants_stored
from tests.diagnosis.judging import Judged, judge
from tests.diagnosis.planting import PLANTS
from tests.support import databases

LEAST = 0.95
MODULES = (plants_index, plants_search, plants_stored)


async def follow(url: str, name: str) -> Judged:
    with tempfile.TemporaryDirectory() as folder:
        async with await databases.open_engine(url) as engine:
            return await judge(await PLANTS[name](engine, Path(folder)))


async def measure(url: str, kind: str | None, *, show: bool) -> dict[str, Judged]:
    found = {}
    for name in sorted(PLANTS):
        if kind is None or name.startswith(f"{kind}/"):
            found[name] = await follow(url, name)
            if show and not found[name].is_right:
                judged = found[name]
                print(f"{name}: {judged.named} for {judged.wanted}, back: {judged.is_back}")
    return found


def report(found: dict[str, Judged]) -> float:
    kinds: dict[str, list[Judged]] = defaultdict(list)
    for name, judged in found.items():
        kinds[name.split("/")[0]].append(judged)
    print(f"{'kind':34} {'plants':>6} {'named':>6} {'back':>6}")
    for kind, of_kind in sorted(kinds.items()):
        named = sum(tuple(j.named) == j.wanted for j in of_kind)
        print(f"{kind:34} {len(of_kind):6} {named:6} {sum(j.is_back for j in of_kind):6}")
    faults = [j for name, j in found.items() if not name.startswith("found/")]
    real = sum(j.was_real for j in faults)
    named = sum(j.named[0] == j.wanted[0] for j in faults)
    back = sum(j.is_back for j in faults)
    changes = sum(j.mends for j in faults)
    print(
        f"{len(faults)} planted faults of {len(kinds) - ('found' in kinds)} kinds, {real} of them real; "
        f"first stage named {named} ({100 * named / max(1, len(faults)):.1f} %), passage back {back}, by {changes} changes"
    )
    return named / max(1, len(faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kind")
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    server = os.environ.get("VERAZ_TEST_SERVER") or test_server()
    started = time.perf_counter()
    with databases.fresh(server, databases.schema_template(server)) as url:
        share = report(asyncio.run(measure(url, arguments.kind, show=arguments.show)))
    print(f"{time.perf_counter() - started:.0f} s")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
