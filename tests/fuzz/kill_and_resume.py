"""Kill a search at random moments and resume from its checkpoint: the result must be the same.

    python tests/fuzz/kill_and_resume.py --kills 200

Every search runs in its own process and is killed with ``SIGKILL`` repeatedly until it ends. Runs,
pool and best graph are then compared, bit for bit, with those of an undisturbed search.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import bowfree as bf
from bowfree.search import scheduler
from search_cases import essence, simulate

SIZES = (5, 6)  # enough graphs for a pool that is cut at `keep`


def search(seed: int, n_jobs: int, checkpoint: Path | None = None) -> bf.SearchResult:
    """Search on the data set of this number."""
    S, _ = simulate(seed, SIZES[seed % len(SIZES)])
    return bf.greedy_search(cov=S, n=1000, rng=seed, n_jobs=n_jobs, checkpoint=checkpoint)


def begin(seed: int, n_jobs: int, checkpoint: Path) -> subprocess.Popen[bytes]:
    """Start the search in another process, and wait until it is about to begin."""
    child = subprocess.Popen(
        [sys.executable, __file__, "--child", str(seed), str(n_jobs), str(checkpoint)],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


def child(seed: int, n_jobs: int, checkpoint: Path) -> None:
    """Be that other process."""
    scheduler.SAVE_SECONDS = 0.0  # after every run, so that a kill can fall into a writing
    print(flush=True)
    result = search(seed, n_jobs, checkpoint)
    sys.stdout.buffer.write(pickle.dumps(essence(result)))


def kill_until_done(seed: int, random_moment: random.Random, folder: Path) -> tuple[int, bool]:
    """Kill one search until it is done; return the number of kills, and whether it ended well."""
    began = time.monotonic()
    expected = essence(search(seed, 1))
    lasts = time.monotonic() - began
    checkpoint = folder / f"{seed}.json"
    kills = 0
    while True:
        running = begin(seed, 1 + kills % 2, checkpoint)
        try:
            # Most of the way is done again and again before the first run ends: wait a bit longer
            # from kill to kill, so that the search gets to its end.
            answer, _ = running.communicate(
                timeout=random_moment.uniform(0, lasts * (1 + kills / 4))
            )
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()
            kills += 1
            continue
        others = [name for name in os.listdir(folder) if name != checkpoint.name]
        return kills, pickle.loads(answer) == expected and not others


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the moments and the data")
    parser.add_argument("--child", nargs=3, metavar=("SEED", "N_JOBS", "CHECKPOINT"))
    given = parser.parse_args()
    if given.child:
        child(int(given.child[0]), int(given.child[1]), Path(given.child[2]))
        return
    random_moment = random.Random(given.seed)
    kills, searches, bad = 0, 0, []
    while kills < given.kills:
        seed = given.seed + searches
        with tempfile.TemporaryDirectory() as folder:
            more, well = kill_until_done(seed, random_moment, Path(folder))
        kills, searches = kills + more, searches + 1
        if not well:
            bad.append(seed)
            print(f"search {seed} ended differently", flush=True)
    print(f"{kills} kills in {searches} searches, {len(bad)} ended differently")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
