#!/usr/bin/env python3
"""Inputs to begin with for tests/fuzz/fuzz_cupti.c: for each version, a text and one record of each kind that has rows.

cupti_seeds.py FOLDER"""
import os
import struct
import sys

VERSIONS = 16  # as in fuzz_cupti.c
# kind: bytes, as CUPTI 13.0 writes it; other versions take what they make of it.
KINDS = {10: 216, 1: 96, 22: 96, 2: 88, 5: 40, 4: 40, 51: 56, 38: 56, 36: 56, 17: 56, 52: 72, 25: 104, 49: 128, 50: 80, 9: 32, 37: 24}


def text(what, key, words):
    body = words.encode() + b"\0"
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IIQ", 2 + len(body) // 8, what, key) + body


def main():
    texts = text(1, 0x1000, "_Z5saxpyfPKfPfi") + text(2, 211, "cudaLaunchKernel_v7000") + text(4, 10 << 32 | 216, "")
    for version in range(VERSIONS):
        for kind, size in KINDS.items():
            record = bytearray(size)
            struct.pack_into("<II", record, 0, kind, 211)
            for at in range(8, size - 7, 8):
                struct.pack_into("<Q", record, at, 2000 + at)
            if kind == 10:
                struct.pack_into("<Q", record, 104, 0x1000)
            left = len(texts) + 2 * size
            share = -(-len(texts) * 512 // left)  # so that the division falls between the parts
            part = -(-size * 256 // (left - left * share // 512)) if share < 256 else 0
            with open(os.path.join(sys.argv[1], f"{version}-{kind}"), "wb") as file:
                file.write(bytes((version, min(share, 255), min(part, 255))) + texts + bytes(record) * 2)


main()
