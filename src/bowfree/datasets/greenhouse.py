"""Demo data: seven simulated measurements on a thousand tomato plants in a greenhouse.

::

    sun ----> leaves <---- water          pot: size of the pot
                |
                v
    pot --> roots <-> fruit --> sweetness

Roots and fruit have an unmeasured common cause, the soil. The data identify ``leaves -> fruit``,
``fruit -> sweetness`` and ``roots <-> fruit``. Whether ``sun``, ``water`` and ``pot`` act on their
neighbors or share hidden causes with them is not identified (section 2.4).

The file has ``np.round(demo_model().sample(1000, rng=20170), 4)``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bowfree.data.frames import Table
from bowfree.graph.text import parse
from bowfree.model.linear_sem import LinearSEM

_GRAPH = "sun -> leaves <- water, leaves -> fruit -> sweetness, pot -> roots <-> fruit"
_EFFECTS = {
    ("sun", "leaves"): 0.8,
    ("water", "leaves"): 0.7,
    ("leaves", "fruit"): 0.9,
    ("fruit", "sweetness"): -0.7,
    ("pot", "roots"): 0.8,
}
_VARIANCES = {
    "sun": 1.0,
    "water": 1.0,
    "pot": 1.0,
    "leaves": 0.5,
    "roots": 0.8,
    "fruit": 0.8,
    "sweetness": 0.5,
}
_SOIL = 0.45  # covariance of roots and fruit due to the soil


def demo_model() -> LinearSEM:
    """Return the model of the demo data.

    Returns
    -------
    LinearSEM
        ``B[i, j]`` is the effect of j on i.

    Examples
    --------
    >>> import bowfree as bf
    >>> model = bf.datasets.demo_model()
    >>> sorted(model.graph.spouses("fruit"))
    ['roots']
    >>> model.graph.is_bap()
    True
    """
    graph = parse(_GRAPH)
    index = {name: i for i, name in enumerate(graph.nodes)}
    B = np.zeros((len(graph), len(graph)))
    for (a, b), effect in _EFFECTS.items():
        B[index[b], index[a]] = effect
    Omega = np.diag([_VARIANCES[name] for name in graph.nodes])
    i, j = index["roots"], index["fruit"]
    Omega[i, j] = Omega[j, i] = _SOIL
    return LinearSEM(graph, B, Omega)


def load_demo() -> Table:
    """Load the demo data: seven measurements on a thousand tomato plants.

    Returns
    -------
    Table
        1,000 rows; columns ``sun``, ``leaves``, ``water``, ``fruit``, ``sweetness``, ``pot``,
        ``roots``.

    Examples
    --------
    >>> import bowfree as bf
    >>> bf.datasets.load_demo()
    <Table of 1000 rows: sun, leaves, water, fruit, sweetness, pot, roots>
    """
    path = Path(__file__).with_name("greenhouse.csv")
    with path.open(encoding="utf-8") as file:
        names = tuple(next(file).strip().split(","))
        return Table(names, np.loadtxt(file, delimiter=","))
