"""Sets of nodes as integers."""

from hypothesis import given
from hypothesis import strategies as st

from bowfree.graph.encodings import closure, members, singletons, transpose, union


def test_a_set_of_three():
    mask = singletons([5, 0, 70])
    assert mask == 1 | 1 << 5 | 1 << 70
    assert list(members(mask)) == [0, 5, 70]


def test_closure_walks_and_stays_within():
    chain = [0b0010, 0b0100, 0b1000, 0]  # 0 -> 1 -> 2 -> 3
    assert closure(chain, 0b0001) == 0b1111
    assert closure(chain, 0b0001, within=0b1011) == 0b0011
    assert closure(chain, 0b0001, within=0b1110) == 0


@given(st.lists(st.integers(0, 2**7 - 1), min_size=7, max_size=7), st.integers(0, 2**7 - 1))
def test_transpose_and_union_agree_with_sets(masks, nodes):
    sets = [set(members(mask)) for mask in masks]
    assert [set(members(m)) for m in transpose(masks)] == [
        {i for i in range(7) if j in sets[i]} for j in range(7)
    ]
    assert set(members(union(masks, nodes))) == set().union(*(sets[v] for v in members(nodes)))
