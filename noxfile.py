"""One session per task: ``nox -s tests``, ``lint``, ``docs``, ``bench``, ``sanitize``.

``.ci/run`` does what has to hold for every change; the sessions here are for working on one thing.
"""

import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["tests", "lint"]
nox.options.reuse_existing_virtualenvs = True

PROJECT = nox.project.load_toml("pyproject.toml")
EXTRAS = PROJECT["project"]["optional-dependencies"]


@nox.session
def tests(session: nox.Session) -> None:
    """Build the package and run the tests; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, clang-format and mypy with the pinned versions."""
    session.install(".", *EXTRAS["lint"])
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    sources = [str(p) for p in sorted(Path("cpp").rglob("*")) if p.suffix in {".cpp", ".hpp"}]
    session.run("clang-format", "--dry-run", "-Werror", *sources)
    # mypy wants the core's type stub beside the sources; git ignores it there.
    stub = Path("src/bowfree/_core.pyi")
    session.run("python", "-m", "nanobind.stubgen", "-q", "-m", "bowfree._core", "-o", str(stub))
    session.run("mypy", "--strict", "src")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install(".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html")


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks, each of which checks its answers; names after ``--`` choose some."""
    session.install(".[test]")
    chosen = [f"bench_{name}.py" for name in session.posargs] or ["bench_*.py"]
    for pattern in chosen:
        for script in sorted(Path("benchmarks").glob(pattern)):
            session.run("python", str(script))


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run the tests on a core built with the address and undefined-behaviour sanitizers (GCC)."""
    session.install(*EXTRAS["test"], *PROJECT["project"]["dependencies"])
    session.install(
        "--no-deps",
        "--config-settings=cmake.define.BOWFREE_SANITIZE=ON",
        "--config-settings=build-dir=build/sanitize",
        ".",
    )
    # Python itself is not instrumented, so the runtime has to be there before it starts. libstdc++
    # comes along because the runtime looks for its `throw` at start-up.
    compiler = shutil.which("g++") or session.error("the sanitize session needs g++")
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so", "libstdc++.so.6")
    ]
    session.run(
        "python",
        "-m",
        "pytest",
        *session.posargs,
        env={
            "LD_PRELOAD": " ".join(libraries),
            # The interpreter keeps memory until it ends; only errors of access are of interest.
            "ASAN_OPTIONS": "detect_leaks=0",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        },
    )
