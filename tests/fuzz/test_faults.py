"""A short run of ``nox -s faults``."""

import os
import shutil
import sys

import pytest

from fuzz import faults

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and limits of Unix")


@pytest.fixture(scope="module", params=faults.COMMANDS)
def command(request, tmp_path_factory):
    if request.param == "study":
        pytest.importorskip("matplotlib")
    return faults.Command(request.param, faults.data_file(tmp_path_factory.mktemp("faults")))


def test_a_write_that_fails_loses_nothing_else(command):
    tried, defects = faults.every_write(command, every=3)
    assert tried
    assert defects == []


def test_a_signal_loses_no_finished_part(command):
    tried, defects = faults.every_signal(command, every=20)
    assert tried
    assert defects == []


def test_lost_workers_lose_no_finished_task():
    assert faults.every_worker(every=7)[1] == []


@pytest.mark.skipif(
    not shutil.which("c++") or not sys.platform.startswith("linux"), reason="needs a compiler"
)
def test_a_failed_allocation_is_a_memory_error():
    tried, defects = faults.every_allocation(most=12)
    assert tried > 50
    assert defects == []
