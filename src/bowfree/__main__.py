"""The command line: what the script ``bowfree`` and ``python -m bowfree`` run.

Ctrl-C while the libraries are still being loaded ends the program, without a traceback, as it does
later on.
"""

import sys


def run() -> None:
    """Load the command line and run it."""
    try:
        from bowfree.cli import main

        main(prog_name="bowfree")
    except KeyboardInterrupt:
        print("\nAborted!", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
