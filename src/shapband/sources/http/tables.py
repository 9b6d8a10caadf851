"""Tables of records as JSON or as an Arrow stream.

Both hold one column per feature and one for the target. JSON has no NaN, so a missing number is
null there. What is read comes from strangers: types, names and numbers of rows are checked before
anything is converted, and Arrow buffers must not be compressed, because a few bytes of a compressed
buffer may claim any amount of memory.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NoReturn

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import error_line, printable, written
from shapband.errors import InvalidInput
from shapband.records.cells import check_exact

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
_HEADER, _COMPRESSION = 2, 3  # places of these fields in Message and RecordBatch of Message.fbs
_ALLOWED = {"float64": float, "int64": int, "bool": bool, "string": str}


def has_arrow() -> bool:
    """Whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def read_table(
    content: bytes, media_type: str, columns: Mapping[str, str], n_rows: int
) -> dict[str, AnyArray]:
    """Read a table with exactly these columns, of these types, and so many rows.

    Examples
    --------
    >>> read_table(b'{"columns": {"x": [1.5, null]}}', JSON, {"x": "float64"}, 2)["x"].tolist()
    [1.5, nan]
    """
    if media_type == JSON:
        return _read_json(content, columns, n_rows)
    if media_type == ARROW and has_arrow():
        return _read_arrow(content, columns, n_rows)
    raise InvalidInput(f"the answer must be {JSON} or {ARROW}; received {written(media_type[:80])}")


def write_json(arrays: Mapping[str, AnyArray]) -> bytes:
    """Write columns as JSON."""
    lists = {name: cells.tolist() for name, cells in arrays.items()}
    for name, cells in arrays.items():
        if cells.dtype.kind == "f" and np.isnan(cells).any():
            lists[name] = [None if cell != cell else cell for cell in lists[name]]
    return json.dumps({"columns": lists}, allow_nan=False, separators=(",", ":")).encode()


