"""Drawings of graphs: ours beside those of ELK (Eclipse Layout Kernel).

    npm install elkjs                              # in any folder
    python benchmarks/bench_layout.py FOLDER       # the folder; about a minute

For the graphs of the demo, of searches on scikit-learn's wine and diabetes data, and of random BAPs
with 40 and 150 variables: crossings of edges, edges that pass behind the box of another variable,
area in megapixels, length of the edges in thousands of pixels, and CPU seconds. ELK lays out all
edges in layers, with ``<->`` as an edge of the lowest priority, and draws splines or polylines; in
the third variant it places the boxes by the directed edges only, and we route the edges.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import load_diabetes, load_wine

import bowfree as bf
from bowfree.visualization.layout import Layout, layout_by_name
from bowfree.visualization.routing import edge_curves, points_on

ELK = """
const ELK = require(process.argv[1] + "/node_modules/elkjs/lib/elk.bundled.js");
let text = "";
process.stdin.on("data", (chunk) => { text += chunk; }).on("end", async () => {
  const begun = process.cpuUsage(), found = await new ELK().layout(JSON.parse(text));
  const { user, system } = process.cpuUsage(begun);
  console.log(JSON.stringify({ found, seconds: (user + system) / 1e6 }));
});
"""
OPTIONS = {
    "elk.algorithm": "layered",
    "elk.direction": "DOWN",
    "elk.spacing.nodeNode": "40",
    "elk.layered.spacing.nodeNodeBetweenLayers": "62",
    "elk.layered.thoroughness": "50",
}


def graphs():
    """Return the graphs by name."""
    found = {"demo": bf.datasets.demo_model().graph}
    for name, load in {"wine": load_wine, "diabetes": load_diabetes}.items():
        found[name] = bf.greedy_search(load(as_frame=True).data, rng=0).graph
    for d in (40, 150):
        found[f"{d} variables"] = bf.random_bap(d, max_in_degree=2, rng=d)
    return found


def ours(graph):
    """Return the boxes, a line of points for each edge, and CPU seconds."""
    begun = time.process_time()
    layout = layout_by_name(graph, "layered")
    return layout, routed(graph, layout), time.process_time() - begun


def routed(graph, layout):
    """Return a line of points for each edge."""
    t = np.linspace(0, 1, 60)
    return {curve.edge: points_on(curve.points, t) for curve in edge_curves(graph, layout)}


def elk(folder, graph, routing, *, directed_only=False):
    """Return the same as `ours`, by ELK."""
    sizes = layout_by_name(graph, "layered").sizes
    edges = [edge for edge in graph.edges if edge[1] == "->" or not directed_only]
    message = {
        "id": "root",
        "layoutOptions": OPTIONS | {"elk.edgeRouting": routing},
        "children": [
            {"id": name, "width": float(w), "height": float(h)}
            for name, (w, h) in zip(graph.nodes, sizes, strict=True)
        ],
        "edges": [
            {
                "id": str(k),
                "sources": [a],
                "targets": [b],
                "layoutOptions": {"elk.layered.priority.direction": "10" if mark == "->" else "0"},
            }
            for k, (a, mark, b) in enumerate(edges)
        ],
    }
    done = subprocess.run(
        ["node", "-e", ELK, folder], input=json.dumps(message), capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    boxes = {box["id"]: box for box in answer["found"]["children"]}
    corners = np.array([[boxes[name]["x"], boxes[name]["y"]] for name in graph.nodes])
    layout = Layout(corners + sizes / 2, sizes)
    lines = {}
    for edge in answer["found"]["edges"]:
        (section,) = edge["sections"]
        ends = section["startPoint"], *section.get("bendPoints", ()), section["endPoint"]
        lines[edges[int(edge["id"])]] = sampled(
            np.array([[p["x"], p["y"]] for p in ends]), routing == "SPLINES"
        )
    return layout, lines, answer["seconds"]


def sampled(points, spline):
    """Return points of a polyline, or of a chain of cubic Bezier curves."""
    if spline and len(points) > 3 and (len(points) - 1) % 3 == 0:
        t = np.linspace(0, 1, 20)[:, None]
        parts = [
            (1 - t) ** 3 * p + 3 * t * (1 - t) ** 2 * q + 3 * t**2 * (1 - t) * r + t**3 * s
            for p, q, r, s in (points[k : k + 4] for k in range(0, len(points) - 1, 3))
        ]
        return np.concatenate(parts)
    t = np.linspace(0, len(points) - 1, 30 * (len(points) - 1) + 1)
    return np.column_stack([np.interp(t, np.arange(len(points)), c) for c in points.T])


def crossings(lines):
    """Return the number of pairs of edges without a common end that cross, and of all crossings."""
    items, total = list(lines.items()), 0
    starts = [line[:-1] for _, line in items]
    steps = [np.diff(line, axis=0) for _, line in items]

    def cross(u, v):
        return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]

    for i, ((a, _, b), _) in enumerate(items):
        for j in range(i):
            c, _, d = items[j][0]
            if {a, b} & {c, d}:
                continue
            offset = starts[j][None] - starts[i][:, None]
            det = cross(steps[i][:, None], steps[j][None])
            with np.errstate(divide="ignore", invalid="ignore"):
                s = cross(offset, steps[j][None]) / det
                t = cross(offset, steps[i][:, None]) / det
            total += int(((s >= 0) & (s < 1) & (t >= 0) & (t < 1)).sum())
    return total


def hidden(graph, layout, lines):
    """Return the number of edges that pass behind the box of another variable."""
    found = 0
    for (a, _, b), line in lines.items():
        others = [k for k, name in enumerate(graph.nodes) if name not in (a, b)]
        inside = np.abs(line[:, None] - layout.centers[others]) < layout.sizes[others] / 2 - 2
        found += bool(inside.all(axis=2).any())
    return found


def main():
    folder = sys.argv[1]
    print("| graph | edges | drawn by | crossings | behind boxes | area | length | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, graph in graphs().items():
        placed, _, seconds = elk(folder, graph, "POLYLINE", directed_only=True)
        begun = time.process_time()
        lines = routed(graph, placed)
        drawings = {
            "ours": ours(graph),
            "ELK, splines": elk(folder, graph, "SPLINES"),
            "ELK, polylines": elk(folder, graph, "POLYLINE"),
            "boxes by ELK": (placed, lines, seconds + time.process_time() - begun),
        }
        for program, (layout, lines, seconds) in drawings.items():
            ends = np.concatenate([layout.centers + s * layout.sizes / 2 for s in (-1, 1)])
            ends = np.concatenate([ends, *lines.values()])
            width, height = np.ptp(ends, axis=0)
            length = sum(np.hypot(*np.diff(line, axis=0).T).sum() for line in lines.values())
            print(
                f"| {name} | {graph.n_edges} | {program} | {crossings(lines)} | "
                f"{hidden(graph, layout, lines)} | {width * height / 1e6:.2f} "
                f"({width:.0f} x {height:.0f}) | {length / 1e3:.1f} | {seconds:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
