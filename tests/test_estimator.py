"""The scikit-learn estimator: the checks of scikit-learn, and attributes of its own."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import bowfree as bf


@pytest.fixture(scope="module")
def fitted():
    return bf.BAPLearner(restarts=4, random_state=1).fit(bf.datasets.load_demo())


def test_smallest_example():
    #   x -> y <- z
    data = bf.LinearSEM(
        bf.parse("x -> y <- z"), [[0, 0, 0], [1, 0, 1], [0, 0, 0]], np.eye(3)
    ).sample(500, rng=3)
    learner = bf.BAPLearner(random_state=0).fit(data)
    assert learner.n_features_in_ == 3
    assert not hasattr(learner, "feature_names_in_")
    assert learner.causal_graph_.nodes == ("x1", "x2", "x3")
    assert learner.causal_graph_.v_structures() == {("x1", "x2", "x3")}
    assert learner.causal_graph_ in learner.equivalence_class_


def test_scikit_learns_checks():
    # Few runs: the checks ask whether the interface holds, not how good the graph is.
    results = check_estimator(bf.BAPLearner(restarts=1, rounds=0, random_state=0), on_skip=None)
    outcomes = [result["status"] for result in results]
    assert outcomes.count("passed") >= max(40, len(outcomes) - 2)
    assert set(outcomes) <= {"passed", "skipped"}


@pytest.mark.parametrize("kind", ["csr_array", "dok_array", "dok_matrix"])
def test_sparse_data_are_refused(kind):
    # The last two are dictionaries of entries, which must not be taken for one of columns.
    data = getattr(sparse, kind)(np.eye(4, 3))
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        bf.BAPLearner().fit(data)


def test_the_attributes_belong_together(fitted):
    names = tuple(fitted.feature_names_in_)
    assert names == bf.datasets.load_demo().names == fitted.causal_graph_.nodes
    model = bf.LinearSEM(fitted.causal_graph_, fitted.B_, fitted.Omega_)
    assert_allclose(fitted.covariance_, model.covariance(), rtol=1e-10)
    # The product of the two is the identity up to rounding times the condition number (< 100).
    assert_allclose(fitted.precision_ @ fitted.covariance_, np.eye(7), atol=1e-12)
    assert (
        bf.formats.from_matrix(fitted.adjacency_matrix_, format="lingam", nodes=names)
        == fitted.causal_graph_
    )
    i, j = names.index("fruit"), names.index("leaves")
    assert fitted.adjacency_matrix_[i, j] == fitted.B_[i, j] != 0
    assert fitted.score_ == fitted.search_result_.score
    assert fitted.score_ == bf.greedy_search(bf.datasets.load_demo(), restarts=4, rng=1).score


def test_score_is_the_likelihood_per_sample(fitted):
    data = bf.datasets.load_demo()
    # On the data of the fit it is the maximal log-likelihood.
    assert fitted.score(data) == pytest.approx(fitted.fitted_model_.loglik / 1000, rel=1e-12)
    stats = pytest.importorskip("scipy.stats")
    new = data.X[:20] + 1.0
    twin = stats.multivariate_normal(fitted.location_, fitted.covariance_).logpdf(new)
    frame = dict(zip(data.names, new.T, strict=True))
    assert_allclose(fitted.score_samples(frame), twin, rtol=1e-10)
    assert fitted.score(frame) == pytest.approx(twin.mean())


def test_means_are_kept(fitted):
    data = bf.datasets.load_demo()
    shift = np.arange(7) * 100.0
    moved = bf.BAPLearner(restarts=4, random_state=1).fit(data.X + shift)
    assert_allclose(moved.location_, fitted.location_ + shift, atol=1e-10)
    assert_allclose(moved.B_, fitted.B_, atol=1e-8)  # the covariances differ by rounding
    assert moved.score(data.X + shift) == pytest.approx(fitted.score(data))


def test_sample(fitted):
    X = fitted.sample(4000, random_state=2)
    assert_array_equal(X, fitted.sample(4000, random_state=2))
    # Five standard errors, sd / sqrt(4000) each; the covariances are those of a model's sample.
    assert (np.abs(X.mean(axis=0) - fitted.location_) < 5 * X.std(axis=0) / 4000**0.5).all()
    model = bf.LinearSEM(fitted.causal_graph_, fitted.B_, fitted.Omega_)
    assert_allclose(X, model.sample(4000, rng=2) + fitted.location_)
    assert fitted.sample(3, random_state=np.random.RandomState(5)).shape == (3, 7)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library, fitted):
    frames = pytest.importorskip(library)
    data = bf.datasets.load_demo()
    learner = bf.BAPLearner(restarts=4, random_state=1).fit(frames.DataFrame(dict(data)))
    assert_array_equal(learner.feature_names_in_, fitted.feature_names_in_)
    assert learner.causal_graph_ == fitted.causal_graph_
    with pytest.raises(ValueError, match="feature names"):
        learner.score(frames.DataFrame({"sun": [1.0], "moon": [2.0]}))


def test_cross_validation_chooses_the_penalty():
    # A penalty of 40 log n removes every edge; held-out likelihood must see that.
    data = bf.datasets.load_demo().X[:300]
    learner = bf.BAPLearner(restarts=2, rounds=0, random_state=0)
    search = GridSearchCV(learner, {"penalty": [0.5, 1.0, 40.0]}, cv=3).fit(data)
    assert search.best_params_["penalty"] in (0.5, 1.0)
    assert search.cv_results_["rank_test_score"][2] == 3
    assert search.best_estimator_.causal_graph_.n_edges >= 5
    scores = cross_val_score(learner, data, cv=3)
    assert_allclose(scores.mean(), search.cv_results_["mean_test_score"][1])


def test_clone_pickle_and_pipeline(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    assert fitted.equivalence_class_.size == 8  # lazy, and not in the way of pickling
    again = pickle.loads(pickle.dumps(fitted))
    assert again.causal_graph_ == fitted.causal_graph_
    assert_array_equal(again.covariance_, fitted.covariance_)
    assert list(again.equivalence_class_) == list(fitted.equivalence_class_)
    X = bf.datasets.load_demo().X
    pipe = make_pipeline(StandardScaler(), bf.BAPLearner(restarts=2, random_state=0)).fit(X)
    # Scaling by the standard deviations adds their logarithms to the log-density.
    alone = bf.BAPLearner(restarts=2, random_state=0).fit(X).score(X)
    assert pipe.score(X) == pytest.approx(alone + np.log(X.std(axis=0)).sum(), abs=1e-9)


def test_a_new_fit_forgets_the_old_class():
    data = bf.datasets.load_demo().X
    learner = bf.BAPLearner(restarts=2, random_state=0).fit(data[:, :3])
    old = learner.equivalence_class_
    assert learner.fit(data[:, 3:]).equivalence_class_ is not old
    assert learner.equivalence_class_.graph == learner.causal_graph_


def test_knowledge_and_class_are_passed_on():
    data = bf.datasets.load_demo()
    known = bf.Knowledge(required=["sun -> leaves"], unconfounded=["pot"])
    learner = bf.BAPLearner(knowledge=known, restarts=2, random_state=0).fit(data)
    assert known.permits(learner.causal_graph_)
    assert all(known.permits(graph) for graph in learner.equivalence_class_)
    assert learner.effect_bounds_.n_members == len(learner.equivalence_class_) == 2
    dag = bf.BAPLearner(graph_class="dag", restarts=2, random_state=0).fit(data)
    assert dag.causal_graph_.is_dag()
    assert dag.score_ < learner.score_


@pytest.mark.parametrize(
    ("options", "X", "problem"),
    [
        ({"penalty": -1.0}, None, "penalty"),
        ({"strategy": "annealing"}, None, "unknown strategy"),
        ({}, [[1.0, 2.0]], "1 sample"),
        ({}, [[1.0, np.nan], [2.0, 3.0]], "NaN"),
        ({}, [[1.0, 2.0], [3.0, 2.0], [4.0, 2.0]], "constant column 'x2'"),
        ({"max_in_degree": 3}, np.sin(np.arange(20.0)).reshape(4, 5), "n = 4 observations do not"),
        ({}, {"x": [1.0, 2.0, 4.0], "y": [1.0, np.inf, 2.0]}, "infinity"),
    ],
)
def test_bad_input(options, X, problem):
    values = bf.datasets.load_demo().X if X is None else X
    with pytest.raises(ValueError, match=problem):
        bf.BAPLearner(**options).fit(values)


def test_before_and_after_the_fit(fitted):
    for method in (lambda e: e.score([[1.0]]), lambda e: e.sample(1), lambda e: e.effect_bounds_):
        with pytest.raises(NotFittedError):
            method(bf.BAPLearner())
    assert not hasattr(bf.BAPLearner(), "equivalence_class_")
    with pytest.raises(bf.errors.DataError, match="those of fit were"):
        fitted.score({"sun": [1.0], "moon": [2.0]})
