"""Lists, dicts, strings and buffers of a Python program."""
import sys


def table(rows):
    return [{"number": i, "name": f"name {i} " + "x" * (i % 200), "values": [i, i + 1, i + 2]} for i in range(rows)]


def columns(count, size):
    return [bytearray(size + i) for i in range(count)]


def texts(count):
    return {i: bytes(600 + i % 3000) for i in range(count)}


def main():
    kept = [table(12000), columns(12, 1_000_000), texts(3000)]
    del kept[0]
    kept.append(columns(4, 500_000))
    return len(kept)


for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
    main()
