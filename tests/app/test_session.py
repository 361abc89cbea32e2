"""The session of a workbench, asked without a browser: what is drawn, what follows, what is kept.

The answers are compared with what the package says when it is asked directly.
"""

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

import bowfree as bf
from bowfree.app.reproduce import Origin
from bowfree.app.session import MOST_VARIABLES, Session

DATA = bf.datasets.load_demo()
NAMES = tuple(DATA)
SUN, LEAVES, WATER, FRUIT, SWEETNESS, POT, ROOTS = range(7)
TRUTH = bf.datasets.demo_model().graph


@pytest.fixture
def session():
    opened = Session(DATA)
    yield opened
    opened.close()


def drawn(graph=TRUTH, **options):
    """Return a session with a graph on it."""
    return Session(DATA, graph=graph, **options)


def said(session, word, **fields):
    """Ask, and return the answer, which must not be a refusal."""
    answer = session.answer({"do": word, **fields})
    assert "error" not in answer, answer["error"]
    return answer


def refused(session, word, **fields):
    """Ask for what is not possible; return the sentence, after which nothing is different."""
    before = session.board
    answer = session.answer({"do": word, **fields})
    assert session.board == before
    assert "went wrong inside" not in answer["error"]
    return answer["error"]


def hear_all(session):
    heard = []
    session.listen(heard.append)
    return heard


# --- draw ---


def test_an_edge_is_drawn_and_fitted(session):
    state = said(session, "draw", a=SUN, mark="->", b=LEAVES)["state"]
    fit = bf.fit(session.board.graph, DATA)
    assert session.board.graph == bf.MixedGraph(NAMES, [("sun", "leaves")])
    assert state["graph"] == [[SUN, "->", LEAVES]]
    for name in ("score", "chi2", "df", "p_value", "rmsea", "cfi", "srmr"):
        assert state["fit"][name] == pytest.approx(getattr(fit, name), rel=1e-12), name
    (edge,) = state["edges"]
    estimate = fit.edge("sun -> leaves")
    assert (edge["low"], edge["high"]) == pytest.approx((estimate.lower, estimate.upper))
    assert edge["std"] == pytest.approx(estimate.std_all)
    empty = bf.fit(bf.MixedGraph(NAMES), DATA)
    assert state["change"]["score"] == pytest.approx(fit.score - empty.score)


def test_undo_and_redo_go_back_and_forth(session):
    boards = [session.board]
    for a, mark, b in [(0, "->", 1), (1, "->", 3), (3, "<->", 6)]:
        said(session, "draw", a=a, mark=mark, b=b)
        boards.append(session.board)
    said(session, "lock", a=0, b=1)
    boards.append(session.board)
    for board in boards[-2::-1]:
        said(session, "undo")
        assert session.board == board
    assert refused(session, "undo") == "nothing to undo"
    for board in boards[1:]:
        said(session, "redo")
        assert session.board == board
    assert refused(session, "redo") == "nothing to redo"
    said(session, "undo")
    said(session, "change", a=0, mark="<->", b=1)
    assert refused(session, "redo") == "nothing to redo"


def test_edges_are_turned_changed_and_deleted(session):
    said(session, "draw", a=0, mark="->", b=1)
    for mark in ("<-", "<->", "->", ""):
        said(session, "change", a=0, mark=mark, b=1)
        assert session.board.mark("sun", "leaves") == mark
    assert refused(session, "change", a=0, mark="", b=1) == "there is no edge to delete"


def test_a_cycle_is_refused_with_its_path():
    session = drawn(bf.parse("sun -> leaves -> fruit"))
    answer = session.answer({"do": "draw", "a": FRUIT, "mark": "->", "b": SUN})
    assert answer["error"] == "fruit -> sun would close the cycle sun -> leaves -> fruit -> sun"
    assert answer["path"] == [[SUN, LEAVES], [LEAVES, FRUIT]]
    session.close()


