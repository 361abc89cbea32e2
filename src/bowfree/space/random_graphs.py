"""Random graphs, uniform over all bow-free acyclic path diagrams (section 3.2 of the paper).

The chain of section 3.2 adds and removes single edges. As printed it removes a directed edge twice
as often as it adds one, so that its limit is not uniform but proportional to ``2**-n_directed``;
here an edge ``i -> j`` is removed only when the ordered pair drawn is exactly ``(i, j)``, which
makes the step symmetric. The printed step and the naive sampler (a random triangular matrix with
its nodes shuffled) are kept, to be compared with.

Random graphs start the searches of :mod:`bowfree.search.greedy` and are the ground truths of the
simulations in :mod:`bowfree.studies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Unpack, get_args, overload

import numpy as np

from bowfree import _core
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import Bits, graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.validation import SpaceOptions, check_choice, check_count, split_options

Method = Literal["mcmc", "mcmc-printed", "naive"]


class DrawOptions(TypedDict, total=False):
    """How :func:`random_bap` draws.

    Attributes
    ----------
    method : {"mcmc", "mcmc-printed", "naive"}
        ``"mcmc"``, the default, is the corrected chain, uniform in the limit. ``"mcmc-printed"`` is
        the step as the paper prints it and ``"naive"`` the triangular sampler (no limits, no
        knowledge; classes bap, dag and bidirected): neither is uniform, both are here for
        comparison.
    burn_in : int
        Steps to the first sample from the empty graph, or from the one with the required edges
        only; by default ``d**4``, the paper's choice, and 20 million from 67 nodes on, where that
        choice would take minutes.
    thin : int
        With ``thin``, all samples come from one chain, this many steps apart. By default every
        sample has its own chain and the samples are independent.
    rng : int or numpy.random.Generator
        Anything :func:`numpy.random.default_rng` takes.
    """

    method: Method
    burn_in: int | None
    thin: int | None
    rng: int | np.random.Generator | None


class RandomGraphOptions(SpaceOptions, DrawOptions, total=False):
    """All options of :func:`random_bap` that it does not name itself."""


@overload
def random_bap(
    nodes: int | Sequence[str],
    *,
    space: SearchSpace | None = ...,
    size: None = ...,
    **options: Unpack[RandomGraphOptions],
) -> MixedGraph: ...
@overload
def random_bap(
    nodes: int | Sequence[str],
    *,
    space: SearchSpace | None = ...,
    size: int,
    **options: Unpack[RandomGraphOptions],
) -> list[MixedGraph]: ...


def random_bap(
    nodes: int | Sequence[str],
    *,
    space: SearchSpace | None = None,
    size: int | None = None,
    **options: Unpack[RandomGraphOptions],
) -> MixedGraph | list[MixedGraph]:
    """Draw graphs uniformly at random from all BAPs, or from a smaller space.

    Parameters
    ----------
    nodes : int or sequence of str
        Names of the nodes, or their number; then they are called ``x1, x2, ...``.
    space : SearchSpace, optional
        The graphs to draw from; by default all BAPs.
    size : int, optional
        How many; a list is returned. By default one graph, not in a list.
    **options
        ``graph_class``, ``max_in_degree``, ``max_district``, ``max_edges``, ``knowledge``
            Fields of the space, by themselves (:class:`~bowfree.validation.SpaceOptions`).
        ``method``, ``burn_in``, ``thin``, ``rng``
            How to draw (:class:`~bowfree.space.random_graphs.DrawOptions`).

    Returns
    -------
    MixedGraph or list of MixedGraph

    References
    ----------
    Section 3.2 (Algorithm 1) and appendix A.3 of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> graphs = bf.random_bap(["x", "y", "z"], max_in_degree=1, size=3, rng=7)
    >>> [len(g.nodes) for g in graphs]
    [3, 3, 3]
    >>> known = bf.Knowledge(required=["x -> y"], unconfounded=["z"])
    >>> graphs = bf.random_bap(["x", "y", "z"], knowledge=known, size=9, rng=7)
    >>> all(known.permits(g) for g in graphs)
    True
    """
    space_options, rest = split_options("random_bap", options, SpaceOptions, DrawOptions)
    names = node_names(nodes)
    n_samples = 1 if size is None else check_count("size", size, 0)
    within = SearchSpace.of(space, **space_options)
    graphs = graphs_of_bits(
        names, *_sample(within.required_graph(names), n_samples, within, **rest)
    )
    return graphs[0] if size is None else graphs


def _sample(
    start: MixedGraph,
    size: int,
    space: SearchSpace,
    *,
    method: Method = "mcmc",
    burn_in: int | None = None,
    thin: int | None = None,
    rng: Any = None,
) -> tuple[Bits, Bits]:
    """Bits of ``size`` graphs, each array of shape (size, d, words)."""
    d, rules, seed = len(start), space.rules(start.nodes), Budget(rng).seed()
    check_choice("method", method, get_args(Method))
    if method == "naive":
        plain = SearchSpace(space.graph_class)
        if space != plain or space.graph_class in ("ancestral", "arid"):
            raise BowfreeError(
                "the naive sampler knows no limits, no knowledge, and no class but bap, dag and "
                "bidirected; use method='mcmc' for them"
            )
        return _core.sample_triangular(d, rules, size, seed)
    return _core.sample_mcmc(
        *start._bits(),
        rules,
        size,
        default_burn_in(d) if burn_in is None else check_count("burn_in", burn_in, 0),
        0 if thin is None else check_count("thin", thin, 1),
        method == "mcmc-printed",
        seed,
    )


def default_burn_in(d: int) -> int:
    """Return the number of steps after which a chain on d nodes counts as mixed."""
    return min(d**4, 20_000_000)


def node_names(nodes: int | Sequence[str]) -> tuple[str, ...]:
    """Return the given names, or ``x1, x2, ...`` for a number of nodes."""
    if isinstance(nodes, str):
        raise BowfreeError(
            f"nodes must be a number or a sequence of names, got the text {short_repr(nodes)}"
        )
    if isinstance(nodes, Sequence):
        return MixedGraph(nodes).nodes
    return tuple(f"x{i + 1}" for i in range(check_count("number of nodes", nodes, 1)))
