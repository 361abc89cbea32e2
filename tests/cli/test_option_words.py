"""On a terminal, what the library says of its arguments is said of the command's options."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import bowfree as bf
from bowfree.cli import main
from bowfree.cli.bootstrap import bootstrap
from bowfree.cli.fit import fit
from bowfree.cli.learn import learn
from bowfree.cli.terminal import in_options, option_words
from bowfree.datasets.table import Table
from bowfree.datasets.tables import write_table
from bowfree.search import plan
from bowfree.uncertainty import repeated_searches as resampling

PACKAGE = Path(bf.__file__).parent
# On terminals, or in other words; no command has a checkpoint.
NOT_SAID = {"app", "experiments", "cli", "formats", "datasets", "checkpoint.py"}


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("which max_district= avoids", "which --max-district avoids"),
        ("which `max_district` avoids", "which --max-district avoids"),
        ("penalty='ebic' is 4.2 here", "--penalty ebic is 4.2 here"),
        ("search with holdout=0.5, or", "search with --holdout 0.5, or"),
        ("time_limit = 0.1: the time was up", "--time-limit 0.1: the time was up"),
        ("more `restarts` or another `rng`", "more --restarts or another --seed"),
        ("`n_jobs` and `graph_class`", "--jobs and --class"),
        ("give the rows as `data`", "give the rows as DATA"),
        # Only `fit` has these.
        ("(se='robust', test='yuan-bentler')", "(fit --se robust, fit --test yuan-bentler)"),
        # No option of any command, no argument at all, and what looks like one.
        ("a larger `max_steps`", "a larger `max_steps`"),
        ("n = 3: half of the rows", "n = 3: half of the rows"),
        ("penalty 0.5 log n", "penalty 0.5 log n"),
        ("fit(penalty==1) my_penalty=2 x.penalty=3", "fit(penalty==1) my_penalty=2 x.penalty=3"),
    ],
)
def test_words(said, shown):
    assert in_options(said, option_words(learn, fit)) == shown


def sentences():
    """Yield all texts of the package but docstrings; what is filled in is a word here."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if NOT_SAID.intersection(path.relative_to(PACKAGE).parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inside = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values
        }
        for node in ast.walk(tree):
            if id(node) in statements | inside:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path.name, node.value
            elif isinstance(node, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "'x'" for p in node.values]
                yield path.name, "".join(map(str, parts))


SENTENCES = [(name, text) for name, text in sentences() if " " in text]


@pytest.mark.parametrize("command", [learn, bootstrap, fit], ids=lambda command: command.name)
def test_no_sentence_keeps_an_argument_that_is_an_option(command):
    words = option_words(command, fit)
    names = "|".join(sorted((name for name in words if len(name) > 1), key=len, reverse=True))
    argument = re.compile(rf"(?<![\w.])(?:`({names})`|({names})=(?!=))")
    met = [(name, text) for name, text in SENTENCES if argument.search(text)]
    assert len(met) > 15  # the walk finds them
    for name, text in met:
        said = in_options(text, words)
        # Calls in Python, as in result.fit(holdout=rows), are calls.
        left = [found for found in argument.finditer(said) if not _in_a_call(said, found.start())]
        assert not left, (name, said)


def _in_a_call(text: str, at: int) -> bool:
    return re.search(r"\w\([^()]*$", text[:at]) is not None


@pytest.fixture
def table(tmp_path):
    """Return the path of a table that takes a search some work."""
    model = bf.random_sem(bf.random_bap(14, max_in_degree=3, rng=3), rng=3)
    path = tmp_path / "table.csv"
    X = model.sample(300, rng=3)
    path.write_text(write_table(Table(model.graph.nodes, X)), encoding="utf-8")
    return path


def test_notes_of_a_search(table, monkeypatch):
    monkeypatch.setattr(plan, "work_for", lambda d: 1e5)
    result = CliRunner().invoke(main, ["learn", str(table), "--restarts", "2"])
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "the work set aside for one run" in said
    assert "--max-district avoids" in said
    assert "max_district" not in result.output


def test_notes_of_a_bootstrap(table, monkeypatch):
    monkeypatch.setattr(resampling, "WORK", 1e3)
    result = CliRunner().invoke(main, ["bootstrap", str(table), "--resamples", "40"])
    assert result.exit_code == 0, result.output
    assert "40 of 40 searches ended when the work set aside" in result.stdout
    assert "more --restarts give each more work, --max-district or a larger --penalty" in (
        result.stdout
    )


def test_errors(table):
    result = CliRunner().invoke(main, ["bootstrap", str(table), "--time-limit", "0.001"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: --time-limit 0.001: the time was up")
