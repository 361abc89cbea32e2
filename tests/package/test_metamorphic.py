"""Numbers of transformed data: units, signs, names, order, shifts, weights, conditions.

Every public function that computes numbers from data is called with a table and with transformed
copies of it. After units, signs and names are put back, the numbers of a copy must be those of the
table. The table in docs/evidence/reliability.md is the summary of this file.
"""

import inspect
import math

import numpy as np
import pandas as pd
import pytest

import bowfree as bf

NODES = "abce"
N = 240

# Columns of the tables of results that change with the unit of their row, or with its sign only.
WITH_UNITS = {
    "estimate", "bias", "mean", "expected_change", "lower", "upper", "predicted", "residual"
}  # fmt: skip
WITH_POSITIVE_UNITS = {"se", "sd", "min_abs", "max_abs", "mean_abs", "lower_mcse", "upper_mcse"}
WITH_SIGN = {"z", "std_all", "statistic", "value", "skewness"}
OPPOSITE = [("lower", "upper"), ("lower_mcse", "upper_mcse"), ("positive", "negative")]
SWAPPED = dict(OPPOSITE) | {after: before for before, after in OPPOSITE}
# Multiples of the log-likelihood, which changes by -N times the sum of the logs of the units.
LOGLIK = {"loglik": 1.0, "score": 1 / N, "aic": -2.0, "bic": -2.0}
REVERSED = {"->": "<-", "<-": "->"}


class Copy:
    """A transformed copy of the table; its methods put units, signs and names back."""

    def __init__(self, data, unit=None, names=None, shift=None):
        self.data = data
        self.shift = shift or {}
        self.unit = dict.fromkeys(NODES, 1.0) | (unit or {})
        self.names = names or {name: name for name in NODES}
        self.original = {new: old for old, new in self.names.items()}
        graph = bf.parse("a -> b <-> c -> e -> b").relabel(self.names)
        columns = getattr(data, "columns", graph.nodes)
        self.graph = graph.reorder([name for name in columns if name in self.original])

    def row_key(self, row):
        """Return the nodes that a row is about, by their original names, and its unit."""
        if "of" in row or row.get("mark") == "on":
            of, on = (
                self.original[row.get("of", row.get("a"))],
                self.original[row.get("on", row.get("b"))],
            )
            return (of, on), self.unit[on] / self.unit[of]
        if "b" in row:
            a, b = self.original[row["a"]], self.original[row["b"]]
            marks = tuple(row.get(name, "") for name in ("mark", "before", "after"))
            if a > b:
                a, b, marks = b, a, tuple(REVERSED.get(mark, mark) for mark in marks)
            given = tuple(sorted(self.original[name] for name in row.get("given", ())))
            if marks[0] in REVERSED:
                cause, effect = (a, b) if marks[0] == "->" else (b, a)
                return (a, marks, b), self.unit[effect] / self.unit[cause]
            return (a, marks, b, given), self.unit[a] * self.unit[b]
        for column in ("variable", "name"):
            if column in row:
                name = self.original[row[column]]
                row["mean"] -= self.shift.get(name, 0.0)
                return name, self.unit[name]
        return row.get("penalty"), 1.0

    def table(self, label, result):
        """Yield the numbers of a table of results."""
        for row in result.to_frame().to_dict("records"):
            key, unit = self.row_key(row)
            yield from self.row(label, key, unit, row)

    def row(self, label, key, unit, row):
        """Yield the numbers of a row, given its unit."""
        for column, value in row.items():
            if isinstance(value, bool | np.bool_ | str) or not np.isscalar(value):
                continue
            if unit < 0:
                column = SWAPPED.get(column, column)
            if column in WITH_UNITS:
                value = value / unit
            elif column in WITH_POSITIVE_UNITS:
                value = value / abs(unit)
            elif column in WITH_SIGN:
                value = value * math.copysign(1.0, unit)
            yield (label, key, column), float(value)

    def loglik(self, name, value):
        return value + LOGLIK[name] * N * sum(math.log(abs(unit)) for unit in self.unit.values())

    def scalars(self, label, result, names):
        for name in names.split():
            value = getattr(result, name)
            yield (label, name), float(self.loglik(name, value) if name in LOGLIK else value)

    def value(self, **values):
        """Return values of variables, in the names, units and with the shifts of the copy."""
        return {self.names[k]: v * self.unit[k] + self.shift.get(k, 0.0) for k, v in values.items()}

    def edges(self, label, graph):
        """Yield an entry for each edge of a graph that was found."""
        for cause, effect in graph.directed:
            yield (label, self.original[cause], "->", self.original[effect]), 1.0
        for pair in graph.bidirected:
            yield (label, *sorted(self.original[name] for name in pair)), 1.0


