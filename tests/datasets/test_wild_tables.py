"""Tables as other programs and people write them: read right, or refused with the option."""

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bowfree as bf
from bowfree.datasets import unpacking
from bowfree.datasets.pieces import data_files, read_pieces
from bowfree.datasets.quick_reader import quick_values
from bowfree.datasets.reading import ReadOptions
from bowfree.datasets.tables import Table, read_covariance, read_table, row_places
from bowfree.datasets.text_tables import Dialect, fill
from bowfree.formats.csv_text import CsvReader
from bowfree.parallel.budget import Budget

X = np.array([[0.5, -2.25, 3.0], [1.5, 4.125, -6.0], [10.75, 0.1, 1e-3]])
NAMES = ("x", "y", "z")


def save(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def comma(value):
    return repr(float(value)).replace(".", ",")


# --- what programs write by default ---------------------------------------------------------------


def r_write_csv():
    """write.csv(data.frame(...), "data.csv") in R."""
    rows = [f'"{k}",' + ",".join(map(repr, row)) for k, row in enumerate(X.tolist(), start=1)]
    return "\n".join(['"","x","y","z"', *rows, ""])


def r_write_csv2():
    rows = [f'"{k}";' + ";".join(map(comma, row)) for k, row in enumerate(X.tolist(), start=1)]
    return "\n".join(['"";"x";"y";"z"', *rows, ""])


def r_write_table():
    """write.table(...): blanks, and no heading over the names of the rows."""
    rows = [f'"{k}" ' + " ".join(map(repr, row)) for k, row in enumerate(X.tolist(), start=1)]
    return "\n".join(['"x" "y" "z"', *rows, ""])


def pandas_to_csv():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(X, columns=NAMES).to_csv()


def pandas_with_labels():
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(X, columns=NAMES, index=["anna", "berta", "carl"]).to_csv(sep="\t")


def excel_german():
    rows = [";".join(map(comma, row)) for row in X.tolist()]
    return "\r\n".join(["x;y;z", *rows, ""])


def excel_unicode():
    rows = ["\t".join(map(comma, row)) for row in X.tolist()]
    return "\r\n".join(["x\ty\tz", *rows, ""])


def polars_write_csv():
    pl = pytest.importorskip("polars")
    return pl.DataFrame(X, schema=list(NAMES)).write_csv()


DEFAULTS = [
    r_write_csv, r_write_csv2, r_write_table, pandas_to_csv, pandas_with_labels, excel_german,
    excel_unicode, polars_write_csv,
]  # fmt: skip


@pytest.mark.parametrize("write", DEFAULTS)
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_what_programs_write_by_default(write, ending, tmp_path):
    table = read_table(save(tmp_path / f"data{ending}", write()))
    assert table.names == NAMES
    np.testing.assert_array_equal(table.X, X)
    some = read_table(tmp_path / f"data{ending}", columns=["z", "x"])
    np.testing.assert_array_equal(some.X, X[:, [2, 0]])
    rest = read_table(tmp_path / f"data{ending}", drop=["y"])
    assert rest.names == ("x", "z")


@pytest.mark.parametrize("write", DEFAULTS)
def test_quick_and_careful_readers_agree(write, tmp_path, monkeypatch):
    monkeypatch.setattr("bowfree.datasets.tables.LARGE", 0)
    path = save(tmp_path / "data.csv", write())
    np.testing.assert_array_equal(read_table(path).X, X)
    np.testing.assert_array_equal(read_table(path, columns=["y"]).X, X[:, [1]])


def test_real_tables_of_packages_people_have(tmp_path):
    """Wine, iris, breast cancer and diabetes, as scikit-learn ships or makes them."""
    datasets = pytest.importorskip("sklearn.datasets")
    for load in ("load_wine", "load_iris", "load_breast_cancer", "load_diabetes"):
        frame = getattr(datasets, load)(as_frame=True).frame
        for k, text in enumerate([frame.to_csv(), frame.to_csv(sep=";", decimal=",", index=False)]):
            table = read_table(save(tmp_path / f"{load}{k}.csv", text))
            assert table.names == tuple(frame.columns)
            np.testing.assert_allclose(table.X, frame.to_numpy(float), rtol=1e-15)


# --- asked, not guessed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "option", "problem", "answers"),
    [
        ("x;y\n1,234;2\n5,678;3\n", "decimal=", "'1,234' could be", {"comma": 1.234}),
        ("x;y\n1.234;2\n5.678;3\n", "decimal=", "'1.234' could be", {"point": 1.234}),
        ("x\ty\n1,234\t2\n", "decimal=", "'1,234' could be", {"comma": 1.234}),
        ('x,y\n"1,5",2\n', None, "", {None: 1.5}),
    ],
)
def test_numbers_that_mean_two_things(text, option, problem, answers, tmp_path):
    path = save(tmp_path / "data.csv", text)
    if option is not None:
        with pytest.raises(bf.errors.ParseError, match=problem) as caught:
            read_table(path)
        assert option in str(caught.value)
        assert (caught.value.line, caught.value.column) == (2, 1)
    for answer, value in answers.items():
        assert read_table(path, decimal=answer)["x"][0] == value


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("x;y\n1,234;2\n5,67;3\n", 1.234),  # two decimals: no thousands
        ("x;y\n0,234;2\n", 0.234),  # a thousand does not begin with 0
        ("x;y\n1.234;2\n0.5;3\n", 1.234),
        ("x;y\n1234;2\n", 1234.0),
        ("x,y\n1.234,2\n", 1.234),  # commas are taken
        ("x;y\n,5;2\n", 0.5),
        ("x;y\n-1,5e3;2\n", -1500.0),
        ("x\n1.5\n", 1.5),
        ("body height\n1.5\n", 1.5),
        (",0,1\n0,1.5,2\n", 1.5),
        ("2019,2020\n1.5,2\n", 1.5),
        ("x y\tz\n1.5\t2\n", 1.5),
    ],
)
def test_numbers_that_mean_one_thing(text, x, tmp_path):
    assert read_table(save(tmp_path / "data.csv", text)).X[0, 0] == x


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x,y;z\n1,2;3\n4,5;6\n", "comma and semicolon both cut .* separator="),
        ("x\n1,5\n2,5\n", "one number with a decimal comma or two cells: say separator="),
        ("x;y\n1.234,5;2\n", "'1.234,5' is a number with marks between thousands"),
        ("x;y\n1.234.567;2\n", "'1.234.567' is a number with marks between thousands"),
        ("x;y\n1,5;2\n2.5;3\n", "'2.5' has a decimal point and '1,5' a comma"),
        ("x;y\n1;2\n1;2;3\n", "expected 2 cells"),
        ("59,2,32.1\n48,1,21.6\n", "numbers where the names of the columns should be"),
        ("1.5\n2.5\n", "numbers where the names of the columns should be"),
        ("A title\nx,y\n1,2\n", "expected 1 cells"),
        ("x,y\n5,2,3\n7,1,1\n", "expected 2 cells"),  # no names of rows: a name is missing
        (
            "x,y\n1,red\n",
            r"'red' in column 'y' is not a number; drop that column \(drop=\).*\(na=\)",
        ),
    ],
)
def test_refused_with_the_option(text, problem, tmp_path):
    with pytest.raises(bf.errors.ParseError, match=problem):
        read_table(save(tmp_path / "data.csv", text))


