"""Tables as programs and people write them are read right, or refused with the option to pass."""

import csv
import gzip
import importlib.util
import io
import time
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.datasets import Table, read_covariance, read_table, text_files, write_table
from bowfree.datasets.files import data_files, read_pieces, row_places
from bowfree.datasets.tables import ReadOptions

X = np.array([[0.5, -2.25, 3.0], [1.5, 4.125, -6.0], [10.75, 0.1, 1e-3]])
NAMES = ("x", "y", "z")
FRAME = pd.DataFrame(X, columns=NAMES)


def save(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.fixture
def read(tmp_path):
    """Read a table from text."""
    return lambda text, **options: read_table(save(tmp_path / "data.csv", text), **options)


def lines(head, separator=",", mark=".", labels=None):
    """Return X with this header."""
    rows = [[repr(x).replace(".", mark) for x in row] for row in X.tolist()]
    labeled = (
        [[f'"{name}"', *row] for name, row in zip(labels, rows, strict=True)] if labels else rows
    )
    return "\n".join([head, *map(separator.join, labeled), ""])


COUNT = ["1", "2", "3"]
WRITTEN = {
    "write.csv of R": lines('"","x","y","z"', labels=COUNT),
    "write.csv2 of R": lines('"";"x";"y";"z"', ";", ",", COUNT),
    "write.table of R": lines('"x" "y" "z"', " ", labels=COUNT),
    "write.table with row names": lines('"x" "y" "z"', " ", labels=["a", "b", "c"]),
    "to_csv of pandas": FRAME.to_csv(),
    "to_csv with labels": FRAME.set_axis(["anna", "b,c", "carl"]).to_csv(sep="\t"),
    "Excel": lines("x;y;z", ";", ",").replace("\n", "\r\n"),
    "Excel with sep=": "sep=;\r\n" + lines("x;y;z", ";", ",").replace("\n", "\r\n"),
    "polars": pl.DataFrame(X, schema=list(NAMES)).write_csv(),
    "no last line end": lines("x,y,z").rstrip("\n"),
    "lines of old Macs": lines("x,y,z").replace("\n", "\r"),
    "blank lines": lines("x,y,z").replace("\n", "\n\n") + "  \n",
    "spaces around cells": lines("x, y, z").replace(",-", " ,\t-"),
    "aligned": lines("  x   y z", "   "),
    "quoted": lines('"x","y","z"').replace("0.5", '"0.5"'),
    "decimal commas in quotes": "x,y,z\n" + "".join(
        ",".join(f'"{x}"'.replace(".", ",") for x in row) + "\n" for row in X.tolist()
    ),
    "signs and exponents": lines("x,y,z").replace("0.5", "+.5").replace("0.001", "1E-3"),
    "comments": "# made by hand\n# in 2020\n" + lines("x,y,z"),
}  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_files_of_other_programs(text, read, tmp_path):
    table = read(text)
    assert table.names == NAMES
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(read(text, columns=["z", "x"]).X, X[:, [2, 0]])
    assert read(text, drop=["y"]).names == ("x", "z")
    for encoding in ("utf-8-sig", "utf-16"):
        path = save(tmp_path / "data.txt", text, encoding)
        np.testing.assert_array_equal(read_table(path).X, X)


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("x;y\n1,234;2\n5,67;3\n", 1.234),  # two decimals: no thousands
        ("x;y\n1.234;2\n0.5;3\n", 1.234),
        ("x,y\n1.234,2\n", 1.234),
        ("x;y\n,5;2\n", 0.5),
        ("x;y\n-1,5e3;2\n", -1500.0),
        ("body height\n1.5\n", 1.5),
        ("2019,2020\n1.5,2\n", 1.5),
        ("x y\tz\n1.5\t2\n", 1.5),
    ],
)
def test_unambiguous_numbers(text, x, read):
    assert read(text).X[0, 0] == x