def write_arrow(arrays: Mapping[str, AnyArray], columns: Mapping[str, str]) -> bytes:
    """Write columns as an Arrow stream."""
    import pyarrow as pa

    kinds = _arrow_types()
    cells = [pa.array(arrays[name], kinds[kind]) for name, kind in columns.items()]
    batch = pa.record_batch(cells, names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def read_document(content: bytes) -> object:
    """Read JSON, without NaN and Infinity, which JSON does not have, and without repeated names.

    Programs differ in which of the values with the same name they take.
    """
    try:
        return json.loads(
            content.decode("utf-8"),
            parse_constant=_no_constant,
            object_pairs_hook=_without_repeated_names,
        )
    except UnicodeDecodeError as cause:
        raise InvalidInput("the answer is not UTF-8, as JSON must be") from cause
    except (ValueError, RecursionError) as cause:
        raise InvalidInput(f"the answer cannot be read as JSON ({error_line(cause)})") from cause


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON: use null for a missing number")


def _without_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the name {written(twice[:80])} twice: send it once")
    return found


def _read_json(content: bytes, columns: Mapping[str, str], n_rows: int) -> dict[str, AnyArray]:
    document = read_document(content)
    lists = document.get("columns") if isinstance(document, dict) else None
    if not isinstance(lists, dict):
        raise InvalidInput('the answer must be a JSON object {"columns": {"name": [...], ...}}')
    _check_names(list(lists), columns)
    arrays = {}
    for name, kind in columns.items():
        cells = lists[name]
        if not isinstance(cells, list):
            raise InvalidInput(f"column {name!r} must be a list; received {written(cells)[:80]}")
        _check_rows(name, len(cells), n_rows)
        arrays[name] = _json_column(name, kind, cells)
    return arrays


def _json_column(name: str, kind: str, cells: list[Any]) -> AnyArray:
    """Convert a list to an array; the types of its cells must be those of the column."""
    found = set(map(type, cells))
    if kind in ("float64", "string"):
        found.discard(type(None))
    if found - {_ALLOWED[kind]} - ({int} if kind == "float64" else set()):
        wrong = next(
            cell for cell in cells if type(cell) in found and type(cell) is not _ALLOWED[kind]
        )
        raise InvalidInput(f"column {name!r} must hold {kind}; received {written(wrong)[:80]}")
    if kind == "string":
        return _objects(cells)
    where = f"column {name!r}"
    if kind == "float64" and int in found:
        check_exact(_objects(cells), where)
    try:
        array = np.array(cells, dtype=kind)
    except OverflowError as cause:
        raise InvalidInput(f"{where} must hold {kind}, and holds a larger integer") from cause
    if kind == "float64" and np.isinf(array).any():
        raise InvalidInput(f"{where} holds a number beyond the largest float64")
    return array


def _objects(cells: list[Any]) -> AnyArray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _read_arrow(content: bytes, columns: Mapping[str, str], n_rows: int) -> dict[str, AnyArray]:
    import pyarrow as pa

    try:
        for message in pa.ipc.MessageReader.open_stream(content):
            _check_message(message)
        # The messages are read again from the start: reading the parts of a damaged stream one by
        # one can end the process, while `open_stream` checks the stream as a whole.
        with pa.ipc.open_stream(content) as stream:
            _check_names(stream.schema.names, columns)
            kinds = _arrow_types()
            for name, kind in columns.items():
                found = stream.schema.field(name).type
                if found != kinds[kind]:
                    raise InvalidInput(f"column {name!r} must hold {kind}; received {found}")
            table = stream.read_all()
        _check_rows(next(iter(columns)), table.num_rows, n_rows)
        table.validate(full=True)
        return {name: _arrow_column(table[name], name, kind) for name, kind in columns.items()}
    except (pa.ArrowException, OSError, struct.error, UnicodeDecodeError) as cause:
        raise InvalidInput(
            f"the answer cannot be read as an Arrow stream ({error_line(cause)})"
        ) from cause


def _check_message(message: Any) -> None:
    """Check that a message is a schema, or records in buffers that are not compressed."""
    if message.type not in ("schema", "record batch"):
        raise InvalidInput(f"the Arrow stream must hold record batches only, not a {message.type}")
    if message.type == "record batch" and _is_compressed(bytes(message.metadata)):
        raise InvalidInput("the buffers of the Arrow stream must not be compressed: use gzip")


def _is_compressed(metadata: bytes) -> bool:
    """Whether the flatbuffer of a record batch's message has the field `compression`."""
    message = struct.unpack_from("<I", metadata, 0)[0]
    header = _field(metadata, message, _HEADER)
    header += struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, header, _COMPRESSION) != 0


def _field(metadata: bytes, table: int, place: int) -> int:
    """The position of a field of a flatbuffer's table; 0 if the table does not have it."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    at = 4 + 2 * place
    if at >= struct.unpack_from("<H", metadata, vtable)[0]:
        return 0
    offset = int(struct.unpack_from("<H", metadata, vtable + at)[0])
    return table + offset if offset else 0


def _arrow_column(column: Any, name: str, kind: str) -> AnyArray:
    if kind == "string":
        return _objects(column.to_pylist())
    if kind != "float64" and column.null_count:
        raise InvalidInput(f"column {name!r} must hold {kind}, and holds missing values")
    array: AnyArray = column.to_numpy()
    if kind == "float64" and np.isinf(array).any():
        raise InvalidInput(f"column {name!r} holds infinite values")
    return array


def _arrow_types() -> dict[str, Any]:
    import pyarrow as pa

    return {"float64": pa.float64(), "int64": pa.int64(), "bool": pa.bool_(), "string": pa.string()}


def _check_names(found: list[str], columns: Mapping[str, str]) -> None:
    if sorted(found) != sorted(columns):
        missing = [name for name in columns if name not in found]
        what = f"lacks the column {missing[0]!r}" if missing else "has other columns"
        raise InvalidInput(
            f"the answer {what}: it must have {printable(', '.join(columns))}; received "
            f"{printable(', '.join(found))[:400]}"
        )


def _check_rows(name: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise InvalidInput(f"column {name!r} has {found} records where {wanted} were asked")
