"""tacho.Reports: the rows of an executor's workers are those of one process; also with a worker that is killed."""
import concurrent.futures
import gzip
import os
import signal
import tempfile
import warnings

import lib
import tacho

NSYS = os.path.join(lib.SOURCE, "tests", "golden", "nsys")
REPORTS = ("cuda_gpu_kern_sum", "cuda_api_sum", "osrt_sum", "nvtx_sum")


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Executors(lib.Case):
    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = os.path.join(place.name, "run")
        os.mkdir(self.folder)
        for name in ("mix", "resnet18", "wait_stream"):
            with open(f"{self.folder}/{name}.sqlite", "wb") as out:
                out.write(gzip.open(f"{NSYS}/{name}.sqlite.gz").read())
        self.reports = tacho.Reports(self.folder)

    def rows(self, name, **more):
        return list(self.reports.stats(name, **more))

    def test_same_rows(self):
        for kind in (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor):
            with kind(2) as executor:
                for name in REPORTS:
                    expected = self.rows(name)
                    self.assertGreater(len(expected), 3)
                    self.assertEqual(self.rows(name, executor=executor, shares=2), expected)
        self.assertEqual(sorted(os.listdir(self.folder)), ["mix.sqlite", "resnet18.sqlite", "wait_stream.sqlite"])

    def test_killed_worker(self):
        with concurrent.futures.ProcessPoolExecutor(1) as executor, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertIsInstance(executor.submit(die).exception(), concurrent.futures.BrokenExecutor)
            self.assertEqual(self.rows("osrt_sum", executor=executor, shares=2), self.rows("osrt_sum"))
        named = [str(one.message) for one in told if "is computed here" in str(one.message)]
        self.assertEqual(len(named), 2, told)

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
        self.reports.to_parquet(self.folder + "/../tables", ["OSRT_API"])
        table = pyarrow.parquet.read_table(self.folder + "/../tables/OSRT_API.parquet")
        self.assertEqual(table.num_rows, sum(row["Num Calls"] for row in self.rows("osrt_sum")))


if __name__ == "__main__":
    lib.main()