@pytest.mark.parametrize(
    ("text", "problem", "options"),
    [
        ("x;y\n1,234;2\n", "'1,234' could be .* pass decimal= comma", {"decimal": "comma"}),
        ("x;y\n1.234;2\n", "'1.234' could be .* pass decimal= point", {"decimal": "point"}),
        ("x,1;y\n1,234;2\n", "comma and semicolon .* pass separator=", {"separator": "semicolon", "decimal": "comma"}),
        ("#x;y\nx;y\n1.234;1\n", "'#x;y' .* could be the header; pass comment= #", {"comment": "#", "decimal": "point"}),
    ],
)  # fmt: skip
def test_ambiguous_files_name_the_option(text, problem, options, read):
    with pytest.raises(bf.errors.ParseError, match=problem):
        read(text)
    assert read(text, **options).X[0, 0] == 1.234


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("x;y\n1.234,5;2\n", "'1.234,5' has separators between thousands"),
        ("x;y\n1,5;2\n2.5;3\n", "'2.5' has a decimal point and '1,5' a comma"),
        ("59,2,32.1\n48,1,21.6\n", "numbers in place of column names"),
        ("x,y\n5,2,3\n7,1,1\n", "expected 2 cells"),  # numbers are no row names
        ("x,y\n1,2\n3,4,5\n\n6\n7,8\n", "expected 2 cells in each line, found 3 in line 3, 1 in line 5$"),
        ("x,x\n1,2\n", "two columns are named 'x'"),
        ('x,y\n"1","2"\n"3\n', "line 3, column 1: .*not closed"),
        ('x,y\n"1","2"\n"3"4,5\n', "line 3, column 1: .*text follows"),
        ("x,y\n1,red\n", r"column 'y': 'red' in line 2: not a number\n(.*\n)*.*ordinal=.*\n.*nominal=.*\n.*drop="),
        ("x,y\n3,1e999\n", "'1e999' in line 2: not a valid number"),
        ("x,y\n3,12.5.3\n", "'12.5.3' in line 2: not a valid number"),
        ("x,y\n3,31.12.2020\n", "'31.12.2020' in line 2: a date; drop it"),
        ("x,y\n3,120 mmHg\n", "'120 mmHg' in line 2: not a number; remove the unit"),
        ('x,y\n3,"1,5"\n1.5,2\n', "has a decimal point"),
        ("x;y\n3.25;1\n" + "1;2\n" * 2000 + "1;5,25\n", "'5,25' in line 2003: not a number; .*decimal= comma"),
        *((f"x,y\n1,{c}\n", f"'{c}' in line 2: not a") for c in ("1_000", "0x1F", "4 5")),
        ("x,y\n１,1\n", "not a number"),
        ("x,y\n1," + "q" * 400_000 + "\n", "not a number"),
    ],
)  # fmt: skip
def test_bad_files(text, problem, read):
    with pytest.raises(bf.BowfreeError, match=problem) as caught:
        read(text)
    assert len(str(caught.value)) < 400


def test_one_error_names_all_problems(read):
    with pytest.raises(bf.errors.ParseError) as caught:
        read('x,y,z\n1,red,2\n"2",blue,3,\n'.replace(",3,", ",3") + "\n?,a,\n4,b,5\n")
    first, x, y, missing, _, nominal, remedy = str(caught.value).split("\n")
    assert nominal.endswith("nominal=['y']")
    assert first == "data.csv:"
    assert x.startswith("  column 'x': '?' in line 5: not a number")
    assert y.startswith("  column 'y': 'red' in line 2, 'blue' in line 3, 'a' in line 5 and 1 more")
    assert missing == "  missing values in z (1)"
    assert remedy.endswith("drop=['x', 'y']")


numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 4))


@given(
    st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=8),
    st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), (" ", ".")]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_never_wrong_without_an_error(tmp_path_factory, rows, written, labeled):
    separator, mark = written
    head = separator.join(([""] if labeled and separator != " " else []) + ["x", "y"])
    text = [
        separator.join(([f"r{k}"] if labeled else []) + [repr(v).replace(".", mark) for v in row])
        for k, row in enumerate(rows)
    ]
    path = save(tmp_path_factory.mktemp("t") / "data.csv", "\n".join([head, *text, ""]))
    try:
        found = read_table(path).X
    except bf.errors.ParseError as error:
        assert "could be a number" in str(error)  # noqa: PT017
    else:
        np.testing.assert_array_equal(found, rows)