def test_a_bow_is_refused_with_another_way():
    session = drawn(bf.parse("sun -> leaves"))
    answer = session.answer({"do": "draw", "a": LEAVES, "mark": "<->", "b": SUN})
    assert answer["error"] == "leaves <- sun is there: leaves <-> sun beside it would be a bow"
    assert answer["instead"] == [LEAVES, "<->", SUN]
    assert "is there already" in refused(session, "draw", a=SUN, mark="->", b=LEAVES)
    assert "two different variables" in refused(session, "draw", a=SUN, mark="->", b=SUN)
    session.close()


# --- knowledge ---


def test_what_is_known_is_kept_to():
    session = drawn(bf.parse("sun -> leaves -> fruit"))
    said(session, "lock", a=SUN, b=LEAVES)
    assert session.board.knowledge.required == (("sun", "->", "leaves"),)
    assert "is locked" in refused(session, "change", a=SUN, mark="", b=LEAVES)
    said(session, "lock", a=SUN, b=LEAVES)
    assert session.board.knowledge == bf.Knowledge()

    said(session, "forbid", a=SUN, mark="--", b=FRUIT)
    assert "is forbidden" in refused(session, "draw", a=SUN, mark="<->", b=FRUIT)
    said(session, "allow", a=FRUIT, b=SUN)
    said(session, "forbid", a=LEAVES, mark="->", b=FRUIT)  # is drawn: it goes
    assert session.board.mark("leaves", "fruit") == ""
    said(session, "draw", a=LEAVES, mark="<->", b=FRUIT)

    said(session, "confounded", node=POT, possible=False)
    assert "unconfounded" in refused(session, "draw", a=POT, mark="<->", b=ROOTS)
    assert "unconfounded" in refused(session, "confounded", node=FRUIT, possible=False)
    said(session, "confounded", node=POT, possible=True)

    said(session, "tiers", count=2)
    said(session, "tier", node=SUN, tier=0)
    assert "contradict" not in refused(session, "tiers", count=-1)
    said(session, "tier", node=LEAVES, tier=1)
    sentence = refused(session, "change", a=SUN, mark="<-", b=LEAVES)
    assert sentence.startswith("leaves -> sun would lead back in time: leaves is in tier 2")
    assert "lead back" in refused(session, "tier", node=SUN, tier=2)
    said(session, "tier", node=SUN, tier=None)
    assert session.board.knowledge.tiers == ((), ("leaves",))
    session.close()


def test_tiers_are_bands_with_their_variables_inside():
    session = drawn(bf.parse("sun -> leaves -> fruit"))
    heard = hear_all(session)
    said(session, "tier", node=SUN, tier=0)
    said(session, "tier", node=FRUIT, tier=1)
    places = [message["places"] for message in heard if message["kind"] == "places"][-1]
    (top, middle), (again, bottom) = places["bands"]
    assert middle == again
    assert top < places["centers"][SUN][1] < middle < places["centers"][FRUIT][1] < bottom
    assert places["centers"][LEAVES][1] > bottom
    session.close()


# --- what follows ---


def test_modules_stand_together():
    triangles = "sun -> leaves -> water, sun -> water, pot -> roots -> fruit, pot -> fruit"
    session = drawn(bf.parse(triangles))
    centers = np.array(said(session, "arrange", how="modules")["places"]["centers"])
    plants = centers[[NAMES.index(name) for name in ("sun", "leaves", "water")]]
    pots = centers[[NAMES.index(name) for name in ("pot", "roots", "fruit")]]
    low, high = ((end(plants, axis=0), end(pots, axis=0)) for end in (np.min, np.max))
    assert (high[0] < low[1]).any() or (high[1] < low[0]).any()  # side by side, or one above
    session.close()


