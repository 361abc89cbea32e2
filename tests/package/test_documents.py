"""The code in the documents runs and prints what they say, and their tables name what there is.

What a block is, its language says: `python` is executed, block after block in one namespace;
`text` right after it is what it printed; `console` has lines `$ bowfree ...`, run one by one, each
followed by what it printed (or by nothing, then any output will do); `toml` is written to the file
that its first comment names, for the blocks after it. `...` stands for anything.
"""

import contextlib
import doctest
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import bowfree
from bowfree import formats
from bowfree.cli import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|console|toml|text)\n(.*?)^```\n(\n*)", re.DOTALL | re.MULTILINE)
DOCUMENTS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if "_build" not in path.parts and BLOCK.search(path.read_text(encoding="utf-8"))
]
EXAMPLES = sorted(path.name for path in ROOT.glob("examples/*.py"))


def same(wanted, got):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, got, flags)


def run_python(code, name, namespace):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return printed.getvalue()


def run_console(block):
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, wanted = part.partition("\n")
        for command in re.split(r" && ", re.sub(r"\s+#.*", "", line)):
            words = shlex.split(command)
            if words[0] != "bowfree":  # pip and pytest are what a reader runs before us
                assert words[0] in ("pip", "pytest", "python", "nox", ".ci/run", "."), command
                continue
            out = None
            if ">" in words:
                words, out = words[: words.index(">")], words[words.index(">") + 1]
            result = CliRunner().invoke(main, words[1:])
            assert result.exit_code == 0, f"{command}\n{result.output}"
            if out is not None:
                Path(out).write_text(result.stdout, encoding="utf-8")
            assert not wanted.strip() or same(wanted, result.stdout), f"{command}\n{result.stdout}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_blocks_run(name, tmp_path, monkeypatch):
    text = (ROOT / name).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # what an example writes does not land in the checkout
    namespace, printed, end = {}, None, 0
    for block in BLOCK.finditer(text):
        language, content = block[1], block[2]
        follows = block.start() == end  # nothing but blank lines since the block before
        end = block.end()
        if language == "python":
            printed = run_python(content, name, namespace)
        elif language == "console":
            run_console(content)
        elif language == "toml":
            Path(content.splitlines()[0].removeprefix("#").strip()).write_text(content)
        elif follows and printed is not None:
            assert same(content, printed), f"{name} says\n{content}\nbut the code prints\n{printed}"
            printed = None


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_runner_can_fail(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert same("a ... c\n", "a b  c\n")
    assert not same("a\n", "b\n")
    with pytest.raises(AssertionError, match="No such command"):
        run_console("$ bowfree nothing\n")
    with pytest.raises(AssertionError):
        run_console("$ bowfree --version\nsomething else\n")


def test_every_format_is_in_the_table():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([\w-]+)` \|", text, flags=re.MULTILINE)
    assert named == list(formats.FORMATS)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_reference():
    reference = load(ROOT / "docs" / "reference.py")
    named = {name for names in reference.entries().values() for name in names}
    parts = {name.split(".")[0] for name in named}
    assert set(bowfree.__all__) - {"__version__"} == parts
    listed = re.findall(r"^   (\w[\w.]*)$", reference.page(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(named)


def test_pictures_are_what_their_script_draws():
    folder = ROOT / "docs" / "pictures"
    drawn = load(folder / "make.py").pictures()
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")} == drawn


def test_pages_and_links_exist():
    """Every page is in a table of contents, every link and picture leads to a file or a heading."""
    contents = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in ROOT.glob("docs/*.md")} - {"index", "api"}
    listed = re.findall(r"^([\w-]+)$", contents, flags=re.MULTILINE)
    assert pages <= set(listed)
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^):]+)\)", path.read_text(encoding="utf-8")):
            page, _, heading = target.partition("#")
            led_to = path.parent / page if page else path
            assert led_to.exists(), f"{path.name} links to {target}"
            assert not heading or heading in anchors(led_to), f"{path.name} links to {target}"


def anchors(page):
    """Return what the headings of a page are called in links: small letters and hyphens."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
