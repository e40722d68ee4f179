"""What the tests of reports on ranks share."""
import json
import os
import shutil
import sqlite3
import subprocess

import lib
import mpilib


def label(members, before):
    """Members of a communicator as tables show them."""
    ranks, runs = [int(rank) for rank in members.split(",")], []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    text = ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
    return ("ranks " if len(ranks) > 1 else "rank ") + text + (f" ({before + 1})" if before else "")


OFFSET_NS, PPM = 7_000_000, 30


def move(case, source, target):
    """The same report by another clock, of another host: 7 ms off and 30 ppm fast."""
    database = target + ".sqlite"
    case.assertEqual(case.tacho("export", "-q", "-o", database, source).returncode, 0)
    with sqlite3.connect(database) as file:
        for (table,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for name in [row[1] for row in file.execute(f"PRAGMA table_info({table})") if row[1] in ("start", "end", "timestamp", "requestEnd")]:
                file.execute(f'UPDATE {table} SET "{name}" = "{name}" + {OFFSET_NS} + "{name}" * {PPM} / 1000000')
        file.execute(f"UPDATE TACHO_CLOCK SET utcNs = utcNs + {OFFSET_NS}")
        file.execute("UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'elsewhere' WHERE name IN ('BootId', 'Hostname')")
        file.execute("UPDATE TACHO_PROCESS SET host = 'elsewhere'")
    done = case.tacho("import", "-q", "-o", target, database)
    case.assertEqual(done.returncode, 0, done.stderr)
    os.unlink(database)


class Case(mpilib.Case):
    def tacho(self, *arguments):
        return subprocess.run([self.tacho_path, *arguments], capture_output=True, text=True, timeout=lib.PATIENCE, cwd=self.folder)

    def json(self, *arguments):
        done = self.tacho(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def rows(self, target, query):
        return [tuple(row.values()) for row in self.json("sql", "-f", "json", target, query)]

    def table(self, target, report, *options):
        """Rows by column; empty cells are None."""
        rows = self.json("stats", "-q", "-f", "json", "-r", report, *options, target)
        return [{name: None if value == "" else value for name, value in row.items()} for row in rows]

    def info(self, target):
        return self.json("info", "-f", "json", target)[0]

    def torchrun(self, fault, at=1, ranks=3, options=("-t", "osrt", "-s", "none"), folder="run"):
        """gloo_steps.py with a report of each rank."""
        shutil.rmtree(self.path(folder), ignore_errors=True)
        program = os.path.join(lib.SOURCE, "tests/trace/python/gloo_steps.py")
        done = subprocess.run([lib.TORCH_PYTHON, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--standalone", "--no-python", self.tacho_path, "profile",
                               "--pytorch=auto", *options, "-o", folder + "/", lib.TORCH_PYTHON, program, fault, str(at)],
                              capture_output=True, text=True, timeout=lib.PATIENCE, cwd=self.folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def record(self, mpi, ranks, *command, options=("-t", "mpi", "-s", "none"), folder="run", expected=0, **more):
        """A report of each rank, in a folder."""
        shutil.rmtree(self.path(folder), ignore_errors=True)
        done = self.mpirun(mpi, ranks, self.tacho_path, "profile", *options, "-o", folder + "/", *command, **more)
        if expected is not None:
            self.assertEqual(done.returncode, expected, done.stderr)
        return folder
