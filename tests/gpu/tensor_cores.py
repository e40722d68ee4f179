"""Which kernels use tensor cores: by their machine code and by their names, against the counters of the tensor pipe that Nsight Compute reads, for
some hundred kernels of one program. It runs once under Tacho and once under ncu; kernels are told apart by their mangled names.

ncu reads the counters of the first launch of each kernel, in one pass. The table of all kernels is written to OUT/tensor_cores.json if OUT is set."""
import collections
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import time

import gpulib
import tools

LIMIT_SECONDS = 240
ALONE = True
FEWEST_KERNELS = 300
GOOD = 0.99
PROGRAM = "tensor_kernels.py"
PROGRAM_SECONDS = 60  # after which it starts no further case
END_SECONDS = 30      # that PyTorch, and the end of the run, may take beside
# Cycles of the pipe are no measure: on an H200, layer norms of PyTorch have up to 770,000, and no such instruction in their code. Nor are all
# instructions of the pipe: compilers load constants with HFMA2, which runs there too on GPUs that count it apart.
ALL, PLAIN = "sm__inst_executed_pipe_tensor", "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2"


def ncu():
    candidates = [os.environ.get("NCU"), shutil.which("ncu"), os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ncu")]
    return next((path for path in candidates if path and os.path.exists(path)), None)


def counters(text):
    """The counters of the tensor pipe that this GPU has, from `ncu --query-metrics`."""
    return [f"{name}.sum" for name in (ALL, PLAIN) if re.search(rf"^{name} ", text, re.M)]


def read_counters(text):
    """{mangled name: whether any launch executed a tensor instruction}, from ncu's page "raw" as csv: a row of names, one of units, and one a launch.
    A launch of which ncu could not read the counters (n/a) does not count."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    used = collections.defaultdict(bool)
    for row in list(csv.DictReader(lines))[1:]:
        values = [row[name].replace(",", "") for name in (f"{ALL}.sum", f"{PLAIN}.sum") if name in row]
        if all(re.fullmatch(r"[\d.e+]+", value) for value in values):
            used[row["Kernel Name"]] |= float(values[0]) > sum(map(float, values[1:]))
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
    unknown = sorted(name for name in truth if name not in known)
    return {"kernels": len(truth), "known": len(known), "precision": len(right) / max(1, len(right) + len(false)),
            "recall": len(right) / max(1, len(right) + len(missed)), "false": false, "missed": missed, "unknown": unknown}


def keep(truth, code, names, results):
    if os.environ.get("OUT"):
        kernels = [{"name": name, "counter": used, "code": code.get(name), "names": names.get(name)} for name, used in sorted(truth.items())]
        with open(os.path.join(os.environ["OUT"], "tensor_cores.json"), "w") as file:
            json.dump({"gpu": tools.gpu(), "results": results, "kernels": kernels}, file, indent=1)


class TensorCores(gpulib.Case):
    def run_shown(self, what, command):
        """Runs a command whose progress is shown as it comes; one that does not end in time fails the test."""
        began = time.monotonic()
        print(f"    {what}: {' '.join(command)}", flush=True)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=self.folder, start_new_session=True)
        try:
            status = process.wait(PROGRAM_SECONDS + END_SECONDS)
        except subprocess.TimeoutExpired:
            tools.end_group(process)
            process.wait()
            status = "out of time"
        self.figure(f"{what}: seconds", round(time.monotonic() - began, 1))
        return status

    def told(self):
        """What the code tells of each kernel, and what the names do."""
        status = self.run_shown("tacho", self.command(*gpulib.CUDA, tools.PYTHON, tools.source(PROGRAM), str(PROGRAM_SECONDS)))
        self.assertEqual(status, 0)
        rows = self.report().rows("SELECT value, tensorTypes, isMixed FROM TACHO_KERNEL_CODE JOIN StringIds ON id = mangledName")
        code = {name: "unknown" if mixed else "yes" if types else "no" for name, types, mixed in rows}
        path = self.path("names.sqlite")
        self.assertEqual(tools.run([gpulib.TACHO, "export", "--type", "sqlite", "-o", path, self.path("report.tacho")], 120).status, 0)
        return code, verdicts(path)

    def counted(self):
        query = tools.run([ncu(), "--query-metrics", "--devices", "0"], 60)
        log = os.path.join(os.environ.get("OUT") or self.folder, "ncu.csv")
        command = [ncu(), "--csv", "--page", "raw", "--log-file", log, "--print-kernel-base", "mangled", "--kernel-name-base", "mangled", "--kernel-id", ":::1",
                   "--cache-control", "none", "--clock-control", "none", "--metrics", ",".join(counters(query.stdout)),
                   tools.PYTHON, tools.source(PROGRAM), str(PROGRAM_SECONDS)]
        status = self.run_shown("ncu", command)
        with open(log, errors="replace") as file:
            text = file.read()
        if "ERR_NVGPUCTRPERM" in text:
            self.skipTest("counters of the GPU are not permitted (ERR_NVGPUCTRPERM)")
        self.assertEqual(status, 0, text[-2000:])
        return read_counters(text)

    def show(self, how, result):
        for key in ("kernels", "known", "precision", "recall"):
            self.figure(f"{how}: {key}", round(result[key], 4))
        for kind in ("false", "missed", "unknown"):
            for name in result[kind]:
                print(f"    {how}, {kind}: {name[:160]}")

    def test_code_and_names_against_counters(self):
        self.need_torch()
        if not ncu():
            self.skipTest("no ncu: set NCU to the program")
        code, names = self.told()
        truth = self.counted()
        results = {"by code": judge(truth, code), "by name": judge(truth, names)}
        keep(truth, code, names, results)
        for how, result in results.items():
            self.show(how, result)
        self.figure("kernels that use tensor cores", sum(truth.values()))
        self.assertGreaterEqual(len(truth), FEWEST_KERNELS)
        for how, result in results.items():
            self.assertGreaterEqual(min(result["precision"], result["recall"]), GOOD, how)
        self.assertGreaterEqual(results["by code"]["known"], GOOD * len(truth))


if __name__ == "__main__":
    gpulib.main()
