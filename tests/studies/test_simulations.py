"""Studies within a budget: any executor, a clock, Ctrl-C; whole simulations only."""

import pickle
import signal
import time
from concurrent.futures import Executor, Future

import pytest

import bowfree as bf
from bowfree.parallel.budget import Budget
from bowfree.studies import calibration_study, causal_effect_study, compare_protocols
from bowfree.studies.simulations import simulate
from odd_executors import Backwards

SMALL = {"d": 4, "n": 200, "strategy": "ils", "restarts": 2, "rng": 3}


class Elsewhere(Executor):
    """Does the work at once, on copies that went through a pickle, as on another machine."""

    def submit(self, task, /, *given):
        future = Future()
        task, given = pickle.loads(pickle.dumps((task, given)))
        future.set_result(pickle.loads(pickle.dumps(task(*given))))
        return future


def slow(piece, budget):
    time.sleep(piece)
    return piece


def test_one_that_the_clock_cut_short_does_not_count():
    # The second begins in time and ends too late; the third does not begin.
    found = simulate(slow, [0.01, 0.6, 0.02], Budget(time_limit=0.4), what="naps", gather=list)
    assert found == [0.01]


def test_nothing_done_in_time():
    with pytest.raises(bf.BowfreeError, match=r"time_limit = 0.1: .* before the first of the naps"):
        simulate(slow, [0.3], Budget(time_limit=0.1), what="naps", gather=list)


def test_the_same_study_wherever_it_is_done():
    here = causal_effect_study(4, **SMALL)
    assert here.complete
    for executor in (Elsewhere(), Backwards(size=2)):
        there = causal_effect_study(4, **SMALL, executor=executor)
        assert [s.found for s in there.simulations] == [s.found for s in here.simulations]
        assert there.aucs.tolist() == here.aucs.tolist()


def test_cells_keep_their_simulations_whatever_the_order():
    options = {"d": [3], "n": [50, 100], "densities": ["sparse"], "rng": 1}
    here = calibration_study(2, **options)
    there = calibration_study(2, **options, executor=Backwards(size=4))
    assert [cell.n for cell in there.cells] == [50, 100]
    for one, other in zip(here.cells, there.cells, strict=True):
        assert one.brier("edges") == other.brier("edges")
        assert len(other.simulations) == 2


def test_what_a_thread_is_at_hears_of_the_end():
    # Chains inside a piece make a budget of their own, and would walk for hours.
    data = bf.random_sem(bf.random_bap(5, rng=1), rng=1).sample(100, rng=1)
    began = time.monotonic()

    def piece(number, budget):
        if number == 0:
            time.sleep(0.3)
            raise OSError("of the piece")
        return bf.structure_mcmc(data, steps=10**9, rng=1)

    with pytest.raises(OSError, match="of the piece"):
        simulate(piece, [0, 1], Budget(n_jobs=2), what="walks", gather=list)
    assert time.monotonic() - began < 20


def test_a_study_that_time_cut_short_says_so():
    began = time.monotonic()
    found = compare_protocols(["true-class", "best"], n_sims=3000, d=6, rng=1, time_limit=1.5)
    assert time.monotonic() - began < 1.5 + 1.2
    assert not found.complete
    assert 0 < len(found.studies["true-class"].simulations) < 3000
    assert not found.studies["true-class"].complete
    assert f"of {len(found.studies['true-class'].simulations)} " in found.table()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_hands_over_what_was_done(n_jobs):
    times = []

    def press(progress):
        if progress.done == 2:
            times.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(bf.errors.WorkInterrupted) as stop:
        calibration_study(
            400, d=[3, 9], n=[100], densities=["dense"], rng=1, n_jobs=n_jobs, progress=press
        )
    assert time.monotonic() - times[-1] < 2
    (cell,) = stop.value.result.cells
    assert 2 <= len(cell.simulations) < 400
    assert not stop.value.result.complete
