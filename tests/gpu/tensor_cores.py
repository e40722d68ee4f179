"""Which kernels use tensor cores: by their machine code and by their names, against the counters of the tensor pipes that Nsight Compute reads, for
some hundred kernels of one program. It runs once under ncu and once under Tacho; kernels are told apart by their mangled names."""
import collections
import csv
import io
import os
import re
import shutil
import sqlite3

import gpulib
import tools

LIMIT_SECONDS = 900
ALONE = True
FEWEST_KERNELS = 300
GOOD = 0.99
PROGRAM = "tensor_kernels.py"


def ncu():
    candidates = [os.environ.get("NCU"), shutil.which("ncu"), os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ncu")]
    return next((path for path in candidates if path and os.path.exists(path)), None)


def counters(text):
    """The counters of tensor pipes that this GPU has, from `ncu --query-metrics`: the cycles in which each was active."""
    names = sorted(set(re.findall(r"^(sm__pipe_tensor\w*cycles_active)\b", text, re.M)))
    return [f"{name}.sum" for name in names] or ["sm__inst_executed_pipe_tensor.sum"]


def read_counters(text):
    """{mangled name: whether a tensor pipe was active in any launch}, from ncu's page "raw" as csv: a row of names, one of units, and one a launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    head = rows[0]
    name, metrics = head.index("Kernel Name"), [i for i, title in enumerate(head) if "tensor" in title]
    used = collections.defaultdict(bool)
    for row in rows[2:]:
        used[row[name]] |= any(float(row[i].replace(",", "") or 0) > 0 for i in metrics)
    return dict(used)


def verdicts(path):
    """{mangled name: yes, no or unknown} that names alone tell: the report as SQLite, without the code, with mangled names as the names shown."""
    database = sqlite3.connect(path)
    database.execute("DROP TABLE IF EXISTS TACHO_KERNEL_CODE")
    database.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = mangledName")
    database.commit()
    database.close()
    done = tools.run([gpulib.TACHO, "stats", "-q", "-r", "tensor_core_sum", "--format", "csv", path], 60)
    rows = csv.DictReader(io.StringIO(done.stdout[done.stdout.index("Time (%)"):]))
    return {row["Name"]: row["Tensor Cores"] for row in rows}


def judge(truth, told):
    """Precision and recall of "yes" among kernels that are told yes or no, and the names of each kind of error."""
    known = {name: told[name] for name in truth if told.get(name, "unknown") != "unknown"}
    right = [name for name, use in known.items() if use == "yes" and truth[name]]
    false = sorted(name for name, use in known.items() if use == "yes" and not truth[name])
    missed = sorted(name for name, use in known.items() if use == "no" and truth[name])
    return {"kernels": len(truth), "known": len(known), "precision": len(right) / max(1, len(right) + len(false)),
            "recall": len(right) / max(1, len(right) + len(missed)), "false": false, "missed": missed}


class TensorCores(gpulib.Case):
    def counted(self):
        query = tools.run([ncu(), "--query-metrics", "--devices", "0"], 60)
        command = [ncu(), "--csv", "--page", "raw", "--print-kernel-base", "mangled", "--profile-from-start", "off", "--cache-control", "none", "--clock-control", "none",
                   "--metrics", ",".join(counters(query.stdout)), tools.PYTHON, tools.source(PROGRAM)]
        done = tools.run(command, 600, None, self.folder)
        if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
            self.skipTest("counters of the GPU are not permitted (ERR_NVGPUCTRPERM)")
        self.assertEqual(done.status, 0, str(done))
        return read_counters(done.stdout)

    def show(self, how, result):
        for key in ("kernels", "known", "precision", "recall"):
            self.figure(f"{how}: {key}", round(result[key], 4))
        for kind in ("false", "missed"):
            for name in result[kind]:
                print(f"    {how}, {kind}: {name[:160]}")

    def test_code_and_names_against_counters(self):
        self.need_torch()
        if not ncu():
            self.skipTest("no ncu: set NCU to the program")
        truth = self.counted()
        done = self.run_tacho(*gpulib.CUDA, "-c", "cudaProfilerApi", tools.PYTHON, tools.source(PROGRAM), seconds=240)
        self.assertEqual(done.status, 0, str(done))
        rows = self.report().rows("SELECT value, tensorTypes, isMixed FROM TACHO_KERNEL_CODE JOIN StringIds ON id = mangledName")
        code = {name: "unknown" if mixed else "yes" if types else "no" for name, types, mixed in rows}
        path = self.path("names.sqlite")
        self.assertEqual(tools.run([gpulib.TACHO, "export", "--type", "sqlite", "-o", path, self.path("report.tacho")], 120).status, 0)
        by_code, by_name = judge(truth, code), judge(truth, verdicts(path))
        self.show("by code", by_code)
        self.show("by name", by_name)
        self.assertGreaterEqual(len(truth), FEWEST_KERNELS)
        for how, result in (("by code", by_code), ("by name", by_name)):
            self.assertGreaterEqual(min(result["precision"], result["recall"]), GOOD, how)
        self.assertGreaterEqual(by_code["known"], GOOD * len(truth))


if __name__ == "__main__":
    gpulib.main()
