from .diagnostics import Diagnostics as Diagnostics
from .diagnostics import diagnose as diagnose
from .joint_moments import ConditionMoments as ConditionMoments
from .joint_moments import JointMoments as JointMoments
from .missing_values import MissingSummary as MissingSummary
from .options import DataOptions as DataOptions
