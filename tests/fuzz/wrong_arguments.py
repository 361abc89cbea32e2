"""Pass every wrong object to every argument of every public function, one at a time.

    python tests/fuzz/wrong_arguments.py [PART]

`tests/package/test_public_api.py` finds the functions and defines which errors are allowed; the
tests leave out the slowest. PART selects the functions that have it in their names.
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "package")]

from test_public_api import ENTRANCES, went_wrong  # noqa: E402


def main() -> int:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [label for label in ENTRANCES if part in label]
    n_calls, n_wrong = 0, 0
    for label in chosen:
        calls, wrong = went_wrong(label)
        n_calls, n_wrong = n_calls + calls, n_wrong + len(wrong)
        print(*wrong, sep="\n", end="\n" * bool(wrong), flush=True)
    n_arguments = sum(len(ENTRANCES[label].words) for label in chosen)
    print(
        f"{n_calls:,} calls, {n_wrong} of them wrong: {n_arguments} arguments of {len(chosen)} "
        "functions"
    )
    return bool(n_wrong)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(main())