def test_changes_and_class_follow_an_edit():
    session = drawn(bf.parse("sun -> leaves -> fruit, pot -> roots"))
    said(session, "effect", of=SUN, on=FRUIT)
    said(session, "forbid", a=SUN, mark="--", b=FRUIT)
    heard = hear_all(session)
    said(session, "draw", a=WATER, mark="->", b=LEAVES)
    assert session.wait()
    graph, known = session.board.graph, session.board.knowledge
    found = {message["kind"]: message for message in heard}
    expected = bf.edge_changes(graph, DATA, knowledge=known)
    assert [c["score"] for c in found["changes"]["changes"]] == [c.score for c in expected[:10]]
    assert not any({c["a"], c["b"]} == {SUN, FRUIT} for c in found["changes"]["changes"])
    members = bf.equivalence_class(graph)
    assert found["class"]["size"] == members.size
    assert found["class"]["known"] == members.permitted_by(known).size
    bounds = bf.effect_bounds(members.permitted_by(known), DATA).effect(of="sun", on="fruit")
    assert (found["effect"]["lower"], found["effect"]["upper"]) == (bounds.lower, bounds.upper)
    session.close()


def test_what_was_overtaken_is_not_told(session, monkeypatch):
    assert session.wait()
    heard = hear_all(session)
    thinking = []

    def overtaken(graph, **options):
        if not thinking:
            thinking.append(graph)
            said(session, "draw", a=0, mark="->", b=2)  # another edit, while this one is thought of
        return bf.equivalence_class(graph, **options)

    monkeypatch.setattr("bowfree.app.current_graph.equivalence_class", overtaken)
    said(session, "draw", a=0, mark="->", b=1)
    assert session.wait()
    assert len(thinking[0].directed) == 1
    assert [m["version"] for m in heard if m["kind"] == "class"] == [3]
    later = session.answer({"do": "hello"})["hello"]["later"]
    assert {m["version"] for m in later} == {3}


def partial_correlation(a, b, others):
    """Correlate what regressions on the others leave: the slow twin."""
    columns = [DATA[NAMES[v]] - DATA[NAMES[v]].mean() for v in (a, b, *others)]
    X = np.column_stack(columns[2:]) if others else np.zeros((len(columns[0]), 1))
    left = [y - X @ np.linalg.lstsq(X, y, rcond=None)[0] for y in columns[:2]]
    return float(np.corrcoef(*left)[0, 1])


@pytest.mark.parametrize(
    ("a", "b", "others"), [(SUN, POT, []), (SUN, FRUIT, [LEAVES]), (SUN, FRUIT, [LEAVES, WATER])]
)
def test_separation_and_the_partial_correlation(a, b, others):
    session = drawn()
    found = said(session, "separation", a=a, b=b, given=others)["separation"]
    given_names = [NAMES[v] for v in others]
    assert found["separated"] == TRUTH.m_separated(NAMES[a], NAMES[b], given_names)
    r = partial_correlation(a, b, others)
    assert found["r"] == pytest.approx(r, abs=1e-12)
    from scipy.stats import norm

    z = math.sqrt(1000 - len(others) - 3) * math.atanh(r)
    assert found["p_value"] == pytest.approx(2 * norm.sf(abs(z)))
    assert "more than one" in refused(session, "separation", a=a, b=b, given=[a])
    session.close()


def test_a_population_can_be_drawn_over_but_not_searched():
    session = Session(cov=np.eye(6) + 0.1, n=math.inf)
    state = said(session, "draw", a=0, mark="->", b=1)["state"]
    assert state["fit"]["p_value"] is None
    heard = hear_all(session)
    said(session, "search", seed=1, from_drawn=False)
    assert session.wait()
    assert any("n = inf" in m["said"] for m in heard if m["kind"] == "ended")
    session.close()


def test_a_fit_that_fails_is_a_sentence_and_can_be_undone(session, monkeypatch):
    def fails(*_, **__):
        raise bf.errors.DataError("the likelihood is unbounded")

    with monkeypatch.context() as patch:
        patch.setattr("bowfree.app.current_graph.fit_quietly", fails)
        state = said(session, "draw", a=0, mark="->", b=1)["state"]
    assert state["fit"] is None
    assert state["problem"] == "the likelihood is unbounded"
    assert "nothing to report" in refused(session, "report")
    assert said(session, "undo")["state"]["fit"] is not None


# --- search ---


