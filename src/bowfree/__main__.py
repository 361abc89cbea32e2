"""The command line: what the script ``bowfree`` and ``python -m bowfree`` run.

Ctrl-C while the libraries are still being loaded ends the program, without a traceback, as it does
later on.
"""

import os
import sys


def run() -> None:
    """Load the command line and run it."""
    for number in range(3):
        # A file must not be opened as standard output or error, if that was closed: libraries write
        # messages there.
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    try:
        from bowfree.cli import main

        main(prog_name="bowfree")
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("\nAborted!", file=sys.stderr)
        sys.exit(130)
    finally:
        # A full disk or a closed pipe was reported; at exit, Python would try to write once more.
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    run()
