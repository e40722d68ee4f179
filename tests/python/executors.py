"""tacho.Reports: the rows of an executor's workers are those of one process; also with a worker that is killed. The executors of Python itself, of
Dask and of mpi4py, where these are installed."""
import concurrent.futures
import gzip
import json
import os
import shutil
import signal
import subprocess
import warnings

import lib
import tacho

NSYS = os.path.join(lib.SOURCE, "tests", "golden", "nsys")
REPORTS = ("cuda_gpu_kern_sum", "cuda_api_sum", "osrt_sum", "nvtx_sum")

# Workers of Dask are processes. One is killed while it makes its share: the other one, or the one that takes its place, makes that again.
DASK = """
import json, os, signal, sys, threading, time, warnings
import dask, distributed, tacho
from tacho import _reports

def killed(words, make=_reports._make_share, mark=sys.argv[2]):
    if "--share=0/3" in words and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    make(words)

if __name__ == "__main__":
    dask.config.set({"distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "60s"})
    names, reports = sys.argv[3:], tacho.Reports(sys.argv[1])
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        executor = client.get_executor(retries=3)
        same = {name: list(reports.stats(name, executor=executor, shares=3)) for name in names}
        workers = len(client.scheduler_info()["workers"])
        _reports._make_share = killed
        same["killed"] = list(reports.stats(names[0], executor=executor, shares=3))
    print(json.dumps([workers, os.path.exists(sys.argv[2]), same]))
"""
# mpirun -n 3 python -m mpi4py.futures: rank 0 runs the program, the others are workers.
MPI4PY = """
import json, sys
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor
import tacho

def rank(_):
    import time
    time.sleep(0.2)
    return MPI.COMM_WORLD.Get_rank()

if __name__ == "__main__":
    reports = tacho.Reports(sys.argv[1])
    with MPIPoolExecutor() as executor:
        workers = sorted(set(executor.map(rank, range(4))))
        same = {name: list(reports.stats(name, executor=executor, shares=3)) for name in sys.argv[2:]}
    print(json.dumps([workers, same]))
"""


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Executors(lib.Case):
    def setUp(self):
        super().setUp()
        self.job = self.path("run")
        os.mkdir(self.job)
        for name in ("mix", "resnet18", "wait_stream"):
            with open(f"{self.job}/{name}.sqlite", "wb") as out:
                out.write(gzip.open(f"{NSYS}/{name}.sqlite.gz").read())
        self.reports = tacho.Reports(self.job)

    def rows(self, name, **more):
        return list(self.reports.stats(name, **more))

    def test_same_rows(self):
        for kind in (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor):
            with kind(2) as executor:
                for name in REPORTS:
                    expected = self.rows(name)
                    self.assertGreater(len(expected), 3)
                    self.assertEqual(self.rows(name, executor=executor, shares=2), expected)
        self.assertEqual(sorted(os.listdir(self.job)), ["mix.sqlite", "resnet18.sqlite", "wait_stream.sqlite"])

    def test_relative_folder(self):
        """Workers may have another working directory."""
        os.mkdir(self.path("shares"))
        with concurrent.futures.ProcessPoolExecutor(1) as executor, warnings.catch_warnings():
            warnings.simplefilter("error")
            executor.submit(os.chdir, "/").result()
            self.assertEqual(self.rows("osrt_sum", executor=executor, shares=2, folder=os.path.relpath(self.path("shares"))), self.rows("osrt_sum"))
        self.assertEqual(os.listdir(self.path("shares")), [])

    def test_paths(self):
        with self.assertRaisesRegex(tacho.TachoError, r"run is a folder: tacho\.Reports\('.*run'\)$"):
            tacho.load(self.job)
        with self.assertRaisesRegex(tacho.TachoError, "no such file or folder$"):
            tacho.Reports(self.path("nowhere"))
        self.assertEqual(list(tacho.Reports(self.job + "/*.sqlite").stats("osrt_sum")), self.rows("osrt_sum"))

    def test_killed_worker(self):
        with concurrent.futures.ProcessPoolExecutor(1) as executor, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertIsInstance(executor.submit(die).exception(), concurrent.futures.BrokenExecutor)
            self.assertEqual(self.rows("osrt_sum", executor=executor, shares=2), self.rows("osrt_sum"))
        named = [str(one.message) for one in told if "is computed here" in str(one.message)]
        self.assertEqual(len(named), 2, told)

    def one_process(self):
        """As JSON knows them."""
        return json.loads(json.dumps({name: self.rows(name) for name in REPORTS}))

    def test_dask(self):
        self.python = self.python_with("distributed", by="Debian: python3-distributed")
        workers, was_killed, rows = json.loads(self.run_python(self.write("program.py", DASK), self.job, self.path("killed"), *REPORTS).splitlines()[-1])
        killed, expected = rows.pop("killed"), self.one_process()
        self.assertEqual((workers, was_killed), (2, True))
        self.assertEqual(rows, expected)
        self.assertEqual(killed, expected[REPORTS[0]])
        self.assertNotIn("is computed here", self.complaints)

    def test_mpi4py(self):
        """A worker that is killed ends the whole job, as MPI has it."""
        python, mpirun = self.python_with("mpi4py.futures", by="Debian: python3-mpi4py"), shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        if not mpirun:
            self.skipTest("no mpirun here (Debian: openmpi-bin)")
        done = subprocess.run([mpirun, "--oversubscribe", "-n", "3", python, "-m", "mpi4py.futures", self.write("program.py", MPI4PY), self.job, *REPORTS],
                              env=lib.environment(lib.PACKAGE, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1"),
                              cwd=self.folder, capture_output=True, text=True, timeout=lib.PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        workers, rows = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(workers, [1, 2])
        self.assertEqual(rows, self.one_process())

    def test_refusals(self):
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            with self.assertRaisesRegex(tacho.TachoError, "folder="):
                self.reports.stats("osrt_sum", executor=executor, folder="/proc/none")
        with self.assertRaises(tacho.TachoError):
            self.reports.stats("no_such_sum")

    def test_parquet(self):
        try:
            import pyarrow.parquet  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("pyarrow is not installed")
        self.reports.to_parquet(self.job + "/../tables", ["OSRT_API"])
        table = pyarrow.parquet.read_table(self.job + "/../tables/OSRT_API.parquet")
        self.assertEqual(table.num_rows, sum(row["Num Calls"] for row in self.rows("osrt_sum")))


if __name__ == "__main__":
    lib.main()
