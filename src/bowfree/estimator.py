"""The scikit-learn estimator: a search and a fit behind ``fit(X)``.

The options are parameters of the constructor, and the results are attributes with a trailing
underscore. ``score`` is the log-likelihood of new observations, so that ``GridSearchCV`` can choose
the penalty; the penalized score of the search is the attribute ``score_``. For covariance matrices,
missing values or several conditions use :func:`bowfree.greedy_search`.

This module imports scikit-learn; ``import bowfree`` does not import this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from bowfree.data.conditions import are_conditions
from bowfree.data.covariance import check_cases
from bowfree.data.moments import Moments
from bowfree.data.sample import inverse_covariance
from bowfree.equivalence.class_members import EquivalenceClass
from bowfree.equivalence.comparison import case_logliks
from bowfree.errors import DataError
from bowfree.formats.matrices import to_matrix
from bowfree.model.fitting import fit_quietly
from bowfree.model.linear_sem import LinearSEM
from bowfree.parameters import Errors, GraphClass, Penalty, complete_docstring
from bowfree.search.greedy import greedy_search
from bowfree.search.plan import Strategy, StrategyName
from bowfree.space.knowledge import Knowledge

Floats = npt.NDArray[np.float64]

# Computed on first access, reset by `fit`, and not pickled.
_LAZY = ("equivalence_class_", "effect_bounds_")


class BAPLearner(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a bow-free acyclic path diagram from data.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, RandomState, optional
        Seed or generator. The same seed gives the same result.

    Attributes
    ----------
    causal_graph_ : MixedGraph
        The best graph found; `equivalence_class_` has the graphs that are equivalent to it.
    adjacency_matrix_ : ndarray of shape (d, d)
        lingam's convention: ``[i, j]`` is the direct effect of feature j on feature i, zero without
        an edge, NaN in both ``[i, j]`` and ``[j, i]`` for a hidden common cause (i <-> j).
    B_ : ndarray of shape (d, d)
        ``B_[i, j]`` is the direct effect of feature j on feature i.
    Omega_ : ndarray of shape (d, d)
        Covariance matrix of the errors; a non-zero entry off the diagonal is a bidirected edge.
    location_ : ndarray of shape (d,)
        Means of the features.
    covariance_, precision_ : ndarray of shape (d, d)
        Fitted covariance matrix ``(I-B)^-1 Omega (I-B)^-T`` and its inverse.
    score_ : float
        Penalized score of the graph on the data of ``fit``, which the search has maximized.
    search_result_ : SearchResult
        All runs, and the graphs with similar scores.
    fitted_model_ : Fit
        Standard errors, fit indices, the summary table.
    equivalence_class_ : EquivalenceClass
        The graphs that are equivalent to `causal_graph_` and permitted by the knowledge; computed
        on first access.
    effect_bounds_ : EffectBounds
        Bounds of the total effects over that class, entry ``[i, j]`` for the effect of j on i;
        computed on first access.
    n_features_in_ : int
        Number of features in ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, if the data had names that are all strings.

    See Also
    --------
    bowfree.greedy_search : The underlying function, also for covariance matrices.

    References
    ----------
    Section 3 of the paper.

    Examples
    --------
    >>> import bowfree as bf
    >>> data = bf.datasets.load_demo()
    >>> learner = bf.BAPLearner(random_state=1).fit(data)
    >>> learner.causal_graph_.has_edge("roots <-> fruit")
    True
    >>> len(learner.equivalence_class_)
    8
    """

    def __init__(
        self,
        *,
        penalty: Penalty = 1.0,
        smallest_effect: float = 0.0,
        strategy: StrategyName | Strategy = "ils",
        restarts: int | None = None,
        rounds: int | None = None,
        graph_class: GraphClass = "bap",
        max_in_degree: int | None = None,
        max_district: int | None = None,
        knowledge: Knowledge | None = None,
        shrinkage: float = 0.0,
        errors: Errors = "gaussian",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.smallest_effect = smallest_effect
        self.strategy = strategy
        self.restarts = restarts
        self.rounds = rounds
        self.graph_class = graph_class
        self.max_in_degree = max_in_degree
        self.max_district = max_district
        self.knowledge = knowledge
        self.shrinkage = shrinkage
        self.errors = errors
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> BAPLearner:
        """Search for the best graph and fit it.

        Parameters
        ----------
        X : array_like of shape (n, d), data frame, or mapping from names to columns
            Observations in rows.
        y : None
            Ignored.
        """
        if isinstance(X, Moments) or are_conditions(X):
            raise DataError(
                "BAPLearner requires one table of rows; pass moments or several conditions to "
                "bowfree.greedy_search"
            )
        values = self._values(X, reset=True)
        for name in _LAZY:
            self.__dict__.pop(name, None)
        names = getattr(self, "feature_names_in_", [f"x{i + 1}" for i in range(values.shape[1])])
        options = self.get_params(deep=False)
        rng = _rng(options.pop("random_state"))
        columns = {str(name): column for name, column in zip(names, values.T, strict=True)}
        result = greedy_search(columns, **options, rng=rng)
        fitted = fit_quietly(result)
        self.location_ = values.mean(axis=0)
        self.causal_graph_ = result.graph
        self.score_ = result.score
        self.search_result_ = result
        self.fitted_model_ = fitted
        self.B_ = fitted.B
        self.Omega_ = fitted.Omega
        self.covariance_ = fitted.Sigma
        self.precision_ = inverse_covariance(fitted.Sigma)
        self.adjacency_matrix_ = to_matrix(result.graph, format="lingam", B=fitted.B)
        return self

    def score_samples(self, X: Any) -> Floats:
        """Return the log-density of each observation under the fitted model, shape (n,).

        Parameters
        ----------
        X : array_like of shape (n, d), data frame, or mapping from names to columns
            Observations in rows, with the features of ``fit``.
        """
        check_is_fitted(self)
        values = self._values(X, reset=False)
        check_cases(self.causal_graph_.nodes, values)
        return case_logliks(self.fitted_model_, values - self.location_)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of observations, for cross-validation; higher is better.

        Parameters
        ----------
        X, y
            As for :meth:`fit`, with the same features.
        """
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> Floats:
        """Draw observations from the fitted model, with the means of the data of ``fit``.

        Parameters
        ----------
        n_samples : int
            Number of observations.
        random_state : int, numpy.random.Generator, RandomState, optional
            Seed or generator.
        """
        check_is_fitted(self)
        model = LinearSEM(self.causal_graph_, self.B_, self.Omega_)
        sample: Floats = model.sample(n_samples, rng=_rng(random_state)) + self.location_
        return sample

    @cached_property
    def equivalence_class_(self) -> EquivalenceClass:
        """The graphs equivalent to `causal_graph_` in the search space."""
        check_is_fitted(self)
        return self.search_result_.equivalence_class()

    @cached_property
    def effect_bounds_(self) -> Any:
        """Bounds of total effects over `equivalence_class_`."""
        from bowfree.effects.bounds import effect_bounds

        check_is_fitted(self)
        return effect_bounds(self.search_result_)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _LAZY}

    def _values(self, X: Any, *, reset: bool) -> Floats:
        """Return the observations as an array after a check of names and number of features."""
        options = {"dtype": np.float64, "ensure_min_samples": 2 if reset else 1}
        # Some sparse matrices of SciPy are dicts of their entries; scikit-learn refuses all.
        if issparse(X) or not isinstance(X, Mapping):
            values: Floats = validate_data(self, X, reset=reset, **options)
            return values
        # scikit-learn does not accept mappings, which bowfree.datasets returns.
        columns = {str(name): column for name, column in X.items()}
        if reset:
            self.feature_names_in_ = np.array(list(columns), dtype=object)
            self.n_features_in_ = len(columns)
        expected = getattr(self, "feature_names_in_", None)
        if expected is None or set(columns) != set(expected):
            of_fit = (
                f"{self.n_features_in_} columns without names" if expected is None else expected
            )
            raise DataError(f"the columns are {list(columns)}, but those of fit were {of_fit}")
        named: Floats = check_array(np.column_stack([columns[k] for k in expected]), **options)
        return named


BAPLearner.__doc__ = complete_docstring(BAPLearner).replace("; overrides that of `space`", "")


def _rng(random_state: Any) -> Any:
    """Return an argument for :func:`numpy.random.default_rng`; a RandomState draws a seed."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state
