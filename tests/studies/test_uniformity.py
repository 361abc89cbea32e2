"""Frequencies of all small graphs under the samplers."""

import csv

import numpy as np
import pytest

import bowfree as bf
from bowfree.studies import uniformity_study
from bowfree.studies.uniformity import all_baps


def test_counts_of_all_baps():
    # DESIGN: 4, 62 and 3,608 BAPs on 2, 3 and 4 nodes.
    assert [len(all_baps(d)) for d in (2, 3)] == [4, 62]
    assert all(graph.is_bap() for graph in all_baps(3))


def test_every_sample_is_counted_once(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    study = uniformity_study(1500, rng=2)
    for method in ("naive", "mcmc", "mcmc-printed"):
        assert study.counts[method].sum() == 1500
        assert study.frequencies(method).sum() == pytest.approx(1)
    assert (np.diff(study.counts["naive"]) <= 0).all()
    paths = study.save(tmp_path)
    with paths[0].open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 62
    assert [path.suffix for path in paths] == [".csv", ".json", ".md", ".png"]


def test_only_the_symmetric_chain_is_uniform():
    study = uniformity_study(6000, rng=3)
    assert study.p_value("naive") < 1e-10
    assert study.p_value("mcmc-printed") < 1e-10
    assert study.p_value("mcmc") > 0.001
    # The printed chain has weights 2**-(#directed): the empty graph is its most frequent one.
    printed = dict(zip(study.graphs, study.frequencies("mcmc-printed"), strict=True))
    directed = [g.n_edges - g.n_bidirected for g in study.graphs]
    distribution = 2.0 ** -np.array(directed)
    expected = distribution / distribution.sum()
    found = np.array([printed[g] for g in study.graphs])
    # Six standard errors of a frequency from 6,000 samples.
    assert np.abs(found - expected).max() < 6 * np.sqrt(expected.max() / 6000)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number of at least 1"),
        ({"d": 5}, "d must be 2, 3 or 4"),
    ],
)
def test_bad_input(options, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        uniformity_study(**{"n_samples": 10, **options})
