"""Run one of the studies that are not the paper's, and write its tables and figures.

Run: ``python benchmarks/run_study.py calibration|protocols|sachs-joint|benchmark --out results``
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib

from bowfree.errors import WorkInterrupted
from bowfree.parallel.budget import Progress
from study_calibration import calibration_study
from study_protocols import compare_protocols
from study_public_benchmark import bowfree_benchmark
from study_sachs_joint import sachs_joint_study


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", choices=["calibration", "protocols", "sachs-joint", "benchmark"])
    parser.add_argument("--out", type=Path, required=True, help="folder for tables and figures")
    parser.add_argument("--n-sims", type=int, default=100, help="number of simulations")
    parser.add_argument("--protocol", action="append", help="only this protocol")
    parser.add_argument("--sachs", type=Path, help="folder with the protein data")
    parser.add_argument("--bench", type=Path, action="append", help="folder of a benchmark")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time-limit", type=float, help="seconds")
    given = parser.parse_args(arguments)
    budget: dict[str, Any] = {
        "rng": given.seed,
        "n_jobs": given.jobs,
        "time_limit": given.time_limit,
        "progress": _log_progress,
    }
    calls = {
        "calibration": lambda: [calibration_study(given.n_sims, **budget)],
        "protocols": lambda: [compare_protocols(given.protocol, n_sims=given.n_sims, **budget)],
        "sachs-joint": lambda: [sachs_joint_study(folder=given.sachs, **budget)],
        "benchmark": lambda: [bowfree_benchmark(folder, **budget) for folder in given.bench],
    }
    matplotlib.use("agg")
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        studies = calls[given.study]()
    except WorkInterrupted as stop:
        studies = [stop.result]
    for study in studies:
        print(study.table())
        for path in study.save(given.out):
            print(f"wrote {path}")


def _log_progress(progress: Progress) -> None:
    done, planned = progress.done, progress.planned
    if done and done % max(1, planned // 10) == 0:
        print(f"{done} of {planned} {progress.what}", flush=True)


if __name__ == "__main__":
    main()
