"""tacho.load: the columns of every table are those of the SQLite export; with NumPy and pandas where they are installed, and without."""
import importlib
import json
import os
import sys
import unittest.mock

import lib

EVENTS = ["NVTX_EVENTS", "OSRT_API", "TACHO_CLOCK", "TACHO_RANGE"]  # of others an export has the last row of each key alone
KINETO = os.path.join(lib.SOURCE, "tests", "golden", "kineto")


def package(with_numpy):
    """The package as it is with or without NumPy. It is loaded anew."""
    for name in [name for name in sys.modules if name.split(".")[0] == "tacho"]:
        del sys.modules[name]
    hidden = {} if with_numpy else {"numpy": None}
    with unittest.mock.patch.dict(sys.modules, hidden):
        return importlib.import_module("tacho")


class Load(lib.Case):
    def setUp(self):
        super().setUp()
        self.truth = self.profile(lib.trace.program("nvtx_all"), options=["-t", "nvtx,osrt"])

    def compare(self, tacho):
        """Texts by their value, numbers as they are, NULL as None. Ids of strings are numbers in SQLite."""
        compared = 0
        with tacho.load(self.truth.path) as report:
            for name in EVENTS:
                table = report[name]
                rows = list(table)
                columns = [column for _, column, *_ in self.truth.rows(f"PRAGMA table_info({name})")]
                for column in set(columns) & set(table.columns):
                    expected = [value for value, in self.truth.rows(f"SELECT {column} FROM {name} ORDER BY rowid")]
                    if table.kinds()[column] == "text" and any(isinstance(value, int) for value in expected):  # a reference to StringIds
                        expected = [None if value is None else self.truth.value("SELECT value FROM StringIds WHERE id = ?", value) for value in expected]
                    self.assertEqual([row[column] for row in rows], expected, f"{name}.{column}")
                    compared += len(expected)
        self.assertGreater(compared, 1000)

    def test_without_numpy(self):
        self.compare(package(with_numpy=False))

    def test_with_numpy(self):
        try:
            import numpy  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("NumPy is not installed")
        tacho = package(with_numpy=True)
        self.compare(tacho)
        with tacho.load(self.truth.path) as report:
            calls = report["OSRT_API"]
            self.assertEqual((calls["start"].dtype, len(calls["start"])), (numpy.dtype("int64"), len(calls)))
            self.assertEqual(int((calls["end"] - calls["start"]).sum()), self.truth.value("SELECT sum(end - start) FROM OSRT_API"))

    def test_pandas(self):
        self.python = self.python_with("pandas")
        out = self.run_text(f"""
import json, tacho
report = tacho.load({self.truth.path!r})
events, calls = report["NVTX_EVENTS"].to_pandas(), report.table("osrt_sum").to_pandas()
assert events["end"].isna().any() and str(events["start"].dtype) == "int64"
print(json.dumps([events["end"].dropna().astype(int).tolist(), events["text"].dropna().tolist(), int(calls["Num Calls"].sum())]))
""")
        ends, texts = ([value for value, in self.truth.rows(f"SELECT {column} FROM NVTX_EVENTS WHERE {column} IS NOT NULL ORDER BY rowid")] for column in ("end", "text"))
        self.assertEqual(json.loads(out), [ends, texts, self.truth.value("SELECT count(*) FROM OSRT_API")])

    def test_sql_and_tables(self):
        tacho = package(with_numpy=False)
        with tacho.load(self.truth.path) as report:
            self.assertEqual(list(report.sql("SELECT count(*) AS n, NULL AS empty FROM OSRT_API")),
                             [{"n": self.truth.value("SELECT count(*) FROM OSRT_API"), "empty": None}])
            self.assertEqual(list(report.sql("SELECT 1 AS id, 2 AS id, 3 AS other, 4 AS id")), [{"id": 1, "id:1": 2, "other": 3, "id:2": 4}])
            rows = report.table("osrt_sum")
            self.assertEqual(sum(row["Num Calls"] for row in rows), self.truth.value("SELECT count(*) FROM OSRT_API"))
            with self.assertRaisesRegex(tacho.TachoError, "no such table: nowhere"):
                report.sql("SELECT * FROM nowhere")
            for two in ("SELECT 1; SELECT 2", "SELECT 1 WHERE 0; SELECT 2"):
                with self.assertRaisesRegex(tacho.TachoError, "sql.. takes one statement"):
                    report.sql(two)

    def test_bad_files(self):
        tacho = package(with_numpy=False)
        for path, sentence in ((self.path("nowhere.tacho"), "nowhere.tacho"), (self.write("text.tacho", "text"), "report")):
            with self.assertRaisesRegex(tacho.TachoError, sentence):
                tacho.load(path)

    def test_other_profilers(self):
        traces = [name for name in sorted(os.listdir(KINETO)) if name.endswith(".json.gz")] if os.path.isdir(KINETO) else []
        if not traces:
            self.skipTest("there is no stored trace of torch.profiler")
        with package(with_numpy=False).load(os.path.join(KINETO, traces[0])) as report:
            self.assertGreater(len(report["TACHO_TORCH_OP"]), 0)


if __name__ == "__main__":
    lib.main()
