"""Every wrong object for every argument of every public function, one at a time.

    python tests/fuzz/wrong_arguments.py [PART]

`tests/house/test_public_api.py` finds the functions and says what may come out; its hypothesis test
draws a few of these calls. Here are all of them, for about a minute; PART keeps to the functions
that have it in their names. Ends with the calls that went wrong, and with 1 if there are any.
"""

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")
TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "house")]

from test_public_api import ENTRANCES, attempt  # noqa: E402

from hostile import MAKERS  # noqa: E402


def main() -> int:
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    calls, wrong = 0, []
    for label, found in ENTRANCES.items():
        for word in found.words if part in label else ():
            for number, make in enumerate(MAKERS):
                value = make()
                if word == "progress" and callable(value):
                    continue
                calls += 1
                try:
                    attempt(label, found.quick() | {word: value})
                except Exception as error:
                    said = str(error).partition("\n")[0]
                    wrong.append(
                        f"{label}({word}=MAKERS[{number}]): {type(error).__name__}: {said}"
                    )
    print(*wrong, f"{calls:,} calls, {len(wrong)} of them wrong", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(main())
