"""Reads a stream of the Arrow C data interface into Python's lists, by the specification alone: what pyarrow does, where there is none."""
import ctypes
import struct


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))), ("private_data", ctypes.c_void_p)]
Array._fields_ = [(name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")] + [
    ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private_data", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]
CODES = {b"l": "q", b"g": "d", b"i": "i"}


def texts(array):
    ends = struct.unpack(f"{array.length + 1}q", ctypes.string_at(array.buffers[1], 8 * (array.length + 1)))
    data = ctypes.string_at(array.buffers[2], ends[-1])
    return [data[begin:end].decode() for begin, end in zip(ends, ends[1:])]


def column(schema, array):
    code = CODES[schema.format]
    values = struct.unpack(f"{array.length}{code}", ctypes.string_at(array.buffers[1], array.length * struct.calcsize(code)))
    valid = ctypes.string_at(array.buffers[0], (array.length + 7) // 8) if array.buffers[0] else None
    if schema.dictionary:
        assert schema.dictionary.contents.format == b"U"
        words = texts(array.dictionary.contents)
        values = [words[value] for value in values]
    found = [value if valid is None or valid[row // 8] >> row % 8 & 1 else None for row, value in enumerate(values)]
    assert array.null_count == found.count(None), (array.null_count, found.count(None))
    return found


def read(capsule):
    """{column: values}."""
    pointer = ctypes.pythonapi["PyCapsule_GetPointer"]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = Stream.from_address(pointer(capsule, b"arrow_array_stream"))
    schema, array, rest = Schema(), Array(), Array()
    assert stream.get_schema(stream, schema) == 0 and stream.get_next(stream, array) == 0 and stream.get_next(stream, rest) == 0
    assert schema.format == b"+s" and not rest.release
    found = {schema.children[i].contents.name.decode(): column(schema.children[i].contents, array.children[i].contents) for i in range(schema.n_children)}
    assert all(len(values) == array.length for values in found.values())
    stream.release(stream)  # what it handed over stays
    array.release(array)
    schema.release(schema)
    assert not stream.release and not array.release and not schema.release
    return found
