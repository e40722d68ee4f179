"""Tables: of a report, of SQL and of tacho stats alike; as rows, columns, HTML and through Arrow's C data interface, which a reader of our
own checks. with_arrow.py does the same with pyarrow, DuckDB and Parquet, report.py with pandas."""
import gc
import os
import re
import resource
import subprocess
import sys

import lib
import tacho

sys.path.append(os.path.join(lib.HERE, "programs"))
import arrow_reader  # pylint: disable=wrong-import-position

UNIT = """WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 20)
          SELECT i, i / 4.0 AS quarter, CASE WHEN i % 3 THEN 'tëxt ' || (i % 2) END AS text, CASE WHEN i % 2 THEN i END AS odd, NULL AS missing FROM n"""
EXPECTED = [{"i": i, "quarter": i / 4, "text": f"tëxt {i % 2}" if i % 3 else None, "odd": i if i % 2 else None, "missing": None} for i in range(1, 21)]


class Tables(lib.Case):
    def setUp(self):
        super().setUp()
        self.profile(lib.trace.program("nvtx_all"), options=["-t", "nvtx,osrt"])
        self.report = tacho.load(self.path("report.tacho"))
        self.addCleanup(self.report.close)

    def test_one_kind_of_thing(self):
        for table in (self.report["OSRT_API"], self.report.sql("SELECT * FROM OSRT_API"), self.report.table("osrt_sum")):
            self.assertIsInstance(table, tacho.Table)
            rows = list(table)
            self.assertEqual((len(rows), list(rows[0])), (len(table), table.columns))
            self.assertEqual((table[0], table[-1], table[1:3]), (rows[0], rows[-1], rows[1:3]))
            self.assertEqual(table[::-1][0], rows[-1])
            for name in table.columns:
                self.assertEqual([None if null else value for value, null in zip(table[name], table.nulls(name))], [row[name] for row in rows])

    def test_values(self):
        table = self.report.sql(UNIT)
        self.assertEqual(list(table), EXPECTED)
        self.assertEqual(table.kinds(), {"i": "int", "quarter": "real", "text": "text", "odd": "int", "missing": "int"})
        empty = self.report.sql("SELECT i, text AS \"a,\"\"b\" FROM (" + UNIT + ") WHERE i > 99")
        self.assertEqual((list(empty), len(empty), empty.columns), ([], 0, ["i", 'a,"b']))

    def test_unknown_names(self):
        for name, sentence in (("OSRT_APY", "has no table 'OSRT_APY': did you mean 'OSRT_API'?"), ("osrt_api", "has no table 'osrt_api': did you mean 'OSRT_API'?"),
                               ("CUPTI_ACTIVITY_KIND_KERNEL", "has no rows in CUPTI_ACTIVITY_KIND_KERNEL; it has rows in "),
                               ("cupti_activity_kind_kernel", "has no rows in CUPTI_ACTIVITY_KIND_KERNEL; it has rows in "),
                               ("osrt_sum", "did you mean the report of tacho stats, report.table('osrt_sum')?"),
                               ("cuda_kern_sum", "has no table 'cuda_kern_sum': did you mean the report of tacho stats, report.table('cuda_gpu_kern_sum')?"),
                               ("qqq", "has no table 'qqq'; list(report) has the names")):
            with self.assertRaisesRegex(KeyError, re.escape(sentence)):
                self.report[name]
            self.assertNotIn(name, self.report)
        for name in ("strat", "START"):
            with self.assertRaisesRegex(KeyError, f"OSRT_API has no column '{name}': did you mean 'start'"):
                self.report["OSRT_API"][name]
        with self.assertRaisesRegex(tacho.TachoError, "there is no report 'osrt_smu'|osrt_sum"):
            self.report.table("osrt_smu")
        with self.assertRaises(IndexError):
            self.report["OSRT_API"][10 ** 9]

    def test_closed(self):
        table = self.report["OSRT_API"]
        self.report.close()
        with self.assertRaisesRegex(tacho.TachoError, "was closed"):
            table["start"]
        with self.assertRaisesRegex(tacho.TachoError, "was closed"):
            table.__arrow_c_stream__()

    def test_arrow(self):
        tables = [self.report[name] for name in self.report] + [self.report.sql(UNIT), self.report.sql(UNIT + " WHERE i > 99"), self.report.table("osrt_sum")]
        for table in tables:
            found = arrow_reader.read(table.__arrow_c_stream__())
            self.assertEqual(list(found), table.columns, table.name)
            for name, values in found.items():
                self.assertEqual(values, [row[name] for row in table], f"{table.name}.{name}")

    def test_arrow_that_nobody_reads(self):
        """It goes with its capsule, also while an exception is pending, and leaves nothing behind."""
        def drop():
            held = table.__arrow_c_stream__()
            raise ValueError(held)

        table = self.report["OSRT_API"]
        sizes = []
        for _ in range(600):
            with self.assertRaises(ValueError):
                drop()
            gc.collect(0)
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        self.assertLess(sizes[-1] - sizes[300], 10000, "KiB more after 300 streams of " + str(len(table)) + " rows")

    def test_html(self):
        table = self.report.sql("SELECT '<b>&' AS \"<i>\", 1 AS n")
        self.assertIn("&lt;b&gt;&amp;</td>", table._repr_html_())
        self.assertIn("&lt;i&gt;</th>", table._repr_html_())
        self.assertIn("1 row<", table._repr_html_())
        calls = self.report["NVTX_EVENTS"]
        self.assertEqual(calls._repr_html_().count("<tr>"), 21)
        self.assertIn(f"20 of {len(calls):,} rows", calls._repr_html_())
        self.assertIn(f">{len(calls)}</td>", self.report._repr_html_())
        for markup in (table._repr_html_(), self.report._repr_html_()):
            self.assertNotRegex(markup, r"color:|background|<script")  # the page's own colours, light or dark

    def test_missing_packages(self):
        """What a method needs is said in a sentence."""
        text = f"""
import sys
for name in ("pandas", "pyarrow"):
    sys.modules[name] = None
import tacho
table = tacho.load({self.path("report.tacho")!r})["OSRT_API"]
for method in (table.to_pandas, table.to_arrow, lambda: table.to_parquet("x")):
    try:
        method()
    except ImportError as error:
        print(error)
"""
        self.assertEqual(self.run_text(text).splitlines(), ["to_pandas() needs pandas: pip install pandas", "to_arrow() needs pyarrow: pip install pyarrow",
                                                            "to_parquet() needs pyarrow: pip install pyarrow"])


class WithNumPy(lib.Case):
    def test_all_of_it(self):
        """With NumPy's arrays, where the Python of the tests has none."""
        if "numpy" in sys.modules:
            return  # they were above
        done = subprocess.run([self.python_with("numpy"), os.path.abspath(__file__), "Tables"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    lib.main()