def test_answers_end_the_questions(tmp_path):
    path = save(tmp_path / "data.csv", "x,y;z\n1,2;3\n4,5;6\n")
    assert read_table(path, separator="semicolon", decimal="comma")["x,y"].tolist() == [1.2, 4.5]
    path = save(tmp_path / "one.csv", "x\n1,5\n2,5\n")
    assert read_table(path, separator="tab", decimal="comma")["x"].tolist() == [1.5, 2.5]
    for option, value in (("separator", "pipe"), ("decimal", "dot")):
        with pytest.raises(bf.errors.DataError, match=f"{option}= '{value}': choose one of"):
            read_table(path, **{option: value})


numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 4))


@given(
    st.lists(st.lists(numbers, min_size=2, max_size=2), min_size=1, max_size=8),
    st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ",")]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_never_silently_wrong(tmp_path_factory, rows, written, labeled):
    """Whatever the separator and the mark: the same numbers, or a question."""
    separator, mark = written
    head = separator.join(([""] if labeled else []) + ["x", "y"])
    lines = [
        separator.join(([f"r{k}"] if labeled else []) + [repr(v).replace(".", mark) for v in row])
        for k, row in enumerate(rows)
    ]
    path = tmp_path_factory.mktemp("t") / "data.csv"
    save(path, "\n".join([head, *lines, ""]))
    asked = re.compile("could be a number")
    try:
        found = read_table(path).X
    except bf.errors.ParseError as error:
        if not asked.search(str(error)):
            raise
    else:
        np.testing.assert_array_equal(found, rows)


