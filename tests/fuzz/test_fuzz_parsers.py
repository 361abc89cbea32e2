"""A short run of the fuzzer; `nox -s fuzz` is the long one."""

import signal

import pytest

from bowfree import formats
from fuzz.fuzz_parsers import corpus, fuzz

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="the watch over time is a Unix thing"
)


def test_every_input_is_read_or_refused():
    pytest.importorskip("pyarrow")
    counts, failures = fuzz(seed=0, inputs=3_000)
    assert failures == []
    # Not all broken, not all whole: otherwise the mutations would test nothing.
    assert counts["read"] > 200
    assert counts["refused"] > 1_000
    assert all(counts[name] > 50 for name in formats.FORMATS)


def test_the_corpus_is_valid():
    for name in formats.FORMATS:
        for text in corpus()[name]:
            assert len(formats.read(text, format=name)) > 1
