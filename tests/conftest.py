"""Settings that hold for every test file."""

import os

from hypothesis import settings

# The same examples in every run: a failure on one machine is a failure on all. Deadlines measure
# the machine and not the code.
settings.register_profile("bowfree", derandomize=True, deadline=None)
settings.load_profile("bowfree")

# Pictures are drawn into memory: no window opens, with a screen or without.
os.environ.setdefault("MPLBACKEND", "Agg")