# --- missing values -------------------------------------------------------------------------------


def test_missing_values_by_other_names(tmp_path):
    path = save(tmp_path / "data.csv", "x,y\n-999,?\n1,2\n-999.0,NA\n")
    assert np.isnan(read_table(path, na=["-999", "?"]).X).tolist() == [[1, 1], [0, 0], [1, 1]]
    with pytest.raises(bf.errors.ParseError, match=r"'\?' in column 'y' .* say so \(na=\)"):
        read_table(path)


def test_rows_are_counted_as_the_file_does(tmp_path):
    text = 'note,x\n"a\nb",1\n\nc,2\n'
    path = save(tmp_path / "data.csv", text)
    assert row_places(path, ReadOptions(), [0, 1]) == ["line 2", "line 5"]
    for name, places in (("a.xlsx", ["row 2", "row 6"]), ("a.sav", ["row 1", "row 5"])):
        assert row_places(tmp_path / name, ReadOptions(), [0, 4]) == places


# --- packed, and in other alphabets ---------------------------------------------------------------


def test_packed_files(tmp_path):
    text = r_write_csv2().encode()
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(text))
    np.testing.assert_array_equal(read_table(tmp_path / "data.csv.gz").X, X)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(text)[:-10])
    with pytest.raises(bf.errors.DataError, match=r"cut\.csv\.gz cannot be unpacked"):
        read_table(tmp_path / "cut.csv.gz")
    (tmp_path / "no.csv.gz").write_bytes(text)
    with pytest.raises(bf.errors.DataError, match=r"no\.csv\.gz cannot be unpacked"):
        read_table(tmp_path / "no.csv.gz")


def test_zstd(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    text = r_write_csv2().encode()
    packed = pyarrow.compress(text, codec="zstd", asbytes=True)
    (tmp_path / "data.tsv.zst").write_bytes(packed)
    np.testing.assert_array_equal(read_table(tmp_path / "data.tsv.zst").X, X)
    (tmp_path / "cut.csv.zst").write_bytes(packed[:-9])
    with pytest.raises(bf.BowfreeError):
        read_table(tmp_path / "cut.csv.zst")


def test_small_files_that_unpack_to_much(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "_A_LOT", 1000)
    monkeypatch.setattr(unpacking, "MOST_TIMES", 10)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"x\n" + b"0\n" * 100_000))
    with pytest.raises(bf.errors.DataError, match="real data are not that regular"):
        read_table(tmp_path / "bomb.csv.gz")


def test_encodings(tmp_path):
    text = "größe;y\n1,5;2\n"
    path = save(tmp_path / "data.csv", text, "cp1252")
    with pytest.raises(
        bf.errors.ParseError, match=r"line 1, column 3: .* save it as UTF-8, or .*cp1252"
    ):
        read_table(path)
    assert read_table(path, encoding="cp1252").names == ("größe", "y")
    assert read_table(save(tmp_path / "16.csv", text, "utf-16")).names == ("größe", "y")
    assert read_table(save(tmp_path / "8.csv", text, "utf-8-sig")).names == ("größe", "y")
    with pytest.raises(bf.errors.DataError, match="encoding= 'klingon' is not known"):
        read_table(path, encoding="klingon")
    with pytest.raises(
        bf.errors.ParseError, match="not a text in ascii: found the byte 0xf6 at place 3"
    ):
        read_table(path, encoding="ascii")


# --- large files ----------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch):
    """Let every table be a large one, and say whether it was read at once."""
    monkeypatch.setattr("bowfree.datasets.tables.LARGE", 0)
    taken = []

    def told(*given):
        values = quick_values(*given)
        taken.append(values is not None)
        return values

    monkeypatch.setattr("bowfree.datasets.text_tables.quick_values", told)
    return taken


