"""Differences between the results of bowfree and lavaan, and their cause.

    python benchmarks/bench_lavaan.py      # a minute; requires R with lavaan

The ten tables of ``tests/reference/incomplete`` are fitted by lavaan twice: with default options,
and with strict tolerances of its optimizer and its EM algorithm. A difference that disappears in
the second run is due to early stopping of lavaan. The table has the largest difference over all
parameters and tables by kind of number. Asserted for the second run: estimates agree to 1e-4
standard errors, and the rest to 1e-5.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bowfree as bf

FOLDER = Path(__file__).parents[1] / "tests" / "reference" / "incomplete"
CASES = json.loads((FOLDER / "lavaan.json").read_text())["cases"]
ROBUST = {"se": "robust", "test": "satorra-bentler"}
HUBER_WHITE = {"se": "robust-huber-white", "test": "yuan-bentler"}

# Ours and lavaan's words for each kind of fit, and which of the two tables it is for.
KINDS = {
    "ML": ("complete", {}, 'estimator = "ML"'),
    "MLM": ("complete", ROBUST, 'estimator = "MLM"'),
    "MLR": ("complete", HUBER_WHITE, 'estimator = "MLR"'),
    "FIML": ("missing", {"missing": "fiml"}, 'missing = "ml"'),
    "FIML, MLR": (
        "missing",
        {"missing": "fiml", **HUBER_WHITE},
        'missing = "ml", estimator = "MLR"',
    ),
    "two stages": ("missing", {"missing": "two-stage"}, 'missing = "robust.two.stage"'),
}
FARTHER = (
    "optim.force.converged = TRUE, em.h1.tol = 1e-13, em.h1.iter.max = 100000L, "
    "control = list(rel.tol = 1e-14, iter.max = 100000, eval.max = 100000)"
)
MEASURES = {"logl": "log-likelihood", "chisq": "chi-square", "chisq.scaled": "scaled chi-square"}


def graph_of(case):
    return bf.MixedGraph(case["names"], case["directed"], case["bidirected"])


def table(case, which):
    header, *rows = csv.reader((FOLDER / f"{case['id']}-{which}.csv").read_text().splitlines())
    values = np.array([[float(cell or "nan") for cell in row] for row in rows])
    return dict(zip(header, values.T, strict=True))


def script(folder, more):
    """Return the R code that fits everything and prints a line for each number."""
    lines = [
        "suppressMessages(library(lavaan))",
        "show <- function(id, kind, file, model, ...) {",
        "  fit <- suppressWarnings(sem(paste(readLines(model), collapse = '\\n'),",
        "                              data = read.csv(file), fixed.x = FALSE, ...))",
        "  p <- subset(parTable(fit), op %in% c('~', '~~') & free > 0)",
        "  cat(sprintf('%s|%s|%s %s %s|%.17g|%.17g\\n', id, kind, p$lhs, p$op, p$rhs, p$est,",
        "              p$se), sep = '')",
        f"  m <- fitMeasures(fit)[c({', '.join(map(repr, MEASURES))})]",
        "  cat(sprintf('%s|%s|%s|%.17g|NA\\n', id, kind, names(m), m), sep = '')",
        "}",
    ]
    for case in CASES:
        model = Path(folder, f"{case['id']}.lav")
        model.write_text(bf.formats.to_lavaan(graph_of(case)))
        for kind, (which, _, words) in KINDS.items():
            file = FOLDER / f"{case['id']}-{which}.csv"
            rest = ", ".join(filter(None, (words, more)))
            lines.append(f"show('{case['id']}', '{kind}', '{file}', '{model}', {rest})")
    return "\n".join(lines)


def by_lavaan(more):
    """Return lavaan's numbers: value and standard error by table, kind of fit and what it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fits.R")
        path.write_text(script(folder, more))
        done = subprocess.run(["Rscript", str(path)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        case, kind, what, value, se = line.split("|")
        numbers = tuple(float("nan" if text == "NA" else text) for text in (value, se))
        found[case, kind, what] = numbers
        if "~~" in what:
            found[case, kind, " ".join(reversed(what.split()))] = numbers
    return found


def worst(theirs, kind):
    """Return the largest relative difference for each kind of number."""
    which, options, _ = KINDS[kind]
    largest = dict.fromkeys(["estimates / s.e.", "standard errors", *MEASURES.values()], 0.0)
    for case in CASES:
        fit = bf.fit(graph_of(case), table(case, which), **options)
        pairs = []
        for e in fit.estimates():
            value, se = theirs[case["id"], kind, " ".join(e.lavaan)]
            pairs.append(("estimates / s.e.", abs(e.estimate - value) / se))
            pairs.append(("standard errors", abs(e.se / se - 1)))
        ours = {"logl": fit.loglik, "chisq": fit.chi2, "chisq.scaled": fit.chi2_scaled}
        for name, value in ours.items():
            other = theirs.get((case["id"], kind, name), (np.nan,))[0]
            if fit.df and np.isfinite([value, other]).all():
                pairs.append((MEASURES[name], abs(value / other - 1)))
        for name, difference in pairs:
            largest[name] = max(largest[name], difference)
    return largest


def main():
    if shutil.which("Rscript") is None:
        print("R is not installed: nothing to compare with")
        return
    start = time.perf_counter()
    runs = {"as it comes": by_lavaan(""), "going on": by_lavaan(FARTHER)}
    print(
        "| fit | lavaan | estimates / s.e. | standard errors | "
        + " | ".join(MEASURES.values())
        + " |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        for name, theirs in runs.items():
            found = worst(theirs, kind)
            cells = [f"{x:.0e}" if x else "–" for x in found.values()]
            print(f"| {kind} | {name} | {' | '.join(cells)} |", flush=True)
            if name == "going on":
                assert found["estimates / s.e."] < 1e-4
                assert max(x for key, x in found.items() if key != "estimates / s.e.") < 1e-5
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