def numbers_of_fit(copy, **options):
    fit = bf.fit(copy.graph, copy.data, **options)
    yield from copy.table("estimates", fit)
    yield from copy.table("total effects", fit.total_effects())
    yield from copy.table("modification indices", fit.modification_indices())
    yield from copy.scalars("fit", fit, "chi2 df p_value cfi tli rmsea srmr n_parameters")
    if not {"missing", "fixed_x"} & options.keys():  # their likelihood has another unit
        yield from copy.scalars("fit", fit, "loglik score aic bic")


def incomplete(copy):
    """Return the copy with missing values: each is chosen by the values of its row."""
    data = copy.data.copy()
    first, last = copy.names["a"], copy.names["e"]
    rank = data[last].mul(copy.unit["e"]).rank()
    data.loc[rank % 5 == 0, first] = np.nan
    data.loc[rank % 7 == 0, copy.names["b"]] = np.nan
    return Copy(data, copy.unit, copy.names, copy.shift)


def cut(copy):
    """Return the rows in two conditions; in the second, c is a target."""
    second = copy.data[copy.names["e"]].mul(copy.unit["e"]).rank() % 2 == 0
    return [
        bf.Condition(copy.data[~second], name="none"),
        bf.Condition(copy.data[second], targets=[copy.names["c"]], name="c"),
    ]


def numbers_of_joint_fit(copy, **options):
    fit = bf.fit(copy.graph, cut(copy), **options)
    yield from copy.table("estimates", fit)
    yield from copy.table("total effects", fit.total_effects())
    yield from copy.scalars("fit", fit, "loglik score aic bic chi2 df p_value rmsea n_parameters")


def numbers_of_comparison(copy):
    smaller = copy.graph.remove(directed=[(copy.names["a"], copy.names["b"])])
    comparison = bf.compare([copy.graph, smaller], copy.data)
    for fit in comparison.fits:
        yield from copy.scalars(fit.n_parameters, fit, "loglik chi2 aic bic")
    for row in comparison.pairs:
        yield ("pair", "p"), row.p_value


def numbers_of_search(copy, search, **options):
    result = search(copy.data, **options)
    yield from copy.scalars("search", result, "score")
    for graph in result.best_graphs:
        yield from copy.edges("best graphs", graph)


def numbers_of_class(copy):
    members = bf.empirical_class(copy.graph, copy.data, epsilon=0.01)
    yield ("class", "size"), float(members.size)
    yield from copy.table("class", members)


def numbers_of_penalties(copy):
    choice = bf.choose_penalty(copy.data, penalties=[0.5, 1.0], cv=3, rng=1)
    for row in choice.rows:
        yield (row.penalty, "score"), copy.loglik("score", row.loglik)
        yield (row.penalty, "n_edges"), row.n_edges


def numbers_of_exclusion(copy):
    found = bf.exclude_members(copy.graph, copy.data)
    yield ("class", "size"), float(found.members.size)
    yield from copy.table("edges", found)


def numbers_of_nongaussianity(copy):
    for row in bf.nongaussianity(copy.graph, copy.data):
        name = copy.original[row.variable]
        yield (name, "skewness"), row.skewness * math.copysign(1.0, copy.unit[name])
        yield (name, "kurtosis"), row.kurtosis


def numbers_of_vuong(copy):
    """Compare graphs that are not nested."""
    a, c, e = (copy.names[name] for name in "ace")
    other = copy.graph.remove(directed=[(a, copy.names["b"]), (c, e)]).add(directed=[(a, e)])
    (row,) = bf.compare([copy.graph, other], copy.data).pairs
    for name in ("loglik", "statistic", "p_value", "p_distinguishable"):
        yield (row.test, name), row[name]


