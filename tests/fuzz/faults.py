"""Make every write, every signal, every allocation and every worker fail in turn: no result is lost.

    python tests/fuzz/faults.py [--every K]

prints how many faults were tried, and after how many of them a finished result was lost, a file was
incomplete, or a traceback was printed. With ``--every K``, one in K faults is tried.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

import bowfree as bf
from bowfree.cli import main as command_line
from bowfree.cli.work import Work
from odd_executors import Clumsy

GRAPH = "sun -> leaves <- water, leaves -> fruit"
SHORT = ("--restarts", "1", "--class", "dag", "--columns", "sun,leaves,water,fruit")
COMMANDS: dict[str, tuple[str, ...]] = {
    "learn": ("learn", "table.csv", *SHORT, "--out", "new/out", "--report", "new/page.html"),
    "learn --json": ("learn", "table.csv", *SHORT, "--json"),
    "fit": ("fit", "table.csv", "--graph", GRAPH, "--indices", "--changes"),
    "compare": ("compare", "table.csv", "--graph", GRAPH, "--graph", "sun, leaves, water, fruit"),
    "effects": ("effects", "table.csv", "--columns", "sun,leaves,water", "--steps", "500"),
    "effects --graph": ("effects", "table.csv", "--graph", GRAPH),
    "adjust": ("adjust", "--graph", GRAPH, "--of", "sun", "--on", "fruit", "--equivalent"),
    "paths": ("paths", "table.csv", "--graph", GRAPH, "--of", "sun", "--on", "fruit"),
    "bootstrap": ("bootstrap", "table.csv", *SHORT, "--resamples", "40"),
    "equiv": ("equiv", "--graph", GRAPH, "--list", "3", "--svg", "new/class.svg"),
    "design": ("design", "--graph", GRAPH),
    "sample": ("sample", "--graph", GRAPH, "--seed", "1", "--n", "5", "--out", "new/sample.csv"),
    "simulate": ("simulate", "--nodes", "3", "--seed", "1", "--n", "5", "--out", "new/truth"),
    "study": ("study", "uniformity", "--samples", "50", "--out", "new"),
    "demo": ("demo", "--out", "new"),
}
# The computations, and what is printed and written as soon as they are finished.
PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bowfree.greedy_search": ("best graph", ("graph.txt", "graph.json", "search.json")),
    "bowfree.model.fitting.fit_quietly": ("s.e.", ("summary.txt", "model.json")),
    "bowfree.equivalence_class": ("equivalent", ("class.txt",)),
    "bowfree.cli.learn._averaged": ("averaged over", ("averaged.txt", "averaged.json")),
    "bowfree.visualization.report.render": ("", ()),
    "bowfree.fit": ("chi-square", ()),
    "bowfree.compare": ("G1", ()),
    "bowfree.averaged_effects": ("P(effect)", ()),
    "bowfree.effect_bounds": ("lower", ()),
    "bowfree.effects.adjustment_sets": ("adjust", ()),
    "bowfree.effects.path_effects": ("sun", ()),
    "bowfree.bootstrap": ("resamples", ()),
    "bowfree.design": ("experiment", ()),
    "bowfree.edge_changes": ("change", ()),
    "bowfree.studies.uniformity_study": ("|", ("uniformity.csv",)),
    "bowfree.studies.demo.run_demo": ("tomato", ("report.html",)),
}
# All are imported before any function is replaced: a module keeps the function that it imports.
HOMES = {name: importlib.import_module(name.rpartition(".")[0]) for name in PARTS}


class Command:
    """A command that is run again and again in this process; its computations are remembered."""

    def __init__(self, name: str, data: Path) -> None:
        self.words, self.data = COMMANDS[name], data
        self.memory: dict[str, Any] = {}
        self.finished: list[str] = []

    def remembered(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def compute(*arguments: Any, **settings: Any) -> Any:
            if name not in self.memory:
                self.memory[name] = function(*arguments, **settings)
            self.finished.append(name)
            return self.memory[name]

        compute.__name__ = name.rpartition(".")[2]
        return compute

    def run(self, fault: contextlib.AbstractContextManager[Any] | None = None) -> Outcome:
        """Run the command in a new folder."""
        self.finished.clear()
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
        problem: BaseException | None = None
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            stack.enter_context(contextlib.chdir(folder))
            Path("table.csv").symlink_to(self.data)
            for name in PARTS:
                home, function = HOMES[name], name.rpartition(".")[2]
                own = self.remembered(name, getattr(home, function))
                stack.enter_context(mock.patch.object(home, function, own))
            stack.enter_context(contextlib.redirect_stdout(streams[0]))
            stack.enter_context(contextlib.redirect_stderr(streams[1]))
            stack.enter_context(warnings.catch_warnings())
            if fault is not None:
                stack.enter_context(fault)
            try:
                command_line.main(list(self.words), prog_name="bowfree")
            except BaseException as error:
                problem = error
            files = {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        files.pop("table.csv")
        out, err = (stream.buffer.getvalue().decode() for stream in streams)  # type: ignore[attr-defined]
        return Outcome(problem, out, err, files, tuple(self.finished))


@dataclass
class Outcome:
    """What a command has left behind."""

    problem: BaseException | None
    out: str
    err: str
    files: dict[str, bytes]
    finished: tuple[str, ...]

    @property
    def code(self) -> Any:
        """The exit code, or None for another exception."""
        return self.problem.code or 0 if isinstance(self.problem, SystemExit) else None

    def defects(self, whole: Outcome, code: int) -> list[str]:
        """Return what is wrong in comparison with an undisturbed run, apart from missing parts."""
        found = [
            f"{name} differs" for name in self.files if self.files[name] != whole.files.get(name)
        ]
        if self.code is None or self.code != code:
            found.append(f"ended with {self.problem!r}")
        if "Traceback" in self.err:
            found.append("traceback")
        return found


@contextlib.contextmanager
def failing_write(number: int, counted: list[str]) -> Iterator[None]:
    """Let the write of this number fail: a folder, a file, its content, its name, or the output."""

    def failing(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **settings: Any) -> Any:
            there = what == "mkdir" and os.path.isdir(arguments[0])
            if not there and (what != "open" or arguments[1] & os.O_CREAT):
                counted.append(what)
                if len(counted) == number:
                    name = None if what == "print" else os.fspath(arguments[0])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
            return function(*arguments, **settings)

        return call

    with contextlib.ExitStack() as stack:
        for what in ("mkdir", "open", "fsync", "replace"):
            new = failing(what, getattr(os, what))
            stack.enter_context(mock.patch.object(os, what, new))
        write = failing("print", sys.stdout.buffer.write)
        stack.enter_context(mock.patch.object(sys, "stdout", _Printer(write)))
        yield


class _Printer(io.TextIOBase):
    """Standard output with its own function that writes."""

    def __init__(self, write_bytes: Callable[[bytes], int]) -> None:
        self.write_bytes = write_bytes

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is needed")  # as click expects when it tries bytes
        if text:
            self.write_bytes(text.encode())
        return len(text)


def every_write(command: Command, every: int = 1) -> tuple[int, list[str]]:
    """Fail every write in turn; return the number of faults, and the defects after them."""
    counted: list[str] = []
    whole = command.run(failing_write(0, counted))
    assert whole.code == 0, (whole.problem, whole.err)
    defects, numbers = [], range(1, len(counted) + 1, every)
    for number in numbers:
        kinds: list[str] = []
        after = command.run(failing_write(number, kinds))
        kind = kinds[number - 1]
        wrong = after.defects(whole, code=1)
        missing = whole.files.keys() - after.files.keys()
        if whole.finished and not after.finished:
            pass  # ``study`` creates its folder first
        elif kind == "print":
            if missing:
                wrong.append(f"not written: {missing}")
            if "standard output: No space left" not in after.err:
                wrong.append("silent")
        else:
            if after.out != whole.out:
                wrong.append("not printed")
            # A folder that cannot be created for one file is created for the next.
            if len(missing) != 1:
                wrong.append(f"not written: {missing}")
            if not all(name in after.err for name in missing):
                wrong.append("no file name in the message")
        defects += [f"{command.words[0]}, {kind} {number}: {text}" for text in wrong]
    return len(numbers), defects


class SignalAt:
    """Raise a signal when a function of the package is called, the one of this number."""

    def __init__(self, number: int, signum: int = signal.SIGTERM) -> None:
        self.number, self.signum, self.n_calls = number, signum, 0
        self.in_command_line: list[int] = []

    def __enter__(self) -> None:
        sys.setprofile(self.watch)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def watch(self, frame: Any, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        # Before the work begins there is nothing to lose, and SIGTERM ends the process.
        if event != "call" or not module.startswith("bowfree."):
            return
        if getattr(signal.getsignal(signal.SIGTERM), "__func__", None) is not Work._handle:
            return
        self.n_calls += 1
        if module.startswith("bowfree.cli"):
            self.in_command_line.append(self.n_calls)
        if self.n_calls == self.number:
            sys.setprofile(None)
            signal.raise_signal(self.signum)


def every_signal(command: Command, every: int = 1) -> tuple[int, list[str]]:
    """Send a signal at calls of the command line, and at others, in turn."""
    counter = SignalAt(0)
    whole = command.run(counter)
    calls = set(counter.in_command_line[::every])
    calls |= set(range(1, counter.n_calls + 1, max(1, counter.n_calls // (100 // every))))
    defects = []
    for number in sorted(calls):
        signum = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]
        after = command.run(SignalAt(number, signum))
        # A signal at the very end changes nothing.
        same = (after.out, after.files) == (whole.out, whole.files)
        wrong = after.defects(whole, code=after.code if same else 1)
        for part in after.finished:
            printed, files = PARTS[part]
            if printed in whole.out and printed not in after.out:
                wrong.append(f"{part} was not printed")
            wrong += [f"no {f}" for f in files if f in whole.files and f not in after.files]
        defects += [f"{command.words[0]}, call {number}: {text}" for text in wrong]
    return len(calls), defects


def every_moment(data: Path, n_moments: int) -> tuple[int, list[str]]:
    """Send SIGTERM to processes of ``bowfree learn`` at moments spread over their run."""
    words = ["learn", str(data), "--restarts", "4", "--out", "out", "--report", "page.html"]
    command = [sys.executable, "-m", "bowfree", *words]
    seconds, defects, whole = 0.0, [], {}.keys()
    for k in range(n_moments + 1):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            if k:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds * k / n_moments)
                process.terminate()
            out, err = process.communicate()
            seconds = seconds or time.monotonic() - began
            files = {p.name: p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()}
        wrong = [f"{name} is incomplete" for name, size in files.items() if not size]
        wrong += [f"{name} is left" for name in files if name.endswith(".tmp")]
        # Before the work begins, SIGTERM ends the process; without any graph, the command ends.
        begun = process.returncode != -signal.SIGTERM and "Aborted!" not in err
        if begun and ("best graph" not in out or not files.keys() >= {"graph.txt", "search.json"}):
            wrong.append(f"the graph is lost: {err[-200:]}")
        # A signal at the exit of the process comes after all files.
        whole = files.keys() if k == 0 else whole
        if not begun and files and (files.keys() != whole or "best graph" not in out):
            wrong.append(f"ended with {process.returncode} after {sorted(files)}")
        if "Traceback" in err or process.returncode not in (0, 1, -signal.SIGTERM):
            wrong.append(f"ended with {process.returncode}: {err[-200:]}")
        defects += [f"learn, moment {k}: {text}" for text in wrong]
    return n_moments, defects


def essence(value: Any) -> str:
    """Return all of a result but its time, and counters that depend on it if there are threads."""
    plain = value.to_dict() if hasattr(value, "to_dict") else value
    return re.sub(r"'(seconds|work|fits|cache_hits)': [^,}]*", "", repr(plain))


def every_worker(every: int = 1) -> tuple[int, list[str]]:
    """Lose the worker of every task, once or for ever."""
    X = bf.random_sem(bf.parse("x -> y <-> z, x -> w <- z"), rng=2).sample(200, rng=3)
    graph, quick = bf.parse("x1 -> x2, x3, x4"), bf.search.Strategy(restarts=1, rounds=0)
    calls: dict[str, Callable[[Any], Any]] = {
        "search": lambda e: bf.greedy_search(X, restarts=6, rounds=0, rng=1, executor=e),
        "bootstrap": lambda e: bf.bootstrap(X, n_resamples=40, strategy=quick, rng=1, executor=e),
        "stability": lambda e: bf.stability_selection(
            X, n_halves=10, strategy=quick, rng=1, executor=e
        ),
        "fit": lambda e: bf.bootstrap_fit(graph, X, n_bootstrap=50, rng=1, executor=e),
        "chains": lambda e: bf.structure_mcmc(X, steps=400, rng=1, executor=e),
    }
    tried, defects = 0, []
    for name, call in calls.items():
        whole = Clumsy(lambda _: False)
        expected = essence(call(whole))
        for number in range(0, whole.number, every):
            tried += 2
            again = call(Clumsy(lambda k, number=number: k == number))
            if essence(again) != expected:
                defects.append(f"{name}: another result after worker {number} was lost")
            done = []

            def lose(k: int, number: int = number, done: list[int] = done) -> bool:
                if k < number:
                    done.append(k)
                return k >= number

            try:
                call(Clumsy(lose))
                defects.append(f"{name}: no error without workers after task {number}")
            except bf.errors.WorkersLost as lost:
                size = {"search": "runs", "chains": "scores"}.get(name)
                if lost.result is None:
                    # Too few for a result: samples of every chain are needed, after the burn-in.
                    enough = {"search": 1, "chains": whole.number}.get(name, 2)
                    if len(done) >= enough:
                        defects.append(f"{name}: nothing left of {len(done)} tasks")
                elif size == "runs" and len(lost.result.runs) != len(done):
                    defects.append(f"{name}: {len(lost.result.runs)} runs of {len(done)} tasks")
    return tried, defects


FAIL_NEW = """
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
// Lets one allocation fail: the one of this number, counted from a call of fail_at. Only those of
// the core are counted, which runs without the global interpreter lock: nanobind, which holds it,
// ends the program if it gets no memory.
static std::atomic<long> left{-1}, count{0};
extern "C" void fail_at(long number) { count = 0; left = number; }
extern "C" long n_allocations() { return count; }
static void* allocate(std::size_t size) {
    static const auto locked = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Check"));
    if (left.load() >= 0 && locked && !locked()) {
        ++count;
        if (left.load() == count.load()) throw std::bad_alloc();
    }
    if (void* p = std::malloc(size ? size : 1)) return p;
    throw std::bad_alloc();
}
void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
"""


def every_allocation(most: int) -> tuple[int, list[str]]:
    """Fail allocations of the compiled core in turn, at most this many of each call."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "fail.cpp"), Path(folder, "fail.so")
        source.write_text(FAIL_NEW)
        subprocess.run(
            ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", source, "-o", library], check=True
        )
        done = subprocess.run(
            [sys.executable, __file__, "--allocations", library, str(most)],
            env=os.environ | {"LD_PRELOAD": str(library)},
            capture_output=True,
            text=True,
        )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return 1, [f"ended with {done.returncode}: {done.stderr[-500:]}", *lines]
    return int(lines[-1]), lines[:-1]


