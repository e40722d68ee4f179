"""Launch and occupancy facts of our own counters: computed from the rows of kernels and GPU that nsys recorded on an H200, they equal those that ncu
printed there for the same launches (golden/ncu/basic-raw*.csv), in value, digits and unit."""

import csv
import os
import re
import sqlite3
import sys
import tempfile

import lib
from lib import check, output

HERE = os.path.dirname(os.path.abspath(__file__))
PID = 281474976710656 | 2199 << 24
GPU = dict(vmId=281474976710656, id=0, name="NVIDIA H200", isDiscrete=1, l2CacheSize=62914560, totalMemory=150109880320, memoryBandwidth=4814304000000, clockRate=1980000000,
           smCount=132, chipName="GH100", cuDevice=0, constantMemory=65536, maxIPC=0, maxRegistersPerBlock=65536, maxShmemPerBlock=49152, maxShmemPerBlockOptin=232448,
           maxShmemPerSm=233472, maxRegistersPerSm=65536, threadsPerWarp=32, asyncEngines=3, maxWarpsPerSm=64, maxBlocksPerSm=32, maxThreadsPerBlock=1024, maxBlockDimX=1024,
           maxBlockDimY=1024, maxBlockDimZ=64, maxGridDimX=2147483647, maxGridDimY=65535, maxGridDimZ=65535, computeMajor=9, computeMinor=0)
# launch, grid, block, dynamic shared memory, shared memory executed, stream, name
LAUNCHES = [(0, 4096, 256, 0, 32768, 13, "saxpy(float, const float *, float *, int)"), (1, 8, 64, 1024, 65536, 14, "void spin<3>(long long)"),
            (40, 64, 128, 0, 32768, 13, "saxpy(float, const float *, float *, int)")]
# What the trace does not tell: docs/counters.md lists them.
UNKNOWN = {"launch__barrier_count", "launch__cluster_max_potential_size", "launch__cluster_scheduling_policy", "launch__func_cache_config", "launch__function_pcs",
           "launch__kernel_name", "launch__occupancy_limit_barriers", "launch__occupancy_per_barrier_count", "launch__occupancy_per_block_size",
           "launch__occupancy_per_register_count", "launch__occupancy_per_shared_mem_size", "launch__persisting_l2_cache_size", "launch__stack_size", "launch__tpc_enabled",
           "launch__uses_cdp", "launch__uses_mps", "launch__uses_nvlink_centric_scheduling", "launch__uses_vgpu"}


def insert(database, table, **row):
    database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(row)})")
    database.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def make(path, launches):
    database = sqlite3.connect(path)
    insert(database, "TARGET_INFO_GPU", **GPU)
    insert(database, "TACHO_METRICS", id=0, name="gpu__time_duration.sum", unit="ns", chip="GH100", section="SpeedOfLight")
    for number, (launch, grid, block, dynamic, executed, stream, name) in enumerate(launches):
        insert(database, "StringIds", id=number + 1, value=name)
        common = dict(correlationId=100 + launch, globalPid=PID, deviceId=0, contextId=1, streamId=stream, demangledName=number + 1, shortName=number + 1,
                      gridX=grid, gridY=1, gridZ=1, blockX=block, blockY=1, blockZ=1)
        insert(database, "CUPTI_ACTIVITY_KIND_KERNEL", **common, start=1000 * launch, end=1000 * launch + 900, registersPerThread=16, staticSharedMemory=0, dynamicSharedMemory=dynamic,
               localMemoryPerThread=0, localMemoryTotal=0, gridId=launch, sharedMemoryExecuted=executed)
        insert(database, "TACHO_KERNEL_COUNTERS", **common, id=number, launchId=launch, processName="mix", hostName="127.0.0.1", computeMajor=9, computeMinor=0, passes=1, source="tacho")
        insert(database, "TACHO_KERNEL_COUNTER_VALUES", kernelId=number, metricId=0, value=6304.0)
    database.commit()
    database.close()


def columns(rows):
    return {name: tuple(row[at] for row in rows[1:]) for at, name in enumerate(rows[0])}


def is_fact(name):
    return re.match("launch__|device__attribute|sms?p?__maximum_warps", name)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make("own.sqlite", LAUNCHES)
        output("import", "-q", "-o", "own.tacho", "own.sqlite")
        for units, file in (("base", "basic-raw-base.csv"), ("auto", "basic-raw.csv")):
            truth = columns(list(csv.reader(open(os.path.join(HERE, "ncu", file)))))
            got = columns(list(csv.reader(output("ncu", "--import", "own.tacho", "--csv", "--page", "raw", "--print-units", units).splitlines())))
            own = {name: cells for name, cells in got.items() if is_fact(name)}
            check(f"{units}: leading columns", {name: truth[name] for name in list(truth)[:11]}, {name: got[name] for name in list(got)[:11]})
            check(f"{units}: facts", {name: truth[name] for name in own}, own)
            check(f"{units}: facts that are left out", UNKNOWN, {name for name in truth if name.startswith("launch__")} - set(own))
        occupancy = [row[11:15] for row in csv.reader(output("ncu", "--import", "own.tacho", "--csv").splitlines()) if row[0] == "1" and row[11] == "Launch Statistics"]
        truth = [row[11:15] for row in csv.reader(open(os.path.join(HERE, "ncu", "basic-details.csv"))) if row[0] == "1" and row[11] == "Launch Statistics"]
        check("the details page has them", [row for row in truth if row[1] not in ("Cluster Scheduling Policy", "Function Cache Configuration", "Stack Size", "Enabled TPC IDs")], occupancy)
        report = list(csv.DictReader(output("stats", "-q", "-f", "csv", "-r", "kernel_speed_of_light", "own.tacho").splitlines()))
        shown = [[float(cell) for name, cell in row.items() if name.startswith(("Theoretical", "Registers"))] for row in report]
        check("and the report on speed of light", [[100.0, 16.0]] * 3, shown)
    sys.exit(lib.status())


main()
