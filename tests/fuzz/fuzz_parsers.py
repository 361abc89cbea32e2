"""Feed broken files to every reader: each is read or refused with a BowfreeError, quickly.

Valid texts of all formats are cut, repeated and spliced with each other, and tokens of the formats
are inserted. A graph that is read must also be the same after writing and reading. The same seed
gives the same inputs:

    python tests/fuzz/fuzz_parsers.py --minutes 10 --seed 1
    python tests/fuzz/fuzz_parsers.py --inputs 100000
"""

from __future__ import annotations

import argparse
import io
import json
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import bowfree as bf
from bowfree import formats
from bowfree.datasets import read_covariance, read_table, write_table

SECONDS = 2.0  # for one input of at most a few thousand characters
LONGEST = 4_000

GRAPHS = [
    bf.parse("x -> y <-> z, w"),
    bf.parse('"a b" -> "=y" <-> "say \\"hi\\"", IL-6 <- "a b", é'),
    bf.parse("x1 -> x2 -> x3, x1 <-> x3 <-> x4 <- x2"),
]

EXTRA = {
    "tetrad": ["Graph Nodes:\nx,y\n\nGraph Edges:\n1. x --> y dd nl\n\nGraph Attributes:\nS: 1\n"],
    "dagitty": ['mag "m" { bb="0,0,1,1" /* r */ x [exposure,pos="1,0"]; {x w} -> y <- z // q\n}'],
    "lavaan": [
        "y ~ b1*x + NA*z +\n start(0.5)*w ! r\ny ~ 1\nx ~~ z; w ~~ v*z\nab := -b1^2*(v - .5)/2\n"
    ],
    "dot": ['strict digraph g {\n rankdir=LR; node [shape=box]\n a -> b -> 3 [dir="back"] # d\n}'],
    "text": ["a -> b  # r\n\nb <-> c,\r\n d <- a"],
}

TOML = [
    'required = ["a -> b", ["x y", "<->", "z"]]\ntiers = [["a"], ["b"]]\nunconfounded = ["q"]\n'
]
TABLES = ['x,"a b"\n1,2\n\n3, NA\n-1e5,.5\n', "x\ty\n1\t2\n", ",x,y\ny,0.5,2\nx,1,0.5\n"]

# Tokens of the formats, and special cases of numbers and text.
SPRINKLES = [
    *"{}[]()<>-=~*+|/\\\"'#!;:,.@_ \t\n\r\0é１２\u2028\x85\ufeff\ud800𝒳",
    "->", "<-", "<->", "--", "-->", "o->", "/*", "*/", "//", '""', "\r\n", "1_000", "1e999", "nan",
    "inf", "-0", "9" * 30, "9" * 5000, "[" * 2000, "{" * 50, " " * 1000, "\\u", "\\ud800", "null",
    "true", "latent", "dir=both", "0*", "100", "101", "2020-01-01", "a.a.a.a.a.a.a.a",
]  # fmt: skip


def corpus() -> dict[str, list[str]]:
    """Return valid texts for every reader of text."""
    texts: dict[str, list[str]] = {}
    for name in formats.FORMATS:
        texts[name] = list(EXTRA.get(name, []))
        for graph in GRAPHS:
            try:
                texts[name].append(formats.write(graph, format=name))
            except bf.errors.GraphError:
                continue
    return texts | {"toml": TOML, "csv": TABLES, "tsv": TABLES, "covariance": TABLES}


def parquet() -> bytes:
    """Return a small valid Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [3, None], "z": ["a", "b"]}), buffer)
    return buffer.getvalue()


def mutated(text: str, others: list[str], rng: random.Random) -> str:
    """Return a text with a few changes, each local or a splice with another text."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        kind = rng.randrange(7)
        if kind == 0:
            text = text[:i] + text[j:]
        elif kind == 1:
            text = text[:j] + text[i:j] * rng.choice((1, 1, 2, 20)) + text[j:]
        elif kind == 2:
            text = text[:i] + rng.choice(SPRINKLES) + text[i:]
        elif kind == 3:
            text = text[:i] + rng.choice(SPRINKLES) + text[i + 1 :]
        elif kind == 4:
            other = rng.choice(others)
            text = text[:i] + other[rng.randrange(len(other) + 1) :]
        elif kind == 5:
            text = (
                text[:i] + chr(rng.choice((rng.randrange(128), rng.randrange(0x110000)))) + text[j:]
            )
        else:
            text = text[:i] + text[i:j][::-1] + text[j:]
        text = text[:LONGEST]
    return text


