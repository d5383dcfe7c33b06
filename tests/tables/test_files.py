"""Files that hold a table: the same columns, whatever the format."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.errors import GenlockError, LayoutError, OpenError
from genlock.location import Location
from genlock.tables.files import Table, looks_like_table, open_table

T_NS = np.array([1700000000123456789, 1700000000128456790], np.int64)
X = np.array([0.25, -1.5])
OK = np.array([True, False])


def as_csv() -> bytes:
    rows = [f"{t},{x},{ok}" for t, x, ok in zip(T_NS, X, OK, strict=True)]
    return "\n".join(["t_ns,x,ok", *rows]).encode()


def as_parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"t_ns": T_NS, "x": X, "ok": OK}), file)
    return file.getvalue()


def as_npy(order: str = "=") -> bytes:
    kind = np.dtype([("t_ns", "i8"), ("x", "f8"), ("ok", "?")]).newbyteorder(order)
    array = np.zeros(2, kind)
    array["t_ns"], array["x"], array["ok"] = T_NS, X, OK
    return npy(array)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def opened(data: bytes, path: Path | None, names: tuple[str, ...] = ()) -> Table:
    if path is None:
        return open_table(Location.of(data), names)
    path.write_bytes(data)
    return open_table(Location(path), names)


@pytest.mark.parametrize(
    "write", [as_csv, as_parquet, as_npy, lambda: as_npy(">")], ids=["csv", "parquet", "npy", "big"]
)
@pytest.mark.parametrize("local", [True, False])
def test_columns_keep_their_values_and_types(
    write: Callable[[], bytes], local: bool, tmp_path: Path
) -> None:
    table = opened(write(), tmp_path / "table" if local else None)
    assert (table.headers, table.rows) == (("t_ns", "x", "ok"), 2)
    assert [table.holds(c) for c in range(3)] == [("int64", 1), ("float64", 1), ("bool", 1)]
    times, x, ok = table.values([0, 1, 2])
    for read, written in ((times, T_NS), (x, X), (ok, OK)):
        assert read.dtype == written.dtype
        np.testing.assert_array_equal(read, written)
    np.testing.assert_array_equal(table.values([1])[0], X)


def test_plain_arrays_take_their_names_from_the_declaration(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    table = opened(npy(array), tmp_path / "a.npy", ("a", "b", "c"))
    np.testing.assert_array_equal(table.values([2])[0], array[:, 2])
    assert not table.values([2])[0].flags.owndata  # a view of the memory map
    assert opened(npy(array[:, 0]), None, ("a",)).values([0])[0].tolist() == [0, 3, 6, 9]
    fortran = npy(np.asfortranarray(array))
    np.testing.assert_array_equal(
        opened(fortran, None, ("a", "b", "c")).values([1])[0], array[:, 1]
    )


@pytest.mark.parametrize("names", [(), ("a", "b")])
@pytest.mark.parametrize("data", [npy(np.zeros((4, 3))), b"1,2,3\n4,5,6\n"], ids=["npy", "csv"])
def test_a_table_without_names_asks_for_every_one(data: bytes, names: tuple[str, ...]) -> None:
    with pytest.raises(LayoutError, match="has 3 columns without names"):
        opened(data, None, names)


def test_fields_of_several_values(tmp_path: Path) -> None:
    kind = np.dtype([("t", "i8"), ("acc", "f4", (3,)), ("m", "f4", (2, 2)), ("s", "U5")])
    array = np.zeros(2, kind)
    array["acc"] = [[1, 2, 3], [4, 5, 6]]
    array["m"] = np.arange(8).reshape(2, 2, 2)
    array["s"] = ["a", "bc"]
    table = opened(npy(array), tmp_path / "a.npy")
    assert [table.holds(c) for c in range(4)] == [
        ("int64", 1),
        ("float32", 3),
        ("float32", 4),
        ("str", 1),
    ]
    acc, m, s = table.values([1, 2, 3])
    np.testing.assert_array_equal(acc, array["acc"])
    np.testing.assert_array_equal(m, array["m"].reshape(2, 4))
    assert s.tolist() == ["a", "bc"]


def test_parquet_types(tmp_path: Path) -> None:
    columns = {
        "small": pa.array([1, None], pa.int8()),
        "flag": pa.array([True, None]),
        "pair": pa.array([[1.0, 2.0], [3.0, 4.0]]),
        "fixed": pa.array([[1, 2, 3], [4, 5, 6]], pa.list_(pa.int16(), 3)),
        "word": pa.array(["a", "b"]).dictionary_encode(),
        "when": pa.array([0, 1], pa.timestamp("us")),
        "price": pa.array([1, 2], pa.decimal128(5, 2)),
        "ragged": pa.array([[1.0], [2.0, 3.0]]),
        "a.b": pa.array([7.0, 8.0]),
    }
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    table = opened(file.getvalue(), tmp_path / "a.parquet")
    held = dict(zip(table.headers, map(table.holds, range(9)), strict=True))
    assert held == {
        "small": ("int64", 1),
        "flag": ("bool", 1),
        "pair": ("float64", 2),
        "fixed": ("int64", 3),
        "word": ("str", 1),
        "when": ("", 1),
        "price": ("float64", 1),
        "ragged": ("float64", 1),
        "a.b": ("float64", 1),
    }
    small, flag, pair, fixed, word = table.values([0, 1, 2, 3, 4])
    np.testing.assert_array_equal(small, [1, np.nan])
    np.testing.assert_array_equal(flag, [1, np.nan])
    np.testing.assert_array_equal(pair, [[1, 2], [3, 4]])
    assert (fixed.dtype, fixed.tolist()) == (np.int64, [[1, 2, 3], [4, 5, 6]])
    assert word.tolist() == ["a", "b"]
    assert table.values([8])[0].tolist() == [7, 8]
    with pytest.raises(ValueError, match="column 'ragged': its lists differ in length: 1 and 2"):
        table.values([7])


def header_claiming(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(64)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        as_parquet()[:-20],
        as_npy()[:40],
        as_npy()[:-5],
        header_claiming((2**40, 8)),
        npy(np.zeros((2, 2, 2))),
        npy(np.array(3.0)),
        b"a,b\n1\n",
    ],
    ids=[
        "empty", "only-magic", "cut-parquet", "cut-header", "cut-npy", "claims-64-TB", "3-d", "0-d",
        "ragged",
    ],
)  # fmt: skip
@pytest.mark.parametrize("local", [True, False])
def test_damaged_files_are_refused_by_name(data: bytes, local: bool, tmp_path: Path) -> None:
    place = Location(tmp_path / "damaged.bin") if local else Location.of(data)
    if local:
        (tmp_path / "damaged.bin").write_bytes(data)
    with pytest.raises(OpenError) as caught:
        open_table(place, ["value"])
    assert place.uri in str(caught.value)


def test_what_no_array_can_hold_is_said_so() -> None:
    kind = np.dtype([("z", "c16"), ("when", "M8[ns]"), ("x", "f4")])
    table = opened(npy(np.zeros(2, kind)), None)
    assert [table.holds(c)[0] for c in range(3)] == ["", "", "float32"]


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], object), allow_pickle=True)
    for path in (tmp_path / "a.npy", None):
        with pytest.raises(OpenError):
            opened(file.getvalue(), path)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.csv", b"anything", True),
        ("a.tsv", b"", True),
        ("a.bin", b"PAR1....", True),
        ("a", b"\x93NUMPY", True),
        ("groundtruth.txt", b"# timestamp tx ty\n1.5 2 3\n", True),
        ("a.txt", b"t_ns,x\n1,2\n", True),
        ("README.txt", b"Read this file\nbefore you start\n", False),
        ("LICENSE.txt", b"MIT License\n\nCopyright (c) 2024\n", False),
        ("a.json", b"{}", False),
        ("a.png", b"\x89PNG", False),
    ],
)
def test_what_looks_like_a_table(name: str, data: bytes, expected: bool) -> None:
    assert looks_like_table(Location(name), data) is expected


@given(
    st.sampled_from([b"", b"\x93NUMPY", as_npy(), as_parquet(), as_csv()]),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4),
    st.binary(max_size=20),
)
def test_damage_is_an_error_of_ours_or_a_table(
    data: bytes, damage: list[tuple[int, int]], tail: bytes
) -> None:
    damaged = bytearray(data + tail)
    for position, value in damage:
        if damaged:
            damaged[position % len(damaged)] = value
    try:
        table = open_table(Location.of(bytes(damaged)), ["a"])
        held = [table.holds(column) for column in range(len(table.headers))]
        table.values([column for column, (dtype, _) in enumerate(held) if dtype])
    except (GenlockError, ValueError, OSError, pa.ArrowException) as error:
        assert str(error)
