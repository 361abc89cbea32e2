"""Edits of a session: edges, knowledge, history, positions."""

import numpy as np
import pytest

import bowfree as bf
from app_session import (
    DATA,
    FRUIT,
    LEAVES,
    NAMES,
    POT,
    ROOTS,
    SUN,
    WATER,
    ask,
    listen,
    opened,
    refused,
)


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
