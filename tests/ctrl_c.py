"""Simulate Ctrl-C."""

import _thread
import gc
import threading
import time
from contextlib import contextmanager

AGAIN = 2.5  # seconds until the next attempt


@contextmanager
def pressed(after):
    """Raise SIGINT some seconds after the block is entered; yield the times at which it was raised.

    Python drops an exception that a signal raises while an object is being finalized. So garbage
    is collected first, and the signal is raised again if nothing happens.
    """
    gc.collect()
    times = []
    left = threading.Event()

    def press():
        left.wait(after)
        while not left.is_set() and len(times) < 3:
            times.append(time.monotonic())
            _thread.interrupt_main()
            left.wait(AGAIN)

    hand = threading.Thread(target=press)
    hand.start()
    try:
        yield times
    finally:
        left.set()
        hand.join()
