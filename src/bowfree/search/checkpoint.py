"""Checkpoints of a search: finished runs in a file, so that a killed search can go on.

A search that resumes skips the runs it finds in the file; as every run is a pure function of its
number, the end is the same, bit for bit, as without the interruption.

The file has two lines of JSON: a header with the format and a digest, and the content that the
digest is of. It is written whole, under a name that nobody can foresee, and then moved to its
place, so that what is there is always either the old one or the new one. Nothing in it is believed
unseen: a file that does not fit (other data, other options, other version, cut short, damaged) or
holds what no search could have written is refused with a :class:`~bowfree.errors.CheckpointError` and left
alone.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from bowfree.data.moments import Moments
from bowfree.errors import CheckpointError
from bowfree.graph.encodings import members
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.search.plan import RUN_KINDS
from bowfree.search.result import ScoredGraph, SearchRun
from bowfree.text_reading import short_repr, truncate

FORMAT = "bowfree search checkpoint 3"


@dataclass
class Checkpoint:
    """Finished runs by (round, index), and the pool they left.

    Attributes
    ----------
    path : str
        Where it is kept; empty for nowhere.
    seed : int
        The seed of the search.
    fingerprint : dict of str to str
        What the search depends on besides the seed: a digest of the data, and the options.
    runs : dict
        Finished runs by (round, index).
    pool : list of ScoredGraph
        Pool of the finished runs, with the scores that it is ranked by.
    """

    path: str
    seed: int
    fingerprint: dict[str, str]
    runs: dict[tuple[int, int], SearchRun] = field(default_factory=dict)
    pool: list[ScoredGraph] = field(default_factory=list)

    def save(self) -> None:
        """Write the file, all or nothing.

        Raises
        ------
        CheckpointError
            When it cannot be written. What was there before is still there.
        """
        body = json.dumps(
            {
                "seed": self.seed,
                "fingerprint": self.fingerprint,
                "runs": [[*key, _write_run(run)] for key, run in sorted(self.runs.items())],
                "pool": [[_write_graph(graph), score] for graph, score in self.pool],
            }
        ).encode()
        header = json.dumps({"format": FORMAT, "sha256": hashlib.sha256(body).hexdigest()}).encode()
        try:
            _write_file(self.path, header + b"\n" + body + b"\n")
        except OSError as error:
            raise CheckpointError(
                f"the checkpoint {truncate(self.path)} cannot be written ({error.strerror or error}): "
                "make room, or give a path in a folder that can be written to"
            ) from error

    def load(self, nodes: tuple[str, ...], *, any_seed: bool) -> None:
        """Take over what the file holds; with `any_seed` its seed too.

        Raises
        ------
        CheckpointError
            When the file is not the checkpoint of this search, or is damaged.
        """
        content = _read_body(self.path)
        try:
            self._check_same_search(content, any_seed=any_seed)
            runs = {(_count(r), _count(k)): _read_run(nodes, run) for r, k, run in content["runs"]}
            pool = [
                ScoredGraph(_read_graph(nodes, graph), _finite(score))
                for graph, score in content["pool"]
            ]
            seed = _count(content["seed"])
            best = max((run.score for run in runs.values()), default=-math.inf)
            if runs and best > max((score for _, score in pool), default=-math.inf):
                raise ValueError("a pool without the end of the best run")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(
                f"{self.path} holds what no search can have written ({error}): delete it, or give "
                "another path"
            ) from error
        self.seed, self.runs, self.pool = seed, runs, pool

    def _check_same_search(self, content: dict[str, Any], *, any_seed: bool) -> None:
        for name, value in self.fingerprint.items():
            seen = content["fingerprint"].get(name)
            if seen != value:
                raise CheckpointError(
                    f"{self.path} belongs to another search: its {name} is {seen}, here it is "
                    f"{value}; give another path"
                )
        if not any_seed and content["seed"] != self.seed:
            raise CheckpointError(
                f"{self.path} belongs to a search with another rng; pass the same one, or "
                "rng=None to go on with the one in the file"
            )

    def check_permitted(self, permits: Callable[[MixedGraph], bool]) -> None:
        """Raise when a graph breaks the rules of the search, which says what they are."""
        for graph in self._graphs():
            if not permits(graph):
                raise CheckpointError(
                    f"{truncate(self.path)} holds the graph {truncate(str(graph))}, which this search "
                    "does not permit: delete the file, or give another path"
                )

    def _graphs(self) -> Iterator[MixedGraph]:
        for run in self.runs.values():
            yield run.start
            yield run.end
        for graph, _ in self.pool:
            yield graph

    def remove_remains(self) -> None:
        """Remove what a search left that was killed while it wrote this checkpoint."""
        folder, name = os.path.split(self.path)
        pattern = glob.escape(os.path.join(folder, f".{name}.")) + "*.tmp"
        for path in glob.glob(pattern, include_hidden=True):
            with suppress(OSError):
                os.unlink(path)


def data_digest(moments: Moments) -> str:
    """Digest of names, n, and what the likelihood depends on."""
    digest = hashlib.sha256(repr((moments.names, moments.n)).encode("utf-8", "surrogatepass"))
    for numbers in moments._numbers():
        digest.update(numbers.tobytes())
    return digest.hexdigest()[:32]


# --- files ----------------------------------------------------------------------------------------


def _write_file(path: str, content: bytes) -> None:
    """Put a file in its place in one step, with nothing left over when that fails."""
    folder, name = os.path.split(path)
    if os.path.isdir(path):
        raise IsADirectoryError(0, "it is a folder", path)
    # mkstemp makes a new file that only we can read and never opens one that is already there, so
    # that a link planted beside the checkpoint leads nowhere; and `replace` takes the place of a
    # link instead of following it.
    handle, beside = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder or os.curdir)
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _read_body(path: str) -> dict[str, Any]:
    """Return the content of a file whose digest is right."""
    incomplete = CheckpointError(
        f"{truncate(path)} is not a complete checkpoint (cut short, or another kind of file): delete "
        "it, or give another path"
    )
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise incomplete
        with open(path, "rb") as file:
            first, _, rest = file.read().partition(b"\n")
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {truncate(path)} cannot be read ({error.strerror or error}): give "
            "another path"
        ) from error
    header = _from_json(first)
    if not isinstance(header, dict) or "format" not in header:
        raise incomplete
    found = header["format"]
    if found != FORMAT:
        raise CheckpointError(
            f"{truncate(path)} was written by another version ({short_repr(found)}, this is {FORMAT!r}): "
            "finish that search with the version that began it, or give another path"
        )
    if not rest.endswith(b"\n"):
        raise incomplete
    body = rest[:-1]
    if header.get("sha256") != hashlib.sha256(body).hexdigest():
        raise CheckpointError(
            f"{truncate(path)} is damaged, its content does not match its digest: delete it, or give "
            "another path"
        )
    content = _from_json(body)
    if not isinstance(content, dict):
        raise incomplete
    return content


def _from_json(text: bytes) -> Any:
    """Return what the text says, None when it says nothing."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- runs and graphs ------------------------------------------------------------------------------