def numbers_of_bollen_stine(copy):
    again = bf.bootstrap_fit(copy.graph, copy.data, n_bootstrap=40, bollen_stine=True, rng=1)
    yield from (((k, "chi2"), value) for k, value in enumerate(again.chi2_draws))


def numbers_of_distribution(copy):
    found = bf.data.diagnose(copy.data)
    yield from copy.table("diagnose", found)
    yield from copy.scalars("Mardia", found.mardia, "skewness kurtosis p_skewness p_kurtosis")
    for k, row in enumerate(found.outliers):
        yield (k, "distance"), row.distance2
        yield (k, "p"), row.p_value


def numbers_of_missing_values(copy):
    copy = incomplete(copy)
    yield from numbers_of_distribution(copy)
    yield ("Little", "chi2"), bf.moments(copy.data, missing="two-stage").missing_values.statistic


def of_on(copy, of, on):
    return {"of": copy.names[of], "on": copy.names[on]}, copy.unit[on] / copy.unit[of]


def numbers_of_paths(copy):
    question, unit = of_on(copy, "c", "b")
    fit = bf.fit(copy.graph, copy.data)
    found = bf.effects.path_effects(fit, **question, through=copy.names["e"])
    for k, row in enumerate(found.to_frame().to_dict("records")):
        yield from copy.row("paths", k, unit, row)


def numbers_of_path_bounds(copy):
    question, unit = of_on(copy, "c", "b")
    bounds = bf.effects.path_effect_bounds(copy.graph, copy.data, **question)
    for k, row in enumerate(bounds.to_frame().to_dict("records")):
        yield from copy.row("bounds", k, unit, row)


def numbers_of_sensitivity(copy):
    question, unit = of_on(copy, "e", "b")
    found = bf.effects.sensitivity(bf.fit(copy.graph, copy.data), **question)
    yield from copy.row("effect", "", unit, {**vars(found), "error_correlation": math.nan})
    yield ("errors", "value"), found.error_correlation * math.copysign(1.0, unit)
    for row in found.rows:
        yield from copy.row("benchmark", copy.original[row.variable], unit, dict(row))


def numbers_of_waves(copy):
    """Rename the variables to two waves of two variables."""
    waves = dict(zip(copy.names.values(), ("x_1", "y_2", "y_1", "x_2"), strict=True))
    fit = bf.fit(copy.graph.relabel(waves), copy.data.rename(columns=waves))
    original = {wave: copy.original[name] for name, wave in waves.items()}
    for row in bf.effects.lagged_effects(fit):
        of, on = original[f"{row.of}_{row.wave - row.lag}"], original[f"{row.on}_{row.wave}"]
        yield from copy.row("lags", (of, on), copy.unit[on] / copy.unit[of], dict(row))


def numbers_of_rows(copy):
    """Predict, and compute errors, of single rows."""
    fit, by_row = bf.fit(copy.graph, copy.data), copy.data.index
    prediction = fit.predict(copy.data.drop(columns=copy.names["b"]))[copy.names["b"]]
    shift = copy.shift.get("b", 0.0)
    for k, value in zip(by_row, prediction, strict=True):
        yield (k, "prediction"), (value - shift) / copy.unit["b"]
    residuals = fit.residuals(copy.data)
    for name in NODES:
        for k, value in zip(by_row, residuals[copy.names[name]], strict=True):
            yield (k, name), value / copy.unit[name]
    for k, value in zip(by_row, residuals.distance, strict=True):
        yield (k, "distance"), value


def numbers_of_estimator(copy):
    learner = bf.BAPLearner(random_state=1).fit(copy.data)
    yield ("search", "score"), copy.loglik("score", learner.score_)
    yield ("rows", "score"), copy.loglik("score", learner.score(copy.data))
    unit = np.array([copy.unit[copy.original[name]] for name in copy.data.columns])
    names = [copy.original[name] for name in copy.data.columns]
    matrices = {
        "covariance": learner.covariance_ / np.outer(unit, unit),
        "precision": learner.precision_ * np.outer(unit, unit),
    }
    for label, matrix in matrices.items():
        for (i, j), value in np.ndenumerate(matrix):
            yield (names[i], names[j], label), value


def groups(copy):
    """Return the rows' clusters: each is chosen by the values of the row."""
    return (copy.data[copy.names["e"]].mul(copy.unit["e"]).rank() % 20).astype(int).to_numpy()


