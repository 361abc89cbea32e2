"""Settings of all tests."""

import os
import signal

from hypothesis import settings

# The same examples in every run: a failure on one machine is a failure on all. Deadlines measure
# the machine and not the code.
settings.register_profile("bowfree", derandomize=True, deadline=None)
settings.load_profile("bowfree")

# Pictures are drawn into memory: no window opens, with a screen or without.
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell starts its background jobs with SIGINT ignored, which some tests need.
signal.signal(signal.SIGINT, signal.default_int_handler)
