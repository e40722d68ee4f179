"""Tables in pyarrow, Parquet files, DuckDB and Polars: their own values and sums agree with those of SQLite. Debian has none of them."""
import json

import lib

PROGRAM = """
import json, sys
import duckdb, pyarrow, pyarrow.parquet
import tacho

report = tacho.load(sys.argv[1])
calls = report["OSRT_API"]

table = calls.to_arrow()
table.validate(full=True)
assert pyarrow.table(calls).equals(table)
rows = list(calls)
for name in calls.columns:
    assert table[name].to_pylist() == [row[name] for row in rows], name
for name in report:
    report[name].to_arrow().validate(full=True)
for made in (report.table("osrt_sum"), report.sql("SELECT start, end, nameId FROM OSRT_API WHERE 0")):
    assert made.to_arrow().num_rows == len(made)
    assert made.to_arrow().column_names == made.columns

def raises():
    held = calls.to_arrow()
    raise ValueError(held.num_rows)
try:
    raises()
except ValueError as error:
    assert error.args == (len(calls),)

by_name = "SELECT nameId, count(*), sum(\\"end\\" - start)::BIGINT FROM {} GROUP BY 1 ORDER BY 1"
paths = report.to_parquet("parquet", ["OSRT_API", "TACHO_PROCESS"])
assert pyarrow.parquet.read_table(paths[0]).num_rows == len(calls)
print(json.dumps([duckdb.sql(by_name.format("calls")).fetchall(), duckdb.sql(by_name.format("'parquet/OSRT_API.parquet'")).fetchall(), paths]))
at_the_end = calls.to_arrow()  # still there when Python ends
"""
POLARS = """
import sys
import polars, tacho
calls = tacho.load(sys.argv[1])["OSRT_API"]
frame = polars.DataFrame(calls)
assert frame.height == len(calls) and frame["start"].to_list() == list(calls["start"])
"""
TRUTH = "SELECT value, count(*), sum(end - start) FROM OSRT_API JOIN StringIds ON id = nameId GROUP BY 1 ORDER BY 1"


class WithArrow(lib.Case):
    def test_polars(self):
        self.python = self.python_with("polars")
        self.run_python(self.write("program.py", POLARS), self.profile(lib.trace.program("nvtx_all"), options=["-t", "nvtx,osrt"]).path)

    def test_agree(self):
        self.python = self.python_with("pyarrow", "duckdb", by="scripts/test --all fetches them if PyPI can be reached")
        truth = self.profile(lib.trace.program("nvtx_all"), options=["-t", "nvtx,osrt"])
        self.write("program.py", PROGRAM)
        of_table, of_parquet, paths = json.loads(self.run_python("program.py", truth.path))
        expected = [list(row) for row in truth.rows(TRUTH)]
        self.assertGreater(len(expected), 1)
        self.assertEqual((of_table, of_parquet), (expected, expected))
        self.assertEqual(paths, ["parquet/OSRT_API.parquet", "parquet/TACHO_PROCESS.parquet"])


if __name__ == "__main__":
    lib.main()