def numbers_of_nominal(copy):
    """Add an unordered variable of three categories, a cause of b."""
    kind = np.array(["u", "v", "w"])[groups(copy) % 3]
    graph = copy.graph.add(nodes=["kind"], directed=[("kind", copy.names["b"])])
    fit = bf.fit(graph, copy.data.assign(kind=kind), nominal=["kind"])
    yield ("fit", "score"), copy.loglik("score", fit.score)
    for row in fit.estimates():
        ends = sorted(copy.original.get(name, name) for name in (row.a, row.b))
        yield (*ends, row.mark == "<->", "z"), abs(row.z)


def score_of(copy, score):
    return [(("score",), copy.loglik("score", score))]


def average(copy, *given, **options):
    return copy.table("averages", bf.averaged_effects(*given, **options))


def table_of(function, **options):
    return lambda copy: copy.table(function.__name__, function(copy.graph, copy.data, **options))


def table_of_data(function, **options):
    return lambda copy: copy.table(function.__name__, function(copy.data, **options))


FUNCTIONS = {
    "moments": table_of_data(bf.moments),
    "diagnose": numbers_of_distribution,
    "fit": numbers_of_fit,
    "fit, robust": lambda copy: numbers_of_fit(copy, se="robust", test="satorra-bentler"),
    "fit, sandwich": lambda copy: numbers_of_fit(copy, se="robust-huber-white"),
    "fit, yuan-bentler": lambda copy: numbers_of_fit(copy, test="yuan-bentler"),
    "fit, fixed x": lambda copy: numbers_of_fit(copy, se="robust", fixed_x=True),
    "fit, ricf": lambda copy: numbers_of_fit(copy, method="ricf"),
    "fit, fiml": lambda copy: numbers_of_fit(incomplete(copy), missing="fiml"),
    "fit, two-stage": lambda copy: numbers_of_fit(incomplete(copy), missing="two-stage"),
    "fit, conditions": numbers_of_joint_fit,
    "fit, shared means": lambda copy: numbers_of_joint_fit(copy, means="shared"),
    "score": lambda copy: score_of(copy, bf.score(copy.graph, copy.data)),
    "district_scores": lambda copy: score_of(
        copy, bf.model.district_scores(copy.graph, copy.data).total
    ),
    "compare": numbers_of_comparison,
    "edge_changes": table_of(bf.edge_changes),
    "constraint_tests": table_of(bf.constraint_tests),
    "independence_tests": table_of(bf.independence_tests),
    "exclude_members": numbers_of_exclusion,
    "nongaussianity": numbers_of_nongaussianity,
    "intervene": lambda copy: copy.table(
        "do", bf.intervene(bf.fit(copy.graph, copy.data), do=copy.value(a=2.0))
    ),
    "effect_bounds": lambda copy: copy.table(
        "bounds", bf.effect_bounds(bf.equivalence_class(copy.graph), copy.data)
    ),
    "empirical_class": numbers_of_class,
    "bootstrap_fit": table_of(bf.bootstrap_fit, n_bootstrap=60, rng=1),
    "diagnose, missing": numbers_of_missing_values,
    "fit, clusters": lambda copy: numbers_of_fit(copy, clusters=groups(copy)),
    "fit, nominal": numbers_of_nominal,
    "fit, rows": numbers_of_rows,
    "score, nongaussian": lambda copy: score_of(
        copy, bf.score(copy.graph, copy.data, errors="nongaussian")
    ),
    "compare, not nested": numbers_of_vuong,
    "path_effects": numbers_of_paths,
    "path_effect_bounds": numbers_of_path_bounds,
    "sensitivity": numbers_of_sensitivity,
    "lagged_effects": numbers_of_waves,
    "bootstrap_fit, bollen_stine": numbers_of_bollen_stine,
    "BAPLearner": numbers_of_estimator,
    "exhaustive_search": lambda copy: numbers_of_search(copy, bf.exhaustive_search),
    "exact_search": lambda copy: numbers_of_search(copy, bf.exact_search, rng=1),
    "greedy_search": lambda copy: numbers_of_search(copy, bf.greedy_search, rng=1),
    "structure_mcmc": table_of_data(bf.structure_mcmc, rng=1, steps=4000),
    "averaged_effects": lambda copy: average(copy, [copy.graph], copy.data),
    "averaged_effects, conditions": lambda copy: average(copy, [copy.graph], cut(copy)),
    "averaged_effects, search": lambda copy: average(
        copy, bf.greedy_search(copy.data, rng=1), steps=4000, rng=1
    ),
    "bootstrap": table_of_data(bf.bootstrap, n_resamples=40, rng=1),
    "choose_penalty": numbers_of_penalties,
    "stability_selection": table_of_data(bf.stability_selection, n_halves=10, rng=1),
}


