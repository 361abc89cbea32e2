"""The simulation study at a small size, and its named protocols."""

import csv
import json
import warnings

import numpy as np
import pytest

import bowfree as bf
from bowfree.studies import (
    PROTOCOLS,
    causal_effect_study,
    compare_protocols,
    ordinary_auc,
    paper_roc,
)
from odd_executors import Clumsy

SMALL = {"d": 5, "n": 500, "restarts": 4, "rng": 3}


def test_two_small_simulations():
    study = causal_effect_study(2, **SMALL)
    assert len(study.simulations) == 2
    for simulation in study.simulations:
        assert simulation.truth.is_bap()
        assert simulation.found.is_bap()
        assert len(simulation.roc.fpr) == 5 * 4 // 2 + 1
        assert simulation.complete
    assert study.mean_auc == pytest.approx(np.mean(study.aucs))


def test_given_the_true_class_nothing_is_missed():
    study = causal_effect_study(6, d=6, report="true-class", rng=5)
    with_effects = [s.roc.auc for s in study.simulations if s.roc.n_positive]
    assert with_effects
    assert set(with_effects) == {1.0}


def test_the_exact_covariance_gives_the_truth():
    # n is so large that the penalty does not hide the weakest edge.
    study = causal_effect_study(
        3, d=4, n=10**8, strategy="ils", exact_covariance=True, classes="exact", rng=2
    )
    for simulation in study.simulations:
        assert bf.equivalent(simulation.found, simulation.truth)


def test_same_data_for_every_protocol_and_number_of_jobs():
    one = causal_effect_study(3, **SMALL)
    other = causal_effect_study(3, **SMALL, method="ricf", max_iter=10, effects="as-published")
    threads = causal_effect_study(3, **SMALL, n_jobs=2)
    workers = causal_effect_study(3, **SMALL, executor=Clumsy(lambda number: number == 1))
    assert [s.truth for s in one.simulations] == [s.truth for s in other.simulations]
    assert [s.true_score for s in one.simulations] == [s.true_score for s in other.simulations]
    assert one.aucs.tolist() == threads.aucs.tolist()
    assert [s.found for s in one.simulations] == [s.found for s in threads.simulations]
    assert [s.found for s in one.simulations] == [s.found for s in workers.simulations]


def test_scores_after_ten_sweeps_are_those_of_the_paper():
    rng = np.random.default_rng(1)
    truth = bf.parse("a -> b <-> c, a <-> d, b -> d <-> c")
    S = np.cov(bf.random_sem(truth, rng=rng).sample(300, rng=rng), rowvar=False)
    options = {"cov": S, "n": 300, "method": "ricf", "max_iter": 10}
    result = bf.greedy_search(**options, strategy="restart", restarts=3, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bf.errors.FitWarning)  # ten sweeps need not be enough
        assert result.score == pytest.approx(bf.score(result.graph, **options), abs=1e-12)
    found = bf.empirical_class(result.graph, **options)
    assert found.score == pytest.approx(result.score, abs=1e-12)


def test_protocols_take_their_own_options_first(tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    found = compare_protocols(["as-published", "best"], n_sims=2, d=4, restarts=2, rng=1)
    settings = found.studies["as-published"].settings
    assert (settings["max_iter"], settings["effects"]) == (10, "as-published")
    assert found.studies["best"].settings["strategy"] == "ils"
    assert found.table().count("\n") == 3
    paths = found.save(tmp_path)
    assert len(paths) == 1 + 3 * 2
    with (tmp_path / "effects-best.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["auc"]) for row in rows] == found.studies["best"].aucs.tolist()
    saved = json.loads((tmp_path / "effects-best.json").read_text())
    assert saved["mean_auc"] == found.studies["best"].mean_auc


def test_probabilities_of_the_average_rank_the_pairs(monkeypatch):
    averages = []

    def spy(result, **options):
        averages.append((result.moments, bf.averaged_effects(result, **options)))
        return averages[-1][1]

    monkeypatch.setattr("bowfree.studies.effects_study.averaged_effects", spy)
    study = causal_effect_study(
        4, d=5, n=100, strategy="ils", report="averaged", classes="exact", rng=1
    )
    other_ranks = 0
    for simulation, (moments, average) in zip(study.simulations, averages, strict=True):
        members = bf.equivalence_class(simulation.truth)
        truth = bf.effect_bounds(members, cov=moments.S, n=moments.n, ddof=0).min_abs
        assert simulation.roc.auc == paper_roc(truth, average.probability_all_members).auc
        assert simulation.ordinary_auc == pytest.approx(
            ordinary_auc(truth, average.probability_all_members), nan_ok=True
        )
        other_ranks += simulation.roc.auc != paper_roc(truth, average.min_abs).auc
    assert other_ranks > 0  # the size of the effects would have ranked otherwise
    assert PROTOCOLS["averaged"].options["report"] == "averaged"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n_sims": 0}, "n_sims must be a whole number of at least 1, got 0"),
        ({"effects": "new"}, "unknown effects 'new'; choose one of corrected, as-published"),
        ({"classes": "all"}, "unknown classes 'all'"),
        ({"report": "worst"}, "unknown report 'worst'"),
        ({"report": "averaged", "method": "ricf"}, "never published"),
        ({"strategy": "luck"}, "unknown strategy 'luck'"),
        ({"max_iter": 10}, "an option of method='ricf'"),
    ],
)
def test_bad_input(options, problem):
    with pytest.raises(bf.BowfreeError, match=problem):
        causal_effect_study(**{"n_sims": 1, "d": 3, **options})


def test_unknown_protocol():
    with pytest.raises(bf.BowfreeError, match="no protocol 'other'; choose from as-published"):
        compare_protocols(["other"])
