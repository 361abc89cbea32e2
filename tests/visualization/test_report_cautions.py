"""What the report warns of about the fit, the search and the averages."""

from dataclasses import replace

import numpy as np
import pytest

import bowfree as bf
from bowfree.visualization.report.warnings import cautions, in_doubt
from report_page import Page


def test_cautions_after_a_search():
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    result = bf.greedy_search(cov=S, n=400, rng=0)
    fit, summary = result.fit(), result.equivalence_class().summary()

    def sentences(search, fitted=fit):
        return " ".join(cautions(fitted, fitted.estimates(), summary, search=search))

    assert "chosen on the same data" in sentences(result)
    assert "independent runs" not in sentences(result)
    assert "chosen on the same data" not in sentences(None)
    lonely = [replace(run, score=run.score - 1.0) for run in result.runs[1:]]
    few = replace(result, runs=(result.runs[0], *lonely), complete=False)
    assert "Only 1 of 24 independent runs ended at the best score. Search longer" in sentences(few)
    whole = sentences(replace(few, complete=True))
    assert "best score; in simulations 5 % of such searches missed a better graph." in whole
    assert "ended early" in sentences(few)
    assert not in_doubt(fit, result)
    assert not in_doubt(fit, None)
    assert in_doubt(fit, replace(few, complete=True))
    assert in_doubt(fit, replace(result, complete=False))


def test_nothing_is_called_settled_when_the_graph_is_in_doubt():
    found = bf.parse("w <- x <- y <- z <-> w, x <-> z")  # equivalent to no other
    assert len(bf.equivalence_class(found)) == 1
    X = bf.random_sem(found, rng=1).sample(3000, rng=1)
    data = dict(zip(found.nodes, X.T, strict=True))
    fit = bf.fit(found, data)
    assert "settled by the model" in " ".join(Page(bf.report.render(fit)).text)
    rng = np.random.default_rng(2)
    data["w"], data["y"] = X[:, 0] + (shared := 2 * rng.normal(size=3000)), X[:, 2] + shared
    wrong = bf.fit(found, data)
    assert wrong.p_value < 0.001
    assert in_doubt(wrong, None)
    assert "settled by the model" not in " ".join(Page(bf.report.render(wrong)).text)


@pytest.mark.parametrize(("n", "words"), [(20_000, "see the residual"), (10**7, "negligible")])
def test_a_rejection_with_many_observations_is_put_into_proportion(n, words):
    misfit = 0.1 if n < 10**6 else 0.003
    S = np.array([[1.0, 0.5, 0.25 + misfit], [0.5, 1.0, 0.5], [0.25 + misfit, 0.5, 1.0]])
    fit = bf.fit(bf.parse("x -> y -> z"), cov=S, n=n)
    summary = bf.equivalence_class(fit).summary()
    (found,) = cautions(fit, fit.estimates(), summary)
    assert "rejects the graph (p < 0.001)" in found
    assert words in found


def test_chains_that_have_not_mixed_are_said_so(result):
    rough = bf.averaged_effects(result, rng=0, steps=400, max_steps=400)
    assert not rough.mixed
    text = " ".join(Page(bf.report.render(result, average=rough)).text)
    assert "chains behind the averaged effects have not mixed" in text
