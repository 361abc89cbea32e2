"""The session of the workbench without a browser; its answers agree with the package."""

import contextlib
import io
import json
import math
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import bowfree as bf
from bowfree.app.saved import Origin
from bowfree.app.session import MAX_VARIABLES, Session
from bowfree.data.diagnostics import diagnose
from bowfree.data.options import DataOptions
from bowfree.visualization.warnings import result_warnings

DATA = bf.datasets.load_demo()
NAMES = tuple(DATA)
SUN, LEAVES, WATER, FRUIT, SWEETNESS, POT, ROOTS = range(7)
TRUTH = bf.datasets.demo_model().graph


@pytest.fixture
def session():
    with opened() as found:
        yield found


@contextlib.contextmanager
def opened(graph=None, data=DATA, **options):
    """Open a session and close it at the end of the block."""
    found = Session(data, graph=bf.parse(graph) if isinstance(graph, str) else graph, **options)
    try:
        yield found
    finally:
        found.close()


def ask(session, message, **fields):
    """Send a message, and return the answer, which must not be an error."""
    answer = session.answer({"do": message, **fields})
    assert "error" not in answer, answer["error"]
    return answer


def hello(session):
    return session.answer({"do": "hello"})["hello"]


def refused(session, message, **fields):
    """Send an impossible message, after which nothing has changed; return the error."""
    before = session.drawing
    answer = session.answer({"do": message, **fields})
    assert session.drawing == before
    assert "internal error" not in answer["error"]
    return answer["error"]


def listen(session):
    messages = []
    session.listen(messages.append)
    return messages


# --- edits ---


def test_an_edge_is_drawn_and_fitted(session):
    state = ask(session, "draw", a=SUN, mark="->", b=LEAVES)["state"]
    fit = bf.fit(session.drawing.graph, DATA)
    assert session.drawing.graph == bf.MixedGraph(NAMES, [("sun", "leaves")])
    assert state["graph"] == [[SUN, "->", LEAVES]]
    for name in ("score", "chi2", "df", "p_value", "rmsea", "cfi", "srmr"):
        assert state["fit"][name] == pytest.approx(getattr(fit, name), rel=1e-12), name
    (edge,) = state["edges"]
    estimate = fit.edge("sun -> leaves")
    assert (edge["low"], edge["high"]) == pytest.approx((estimate.lower, estimate.upper))
    assert edge["standardized"] == pytest.approx(estimate.std_all)
    empty = bf.fit(bf.MixedGraph(NAMES), DATA)
    assert state["change"]["score"] == pytest.approx(fit.score - empty.score)


def test_undo_and_redo(session):
    drawings = [session.drawing]
    for a, mark, b in [(0, "->", 1), (1, "->", 3), (3, "<->", 6)]:
        ask(session, "draw", a=a, mark=mark, b=b)
        drawings.append(session.drawing)
    ask(session, "lock", a=0, b=1)
    drawings.append(session.drawing)
    for drawing in drawings[-2::-1]:
        ask(session, "undo")
        assert session.drawing == drawing
    assert refused(session, "undo") == "nothing to undo"
    for drawing in drawings[1:]:
        ask(session, "redo")
        assert session.drawing == drawing
    ask(session, "undo")
    ask(session, "change", a=0, mark="<->", b=1)
    assert refused(session, "redo") == "nothing to redo"


def test_edges_are_changed_and_deleted(session):
    ask(session, "draw", a=0, mark="->", b=1)
    for mark in ("<-", "<->", "->", ""):
        ask(session, "change", a=0, mark=mark, b=1)
        assert session.drawing.mark("sun", "leaves") == mark
    assert refused(session, "change", a=0, mark="", b=1) == "there is no edge to delete"


