"""Analyses of a session agree with the package."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import bowfree as bf
from app_session import (
    DATA,
    FRUIT,
    LEAVES,
    NAMES,
    POT,
    ROOTS,
    SUN,
    SWEETNESS,
    TRUTH,
    WATER,
    ask,
    hello,
    listen,
    opened,
    refused,
)
from bowfree.data.diagnostics import diagnose
from bowfree.data.options import DataOptions
from bowfree.visualization.warnings import result_warnings


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
        found, graph = session.analyses["effect"], session.drawing.graph
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

    monkeypatch.setattr("bowfree.app.session.equivalence_class", overtaken)
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
        patch.setattr("bowfree.app.session.fit_quietly", fails)
        state = ask(session, "draw", a=0, mark="->", b=1)["state"]
    assert (state["fit"], state["problem"]) == (None, "the likelihood is unbounded")
    assert "nothing to report" in refused(session, "report")
    assert ask(session, "undo")["state"]["fit"] is not None


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