def lines_of(rows, separator=",", quote=lambda k: False, labels=None):
    """Write rows of cells; `quote` says for the k-th cell of a line whether it has quotes."""
    labeled = [[*([] if labels is None else [label]), *row] for label, row in zip(
        labels or rows, rows, strict=True
    )]  # fmt: skip
    return "".join(
        separator.join(f'"{cell}"' if quote(k) else cell for k, cell in enumerate(row)) + "\n"
        for row in labeled
    )


CELLS = [[repr(x) for x in row] for row in X.tolist()]
COMMAS = [[cell.replace(".", ",") for cell in row] for row in CELLS]
COUNT = ["1", "2", "3"]
AT_ONCE = {
    "plain": "x,y,z\n" + lines_of(CELLS),
    "no line end": "x,y,z\n" + lines_of(CELLS).rstrip("\n"),
    "of Windows": ("x,y,z\n" + lines_of(CELLS)).replace("\n", "\r\n"),
    "empty lines": "x,y,z\n" + lines_of(CELLS).replace("\n", "\n\n"),
    "blanks": "x, y, z\n" + lines_of(CELLS).replace(",", " ,\t"),
    "tabs": "x\ty\tz\n" + lines_of(CELLS, "\t"),
    "signs": "x,y,z\n" + lines_of(CELLS).replace("0.5", "+.5").replace("0.001", "1E-3"),
    "quotes": '"x","y","z"\n' + lines_of(CELLS, quote=lambda k: True),
    "quotes, decimal commas": "x,y,z\n" + lines_of(COMMAS, quote=lambda k: True),
    "semicolons": "x;y;z\n" + lines_of(COMMAS, ";"),
    "R's write.csv": '"","x","y","z"\n' + lines_of(CELLS, quote=lambda k: k == 0, labels=COUNT),
    "R's write.table": '"x" "y" "z"\n' + lines_of(CELLS, " ", lambda k: k == 0, COUNT),
    "words": "x,y,z,name\n" + lines_of([[*row, 'a "b"'] for row in CELLS]),
    "quotes in words": "x,y,z,n\n"
    + lines_of([[*r, 'a""b,'] for r in CELLS], quote=lambda k: k == 3),
}


@pytest.mark.parametrize("text", AT_ONCE.values(), ids=AT_ONCE)
def test_what_is_read_at_once(text, at_once, tmp_path):
    table = read_table(save(tmp_path / "data.csv", text), columns=NAMES)
    np.testing.assert_array_equal(table.X, X)
    assert at_once == [True]


WITH_CARE = {
    "names of rows": '"x" "y" "z"\n' + lines_of(CELLS, " ", lambda k: k == 0, ["a", "b", "c"]),
    "a line end in quotes": 'w,x,y,z\n"a\nb",' + lines_of(CELLS).replace("\n", "\n1,", 2),
    "a quoted name of two lines": '"w\nw",x,y,z\n1,' + lines_of(CELLS).replace("\n", "\n1,", 2),
    "of the old Mac": "x,y,z\n" + lines_of(CELLS).replace("\n", "\r"),
    "one line of the old Mac": "x,y,z\r" + lines_of(CELLS),
    "a line of blanks": "x,y,z\n" + lines_of(CELLS) + "  \n",
    "many digits behind a comma": "x;y;z\n"
    + lines_of(COMMAS, ";").replace("0,001", "0,001" + 70 * "0"),
}


@pytest.mark.parametrize("text", WITH_CARE.values(), ids=WITH_CARE)
def test_what_is_read_with_care(text, at_once, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode())
    np.testing.assert_array_equal(read_table(path, columns=NAMES).X, X)
    assert at_once in ([False], [])


def test_rows_that_are_numbered_otherwise(at_once, tmp_path):
    """Numbers that do not count the rows are a column without a name."""
    text = '"x" "y" "z"\n' + lines_of(CELLS, " ", lambda k: k == 0, ["1", "2", "4"])
    with pytest.raises(bf.errors.ParseError, match=r"line 2, column 1: .*expected 3 cells"):
        read_table(save(tmp_path / "data.txt", text))
    assert at_once in ([False], [])


