"""Clusters of rows in moments, searches, averages and the bootstrap of a search."""

import numpy as np
import pandas as pd
import pytest

import bowfree as bf
from bowfree.uncertainty.repeated_searches import Rows
from command_line import run

N_CLUSTERS, SIZE = 40, 10
LABELS = np.repeat([f"s{k}" for k in range(N_CLUSTERS)], SIZE)


def table(icc, seed=0):
    """Return a chain with errors that are correlated within clusters."""
    rng = np.random.default_rng(seed)
    common = np.repeat(rng.normal(size=(N_CLUSTERS, 4)), SIZE, axis=0)
    errors = np.sqrt(icc) * common + np.sqrt(1 - icc) * rng.normal(size=(len(LABELS), 4))
    x = errors[:, 0]
    y = 0.6 * x + errors[:, 1]
    return pd.DataFrame({"x": x, "y": y, "v": errors[:, 2], "w": errors[:, 3]})


def design_effect(data):
    """Return the mean ratio of the variances of correlations, pair by pair."""
    Z = ((data - data.mean()) / data.std(ddof=0)).to_numpy()
    ratios = []
    for i in range(4):
        for j in range(i):
            r = np.mean(Z[:, i] * Z[:, j])
            influence = Z[:, i] * Z[:, j] - r * (Z[:, i] ** 2 + Z[:, j] ** 2) / 2
            sums = [influence[label == LABELS].sum() for label in np.unique(LABELS)]
            ratios.append(np.sum(np.square(sums)) / np.sum(influence**2))
    return max(1.0, np.mean(ratios) * N_CLUSTERS / (N_CLUSTERS - 1))


@pytest.mark.parametrize("icc", [0.0, 0.5])
def test_effective_number_of_rows(icc):
    data = table(icc)
    found = bf.moments(data, clusters=LABELS)
    assert found.n == pytest.approx(len(LABELS) / design_effect(data), abs=0.51)
    assert found.n_rows == len(LABELS)
    assert np.array_equal(found.S, bf.moments(data).S)
    assert "40 clusters" in found.notes[0]
    pair = found.take(["y", "x"])
    assert pair.n == bf.moments(data[["y", "x"]], clusters=LABELS).n


def test_a_column_of_words_and_the_scores_of_all_functions():
    data = table(0.4).assign(school=LABELS)
    moments = bf.moments(data, clusters="school")
    assert moments.names == ("x", "y", "v", "w")
    found = bf.greedy_search(data, clusters="school", rng=1)
    graph = bf.parse("x -> y, nodes: x, y, v, w")
    scores = [bf.score(graph, moments), bf.fit(graph, data, clusters="school").score]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    assert found.score == pytest.approx(bf.score(found.graph, moments), abs=1e-9)
    alone = bf.averaged_effects(bf.greedy_search(data.drop(columns="school"), rng=1), rng=1)
    average = bf.averaged_effects(found, rng=1)
    i, j = average.names.index("y"), average.names.index("x")
    width, narrow = (a.upper[i, j] - a.lower[i, j] for a in (average, alone))
    assert width > narrow


def test_clusters_are_not_divided():
    data = table(0.4).assign(school=LABELS)
    found = bf.greedy_search(data, clusters="school", holdout=0.5, rng=1)
    used, aside = (m.sample for m in (found.moments, found.holdout))
    assert (used.n_rows, aside.n_rows) == (200, 200)
    assert set(np.bincount(used.clusters)) == {SIZE}
    rows = Rows.of(data, clusters="school")
    rng = np.random.default_rng(1)
    for part in (rows.draw(rng), *rows.halves(rng)):
        assert set(np.unique(LABELS[part], return_counts=True)[1] % SIZE) == {0}
    folds = rows.folds(4, rng)
    assert all(len(set(folds[label == LABELS])) == 1 for label in np.unique(LABELS))
    assert rows.moments(np.arange(400)).n == bf.moments(data, clusters="school").n


def test_rows_with_missing_values():
    data = table(0.4).assign(school=LABELS)
    data.loc[:4, "x"] = np.nan
    found = bf.moments(data, clusters="school", missing="listwise")
    assert found.sample.clusters.shape == (395,)
    with pytest.raises(bf.errors.DataError, match="clusters require complete rows of numbers"):
        bf.moments(data, clusters="school", missing="fiml")


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ("class", "clusters = 'class': the data have no such column, only 'x'"),
        (3, "clusters = 3: must be one label for each row"),
        ([1, 2], "one label for each of the 400 rows"),
        ([None] * 400, "missing labels"),
        (["a"] * 400, "at least two clusters"),
    ],
)
def test_bad_clusters(clusters, message):
    with pytest.raises(bf.errors.DataError, match=message):
        bf.moments(table(0.0), clusters=clusters)


def test_identifiers_of_clusters_are_noticed():
    data = table(0.0).assign(id=np.repeat(np.arange(N_CLUSTERS) * 3.0, SIZE))
    with pytest.warns(bf.errors.DataWarning, match=r"id looks like .*clusters.*clusters='id'"):
        bf.greedy_search(data, restarts=1, rng=1)


def test_command_line(tmp_path):
    path = tmp_path / "schools.csv"
    table(0.4).assign(school=LABELS).to_csv(path, index=False)
    fitted = run("fit", path, "--clusters", "school", "--graph", "x -> y").output
    assert "400 observations in 40 clusters" in fitted
    options = ("--restarts", 1, "--clusters", "school")
    assert "x, y" in run("bootstrap", path, *options, "--resamples", 40).output
    assert "one table" in run("fit", path, *options[2:], "--conditions", "v", "--graph", "x -> y",
                              code=2).output  # fmt: skip
