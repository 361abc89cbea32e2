"""The code blocks of the documents run and print what the documents show; links are valid.

The language of a block decides what happens. `python`: executed, all blocks of a page in one
namespace. `text` directly after it: the expected output. `console`: lines `$ bowfree ...` are run,
each followed by its expected output (or by nothing: any output). `toml`: written to the file that
its first comment names. `...` in an expected output matches anything.
"""

import ast
import contextlib
import doctest
import functools
import importlib
import importlib.util
import inspect
import io
import pkgutil
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


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


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
            if words[0] != "bowfree":  # not ours to test
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
    text = text_of(name)
    monkeypatch.chdir(tmp_path)  # examples write files
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
    text = text_of("docs/formats.md")
    named = re.findall(r"^\| `([\w-]+)` \|", text, flags=re.MULTILINE)
    assert named == list(formats.FORMATS)


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_current():
    """Run `python docs/reference.py` after a change of signatures, names or first lines."""
    wanted = load(ROOT / "docs" / "reference.py").pages()
    found = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/reference/*")}
    assert found.keys() == wanted.keys()
    changed = [name for name in wanted if found[name] != wanted[name]]
    assert not changed


def test_every_public_name_is_in_the_reference():
    named = {n for names in load(ROOT / "docs" / "reference.py").entries().values() for n in names}
    public = {name for name in bowfree.__all__ if not inspect.ismodule(getattr(bowfree, name))}
    assert public - {"__version__"} <= named


def test_pictures_are_what_their_script_draws():
    folder = ROOT / "docs" / "pictures"
    drawn = load(folder / "make.py").pictures()
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")} == drawn


LINKED = ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
PAGES = [
    path for path in ROOT.glob("docs/**/*.md") if not {"_build", "gallery", "api"} & {*path.parts}
]


def test_every_page_is_in_a_table_of_contents():
    for index in (path for path in PAGES if path.name == "index.md"):
        contents = re.findall(r"^([\w/-]+)$", index.read_text(encoding="utf-8"), flags=re.MULTILINE)
        pages = {path.stem for path in index.parent.glob("*.md")} - {"index", "api"}
        assert pages <= set(contents)


def test_links_lead_to_files_and_headings():
    for path in [*(ROOT / name for name in LINKED), *PAGES]:
        for target in re.findall(r"\]\(([^):]+)\)", path.read_text(encoding="utf-8")):
            page, _, heading = target.partition("#")
            destination = path.parent / page if page else path
            assert destination.exists(), f"{path.name} links to {target}"
            assert not heading or heading in anchors(destination), f"{path.name} links to {target}"


def anchors(page):
    """Return the anchors of the headings of a page."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(bowfree.__path__, "bowfree.")
    if not module.name.endswith(("._core", ".__main__"))
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    result = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert result.failed == 0
    if "plot" in name:
        importlib.import_module("matplotlib.pyplot").close("all")


# The numbered items of the paper: how many there are; each must be in the map once.
KINDS = ("Algorithm", "Corollary", "Definition", "Equation", "Figure", "Lemma", "Theorem")
NUMBERED = [
    f"{kind} {number + 1}"
    for kind, last in zip(KINDS, (1, 2, 3, 13, 7, 5, 5), strict=True)
    for number in range(last)
]


def table_rows(name: str, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the rows of all tables in a document that have exactly these columns."""
    rows = []
    header: tuple[str, ...] = ()
    for line in text_of(f"docs/{name}").splitlines():
        if not line.startswith("|"):
            header = ()
            continue
        cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
        if not header:
            header = cells
        elif not set(line) <= set("|-") and header == columns:
            assert len(cells) == len(columns), f"{name}: wrong number of cells in {line}"
            rows.append(dict(zip(columns, cells, strict=True)))
    return rows


MAP = table_rows("paper-map.md", ("paper", "label", "what", "function", "test"))
ERRATA = table_rows("errata.md", ("place", "there", "here", "why", "test"))
FUNCTIONS = sorted({entry.strip() for row in MAP for entry in row["function"].split(",")})
TESTS = sorted({entry.strip() for row in MAP + ERRATA for entry in row["test"].split(",")})


def test_every_numbered_item_is_there_once():
    assert len(ERRATA) >= 12  # the tables are found
    items = [row["paper"] for row in MAP]
    assert sorted(item for item in items if re.fullmatch(r"[A-Z]\w+ \d+", item)) == sorted(NUMBERED)


@pytest.mark.parametrize("entry", FUNCTIONS)
def test_function_exists(entry):
    named = re.fullmatch(r"`bowfree\.([\w.]+)`", entry)
    assert named, f"{entry!r} is not `bowfree.name`"
    functools.reduce(getattr, named[1].split("."), bowfree)


@functools.cache
def collected_from(path: str) -> set[str]:
    """Return the names of the tests that pytest collects from a file."""
    found = set()
    for node in ast.parse(text_of(path)).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            found |= {
                f"{node.name}::{method.name}"
                for method in node.body
                if isinstance(method, ast.FunctionDef) and method.name.startswith("test")
            }
    return found


@pytest.mark.parametrize("entry", TESTS)
def test_test_exists(entry):
    named = re.fullmatch(r"`(tests/(?:\w+/)?test_\w+\.py)::([\w:]+)`", entry)
    assert named, f"{entry!r} is not `tests/package/test_x.py::test_name`"
    assert named[2] in collected_from(named[1])
