"""``python -m bowfree``: the command line, where the script ``bowfree`` is not on the path."""

from bowfree.cli import main

main(prog_name="bowfree")
