"""Damage checkpoints at random: each must be refused or lead to a proper result.

    python tests/fuzz/corrupt_checkpoints.py --files 10000

Half of the files are damaged like by a bad disk and must be refused with a `CheckpointError`. In
the other half values are exchanged and the digest is recomputed. These may be accepted, but then
the search must return BAPs. Any other exception is a failure.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import bowfree as bf
from search_cases import simulate

S, _ = simulate(3, 4)
VALUES: list[Any] = [
    None, True, -1, 0, 1, 7, 2**70, -0.5, 1e308, float("nan"), "", "0", "f", "-1", "ff" * 20, "x",
    [], [[]], {}, ["0", "0", "0", "0"], [["2", "0", "0", "0"], ["0"] * 4], [["2", "1"], ["0"] * 4],
    [["2", "4", "1", "0"], ["0"] * 4], [["2", "0", "0", "0"], ["2", "1", "0", "0"]],
]  # fmt: skip


def search(checkpoint: Path) -> bf.SearchResult:
    """Search on four variables."""
    return bf.greedy_search(cov=S, n=500, rng=1, checkpoint=checkpoint)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return the file with bits flipped, or parts removed, repeated or overwritten."""
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        if rng.random() < 0.5:
            b = min(b, a + 8)
        flipped = bytes(byte ^ 1 << rng.randrange(8) for byte in content[a : a + 1])
        parts = [
            flipped + content[a + 1 :],
            content[b:],
            content[a:b] + content[a:],
            bytes(b - a) + content[b:],
            rng.randbytes(b - a) + content[b:],
            b"",
        ]
        content = content[:a] + rng.choice(parts)
    return content


def edited(content: bytes, rng: random.Random) -> bytes:
    """Return the file with values exchanged, and the digest of the new content."""
    header, body = (json.loads(line) for line in content.splitlines())
    for _ in range(rng.choice([1, 1, 2, 4])):
        inside: Any = body
        while True:
            keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
            if not keys:
                break
            key = rng.choice(keys)
            if isinstance(inside[key], dict | list) and inside[key] and rng.random() < 0.85:
                inside = inside[key]
                continue
            if rng.random() < 0.2:
                del inside[key]
            else:
                inside[key] = copy.deepcopy(rng.choice(VALUES))
            break
    text = json.dumps(body).encode()
    header["sha256"] = hashlib.sha256(text).hexdigest()
    return json.dumps(header).encode() + b"\n" + text + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "search.json"
        whole = search(path)
        original = path.read_bytes()
        for k in range(given.files):
            spoil = edited if k % 2 else damaged
            spoilt = spoil(original, rng)
            path.write_bytes(spoilt)
            try:
                result = search(path)
            except bf.errors.CheckpointError:
                counts[f"{spoil.__name__}: refused"] += 1
                continue
            except Exception as error:
                counts[f"{spoil.__name__}: FOREIGN {type(error).__name__}"] += 1
                print(f"file {k}: {type(error).__name__}: {error}", flush=True)
                continue
            same = result.graph == whole.graph and result.pool == whole.pool
            if spoilt == original:
                counts["untouched"] += 1
            elif spoil is edited and all(graph.is_bap() for graph, _ in result.pool):
                counts["edited: accepted"] += 1
            else:
                counts[f"{spoil.__name__}: ACCEPTED{'' if same else ', OTHER RESULT'}"] += 1
    for outcome, count in sorted(counts.items()):
        print(f"{count:6d}  {outcome}")
    sys.exit(any(outcome.split(": ")[-1].isupper() or "FOREIGN" in outcome for outcome in counts))


if __name__ == "__main__":
    main()
