"""ncu_seeds.py FOLDER: small tables in the forms of ncu's CSV for the fuzzer, and a dictionary of their words beside the folder."""

import os
import sys

FOLDER = sys.argv[1]
LEADING = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]
METRICS = ["gpu__time_duration.sum", "dram__bytes.sum", "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
           "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "launch__occupancy_limit_warps"]
KERNEL = ["0", "1", "p", "h", "void f<int, 2>(int)", "1", "7", "(32, 1, 1)", "(4, 2, 1)", "0", "9.0"]


def line(*fields):
    return ",".join(f'"{field}"' for field in fields) + "\n"


SEEDS = {
    "raw": line(*LEADING, *METRICS) + line(*[""] * 11, "us", "Mbyte", "inst", "inst", "inst", "", "block") + line(*KERNEL, "1,234.50", "2.5", "1", "2", "3", "0.5", "n/a"),
    "details": "==PROF== Connected to process 1\n" + line(*LEADING, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name")
               + line(*KERNEL, "Occupancy", "Achieved Occupancy", "%", "50.5") + line(*KERNEL, "S", "", "", "", "R"),
    "summary": line("Process ID", "Kernel Name", "Invocations", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average") + line("1", "f", "3", "Duration", "ns", "1", "3", "2"),
    "ranges": line(*LEADING, "thread Domain:Push/Pop_Range:PL_Type", "a") + line(*[""] * 12, "hz") + line(*KERNEL, "r", "12 (3; 4)"),
    "quotes": line(*LEADING, "a") + '"0","1","p","h","f ""q""\nnext","1","7","","","","","1"\n"open\n',
}
os.makedirs(FOLDER, exist_ok=True)
for name, text in SEEDS.items():
    with open(os.path.join(FOLDER, name), "w") as out:
        out.write(text)
with open(FOLDER.rstrip("/") + ".dict", "w") as out:
    for word in LEADING + METRICS + ["Metric Name", "Metric Unit", "Metric Value", "Average", "Gbyte/second", "cycle/nsecond", "Range:", "==PROF==", '"', '""', ",", '"\n"']:
        escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\x0a")
        out.write(f'"{escaped}"\n')
