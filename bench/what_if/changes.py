"""changes.py NAME [changed]: a program of bench/what_if.py in Python, as it is or with its change."""
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

CHANGED = len(sys.argv) > 2


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        json.loads("[" + "1," * 500 + "1]")


def target(seconds, factor):
    end = time.thread_time() + seconds * (factor if CHANGED else 1)
    while time.thread_time() < end:
        json.loads("[" + "1," * 500 + "1]")


def script():
    work(0.4)
    target(0.8, 0.5)


def naps():
    for _ in range(20):
        work(0.02)
        if not CHANGED:
            time.sleep(0.03)


def chunk(seconds):
    target(seconds, 0.5)


def pool():
    with multiprocessing.get_context("fork").Pool(2) as workers:
        workers.map(chunk, [0.4] * 4, chunksize=1)
    work(0.3)


def commits():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        base = sqlite3.connect(os.path.join(folder, "rows"), isolation_level=None)
        if CHANGED:
            base.execute("PRAGMA synchronous=OFF")
        base.execute("CREATE TABLE rows (value)")
        for number in range(150):
            work(0.003)
            base.execute("INSERT INTO rows VALUES (?)", (number,))


def helper():
    work(0.3)
    subprocess.run([sys.executable, os.path.abspath(__file__), "script", *sys.argv[2:]], check=True)


if __name__ == "__main__":
    {"script": script, "naps": naps, "pool": pool, "commits": commits, "helper": helper}[sys.argv[1]]()