def test_cycles_and_bows_are_refused():
    with opened("sun -> leaves -> fruit") as session:
        answer = session.answer({"do": "draw", "a": FRUIT, "mark": "->", "b": SUN})
        assert answer["error"] == "fruit -> sun would close the cycle sun -> leaves -> fruit -> sun"
        assert answer["path"] == [[SUN, LEAVES], [LEAVES, FRUIT]]
        answer = session.answer({"do": "draw", "a": LEAVES, "mark": "<->", "b": SUN})
        assert "would be a bow" in answer["error"]
        assert answer["alternative"] == [LEAVES, "<->", SUN]
        assert "exists already" in refused(session, "draw", a=SUN, mark="->", b=LEAVES)
        assert "two different variables" in refused(session, "draw", a=SUN, mark="->", b=SUN)


def test_knowledge_restricts_edits():
    with opened("sun -> leaves -> fruit") as session:
        ask(session, "lock", a=SUN, b=LEAVES)
        assert session.drawing.knowledge.required == (("sun", "->", "leaves"),)
        assert "is locked" in refused(session, "change", a=SUN, mark="", b=LEAVES)
        ask(session, "lock", a=SUN, b=LEAVES)
        assert session.drawing.knowledge == bf.Knowledge()

        ask(session, "forbid", a=SUN, mark="--", b=FRUIT)
        assert "is forbidden" in refused(session, "draw", a=SUN, mark="<->", b=FRUIT)
        ask(session, "allow", a=FRUIT, b=SUN)
        ask(session, "forbid", a=LEAVES, mark="->", b=FRUIT)  # an existing edge is deleted
        assert session.drawing.mark("leaves", "fruit") == ""
        ask(session, "draw", a=LEAVES, mark="<->", b=FRUIT)

        ask(session, "confounded", node=POT, possible=False)
        assert "unconfounded" in refused(session, "draw", a=POT, mark="<->", b=ROOTS)
        assert "unconfounded" in refused(session, "confounded", node=FRUIT, possible=False)
        ask(session, "confounded", node=POT, possible=True)

        ask(session, "tiers", count=2)
        ask(session, "tier", node=SUN, tier=0)
        ask(session, "tier", node=LEAVES, tier=1)
        error = refused(session, "change", a=SUN, mark="<-", b=LEAVES)
        assert error.startswith("leaves -> sun would point back in time: leaves is in tier 2")
        assert "back in time" in refused(session, "tier", node=SUN, tier=2)
        ask(session, "tier", node=SUN, tier=None)
        assert session.drawing.knowledge.tiers == ((), ("leaves",))


def test_positions():
    with opened("sun -> leaves -> fruit") as session:
        messages = listen(session)
        ask(session, "tier", node=SUN, tier=0)
        ask(session, "tier", node=FRUIT, tier=1)
        positions = [m["positions"] for m in messages if m["kind"] == "positions"][-1]
        (top, middle), (again, bottom) = positions["bands"]
        y = [center[1] for center in positions["centers"]]
        assert middle == again
        assert top < y[SUN] < middle < y[FRUIT] < bottom < y[LEAVES]
    triangles = "sun -> leaves -> water, sun -> water, pot -> roots -> fruit, pot -> fruit"
    with opened(triangles) as session:
        centers = np.array(ask(session, "arrange", how="modules")["positions"]["centers"])
        plants, pots = centers[[SUN, LEAVES, WATER]], centers[[POT, ROOTS, FRUIT]]
        low, high = ((end(plants, axis=0), end(pots, axis=0)) for end in (np.min, np.max))
        assert (high[0] < low[1]).any() or (high[1] < low[0]).any()  # modules are apart


# --- analyses ---


