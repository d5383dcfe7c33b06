"""Delimited text in every dialect, against the cells that were written."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.tables.arrays import to_array
from genlock.tables.text import DelimitedText

DELIMITERS = st.sampled_from([",", ";", "\t"])
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
CELLS = st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(-(2**63), 2**63 - 1)), min_size=1)


def columns(data: bytes) -> list[np.ndarray]:
    text = DelimitedText(data)
    return [to_array(text.typed(index)) for index in range(text.width)]


@given(CELLS, DELIMITERS, LINE_ENDS, st.booleans(), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    rows: list[tuple[float, float, int]],
    delimiter: str,
    line_end: str,
    mark: bool,
    quoted: bool,
    final: bool,
) -> None:
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerows([("a", "b", "n"), *rows])
    data = file.getvalue().encode("utf-8-sig" if mark else "utf-8")
    text = DelimitedText(data if final else data.removesuffix(line_end.encode()))
    assert text.header == ("a", "b", "n")
    for index, written in enumerate(zip(*rows, strict=True)):
        read = to_array(text.typed(index))
        assert read.tolist() == list(written)
    assert to_array(text.typed(2)).dtype == np.int64


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1), st.sampled_from([";", "\t"]))
def test_decimal_commas(values: list[object], delimiter: str) -> None:
    lines = [f"{index}{delimiter}{value}".replace(".", ",") for index, value in enumerate(values)]
    data = "\n".join([f"t{delimiter}v", *lines]).encode()
    assert columns(data)[1].tolist() == [float(str(value)) for value in values]


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"t,x\n1,2.5\n", ("t", "x")),
        (b"\xef\xbb\xbft,x\r\n1,2.5\r\n", ("t", "x")),
        (b"t,x\r1,2.5", ("t", "x")),
        (b"#t,x\n1,2.5\n", ("t", "x")),
        (b"# t x\n1 2.5\n", ("t", "x")),
        (b"# made by a device\n# t x\n  1   2.5  \n", ("t", "x")),
        (b"# a comment, with a comma\nt,x\n1,2.5\n", ("t", "x")),
        (b"\n\nt , x\n\n 1 , 2.5 \n\n", ("t", "x")),
        (b"t,x\n   \n1,2.5\n\t\n", ("t", "x")),
        (b't,"x, of y"\n1,2.5\n', ("t", "x, of y")),
        (b"t,x\n1,+2.5\n", ("t", "x")),
        ("t;x\n1;2,5\n".encode("utf-16"), ("t", "x")),
        (b"t;\xb0\n1;2,5\n", ("t", "°")),
        (b"1,2.5\n", None),
        (b"1 2.5", None),
    ],
)
def test_dialects(data: bytes, header: tuple[str, ...] | None) -> None:
    text = DelimitedText(data)
    assert text.header == header
    assert [to_array(text.typed(index)).tolist() for index in range(2)] == [[1], [2.5]]


@pytest.mark.parametrize("data", [b"t,x", b"t,x\n\n", b"#t,x\n", b"\xef\xbb\xbft,x\r\n"])
def test_a_header_alone_is_a_table_without_rows(data: bytes) -> None:
    text = DelimitedText(data)
    assert (text.header, text.rows) == (("t", "x"), 0)
    assert len(to_array(text.typed(1))) == 0


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"#\n"])
def test_a_file_without_a_line_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="empty"):
        DelimitedText(data)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a,b\n1,2\n3\n4,5\n", 3),
        (b"a,b\r\n1,2\r\n\r\n3,4,5\r\n", 4),
        (b"a,b\r1,2\r3", 3),
        (b"# a b\n1 2\n\n3 4 5\n", 4),
        (b'a,b\n"x\ny",2\n3\n', 4),
    ],
)
def test_a_row_of_another_length_is_named_by_its_line(data: bytes, line: int) -> None:
    with pytest.raises(ValueError, match=rf"line {line} has \d cells? where 2 are expected"):
        DelimitedText(data)


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        ("1 2 -3", np.int64, [1, 2, -3]),
        ("18446744073709551615 1", np.uint64, [2**64 - 1, 1]),
        ("1 2.5 1e3", np.float64, [1, 2.5, 1000]),
        ("True false TRUE", np.bool_, [True, False, True]),
        ("-inf 2 Infinity", np.float64, [-np.inf, 2, np.inf]),
        ("a 1", object, ["a", "1"]),
    ],
)
def test_types_are_of_the_whole_column(cells: str, dtype: type, values: list[object]) -> None:
    data = "v,w\n" + "".join(f"{cell},0\n" for cell in cells.split())
    column = columns(data.encode())[0]
    assert column.dtype == dtype
    assert column.tolist() == values


def test_a_type_that_only_shows_late_is_seen() -> None:
    """Readers that look at a first block call this column whole numbers, and fail."""
    data = b"t,v\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(300_000)) + b"300000,0.5\n"
    column = columns(data)[1]
    assert column.dtype == np.float64
    assert column[[0, 299_999, 300_000]].tolist() == [0, 299_999, 0.5]


@pytest.mark.parametrize("missing", ["", "nan", "NaN", "null", "None", "NA", "  "])
def test_missing_numbers_are_nan(missing: str) -> None:
    column = columns(f"t,v\n1,{missing}\n2,3\n".encode())[1]
    assert np.isnan(column[0])
    assert column[1] == 3


def test_missing_text_is_none() -> None:
    assert columns(b"t,v\n1,\n2,walk\n")[1].tolist() == [None, "walk"]


def test_lists_become_two_dimensional() -> None:
    lists = pa.chunked_array([[[1.0, 2.0], None], [[3.0, 4.0]]])
    np.testing.assert_array_equal(to_array(lists), [[1, 2], [np.nan, np.nan], [3, 4]])
    assert (
        to_array(pa.chunked_array([pa.array([[1, 2]], pa.list_(pa.int32(), 2))])).dtype == np.int64
    )
    with pytest.raises(ValueError, match="differ in length: 2 and 1"):
        to_array(pa.chunked_array([[[1.0, 2.0], [3.0]]]))


@given(
    st.text(st.sampled_from('ab1.-,;\t \r\n"#é'), max_size=40), st.sampled_from(["utf-8", "utf-16"])
)
def test_any_text_is_a_table_or_is_refused(text: str, encoding: str) -> None:
    try:
        table = DelimitedText(text.encode(encoding))
    except ValueError as error:
        assert str(error)
        return
    for index in range(table.width):
        assert len(to_array(table.typed(index))) == len(table.text(index)) == table.rows