def mutated_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few of them changed, or cut short."""
    broken = bytearray(content)
    for _ in range(rng.choice((1, 2, 8))):
        broken[rng.randrange(len(broken))] = rng.randrange(256)
    return bytes(broken[: rng.choice((len(broken), len(broken), rng.randrange(len(broken))))])


class Readers:
    """Every reader, by the name of its corpus."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.of: dict[str, Callable[[str], object]] = {
            name: (lambda text, name=name: self._graph(text, name)) for name in formats.FORMATS
        }
        self.of |= {"toml": self._toml, "csv": self._csv, "tsv": self._tsv}
        self.of |= {"covariance": self._covariance}

    def _graph(self, text: str, name: str) -> None:
        graph = formats.read(text, format=name)
        try:
            again = formats.write(graph, format=name)
        except bf.errors.GraphError:
            return
        assert formats.read(again, format=name) == graph, "does not survive writing and reading"

    def _file(self, text: str, name: str) -> Path:
        path = self._folder / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return path

    def _toml(self, text: str) -> None:
        known = bf.Knowledge.from_toml(self._file(text, "known.toml"))
        assert bf.Knowledge.from_dict(known.to_dict()) == known

    def _csv(self, text: str) -> None:
        table = read_table(self._file(text, "table.csv"))
        again = read_table(self._file(write_table(table), "again.csv"), separator="comma")
        assert again.names == table.names, "names do not survive writing and reading"

    def _tsv(self, text: str) -> None:
        read_table(self._file(text, "table.tsv"))

    def _covariance(self, text: str) -> None:
        read_covariance(self._file(text, "cov.csv"))

    def parquet(self, content: bytes) -> None:
        path = self._folder / "table.parquet"
        path.write_bytes(content)
        read_table(path)


def fuzz(
    *, seed: int, inputs: int | None = None, minutes: float | None = None, seconds: float = SECONDS
) -> tuple[Counter[str], list[str]]:
    """Return counts of inputs, read and refused; and failures with the input of each.

    A failure is another exception, a hang, a long message or a broken round trip.
    """
    rng = random.Random(seed)
    texts = corpus()
    every = [text for some in texts.values() for text in some]
    binary = parquet()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    end = None if minutes is None else time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder:
        readers = Readers(Path(folder))
        names = list(readers.of)
        while (inputs is None or counts["inputs"] < inputs) and (
            end is None or time.monotonic() < end
        ):
            given: str | bytes
            if rng.randrange(50) == 0:
                name, given = "parquet", mutated_bytes(binary, rng)
                call: Callable[[], object] = lambda given=given: readers.parquet(given)  # noqa: E731
            else:
                name = rng.choice(names)
                given = mutated(rng.choice(texts[name]), every, rng)
                call = lambda name=name, given=given: readers.of[name](given)  # noqa: E731
            counts["inputs"] += 1
            counts[name] += 1
            failure = _try(call, counts, seconds)
            if failure:
                failures.append(f"{name}: {failure}\ninput: {given[:2000]!a}")
    return counts, failures


def _try(call: Callable[[], object], counts: Counter[str], seconds: float) -> str:
    """Return a description of the failure, or an empty string."""

    def too_late(number: int, frame: object) -> None:
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, too_late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        call()
        counts["read"] += 1
    except bf.BowfreeError as error:
        counts["refused"] += 1
        message = str(error)
        if len(message) > 2_000:  # all problems of a table are listed
            return f"a message of {len(message)} characters: {message[:200]!a}"
        try:
            message.encode()
        except UnicodeEncodeError:
            return f"a message that cannot be printed: {message!a}"
    except Exception:
        return traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return ""


def main() -> int:
    """Run from the command line; the exit code is 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--inputs", type=int, help="how many, instead of how long")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.monotonic()
    counts, failures = fuzz(
        seed=options.seed,
        inputs=options.inputs,
        minutes=None if options.inputs is not None else options.minutes,
    )
    for failure in failures[:20]:
        print(failure, end="\n\n")
    print(json.dumps(counts, indent=1))
    print(
        f"{len(failures)} failures in {counts['inputs']:,} inputs, {time.monotonic() - start:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