def test_changes_class_and_effect_follow_an_edit():
    with opened("sun -> leaves -> fruit, pot -> roots") as session:
        ask(session, "effect", of=SUN, on=FRUIT)
        ask(session, "forbid", a=SUN, mark="--", b=FRUIT)
        messages = listen(session)
        ask(session, "draw", a=WATER, mark="->", b=LEAVES)
        assert session.wait()
        graph, known = session.drawing.graph, session.drawing.knowledge
    found = {message["kind"]: message for message in messages}
    expected = bf.edge_changes(graph, DATA, knowledge=known)
    assert [c["score"] for c in found["changes"]["changes"]] == [c.score for c in expected[:10]]
    assert not any({c["a"], c["b"]} == {SUN, FRUIT} for c in found["changes"]["changes"])
    members = bf.equivalence_class(graph)
    assert found["class"]["size"] == members.size
    pag, shown = graph.pag(), found["class"]["pag"]
    ends = {
        (NAMES[a], NAMES[b]): tuple(marks)
        for (a, _, b), marks in zip(shown["edges"], shown["ends"], strict=True)
    }
    assert len(ends) == len(pag.edges)
    for (a, b), marks in ends.items():
        assert marks == (pag.mark_at(a, b), pag.mark_at(b, a))
    assert found["class"]["permitted"] == members.permitted_by(known).size
    permitted = members.permitted_by(known)
    bounds = bf.effect_bounds(permitted, DATA).effect(of="sun", on="fruit")
    assert (found["effect"]["lower"], found["effect"]["upper"]) == (bounds.lower, bounds.upper)
    fits = [bf.fit(member, DATA).total_effects() for member in permitted]
    effects = [fit.effect(of="sun", on="fruit").estimate for fit in fits]
    assert found["effect"]["strip"] == pytest.approx(effects, abs=1e-9)


def test_paths_and_adjustment_sets_of_an_effect():
    graph = "sun -> leaves -> fruit -> sweetness, water -> leaves, water -> fruit, roots <-> fruit"
    with opened(f"{graph}, pot -> roots -> leaves") as session:
        ask(session, "effect", of=LEAVES, on=SWEETNESS)
        assert session.wait()
        found, graph = session.current.analyses["effect"], session.drawing.graph
        members = bf.equivalence_class(graph)
    marked = {kind: {graph.edges[k] for k in found[kind]} for kind in ("causal", "biasing")}
    slow = {"causal": set(), "biasing": set()}
    for path in graph.paths("leaves", "sweetness"):
        if not path.colliders:  # open
            pairs = [{a, b} for a, _, b in path.edges]
            edges = {edge for edge in graph.edges if {edge[0], edge[2]} in pairs}
            slow["causal" if path.is_directed else "biasing"] |= edges
    # A causal edge after a biasing path is on both; it is marked as causal.
    assert marked["causal"] == slow["causal"]
    assert marked["biasing"] | marked["causal"] == slow["biasing"] | slow["causal"]
    sets = bf.effects.adjustment_sets(graph, of="leaves", on="sweetness")
    assert [[NAMES[v] for v in row["names"]] for row in found["adjustment"]] == [
        list(row.adjust_for) for row in sets.rows
    ]
    valid = bf.effects.adjustment_sets(members, of="leaves", on="sweetness").minimal
    for row, flags in zip(sets.rows, found["adjustment"], strict=True):
        assert flags["everywhere"] == any(set(x) <= set(row.adjust_for) for x in valid)
    named = [[NAMES[z], [NAMES[v] for v in given]] for z, given in found["instruments"]]
    rows = bf.effects.instruments(graph, of="leaves", on="sweetness").rows
    assert named == [[row.instrument, list(row.given)] for row in rows]


def test_outdated_analyses_are_not_sent(session, monkeypatch):
    assert session.wait()
    messages, graphs = listen(session), []

    def overtaken(graph, **options):
        if not graphs:
            graphs.append(graph)
            ask(session, "draw", a=0, mark="->", b=2)  # another edit meanwhile
        return bf.equivalence_class(graph, **options)

    monkeypatch.setattr("bowfree.app.current_graph.equivalence_class", overtaken)
    ask(session, "draw", a=0, mark="->", b=1)
    assert session.wait()
    assert len(graphs[0].directed) == 1
    assert [m["version"] for m in messages if m["kind"] == "class"] == [3]
    assert {m["version"] for m in hello(session)["analyses"]} == {3}


def partial_correlation(a, b, others):
    """Correlate the residuals of regressions on the others: the slow twin."""
    columns = [DATA[NAMES[v]] - DATA[NAMES[v]].mean() for v in (a, b, *others)]
    X = np.column_stack(columns[2:]) if others else np.zeros((len(columns[0]), 1))
    residuals = [y - X @ np.linalg.lstsq(X, y, rcond=None)[0] for y in columns[:2]]
    return float(np.corrcoef(*residuals)[0, 1])


