"""The command line: results on stdout, messages on stderr, exit codes 0, 1 and 2."""

import json
import re
import warnings

import numpy as np
import pytest

import bowfree as bf
from bowfree.cli import COMMANDS
from bowfree.datasets import write_table
from bowfree.results.display import Table
from command_line import run

CHAIN = "sun -> leaves -> fruit"
GRAPH = bf.parse(CHAIN)
DEMO = bf.datasets.load_demo()
BATCHES = np.where(np.arange(1000) < 600, "control", "inhibitor")
IN_BATCHES = bf.conditions(
    {**DEMO, "batch": BATCHES}, column="batch", targets={"inhibitor": ["leaves"]}
)
QUICK = ("--restarts", 1, "--seed", 3)
BY_BATCH = ("--conditions", "batch", "--targets", "targets.toml", "--means", "shared")


# words of a command, and the same call of the library
SAME = {
    "fit": (("--graph", CHAIN), lambda: bf.fit(GRAPH, DEMO)),
    "effects": (
        ("--graph", CHAIN),
        lambda: bf.effect_bounds(bf.equivalence_class(GRAPH), DEMO),
    ),
    "bootstrap": (
        (*QUICK, "--resamples", 40, "--jobs", 2),
        lambda: bf.bootstrap(DEMO, n_resamples=40, restarts=1, rng=3),
    ),
    "bootstrap --max-false 2": (
        (*QUICK, "--resamples", 10),
        lambda: bf.stability_selection(DEMO, n_halves=10, max_false=2, restarts=1, rng=3),
    ),
    "compare": (
        ("--graph", f"chain={CHAIN}", "--graph", "sun, leaves, fruit"),
        lambda: bf.compare({"chain": GRAPH, "G2": bf.parse("sun, leaves, fruit")}, DEMO),
    ),
    "effects --kind perfect": (
        ("--graph", CHAIN, *BY_BATCH),
        lambda: bf.effect_bounds(
            bf.equivalence_class(GRAPH, targets=[(), "leaves"]), IN_BATCHES, means="shared"
        ),
    ),
    "bootstrap --class bap": (
        (*QUICK, *BY_BATCH, "--resamples", 40),
        lambda: bf.bootstrap(
            bf.moments(IN_BATCHES, means="shared"), n_resamples=40, restarts=1, rng=3
        ),
    ),
}


