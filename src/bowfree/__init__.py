"""Causal structure learning with hidden confounders, by bow-free acyclic path diagrams (BAPs)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    from bowfree import _core as _core
except ImportError as error:
    raise ImportError(
        "bowfree's compiled core (bowfree._core) is missing: it is built when the package is "
        "installed. Run `pip install .` in the project's folder (a C++20 compiler is all it "
        "needs), and import bowfree from outside the source tree."
    ) from error

from bowfree.atlas import Atlas, atlas
from bowfree.averaging import AveragedEffects, averaged_effects
from bowfree.classes import ClassSummary, EdgeSummary, EquivalenceClass, equivalence_class
from bowfree.constraints import Constraint, ConstraintTests, constraints, test_constraints
from bowfree.effects import EffectBounds, effect_bounds
from bowfree.empirical import EmpiricalClass, empirical_class
from bowfree.equivalence import (
    EquivalenceVerdict,
    contains,
    distinguishing_subgraph,
    equivalent,
    explain_equivalence,
    markov_equivalent,
    same_skeleton_and_colliders,
    same_skeleton_and_v_structures,
)
from bowfree.errors import (
    BowfreeError,
    CheckpointError,
    DataError,
    FitWarning,
    GraphError,
    KnowledgeError,
    ParseError,
)
from bowfree.exhaustive import exhaustive_search
from bowfree.fit import Fit, fit
from bowfree.graph import MixedGraph
from bowfree.intervention import Intervention, intervene
from bowfree.knowledge import Knowledge
from bowfree.paths import Path
from bowfree.penalty_choice import PenaltyChoice, choose_penalty
from bowfree.random_graphs import random_bap
from bowfree.resampling import BootstrapResult, bootstrap
from bowfree.score import district_scores, score
from bowfree.search import greedy_search
from bowfree.search_result import SearchInterrupted, SearchResult
from bowfree.sem import LinearSEM, random_sem
from bowfree.structure_mcmc import StructureSamples, structure_mcmc
from bowfree.text import parse
from bowfree.treks import Trek

if TYPE_CHECKING:
    from bowfree import datasets as datasets
    from bowfree import experiments as experiments
    from bowfree import formats as formats
    from bowfree import plot as plot
    from bowfree import report as report
    from bowfree.estimator import BAPLearner as BAPLearner

__version__ = "0.1.0"

__all__ = [
    "Atlas",
    "AveragedEffects",
    "BAPLearner",
    "BootstrapResult",
    "BowfreeError",
    "CheckpointError",
    "ClassSummary",
    "Constraint",
    "ConstraintTests",
    "DataError",
    "EdgeSummary",
    "EffectBounds",
    "EmpiricalClass",
    "EquivalenceClass",
    "EquivalenceVerdict",
    "Fit",
    "FitWarning",
    "GraphError",
    "Intervention",
    "Knowledge",
    "KnowledgeError",
    "LinearSEM",
    "MixedGraph",
    "ParseError",
    "Path",
    "PenaltyChoice",
    "SearchInterrupted",
    "SearchResult",
    "StructureSamples",
    "Trek",
    "__version__",
    "atlas",
    "averaged_effects",
    "bootstrap",
    "choose_penalty",
    "constraints",
    "contains",
    "datasets",
    "distinguishing_subgraph",
    "district_scores",
    "effect_bounds",
    "empirical_class",
    "equivalence_class",
    "equivalent",
    "exhaustive_search",
    "experiments",
    "explain_equivalence",
    "fit",
    "formats",
    "greedy_search",
    "intervene",
    "markov_equivalent",
    "parse",
    "plot",
    "random_bap",
    "random_sem",
    "report",
    "same_skeleton_and_colliders",
    "same_skeleton_and_v_structures",
    "score",
    "structure_mcmc",
    "test_constraints",
]

# Parts that not every program needs; `bowfree.formats` loads them when it is first asked for.
_ON_DEMAND = ("datasets", "experiments", "formats", "plot", "report")


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return import_module(f"bowfree.{name}")
    if name == "BAPLearner":  # it brings scikit-learn along
        return import_module("bowfree.estimator").BAPLearner
    raise AttributeError(f"module 'bowfree' has no attribute {name!r}")
