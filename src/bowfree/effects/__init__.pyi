from .bounds_result import EffectBounds as EffectBounds
from .design_result import Design as Design
from .intervention import Intervention as Intervention
