"""Break the code on purpose, one line at a time, and see whether the tests notice.

``mutations.toml`` lists mistakes that would be silent: a file, a text that occurs in it exactly
once, what to put in its place, and the tests of which one has to fail then. Everything happens in a
copy of the tree; the core is built there once, and again, as far as needed, for each mutation of a
file in ``cpp/``. The environment needs what the tests and the build require, but not bowfree itself
(``nox -s mutate`` makes one). Words after the command choose mutations whose description or file
holds one of them.

Exits with 1 when a mutation survives, does not apply, or cannot be built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutations.toml")
TIME_LIMIT = 600  # seconds for the tests of one mutation; one that never ends is noticed, too


@dataclass(frozen=True)
class Mutation:
    """One mistake: `old` in `file` becomes `new`, and `tests` have to fail."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def applied(self, root: Path) -> str:
        """Return the file's text with the mistake in it."""
        text = (root / self.file).read_text(encoding="utf-8")
        if (n := text.count(self.old)) != 1:
            raise ValueError(f"{self.old!r} occurs {n} times in {self.file}, not once")
        if self.old == self.new:
            raise ValueError(f"{self.what!r} changes nothing")
        return text.replace(self.old, self.new)


def read_mutations() -> list[Mutation]:
    """Return the list, in the order of the file."""
    entries = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]
    return [Mutation(**entry | {"tests": tuple(entry["tests"])}) for entry in entries]


class Copy:
    """A copy of the tree with a core of its own."""

    def __init__(self, place: Path) -> None:
        self.root = place / "bowfree"
        self.build = place / "build"
        # What git knows of or would take, but for what is gone: no builds, no caches.
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)
        nanobind = subprocess.run(
            [sys.executable, "-m", "nanobind", "--cmake_dir"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        self._run(
            *("cmake", "-S", self.root, "-B", self.build, "-G", "Ninja"),
            *("-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"),
            *("-DSKBUILD_PROJECT_NAME=bowfree", "-DSKBUILD_PROJECT_VERSION=0.1.0"),
            *(f"-Dnanobind_DIR={nanobind}", "-DBOWFREE_TESTS=ON"),
        )

    def make(self) -> None:
        """Build what has changed and put the core beside the package's modules."""
        self._run("cmake", "--build", self.build)
        self._run("cmake", "--install", self.build, "--prefix", self.root / "src")

    def failures(
        self, tests: tuple[str, ...], *options: str, seconds: float | None = None
    ) -> list[str]:
        """Run some tests; return a line for each failure, none when all pass.

        Tests named ``core_tests::NAME`` are those of ``cpp/tests``.
        """
        of_core = [test.split("::")[1] for test in tests if test.startswith("core_tests::")]
        for name in of_core:
            done = subprocess.run([self.build / "core_tests", name], capture_output=True, text=True)
            if done.returncode:
                return [f"FAILED {name}: {(done.stderr.splitlines() or ['crashed'])[0]}"]
        tests = tuple(test for test in tests if not test.startswith("core_tests::"))
        if not tests:
            return []
        try:
            done = self._pytest(
                "-q", "-rfE", "-p", "no:cacheprovider", *options, *tests, seconds=seconds
            )
        except subprocess.TimeoutExpired:
            return [f"TIMEOUT after {seconds} s"]
        if done.returncode not in (0, 1, 2):  # 2: collecting failed, as after a broken import
            raise RuntimeError(f"pytest {' '.join(tests)}:\n{done.stdout[-2000:]}{done.stderr}")
        lines = done.stdout.splitlines()
        found = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return found or lines[-1:] if done.returncode else []

    def _pytest(self, *arguments: str, seconds: float | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.root,
            # No bytecode: two mutations of one file within a second look the same to Python.
            env=os.environ | {"PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    @staticmethod
    def _run(*command: str | Path) -> None:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    def noticed_by(self, mutation: Mutation) -> list[str]:
        """Return what failed with the mistake in place, and leave the copy as it was."""
        path = self.root / mutation.file
        original = path.read_text(encoding="utf-8")
        in_core = mutation.file.startswith("cpp/")
        path.write_text(mutation.applied(self.root), encoding="utf-8")
        try:
            if in_core:
                self.make()
            return self.failures(mutation.tests, "-x", seconds=TIME_LIMIT)
        finally:
            path.write_text(original, encoding="utf-8")


def main(words: list[str]) -> int:
    """Try the mutations that match one of the words (without words: all); print a table."""
    chosen = [
        mutation
        for mutation in read_mutations()
        if not words or any(w in mutation.what or w in mutation.file for w in words)
    ]
    if not chosen:
        print(f"no mutation matches {' '.join(words)}")
        return 1
    with tempfile.TemporaryDirectory(prefix="bowfree-mutate-") as place:
        copy = Copy(Path(place))
        # The mutations of the core come last, so that its original is built once.
        chosen.sort(key=lambda mutation: mutation.file.startswith("cpp/"))
        copy.make()
        # A test that fails anyway notices nothing.
        if failed := copy.failures(tuple(sorted({test for m in chosen for test in m.tests}))):
            print("fails without any mutation:", *failed, sep="\n")
            return 1
        outcomes = []
        for mutation in chosen:
            began = time.monotonic()
            try:
                failed = copy.noticed_by(mutation)
                outcomes.append("killed" if failed else "SURVIVED")
            except (ValueError, RuntimeError) as error:
                failed = [str(error)]
                outcomes.append("NOT TRIED")
            seconds = time.monotonic() - began
            print(f"{outcomes[-1]:9}  {seconds:4.0f} s  {mutation.file}: {mutation.what}")
            print("".join(f"{'':19}{line}\n" for line in failed[:1]), end="", flush=True)
    killed = outcomes.count("killed")
    print(f"{killed} of {len(outcomes)} mutations killed")
    return 0 if killed == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