@pytest.mark.parametrize(
    ("a", "b", "others"), [(SUN, POT, []), (SUN, FRUIT, [LEAVES]), (SUN, FRUIT, [LEAVES, WATER])]
)
def test_separation_and_partial_correlation(a, b, others):
    with opened(TRUTH) as session:
        found = ask(session, "separation", a=a, b=b, given=others)["separation"]
        assert "more than one" in refused(session, "separation", a=a, b=b, given=[a])
    assert found["separated"] == TRUTH.m_separated(NAMES[a], NAMES[b], [NAMES[v] for v in others])
    r = partial_correlation(a, b, others)
    assert found["r"] == pytest.approx(r, abs=1e-12)
    z = math.sqrt(1000 - len(others) - 3) * math.atanh(r)
    assert found["p_value"] == pytest.approx(2 * norm.sf(abs(z)))


def test_the_data_behind_a_variable_and_an_edge():
    with opened(TRUTH) as session:
        alone = ask(session, "data", a=SUN)["data"]
        assert sum(alone["counts"]) == alone["n"] == 1000
        assert alone["mean"] == pytest.approx(DATA["sun"].mean())
        found = ask(session, "data", a=SUN, b=LEAVES)["data"]
        fit = session.fit
        water = fit.edge("water -> leaves").estimate
        centered = {name: x - x.mean() for name, x in DATA.items()}
        x, y = np.array(found["points"]).T
        assert x == pytest.approx(centered["sun"], abs=1e-6)
        assert y == pytest.approx(centered["leaves"] - water * centered["water"], abs=1e-6)
        assert found["slope"] == fit.edge("sun -> leaves").estimate
        found = ask(session, "data", a=FRUIT, b=ROOTS)["data"]
        assert (found["kind"], found["slope"]) == ("residuals", None)
        assert found["r"] == pytest.approx(fit.edge("fruit <-> roots").std_all, abs=0.02)
    with opened(data=None, options=DataOptions(np.eye(4) + 0.3, n=50)) as session:
        assert "no rows" in refused(session, "data", a=0)


def test_warnings_of_fit_data_and_search():
    data = {name: np.exp(DATA[name]) for name in NAMES}
    with opened(data=data) as session:
        assert session.wait()
        found = {m["kind"]: m for m in hello(session)["analyses"]}["warnings"]["warnings"]
        summary = bf.equivalence_class(session.drawing.graph).summary()
        fit = session.fit
        checks = diagnose(data, fit.moments)
        assert found == result_warnings(fit, fit.estimates(), summary, checks=checks)
        assert any("not normal" in text for text in found)
        assert any("rejects the graph" in text for text in found)
        ask(session, "search", seed=1, from_current=False)
        assert session.wait()
        warnings = hello(session)["candidates"]["warnings"]
        assert any("chosen on the same data" in text for text in warnings)
        assert not hello(session)["state"]["chosen_on_data"]
        assert ask(session, "use", which=0)["state"]["chosen_on_data"]
        state = ask(session, "arrange", how="circle") and hello(session)["state"]
        assert state["chosen_on_data"]
        a, _, b = state["graph"][0]
        assert ask(session, "change", a=a, mark="", b=b)["state"]["chosen_on_data"]  # edited later
        ask(session, "undo")
        assert not ask(session, "undo")["state"]["chosen_on_data"]


def test_a_population_can_be_fitted_but_not_searched():
    with opened(data=None, options=DataOptions(np.eye(6) + 0.1, n=math.inf)) as session:
        state = ask(session, "draw", a=0, mark="->", b=1)["state"]
        assert state["fit"]["p_value"] is None
        messages = listen(session)
        ask(session, "search", seed=1, from_current=False)
        assert session.wait()
    assert any("n = inf" in m["text"] for m in messages if m["kind"] == "job_ended")


