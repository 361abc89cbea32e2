"""Searches, bootstraps, averages and reports of a session."""

import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import bowfree as bf
from app_session import (
    DATA,
    FRUIT,
    LEAVES,
    ROOTS,
    SUN,
    SWEETNESS,
    ask,
    hello,
    listen,
    opened,
    refused,
)


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


def test_a_report_is_written(session):
    assert "no report" in refused(session, "report_file")
    ask(session, "draw", a=0, mark="->", b=1)
    ask(session, "report")
    assert session.wait()
    assert ask(session, "report_file")["file"].startswith("<!DOCTYPE html>")