@given(
    st.lists(
        st.lists(
            st.one_of(
                st.sampled_from(["", "NA", "nan", ".", "inf", "1e999", "-0", "+5", "++5", " 5 "]),
                st.floats(allow_nan=False, allow_infinity=False).map(repr),
                st.text('0123456789.+-eEnaNA \t"\n_\x0b\xa0', max_size=6),
            ),
            min_size=1, max_size=3,
        ).map(",".join),
        max_size=4,
    )
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_numbers_are_those_of_the_csv_module(tmp_path_factory, rows):
    """A slow twin: Python's numbers in the cells that the csv module finds."""
    text = "\n".join(["x,y", *rows]) + "\n"
    path = save(tmp_path_factory.mktemp("t") / "data.csv", text)
    try:
        found = read_table(path, separator="comma", decimal="point").X
    except bf.BowfreeError:
        return
    cells = [
        row
        for row in csv.reader(io.StringIO(text))
        if any(cell.strip() for cell in row) or len(row) > 1
    ]
    missing = ("", "na", "nan", "n/a", "null", "none", ".")
    cells = [row[len(row) == 3 :] for row in cells]  # without row names
    expected = [
        [np.nan if c.strip(' \t\n"').lower() in missing else float(c.strip(' \t\n"')) for c in row]
        for row in cells[1:]
    ]  # fmt: skip
    np.testing.assert_array_equal(found, np.array(expected).reshape(len(expected), 2))


@pytest.mark.parametrize(
    "make",
    [
        lambda n: ",".join(f"n{k}" for k in range(n)) + "\nq" + ",0" * (n - 1),
        lambda n: "x,y\n0," + " " * n + "q",
        lambda n: '"' * (2 * n + 1),
    ],
)
def test_time_grows_with_the_length_of_the_file(make, read):
    def seconds(n):
        start = time.process_time()
        with pytest.raises(bf.BowfreeError):
            read(make(n))
        return time.process_time() - start

    # Quadratic time would be sixteen times as much, and 50 ms are noise.
    short, long = (min(seconds(n) for _ in range(3)) for n in (2_000, 8_000))
    assert long < 8 * short + 0.05


def test_missing_values(read):
    text = "x,y\n-999,?\n1, NA\n-999.0,\n2,3\n"
    assert np.isnan(read(text, na=["-999", "?"]).X).tolist() == [[1, 1], [0, 1], [1, 1], [0, 0]]
    with pytest.raises(bf.errors.ParseError, match=r"column 'y': '\?' in line 2"):
        read(text)


def test_rows_are_counted_as_the_file_does(tmp_path):
    path = save(tmp_path / "data.csv", '# two lines\nnote,x\n"a\nb",1\n\nc,2\n')
    assert row_places(path, ReadOptions(), [0, 1]) == ["line 3", "line 6"]
    pl.DataFrame({"x": [1, None]}).write_parquet(tmp_path / "a.parquet")
    assert row_places(tmp_path / "a.parquet", ReadOptions(), [1]) == ["row 2"]


def test_compressed_files(tmp_path, monkeypatch):
    text = WRITTEN["write.csv2 of R"].encode()
    zstd = pytest.importorskip("zstandard").compress(text)
    for name, content in (("a.csv.gz", gzip.compress(text)), ("b.tsv.zst", zstd)):
        (tmp_path / name).write_bytes(content)
        np.testing.assert_array_equal(read_table(tmp_path / name).X, X)
        (tmp_path / name).write_bytes(content[:-10])
        with pytest.raises(bf.errors.DataError, match=f"{name} cannot be decompressed"):
            read_table(tmp_path / name)
    (tmp_path / "a.csv.gz").write_bytes(text)
    with pytest.raises(bf.errors.DataError, match=r"a\.csv\.gz cannot be decompressed"):
        read_table(tmp_path / "a.csv.gz")
    monkeypatch.setattr(text_files, "_LARGE", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"x\n" + b"0\n" * 10_000_000))
    with pytest.raises(bf.errors.DataError, match=r"more than .* bytes in a file of"):
        read_table(tmp_path / "bomb.csv.gz")


def test_encodings(tmp_path):
    path = save(tmp_path / "data.csv", "größe;y\n1,5;2\n", "cp1252")
    with pytest.raises(bf.errors.ParseError, match=r"line 1, column 3: .*encoding= \(cp1252"):
        read_table(path)
    assert read_table(path, encoding="cp1252").names == ("größe", "y")
    with pytest.raises(bf.errors.DataError, match="encoding= 'klingon' is unknown"):
        read_table(path, encoding="klingon")
    with pytest.raises(bf.errors.ParseError, match="is not encoded in ascii"):
        read_table(path, encoding="ascii")


# --- files of other programs ----------------------------------------------------------------------

