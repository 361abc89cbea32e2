"""Somebody who presses Ctrl-C."""

import _thread
import gc
import threading
import time
from contextlib import contextmanager

AGAIN = 2.5  # seconds after which a person presses once more


@contextmanager
def pressed(after):
    """Press Ctrl-C a moment after the block was entered; yield the times at which it was.

    Python drops an exception that a signal raises while an object is being finalized. So the dead
    threads of earlier tests are buried first; and if Ctrl-C gets lost all the same, it is pressed
    again, as a person would.
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
