"""Files and messages of a session."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from app_session import (
    DATA,
    FRUIT,
    LEAVES,
    NAMES,
    POT,
    SUN,
    SWEETNESS,
    TRUTH,
    ask,
    hello,
    listen,
    opened,
    refused,
    run_code,
)
from bowfree.app.saved import Origin
from bowfree.app.session import MAX_VARIABLES, Session
from bowfree.data.options import DataOptions


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
        ({"positions": [[0, 0]]}, "a list of 7"),
        ({"positions": [[0, 10**400]] * 7}, "pairs of numbers"),
        ({"effect": ["sun", "sun"]}, "two different"),
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
        ({"do": "explode"}, "unknown message"),
        ({"do": ["draw"]}, "unknown message"),
        ({"do": "draw"}, "a = None: must be"),
        ({"do": "draw", "a": 0, "mark": "->", "b": 7}, "b = 7: must be an integer from 0 to 6"),
        ({"do": "draw", "a": True, "mark": "->", "b": 1}, "a = True"),
        ({"do": "draw", "a": 0, "mark": "=>", "b": 1}, "mark = '=>'"),
        ({"do": "position", "node": 0, "x": "1", "y": 0}, "x = '1'"),
        ({"do": "penalty", "value": 1e300}, "value = 1e+300"),
        ({"do": "search", "seed": 1, "from_current": 1}, "from_current = 1"),
        ({"do": "load", "text": 5}, "text = 5"),
        ({"do": "separation", "a": 0, "b": 1, "given": 2}, "a list of variables"),
        ({"do": "effect", "of": 1, "on": 1}, "two different"),
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
