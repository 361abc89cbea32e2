"""Response time of the workbench to an edit.

    python benchmarks/bench_workbench.py             # about half a minute
    python benchmarks/bench_workbench.py --edits 20  # fewer

In a session over data of a random BAP (at most two arrowheads at a node, n = 1000), the edge of a
random pair of variables is changed and restored; refused edits do not count. Reported are the
milliseconds until ``Session.answer`` returns (score, chi-square, estimates with intervals,
residuals), the same in CPU time, and until the ten best changes and the equivalence class, which is
limited to one second, are sent; the last column has whole requests to the server. Asserted: the
scores are those of ``bf.fit`` and ``bf.edge_changes``, and the median edit takes less than 100 ms
at d = 15.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the command has it

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import bowfree as bf
from app_serving import serving
from bowfree.app.session import Session

SIZES = (7, 15, 40)
N = 1000


def opened(d):
    """Return a session with a random graph over data from it."""
    graph = bf.random_bap(d, max_in_degree=2, rng=d)
    X = bf.random_sem(graph, rng=d).sample(N, rng=d)
    return Session(dict(zip(graph.nodes, X.T, strict=True)), graph=graph)


def edits(d, rng):
    while True:
        a, b = (int(v) for v in rng.choice(d, 2, replace=False))
        yield {"do": "change", "a": a, "mark": str(rng.choice(["->", "<->", ""])), "b": b}


def in_process(session, d, count):
    """Return seconds of edits, by what was waited for."""
    told, found = {}, {"fit": [], "processor": [], "changes": [], "class": []}
    session.listen(lambda message: told.setdefault(message["kind"], time.perf_counter()))
    messages = edits(d, np.random.default_rng(d))
    while len(found["fit"]) < count:
        session.wait()
        told.clear()
        begun, busy = time.perf_counter(), time.thread_time()
        answer = session.answer(next(messages))
        ended, busy = time.perf_counter(), time.thread_time() - busy
        session.wait()
        if "state" not in told:  # refused, or what is there already
            continue
        found["fit"].append(ended - begun)
        found["processor"].append(busy)
        for kind in ("changes", "class"):
            found[kind].append(told[kind] - begun)
        check(session, answer["state"])
        session.answer({"do": "undo"})
    return found


def by_server(session, d, count):
    """Return seconds of whole requests."""
    found = []
    with serving(session) as server:
        headers = {"Origin": f"http://127.0.0.1:{server.port}", "Content-Type": "application/json"}
        messages = edits(d, np.random.default_rng(d + 1))
        while len(found) < count:
            session.wait()
            text = json.dumps(next(messages))
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            begun = time.perf_counter()
            connection.request("POST", f"/{server.token}/do", text, headers)
            answer = json.loads(connection.getresponse().read())
            ended = time.perf_counter()
            connection.close()
            if "error" not in answer:
                found.append(ended - begun)
                session.answer({"do": "undo"})
    return found


def check(session, state):
    """Assert that the answers of the workbench are those of the package."""
    graph = session.drawing.graph
    assert state["fit"]["score"] == bf.fit(graph, session.moments, n_starts=1).score
    analyses = {m["kind"]: m for m in session.answer({"do": "hello"})["hello"]["analyses"]}
    expected = [c.score for c in bf.edge_changes(graph, session.moments)[:10]]
    assert [c["score"] for c in analyses["changes"]["changes"]] == expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=60)
    count = parser.parse_args().edits
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"median / worst of {count}, in milliseconds\n")
    print("| d | edges | fit | of that, processor | ten best changes | class | whole request |")
    print("|---|---|---|---|---|---|---|")
    for d in SIZES:
        session = opened(d)
        edges = session.drawing.graph.n_edges
        found = in_process(session, d, count)
        found["request"] = by_server(session, d, count)
        cells = [
            f"{1e3 * statistics.median(seconds):.1f} / {1e3 * max(seconds):.0f}"
            for seconds in found.values()
        ]
        print(f"| {d} | {edges} | {' | '.join(cells)} |", flush=True)
        if d == 15:
            assert statistics.median(found["fit"]) < 0.1
            assert statistics.median(found["request"]) < 0.1


if __name__ == "__main__":
    main()