def fail_allocations(library: str, most: int) -> None:
    """Print the defects after failed allocations, and the number of faults."""
    import ctypes

    shim = ctypes.CDLL(library)
    shim.n_allocations.restype = ctypes.c_long
    shim.fail_at.argtypes = [ctypes.c_long]
    X = bf.random_sem(bf.parse("x -> y <-> z, x -> w <- z"), rng=2).sample(200, rng=3)
    graph = bf.parse("x1 -> x2 <-> x3, x1 -> x4 <- x3")
    found = bf.greedy_search(X, restarts=1, rounds=0, rng=1)
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: bf.fit(graph, X),
        "class": lambda: bf.equivalence_class(graph),
        "equivalent": lambda: bf.equivalent(graph, graph.remove("x1 -> x2")),
        "bounds": lambda: bf.effect_bounds([graph], X),
        "search": lambda: bf.greedy_search(X, restarts=1, rounds=0, rng=1),
        "search, threads": lambda: bf.greedy_search(X, restarts=3, rounds=0, rng=1, n_jobs=2),
        "exhaustive": lambda: bf.exhaustive_search(X[:, :3]),
        "chains": lambda: bf.structure_mcmc(X, steps=100, rng=1),
        "average": lambda: bf.averaged_effects([graph], X),
        "of a search": lambda: bf.averaged_effects(found, steps=200, rng=1),
        "random": lambda: bf.random_bap(5, rng=1),
        "picture": lambda: graph.to_svg(),
    }
    tried = 0
    warnings.simplefilter("ignore")

    for name, call in calls.items():
        expected = essence(call())
        shim.fail_at(0)
        call()
        total = shim.n_allocations()
        for number in range(1, total + 1, max(1, total // most)):
            tried += 1
            print(f"# {name} {number}", file=sys.stderr, flush=True)  # the last one, after a crash
            shim.fail_at(number)
            try:
                result = essence(call())
            except MemoryError:
                result = expected
            except BaseException as error:
                result = repr(error)
            finally:
                shim.fail_at(-1)
            if result != expected or essence(call()) != expected:
                print(f"{name}, allocation {number} of {total}: {result[:200]}")
    print(tried)


def data_file(folder: str) -> Path:
    """Write the data of the commands."""
    path = Path(folder, "table.csv")
    path.write_text(bf.datasets.write_table(bf.datasets.load_demo()), encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--allocations", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.allocations:
        fail_allocations(given.allocations[0], int(given.allocations[1]))
        return
    rows: list[tuple[str, int, list[str]]] = []

    def add(fault: str, result: tuple[int, list[str]]) -> None:
        rows.append((fault, *result))
        print(f"| {fault} | {result[0]} | {len(result[1])} |", flush=True)

    print("| fault | tried | lost |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        data = data_file(folder)
        for name in COMMANDS:
            command = Command(name, data)
            add(f"write, `{name}`", every_write(command, given.every))
            add(f"signal, `{name}`", every_signal(command, given.every))
        add("moment of `learn`", every_moment(data, 60 // given.every))
    add("worker", every_worker(given.every))
    add("allocation of the core", every_allocation(300 // given.every))
    defects = [defect for _, _, found in rows for defect in found]
    print(f"| **all** | {sum(row[1] for row in rows)} | {len(defects)} |")
    print(*defects, sep="\n", file=sys.stderr)
    sys.exit(bool(defects))


if __name__ == "__main__":
    main()
