"""Results can be written in every format in place of their graph."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from bowfree import formats

#   x -> y <-> z
GRAPH = bf.parse("x -> y <-> z")
COV = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.4], [0.0, 0.4, 1.0]])
# These write a class as its PAG; the others have no circles and write its graph.
PARTIAL = ("to_pcalg", "to_causal_learn", "to_tetrad")
WRITERS = [name for name in formats.__all__ if name.startswith("to_")]


@pytest.fixture(scope="module")
def results():
    frame = pd.DataFrame(COV, columns=GRAPH.nodes)
    return {
        "fit": bf.fit(GRAPH, cov=COV, n=200),
        "search": bf.greedy_search(cov=frame, n=200, rng=1, restarts=1),
        "exhaustive": bf.exhaustive_search(cov=frame, n=200),
        "class": bf.equivalence_class(GRAPH),
        "model": bf.LinearSEM(GRAPH, np.zeros((3, 3)), np.eye(3)),
    }


def same(one, other):
    if isinstance(one, nx.Graph):
        return nx.utils.graphs_equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other or vars(one) == vars(other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("writer", WRITERS)
def test_results_are_written_as_their_graph(results, writer):
    write = getattr(formats, writer)
    for name, result in results.items():
        of_class = name == "class" and writer in PARTIAL
        assert same(write(result), write(GRAPH.pag() if of_class else result.graph)), name


@pytest.mark.parametrize("format", formats.FORMATS)
def test_write_takes_results(results, format):
    for name, result in results.items():
        of_class = name == "class" and f"to_{format.replace('-', '_')}" in PARTIAL
        wanted = GRAPH.pag() if of_class else result.graph
        assert formats.write(result, format=format) == formats.write(wanted, format=format), name


def test_a_pag_keeps_its_circles():
    #   x o-> y <-o z
    pag = GRAPH.pag()
    assert formats.to_pcalg(pag).tolist() == [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    assert formats.to_causal_learn(pag).tolist() == [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    assert "1. x o-> y\n2. z o-> y\n" in formats.to_tetrad(pag)
    assert formats.write(pag, format="pcalg").splitlines()[1] == "x,0,2,0"
    tail = bf.parse("w -> x, y -> x, x -> z").pag()  # x -> z has a tail at x
    assert formats.to_pcalg(tail)[1].tolist() == [1, 0, 1, 2]
    assert formats.to_causal_learn(tail)[1].tolist() == [1, 0, 1, -1]
    for format in set(formats.FORMATS) - {"pcalg", "causal-learn", "tetrad"}:
        with pytest.raises(bf.errors.GraphError, match="of type PAG"):
            formats.write(pag, format=format)


@pytest.mark.parametrize("given", [None, 3, "x -> y", COV])
def test_what_has_no_graph_is_refused(given):
    for writer in WRITERS:
        with pytest.raises(bf.errors.GraphError, match="expected a graph"):
            getattr(formats, writer)(given)
