from .path_averages import AveragedPathEffects as AveragedPathEffects
from .penalty_choice import PenaltyChoice as PenaltyChoice
from .posterior import GraphPosterior as GraphPosterior
from .stability import StablePairs as StablePairs
