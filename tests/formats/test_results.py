"""Results can be written in every format in place of their graph."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import bowfree as bf
from bowfree import formats
from graph_strategies import baps

#   x -> y <-> z
GRAPH = bf.parse("x -> y <-> z")
COV = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.4], [0.0, 0.4, 1.0]])
# These write a class as its PAG; the others have no circles and write its graph.
PARTIAL = ("pcalg", "causal-learn", "tetrad")
WRITERS = [getattr(formats, name) for name in formats.__all__ if name.startswith("to_")]
WRITERS.remove(formats.to_matrix)  # `write` of a matrix format calls it


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


@pytest.mark.filterwarnings("ignore")
def test_results_are_written_as_their_graph(results):
    for result in results.values():
        for writer in WRITERS:
            found, wanted = writer(result), writer(result.graph)
            assert (
                nx.utils.graphs_equal(found, wanted)
                if isinstance(found, nx.Graph)
                else (found == wanted)
            )


@pytest.mark.parametrize("format", formats.FORMATS + formats.EXPORTS)
def test_write_takes_results(results, format):
    for name, result in results.items():
        wanted = GRAPH.pag() if name == "class" and format in PARTIAL else result.graph
        assert formats.write(result, format=format) == formats.write(wanted, format=format), name


def test_a_pag_keeps_its_circles():
    #   x o-> y <-o z
    pag = GRAPH.pag()
    matrix = [[0, 2, 0], [1, 0, 1], [0, 2, 0]]
    tail = bf.parse("w -> x, y -> x, x -> z").pag()  # x -> z has a tail at x
    for format, row in (("pcalg", [1, 0, 1, 2]), ("causal-learn", [1, 0, 1, -1])):
        assert formats.to_matrix(pag, format=format).tolist() == matrix
        assert formats.to_matrix(tail, format=format)[1].tolist() == row
        frame = pd.DataFrame(formats.to_matrix(tail, format=format), columns=list(tail.nodes))
        assert formats.read_pag(frame, format=format) == tail
    assert "1. x o-> y\n2. z o-> y\n" in formats.write(pag, format="tetrad")
    for format in set(formats.FORMATS) - set(PARTIAL):
        with pytest.raises(bf.errors.GraphError, match="of type PAG"):
            formats.write(pag, format=format)


@given(baps(max_nodes=6).filter(len))
def test_pags_are_read_as_they_were_written(graph):
    pag = graph.pag()
    for format in PARTIAL:
        assert formats.read_pag(formats.write(pag, format=format), format=format) == pag


@pytest.mark.parametrize(
    ("source", "format", "problem"),
    [
        ("x,y\n0,2\n0,0\n", "pcalg", "not an edge; in a PAG"),
        ("x,y\n3,0\n0,0\n", "pcalg", "on the diagonal"),
        ([[0, 3], [1, 0]], "causal-learn", "circle, arrowhead and tail are 2, 1 and -1"),
        ("Graph Nodes:\nx;y\nGraph Edges:\n1. x o-> y\n2. y o-o x", "tetrad", "one edge"),
        ("Graph Nodes:\nx;y\nGraph Edges:\n1. x o=> y", "tetrad", "unknown"),
        ("x o-> y", "text", "unknown format 'text'; known are tetrad, pcalg, causal-learn"),
    ],
)
def test_what_is_no_pag_is_refused(source, format, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        formats.read_pag(source, format=format)
