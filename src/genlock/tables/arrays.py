"""Arrow columns to NumPy arrays: [N] or, for lists of one length, [N, k]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds a list in each row."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def dtype_name(kind: pa.DataType) -> str:
    """Name of the dtype that `to_array` gives where no value is missing, "" for what it cannot."""
    types = pa.types
    if is_list(kind):
        return (
            ""
            if is_list(kind.value_type) or is_text(kind.value_type)
            else dtype_name(kind.value_type)
        )
    if is_text(kind):
        return "str"
    if types.is_integer(kind):
        return "uint64" if types.is_uint64(kind) else "int64"
    if types.is_floating(kind):
        return str(np.dtype(kind.to_pandas_dtype()))
    return "bool" if types.is_boolean(kind) else "float64" if types.is_decimal(kind) else ""


def to_array(column: pa.ChunkedArray) -> NDArray[Any]:
    """Give a column as an array, with NaN where a number is missing.

    Integers become int64 (uint64 above its range), floats keep their width, decimals become
    float64, text an object array with None where it is missing. Numbers of which some are missing
    become floats. Lists become [N, k]. Raises ValueError for lists of several lengths.
    """
    kind = column.type
    if is_list(kind):
        return _from_lists(column)
    if is_text(kind):
        return np.array(pc.cast(column, pa.string()).to_pylist(), object)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        column = pc.cast(column, pa.int64())
    elif pa.types.is_decimal(kind) or (pa.types.is_boolean(kind) and column.null_count):
        column = pc.cast(column, pa.float64())
    return np.ascontiguousarray(column.to_numpy())


def _from_lists(column: pa.ChunkedArray) -> NDArray[Any]:
    lengths = pc.list_value_length(column).drop_null()
    length = lengths[0].as_py() if len(lengths) else 0
    unlike = pc.index(pc.not_equal(lengths, length), True).as_py()
    if unlike >= 0:
        raise ValueError(f"its lists differ in length: {length} and {lengths[unlike].as_py()}")
    filled = pc.list_flatten(column.drop_null())
    values = to_array(filled).reshape(-1, length)
    if not column.null_count:
        return values
    rows = np.full((len(column), length), np.nan)
    rows[np.asarray(column.is_valid())] = values
    return rows
