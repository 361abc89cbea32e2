"""Mixed graphs: nodes, directed edges ``a -> b`` and bidirected edges ``a <-> b`` (section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["MixedGraph"]


class MixedGraph:
    """An immutable mixed graph; see section 2.1 of the paper."""

    __slots__ = ("_index", "_nodes", "_parents", "_spouses")

    def __init__(
        self,
        nodes: Iterable[str],
        directed: Iterable[tuple[str, str]] = (),
        bidirected: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._nodes = tuple(nodes)
        self._index = {name: i for i, name in enumerate(self._nodes)}
        parents = [0] * len(self._nodes)
        spouses = [0] * len(self._nodes)
        for a, b in directed:
            parents[self._index[b]] |= 1 << self._index[a]
        for a, b in bidirected:
            spouses[self._index[b]] |= 1 << self._index[a]
            spouses[self._index[a]] |= 1 << self._index[b]
        self._parents = tuple(parents)
        self._spouses = tuple(spouses)

    @classmethod
    def _from_masks(
        cls, nodes: tuple[str, ...], parents: Sequence[int], spouses: Sequence[int]
    ) -> MixedGraph:
        """Build from bit masks that are known to be right: bit ``j`` of ``parents[i]`` is j -> i."""
        graph = cls.__new__(cls)
        graph._nodes = nodes
        graph._index = {name: i for i, name in enumerate(nodes)}
        graph._parents = tuple(parents)
        graph._spouses = tuple(spouses)
        return graph

    @classmethod
    def _from_bits(
        cls,
        nodes: tuple[str, ...],
        parents: npt.NDArray[np.uint64],
        spouses: npt.NDArray[np.uint64],
    ) -> MixedGraph:
        """Build from the core's bitsets, uint64 of shape (d, words)."""
        little = [
            [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in bits]
            for bits in (parents, spouses)
        ]
        return cls._from_masks(nodes, *little)

    def _bits(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Parents and spouses as the core wants them, uint64 of shape (d, words)."""
        words = (len(self._nodes) + 63) // 64
        parents, spouses = (
            np.frombuffer(
                b"".join(mask.to_bytes(8 * words, "little") for mask in masks), dtype="<u8"
            )
            .reshape(len(self._nodes), words)
            .astype(np.uint64)
            for masks in (self._parents, self._spouses)
        )
        return parents, spouses

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes, in the order given."""
        return self._nodes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MixedGraph):
            return NotImplemented
        return (self._nodes, self._parents, self._spouses) == (
            other._nodes,
            other._parents,
            other._spouses,
        )

    def __hash__(self) -> int:
        return hash((self._nodes, self._parents, self._spouses))