@pytest.mark.parametrize(("label", "quick"), [('"3"', True), ("4", False), ("03", False)])
def test_names_of_rows_are_all_looked_at(label, quick):
    content = f'x\n"1" 5\n2 6\n{label} 7\n'.encode()
    found = quick_values(content, [1], 2, Dialect(" ", row_names=True), {""})
    assert (found is not None) == quick


@given(
    lines=st.lists(
        st.lists(
            st.one_of(
                st.sampled_from(
                    ["", "NA", "nan", ".", "inf", "1e999", "1e-999", "-0", "+5", "++5"]
                ),
                st.floats(allow_nan=False, allow_infinity=False).map(repr),
                st.text('0123456789.,;+-eEnaNA \t"\r\n_\x0b\xa0', max_size=6),
                st.text('0123456789.,"', max_size=4).map(lambda text: f'"{text}"'),
            ),
            min_size=1,
            max_size=3,
        ).map(",".join),
        max_size=4,
    ),
    chosen=st.sampled_from([[0, 1], [1], [1, 0]]),
    decimal=st.sampled_from(".,"),
    counted=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_the_quick_reader_and_its_slow_twin(lines, chosen, decimal, counted):
    """Where there is an answer at once, it is the careful reader's."""
    numbered = [f"{k},{line}" for k, line in enumerate(lines, start=1)] if counted else lines
    text = "x,y\n" + "\n".join(numbered)
    dialect = Dialect(",", decimal, row_names=counted)
    options = ReadOptions(columns=["xy"[k] for k in chosen])
    cells = [k + counted for k in chosen]
    found = quick_values(text.encode(), cells, 2 + counted, dialect, options.missing)
    if found is not None:
        reader = CsvReader(text, separator=",", what="twin")
        np.testing.assert_array_equal(found, fill(reader, reader, options, dialect).X)


@pytest.mark.parametrize("counted", [False, True])
def test_pieces_for_several_threads(counted, monkeypatch):
    """A text of ten megabytes is cut into pieces; rows stay in their order."""
    monkeypatch.setattr(Budget, "n_threads", 3)
    n = 400_000
    X = np.arange(2.0 * n).reshape(n, 2) / 4
    lines = [f"{a!r},{b!r}" for a, b in X.tolist()]
    if counted:
        lines = [f"{k},{line}" for k, line in enumerate(lines, start=1)]
    text = "x,y\n" + "\n".join(lines)
    dialect, chosen = Dialect(row_names=counted), [1, 2] if counted else [0, 1]
    found = quick_values(text.encode(), chosen, 2 + counted, dialect, {""})
    np.testing.assert_array_equal(found, X)
    if not counted:
        lines[1000:1000], lines[n - 10 : n - 10] = [""], ["", ""]
        text = "x,y\n" + "\n".join(lines)
        np.testing.assert_array_equal(quick_values(text.encode(), chosen, 2, dialect, {""}), X)
    odd = text.encode() + b"\n1,x"
    assert quick_values(odd, chosen, 2 + counted, dialect, {""}) is None


def test_the_rest_of_a_large_file_may_be_written_otherwise(at_once, tmp_path, monkeypatch):
    """What the first lines tell is tried, and does not decide."""
    monkeypatch.setattr("bowfree.datasets.text_tables._FIRST_BYTES", 12)
    path = save(tmp_path / "late.csv", "x;y\n1;2\n3;4\n5,25;6,5\n")
    np.testing.assert_array_equal(read_table(path).X, [[1, 2], [3, 4], [5.25, 6.5]])
    path = save(tmp_path / "both.csv", "x;y\n1;2\n3;4\n5,25;6.5\n")
    with pytest.raises(bf.errors.ParseError, match="has a decimal point"):
        read_table(path)
    path = save(tmp_path / "thousands.csv", "x;y\n1;2\n3;4\n5;1.234\n")
    with pytest.raises(bf.errors.ParseError, match="mark between thousands; say decimal= point"):
        read_table(path)
    assert at_once[-1:] != [True]
    path = tmp_path / "broken.csv"
    path.write_bytes(b"x;y\n1;2\n3;4\n5;\xff\n")
    with pytest.raises(bf.errors.ParseError, match="not a text in UTF-8"):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x,y\n1,2\n3\n", "line 3, column 1: .*expected 2 cells"),
        ("x,y\n1,2\n3,4,5\n", "line 3, column 1: .*expected 2 cells"),
        ("x,y\n1,2\n3,red\n", "line 3, column 3: .*'red'"),
        ("x,y\n1,2\n3,1e999\n", "line 3, column 3: .*too large"),
        ("x,y\n1,2\n3,1_000\n", "line 3, column 3: .*'1_000'"),
        ("x,y\n1,2\n3,0x1F\n", "line 3, column 3: .*'0x1F'"),
        ("x,y\n1,2\n3,true\n", "line 3, column 3: .*'true'"),
        ("x,y\n1,2\n3,2020-01-01\n", "line 3, column 3: .*'2020-01-01'"),
        ("x,y\n1,2\n3,4 5\n", "line 3, column 3: .*'4 5'"),
        ('x,y\n"1","2"\n"3\n', "line 3, column 1: .*not closed"),
        ('x,y\n"1","2"\n"3","red"\n', "line 3, column 5: .*'red'"),
        ('x,y\n"1","2"\n"3"4,5\n', "line 3, column 1: .*text follows"),
        ('x,y\n"1","2"\n"3"\n', "line 3, column 1: .*expected 2 cells"),
    ],
)
def test_large_files_are_refused_like_small_ones(text, problem, at_once, tmp_path):
    with pytest.raises(bf.errors.ParseError, match=problem):
        read_table(save(tmp_path / "data.csv", text))


