"""Tables from files, without a data-frame library."""

import csv
import io
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bowfree as bf
from bowfree.datasets.tables import Table, parse_table, read_covariance, read_table, write_table


def test_csv_is_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text('\ufeffx,"a b"\n1,2\n\n3, NA\n', encoding="utf-8")
    table = read_table(path)
    assert table.names == ("x", "a b")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, np.nan]])
    np.testing.assert_array_equal(table["x"], [1, 3])
    assert (list(table), len(table)) == (["x", "a b"], 2)


def test_tsv_and_parquet_are_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "data.tsv").write_text("x\ty\n1\t2\n")
    pq.write_table(pa.table({"x": [1], "y": [2.0]}), tmp_path / "data.parquet")
    for name in ("data.tsv", "data.parquet"):
        table = read_table(tmp_path / name)
        assert table.names == ("x", "y")
        assert table.X.tolist() == [[1, 2]]


def test_written_numbers_come_back_bit_for_bit():
    table = Table(("x", "y, z"), np.random.default_rng(1).standard_normal((20, 2)) * 1e-7)
    again = parse_table(write_table(table))
    assert again.names == table.names
    assert again.X.tobytes() == table.X.tobytes()


def test_a_mapping_is_data():
    table = bf.datasets.load_demo()
    graph = bf.parse("fruit <- leaves <- sun")  # another order than the table's
    frame = pytest.importorskip("pandas").DataFrame(dict(table))
    assert bf.fit(graph, table).loglik == bf.fit(graph, frame).loglik
    cov = frame.cov()
    columns = {name: cov[name].to_numpy() for name in cov.columns}
    from_mapping = bf.fit(graph, cov=columns, n=1000)
    assert from_mapping.loglik == bf.fit(graph, cov=cov, n=1000).loglik


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"x": [1.0, 2.0], "y": [1.0]}, "equally long"),
        ({"x": [1.0, 2.0], "y": ["a", "b"]}, "non-numeric column 'y'"),
        ({"x": [1.0, 2.0]}, "no column for the graph's node 'y'"),
    ],
)
def test_bad_mappings_are_refused(columns, problem):
    with pytest.raises(bf.errors.DataError, match=problem):
        bf.fit(bf.parse("x -> y"), columns)


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 1, 1, "empty"),
        ("x,y\n1\n", 2, 1, "expected 2 cells"),
        ("x,y\n1,2\n3,red\n", 3, 3, "'red' in column 'y' is not a number"),
        ("x,x\n1,2\n", 1, 3, "two columns are named 'x'"),
        ("x,,y\n1,2,3\n", 1, 3, "column 2 has no name"),
        ("x,y\r1,2\r3,red\r", 3, 3, "'red' in column 'y' is not a number"),
        ('"x,1",y\n2,red\n', 2, 3, "'red' in column 'y' is not a number"),
        ('x,"y\n1,2\n', 1, 3, "not closed"),
        ("x,y\n1,1_000\n", 2, 3, "'1_000' in column 'y' is not a number"),
        ("x,y\n１,1\n", 2, 1, "not a number"),
        ("x,y\n1,1e999\n", 2, 3, "too large"),
        ("x,y\n1," + "7" * 400_000 + "\n", 2, 3, "too large"),
        ("x,y\n1," + "q" * 400_000 + "\n", 2, 3, "not a number"),
        ("x," + "y" * 400_000 + "\n1,red\n", 2, 3, "not a number"),
        ("x,y\n1,2,3\n", 2, 1, "expected 2 cells"),
    ],
)
def test_malformed_tables_say_where(text, line, column, problem):
    with pytest.raises(bf.errors.ParseError, match=problem) as caught:
        parse_table(text)
    assert len(str(caught.value)) < 400
    assert (caught.value.line, caught.value.column) == (line, column)


def test_unknown_kinds_and_codings_are_refused(tmp_path):
    with pytest.raises(bf.errors.DataError, match="unknown kind of table"):
        read_table(tmp_path / "data.ods")
    (tmp_path / "data.csv").write_bytes(b"x\n\xff\n")
    with pytest.raises(
        bf.errors.ParseError, match=r"line 2, column 1: data\.csv is not a text in UTF-8"
    ):
        read_table(tmp_path / "data.csv")