def test_all_functions_of_data_are_here():
    arguments = {"data", "fit", "model"}
    of_data = {
        name
        for module in (bf, bf.data, bf.effects, bf.model)
        for name, function in vars(module).items()
        if inspect.isfunction(function) and arguments & {*inspect.signature(function).parameters}
    }
    assert of_data - {"workbench"} <= {name.split(",")[0] for name in FUNCTIONS}


@pytest.fixture(scope="module")
def data():
    graph = bf.parse("a -> b <-> c -> e -> b")
    return bf.random_sem(graph, rng=1).sample(N, rng=3, as_frame="pandas") + 0.5


@pytest.fixture(scope="module")
def plain(data):
    """Return the numbers of a function for the table as it is, computed once."""
    known = {}

    def numbers(name):
        if name not in known:
            known[name] = dict(FUNCTIONS[name](Copy(data)))
        return known[name]

    return numbers


def units(data):
    unit = {"a": 2.0**10, "c": 2.0**-7, "e": 2.0**3}
    return Copy(data.assign(**{name: data[name] * unit[name] for name in unit}), unit=unit)


def signs(data):
    return Copy(data.assign(b=-data["b"], c=-data["c"]), unit={"b": -1.0, "c": -1.0})


def names(data):
    new = {"a": "zz", "b": "b b", "c": "A", "e": "é"}
    return Copy(data.rename(columns=new), names=new)


def columns(data):
    return Copy(data[["e", "b", "a", "c"]])


def rows(data):
    return Copy(data.iloc[np.random.default_rng(0).permutation(N)])


def shifts(data):
    shift = {"a": 1024.0, "b": -50.0, "e": 3.0}
    return Copy(data.assign(**{name: data[name] + shift[name] for name in shift}), shift=shift)


