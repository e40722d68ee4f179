"""Burns CPU time in Python functions that C code calls, and in C code that Python calls: each for some ten milliseconds at a time."""
import ctypes
import time
import zlib

libc = ctypes.CDLL(None)
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
DATA = bytes(range(256)) * 12000


def spin(count):
    total = 0
    for i in range(count):
        total += i * i
    return total


def key(item):
    return spin(400)


def by_sort():
    sorted(range(1200), key=key)


@COMPARE
def compare(a, b):
    spin(400)
    return 0


def by_qsort():
    libc.qsort((ctypes.c_int * 200)(), 200, 4, compare)


def by_zlib():
    zlib.compress(DATA, 1)


def main():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        by_sort()
        by_qsort()
        by_zlib()


main()