MIXED = FRAME.assign(y=[0.5, np.nan, 2.0], size=["small", None, "none"])
SIZES = {"size": ["none", "small", "large"]}
PYREADSTAT = {".sav": "write_sav", ".zsav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}


def write_statistics(ending, path, frame=MIXED, **options):
    import pyreadstat

    more = {"row_compress": True} if ending == ".zsav" else {}
    getattr(pyreadstat, PYREADSTAT[ending])(frame, str(path), **more, **options)


FORMATS = [
    (".csv", None, lambda path: MIXED.to_csv(path, index=False)),
    (".parquet", None, lambda path: pl.from_pandas(MIXED).write_parquet(path)),
    (".feather", None, lambda path: MIXED.to_feather(path)),
    (".dta", "pandas", lambda path: MIXED.fillna({"size": ""}).to_stata(path, write_index=False)),
    *((ending, "pyreadstat", partial(write_statistics, ending)) for ending in PYREADSTAT),
    (".xlsx", "openpyxl", lambda path: MIXED.to_excel(path, index=False)),
]


@pytest.mark.parametrize(("ending", "library", "write"), FORMATS)
def test_formats(ending, library, write, tmp_path):
    if library:
        pytest.importorskip(library)
    path = tmp_path / f"data{ending}"
    write(path)
    for options in ({"columns": NAMES}, {"drop": ["size"]}):
        np.testing.assert_array_equal(read_table(path, **options).X, MIXED[list(NAMES)].to_numpy())
    # 2 is missing among the numbers; among the words it is the code of one.
    table = read_table(path, ordinal=SIZES, na=["2"])
    np.testing.assert_array_equal(table["size"], [2, np.nan, 1])
    np.testing.assert_array_equal(table["y"], [0.5, np.nan, np.nan])
    with pytest.raises(bf.BowfreeError, match=r"column 'size': 'small' in (.*\n)*.*ordinal="):
        read_table(path)
    with pytest.raises(bf.BowfreeError, match=r"'small' in .*: none of none, large; .*ordinal="):
        read_table(path, ordinal={"size": ["none", "large"]})
    if ending != ".csv":
        path.write_bytes(b"something else")
        with pytest.raises(bf.errors.DataError, match=f"cannot be read as a {ending} file"):
            read_table(path)


@pytest.mark.parametrize(("ending", "libraries"), [(".sav", ["pyreadstat"]), (".xlsx", ["fastexcel", "openpyxl"])])  # fmt: skip
def test_a_missing_library_is_named(ending, libraries, tmp_path, monkeypatch):
    monkeypatch.setattr("bowfree.datasets.files.find_spec", lambda name: None)
    (tmp_path / f"data{ending}").write_bytes(b"")
    needs = rf"needs {' or '.join(libraries)}; run `pip install \"bowfree\[files\]\"`"
    with pytest.raises(bf.errors.DataError, match=needs):
        read_table(tmp_path / f"data{ending}")


@pytest.mark.parametrize("library", ["pyreadstat", "pandas"])
def test_value_labels_and_special_missing_values(library, tmp_path, monkeypatch):
    """Labels of answers are ignored, missing values of Stata and SPSS are missing; dates are named."""
    pytest.importorskip("pyreadstat")
    use_only(library, monkeypatch)
    answers = pd.DataFrame({"q1": [1.0, 2.0, 9.0], "day": pd.to_datetime(["2020-01-01"] * 3)})
    path, labels = tmp_path / "data.dta", {"q1": {1: "no", 2: "yes"}}
    write_statistics(".dta", path, answers, variable_value_labels=labels)
    assert read_table(path, columns=["q1"])["q1"].tolist() == [1, 2, 9]
    with pytest.raises(bf.errors.DataError, match=r"column 'day': .* in row 1, .* not a number"):
        read_table(path)
    if library == "pyreadstat":
        write_statistics(".sav", tmp_path / "data.sav", answers, missing_ranges={"q1": [9]})
        np.testing.assert_array_equal(
            read_table(tmp_path / "data.sav", drop=["day"])["q1"], [1, 2, np.nan]
        )


def use_only(library, monkeypatch):
    """Pretend that no other library for files is installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        "bowfree.datasets.files.find_spec", lambda name: found(name) if name == library else None
    )


@pytest.mark.parametrize("library", ["fastexcel", "openpyxl"])
def test_workbooks(library, tmp_path, monkeypatch):
    pytest.importorskip(library)
    openpyxl = pytest.importorskip("openpyxl")
    use_only(library, monkeypatch)
    book, path = openpyxl.Workbook(), tmp_path / "data.xlsx"
    for row in ([None, "x", "y"], ["anna", 1, 2.5], [None, None, None], ["berta", "NA", "red"]):
        book.active.append(row)
    book.save(path)
    np.testing.assert_array_equal(read_table(path, columns=["x"])["x"], [1, np.nan])
    with pytest.raises(bf.errors.DataError, match="column 'y': 'red' in row 4: not a number"):
        read_table(path)
    more = book.create_sheet("more")
    more.append(["z"])
    more.append([5])
    book.save(path)
    with pytest.raises(bf.errors.DataError, match="several sheets: Sheet, more; pass sheet="):
        read_table(path)
    assert read_table(path, sheet="more").names == ("z",)
    with pytest.raises(bf.errors.DataError, match="has no sheet 'mor'"):
        read_table(path, sheet="mor")


def test_large_integers_are_not_rounded_in_silence(tmp_path):
    path = tmp_path / "ids.parquet"
    frame = pl.DataFrame({"id": [2**53 + 1, 2, 7, None], "x": [1.0, 2.0, 5.0, 3.0]})
    frame.write_parquet(path)
    for read in (lambda: read_table(path), lambda: bf.moments(frame, missing="listwise")):
        with pytest.warns(bf.errors.DataWarning, match="column 'id' .* beyond 2"):
            read()


def test_covariances(tmp_path):
    path = tmp_path / "cov.csv"
    for text in (
        ",x,y\ny,0.5,2\nx,1,0.5\n",
        "variable;x;y\ny;0,5;2\nx;1;0,5\n",
        '"x" "y"\n"y" 0.5 2\n"x" 1 0.5\n',
        "x\ty\n1\t0.5\n0.5\t2\n",
    ):
        found = read_covariance(save(path, text))
        assert found.names == ("x", "y")
        assert found.X.tolist() == [[1, 0.5], [0.5, 2]]
        assert read_covariance(path, columns=["y"]).X.tolist() == [[2]]
    save(path, ',"a b",\'=y\n\'=y,0.5,2\n"a b",1,0.5\n')
    assert read_covariance(path).names == ("a b", "=y")
    with pytest.raises(bf.errors.DataError, match="different names: y"):
        read_covariance(save(path, ",x,y\nx,1,0\nx,0,1\n"))
    with pytest.raises(bf.errors.DataError, match="1 rows and 3 columns"):
        read_covariance(save(path, "x,y,z\n1,0,0\n"))


def test_several_files(tmp_path):
    for k in range(2):
        pl.from_pandas(MIXED).write_parquet(tmp_path / f"{k}.parquet")
    (tmp_path / "notes.md").write_text("x")
    pieces = list(read_pieces(data_files([tmp_path]), ReadOptions(ordinal=SIZES)))
    assert [piece.path.name for piece in pieces] == ["0.parquet", "1.parquet"]
    assert [piece.table["size"][0] for piece in pieces] == [2, 2]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"separator": "pipe"}, "separator= 'pipe': choose one of"),
        ({"columns": "x"}, "columns= 'x': must be a list of strings"),
        ({"columns": ["x", "x"]}, "'x' is requested twice"),
        ({"columns": []}, "no columns are left; choose some of x, y"),
        ({"columns": ["X"]}, "no column 'X' .did you mean 'x'"),
        ({"ordinal": ["x"]}, "must be a mapping from columns to lists of categories"),
        ({"ordinal": {"x": ["a"]}}, "list two or more different categories"),
    ],
)
def test_bad_options(read, options, problem):
    with pytest.raises(bf.errors.DataError, match=problem):
        read("x,y\n1,2\n3,5\n", **options)


def test_unknown_kinds_are_refused(tmp_path):
    for name in ("data.ods", "data.parquet.gz"):
        with pytest.raises(bf.errors.DataError, match="unknown kind of table"):
            read_table(tmp_path / name)


# --- tables ---------------------------------------------------------------------------------------


@given(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
def test_written_tables_come_back(tmp_path_factory, names):
    values = np.random.default_rng(1).standard_normal((3, len(names))) * 1e-7
    text = write_table(Table(tuple(names), values))
    assert not any(
        name.lstrip().startswith(("=", "+", "-", "@"))  # which spreadsheets take for a formula
        for name in next(csv.reader(io.StringIO(text, newline="")))
    )
    if any(
        not name.isprintable() or name.startswith(("#", '"')) or name.strip("' ") == ""
        for name in names
    ):
        return
    try:
        table = read_table(save(tmp_path_factory.mktemp("t") / "t.csv", text), separator="comma")
    except bf.errors.ParseError as error:
        assert "numbers in place of column names" in str(error)  # noqa: PT017
        return
    assert table.names == tuple(names)
    assert table.X.tobytes() == values.tobytes()


def test_a_table_is_data():
    table = bf.datasets.load_demo()
    graph = bf.parse("fruit <- leaves <- sun")  # another order than the table's
    frame = pd.DataFrame(dict(table))
    assert bf.fit(graph, table).loglik == bf.fit(graph, frame).loglik
    cov = frame.cov()
    columns = {name: cov[name].to_numpy() for name in cov.columns}
    assert bf.fit(graph, cov=columns, n=1000).loglik == bf.fit(graph, cov=cov, n=1000).loglik
