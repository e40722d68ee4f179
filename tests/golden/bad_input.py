"""Files that are not what they say they are: every command that reads one ends with a sentence and status 1, never with a crash."""

import gzip
import os
import shutil
import subprocess
import sys
import tempfile

import lib

TACHO = os.environ["TACHO"]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nsys")


def sparse_files():
    """100 GB that were never written, of files that begin well: no reader looks at each byte of them."""
    made = lib.Made("made.sqlite")
    made.add("OSRT_API", start=1, end=2, nameId=made.text("poll"), globalTid=1)
    lib.output("import", "-q", "-o", "sparse.tacho", made.write())
    with open("sparse.json", "w") as out:
        out.write('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}')
    for name in "sparse.tacho", "sparse.json":
        os.truncate(name, 100 << 30)
        for command in ["stats"], ["info"], ["export", "-o", "out.sqlite"], ["view", "--no-browser"]:
            lib.check(f"{command[0]} of {name}", True, "is incomplete: it has a hole of" in lib.refusal(*command, name))
        os.unlink(name)
    os.unlink("made.sqlite")


def unfinished_files():
    """A report whose writer was killed before it said who it was may be anybody's."""
    made = lib.Made("made.sqlite")
    made.add("META_DATA_CAPTURE", name="TACHO_VERSION", value="1")
    for number in range(50000):
        made.add("OSRT_API", start=number * 7919 % 100003, end=number * 7919 % 100003 + number, nameId=made.text("poll"), globalTid=number % 7)
    lib.output("import", "-q", "-o", "whole.tacho", made.write())
    lib.check("a whole one", False, "imported" in lib.output("info", "whole.tacho"))
    size, opened = os.path.getsize("whole.tacho"), 0
    for cut in range(1, 10):
        shutil.copy("whole.tacho", "cut.tacho")
        os.truncate("cut.tacho", size * cut // 10)
        status, said, out = lib.run("info", "cut.tacho")
        opened += status == 0
        lib.check(f"{cut} tenths of it", (False, False), ("imported" in out, status == 0 and "unfinished" not in out))
    lib.check("some of them can be read", True, opened > 0)
    for name in "made.sqlite", "whole.tacho", "cut.tacho":
        os.unlink(name)


def main():
    whole = gzip.open(f"{FOLDER}/wait_stream.sqlite.gz").read()
    header = bytearray(whole)
    header[16:100] = b"\xff" * 84
    middle = bytearray(whole)
    for at in range(4096, len(middle), 97):
        middle[at] ^= 0x5A
    files = {
        "empty": b"",
        "one byte": b"S",
        "text": b"this is no report\n" * 100,
        "zeros": bytes(100000),
        "cut.sqlite": whole[: len(whole) // 2],
        "only-a-header.sqlite": whole[:100],
        "bad-header.sqlite": bytes(header),
        "scrambled.sqlite": bytes(middle),
        "other-database.sqlite": None,
    }
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sparse_files()
        unfinished_files()
        for name, content in files.items():
            if content is None:
                subprocess.run(["python3", "-c", f"import sqlite3; c = sqlite3.connect({name!r}); c.execute('CREATE TABLE NVTX_EVENTS(a)'); c.commit()"], check=True)
            else:
                with open(name, "wb") as out:
                    out.write(content)
            for command in (["stats"], ["info"], ["import", "-o", "out.tacho"], ["export", "-o", "out.sqlite"], ["recover", "-o", "out.tacho"], ["summary", "-o", "-"], ["pyprof"],
                            ["dlprof", "-b", "--nsys_database"]):
                done = subprocess.run([TACHO, *command, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                said = done.stderr.decode(errors="replace")
                # A database that holds other tables is an import without rows: that is no failure.
                allowed = (0, 1) if name.endswith(".sqlite") else (1,)
                if done.returncode not in allowed or (done.returncode == 1 and said.count("\n") != 1):
                    print(f"{' '.join(command)} {name}: status {done.returncode}, said: {said}")
                    bad = 1
                # What is left of a file that is cut off is shown, and that it is not all is said.
                if name == "cut.sqlite" and command[0] in ("stats", "export") and "was imported only in part" not in said:
                    print(f"{' '.join(command)} {name}: says nothing of what is missing: {said}")
                    bad = 1
                if done.returncode == 1 and os.path.exists("out.tacho"):
                    print(f"{' '.join(command)} {name}: failed, but left a file behind")
                    bad = 1
                for left in ("out.tacho", "out.sqlite"):
                    if os.path.exists(left):
                        os.unlink(left)
        if set(os.listdir(".")) != set(files):
            print(f"left behind: {sorted(set(os.listdir('.')) - set(files))}")
            bad = 1
        missing = subprocess.run([TACHO, "stats", "nowhere.tacho"], stderr=subprocess.PIPE)
        if missing.returncode != 1 or b"nowhere.tacho" not in missing.stderr:
            print("a file that is not there:", missing)
            bad = 1
    sys.exit(bad or lib.status())


main()
