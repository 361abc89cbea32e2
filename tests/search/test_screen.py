"""Searches with more than twelve variables, in which changes are screened before they are fitted."""

import pytest

import bowfree as bf
from search_cases import essence, simulate


@pytest.mark.parametrize("d", [14, 20, 40])
def test_a_climb_with_screening_ends_where_no_change_gains(d):
    # Beyond twelve variables most changes are excluded by bounds instead of fits. None of them gains
    # at the end of a climb.
    S, _ = simulate([d, 1], d, max_in_degree=2)
    result = bf.greedy_search(cov=S, n=1000, strategy="restart", restarts=0, rng=0)
    assert max(change.score for change in bf.edge_changes(result)) <= 1e-9


def test_a_large_search_is_the_same_for_any_number_of_threads():
    S, _ = simulate([36, 2], 36, max_in_degree=2)
    options = {"cov": S, "n": 1000, "restarts": 3, "rounds": 1, "rng": 5}
    one, two = (essence(bf.greedy_search(**options, n_jobs=n)) for n in (1, 2))
    assert one == two
