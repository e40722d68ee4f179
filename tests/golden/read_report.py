#!/usr/bin/env python3
"""A second reader of report files, written from docs/format.md alone, and its comparison with the C reader.

read_report.py            reads the fuzzer's corpus here and through libtacho.so, and compares every value (a test)
read_report.py FILE       prints what is in a report

Needs no package: xxHash is left out (hashes are checked by the C reader), zstd is the command line tool.
"""
import ctypes, os, struct, subprocess, sys

INT, TIME, REAL, TEXT, STRING = range(5)
MASK = (1 << 64) - 1
seen = set()  # codings, so that the test can say that it met all of them


def signed(value):
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        piece = self.data[self.at:self.at + count]
        assert len(piece) == count, "runs past the end"
        self.at += count
        return piece

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def svarint(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def name(self):
        return self.take(self.varint()).decode()


def unpack(data, raw_size):
    if len(data) == raw_size:
        return data
    raw = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    assert len(raw) == raw_size
    return raw


def plane(directory, data, size):
    stored = directory.varint()
    return bytes([directory.byte()]) * size if stored == 0 else unpack(data.take(stored), size)


def planes(directory, data, rows):
    parts = [plane(directory, data, rows) for _ in range(directory.byte())]
    return [int.from_bytes(row, "little") for row in zip(*parts)]


def column(directory, data, rows, times):
    """Values of one column (None where NULL), or its strings."""
    tag = directory.byte()
    if tag == 0x20:
        return [None] * rows
    nulls = plane(directory, data, (rows + 7) // 8) if tag & 0x10 else bytes((rows + 7) // 8)
    coding = tag & 7
    seen.add(coding)
    if coding == 0:
        values = [directory.svarint()] * rows
    elif coding in (1, 4):
        base = directory.svarint()
        values = [base + u for u in planes(directory, data, rows)]
        if coding == 4:
            values = [value + time for value, time in zip(values, times)]
    elif coding in (2, 3):
        value, values = directory.svarint(), []
        base = directory.svarint() if coding == 2 else 0
        for u in planes(directory, data, rows):
            value += base + u if coding == 2 else (u >> 1) ^ -(u & 1)
            values.append(value)
    elif coding == 5:
        entries, before = [], 0
        for _ in range(directory.varint()):
            before += directory.svarint()
            entries.append(before)
        values = [entries[u] for u in plane(directory, data, rows)]
    elif coding == 6:
        lengths = planes(directory, data, rows)
        raw, stored = directory.varint(), directory.varint()
        blob = Cursor(unpack(data.take(stored), raw))
        return [blob.take(length) for length in lengths]
    return [None if nulls[r // 8] >> r % 8 & 1 else signed(values[r]) for r in range(rows)]


class Table:
    def __init__(self, name):
        self.name, self.types, self.values, self.rows = name, {}, {}, 0


class Report:
    """Everything in memory: tables by name, each with a list of values per column; strings by id."""

    def __init__(self, path):
        data = open(path, "rb").read()
        assert data[:12] == b"TACHO\r\n\x1a" + struct.pack("<I", 1), "not a report"
        self.tables, self.definitions, self.strings = {}, {}, {}
        at = 16
        while len(data) - at >= 48:
            magic, kind, _, table, rows, size, first, _ = struct.unpack("<4sBBHIIqq", data[at:at + 32])
            assert magic == b"TCHK"
            payload = data[at + 48:at + 48 + size]
            if len(payload) < size:
                break
            if kind == 1:
                self.schema(payload, rows)
            elif kind == 2:
                self.chunk(payload, table, rows, first)
            at += 48 + size

    def schema(self, payload, count):
        cursor = Cursor(payload)
        cursor.varint()
        raw, stored = cursor.varint(), cursor.varint()
        cursor = Cursor(unpack(cursor.take(stored), raw))
        for _ in range(count):
            number, name = cursor.varint(), cursor.name()
            columns = [(cursor.name(), cursor.byte()) for _ in range(cursor.varint())]
            if number in self.definitions:
                continue
            table = self.tables.setdefault(name, Table(name))
            self.definitions[number] = table, columns
            for column_name, kind in columns:
                table.types.setdefault(column_name, kind)
                table.values.setdefault(column_name, [])

    def chunk(self, payload, number, rows, first):
        table, columns = self.definitions[number]
        cursor = Cursor(payload)
        size = cursor.varint()
        directory = Cursor(cursor.take(size))
        data, times = Cursor(payload[cursor.at:]), None
        for name, kind in columns:
            values = column(directory, data, rows, times)
            if kind == TIME and times is None:
                times = values
            if table.name == "StringIds" and name == "value":
                self.strings.update(enumerate(values, first))
            table.values[name] += values
        assert directory.at == size and data.at == len(data.data), "not used up"
        table.rows += rows


# ---- the comparison

class Library:
    """The public C interface, as include/tacho/report.h has it."""

    def __init__(self, library, path):
        self.c = ctypes.CDLL(library)
        self.c.tacho_report_error.restype = ctypes.c_char_p
        self.c.tacho_report_table_name.restype = ctypes.c_char_p
        self.c.tacho_report_column_name.restype = ctypes.c_char_p
        self.c.tacho_report_row_count.restype = ctypes.c_uint64
        self.c.tacho_report_string.restype = ctypes.POINTER(ctypes.c_char)
        self.report = ctypes.c_void_p()
        assert self.c.tacho_report_open(path.encode(), ctypes.byref(self.report)) == 0, self.c.tacho_report_error(self.report)

    def tables(self):
        return [self.c.tacho_report_table_name(self.report, t).decode() for t in range(self.c.tacho_report_table_count(self.report))]

    def columns(self, table):
        count = self.c.tacho_report_column_count(self.report, table)
        return [(self.c.tacho_report_column_name(self.report, table, i).decode(), self.c.tacho_report_column_type(self.report, table, i))
                for i in range(count)]

    def read(self, table, index):
        rows = self.c.tacho_report_row_count(self.report, table)
        values, nulls = (ctypes.c_int64 * rows)(), (ctypes.c_ubyte * rows)()
        status = self.c.tacho_report_read(self.report, table, index, ctypes.c_uint64(0), ctypes.c_size_t(rows), values, nulls)
        assert status == 0
        return [None if null else value for value, null in zip(values, nulls)]

    def string(self, number):
        length = ctypes.c_size_t()
        at = self.c.tacho_report_string(self.report, ctypes.c_int64(number), ctypes.byref(length))
        return at[:length.value]


def compare(path, library):
    ours, theirs = Report(path), Library(library, path)
    assert theirs.tables() == list(ours.tables), "tables differ"
    cells = 0
    for number, table in enumerate(ours.tables.values()):
        assert theirs.columns(number) == list(table.types.items()), f"columns of {table.name} differ"
        for index, name in enumerate(table.types):
            values = theirs.read(number, index)
            mine = table.values["id"] if table.name == "StringIds" else table.values[name]
            assert values == mine, f"{table.name}.{name} differs"
            cells += len(values)
    for number, text in ours.strings.items():
        assert theirs.string(number) == text, f"string {number} differs"
    print(f"{os.path.basename(path)}: {cells} cells and {len(ours.strings)} strings are the same")
    return cells


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def main():
    if len(sys.argv) > 1:
        for table in Report(sys.argv[1]).tables.values():
            print(f"{table.name}: {table.rows} rows, columns {', '.join(table.types)}")
        return
    source, library = os.environ["SOURCE"], os.environ["LIBTACHO"]
    if subprocess.run(["sh", "-c", "command -v zstd"], stdout=subprocess.DEVNULL).returncode:
        skip("there is no zstd command")
    if not os.path.exists(library):
        skip("libtacho.so is not built")
    if os.environ.get("ARCH", os.uname().machine) != os.uname().machine:
        skip("built for another machine")
    corpus = os.path.join(source, "tests", "fuzz", "corpus")
    cells = sum(compare(os.path.join(corpus, name), library) for name in ["empty", "events", "many_flushes", "strings", "calls", "tiny"])
    assert cells > 5000, cells
    assert seen == set(range(7)), f"only the codings {seen} were met"


if __name__ == "__main__":
    main()