def _write_run(run: SearchRun) -> dict[str, Any]:
    content = {entry.name: getattr(run, entry.name) for entry in fields(run)}
    return content | {"start": _write_graph(run.start), "end": _write_graph(run.end)}


def _read_run(nodes: tuple[str, ...], content: dict[str, Any]) -> SearchRun:
    if content["strategy"] not in RUN_KINDS or content["complete"] is not True:
        raise ValueError("a run of an unknown kind")
    return SearchRun(
        strategy=content["strategy"],
        start=_read_graph(nodes, content["start"]),
        end=_read_graph(nodes, content["end"]),
        score=_finite(content["score"]),
        path=tuple(map(_finite, content["path"])),
        complete=True,
        hit_work_limit=content["hit_work_limit"] is True,
        seconds=_finite(content["seconds"]),
        work=_finite(content["work"]),
        fits=_count(content["fits"]),
        cache_hits=_count(content["cache_hits"]),
        candidates=_count(content["candidates"]),
    )


def _write_graph(graph: MixedGraph) -> list[list[str]]:
    return [[format(mask, "x") for mask in masks] for masks in (graph._parents, graph._spouses)]


def _read_graph(nodes: tuple[str, ...], content: list[list[str]]) -> MixedGraph:
    parents, spouses = ([int(mask, 16) for mask in masks] for masks in content)
    for masks in (parents, spouses):
        if len(masks) != len(nodes) or any(
            not 0 <= mask < 1 << len(nodes) or mask >> v & 1 for v, mask in enumerate(masks)
        ):
            raise ValueError("a graph on other nodes")
    if any(not spouses[w] >> v & 1 for v, mask in enumerate(spouses) for w in members(mask)):
        raise ValueError("half a bidirected edge")
    graph = MixedGraph._from_masks(nodes, parents, spouses)
    if not graph.is_bap():
        raise ValueError("a graph that is not a BAP")
    return graph


def _finite(value: Any) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise ValueError("a number that is not finite")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a count that is not a whole number")
    return value
