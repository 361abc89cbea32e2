"""The version is the same in all files that contain it."""

import re
import tomllib
from pathlib import Path

import bowfree

ROOT = Path(__file__).parents[2]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    assert tomllib.loads(text_of("pyproject.toml"))["project"]["version"] == bowfree.__version__
    assert f"\nversion: {bowfree.__version__}\n" in text_of("CITATION.cff")


def test_the_newest_release_in_the_change_log_is_this_version():
    headings = re.findall(r"^## \[?([\w.]+)\]?(?: - (.*))?$", text_of("CHANGELOG.md"), re.MULTILINE)
    version, date = next(heading for heading in headings if heading[0] != "Unreleased")
    assert version == bowfree.__version__
    assert f"\ndate-released: {date}\n" in text_of("CITATION.cff")
