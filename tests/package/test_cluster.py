"""A real dask cluster on this machine: workers killed, late, slow, of another version."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main
from bowfree.data.frames import Table
from bowfree.datasets.tables import write_table
from search_cases import same_search

distributed = pytest.importorskip("distributed", reason='needs pip install "bowfree[cluster]"')

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes the Unix way"),
    # dask closes its sockets a little later than the garbage collector would like.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

X = bf.random_sem(bf.random_bap(5, max_in_degree=2, rng=4), rng=2).sample(300, rng=3)
OPTIONS = {"rng": 5, "restarts": 12, "rounds": 2}
QUICK = bf.search.Strategy(restarts=1, rounds=1)


class Cluster:
    """A scheduler and workers, each a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "scheduler.json"
        self.processes = []
        self.scheduler = self.start("scheduler", "--port", "0", "--no-dashboard")
        deadline = time.monotonic() + 60
        while not self.file.exists() or not self.file.read_text().strip():
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def start(self, kind, *words):
        log = (self.folder / f"{len(self.processes)}.log").open("w")
        command = [sys.executable, "-m", "dask", kind, "--scheduler-file", str(self.file), *words]
        env = os.environ | {"OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=env)
        self.processes.append(process)
        return process

    def worker(self, *words):
        fixed = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"]
        return self.start("worker", *fixed, *words)


@contextmanager
def cluster(folder, workers, patience=60):
    made = Cluster(folder)
    try:
        made.workers = [made.worker() for _ in range(workers)]
        with distributed.Client(made.address, timeout=patience, set_as_default=False) as client:
            if workers:
                client.wait_for_workers(workers, timeout=60)
            yield made, client
    finally:
        for process in made.processes:
            process.kill()
            process.wait()
        gc.collect()  # warnings about sockets that dask leaves open belong to this test


def when_begun(action, tasks=3):
    """Return a progress callback that acts once some tasks are finished."""
    done = threading.Event()

    def tell(progress):
        if progress.done >= tasks and not done.is_set():
            done.set()
            action()

    return tell


def test_killed_late_and_slow_workers_change_nothing(tmp_path):
    expected = bf.greedy_search(X, **OPTIONS)
    resampling = {"n_resamples": 40, "strategy": QUICK, "rng": 1}
    with cluster(tmp_path, 2) as (made, client):
        executor = client.get_executor()
        assert same_search(bf.greedy_search(X, **OPTIONS, executor=executor), expected)

        first, second = made.workers
        kill = when_begun(first.kill)
        found = bf.greedy_search(X, **OPTIONS, executor=executor, progress=kill)
        assert first.wait(10) == -signal.SIGKILL
        assert same_search(found, expected)

        # One worker is left, and sleeps for a second; another joins meanwhile, the first is killed.
        def disturb():
            second.send_signal(signal.SIGSTOP)
            made.worker()
            threading.Timer(1.0, lambda: second.send_signal(signal.SIGCONT)).start()
            threading.Timer(2.0, second.kill).start()

        again = bf.bootstrap(X, **resampling, executor=executor, progress=when_begun(disturb))
        assert again.graphs == bf.bootstrap(X, **resampling).graphs
        assert again.complete


def test_workers_that_are_not_there_yet(tmp_path):
    with cluster(tmp_path, 0) as (made, client):
        threading.Timer(0.5, made.worker).start()
        found = bf.greedy_search(X, **OPTIONS, executor=client.get_executor())
        assert same_search(found, bf.greedy_search(X, **OPTIONS))


def test_without_the_scheduler_all_are_lost_and_nothing_else(tmp_path):
    file = tmp_path / "search.checkpoint"
    with cluster(tmp_path, 1, patience=4) as (made, client):
        kill = when_begun(made.scheduler.kill)
        with pytest.raises(bf.errors.WorkersLost) as caught:
            bf.greedy_search(
                X, **OPTIONS, executor=client.get_executor(), progress=kill, checkpoint=file
            )
        assert len(caught.value.result.runs) >= 3
        assert not caught.value.result.complete
    assert same_search(
        bf.greedy_search(X, **OPTIONS, checkpoint=file), bf.greedy_search(X, **OPTIONS)
    )


def test_without_workers_a_computation_ends_with_what_was_finished(tmp_path, monkeypatch):
    monkeypatch.setattr("bowfree.parallel.budget.NO_WORKER_SECONDS", 1.0)
    with cluster(tmp_path, 2) as (made, client):
        kill = when_begun(lambda: [worker.kill() for worker in made.workers])
        with pytest.raises(bf.errors.WorkersLost, match="all workers") as caught:
            bf.bootstrap(
                X, n_resamples=60, restarts=1, rng=1, executor=client.get_executor(), progress=kill
            )
        assert 3 <= caught.value.result.n_resamples < 60
        # The next call does not wait for the lost workers either.
        with pytest.raises(bf.errors.WorkersLost, match="all workers"):
            bf.greedy_search(X, **OPTIONS, executor=client.get_executor())


def test_another_version_is_refused_with_both(tmp_path):
    older = tmp_path / "older.py"
    older.write_text(
        "import bowfree.parallel.budget\nbowfree.parallel.budget.__version__ = '0.0.1'\n"
    )
    with cluster(tmp_path, 0) as (made, client):
        made.worker("--preload", str(older))
        with pytest.raises(bf.BowfreeError, match=rf"has bowfree 0\.0\.1, .* {bf.__version__}: "):
            bf.greedy_search(X, **OPTIONS, executor=client.get_executor())


def test_the_command_line_takes_an_address(tmp_path, monkeypatch):
    monkeypatch.setattr("bowfree.visualization.report.content.AVERAGE_SECONDS", 300.0)
    file, table = tmp_path / "data.csv", Table(("x", "y", "z"), X[:, :3])
    file.write_text(write_table(table))
    words = ["learn", str(file), "--restarts", "4", "--json"]
    with cluster(tmp_path, 1) as (made, _):
        found = CliRunner().invoke(main, [*words, "--scheduler", made.address])
    assert found.exit_code == 0, found.output
    # A client that is garbage-collected may wait for a lock of dask in any thread.
    assert {client.status for client in distributed.Client._instances} <= {"closed"}
    assert "in this process" not in found.stderr
    printed = json.loads(found.stdout)
    expected = bf.greedy_search(table, restarts=4, rng=0)
    assert printed["score"] == expected.score
    average = bf.averaged_effects(expected, rng=0)
    assert printed["averaged"]["probability"] == average.to_dict()["probability"]


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://there", ""])
def test_an_address_without_a_scheduler(tmp_path, address, monkeypatch):
    monkeypatch.setattr("bowfree.cli.options.CONNECT_SECONDS", 0.5)
    file = tmp_path / "data.csv"
    file.write_text(write_table(bf.datasets.load_demo()))
    found = CliRunner().invoke(main, ["learn", str(file), "--scheduler", address])
    assert found.exit_code == 1
    assert f"--scheduler {address}: no dask scheduler answers" in found.stderr
    assert "Traceback" not in found.stderr
