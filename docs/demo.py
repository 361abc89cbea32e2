"""Write the recorded session of the first page: ``python docs/demo.py demo.html``."""

import sys
from pathlib import Path

import bowfree as bf
from bowfree.app.saved import Origin
from bowfree.app.session import Session


def write(file: Path) -> None:
    """Search on the demo data, select an effect, and write the page that shares the session."""
    session = Session(bf.datasets.load_demo(), origin=Origin(name="1000 plants"))
    leaves, sweetness = map(session.names.index, ("leaves", "sweetness"))
    for message in (
        {"do": "search", "seed": 0, "from_current": False, "average": True},
        {"do": "use", "which": 0},
        {"do": "arrange", "how": "rows"},
        {"do": "effect", "of": leaves, "on": sweetness},
        {"do": "share"},
    ):
        answer = session.answer(message)
        assert "error" not in answer, answer["error"]
        session.wait()  # the average follows the search
    file.write_text(answer["file"], encoding="utf-8")
    session.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
