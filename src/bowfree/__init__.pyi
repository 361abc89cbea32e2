# The public names, by package. `lazy_loader` and type checkers read this file.
# ruff: noqa: I001  (in the order of the packages)
__version__: str

# graph
from .graph.mixed_graph import MixedGraph as MixedGraph
from .graph.text import parse as parse
from .graph.pag import PAG as PAG

# parallel
from .parallel.budget import Progress as Progress

# space
from .space.knowledge import Knowledge as Knowledge
from .space.search_space import SearchSpace as SearchSpace
from .space.search_space import random_bap as random_bap

# model
from .data.moments import Moments as Moments
from .data.options import moments as moments
from .data.conditions import (
    Condition as Condition,
    conditions as conditions,
)
from .model.linear_sem import (
    LinearSEM as LinearSEM,
    random_sem as random_sem,
)
from .model.fit_result import Fit as Fit
from .model.fitting import fit as fit
from .model.fitting import score as score
from .model.resampling import bootstrap_fit as bootstrap_fit

# equivalence
from .equivalence.decision import (
    equivalent as equivalent,
    is_submodel as is_submodel,
)
from .equivalence.decision import explain_equivalence as explain_equivalence
from .equivalence.class_members import EquivalenceClass as EquivalenceClass
from .equivalence.classes import (
    empirical_class as empirical_class,
    equivalence_class as equivalence_class,
)
from .equivalence.equations import (
    constraint_tests as constraint_tests,
    constraints as constraints,
)
from .equivalence.comparison import compare as compare
from .equivalence.exclusion import exclude_members as exclude_members
from .equivalence.independence import (
    independence_tests as independence_tests,
    nongaussianity as nongaussianity,
)

# search
from .search.greedy import greedy_search as greedy_search
from .search.exact import exact_search as exact_search
from .search.exhaustive import exhaustive_search as exhaustive_search
from .search.neighbors import edge_changes as edge_changes
from .search.result import SearchResult as SearchResult

# effects
from .effects.bounds import effect_bounds as effect_bounds
from .effects.intervention import intervene as intervene
from .effects.experiment_design import design as design

# uncertainty
from .uncertainty.average_result import AveragedEffects as AveragedEffects
from .uncertainty.averaging import averaged_effects as averaged_effects
from .uncertainty.mcmc import structure_mcmc as structure_mcmc
from .uncertainty.structure_samples import StructureSamples as StructureSamples
from .uncertainty.search_bootstrap import (
    BootstrapResult as BootstrapResult,
    bootstrap as bootstrap,
)
from .uncertainty.selection import stability_selection as stability_selection
from .uncertainty.selection import choose_penalty as choose_penalty

# the rest
from .estimator import BAPLearner as BAPLearner
from .app.widget import workbench as workbench
from .errors import BowfreeError as BowfreeError

# modules
from . import errors as errors
from . import data as data
from . import graph as graph
from . import space as space
from . import model as model
from . import equivalence as equivalence
from . import effects as effects
from . import search as search
from . import uncertainty as uncertainty
from . import datasets as datasets
from . import studies as studies
from . import formats as formats
from .visualization import plot as plot
from .visualization import report as report
