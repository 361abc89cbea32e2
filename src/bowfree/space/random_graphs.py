"""Random graphs, uniform over all bow-free acyclic path diagrams (section 3.2 of the paper).

The Markov chain of section 3.2 adds and removes single edges. The printed step removes a directed
edge twice as often as it adds one, so that its limit is not uniform but proportional to
``2**-n_directed``. Here an edge ``i -> j`` is removed only if the ordered pair ``(i, j)`` is drawn,
which makes the step symmetric. The printed step and the naive sampler (a random triangular matrix
with shuffled nodes) are available for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from bowfree import _core
from bowfree.errors import BowfreeError
from bowfree.graph.encodings import graphs_of_bits
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parallel.budget import Budget
from bowfree.parameters import GraphClass, Rng, public
from bowfree.space.knowledge import Knowledge
from bowfree.space.search_space import SearchSpace
from bowfree.text_reading import short_repr
from bowfree.validation import check_choice, check_count

Method = Literal["mcmc", "mcmc-printed", "naive"]


@public
def random_bap(
    nodes: int | Sequence[str],
    *,
    size: int | None = None,
    space: SearchSpace | None = None,
    graph_class: GraphClass | None = None,
    max_in_degree: int | None = None,
    max_district: int | None = None,
    max_edges: int | None = None,
    knowledge: Knowledge | None = None,
    method: Method = "mcmc",
    burn_in: int | None = None,
    thin: int | None = None,
    rng: Rng = None,
) -> Any:
    """Draw graphs uniformly at random from all BAPs, or from a smaller space.

    Parameters
    ----------
    nodes : int or sequence of str
        Names of the nodes, or their number; then the names are ``x1, x2, ...``.
    size : int, optional
        Number of graphs, which are returned in a list. By default one graph, not in a list.
    space : SearchSpace, optional
        The graphs to draw from; by default all BAPs.
    method : {"mcmc", "mcmc-printed", "naive"}
        "mcmc" is the corrected chain, uniform in the limit. "mcmc-printed" is the step as printed
        in the paper and "naive" the triangular sampler (without limits and knowledge, for the
        classes bap, dag and bidirected); these two are not uniform.
    burn_in : int, optional
        Number of steps before the first sample, from the graph of the required edges. By default
        ``d**4``, the paper's choice, but at most 20 million.
    thin : int, optional
        Draw all samples from one chain, this many steps apart. By default every sample has its own
        chain, and the samples are independent.

    Returns
    -------
    MixedGraph or list of MixedGraph
        A list if `size` is given.

    Examples
    --------
    >>> import bowfree as bf
    >>> graphs = bf.random_bap(["x", "y", "z"], max_in_degree=1, size=3, rng=7)
    >>> [len(g.nodes) for g in graphs]
    [3, 3, 3]
    """
    names = _node_names(nodes)
    d, n_samples = len(names), 1 if size is None else check_count("size", size, 0)
    within = SearchSpace.of(space, graph_class, max_in_degree, max_district, max_edges, knowledge)
    start, rules, seed = within.required_graph(names), within.rules(names), Budget(rng).seed()
    check_choice("method", method, get_args(Method))
    if method == "naive":
        plain = SearchSpace(within.graph_class)
        if within != plain or within.graph_class in ("ancestral", "arid"):
            raise BowfreeError(
                "method='naive' supports the classes bap, dag and bidirected, without limits or "
                "knowledge; use method='mcmc'"
            )
        bits = _core.sample_triangular(d, rules, n_samples, seed)
    else:
        bits = _core.sample_mcmc(
            *start._bits(),
            rules,
            n_samples,
            default_burn_in(d) if burn_in is None else check_count("burn_in", burn_in, 0),
            0 if thin is None else check_count("thin", thin, 1),
            method == "mcmc-printed",
            seed,
        )
    graphs = graphs_of_bits(names, *bits)
    return graphs[0] if size is None else graphs


def default_burn_in(d: int) -> int:
    """Return the number of burn-in steps of a chain on d nodes; ``d**4`` would take minutes."""
    return min(d**4, 20_000_000)


def _node_names(nodes: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(nodes, str):
        raise BowfreeError(
            f"nodes must be a number or a sequence of names, got the string {short_repr(nodes)}"
        )
    if isinstance(nodes, Sequence):
        return MixedGraph(nodes).nodes
    return tuple(f"x{i + 1}" for i in range(check_count("number of nodes", nodes, 1)))