def test_gaps_in_large_files(at_once, tmp_path):
    path = save(tmp_path / "data.csv", "x,y\n1,NA\n,2\nnan,-9\n3,\n")
    assert np.isnan(read_table(path, na=["-9"]).X).tolist() == [[0, 1], [1, 0], [1, 1], [0, 1]]
    assert at_once == [True]


# --- files of other programs ----------------------------------------------------------------------


def frame():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=NAMES)
    table.loc[1, "y"] = np.nan
    return table.assign(who=["a", "b", "c"])


def same(table):
    np.testing.assert_array_equal(table.X, frame()[list(NAMES)].to_numpy())


@pytest.mark.parametrize(
    ("ending", "library", "write"),
    [
        (".parquet", "pyarrow", lambda f, path: f.to_parquet(path)),
        (".feather", "pyarrow", lambda f, path: f.to_feather(path)),
        (".dta", "pandas", lambda f, path: f.to_stata(path, write_index=False)),
        (".sav", "pyreadstat", lambda f, path: __import__("pyreadstat").write_sav(f, str(path))),
        (".xlsx", "openpyxl", lambda f, path: f.to_excel(path, index=False)),
    ],
)
def test_files_of_other_programs(ending, library, write, tmp_path):
    pytest.importorskip(library)
    path = tmp_path / f"data{ending}"
    write(frame(), path)
    same(read_table(path, columns=NAMES))
    same(read_table(path, drop=["who"]))
    assert np.isnan(read_table(path, columns=["x"], na=["0.5"]).X[0, 0])
    with pytest.raises(bf.errors.DataError, match=r"'who'.*drop.*\(drop=\)"):
        read_table(path)
    path.write_bytes(b"something else")
    with pytest.raises(
        bf.errors.DataError, match=f"data{ending} cannot be read as a {ending} file"
    ):
        read_table(path)


