"""If the system refuses threads, computations continue or raise an error of the package.

A process gets no thread when there is no room for its stack. The tests below start Python with a
huge default stack and then limit its memory, which works for every user, unlike a limit on
processes. Linux only.
"""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux"),
    pytest.mark.skipif(
        "asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer takes all address space"
    ),
]

PREPARE = """
import resource
import numpy as np
import bowfree as bf

def leave_room_for(threads):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    room = used + int((threads + 0.5) * {stack} * 2**20)
    resource.setrlimit(resource.RLIMIT_AS, (room, room))

S = np.eye(5) + 0.5
whole_atlas = str(bf.equivalence.atlas(4, n_jobs=1))
CHAINS = dict(cov=S, n=200, steps=2_000, starts=[bf.MixedGraph([f"x{k}" for k in range(1, 6)])], rng=1)
chains = bf.structure_mcmc(**CHAINS, n_jobs=1).scores
SEARCH = dict(cov=S, n=200, rng=1)
score = bf.greedy_search(**SEARCH, n_jobs=1).score
"""


def run_with_room_for(threads, body, stack_mb=2_000):
    """Run `body` in a process that can start this many threads; return its output."""
    script = (
        PREPARE.replace("{stack}", str(stack_mb))
        + f"leave_room_for({threads})\n"
        + textwrap.dedent(body)
    )
    shell = f'ulimit -s {stack_mb * 1024} && export OPENBLAS_NUM_THREADS=1 && exec "$0" -c "$1"'
    done = subprocess.run(
        ["sh", "-c", shell, sys.executable, script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


@pytest.mark.parametrize("threads", [0, 1])
def test_the_threads_there_are_do_the_work(threads):
    printed = run_with_room_for(
        threads,
        """
        print(str(bf.equivalence.atlas(4, n_jobs=4)) == whole_atlas)
        print((bf.structure_mcmc(**CHAINS, n_jobs=4).scores == chains).all())
        try:
            print(bf.greedy_search(**SEARCH, n_jobs=4).score == score)
        except bf.BowfreeError as error:
            print("starts-no-more-threads" in str(error).replace(" ", "-") and "refused")
        """,
    )
    assert printed == ["True", "True", "refused" if threads == 0 else "True"]


def test_what_a_job_throws_reaches_the_caller():
    # The tables of two chains on 2,500 variables, 100 MB each, do not fit beside their stacks.
    printed = run_with_room_for(
        2,
        """
        from bowfree import _core
        rules = _core.Rules(0, -1, -1, -1, np.zeros((0, 0), dtype=np.uint8))
        empty = np.zeros((2500, 40), dtype=np.uint64)
        try:
            chains = _core.StructureChains(
                np.eye(2500), 200, 1.0, 2**20, rules, [(empty, empty)] * 4,
                temperature=1.0, log_prior=[], keep=1, window=1.0, seed=0,
            )
            chains.run(10, 1, 2, None)
        except MemoryError:
            print("MemoryError")
        """,
        stack_mb=200,
    )
    assert printed == ["MemoryError"]
