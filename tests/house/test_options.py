"""One vocabulary: groups of options and the classes that check them know the same words."""

from dataclasses import fields
from inspect import Parameter, isfunction, signature

import pytest

import bowfree as bf
from bowfree.budget import Budget
from bowfree.model.scoring_rule import ScoringRule
from bowfree.options import (
    BudgetOptions,
    DataOptions,
    ScoreOptions,
    SpaceOptions,
    split_options,
)
from bowfree.search.plan import Strategy, StrategyOptions
from bowfree.uncertainty.averaging import Averaging, AveragingOptions
from bowfree.uncertainty.graph_law import GraphLaw, LawOptions
from bowfree.uncertainty.structure_mcmc import ChainOptions, ChainPlan

PUBLIC = {name: getattr(bf, name) for name in bf.__all__ if isfunction(getattr(bf, name))}


@pytest.mark.parametrize(
    ("group", "checked", "own"),
    [
        (SpaceOptions, bf.SearchSpace, set()),
        (ScoreOptions, ScoringRule, {"origin"}),
        (BudgetOptions, Budget, {"began", "cancelled"}),
        (StrategyOptions, Strategy, {"strategy", "starts"}),
        (ChainOptions, ChainPlan, {"steps", "starts", "known"}),
        (LawOptions, GraphLaw, set()),
        (AveragingOptions, Averaging, set()),
    ],
)
def test_group_and_class_have_the_same_words(group, checked, own):
    assert set(group.__annotations__) == {field.name for field in fields(checked)} - own


def test_split():
    data, space = split_options("f", {"n": 3, "max_edges": 2}, DataOptions, SpaceOptions)
    assert (data, space) == ({"n": 3}, {"max_edges": 2})
    with pytest.raises(bf.BowfreeError, match="f has no option 'max_edge'; did you mean 'max_edg"):
        split_options("f", {"max_edge": 3}, DataOptions, SpaceOptions)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bf.greedy_search(cov=[[1.0]], n=5, restart=3), "did you mean 'restarts'"),
        (lambda: bf.fit(bf.parse("x"), cov=[[1.0]], n=5, wild=3), "fit has no option 'wild'"),
        (lambda: bf.random_bap(3, seed=3), "random_bap has no option 'seed'"),
    ],
)
def test_unknown_word(call, message):
    with pytest.raises(bf.BowfreeError, match=message):
        call()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_signatures_can_be_read(name):
    """A dozen parameters at most, data and graph first, everything else by keyword."""
    parameters = signature(PUBLIC[name]).parameters
    assert len(parameters) <= 12
    assert "g" not in parameters
    positional = [p.name for p in parameters.values() if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    assert len(positional) <= 3