def test_a_search_begins_at_the_drawn_graph_and_keeps_to_the_knowledge():
    session = drawn(bf.parse("leaves -> sun"))
    said(session, "lock", a=LEAVES, b=SUN)
    heard = hear_all(session)
    said(session, "search", seed=3, from_drawn=True)
    assert "is under way" in refused(session, "bootstrap", seed=1, resamples=40)
    assert session.wait()
    ended = next(m for m in heard if m["kind"] == "ended")
    assert not ended["failed"]
    result = bf.greedy_search(
        DATA, rng=3, starts=[session.board.graph], knowledge=session.board.knowledge
    )
    candidates = session.answer({"do": "hello"})["hello"]["candidates"]["graphs"]
    assert candidates[0]["score"] == pytest.approx(result.score, abs=1e-12)
    scores = [found["score"] for found in candidates]
    assert scores == sorted(scores, reverse=True)
    assert len({round(score, 9) for score in scores}) == len(scores)
    assert all([LEAVES, "->", SUN] in found["graph"] for found in candidates)
    looked = said(session, "look", which=0)
    assert looked["comparison"]["score"] > 0
    said(session, "take", which=0)
    assert session.board.graph == result.pool[0].graph
    assert said(session, "look", which=0)["comparison"]["relation"] == "same model"
    session.close()


def wide(d):
    rng = np.random.default_rng(d)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    return Session(rng.normal(size=(400, d)) @ mixing)


@pytest.mark.parametrize(
    ("word", "fields"),
    [("search", {"from_drawn": False}), ("bootstrap", {"resamples": 200})],
)
def test_long_work_is_stopped_and_does_not_keep_edits_waiting(word, fields):
    session = wide(16)
    heard = hear_all(session)
    said(session, word, seed=1, **fields)
    time.sleep(0.4)
    begun = time.monotonic()
    said(session, "draw", a=0, mark="->", b=1)
    assert time.monotonic() - begun < 2.0
    assert session.answer({"do": "hello"})["hello"]["errand"]["errand"] == word
    begun = time.monotonic()
    said(session, "stop")
    assert session.wait(20)
    assert time.monotonic() - begun < 5.0
    (ended,) = [m for m in heard if m["kind"] == "ended"]
    assert not ended["failed"]
    assert "ended early" in ended["said"] or "stopped before" in ended["said"]
    assert refused(session, "stop") == "nothing is under way"
    session.close()


def test_a_stopped_bootstrap_keeps_what_it_has(session):
    heard = hear_all(session)

    def stop(message):
        if message["kind"] == "errand" and (now := message["errand"]) and not now["stopping"]:
            progress = now["progress"]
            if progress and progress["done"]:
                threading.Thread(target=session.answer, args=({"do": "stop"},)).start()

    session.listen(stop)
    said(session, "bootstrap", seed=1, resamples=9999)
    assert session.wait()
    (ended,) = [m for m in heard if m["kind"] == "ended"]
    assert re.fullmatch(r"ended early: \d+ of 9999 resamples searched", ended["said"])
    assert not ended["failed"]
    shares = session.answer({"do": "hello"})["hello"]["shares"]
    assert shares["of"] == "resamples"
    by_edge = {tuple(row[:3]): row[3] for row in shares["rows"]}
    assert by_edge[FRUIT, "->", SWEETNESS] > 0.5


