"""The gate for data: whatever the user has becomes :class:`bowfree.Moments`, or an error.

Every function that takes data takes them in one of four forms:

- ``data``: observations in rows; an array, a data frame of any kind that narwhals reads, a
  mapping from names to columns, or pieces of these, one after the other
  (:mod:`bowfree.data.streaming`). ``missing`` says what to do about gaps, ``correlation`` asks for
  ranks, ``ordinal`` names columns of ordered categories, ``weights`` has sampling weights
  (:mod:`bowfree.data.preprocessing`);
- ``cov`` with ``n``: a covariance matrix; ``ddof`` says its divisor ``n - ddof`` (never guessed);
- :class:`bowfree.Moments`, which :func:`moments` has made of one of these: the gate passed once,
  for several functions;
- a list of :class:`bowfree.Condition`, each of them data of its own
  (:mod:`bowfree.data.conditions`).

Columns are matched with the nodes of a graph by name. What comes out has divisor n, because that is
the matrix whose fit maximizes the likelihood of section 2.3. Bad input ends here, so that the
core may assume a finite, symmetric, positive definite matrix. With no more observations than
variables it is singular, and whoever goes on considers only graphs whose districts, with their
parents, are smaller than n (:meth:`bowfree.SearchSpace.fitting`), or refuses.
Next: :mod:`bowfree.model.fitting`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack, get_args

from bowfree.data.conditions import are_conditions, listed_conditions, read_conditions
from bowfree.data.covariance import check_definite, check_semidefinite, read_covariance
from bowfree.data.frames import Observations, quoted, read_observations
from bowfree.data.joint_moments import JointMoments
from bowfree.data.moments import Moments
from bowfree.data.preprocessing import Treatment, check_word, moments_of_rows
from bowfree.data.sample import CompleteRows, Shrunk, shrink
from bowfree.data.streaming import is_stream
from bowfree.errors import DataError
from bowfree.graph.graph_like import GraphLike, graph_of
from bowfree.graph.mixed_graph import MixedGraph
from bowfree.parameters import Correlation, Means, Missing
from bowfree.text_reading import short_repr
from bowfree.validation import DataOptions, is_number


def moments(
    data: Any = None,
    *,
    cov: Any = None,
    n: float | None = None,
    ddof: int = 1,
    graph: GraphLike | None = None,
    shrinkage: float | Literal["auto"] = 0.0,
    missing: Missing | None = None,
    correlation: Correlation = "pearson",
    ordinal: Sequence[str] = (),
    weights: Any = None,
    means: Means = "free",
) -> Moments:
    """Turn data or a covariance matrix into :class:`Moments`, or say what is wrong with it.

    Parameters
    ----------
    data : array_like of shape (n, d), data frame, mapping of names to columns, or Moments, optional
        Observations in rows. Columns of a data frame that `graph` does not have are left out.
        Also an iterator of such tables, a polars.LazyFrame, a pyarrow dataset or a dask data frame:
        pieces are read once, and of more than 16 million cells only the moments are kept.
    cov : array_like of shape (d, d) or data frame, optional
        Covariance matrix, in place of `data`.
    n : int or inf, optional
        Number of observations behind `cov`; ``inf`` for a population covariance matrix.
    ddof : {1, 0}
        `cov` was computed with divisor ``n - ddof``.
    graph : MixedGraph, or a result that has one, optional
        The BAP to be fitted. Columns are matched with its nodes by name; a bare array has no names,
        and is taken to be in the order of its nodes. With ``n <= d`` the covariance matrix is
        singular, which is no obstacle as long as every district and its parents are fewer than n.
    shrinkage : float or "auto"
        Between 0 and 1: covariances are multiplied by ``1 - shrinkage``, variances stay. Anything
        above 0 makes a singular matrix positive definite. "auto" is Ledoit and Wolf's choice, from
        the rows.
    missing : {"fiml", "two-stage", "listwise"}, optional
        What to do about missing values (NaN, None, null): the default is an error. ``"fiml"`` and
        ``"two-stage"`` use all cells, by the mean and covariance matrix of largest likelihood; they
        differ in :func:`bowfree.fit`, which then maximizes the likelihood of the observed cells, or
        takes that matrix for the data. ``"listwise"`` leaves out rows with gaps.
    correlation : {"pearson", "spearman", "kendall"}
        Covariances; or rank correlations, translated to those of the normal variables of which the
        columns are monotone functions (Gaussian copula).
    ordinal : sequence of str
        Columns of ordered categories; their order is that of their numbers. Ordered categoricals of
        pandas and polars need not be named. Their correlations are polychoric and polyserial.
    weights : array_like of shape (n,) or str, optional
        Sampling weights, or the column that has them.
    means : {"free", "shared"}
        Of several conditions (:class:`bowfree.Condition`): each has its own mean; or intercepts are
        shared except where an intervention acts, so that shifts of the mean speak for the graph,
        too, and batch effects with them.

    Returns
    -------
    Moments

    Raises
    ------
    DataError
        When the data cannot be used; it says why, where, and what to do about it.

    Examples
    --------
    >>> import bowfree as bf
    >>> m = bf.moments({"x": [1.0, 2.0, 3.0], "y": [0.0, 5.0, 1.0]})
    >>> m
    <Moments: 3 observations of 2 variables>
    >>> m.S.round(3)
    array([[0.667, 0.333],
           [0.333, 4.667]])
    >>> bf.fit(bf.parse("x -> y"), m).n
    3.0
    """
    bap = None if graph is None else graph_of(graph)
    return read_moments(
        data,
        graph=bap,
        cov=cov,
        n=n,
        ddof=ddof,
        shrinkage=shrinkage,
        missing=missing,
        correlation=correlation,
        ordinal=ordinal,
        weights=weights,
        means=means,
    )


def read_moments(
    data: Any = None, *, graph: MixedGraph | None = None, **options: Unpack[DataOptions]
) -> Moments:
    """Do what :func:`moments` does: its name inside the package, where ``moments`` is a variable.

    Examples
    --------
    >>> from bowfree.data.loader import read_moments
    >>> read_moments([[1.0, 0.0], [2.0, 5.0], [3.0, 1.0]]).names
    ('x1', 'x2')
    """
    if graph is not None and not graph.nodes:
        raise DataError("the graph has no nodes: give one that has the variables of the data")
    means = options.pop("means", "free")
    check_word("means", means, get_args(Means))
    if isinstance(data, JointMoments) or are_conditions(data):
        return _from_conditions(data, graph, options, means)
    if means != "free":
        raise DataError(f"means = {means!r} is for several conditions: leave it out")
    cov, n, ddof = options.get("cov"), options.get("n"), options.get("ddof", 1)
    if (data is None) == (cov is None):
        what = "both were given" if cov is not None else "neither was given"
        raise DataError(f"{what}: give either `data`, or `cov` with `n`")
    if not is_number(ddof) or ddof not in (0, 1):
        raise DataError(f"ddof = {short_repr(ddof)}: must be 1 (divisor n - 1) or 0 (divisor n)")
    shrinkage = options.get("shrinkage", 0.0)
    chosen = is_number(shrinkage) and 0.0 <= shrinkage <= 1.0
    if not chosen and not (isinstance(shrinkage, str) and shrinkage == "auto"):
        raise DataError(
            f"shrinkage = {short_repr(shrinkage)}: must be a number between 0 (none) and 1 (diagonal), "
            "or 'auto'"
        )
    treatment = Treatment.of(options)
    if graph is not None:
        graph.check_bap()
    if isinstance(data, Moments):
        treatment.refuse("moments, which are made already: use it where they are made")
        found = _from_moments(data, n, graph)
    elif data is not None:
        found = moments_of_rows(data, n, graph, treatment)
    else:
        treatment.refuse("a covariance matrix: it is about rows, give them as `data`")
        found = Moments._gated(*read_covariance(cov, n, ddof, graph))
    if shrinkage == "auto":
        shrinkage = _ledoit_wolf(found)
    if shrinkage:
        factor = 1.0 - float(shrinkage)
        sample = None if found.sample is None else Shrunk(found.sample, factor)
        found = Moments._gated(
            found.names, shrink(found.S, factor), found.n, found.mean, sample, found.notes
        )
    if graph is None and found.n <= len(found.names):
        check_semidefinite(found.names, found.S, found.n)
    else:
        check_definite(found.names, found.S, found.n, graph)
    return found


def read_once(data: Any, **options: Unpack[DataOptions]) -> Any:
    """Return data that can be given to the gate and looked at besides: read, but not judged.

    Examples
    --------
    >>> from bowfree.data.loader import read_moments, read_once
    >>> table = read_once({"x": value} for value in ([1.0, 2.0], [4.0]))
    >>> len(table), read_moments(table).n
    (3, 3.0)
    """
    if data is None or isinstance(data, Moments) or are_conditions(data):
        return data
    if is_stream(data):
        return Treatment.of(options).read_stream(data, None)
    categories: dict[str, tuple[str, ...]] = {}
    names, values = read_observations(data, None, "data", categories=categories)
    return Observations(names, values, categories)


def _from_conditions(
    data: Any, graph: MixedGraph | None, options: Mapping[str, Any], means: Means
) -> Moments:
    """Read several conditions; one without targets is data like any other."""
    if not isinstance(data, JointMoments):
        given = listed_conditions(data)
        if len(given) == 1 and given[0].targets == ():
            only = given[0]
            own = {} if only.cov is None else {"cov": only.cov, "n": only.n, "ddof": only.ddof}
            return read_moments(only.data, graph=graph, **{**options, **own})
    unsaid = {"ddof": 1, "shrinkage": 0.0, "correlation": "pearson", "ordinal": ()}
    for word, value in options.items():
        if value is not None and (word in ("cov", "weights") or value != unsaid.get(word)):
            raise DataError(
                f"{word} = {short_repr(value)} was given with several conditions: each of them "
                "brings complete rows of numbers, or its own `cov`, `n` and `ddof`"
            )
    if graph is not None:
        graph.check_bap()
    if not isinstance(data, JointMoments):
        return read_conditions(given, graph, means)
    if means != "free" and data.means != means:
        data = JointMoments(data.conditions, means=means)
    found = _from_moments(data, None, graph)
    assert isinstance(found, JointMoments)
    found._check(graph)
    return found


def _ledoit_wolf(found: Moments) -> float:
    from bowfree.data.shrinkage import ledoit_wolf_shrinkage

    rows = found.sample
    if not isinstance(rows, CompleteRows) or not rows.plain:
        raise DataError(
            "shrinkage = 'auto' needs complete rows of numbers, each counted once: give such "
            "`data`, or a number"
        )
    return ledoit_wolf_shrinkage(rows.deviations)


def _from_moments(given: Moments, n: float | None, graph: MixedGraph | None) -> Moments:
    """Take moments that have passed the gate before, in the order of the graph's nodes."""
    if n is not None:
        raise DataError(
            f"n = {short_repr(n)} was given with moments, which bring their own: leave it out"
        )
    if graph is None or graph.nodes == given.names:
        return given
    missing = [name for name in graph.nodes if name not in given.names]
    if missing:
        raise DataError(
            f"the graph has {quoted(missing)}, which the data have not; they have "
            f"{quoted(given.names)}"
        )
    return given.take(graph.nodes)
