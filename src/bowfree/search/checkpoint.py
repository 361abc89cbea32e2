"""Checkpoints of a search: finished runs in a file, so that a killed search can go on.

The file is JSON. It is written whole beside its place and then moved there, so that it is always
either the old one or the new one. A search that resumes skips the runs it finds there; as every run
is a pure function of its number, the end is the same as without the interruption. A file that does
not fit (other data, other options, other version, cut short) is refused and left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, fields
from typing import Any

from bowfree.errors import CheckpointError
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.model.moments import Moments
from bowfree.search.result import ScoredGraph, SearchRun

__all__ = ["Checkpoint"]

FORMAT = "bowfree search checkpoint 1"


@dataclass
class Checkpoint:
    """Finished runs by (round, index), and the pool they left.

    Attributes
    ----------
    path : str
        Where it is kept.
    seed : int
        The seed of the search.
    fingerprint : dict of str to str
        What the search depends on besides the seed: a digest of the data, and the options.
    runs : dict
        Finished runs by (round, index).
    pool : list of ScoredGraph
        Pool of the finished runs.
    """

    path: str
    seed: int
    fingerprint: dict[str, str]
    runs: dict[tuple[int, int], SearchRun] = field(default_factory=dict)
    pool: list[ScoredGraph] = field(default_factory=list)

    def save(self) -> None:
        """Write the file, atomically."""
        content = {
            "format": FORMAT,
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "runs": [[*key, _write_run(run)] for key, run in sorted(self.runs.items())],
            "pool": [[_write_graph(graph), score] for graph, score in self.pool],
        }
        beside = f"{self.path}.{os.getpid()}.tmp"
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)

    def load(self, nodes: tuple[str, ...], *, any_seed: bool) -> None:
        """Take over what the file holds; with `any_seed` its seed too.

        Raises
        ------
        CheckpointError
            When the file is not the checkpoint of this search.
        """
        try:
            with open(self.path, encoding="utf-8") as file:
                content = json.load(file)
            found = content["format"]
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(
                f"{self.path} is not a complete checkpoint (cut short, or another kind of file): "
                "delete it, or give another path"
            ) from error
        if found != FORMAT:
            raise CheckpointError(
                f"{self.path} was written by another version ({found!r}, this is {FORMAT!r}): "
                "finish that search with the version that began it, or give another path"
            )
        for name, value in self.fingerprint.items():
            if content["fingerprint"].get(name) != value:
                seen = content["fingerprint"].get(name)
                raise CheckpointError(
                    f"{self.path} belongs to another search: its {name} is {seen}, here it is "
                    f"{value}; give another path"
                )
        if any_seed:
            self.seed = content["seed"]
        elif content["seed"] != self.seed:
            raise CheckpointError(
                f"{self.path} belongs to a search with another rng; pass the same one, or "
                "rng=None to go on with the one in the file"
            )
        self.runs = {(r, i): _read_run(nodes, run) for r, i, run in content["runs"]}
        self.pool = [ScoredGraph(_read_graph(nodes, g), score) for g, score in content["pool"]]


def data_digest(moments: Moments) -> str:
    """Digest of names, S and n."""
    digest = hashlib.sha256(repr((moments.names, moments.n)).encode())
    digest.update(moments.S.tobytes())
    return digest.hexdigest()[:32]


def _write_graph(graph: MixedGraph) -> list[list[str]]:
    return [[format(mask, "x") for mask in masks] for masks in (graph._parents, graph._spouses)]


def _read_graph(nodes: tuple[str, ...], content: list[list[str]]) -> MixedGraph:
    parents, spouses = ([int(mask, 16) for mask in masks] for masks in content)
    return MixedGraph._from_masks(nodes, parents, spouses)


def _write_run(run: SearchRun) -> dict[str, Any]:
    content = {entry.name: getattr(run, entry.name) for entry in fields(run)}
    return content | {"start": _write_graph(run.start), "end": _write_graph(run.end)}


def _read_run(nodes: tuple[str, ...], content: dict[str, Any]) -> SearchRun:
    graphs = {name: _read_graph(nodes, content[name]) for name in ("start", "end")}
    return SearchRun(**(content | graphs | {"path": tuple(content["path"])}))