@pytest.mark.parametrize(("ending", "library"), [(".sav", "pyreadstat"), (".xlsx", "openpyxl")])
def test_a_library_that_is_not_there(ending, library, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    (tmp_path / f"data{ending}").write_bytes(b"")
    with pytest.raises(bf.errors.DataError, match=f"needs {library}; run `pip install {library}`"):
        read_table(tmp_path / f"data{ending}")


def test_workbooks(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    for row in ([None, "x", "y"], ["anna", 1, 2.5], [None, None, None], ["berta", "NA", "red"]):
        sheet.append(row)
    book.save(tmp_path / "data.xlsx")
    assert read_table(tmp_path / "data.xlsx", columns=["x"]).X[0, 0] == 1
    with pytest.raises(bf.errors.DataError, match="row 4: 'red' in column 'y' is not a number"):
        read_table(tmp_path / "data.xlsx")
    book.create_sheet("more").append(["z"])
    book.save(tmp_path / "data.xlsx")
    with pytest.raises(
        bf.errors.DataError, match="has the sheets Sheet, more; say which one with sheet="
    ):
        read_table(tmp_path / "data.xlsx")
    assert read_table(tmp_path / "data.xlsx", sheet="more").names == ("z",)
    with pytest.raises(bf.errors.DataError, match="has no sheet 'mor'"):
        read_table(tmp_path / "data.xlsx", sheet="mor")


# --- covariance matrices --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        ",x,y\ny,0.5,2\nx,1,0.5\n",
        "variable;x;y\ny;0,5;2\nx;1;0,5\n",
        '"x" "y"\n"y" 0.5 2\n"x" 1 0.5\n',
        "x\ty\n1\t0.5\n0.5\t2\n",
    ],
)
def test_covariances_as_programs_write_them(text, tmp_path):
    found = read_covariance(save(tmp_path / "cov.csv", text))
    assert found.names == ("x", "y")
    assert found.X.tolist() == [[1, 0.5], [0.5, 2]]
    assert read_covariance(tmp_path / "cov.csv", columns=["y"]).X.tolist() == [[2]]


# --- words in their order ---

SIZES = {"size": ["none", "small", "large"]}


def words_in(ending, path):
    table = {"x": [1.5, 2.0, 2.5, 4.0], "size": ["small", "none", None, "large"]}
    if ending == ".csv":
        path.write_text("x,size\n1.5,small\n2,none\n2.5,NA\n4,large\n")
    elif ending == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [("x", "size"), *zip(*table.values(), strict=True)]:
            book.active.append(row)
        book.save(path)
    elif ending == ".sav":
        pytest.importorskip("pyreadstat").write_sav(words_frame(table), path)
    elif ending == ".parquet":
        words_frame(table).to_parquet(path)
    else:
        words_frame(table).to_feather(path)


def words_frame(table):
    pytest.importorskip("pyarrow")
    return pytest.importorskip("pandas").DataFrame(table)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".xlsx", ".sav"])
def test_words_become_their_places(ending, tmp_path):
    path = tmp_path / f"words{ending}"
    words_in(ending, path)
    # 2 is missing among the numbers; among the words it is the place of one.
    table = read_table(path, ordinal=SIZES, na=["2"])
    np.testing.assert_array_equal(table["size"], [2, 1, np.nan, 3])
    np.testing.assert_array_equal(table["x"], [1.5, np.nan, 2.5, 4])
    with pytest.raises(bf.BowfreeError, match=r"the order of its words \(ordinal=\)"):
        read_table(path)
    with pytest.raises(bf.BowfreeError, match="'large' in column 'size' is none of none, small"):
        read_table(path, ordinal={"size": ["none", "small"]})


def test_words_in_pieces(tmp_path):
    for k in range(2):
        words_in(".parquet", tmp_path / f"{k}.parquet")
    options = ReadOptions(ordinal=SIZES)
    pieces = list(read_pieces(data_files([tmp_path]), options))
    assert [piece.table["size"][3] for piece in pieces] == [3, 3]


def test_words_in_a_large_file(at_once, tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("x,size\n" + "1.5,small\n2,none\n" * 400)
    np.testing.assert_array_equal(read_table(path, ordinal=SIZES)["size"], [2, 1] * 400)


@pytest.mark.parametrize(
    ("ordinal", "problem"),
    [
        (["size"], "give for each column the list of its words"),
        ({"size": "none"}, "give a list of words"),
        ({"size": 3}, "give a list of words"),
        ({"size": [1, 2]}, "ordinal= 1 for column 'size': give words"),
    ],
)
def test_orders_that_are_none(ordinal, problem, tmp_path):
    path = tmp_path / "words.csv"
    words_in(".csv", path)
    with pytest.raises(bf.errors.DataError, match=problem):
        read_table(path, ordinal=ordinal)


def test_a_table_is_what_the_gate_takes():
    assert isinstance(bf.datasets.load_demo(), Table)
    assert bf.datasets.read_table is read_table


@pytest.mark.parametrize("option", ["drop", "na"])
def test_none_is_no_list_of_names(tmp_path, option):
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,2\n3,5\n")
    with pytest.raises(bf.errors.DataError, match=rf"{option}= is None; give a list of"):
        read_table(path, **{option: None})
