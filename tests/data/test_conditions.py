"""Data of several conditions: reading, targets, and errors."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bowfree as bf

RNG = np.random.default_rng(0)
WATCHED = pd.DataFrame(RNG.normal(size=(40, 3)), columns=list("xyz")).assign(
    y=lambda t: t.x + t.y, z=lambda t: t.y - t.z
)
TREATED = pd.DataFrame(RNG.normal(size=(30, 3)), columns=list("xyz")).assign(
    z=lambda t: t.y - t.z, x=lambda t: t.x + 5
)
CHAIN = bf.parse("x -> y -> z")


def given(**options):
    return [bf.Condition(WATCHED, name="watched"), bf.Condition(TREATED, name="treated", **options)]


def table():
    """Both conditions below each other, with a column that says which is which."""
    return pd.concat([WATCHED.assign(batch="watched"), TREATED.assign(batch="treated")])


# --- reading ---


def test_conditions_are_centered_one_by_one():
    moments = bf.moments(given())
    expected = (40 * WATCHED.cov(ddof=0) + 30 * TREATED.cov(ddof=0)) / 70
    np.testing.assert_allclose(moments.S, expected, rtol=1e-12)
    assert moments.n == 70
    assert moments.names == ("x", "y", "z")


def test_one_condition_without_targets_is_data_like_any_other():
    one = bf.moments([bf.Condition(WATCHED)])
    assert type(one) is bf.Moments
    np.testing.assert_array_equal(one.S, bf.moments(WATCHED).S)
    matrix = bf.Condition(cov=WATCHED.cov(), n=40)
    np.testing.assert_array_equal(
        bf.fit(CHAIN, [matrix]).B, bf.fit(CHAIN, cov=WATCHED.cov(), n=40).B
    )
    incomplete = WATCHED.mask(WATCHED > 2)
    assert bf.fit(CHAIN, [bf.Condition(incomplete)], missing="fiml").full_information


def test_a_column_that_says_the_condition():
    made = bf.conditions(table(), column="batch", targets={"treated": ["y"]})
    assert [c.name for c in made] == ["watched", "treated"]
    by_hand = bf.moments(given(targets=["y"]))
    for frame in (table(), pl.from_pandas(table()), dict(table())):
        read = bf.moments(bf.conditions(frame, column="batch", targets={"treated": ["y"]}))
        assert read._same_as(by_hand)


def test_numbers_name_conditions():
    frame = table().assign(batch=lambda t: np.where(t.batch == "watched", 1, 2))
    made = bf.conditions(frame, column="batch", targets={2: ["y"]})
    assert [(c.name, c.targets) for c in made] == [("1", ()), ("2", ("y",))]
    kinds = bf.conditions(frame * 1.0, column="batch", targets={1: ["x"]}, kind={1: "noise"})
    assert [(c.name, c.kind) for c in kinds] == [("1", "noise"), ("2", "perfect")]


def test_columns_in_another_order_are_matched_by_name():
    turned = [bf.Condition(WATCHED), bf.Condition(TREATED[["z", "x", "y"]], targets=["y"])]
    straight = [bf.Condition(WATCHED), bf.Condition(TREATED, targets=["y"])]
    assert bf.moments(turned)._same_as(bf.moments(straight))


def test_moments_of_rows_and_of_matrices_are_the_same():
    matrices = [
        bf.Condition(cov=WATCHED.cov(ddof=0), n=40, ddof=0, name="watched"),
        bf.Condition(bf.moments(TREATED), targets=["y"], name="treated"),
    ]
    rows = bf.fit(CHAIN, given(targets=["y"]))
    np.testing.assert_allclose(bf.fit(CHAIN, matrices).B, rows.B, rtol=1e-12)


def test_the_graph_picks_its_columns():
    fit = bf.fit(bf.parse("y -> z"), given(targets=["y"]))
    assert fit.graph.nodes == ("y", "z")
    joint = bf.moments(given(targets=["y"]))
    assert bf.moments(joint, graph=bf.parse("z <- y")).names == ("z", "y")
    with pytest.raises(
        bf.errors.DataError, match=r"condition 'treated' has the target 'y', which affects"
    ):
        joint.take(["x", "z"])


def test_a_target_may_be_held_constant():
    fixed = TREATED.assign(y=3.0)
    moments = bf.moments([bf.Condition(WATCHED), bf.Condition(fixed, targets=["y"])])
    assert not moments.conditions[1].varies[1]
    assert (moments.conditions[1].S[1] == 0).all()
    cov = fixed.cov(ddof=0)
    same = bf.moments([bf.Condition(WATCHED), bf.Condition(cov=cov, n=30, ddof=0, targets=["y"])])
    np.testing.assert_allclose(same.conditions[1].S, moments.conditions[1].S, atol=1e-12)


def test_few_rows_are_enough_beside_others():
    few = bf.Condition(TREATED[:2], targets=["y"])
    fit = bf.fit(CHAIN, [bf.Condition(WATCHED), few])
    assert fit.converged
    assert np.isnan(fit.chi2)  # two rows of three variables have no saturated model
    with pytest.raises(bf.errors.DataError, match="n = 3 observations of 3 variables"):
        bf.moments([bf.Condition(WATCHED[:2]), bf.Condition(WATCHED[2:4])])


def test_joint_moments_are_an_object_like_others():
    moments = bf.moments(given(targets=["y"]))
    assert repr(moments) == (
        "<JointMoments: 70 observations of 3 variables in 2 conditions, targets y>"
    )
    assert "treated" in str(moments)
    again = pickle.loads(pickle.dumps(moments))
    assert again._same_as(moments)
    assert json.loads(json.dumps(moments.to_dict()))["conditions"][1]["targets"] == ["y"]
    assert moments.without_rows().conditions[0].deviations is None
    assert bf.data.JointMoments(moments.conditions)._same_as(moments)


# --- functions that need one covariance matrix ---


@pytest.mark.parametrize(
    "call",
    [
        lambda data: bf.moments(data).S,
        lambda data: bf.moments(data).Gamma,
        lambda data: bf.fit(CHAIN, data).residual_correlations(),
        lambda data: bf.fit(CHAIN, data).modification_indices(),
        lambda data: bf.constraint_tests(CHAIN, data),
        lambda data: bf.empirical_class(CHAIN, data),
    ],
)
def test_with_targets_there_is_no_single_matrix(call):
    with pytest.raises(
        bf.errors.DataError, match=r"interventions \(on y\) have no common covariance"
    ):
        call(given(targets=["y"]))


# --- bad input ---


def two(second, **options):
    return [bf.Condition(WATCHED), bf.Condition(second, **options)]


NO_COVARIANCE = pd.DataFrame([[0, 0.1, 0], [0.1, 1, 0], [0, 0, 1]], columns=list("xyz"))
BAD = {
    "unknown target": (lambda: given(targets=["q"]), r"condition 'treated': targets: no variable"),
    "a target everywhere": (
        lambda: [bf.Condition(WATCHED, targets=["y"]), bf.Condition(TREATED, targets=["y", "x"])],
        "'y' is a target in every condition",
    ),
    "constant, and no target": (
        lambda: two(TREATED.assign(y=3.0), targets=["x"]),
        "condition '2': constant column 'y'; if a column was held fixed, add it to `targets`",
    ),
    "constant where another is free": (
        lambda: [
            bf.Condition(WATCHED, targets=["x"]),
            two(TREATED.assign(y=3.0), targets=["y"])[1],
        ],
        "'y' is constant in all conditions without the target 'x'",
    ),
    "other columns": (lambda: two(TREATED.rename(columns={"z": "w"})), "columns .'w', 'z'"),
    "two of one name": (
        lambda: [bf.Condition(WATCHED, name="a"), bf.Condition(TREATED, name="a")],
        "two conditions are named 'a'",
    ),
    "something else among them": (
        lambda: [bf.Condition(WATCHED), TREATED],
        "entry 1 of the data is of type DataFrame, others are conditions",
    ),
    "moments of incomplete rows": (
        lambda: two(bf.moments(TREATED.mask(TREATED > 6), missing="fiml")),
        "condition '2': n = .*: several conditions need complete unweighted rows",
    ),
    "conditions in a condition": (lambda: two(bf.moments(given())), "its data are several"),
    "variance without covariances": (
        lambda: two(None, cov=NO_COVARIANCE, n=30, targets=["x"]),
        "cov has covariances of 'x', whose variance is 0",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_conditions_are_refused(case):
    make, message = BAD[case]
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(make())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither was given"),
        ({"data": WATCHED, "n": 40}, "n = 40: cannot be combined with `data`"),
        ({"cov": np.eye(3), "n": 40, "ddof": 2}, "ddof = 2"),
        ({"data": WATCHED, "targets": "y"}, r"targets = 'y': must be a list of names, such as"),
        ({"data": WATCHED, "targets": ["y", "y"]}, "a variable is listed twice"),
        ({"data": WATCHED, "kind": "magic"}, "unknown kind 'magic'"),
    ],
)
def test_bad_options_of_a_condition(options, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.Condition(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "day"}, "column = 'day': the data have no such column"),
        ({"column": "batch", "targets": {"b": ["y"]}}, "targets: no condition 'b'"),
        ({"column": "batch", "kind": {"b": "noise"}}, "kind: no condition 'b' in column"),
        ({"column": "batch", "kind": {"treated": "magic"}}, "unknown kind 'magic'"),
        ({"column": "batch", "targets": ["y"]}, "must be a mapping from conditions"),
    ],
)
def test_bad_options_of_a_table(options, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.conditions(table(), **options)


BAD_TABLES = [
    (table().assign(batch=lambda t: t.batch.where(t.batch != "treated")), "30 missing values, the"),
    (np.array(WATCHED), "not ndarray"),
    (pd.DataFrame(np.eye(4)[:, :3], columns=[1, None, ("a", "b")]), "no such column, only 1, None"),
    (pd.DataFrame(np.eye(4)[:, :3], columns=["a", "a", "b"]), "several columns|no such"),
]


@pytest.mark.parametrize(("frame", "message"), BAD_TABLES)
def test_bad_tables(frame, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.conditions(frame, column="batch")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "fiml"},
        {"weights": np.ones(40)},
        {"cov": np.eye(3), "n": 10},
    ],
)
def test_what_is_for_one_table_is_refused(options):
    word = next(iter(options))
    for data in (given(), bf.moments(given(targets=["y"]))):
        with pytest.raises(
            bf.errors.DataError, match=f"(?s){word} = .* cannot be combined with several conditions"
        ):
            bf.moments(data, **options)


def test_incomplete_rows_are_dropped_in_each_condition():
    incomplete = TREATED.mask(TREATED > 6)
    data = [
        bf.Condition(WATCHED, name="watched"),
        bf.Condition(incomplete, targets=["x"], name="treated"),
    ]
    found = bf.moments(data, missing="listwise")
    complete = bf.moments(
        [data[0], bf.Condition(incomplete.dropna(), targets=["x"], name="treated")]
    )
    assert found._same_as(complete)
    assert found.notes[0].startswith("condition 'treated': ")
    assert found.notes[0] in str(found)
    assert bf.fit(CHAIN, data, missing="listwise").loglik == bf.fit(CHAIN, complete).loglik