def test_cells_may_have_line_ends_quotes_and_blanks():
    table = parse_table('note,"a\n""b"""," c "\r\n"one,\ntwo",1, 2 \r\n', columns=[" c ", 'a\n"b"'])
    assert table.names == (" c ", 'a\n"b"')
    assert table.X.tolist() == [[2, 1]]


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4, unique=True))
def test_any_names_come_back_and_none_is_a_formula(names):
    text = write_table(Table(tuple(names), -np.ones((2, len(names)))))
    assert parse_table(text).names == tuple(names)
    header = next(csv.reader(io.StringIO(text, newline="")))
    assert not any(name.lstrip().startswith(("=", "+", "-", "@")) for name in header)


def test_names_like_formulas_are_written_as_text():
    table = Table(("=cmd|' /C calc'!A0", "'=x", "-y", "'z"), np.zeros((1, 4)))
    text = write_table(table)
    assert text.splitlines()[0] == "'=cmd|' /C calc'!A0,''=x,'-y,'z"
    assert parse_table(text).names == table.names


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (lambda n: ",".join(f"n{k}" for k in range(n)) + "\nq" + ",0" * (n - 1), None),
        (lambda n: ",".join(f"n{k}" for k in range(n)) + "\n" + ",0" * n, True),
        (lambda n: "x,y\n0," + " " * n + "q", None),
        (lambda n: '"' * (2 * n + 1), None),
    ],
)
def test_time_grows_with_the_length_of_the_text(make, columns):
    def seconds(n):
        text = make(n)
        wanted = [f"n{k}" for k in range(n)] if columns else None
        start = time.process_time()
        with pytest.raises(bf.errors.ParseError):
            parse_table(text, columns=wanted)
        return time.process_time() - start

    # Quadratic time would be sixteen times as much, and 50 ms are noise.
    short, long = (min(seconds(n) for _ in range(3)) for n in (5_000, 20_000))
    assert long < 8 * short + 0.05


def test_covariances_with_odd_names(tmp_path):
    path = tmp_path / "cov.csv"
    path.write_text(',"a b",\'=y\n\'=y,0.5,2\n"a b",1,0.5\n')
    table = read_covariance(path)
    assert table.names == ("a b", "=y")
    assert table.X.tolist() == [[1, 0.5], [0.5, 2]]
    path.write_text(",x,y\nx,1,0\nx,0,1\n")
    with pytest.raises(bf.errors.DataError, match="different names: y"):
        read_covariance(path)


def parquet(path, columns):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
    return path


def test_bad_parquet_is_refused(tmp_path):
    good = parquet(tmp_path / "good.parquet", {"x": [1.0, 2.0], "y": ["1_000", "２"]})
    with pytest.raises(bf.errors.DataError, match=r"'y' \(string\) is not made of numbers"):
        read_table(good)
    assert read_table(good, columns=["x"]).X.tolist() == [[1], [2]]
    content = good.read_bytes()
    bad = tmp_path / "bad.parquet"
    for broken in (b"", b"PAR1", b"x,y\n1,2\n", content[:-9], content[: len(content) // 2]):
        bad.write_bytes(broken)
        with pytest.raises(
            bf.errors.DataError, match=r"bad\.parquet cannot be read as a \.parquet file"
        ):
            read_table(bad)


def test_parquet_with_two_columns_of_one_name(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    pq.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(bf.errors.DataError, match="two columns are named 'x'"):
        read_table(tmp_path / "twice.parquet")


def test_a_small_parquet_does_not_fill_the_memory(tmp_path):
    pytest.importorskip("pyarrow")
    path = parquet(tmp_path / "bomb.parquet", {"x": np.zeros(11_000_000)})
    assert path.stat().st_size < 100_000
    with pytest.raises(bf.errors.DataError, match="11,000,000 cells"):
        read_table(path)


@pytest.mark.parametrize("names", [[None], ["x", None], [1], "x"])
def test_columns_are_asked_for_by_name(names, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,2\n3,5\n", encoding="utf-8")
    with pytest.raises(bf.errors.DataError, match="give a list of names"):
        bf.datasets.read_table(path, columns=names)
