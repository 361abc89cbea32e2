from .confidence import SearchConfidence as SearchConfidence
from .exhaustive import ExhaustiveResult as ExhaustiveResult
from .neighbors import EdgeChanges as EdgeChanges
from .plan import Strategy as Strategy
from .result import ScoredGraph as ScoredGraph
from .result import SearchInterrupted as SearchInterrupted
from .result import SearchRun as SearchRun
from .result import SearchSummary as SearchSummary