@pytest.mark.parametrize("command", SAME)
def test_the_command_prints_the_result_of_the_function(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header, *lines = write_table(DEMO).splitlines()
    rows = [f"{line},{batch}" for line, batch in zip(lines, BATCHES, strict=True)]
    table = [f"{header},batch", *rows] if "--conditions" in SAME[command][0] else [header, *lines]
    (tmp_path / "data.csv").write_text("\n".join(table) + "\n")
    (tmp_path / "targets.toml").write_text('inhibitor = ["leaves"]\n')
    words, call = SAME[command]
    words, expected = (*command.split(), "data.csv", *words), call()
    assert json.loads(run(*words, "--json").stdout) == json.loads(json.dumps(expected.to_dict()))
    shown = expected.summary() if command == "fit" else expected
    assert run(*words).stdout == f"{shown}\n"


def test_version_and_help():
    assert run("--version").stdout == f"bowfree, version {bf.__version__}\n"
    for command in ((), *((name,) for name in COMMANDS)):
        result = run(*command, "--help")
        assert result.exit_code == 0
        assert "Usage:" in result.stdout
        assert not command or "Example: bowfree" in result.stdout


def test_isolated_variables_are_noted_and_tables_have_formats(plants):
    result = run("--tables", "markdown", "fit", plants, "--graph", f"{CHAIN}, pot")
    assert result.stderr == "note: --graph has no edge at pot\n"
    assert "| leaves ~ |" in " ".join(result.stdout.split())
    tex = run("--tables", "latex", "fit", plants, "--graph", f"{CHAIN}, isolated: pot")
    assert tex.stderr == ""
    assert r"\begin{tabular}" in tex.stdout
    apa = run("--tables", "apa", "fit", plants, "--graph", f"{CHAIN}, isolated: pot").stdout
    assert "<i>p</i>" in apa
    assert "&nbsp;&nbsp;" in apa  # causes below their effect
    assert "Free parameters</td>" in apa  # the statistics are a table, too
    assert ">&lt; .001</td>" in apa
    cells = "".join(Table(("edge", "p"), [("x -> y", "0.0123"), ("-0.5", "< 0.0001")]).apa())
    assert all(text in cells for text in ("x \u2192 y", ">.012<", "\N{MINUS SIGN}0.5"))


def test_sample_is_reproducible_and_does_not_overwrite(tmp_path):
    options = ("sample", "--graph", "x -> y <-> z", "--n", 5, "--seed", 1)
    assert run(*options).stdout == run(*options).stdout
    assert len(run(*options).stdout.splitlines()) == 6
    out = tmp_path / "data.csv"
    first = run(*options, "--out", out)
    assert (first.exit_code, first.stdout) == (0, "")
    assert out.read_text() == run(*options).stdout
    second = run(*options, "--out", out, code=2)
    assert "exists already" in second.stderr


def test_convert_reads_standard_input():
    result = run("convert", "-", "--from", "lavaan", "--to", "text", text="y ~ x\ny ~~ z\n")
    assert result.stdout == "y <- x, y <-> z\n"


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["fit", "DATA"], 2, "one of --graph or --graph-file"),
        (["fit", "DATA", "--graph", "x", "--format", "dot"], 2, "--format belongs"),
        (["fit", "DATA", "--graph", "sun -> leaves", "--n", "5"], 2, "--n belongs to --cov"),
        (["fit", "DATA", "--graph", "sun -> leaves", "--cov"], 2, "--cov needs --n"),
        (["fit", "DATA", "--graph", "sun", "--cov", "--n", "9", "--log"], 2, "--log needs obs"),
        (["learn", "DATA", "--log"], 1, "'sun' has the value -"),
        (["lern", "DATA"], 2, "No such command 'lern'; did you mean 'learn'?"),
        (["learn", "DATA", "--json", "--format", "dot"], 2, "one of --json and --format"),
        (["equiv", "--graph", "x -> y", "--and", "x -> z"], 1, "nodes"),
        (
            ["equiv", "--graph", "x -> y", "--and", "x <- y", "--list", "3"],
            2,
            "do not go together with --and",
        ),
        (["equiv", "--graph", "x -> y", "--experiment", "w"], 1, "--experiment: unknown node 'w'"),
        (["design", "--graph", "x -> y", "--experiment", "x -> y"], 1, "names of variables"),
        (["design"], 2, "give the graph by one of"),
        (["effects", "DATA", "--graph", "sun -> moon"], 1, "plants.csv has no column 'moon'"),
        (
            ["sample", "--model", "DATA", "--graph", "x", "--seed", "1"],
            2,
            "contains a graph already",
        ),
        (["fit", "DATA", "--graph", "sun ->"], 1, "line 1, column 7"),
        (["fit", "DATA", "--graph", "sun -> leafs"], 1, "did you mean 'leaves'"),
        (
            ["fit", "DATA", "--graph", "sun -> leaves, sun <-> leaves"],
            1,
            "has both sun -> leaves and sun <-> leaves",
        ),
        (["convert", "-", "--from", "ggm", "--to", "dot"], 1, "empty"),
    ],
)
def test_errors_have_a_code_and_no_traceback(arguments, code, problem, plants):
    result = run(*(plants if a == "DATA" else a for a in arguments), text="", code=code)
    assert result.stdout == ""
    assert problem in re.sub(r"\s+", " ", result.stderr)
    assert "Traceback" not in result.stderr


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line_on_stderr(plants, monkeypatch):
    fit = bf.fit

    def doubtful(*arguments, **options):
        warnings.warn("not certified", bf.errors.FitWarning, stacklevel=2)
        return fit(*arguments, **options)

    expected = run("fit", plants, "--graph", CHAIN).stdout
    monkeypatch.setattr(bf, "fit", doubtful)
    result = run("fit", plants, "--graph", CHAIN)
    assert (result.exit_code, result.stdout) == (0, expected)
    assert result.stderr == "Warning: not certified\n"


def test_experiments():
    chain = ["--graph", "x -> y -> z"]
    shown = run("design", *chain).stdout
    assert shown == f"{bf.design(bf.parse('x -> y -> z'))}\n"
    plan = json.loads(
        run("design", *chain, "--experiment", "y", "--candidate", "x", "--json").stdout
    )
    assert (plan["n_members"], plan["targets"]) == (2, [[], ["y"]])
    assert [one["targets"] for one in plan["experiments"]] == [["x"]]
    pairs = run("design", *chain, "--max-targets", "2", "--kind", "noise").stdout
    assert len(pairs.splitlines()) == 2 + 6
    left = run("equiv", *chain, "--experiment", "y", "--list", "9").stdout
    assert left.splitlines()[-2:] == ["x -> y -> z", "x <-> y -> z"]
    verdict = run("equiv", *chain, "--and", "x <- y <- z", "--experiment", "y").stdout
    assert verdict.startswith("not equivalent: with y intervened on")


def test_debug_shows_the_traceback(plants):
    result = run("--debug", "fit", plants, "--graph", "sun ->", code=1)
    assert isinstance(result.exception, bf.BowfreeError)
