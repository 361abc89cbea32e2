"""Moments have the same bits under every BLAS kernel and every set of vector instructions."""

import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np

import bowfree as bf

KERNELS = ["Nehalem", "Haswell", "SkylakeX", "Zen"]
# The names of NumPy; those that it does not know, or that are its baseline, are ignored.
VECTORS = ["X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"]


def fingerprints():
    """Return a hash of the moments of data of every kind, with the (effective) sample size."""
    rng = np.random.default_rng(3)
    X = np.round(
        rng.normal(size=(200, 6)) @ (np.tril(rng.normal(size=(6, 6))) * 0.4 + np.eye(6)).T, 4
    )
    lost = rng.random(X.shape) < 0.15
    codes = np.column_stack([np.digitize(X[:, :4], [-0.8, 0.2, 1.0]), X[:, 4:]])
    weights, ordinal = np.linspace(0.5, 2, 200), ["x1", "x2", "x3", "x4"]
    two = [bf.Condition(X[:100]), bf.Condition(X[100:] + 1)]
    cases = {
        "numbers": bf.moments(X),
        "weights": bf.moments(X, weights=weights),
        "shrinkage": bf.moments(X, shrinkage="auto"),
        "stream": bf.moments(iter([X[:90], X[90:]])),
        "conditions": bf.moments(two, means="shared"),
        "missing": bf.moments(np.where(lost, np.nan, X), missing="fiml"),
        "weighted missing": bf.moments(np.where(lost, np.nan, X), missing="fiml", weights=weights),
        "Spearman": bf.moments(X, correlation="spearman"),
        "Kendall": bf.moments(X, correlation="kendall"),
        "indefinite": bf.moments(X[:5], correlation="kendall"),  # replaced by the nearest
        "categories": bf.moments(codes, ordinal=ordinal),
        "pairwise": bf.moments(np.where(lost, np.nan, codes), ordinal=ordinal, missing="pairwise"),
    }
    return {name: f"{m.n:g} {hashlib.md5(m.S).hexdigest()}" for name, m in cases.items()}


def test_the_same_bits_on_every_processor():
    here = fingerprints()
    settings = [{"OPENBLAS_CORETYPE": kernel} for kernel in KERNELS]
    settings += [{"NPY_DISABLE_CPU_FEATURES": names} for names in VECTORS]
    running = [
        subprocess.Popen(
            [sys.executable, __file__],
            env=os.environ | setting,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for setting in settings
    ]
    for setting, process in zip(settings, running, strict=True):
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        assert output.strip() == repr(here), setting


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(fingerprints())
