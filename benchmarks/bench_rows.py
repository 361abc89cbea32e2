"""Moments of more rows than fit into memory: speed and memory, compared with plain reading.

    python benchmarks/bench_rows.py                      # 10^7 rows of 20 columns, 1.6 GB on disk
    python benchmarks/bench_rows.py --rows 100000000     # 16 GB

Writes a folder of Parquet files and reads it in every way that ``bf.moments`` supports, each in a
process of its own, whose peak memory is reported, and with the same reader without computations.
Asserted: the moments are those of the distribution of the rows, with an offset of 1e9 in every
column, and memory stays below 1 GB.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = [f"x{k + 1}" for k in range(20)]
OFFSET = 1e9
FILE = 1_000_000  # rows of one file
MOST = 1e9  # bytes of memory


def factor():
    return np.eye(20) + 0.3 * np.tril(np.random.default_rng(0).normal(size=(20, 20)), -1)


def write(folder, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    for k, start in enumerate(range(0, rows, FILE)):
        Z = np.random.default_rng([1, k]).standard_normal((min(FILE, rows - start), 20))
        X = Z @ factor().T + OFFSET
        table = pa.table(dict(zip(COLUMNS, X.T, strict=True)))
        pq.write_table(table, folder / f"part{k:04}.parquet", use_dictionary=False)


# --- readers, each for a process of its own -------------------------------------------------------


def pyarrow_dataset(folder):
    import pyarrow.dataset as ds

    return ds.dataset(folder)


def polars_lazy(folder):
    import polars as pl

    return pl.scan_parquet(folder)


def iterator(folder):
    import pyarrow.parquet as pq

    for path in sorted(folder.iterdir()):
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(2**17)


def dask_frame(folder):
    import dask.dataframe as dd

    return dd.read_parquet(folder)


READERS = {
    "pyarrow dataset": (pyarrow_dataset, lambda data: sum(len(b) for b in data.to_batches())),
    "polars lazy frame": (polars_lazy, lambda data: sum(len(b) for b in data.collect_batches())),
    "iterator of batches": (iterator, lambda data: sum(len(b) for b in data)),
    "dask data frame": (dask_frame, None),
}


def alone(name, folder, moments):
    """Do one thing in this process; print seconds, CPU seconds and the largest memory."""
    make, count = READERS[name]
    start, cpu = time.perf_counter(), time.process_time()
    data = make(Path(folder))
    if moments:
        import bowfree as bf

        found = bf.moments(data)
        n = found.n
        # An entry of S is known to sqrt(2 / n) of the variances.
        expected = factor() @ factor().T
        sd = np.sqrt(np.diag(expected))
        worst = np.abs((found.S - expected) / np.outer(sd, sd)).max()
        assert worst < 7 / np.sqrt(n), worst
        assert np.abs(found.mean - OFFSET).max() < 7 * sd.max() / np.sqrt(n)
    else:
        n = count(data)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{n:.0f} {seconds} {cpu} {largest_memory()}")


def largest_memory():
    """Return the most bytes that this process has held; `getrusage` counts its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--alone", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        name, folder, moments = options.alone
        alone(name, folder, moments == "moments")
        return
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.rows)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"{options.rows:,} rows of 20 columns, {size / 1e9:.1f} GB\n")
        print("| source | what | seconds | CPU seconds | memory, MB |\n|---|---|---|---|---|")
        for name, (_, count) in READERS.items():
            for what in ("read", "moments"):
                if what == "read" and count is None:
                    continue
                command = [sys.executable, __file__, "--alone", name, folder, what]
                done = subprocess.run(
                    command, capture_output=True, text=True, env=os.environ, check=False
                )
                if done.returncode:
                    print(f"| {name} | {what} | {done.stderr.splitlines()[-1]} |")
                    continue
                n, seconds, cpu, peak = map(float, done.stdout.split())
                assert n == options.rows
                print(
                    f"| {name} | {what} | {seconds:.1f} | {cpu:.1f} | {peak / 1e6:.0f} |",
                    flush=True,
                )
                # dask keeps as many partitions in memory as it has threads.
                assert what == "read" or peak < MOST or "dask" in name, (name, peak)


if __name__ == "__main__":
    main()
