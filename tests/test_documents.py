"""The Python code in the documents runs, and their tables name what there is."""

import re
from pathlib import Path

import pytest

from bowfree import formats

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if "_build" not in path.parts and "```python\n" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_blocks_run(name, tmp_path, monkeypatch):
    text = (ROOT / name).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # what an example writes does not land in the checkout
    namespace = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, name, "exec"), namespace)


def test_every_format_is_in_the_table():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([\w-]+)` \|", text, flags=re.MULTILINE)
    assert named == list(formats.FORMATS)