def test_a_failed_fit_can_be_undone(session, monkeypatch):
    def fails(*_, **__):
        raise bf.errors.DataError("the likelihood is unbounded")

    with monkeypatch.context() as patch:
        patch.setattr("bowfree.app.current_graph.fit_quietly", fails)
        state = ask(session, "draw", a=0, mark="->", b=1)["state"]
    assert (state["fit"], state["problem"]) == (None, "the likelihood is unbounded")
    assert "nothing to report" in refused(session, "report")
    assert ask(session, "undo")["state"]["fit"] is not None


# --- long computations ---


def test_a_search_uses_the_current_graph_and_the_knowledge():
    with opened("leaves -> sun") as session:
        ask(session, "lock", a=LEAVES, b=SUN)
        messages = listen(session)
        ask(session, "search", seed=3, from_current=True)
        assert "is running" in refused(session, "bootstrap", seed=1, resamples=40)
        assert session.wait()
        assert not next(m for m in messages if m["kind"] == "job_ended")["failed"]
        start, known = session.drawing.graph, session.drawing.knowledge
        result = bf.greedy_search(DATA, rng=3, starts=[start], knowledge=known)
        candidates = hello(session)["candidates"]["graphs"]
        assert candidates[0]["score"] == pytest.approx(result.score, abs=1e-12)
        scores = [found["score"] for found in candidates]
        assert scores == sorted(scores, reverse=True)
        assert len({round(score, 9) for score in scores}) == len(scores)
        assert all([LEAVES, "->", SUN] in found["graph"] for found in candidates)
        assert ask(session, "compare", which=0)["comparison"]["score"] > 0
        ask(session, "use", which=0)
        assert session.drawing.graph == result.pool[0].graph
        assert ask(session, "compare", which=0)["comparison"]["relation"] == "same model"


@pytest.mark.parametrize(
    ("kind", "fields"), [("search", {"from_current": False}), ("bootstrap", {"resamples": 200})]
)
def test_jobs_can_be_stopped_and_do_not_block_edits(kind, fields):
    rng = np.random.default_rng(16)
    mixing = rng.normal(size=(16, 16)) / 4 + np.eye(16)
    with opened(data=rng.normal(size=(400, 16)) @ mixing) as session:
        messages = listen(session)
        ask(session, kind, seed=1, **fields)
        time.sleep(0.4)
        start = time.monotonic()
        ask(session, "draw", a=0, mark="->", b=1)
        assert time.monotonic() - start < 2.0
        assert hello(session)["job"]["kind"] == kind
        start = time.monotonic()
        ask(session, "stop")
        assert session.jobs.wait(20)
        assert time.monotonic() - start < 5.0
        (ended,) = [m for m in messages if m["kind"] == "job_ended"]
        assert not ended["failed"]
        assert "ended early" in ended["text"] or "stopped" in ended["text"]
        assert refused(session, "stop") == "nothing is running"


def test_a_stopped_bootstrap_keeps_its_resamples(session):
    messages = listen(session)

    def stop(message):
        job = message.get("job") if message["kind"] == "job" else None
        if job and not job["stopping"] and job["progress"] and job["progress"]["done"]:
            threading.Thread(target=session.answer, args=({"do": "stop"},)).start()

    session.listen(stop)
    ask(session, "bootstrap", seed=1, resamples=9999)
    assert session.wait()
    (ended,) = [m for m in messages if m["kind"] == "job_ended"]
    assert re.fullmatch(r"ended early: \d+ of 9,999 resamples searched", ended["text"])
    shares = hello(session)["shares"]
    assert shares["of"] == "resamples"
    assert {tuple(row[:3]): row[3] for row in shares["rows"]}[FRUIT, "->", SWEETNESS] > 0.5


