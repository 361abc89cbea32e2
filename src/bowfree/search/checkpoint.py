"""Checkpoints: finished runs in a file, so that a search can resume after it was killed.

Every run is a pure function of its number, so the result is the same, bit for bit, as without the
interruption. The file has two lines of JSON: a header with the format and a digest, and the
content. It is written to a temporary file, which then replaces the old one. A file of other data,
options or versions, or a damaged one, is refused and not changed.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from bowfree.data.moments import Moments
from bowfree.errors import CheckpointError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.search.plan import RUN_KINDS
from bowfree.search.result import ScoredGraph, SearchRun
from bowfree.text_reading import replace_file, short_repr, temporary_prefix, truncate

FORMAT = "bowfree search checkpoint 3"


@dataclass
class Checkpoint:
    """Finished runs by (round, index), and their pool with the scores by which it is ranked."""

    path: str  # empty for none
    seed: int
    fingerprint: dict[str, str]  # a digest of the data, and the options of the search
    runs: dict[tuple[int, int], SearchRun] = field(default_factory=dict)
    pool: list[ScoredGraph] = field(default_factory=list)

    def save(self) -> None:
        """Write the file; if this fails, the old file is unchanged."""
        content = {
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "runs": [[*key, _run_to_json(run)] for key, run in sorted(self.runs.items())],
            "pool": [[_graph_to_json(graph), score] for graph, score in self.pool],
        }
        body = json.dumps(content).encode()
        header = json.dumps({"format": FORMAT, "sha256": hashlib.sha256(body).hexdigest()}).encode()
        try:
            replace_file(self.path, header + b"\n" + body + b"\n", permissions=0o600)
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {truncate(self.path)} cannot be written "
                f"({error.strerror or error}): free some space, or choose another path"
            ) from error

    def load(self, nodes: tuple[str, ...], *, any_seed: bool) -> None:
        """Read the file, unless it belongs to another search; with `any_seed` also its seed."""
        content = _read_content(self.path)
        try:
            for name, value in self.fingerprint.items():
                found = content["fingerprint"].get(name)
                if found != value:
                    raise CheckpointError(
                        f"{self.path} belongs to another search: its {name} is {found}, here it is "
                        f"{value}; choose another path"
                    )
            if not any_seed and content["seed"] != self.seed:
                raise CheckpointError(
                    f"{self.path} belongs to a search with another rng; pass the same one, or "
                    "rng=None to use the one in the file"
                )
            runs = {(int(r), int(k)): _run_of_json(nodes, run) for r, k, run in content["runs"]}
            pool = [
                ScoredGraph(_graph_of_json(nodes, graph), _finite(score))
                for graph, score in content["pool"]
            ]
            seed = int(content["seed"])
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(
                f"{self.path} has content that no search has written ({error}): delete it, or "
                "choose another path"
            ) from error
        self.seed, self.runs, self.pool = seed, runs, pool

    def check_permitted(self, permits: Callable[[MixedGraph], bool]) -> None:
        """Raise an error if a graph is outside the search space."""
        graphs = [graph for run in self.runs.values() for graph in (run.start, run.end)]
        for graph in [*graphs, *(graph for graph, _ in self.pool)]:
            if not permits(graph):
                raise CheckpointError(
                    f"{truncate(self.path)} has the graph {truncate(str(graph))}, which this search "
                    "does not permit: delete the file, or choose another path"
                )

    def remove_temporary_files(self) -> None:
        """Remove temporary files of a search that was killed while it wrote this checkpoint."""
        folder = os.path.dirname(self.path)
        pattern = glob.escape(os.path.join(folder, temporary_prefix(self.path))) + "*.tmp"
        for path in glob.glob(pattern, include_hidden=True):
            with suppress(OSError):
                os.unlink(path)


def data_digest(moments: Moments) -> str:
    """Return a digest of the names, n, and all numbers that the likelihood depends on."""
    digest = hashlib.sha256(repr((moments.names, moments.n)).encode("utf-8", "surrogatepass"))
    for numbers in moments._numbers():
        digest.update(numbers.tobytes())
    return digest.hexdigest()[:32]


def _read_content(path: str) -> dict[str, Any]:
    """Return the content of a file after a check of its digest."""
    remedy = "delete it, or choose another path"
    incomplete = CheckpointError(
        f"{truncate(path)} is not a complete checkpoint (truncated, or another kind of file): "
        f"{remedy}"
    )
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise incomplete
        with open(path, "rb") as file:
            first, _, rest = file.read().partition(b"\n")
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {truncate(path)} cannot be read ({error.strerror or error}): choose "
            "another path"
        ) from error
    try:
        header = json.loads(first)
        version, digest = header["format"], header.get("sha256")
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        raise incomplete from None
    if version != FORMAT:
        raise CheckpointError(
            f"{truncate(path)} was written by another version ({short_repr(version)}, this is "
            f"{FORMAT!r}): finish the search with that version, or choose another path"
        )
    if not rest.endswith(b"\n"):
        raise incomplete
    if digest != hashlib.sha256(rest[:-1]).hexdigest():
        raise CheckpointError(f"{truncate(path)} is damaged, its digest is wrong: {remedy}")
    content: dict[str, Any] = json.loads(rest)
    return content


def _run_to_json(run: SearchRun) -> dict[str, Any]:
    content = {entry.name: getattr(run, entry.name) for entry in fields(run)}
    return content | {"start": _graph_to_json(run.start), "end": _graph_to_json(run.end)}


def _run_of_json(nodes: tuple[str, ...], content: dict[str, Any]) -> SearchRun:
    if content["strategy"] not in RUN_KINDS or content["complete"] is not True:
        raise ValueError("a run of an unknown kind")
    return SearchRun(
        **content
        | {
            "start": _graph_of_json(nodes, content["start"]),
            "end": _graph_of_json(nodes, content["end"]),
            "score": _finite(content["score"]),
            "path": tuple(map(_finite, content["path"])),
        }
    )


def _graph_to_json(graph: MixedGraph) -> list[list[tuple[int, int]]]:
    index = {name: i for i, name in enumerate(graph.nodes)}
    return [[(index[a], index[b]) for a, b in some] for some in (graph.directed, graph.bidirected)]


def _graph_of_json(nodes: tuple[str, ...], content: list[list[tuple[int, int]]]) -> MixedGraph:
    directed, bidirected = ([(nodes[i], nodes[j]) for i, j in some] for some in content)
    graph = MixedGraph(nodes, directed, bidirected)
    graph.check_acyclic()
    return graph


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("a score that is not finite")
    return value
