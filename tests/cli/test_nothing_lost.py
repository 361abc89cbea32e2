"""Signals, full disks and closed streams in a process of their own; see also tests/fuzz/faults.py."""

import json
import os
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, streams and limits of Unix")
CLASS = ["equiv", "--graph", "x -> y -> z", "--list", "5"]


def bowfree(words, shell, **options):
    """Run a command, redirected as the shell says."""
    command = f'"$0" -m bowfree "$@" {shell}'
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command, sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("shell", "codes", "message"),
    [
        (">&-", {1}, "Error: standard output is closed"),
        (">&- 2>&-", {1}, ""),
        (">/dev/full", {1}, "Error: standard output: No space left on device\n"),
        ("2>&-", {0}, ""),
        ("2>/dev/full", {0}, ""),
        ("| head -1", {0, 1}, ""),  # 0 if all was printed before `head` ended
        ("| true", {0, 1}, ""),
        ("<&-", {0}, ""),
    ],
)
def test_closed_streams(shell, codes, message):
    done = bowfree(CLASS, shell)
    assert done.returncode in codes
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if done.returncode == 0:
        assert done.stdout.startswith("5 members")


def test_a_closed_pipe_keeps_no_file_from_being_written(plants, tmp_path):
    words = ["learn", plants, "--class", "dag", "--restarts", "1", "--columns", "sun,leaves,water"]
    done = bowfree([*words, "--out", tmp_path / "out", "--report", tmp_path / "out/page"], "| true")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out/page").stat().st_size > 1000
    assert json.loads((tmp_path / "out" / "averaged.json").read_text())


def test_a_full_disk(plants, tmp_path):
    # Files of at most 40 blocks of 1,024 bytes: the report is larger.
    words = ["learn", plants, "--class", "dag", "--restarts", "1", "--columns", "sun,leaves,water"]
    done = bowfree([*words, "--report", tmp_path / "page"], "", preexec_fn=limit_files)
    assert done.returncode == 1
    assert "best graph: " in done.stdout
    assert (
        f"Error: cannot write {tmp_path / 'page'}: File too large; the results are" in done.stderr
    )
    assert list(tmp_path.iterdir()) == []


def limit_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (40960, 40960))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("phase", ["equivalence_class", "averaged_effects", "report.render"])
def test_a_signal_after_the_search(number, phase, plants, tmp_path):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the signal is ignored, as under nohup")
    # The command waits in one of its phases until the signal comes.
    code = (
        "import sys, time, bowfree as bf\n"
        "from bowfree.cli import main\n"
        "from bowfree.visualization import report\n"
        "from bowfree.visualization.report import content\n"
        "def wait(*_, **__):\n"
        "    print('waiting', flush=True)\n"
        "    time.sleep(60)\n"
        "home, name = {'equivalence_class': (bf, 'equivalence_class'),\n"
        "    'averaged_effects': (content, 'averaged_effects'),\n"
        "    'report.render': (report, 'render')}[sys.argv[1]]\n"
        "setattr(home, name, wait)\n"
        "main(sys.argv[2:])"
    )
    words = ["learn", plants, "--restarts", "1", "--class", "dag", "--columns", "sun,leaves,water"]
    files = ["--out", tmp_path / "out", "--report", tmp_path / "page"]
    command = [sys.executable, "-c", code, phase, *map(str, [*words, *files])]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        printed = []
        while "waiting\n" not in printed:
            printed.append(process.stdout.readline())
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    stdout = "".join(printed) + stdout
    assert process.returncode == 1
    assert "Traceback" not in stderr
    assert "Warning: interrupted before " in stderr
    assert "best graph: " in stdout
    assert bf.parse((tmp_path / "out" / "graph.txt").read_text()).nodes == (
        "sun",
        "leaves",
        "water",
    )
    done = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"summary.txt", "search.json"} <= done
    assert ("class.txt" in done) == ("equivalent" in stdout) == (phase != "equivalence_class")
    assert ("averaged.txt" in done) == ("averaged over" in stdout) == (phase == "report.render")
    assert not (tmp_path / "page").exists()


def test_sigterm_ends_the_process_until_the_work_begins(plants):
    # Libraries that are being imported may catch KeyboardInterrupt.
    code = (
        "import os, signal, sys\n"
        "from bowfree.cli import main, tables\n"
        "tables.read_file = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "main(['learn', sys.argv[1]])"
    )
    done = subprocess.run([sys.executable, "-c", code, plants], capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM


def test_ctrl_c_in_effects_prints_the_average_so_far(plants, monkeypatch):
    from contextlib import contextmanager

    @contextmanager
    def press(doing):
        def show(progress):
            if progress.what == "steps" and progress.done >= 0.7 * progress.planned:
                raise KeyboardInterrupt

        yield show

    monkeypatch.setattr("bowfree.cli.work.progress_bar", press)
    done = CliRunner().invoke(main, ["effects", str(plants)])
    assert done.exit_code == 1
    assert "NOT COMPLETE" in done.stdout
    assert "P(effect)" in done.stdout


def test_a_part_that_fails_loses_no_other(plants, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(bf, "equivalence_class", fail)
    words = ["learn", str(plants), "--class", "dag", "--restarts", "1", "--json"]
    done = CliRunner().invoke(main, [*words, "--columns", "sun,leaves,water"])
    assert done.exit_code == 1
    assert "Error: equivalent graphs: there is not enough memory" in done.stderr
    found = json.loads(done.stdout)
    assert found["class"] is None
    assert found["averaged"] is not None
