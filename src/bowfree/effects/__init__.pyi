from .adjustment import AdjustmentSets as AdjustmentSets
from .adjustment import Instruments as Instruments
from .adjustment import adjustment_sets as adjustment_sets
from .adjustment import instruments as instruments
from .bounds_result import EffectBounds as EffectBounds
from .design_result import Design as Design
from .intervention import Intervention as Intervention