# Functions that draw rows by their position: with the rows in another order they draw others.
DRAWS_ROWS = {"bootstrap_fit", "bootstrap", "choose_penalty", "stability_selection"}
# Equal to rounding only: differences of log-likelihoods, weights computed from them, two tails of
# one distribution, and quantiles between two values.
ROUNDED = {
    ("units", "averaged_effects, search"),
    ("units", "edge_changes"),
    ("units", "compare, not nested"),
    ("signs", "diagnose"),
    ("signs", "diagnose, missing"),
    ("signs", "bootstrap"),
    ("signs", "bootstrap_fit"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", [units, signs, names, columns, rows, shifts])
def test_numbers(data, plain, transform, name):
    if transform is rows and name.split(",")[0] in DRAWS_ROWS:
        pytest.skip("draws rows by their position")
    found, expected = dict(FUNCTIONS[name](transform(data))), plain(name)
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    exact = transform in (units, signs, names) and (transform.__name__, name) not in ROUNDED
    # Rounding decides which graphs with nearly the same effect are one component of a mixture.
    rel = 1e-5 if name == "averaged_effects, search" else 1e-8
    for key, value in expected.items():
        if name == "structure_mcmc" and transform is columns:
            if key[-1] in ("frequency", "probability"):
                assert found[key] == pytest.approx(value, abs=0.05), key
        elif exact and key[-1] not in LOGLIK:
            np.testing.assert_array_equal(found[key], value, err_msg=str(key))
        else:
            assert found[key] == pytest.approx(value, rel=rel, abs=1e-9, nan_ok=True), key


def test_integer_weights_are_repeated_rows(data):
    """Estimates are the same. The number of observations is that of equal weights (Kish)."""
    weight = np.random.default_rng(0).integers(1, 4, size=N)
    repeated, graph = data.loc[data.index.repeat(weight)], Copy(data).graph
    moments = bf.moments(data, weights=weight)
    assert moments.n == pytest.approx(weight.sum() ** 2 / (weight**2).sum(), abs=0.5)
    np.testing.assert_allclose(moments.S, bf.moments(repeated).S, rtol=1e-12)
    np.testing.assert_allclose(moments.mean, bf.moments(repeated).mean, rtol=1e-12)
    weighted = bf.fit(graph, data, weights=weight).to_frame()
    columns = ["a", "mark", "b", "estimate", "std_all"]
    pd.testing.assert_frame_equal(
        weighted[columns], bf.fit(graph, repeated).to_frame()[columns], rtol=1e-9
    )
    members = bf.equivalence_class(graph)
    pd.testing.assert_frame_equal(
        bf.effect_bounds(members, data, weights=weight).to_frame(),
        bf.effect_bounds(members, repeated).to_frame(),
        rtol=1e-9,
    )


def test_conditions_without_difference(data):
    """One table, cut into two conditions with shared means: the same estimates and scores."""
    graph = Copy(data).graph
    halves = [bf.Condition(data.iloc[::2], name="even"), bf.Condition(data.iloc[1::2], name="odd")]
    whole, parts = bf.fit(graph, data), bf.fit(graph, halves, means="shared")
    pd.testing.assert_frame_equal(whole.to_frame(), parts.to_frame(), rtol=1e-7)
    assert parts.loglik == pytest.approx(whole.loglik, rel=1e-12)
    assert (parts.n_parameters, parts.bic) == (whole.n_parameters, pytest.approx(whole.bic))
    found = bf.greedy_search(halves, means="shared", rng=1)
    assert found.score == pytest.approx(bf.greedy_search(data, rng=1).score, rel=1e-12)
    average_of_whole = bf.averaged_effects([graph], data)
    average_of_parts = bf.averaged_effects([graph], halves, means="shared")
    np.testing.assert_allclose(average_of_parts.mean, average_of_whole.mean, atol=1e-9)
    np.testing.assert_allclose(
        average_of_parts.probability, average_of_whole.probability, atol=1e-9
    )


@pytest.mark.parametrize("correlation", ["spearman", "kendall"])
def test_ranks(data, correlation):
    """Monotone transformations do not change ranks, and thus no number."""
    graph = Copy(data).graph
    plain = bf.fit(graph, data, correlation=correlation)
    curved = bf.fit(graph, np.exp(data), correlation=correlation)
    pd.testing.assert_frame_equal(curved.to_frame(), plain.to_frame(), check_exact=True)


NORMAL = {"se": "standard"}


@pytest.mark.parametrize("options", [NORMAL, {}, {"correlation": "spearman"}, {"weights": "w"}])
@pytest.mark.parametrize("order", ["abcef", "fecba"])
def test_intervals_of_an_average_of_one_graph_are_those_of_its_fit(order, options):
    """Skewed data, and a class of one member: intervals are those of the robust total effects.

    The parents of b are inside its district (c) and outside it (a). The tolerance is for the
    information with normal errors: observed in the average, expected in the fit.
    """
    edges = ["a -> b", "c -> b", "c <-> e", "e <-> b", "b -> f", "f <-> a"]
    graph = bf.parse(", ".join(edges)).reorder(list(order))
    data = bf.random_sem(graph, rng=5).sample(600, rng=6, as_frame="pandas")
    if options != NORMAL:
        data += 0.3 * data**2
    if "weights" in options:
        data["w"] = np.random.default_rng(7).uniform(0.2, 3, size=len(data))
    found = bf.averaged_effects([graph], data, knowledge=bf.Knowledge(required=edges), **options)
    assert found.se == options.get("se", "robust")
    effects = bf.fit(graph, data, **{"se": "robust-huber-white"} | options).total_effects()
    rel = 0.02 if options == NORMAL else 2e-3
    for cause, on in ("ab", "cb", "cf", "bf", "af"):
        averaged, fitted = (table.effect(of=cause, on=on) for table in (found, effects))
        assert averaged.mean == pytest.approx(fitted.estimate, abs=rel * fitted.se)
        half = (averaged.upper - averaged.lower) / 2
        assert half == pytest.approx(1.959963984540054 * fitted.se, rel=rel)
