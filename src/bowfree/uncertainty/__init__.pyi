from .average_result import AveragedPathEffects as AveragedPathEffects
from .posterior import GraphPosterior as GraphPosterior
from .selection import PenaltyChoice as PenaltyChoice
from .selection import StablePairs as StablePairs
