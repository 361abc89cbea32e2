"""The paper's studies, each as a function that returns a result with a table and a figure.

- :func:`causal_effect_study`: section 4.1, figure "simulation"; :func:`compare_protocols` runs it
  as published, corrected, and with what helps;
- :func:`sachs_study`: section 4.2, figures "real" and "real2"; :func:`sachs_joint_study`: all
  conditions at once, with the targets of their interventions (``sachs_network`` has these, and the
  published arcs);
- :func:`uniformity_study`: section 3.2, figure "uniform";
- :func:`calibration_study`: whether stated certainties come true, counted in
  ``calibration_result``;
- :func:`bowfree_benchmark`: the public benchmark of Dash, Gonçalves and Gao (2025).

``bowfree study all --out results/`` runs them all; ``docs/evidence/paper.md`` has what came out.
"""

from bowfree.studies.benchmark_study import BenchmarkStudy, bowfree_benchmark
from bowfree.studies.calibration_result import (
    CalibrationCell,
    CalibrationStudy,
    ReliabilityBin,
)
from bowfree.studies.calibration_study import calibration_study
from bowfree.studies.effects_study import EffectsStudy, Simulation, causal_effect_study
from bowfree.studies.protocols import PROTOCOLS, ProtocolTable, compare_protocols
from bowfree.studies.roc import RocCurve, ordinary_auc, paper_roc
from bowfree.studies.sachs_joint_study import SachsJointStudy, sachs_joint_study
from bowfree.studies.sachs_study import SachsStudy, sachs_study
from bowfree.studies.uniformity_study import UniformityStudy, uniformity_study

__all__ = [
    "PROTOCOLS",
    "BenchmarkStudy",
    "CalibrationCell",
    "CalibrationStudy",
    "EffectsStudy",
    "ProtocolTable",
    "ReliabilityBin",
    "RocCurve",
    "SachsJointStudy",
    "SachsStudy",
    "Simulation",
    "UniformityStudy",
    "bowfree_benchmark",
    "calibration_study",
    "causal_effect_study",
    "compare_protocols",
    "ordinary_auc",
    "paper_roc",
    "sachs_joint_study",
    "sachs_study",
    "uniformity_study",
]