def test_a_process_can_end_while_its_session_computes():
    code = """
import bowfree as bf
from bowfree.app.session import Session
graph = bf.random_bap(40, max_in_degree=2, rng=1)
session = Session(bf.random_sem(graph, rng=1).sample(400, rng=1), graph=graph)
session.answer({"do": "search", "seed": 1, "from_current": True})
assert session.answer({"do": "hello"})["hello"]["job"]
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_averages_after_a_search(session):
    assert "search first" in refused(session, "average", seed=1)
    ask(session, "search", seed=1, from_current=False)
    assert session.wait()
    ask(session, "average", seed=1, seconds=20)
    assert session.wait()
    by_hand = hello(session)["shares"]
    session.jobs.shares = None
    ask(session, "search", seed=1, from_current=False, average=True)
    assert session.wait()
    while hello(session)["job"]:  # the average that follows
        assert session.wait()
    assert hello(session)["shares"] == by_hand
    shares = hello(session)["shares"]
    assert shares["of"] == "probability"
    by_edge = {tuple(row[:3]): row[3] for row in shares["rows"]}
    assert by_edge[FRUIT, "->", SWEETNESS] > 0.9
    assert by_edge[FRUIT, "<->", ROOTS] > 0.9


def test_a_pinned_graph_is_compared(session):
    assert "no graph was kept" in refused(session, "compare", which="pinned")
    assert "search first" in refused(session, "use", which=0)
    ask(session, "draw", a=SUN, mark="->", b=LEAVES)
    ask(session, "pin")
    ask(session, "draw", a=WATER, mark="->", b=LEAVES)
    found = ask(session, "compare", which="pinned")
    assert found["other"] == [[SUN, "->", LEAVES]]
    assert (found["comparison"]["relation"], found["comparison"]["smaller"]) == ("nested", 1)
    small, large = (
        bf.fit(bf.MixedGraph(NAMES, edges), DATA).chi2
        for edges in ([("sun", "leaves")], [("sun", "leaves"), ("water", "leaves")])
    )
    assert found["comparison"]["statistic"] == pytest.approx(small - large)


# --- files ---


def test_a_session_is_saved_and_loaded():
    with opened(TRUTH, penalty=0.5) as session:
        ask(session, "lock", a=SUN, b=LEAVES)
        ask(session, "tier", node=SUN, tier=0)
        ask(session, "position", node=POT, x=12.5, y=-7)
        ask(session, "pin")
        ask(session, "effect", of=SUN, on=SWEETNESS)
        text = ask(session, "save")["file"]
    with opened(data={name: DATA[name] for name in reversed(NAMES)}) as other:
        ask(other, "load", text=text)
        first, again = json.loads(text), json.loads(ask(other, "save")["file"])
        positions = dict(zip(again["names"], again["positions"], strict=True))
        assert [positions[name] for name in first["names"]] == first["positions"]
        assert {(e[1], frozenset(e)) for e in again["edges"]} == {
            (e[1], frozenset(e)) for e in first["edges"]
        }
        for field in ("knowledge", "penalty", "effect"):
            assert again[field] == first[field]
        ask(other, "undo")
        assert other.drawing.graph.n_edges == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "not a session"),
        ("[1, 2]", "not a session"),
        ({"version": 99}, "version 99"),
        ({"names": ["a"]}, "the session is about a"),
        ({"names": [1]}, "a list of strings"),
        ({"edges": "sun -> leaves"}, "a list of edges"),
        ({"edges": [["sun", "=>", "leaves"]]}, "an edge is written"),
        ({"edges": [["moon", "->", "leaves"]]}, "moon"),
        ({"edges": [["sun", "->", "pot"], ["pot", "->", "sun"]]}, "cycle"),
        ({"edges": [["sun", "->", "pot"], ["pot", "<->", "sun"]]}, "bow"),
        ({"knowledge": []}, "an object"),
        ({"knowledge": {"magic": 1}}, "magic"),
        ({"knowledge": {"required": ["sun -> pot"]}}, "is locked"),
        ({"penalty": -1}, "penalty"),
        ({"penalty": None}, "penalty"),
        ({"positions": [[0, 0]]}, "a list of 7"),
        ({"positions": [[0, 10**400]] * 7}, "pairs of numbers"),
        ({"positions": [[0, None]] * 7}, "pairs of numbers"),
        ({"effect": ["sun", "sun"]}, "two different"),
        ({"effect": ["sun", {}]}, "effect"),
        ({"pinned": [["sun", "->", "sun"]]}, "sun"),
    ],
)
def test_invalid_files_are_refused(content, message, session):
    ask(session, "draw", a=0, mark="->", b=1)
    text = content
    if isinstance(content, dict):
        text = json.dumps(json.loads(ask(session, "save")["file"]) | content)
    assert message in refused(session, "load", text=text)


def test_export_to_every_format_and_back(session):
    ask(session, "read", text=bf.formats.to_lavaan(TRUTH), format="lavaan")
    assert hello(session)["state"]["change"]["description"] == "a graph read"
    for format in bf.formats.FORMATS:
        text = ask(session, "export", format=format)["file"]
        again = bf.formats.read(text, format=format)
        assert set(again.directed) == set(TRUTH.directed), format
        assert {*map(frozenset, again.bidirected)} == {*map(frozenset, TRUTH.bidirected)}
    assert "line 1" in refused(session, "read", text="sun => leaves", format="text")
    assert "moon" in refused(session, "read", text="sun -> moon", format="text")
    # sem() adds sun <-> water.
    state = ask(session, "read", text="leaves ~ sun + water", format="lavaan")["state"]
    assert state["change"]["description"].endswith("with 1 covariance that sem() adds")
    assert session.drawing.graph.bidirected == (("sun", "water"),)


def run_code(session, **space):
    with contextlib.redirect_stdout(io.StringIO()):
        exec(ask(session, "code")["file"].replace("data = ...", "pass"), space)
    return space


def test_the_script_repeats_the_analysis():
    origin = Origin(("data = bf.datasets.load_demo()",), "demo")
    graph = "sun -> leaves -> fruit, fruit <-> roots"
    with opened(graph, penalty=0.5, origin=origin) as session:
        ask(session, "forbid", a=SUN, mark="->", b=FRUIT)
        ask(session, "effect", of=SUN, on=FRUIT)
        ask(session, "search", seed=5, from_current=True)
        assert session.wait()
        page = hello(session)
        space = run_code(session)
    found = {message["kind"]: message for message in page["analyses"]}
    assert space["fit"].score == page["state"]["fit"]["score"]
    scores = [c["score"] for c in found["changes"]["changes"]]
    assert [c.score for c in space["changes"][:10]] == scores
    assert space["members"].size == found["class"]["permitted"]
    effect = space["bounds"].effect(of="sun", on="fruit")
    assert (effect.lower, effect.upper) == (found["effect"]["lower"], found["effect"]["upper"])
    assert space["result"].score == page["candidates"]["graphs"][0]["score"]


@pytest.mark.parametrize("n", [120, math.inf])
def test_the_script_contains_a_covariance_matrix(n):
    with opened("x1 -> x2", None, options=DataOptions(np.eye(3) + 0.4, n=n)) as session:
        assert run_code(session)["fit"].score == session.fit.score


def test_a_report_is_written(session):
    assert "no report" in refused(session, "report_file")
    ask(session, "draw", a=0, mark="->", b=1)
    ask(session, "report")
    assert session.wait()
    assert ask(session, "report_file")["file"].startswith("<!DOCTYPE html>")


# --- messages ---


def test_every_page_receives_an_edit(session):
    first, second = listen(session), []
    leave = session.listen(second.append)
    state = ask(session, "draw", a=0, mark="->", b=1)["state"]
    edits = [[m for m in heard if m["kind"] == "state"] for heard in (first, second)]
    assert edits == [[{"kind": "state", "state": state}]] * 2
    leave()
    ask(session, "undo")
    assert len([m for m in first if m["kind"] == "state"]) == 2
    assert len([m for m in second if m["kind"] == "state"]) == 1


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (None, "must be an object"),
        ([], "must be an object"),
        ({"do": "explode"}, "unknown message"),
        ({"do": ["draw"]}, "unknown message"),
        ({"do": "draw"}, "a = None: must be"),
        ({"do": "draw", "a": 0, "mark": "->", "b": 7}, "b = 7: must be an integer from 0 to 6"),
        ({"do": "draw", "a": True, "mark": "->", "b": 1}, "a = True"),
        ({"do": "draw", "a": 0, "mark": "=>", "b": 1}, "mark = '=>'"),
        ({"do": "tier", "node": 0, "tier": 99}, "tier = 99"),
        ({"do": "tiers", "count": -1}, "count = -1"),
        ({"do": "position", "node": 0, "x": "1", "y": 0}, "x = '1'"),
        ({"do": "penalty", "value": 1e300}, "value = 1e+300"),
        ({"do": "search", "seed": -1, "from_current": True}, "seed = -1"),
        ({"do": "search", "seed": 1, "from_current": 1}, "from_current = 1"),
        ({"do": "search", "seed": 1, "from_current": True, "seconds": 0}, "seconds = 0"),
        ({"do": "load", "text": 5}, "text = 5"),
        ({"do": "separation", "a": 0, "b": 1, "given": 2}, "a list of variables"),
        ({"do": "effect", "of": 1, "on": 1}, "two different"),
        ({"do": "export", "format": "pdf"}, "format = 'pdf'"),
    ],
)
def test_messages_are_validated(session, message, error):
    assert error in session.answer(message)["error"]
    assert session.drawing.graph.n_edges == 0


PLAIN = st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=5)
FIELDS = ("a", "b", "mark", "node", "tier", "count", "x", "y", "value", "of", "on", "given",
          "which", "text", "format", "how", "possible", "id")  # fmt: skip
QUICK = ("hello", "draw", "change", "lock", "forbid", "allow", "tier", "tiers", "confounded",
         "position", "arrange", "penalty", "effect", "separation", "pin", "compare", "use", "undo",
         "redo", "save", "load", "read", "export", "code", "stop")  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.sampled_from(QUICK),
            st.dictionaries(
                st.sampled_from(FIELDS),
                PLAIN | st.sampled_from(["->", "<-", "<->", "--", "", "rows", "bands", "text"])
                | st.lists(PLAIN, max_size=3),
            ),
        ),
        max_size=8,
    )
)  # fmt: skip
@settings(max_examples=15)
def test_no_message_breaks_a_session(messages):
    with opened(data=None, options=DataOptions(np.eye(4) + 0.3, n=50)) as session:
        for name, fields in messages:
            answer = session.answer({**fields, "do": name})
            assert "internal error" not in answer.get("error", "")
            json.dumps(answer, allow_nan=False)
            assert session.drawing.graph.is_bap()
            assert session.drawing.knowledge.permits(session.drawing.graph)


def test_any_name_of_a_variable_is_possible():
    names = ["<script>alert(1)</script>", "a -> b", '"', "\u202e", "x" * 500, "=1+1"]
    data = dict(zip(names, np.random.default_rng(0).normal(size=(6, 50)), strict=True))
    with opened(data=data) as session:
        for k in range(5):
            ask(session, "draw", a=k, mark="->", b=k + 1)
        assert len(refused(session, "draw", a=5, mark="->", b=0)) < 1000
        labels = hello(session)["labels"]
        assert len(set(labels)) == 6
        assert max(map(len, labels)) <= 24
        ask(session, "load", text=ask(session, "save")["file"])
        ask(session, "effect", of=0, on=5)
        assert run_code(session, data=data)["graph"] == session.drawing.graph


def test_sessions_that_cannot_be_opened():
    targets = [bf.Condition(cov=np.eye(2), n=50, targets=T) for T in ((), ("x1",))]
    rows = np.random.default_rng(0).normal(size=(200, MAX_VARIABLES + 1))
    knowledge = bf.Knowledge(tiers=[["leaves"], ["sun"]])
    for message, data, options in [
        ("at most 150", rows, {}),
        ("5 observations of 7 variables", rows[:5, :7], {}),
        ("cycle", DATA, {"graph": bf.parse("sun -> pot -> sun")}),
        ("moon", DATA, {"graph": bf.parse("sun -> moon")}),
        ("back in time", DATA, {"graph": TRUTH, "knowledge": knowledge}),
        (r"interventions \(on x1\)", targets, {}),
    ]:
        with pytest.raises(bf.BowfreeError, match=message):
            Session(data, **options)
    Session([targets[0], bf.Condition(cov=2 * np.eye(2), n=50)]).close()