def test_a_process_may_end_while_its_session_thinks():
    code = """
import bowfree as bf
from bowfree.app.session import Session
graph = bf.random_bap(40, max_in_degree=2, rng=1)
session = Session(bf.random_sem(graph, rng=1).sample(400, rng=1), graph=graph)
session.answer({"do": "search", "seed": 1, "from_drawn": True})
assert session.answer({"do": "hello"})["hello"]["errand"]
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_averages_follow_a_search(session):
    assert "search first" in refused(session, "average", seed=1)
    said(session, "search", seed=1, from_drawn=False)
    assert session.wait()
    said(session, "average", seed=1, seconds=20)
    assert session.wait()
    shares = session.answer({"do": "hello"})["hello"]["shares"]
    assert shares["of"] == "probability"
    by_edge = {tuple(row[:3]): row[3] for row in shares["rows"]}
    assert by_edge[FRUIT, "->", SWEETNESS] > 0.9
    assert by_edge[FRUIT, "<->", ROOTS] > 0.9


def test_a_kept_graph_is_compared(session):
    assert "no graph was kept" in refused(session, "look", which="pinned")
    assert "no search yet" in refused(session, "take", which=0)
    said(session, "draw", a=SUN, mark="->", b=LEAVES)
    said(session, "pin")
    said(session, "draw", a=WATER, mark="->", b=LEAVES)
    found = said(session, "look", which="pinned")
    assert found["other"] == [[SUN, "->", LEAVES]]
    assert found["comparison"]["relation"] == "nested"
    assert found["comparison"]["smaller"] == 1
    small, large = (
        bf.fit(bf.MixedGraph(NAMES, edges), DATA).chi2
        for edges in ([("sun", "leaves")], [("sun", "leaves"), ("water", "leaves")])
    )
    assert found["comparison"]["statistic"] == pytest.approx(small - large)


# --- keep ---


def test_a_session_is_saved_and_loaded():
    session = drawn(penalty=0.5)
    said(session, "lock", a=SUN, b=LEAVES)
    said(session, "tier", node=SUN, tier=0)
    said(session, "place", node=POT, x=12.5, y=-7)
    said(session, "pin")
    said(session, "effect", of=SUN, on=SWEETNESS)
    text = said(session, "save")["file"]
    other = Session({name: DATA[name] for name in reversed(NAMES)})
    said(other, "load", text=text)
    again = json.loads(said(other, "save")["file"])
    first = json.loads(text)
    place = {name: again["places"][k] for k, name in enumerate(again["names"])}
    assert [place[name] for name in first["names"]] == first["places"]
    assert {(e[1], frozenset(e)) for e in again["edges"]} == {
        (e[1], frozenset(e)) for e in first["edges"]
    }
    for field in ("knowledge", "penalty", "effect"):
        assert again[field] == first[field]
    said(other, "undo")
    assert other.board.graph.n_edges == 0
    session.close()
    other.close()


def changed(**fields):
    session = drawn()
    content = json.loads(session.answer({"do": "save"})["file"]) | fields
    session.close()
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "not a session"),
        ("[1, 2]", "not a session"),
        (lambda: changed(version=99), "version 99"),
        (lambda: changed(names=["a"]), "the session is about a"),
        (lambda: changed(names=[1]), "a list of texts"),
        (lambda: changed(edges="sun -> leaves"), "a list of edges"),
        (lambda: changed(edges=[["sun", "=>", "leaves"]]), "an edge is written"),
        (lambda: changed(edges=[["moon", "->", "leaves"]]), "moon"),
        (lambda: changed(edges=[["sun", "->", "pot"], ["pot", "->", "sun"]]), "cycle"),
        (lambda: changed(edges=[["sun", "->", "pot"], ["pot", "<->", "sun"]]), "bow"),
        (lambda: changed(knowledge=[]), "an object is wanted"),
        (lambda: changed(knowledge={"magic": 1}), "magic"),
        (lambda: changed(knowledge={"required": ["sun -> pot"]}), "is locked"),
        (lambda: changed(penalty=-1), "penalty"),
        (lambda: changed(penalty=None), "penalty"),
        (lambda: changed(places=[[0, 0]]), "one for each of 7"),
        (lambda: changed(places=[[0, 10**400]] * 7), "no place"),
        (lambda: changed(places=[[0, None]] * 7), "no place"),
        (lambda: changed(effect=["sun", "sun"]), "two different"),
        (lambda: changed(effect=["sun", {}]), "effect"),
        (lambda: changed(pinned=[["sun", "->", "sun"]]), "sun"),
    ],
)
def test_a_hostile_file_is_refused_with_a_sentence(text, message, session):
    said(session, "draw", a=0, mark="->", b=1)
    assert message in refused(session, "load", text=text if isinstance(text, str) else text())


def test_export_to_every_format_and_back(session):
    said(session, "read", text=bf.formats.to_lavaan(TRUTH), format="lavaan")
    assert session.answer({"do": "hello"})["hello"]["state"]["change"]["what"] == "a graph read"
    for format in bf.formats.FORMATS:
        text = said(session, "export", format=format)["file"]
        again = bf.formats.read(text, format=format)
        assert set(again.directed) == set(TRUTH.directed), format
        assert {*map(frozenset, again.bidirected)} == {*map(frozenset, TRUTH.bidirected)}
    assert "line 1" in refused(session, "read", text="sun => leaves", format="text")
    assert "moon" in refused(session, "read", text="sun -> moon", format="text")
    # What sem() adds, sun <-> water, is said.
    state = said(session, "read", text="leaves ~ sun + water", format="lavaan")["state"]
    assert state["change"]["what"].endswith("with 1 covariance that sem() adds to what is written")
    assert session.board.graph.bidirected == (("sun", "water"),)


def test_the_code_leads_to_what_is_on_the_screen(tmp_path):
    session = drawn(
        bf.parse("sun -> leaves -> fruit, fruit <-> roots"),
        penalty=0.5,
        origin=Origin(("data = bf.datasets.load_demo()",), "demo"),
    )
    said(session, "forbid", a=SUN, mark="->", b=FRUIT)
    said(session, "effect", of=SUN, on=FRUIT)
    said(session, "search", seed=5, from_drawn=True)
    assert session.wait()
    hello = session.answer({"do": "hello"})["hello"]
    found = {message["kind"]: message for message in hello["later"]}
    space = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(said(session, "code")["file"], space)
    assert space["fit"].score == hello["state"]["fit"]["score"]
    assert [c.score for c in space["changes"][:10]] == [
        c["score"] for c in found["changes"]["changes"]
    ]
    assert space["members"].size == found["class"]["known"]
    effect = space["bounds"].effect(of="sun", on="fruit")
    assert (effect.lower, effect.upper) == (found["effect"]["lower"], found["effect"]["upper"])
    assert space["result"].score == hello["candidates"]["graphs"][0]["score"]
    session.close()


@pytest.mark.parametrize("n", [120, math.inf])
def test_the_code_holds_a_matrix_that_no_file_has(n):
    session = Session(cov=np.eye(3) + 0.4, n=n, graph=bf.parse("x1 -> x2"))
    space = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(said(session, "code")["file"], space)
    assert space["fit"].score == session.fit.score
    session.close()


def test_a_report_is_written_beside_the_conversation(session):
    assert "no report" in refused(session, "written")
    said(session, "draw", a=0, mark="->", b=1)
    said(session, "report")
    assert session.wait()
    assert said(session, "written")["file"].startswith("<!DOCTYPE html>")


# --- several pages, and messages that make no sense ---


def test_every_page_hears_of_an_edit(session):
    first, second = hear_all(session), []
    leave = session.listen(second.append)
    state = said(session, "draw", a=0, mark="->", b=1)["state"]
    assert first[0] == second[0] == {"kind": "state", "state": state}
    leave()
    said(session, "undo")
    assert len([m for m in first if m["kind"] == "state"]) == 2
    assert len([m for m in second if m["kind"] == "state"]) == 1


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (None, "a message is an object"),
        ([], "a message is an object"),
        ({"do": "explode"}, "nobody here knows how"),
        ({"do": ["draw"]}, "nobody here knows how"),
        ({"do": "draw"}, "a: give"),
        ({"do": "draw", "a": 0, "mark": "->", "b": 7}, "b = 7: give a whole number from 0 to 6"),
        ({"do": "draw", "a": True, "mark": "->", "b": 1}, "a = True"),
        ({"do": "draw", "a": 0, "mark": "=>", "b": 1}, "mark = '=>'"),
        ({"do": "tier", "node": 0, "tier": 99}, "tier = 99"),
        ({"do": "place", "node": 0, "x": "1", "y": 0}, "no place"),
        ({"do": "penalty", "value": 1e300}, "value = 1e+300"),
        ({"do": "search", "seed": -1, "from_drawn": True}, "seed = -1"),
        ({"do": "search", "seed": 1, "from_drawn": 1}, "from_drawn = 1"),
        ({"do": "search", "seed": 1, "from_drawn": True, "seconds": 0}, "seconds = 0"),
        ({"do": "load", "text": 5}, "text = 5"),
        ({"do": "separation", "a": 0, "b": 1, "given": 2}, "a list of variables"),
        ({"do": "effect", "of": 1, "on": 1}, "two different"),
        ({"do": "export", "format": "pdf"}, "format = 'pdf'"),
    ],
)
def test_messages_are_checked(session, message, sentence):
    answer = session.answer(message)
    wanted = "a = None: give" if sentence == "a: give" else sentence
    assert wanted in answer["error"]
    assert session.board.graph.n_edges == 0


PLAIN = st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=5)
FIELDS = ("a", "b", "mark", "node", "tier", "count", "x", "y", "value", "of", "on", "given",
          "which", "text", "format", "how", "possible", "id")  # fmt: skip
QUICK = ("hello", "draw", "change", "lock", "forbid", "allow", "tier", "tiers", "confounded",
         "place", "arrange", "penalty", "effect", "separation", "pin", "look", "take", "undo",
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
    session = Session(cov=np.eye(4) + 0.3, n=50)
    for word, fields in messages:
        answer = session.answer({**fields, "do": word})
        assert "went wrong inside" not in answer.get("error", "")
        json.dumps(answer, allow_nan=False)
        board = session.board
        assert board.graph.is_bap()
        assert board.knowledge.permits(board.graph)
    session.close()


def test_hostile_names_are_only_texts():
    names = ["<script>alert(1)</script>", "a -> b", '"', "\u202e", "x" * 500, "=1+1"]
    rng = np.random.default_rng(0)
    session = Session(dict(zip(names, rng.normal(size=(6, 50)), strict=True)))
    for k in range(5):
        said(session, "draw", a=k, mark="->", b=k + 1)
    assert len(refused(session, "draw", a=5, mark="->", b=0)) < 1000
    hello = session.answer({"do": "hello"})["hello"]
    assert len(set(hello["labels"])) == 6
    assert max(map(len, hello["labels"])) <= 24
    text = said(session, "save")["file"]
    said(session, "load", text=text)
    said(session, "effect", of=0, on=5)
    space = {"data": dict(zip(names, rng.normal(size=(6, 50)), strict=True))}
    code = said(session, "code")["file"].replace("data = ...", "pass")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, space)
    assert space["graph"] == session.board.graph
    session.close()


def test_what_cannot_be_opened():
    with pytest.raises(bf.BowfreeError, match="a workbench has room for 150"):
        Session(np.random.default_rng(0).normal(size=(200, MOST_VARIABLES + 1)))
    with pytest.raises(bf.errors.DataError, match="5 observations of 7 variables"):
        Session(np.random.default_rng(1).normal(size=(5, 7)))
    with pytest.raises(bf.BowfreeError, match="cycle"):
        Session(DATA, graph=bf.parse("sun -> pot -> sun"))
    with pytest.raises(bf.errors.GraphError, match="moon"):
        Session(DATA, graph=bf.parse("sun -> moon"))
    with pytest.raises(bf.BowfreeError, match="back in time"):
        Session(DATA, graph=TRUTH, knowledge=bf.Knowledge(tiers=[["leaves"], ["sun"]]))
    with pytest.raises(bf.BowfreeError, match="no option 'color'"):
        Session(DATA, color="red")


def test_conditions_with_interventions_are_refused():
    first, second = (bf.Condition(cov=np.eye(2), n=50, targets=T) for T in ((), ("x1",)))
    with pytest.raises(bf.errors.DataError, match=r"interventions \(on x1\): a workbench shows"):
        Session([first, second])
    Session([first, bf.Condition(cov=2 * np.eye(2), n=50)]).close()
