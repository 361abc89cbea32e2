"""What standard errors and tests rely on, on the command line: ``--se`` and ``--test``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from bowfree.cli.numbers import Whole
from bowfree.cli.tables import Source
from bowfree.data.moments import Moments
from bowfree.errors import DataError
from bowfree.model.variation import STANDARD_ERRORS, TESTS

_OPTIONS = (
    click.option("--seed", type=Whole(min=0), help="Seed of --se bootstrap. [default: 0]"),
    click.option(
        "--resamples", type=Whole(min=2), help="How often --se bootstrap draws. [default: 1000]"
    ),
    click.option(
        "--test",
        type=click.Choice(TESTS),
        help="Chi-square as it is, or scaled for data that are not normal.",
    ),
    click.option(
        "--se",
        type=click.Choice(STANDARD_ERRORS),
        help="Standard errors by normal theory; robust ones, with expected or observed "
        "information; or by drawing rows again. [default: what is right for the data if they are "
        "normal]",
    ),
)


def inference_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--se``, ``--test`` and what belongs to them to a command; see `Inference`."""
    for option in _OPTIONS:
        command = option(command)
    return command


@dataclass(frozen=True)
class Inference:
    """What the options of `inference_options` say."""

    se: str | None
    test: str | None
    resamples: int | None
    seed: int | None

    def __post_init__(self) -> None:
        for name, given in (("--resamples", self.resamples), ("--seed", self.seed)):
            if given is not None and self.se != "bootstrap":
                raise click.UsageError(f"{name} belongs to --se bootstrap")

    @property
    def _robust(self) -> str:
        """The options that need more than a covariance matrix, as they were written."""
        said = (("--se", self.se), ("--test", self.test))
        return " and ".join(
            f"{name} {word}" for name, word in said if word not in (None, "standard")
        )

    def check(self, source: Source, conditions: str | None) -> None:
        """Refuse what does not go with the data, in the words of the command line."""
        if not self._robust:
            return
        if conditions is not None:
            raise click.UsageError(f"{self._robust}: for one sample, and not with --conditions")
        if source.cov is not None:
            raise click.UsageError(
                f"{self._robust}: DATA is a covariance matrix, which does not say how it varies; "
                "give the observations"
            )
        if self.test == "satorra-bentler" and source.missing == "fiml":
            raise click.UsageError(
                "--test satorra-bentler is for estimates from a covariance matrix: with --missing "
                "fiml use --test yuan-bentler, or choose --missing two-stage"
            )

    def words(self, data: Any) -> dict[str, Any]:
        """Return the options of ``fit``; `data` are what the source has read."""
        if self._robust and isinstance(data, Moments) and data.sample is None:
            raise DataError(
                f"{self._robust} needs all rows at once, and DATA are too large for memory: give "
                "some of the files, or leave it out"
            )
        words: dict[str, Any] = {"se": self.se, "test": self.test}
        if self.se == "bootstrap":
            words["rng"] = self.seed or 0
            words["n_bootstrap"] = 1000 if self.resamples is None else self.resamples
        return words
