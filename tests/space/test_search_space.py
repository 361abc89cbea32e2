"""Search spaces: stored in results, and used by all functions that continue from a result."""

import json

import numpy as np
import pytest

import bowfree as bf
from bowfree.graph.encodings import BIDIRECTED, FORWARD

S = np.array([[1.0, 0.6, 0.3, 0.2], [0.6, 1.0, 0.5, 0.1], [0.3, 0.5, 1.0, 0.4], [0.2, 0.1, 0.4, 1]])
KNOWN = bf.Knowledge(required=["x1 -> x2"], forbidden=["x3 -- x4"])


def test_fields_or_a_space_or_both_say_the_same():
    whole = bf.SearchSpace("dag", max_in_degree=2, knowledge=KNOWN)
    by_fields = bf.greedy_search(
        cov=S, n=200, graph_class="dag", max_in_degree=2, knowledge=KNOWN, rng=1
    )
    by_space = bf.greedy_search(cov=S, n=200, space=whole, rng=1)
    mixed = bf.greedy_search(cov=S, n=200, space=bf.SearchSpace("dag"), max_in_degree=2, rng=1,
                             knowledge=KNOWN)  # fmt: skip
    assert by_fields.space == by_space.space == mixed.space == whole
    assert by_fields.pool == by_space.pool == mixed.pool


def test_every_limit_holds_for_every_graph_of_a_search():
    space = bf.SearchSpace("bap", max_in_degree=2, max_district=2, max_edges=3, knowledge=KNOWN)
    result = bf.greedy_search(cov=S, n=5000, space=space, rng=1)
    assert result.graph.n_edges == 3
    for graph, _ in result.pool:
        assert space.permits(graph)
        assert graph.n_edges <= 3
    # The limits bind: without them the best graph is another one.
    assert not space.permits(bf.greedy_search(cov=S, n=5000, rng=1).graph)


def test_what_follows_a_search_keeps_to_its_space():
    result = bf.greedy_search(cov=S, n=300, graph_class="dag", rng=1)
    assert all(graph.is_dag() for graph in bf.equivalence_class(result))
    assert not all(graph.is_dag() for graph in bf.equivalence_class(result.graph))
    assert list(result.equivalence_class()) == list(bf.equivalence_class(result))
    averaged = bf.averaged_effects(result, steps=500, rng=0)
    assert averaged.bidirected.max() == 0.0
    exhaustive = bf.exhaustive_search(cov=S, n=300, space=result.space)
    assert all(graph.is_dag() for graph in exhaustive.equivalence_class())
    chains = bf.structure_mcmc(cov=S, n=300, space=result.space, steps=200, thin=10, rng=0)
    assert chains.space == result.space
    assert chains.bidirected.max() == 0.0
    assert bf.random_bap(["a", "b", "c"], space=bf.SearchSpace("dag"), rng=3).is_dag()


def test_member_masks_of_the_classes():
    names = ("x", "y")
    assert bf.SearchSpace("dag").member_masks(names)[0, 1] == 0b1111 ^ 1 << BIDIRECTED
    assert not bf.SearchSpace("bidirected").member_masks(names)[0, 1] >> FORWARD & 1
    assert bf.SearchSpace("arid", max_in_degree=0).member_masks(names)[0, 1] == 0b1111


def test_dictionary_and_back():
    space = bf.SearchSpace("arid", 2, 3, 4, bf.Knowledge(tiers=[["a"], ["b"]]))
    assert bf.SearchSpace.from_dict(json.loads(json.dumps(space.to_dict()))) == space


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bf.SearchSpace(max_edges=1.5), "max_edges must be a whole number .* got 1.5"),
        (lambda: bf.SearchSpace(knowledge={"tiers": []}), "Knowledge.from_dict"),
        (lambda: bf.SearchSpace(knowledge=7), "an object of type int, not a Knowledge"),
        (lambda: bf.greedy_search(cov=S, n=9, space="dag"), "of type str; pass a bowfree.Search"),
        (lambda: bf.SearchSpace.from_dict({"limits": 3}), "unknown field 'limits'"),
        (lambda: bf.SearchSpace(max_edges=0, knowledge=KNOWN).required_graph(("x1", "x2", "x3", "x4")),
         r"required edges \(x1 -> x2, isolated: x3, x4\) are not possible among BAPs with at most 0 edges"),
    ],
)  # fmt: skip
def test_bad_spaces(make, message):
    with pytest.raises(bf.BowfreeError, match=message):
        make()
