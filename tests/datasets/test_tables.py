"""Tables from files, without a data-frame library."""

import numpy as np
import pytest

import bowfree as bf
from bowfree.datasets.tables import Table, parse_table, read_table, write_table


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
    with pytest.raises(bf.DataError, match=problem):
        bf.fit(bf.parse("x -> y"), columns)


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 1, 1, "empty"),
        ("x,y\n1\n", 2, 1, "expected 2 cells"),
        ("x,y\n1,2\n3,red\n", 3, 3, "'red' in column 'y' is not a number"),
        ("x,x\n1,2\n", 1, 3, "two columns are named 'x'"),
        ("x,,y\n1,2,3\n", 1, 3, "column 2 has no name"),
    ],
)
def test_malformed_tables_say_where(text, line, column, problem):
    with pytest.raises(bf.ParseError, match=problem) as caught:
        parse_table(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_unknown_kinds_and_codings_are_refused(tmp_path):
    with pytest.raises(bf.DataError, match="unknown kind of table"):
        read_table(tmp_path / "data.xlsx")
    (tmp_path / "data.csv").write_bytes(b"x\n\xff\n")
    with pytest.raises(bf.ParseError, match="line 2, column 1: data.csv is not a text in UTF-8"):
        read_table(tmp_path / "data.csv")
