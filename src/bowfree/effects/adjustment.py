"""Estimation of a total effect by regression: adjustment sets and instruments of a graph.

Let ``causal`` be the nodes on directed paths from x to y, without x. The *back-door graph* is the
graph without the edges from x to causal nodes. A set Z without descendants of causal nodes is an
adjustment set if it m-separates x and y in the back-door graph: then the coefficient of x in the
regression of y on x and Z is the total effect of x on y. A node z is an instrument given W, neither
with descendants of causal nodes, if W m-separates z and y in the back-door graph but not z and x in
the graph: then ``cov(z, y | W) / cov(z, x | W)`` is the total effect, because y minus the effect of
x has the distribution of y in the back-door graph.

Over an equivalence class, a set is reported if it is valid in every member.

References
----------
I. Shpitser, T. VanderWeele, J. Robins, On the validity of covariate adjustment for estimating
causal effects, UAI 2010. B. van der Zander, J. Textor, M. Liskiewicz, Efficiently finding
conditional instruments for causal inference, IJCAI 2015. L. Henckel, E. Perkovic, M. Maathuis,
Graphical criteria for efficient total effect estimation via adjustment in causal linear models,
JRSS B 84 (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, permutations
from typing import ClassVar

from bowfree.equivalence.class_members import EquivalenceClass, class_components
from bowfree.equivalence.decision import adjacency
from bowfree.errors import GraphError
from bowfree.graph.encodings import (
    BACKWARD,
    BIDIRECTED,
    FORWARD,
    closure,
    masks_of_states,
    members,
    union,
)
from bowfree.graph.mixed_graph import GraphLike, MixedGraph, graph_of
from bowfree.graph.names import node_index
from bowfree.graph.pag import CIRCLE, HEAD, PAG, TAIL
from bowfree.graph.separation import minimal_separators
from bowfree.graph.text import quote, quote_names
from bowfree.parameters import public
from bowfree.results.display import Table, count
from bowfree.results.rows import Row, RowTable
from bowfree.results.serialization import ToDict
from bowfree.validation import check_count

MAX_MEMBERS = 20_000  # of a class that are examined
MAX_TESTS = 200_000  # separations that are tested for a class


@dataclass(frozen=True, repr=False)
class _Found(RowTable, ToDict):
    of: str
    on: str
    rows: tuple[Row, ...]
    n_graphs: int | None
    all_graphs: bool
    complete: bool

    _noun: ClassVar[str]
    _left: ClassVar = (0, 1, 2)

    def _headline(self) -> str:
        found = {row[self._columns[0]] for row in self.rows if row.get("minimal", True)}
        some = count(len(found), self._noun) if found else f"no {self._noun.split(maxsplit=1)[-1]}"
        text = f"{some} for the effect of {quote(self.of)} on {quote(self.on)}"
        if self.n_graphs is None:
            return f"{text}, valid in all graphs of the PAG"
        if self.n_graphs == 1:
            return text
        if self.all_graphs:
            return f"{text}, valid in all {self.n_graphs:,} equivalent graphs"
        graphs = f"{MAX_MEMBERS:,} of {self.n_graphs:,} equivalent graphs"
        return f"{text}, valid in {graphs} (others not checked)"

    def _sections(self) -> Iterator[str | Table]:
        yield from super()._sections()
        if not self.complete:
            yield "There may be more: a limit ended the enumeration."


@dataclass(frozen=True, repr=False)
class AdjustmentSets(_Found):
    """Adjustment sets for a total effect; returned by :func:`adjustment_sets`.

    Attributes
    ----------
    of, on : str
        Exposure and outcome.
    rows : tuple of Row
        ``adjust_for``: the set; ``minimal``: whether no proper subset is valid; ``optimal``:
        whether the regression has the smallest asymptotic variance of all adjustment sets.
        Minimal sets first, by size.
    n_graphs : int or None
        Number of graphs: 1, or the size of the class; None for a PAG.
    all_graphs : bool
        Whether the sets were checked in all of them; otherwise in the first 20,000.
    complete : bool
        Whether these are all minimal sets.
    """

    _columns: ClassVar = ("adjust_for", "minimal", "optimal")
    _cells: ClassVar = {
        "adjust for": lambda row: quote_names(row.adjust_for) or "(nothing)",
        "minimal": lambda row: "yes" if row.minimal else "",
        "optimal": lambda row: "yes" if row.optimal else "",
    }
    _noun: ClassVar = "minimal adjustment set"
    _rows_key: ClassVar = "sets"

    @property
    def minimal(self) -> tuple[tuple[str, ...], ...]:
        """The minimal sets."""
        return tuple(row.adjust_for for row in self.rows if row.minimal)

    @property
    def optimal(self) -> tuple[str, ...] | None:
        """The optimal set; None if no set is optimal for all parameters, or it is not known."""
        return next((row.adjust_for for row in self.rows if row.optimal), None)


@dataclass(frozen=True, repr=False)
class Instruments(_Found):
    """Instruments for a total effect; returned by :func:`instruments`.

    Attributes
    ----------
    of, on : str
        Exposure and outcome.
    rows : tuple of Row
        ``instrument``, and ``given``: a minimal set to condition on.
    n_graphs, all_graphs, complete
        As of :class:`AdjustmentSets`, for the conditioning sets.
    """

    _columns: ClassVar = ("instrument", "given")
    _cells: ClassVar = {
        "instrument": lambda row: quote(row.instrument),
        "given": lambda row: quote_names(row.given) or "(nothing)",
    }
    _noun: ClassVar = "instrument"
    _rows_key: ClassVar = "instruments"


@public
def adjustment_sets(
    graph: GraphLike | PAG, *, of: str, on: str, limit: int = 100
) -> AdjustmentSets:
    """Return the sets of variables to adjust for in a regression that estimates a total effect.

    Parameters
    ----------
    graph : MixedGraph, EquivalenceClass, PAG, or a result that has a graph
        Without directed cycles; bows are allowed. For an equivalence class, the sets that are valid
        in all members; for a PAG, those that are valid in all graphs it represents, also with
        hidden variables (the generalized adjustment criterion).
    of, on : str
        Exposure and outcome. Without an effect, the coefficient is zero given the sets returned.
    limit : int
        Largest number of minimal sets.

    Returns
    -------
    AdjustmentSets
        All minimal sets, and the optimal one: its regression has the smallest asymptotic variance.
        It exists if no variable on a causal path has a ``<->``; otherwise none is marked.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("w -> x -> m -> y, w -> y <- v, w <-> v")
    >>> print(bf.effects.adjustment_sets(g, of="x", on="y"))
    1 minimal adjustment set for the effect of x on y
    adjust for  minimal  optimal
    w           yes
    w, v                 yes

    References
    ----------
    E. Perkovic, J. Textor, M. Kalisch, M. Maathuis, Complete graphical characterization and
    construction of adjustment sets in Markov equivalence classes of ancestral graphs, JMLR 18
    (2018).
    """
    check_count("limit", limit, 1)
    n_graphs, all_graphs, complete = None, True, True
    optimal: set[tuple[str, ...] | None] = set()
    if isinstance(graph, PAG):
        backdoor, allowed, amenable = backdoor_graph(graph, of, on)
        x, y = graph.nodes.index(of), graph.nodes.index(on)
        found = _separators(backdoor, x, y, allowed, limit) if amenable else []
    else:
        graphs, n_graphs, all_graphs = class_graphs(graph, of)
        questions = [Question(each, of, on) for each in graphs]
        first, optimal = questions[0], {question.optimal() for question in questions}
        if len(questions) == 1:
            found = _separators(first.backdoor, first.x, first.y, first.allowed, limit)
        else:
            allowed = _allowed(questions)
            found, complete = _valid_in_all(questions, Question.adjusts, allowed, limit + 1)
    complete &= len(found) <= limit
    best = optimal.pop() if len(optimal) == 1 else None
    minimal = sorted(found[:limit], key=_by_size)
    rows = [Row(adjust_for=names, minimal=True, optimal=names == best) for names in minimal]
    if best is not None and best not in minimal:
        rows.append(Row(adjust_for=best, minimal=False, optimal=True))
    return AdjustmentSets(of, on, tuple(rows), n_graphs, all_graphs, complete)


def _separators(
    graph: MixedGraph, a: int, b: int, allowed: int, limit: int
) -> list[tuple[str, ...]]:
    """Return minimal separating sets, one more than the limit if there are more."""
    return list(islice(minimal_separators(graph, a, b, allowed=allowed), limit + 1))


def _by_size(names: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    return len(names), names


@public
def instruments(graph: GraphLike, *, of: str, on: str, limit: int = 100) -> Instruments:
    """Return the instruments for a total effect, with the variables to condition on.

    Parameters
    ----------
    graph : MixedGraph, EquivalenceClass, or a result that has a graph
        Without directed cycles; bows are allowed. For an equivalence class, instruments that are
        valid in all members.
    of, on : str
        Exposure and outcome.
    limit : int
        Largest number of minimal conditioning sets of each instrument.

    Returns
    -------
    Instruments
        With the minimal sets to condition on. Larger sets can be valid where no minimal one is.

    Examples
    --------
    >>> import bowfree as bf
    >>> g = bf.parse("z -> x -> y <-> x, w -> z, w -> y")
    >>> print(bf.effects.instruments(g, of="x", on="y"))
    1 instrument for the effect of x on y
    instrument  given
    z           w
    """
    check_count("limit", limit, 1)
    graphs, n_graphs, all_graphs = class_graphs(graph, of)
    complete = True
    questions = [Question(each, of, on) for each in graphs]
    first, allowed = questions[0], _allowed(questions)
    rows = []
    for z in members(allowed):
        free = allowed & ~(1 << z)
        if len(questions) == 1:
            separators = _separators(first.backdoor, z, first.y, free, limit)
            found = [given for given in separators if _is_instrument(z, first, given)]
            complete &= len(separators) <= limit
        else:
            test = partial(_is_instrument, z)
            found, tried_all = _valid_in_all(questions, test, free, limit + 1)
            complete &= tried_all
        name = first.graph.nodes[z]
        rows += [Row(instrument=name, given=given) for given in sorted(found[:limit], key=_by_size)]
    return Instruments(of, on, tuple(rows), n_graphs, all_graphs, complete)


@public
def adjustment_distance(estimate: GraphLike, truth: GraphLike) -> Row:
    """Return the adjustment identification distance: the effects that a learned graph gets wrong.

    For each ordered pair, the learned graph proposes an adjustment set, the optimal one or else the
    smallest, or says that there is no effect. It is a mistake if the set is not valid in the true
    graph, or the true graph has an effect. If the learned graph has no adjustment set, it is a
    mistake if the true graph has one.

    Parameters
    ----------
    estimate, truth : MixedGraph, or a result that has a graph
        Acyclic graphs on the same nodes.

    Returns
    -------
    Row
        ``distance``, the fraction of mistakes; ``mistakes``; and ``n_pairs``.

    Examples
    --------
    >>> import bowfree as bf
    >>> truth = bf.parse("w -> x -> y <- w")
    >>> bf.effects.adjustment_distance(bf.parse("w -> x -> y, w <-> y"), truth).mistakes
    1

    References
    ----------
    L. Henckel, T. Würtzen, S. Weichwald, Adjustment identification distance: a gadjid for causal
    structure learning, UAI 2024. For DAGs it is the Oset-AID.
    """
    learned, true = graph_of(estimate), graph_of(truth)
    if set(learned.nodes) != set(true.nodes):
        raise GraphError("the two graphs have different nodes; compare graphs on the same nodes")
    mistakes = 0
    for of, on in permutations(true.nodes, 2):
        question = Question(true, of, on)
        if on not in learned.descendants(of):
            mistakes += bool(question.causal)
            continue
        sets = adjustment_sets(learned, of=of, on=on)
        chosen = sets.optimal if sets.optimal is not None else next(iter(sets.minimal), None)
        if chosen is None:
            mistakes += bool(adjustment_sets(true, of=of, on=on, limit=1).minimal)
        else:
            forbidden = true._mask(chosen) & ~question.allowed
            mistakes += bool(forbidden) or not question.adjusts(chosen)
    n_pairs = len(true) * (len(true) - 1)
    distance = mistakes / n_pairs if n_pairs else 0.0
    return Row(distance=distance, mistakes=mistakes, n_pairs=n_pairs)


class Question:
    """The effect of x on y in one graph: back-door graph, causal and forbidden nodes."""

    def __init__(self, graph: MixedGraph, of: str, on: str) -> None:
        graph.check_acyclic()
        self.graph = graph
        self.x, self.y = _ends(of, on, graph.nodes)
        children, x = graph._children(), 1 << self.x
        below, above = closure(children, x), closure(graph._parents, 1 << self.y)
        self.causal = below & above & ~x
        forbidden = closure(children, self.causal) | x | 1 << self.y
        self.allowed = (1 << len(graph)) - 1 & ~forbidden
        parents = [
            mask & ~x if self.causal >> v & 1 else mask for v, mask in enumerate(graph._parents)
        ]
        self.backdoor = graph._with(parents, graph._spouses)

    def adjusts(self, names: tuple[str, ...]) -> bool:
        """Return whether a set of allowed nodes is an adjustment set."""
        x, y = self.graph.nodes[self.x], self.graph.nodes[self.y]
        return self.backdoor.m_separated(x, y, given=names)

    def optimal(self) -> tuple[str, ...] | None:
        """Return the parents of causal nodes, unless hidden causes act on these.

        With x <- h -> y for each x <-> y, the optimal set of the DAG would contain these h.
        """
        if not self.causal or union(self.graph._spouses, self.causal):
            return None
        nodes = union(self.graph._parents, self.causal) & self.allowed
        return tuple(self.graph.nodes[v] for v in members(nodes))


def _ends(of: str, on: str, nodes: tuple[str, ...]) -> tuple[int, int]:
    """Return the indices of exposure and outcome."""
    x, y = node_index(of, nodes), node_index(on, nodes)
    if x == y:
        raise GraphError(f"of and on are both {quote(of)}; an effect is on another variable")
    return x, y


def _is_instrument(z: int, question: Question, given: tuple[str, ...]) -> bool:
    """Return whether an allowed node is an instrument given a set of allowed nodes."""
    x, y, name = (question.graph.nodes[v] for v in (question.x, question.y, z))
    return question.backdoor.m_separated(name, y, given=given) and not question.graph.m_separated(
        name, x, given=given
    )


def class_graphs(
    given: GraphLike, of: str, limit: int = MAX_MEMBERS
) -> tuple[list[MixedGraph], int, bool]:
    """Return the graph, or the members of a class; the size of the class; whether these are all.

    Members that differ in other components than that of the exposure are left out.
    """
    if not isinstance(given, EquivalenceClass):
        return [graph_of(given)], 1, True
    graph = given.graph
    x = graph._node(of)
    for part in class_components(given):
        if x in {v for pair in part.pairs for v in pair}:
            graphs = list(part.graphs(limit))
            return graphs, given.size, given.complete and part.size <= limit
    return [graph], given.size, True  # the exposure has no edges


def _allowed(questions: list[Question]) -> int:
    """Return the mask of the nodes that are allowed in all graphs and near the exposure."""
    first = questions[0]
    allowed = closure(adjacency(first.graph), 1 << first.x | 1 << first.y)
    for question in questions:
        allowed &= question.allowed
    return allowed


def _valid_in_all(
    questions: list[Question],
    test: Callable[[Question, tuple[str, ...]], bool],
    allowed: int,
    limit: int,
) -> tuple[list[tuple[str, ...]], bool]:
    """Return the minimal sets that are valid in all graphs, and whether all sets were tried."""
    names = [questions[0].graph.nodes[v] for v in members(allowed)]
    order = list(questions)
    found: list[tuple[str, ...]] = []
    tests = 0
    for size in range(len(names) + 1):
        for candidate in combinations(names, size):
            if any(set(smaller) <= set(candidate) for smaller in found):
                continue
            for k, question in enumerate(order):
                tests += 1
                if not test(question, candidate):
                    order.insert(0, order.pop(k))  # the graph that refutes most sets is first
                    break
            else:
                found.append(candidate)
            if tests > MAX_TESTS or len(found) == limit:
                return found, False
    return found, True


# The generalized adjustment criterion for a PAG: every possibly directed path from x to y starts
# with a visible edge x -> v, whose ends have no hidden common cause in any graph of the class; the
# set contains no possible descendant of a node on such a path; and it m-separates x and y without
# the edges from x to these nodes, in a maximal ancestral graph of the class with as few edges into
# x as possible (Perkovic et al. 2018; J. Zhang, Causal reasoning with ancestral graphs, JMLR 2008).


def backdoor_graph(pag: PAG, of: str, on: str) -> tuple[MixedGraph, int, bool]:
    """Return the graph in which sets must m-separate, the allowed nodes, and whether any is valid.

    If the last is False, the effect differs between the graphs of the class: no set is valid.
    """
    x, y = _ends(of, on, pag.nodes)
    marks, d = pag.marks, len(pag.nodes)
    for i, j in ((i, j) for i in range(d) for j in range(d) if marks[i][j] == TAIL):
        if marks[j][i] != HEAD:
            a, b = quote(pag.nodes[i]), quote(pag.nodes[j])
            raise GraphError(
                f"the edge between {a} and {b} has a tail but no arrowhead: PAGs with selection "
                "bias are not supported"
            )
    # steps[a]: nodes b with an edge that is a -> b in some graph of the class.
    steps = [
        sum(1 << b for b in range(d) if marks[a][b] in (CIRCLE, HEAD) and marks[b][a] != HEAD)
        for a in range(d)
    ]
    back = [sum(1 << a for a in range(d) if steps[a] >> b & 1) for b in range(d)]
    without_x = ~(1 << x)
    above = closure(back, 1 << y, within=without_x)
    first = steps[x] & above
    causal = closure(steps, first, within=without_x) & above
    forbidden = closure(steps, causal, within=without_x) | 1 << x | 1 << y
    mag = member(pag, x)
    parents = [mask & without_x if first >> v & 1 else mask for v, mask in enumerate(mag._parents)]
    amenable = all(marks[v][x] == TAIL and is_visible(pag, x, v) for v in members(first))
    return mag._with(parents, mag._spouses), (1 << d) - 1 & ~forbidden, amenable


def is_visible(pag: PAG, a: int, b: int) -> bool:
    """Return whether an edge a -> b is visible: a and b have no hidden common cause.

    There is a node that is not adjacent to b with an edge into a, or with a path of colliders into
    a that are parents of b.
    """
    marks = pag.marks
    seen, frontier = {a, b}, [a]
    while frontier:
        v = frontier.pop()
        for u in range(len(pag.nodes)):
            if u in seen or marks[u][v] != HEAD:
                continue
            if not marks[u][b]:
                return True
            if marks[v][u] == HEAD and marks[u][b] == HEAD and marks[b][u] == TAIL:
                seen.add(u)
                frontier.append(u)
    return False


def member(pag: PAG, first: int) -> MixedGraph:
    """Return a maximal ancestral graph of the class without further edges into one node.

    Edges ``o->`` become ``->``. The edges ``o-o`` form a chordal graph, which is oriented along a
    maximum cardinality search that begins at `first`: this makes no new unshielded collider.
    """
    marks, d = pag.marks, len(pag.nodes)
    near = [
        {b for b in range(d) if marks[a][b] == CIRCLE and marks[b][a] == CIRCLE} for a in range(d)
    ]
    order = [first]
    while len(order) < d:
        visited = set(order)
        rest = [v for v in range(d) if v not in visited]
        order.append(max(rest, key=lambda v: len(near[v] & visited)))
    rank = {v: k for k, v in enumerate(order)}
    pairs = [(a, b) for a, b in combinations(range(d), 2) if marks[a][b]]
    states = []
    for a, b in pairs:
        into_a, into_b = marks[b][a] == HEAD, marks[a][b] == HEAD
        forward = into_b or (not into_a and rank[a] < rank[b])
        states.append(BIDIRECTED if into_a and into_b else FORWARD if forward else BACKWARD)
    return MixedGraph._from_masks(pag.nodes, *masks_of_states(d, states, pairs))
