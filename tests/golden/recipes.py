"""Recipes of nsys over a set of reports: names, files and figures.

The truth is made here: SQLite over the files, attached side by side, for sums; loops over the rows for maps, paces, histograms and
overlaps. What Parquet files hold is read here, too. Some files are of nsys, others are written row by row with a seed, since no capture at hand has MPI, UCX and NCCL in it."""

import csv
import decimal
import gzip
import json
import os
import random
import re
import shutil
import sqlite3
import struct
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import pyarrow.parquet as pyarrow
except ImportError:
    pyarrow = None  # the reader below is enough

from lib import HERE, TACHO, check, output, refusal, run, status, table

NSYS = ("mix", "resnet18", "wait_stream")
RANKS = (0, 1, 2)
BINS = 7
KERNELS = ("gemm", "relu", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_Broadcast")
TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
    "MPI_RANKS": "globalTid INTEGER, rank INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                  "globalPid INTEGER, demangledName INTEGER, shortName INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
                                   "returnValue INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER",
    "MPI_P2P_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "MPI_COLLECTIVES_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "UCP_EVENTS": "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER",
    "NET_NIC_METRIC": "start INTEGER, end INTEGER, globalId INTEGER, portId INTEGER, metricsListId INTEGER, metricsIdx INTEGER, value INTEGER",
    "TARGET_INFO_NETWORK_METRICS": "metricsListId INTEGER, metricsIdx INTEGER, name TEXT, description TEXT, unit TEXT",
    "TARGET_INFO_NIC_INFO": "GUID INTEGER, stateName TEXT, nicId INTEGER, name TEXT, deviceId INTEGER, vendorId INTEGER, linkLayer INTEGER",
    "NIC_ID_MAP": "nicId INTEGER, globalId INTEGER",
    "GPU_METRICS": "rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER",
    "TARGET_INFO_GPU_METRICS": "typeId INTEGER, sourceId INTEGER, typeName TEXT, metricId INTEGER, metricName TEXT",
    "GENERIC_EVENTS": "genericEventId INTEGER, rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER",
    "GENERIC_EVENT_DATA": "genericEventId INTEGER, fieldIdx INTEGER, intVal INTEGER, uintVal INTEGER, floatVal REAL, doubleVal REAL",
    "GENERIC_EVENT_TYPE_FIELDS": "typeId INTEGER, fieldIdx INTEGER, fieldNameId INTEGER, offset INTEGER, size INTEGER, type INTEGER",
    "OSRT_API": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER",
}


def make_rank(rank):
    """A file of a rank: two GPUs, kernels that overlap, some of NCCL, calls of MPI and UCX, ranges."""
    chance = random.Random(rank)
    database = sqlite3.connect(f"made/{'cab'[rank]}.sqlite")
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    strings = {}

    def text(value):
        return strings.setdefault(value, len(strings) + 1)

    def add(name, *values):
        database.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(values))})", values)

    thread = (1000 + rank) << 24 | (1000 + rank)
    add("MPI_RANKS", thread, rank)
    add("TARGET_INFO_SESSION_START_TIME", 1_700_000_000_000_000_000, "", "")
    add("NVTX_EVENTS", 0, None, 75, "NCCL", thread, None, 9)
    for number in range(300):
        start = chance.randrange(1_000_000)
        name = chance.choice(KERNELS[:2] if number % 3 else KERNELS)
        add("CUPTI_ACTIVITY_KIND_KERNEL", start + 50, start + 50 + chance.randrange(1, 9000), number % 2, 1, 7, number, thread & ~0xffffff, text(name + "(int)"), text(name))
        add("CUPTI_ACTIVITY_KIND_RUNTIME", start + 10, start + 20, 0, thread, number, text("cudaLaunchKernel"), 0)
        if name.startswith("nccl"):
            add("NVTX_EVENTS", start + 5, start + 30, 59, None, thread, text("ncclAllReduce" if "AllReduce" in name else "ncclBroadcast"), 9)
    for number in range(20):
        add("NVTX_EVENTS", number * 45_000, number * 45_000 + chance.randrange(30_000, 44_000), 59, "step", thread, None, 0)
        start = chance.randrange(1_000_000)
        add("MPI_P2P_EVENTS", start, start + chance.randrange(1, 40_000), thread, text(chance.choice(("MPI_Send", "MPI_Recv"))))
        add("MPI_COLLECTIVES_EVENTS", start + 3, start + chance.randrange(4, 40_000), thread, text("MPI_Barrier"))
        add("UCP_EVENTS", start + 7, start + chance.randrange(8, 60_000), thread, text("ucp_worker_progress"))
        for call, result in (("read", chance.randrange(-1, 5000)), ("fopen64", 1 << 40), ("pthread_mutex_lock", 0)):
            add("OSRT_API", start, start + chance.randrange(1, 3000), 27, thread, text(call), result, 0)
    add("TARGET_INFO_NIC_INFO", 77, "active", 4, "mlx5_0", 0, 0, 0)
    add("NIC_ID_MAP", 4, 99)
    for metric, name in enumerate(("Bytes sent", "Bytes received")):
        add("TARGET_INFO_NETWORK_METRICS", 1, metric, name, "", "B")
        for number in range(100):
            add("NET_NIC_METRIC", number * 10_000, number * 10_000 + chance.randrange(1, 10_000), 99, 1, 1, metric, chance.randrange(1000))
    for metric, name in enumerate(("SMs Active [Throughput %]", "NVLink RX <Responses> [Throughput %]")):
        add("TARGET_INFO_GPU_METRICS", 256, 0, "GPU", metric, name)
        for number in range(100):
            add("GPU_METRICS", number * 10_000, number * 10_000, 256, metric, chance.randrange(101))
    for field, name in enumerate(("rdma_read_bytes per second", "rdma_write_bytes per second", "packets")):
        add("GENERIC_EVENT_TYPE_FIELDS", 0x1203, field, text(name), 0, 8, 0)
    for number in range(100):
        add("GENERIC_EVENTS", 500 - number, 0, chance.randrange(1_000_000), 0x1203)
        add("GENERIC_EVENT_DATA", 500 - number, 0, None, None, None, chance.random())
        add("GENERIC_EVENT_DATA", 500 - number, 1, None, chance.randrange(10 ** 9), None, None)
        add("GENERIC_EVENT_DATA", 500 - number, 2, 5, None, None, None)
    for value, number in strings.items():
        add("StringIds", number, value)
    database.commit()
    return database


def make_files():
    os.mkdir("nsys")
    for name in NSYS:
        with open(f"nsys/{name}.sqlite", "wb") as out:
            out.write(gzip.open(f"{HERE}/nsys/{name}.sqlite.gz").read())
    os.mkdir("made")
    return [make_rank(rank) for rank in RANKS]


class Thrift:
    """Reads structs of the compact protocol as {field: value}."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def value(self, kind):
        if kind in (5, 6):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == 8:
            length = self.varint()
            self.at += length
            return self.data[self.at - length:self.at]
        if kind == 9:
            head = self.byte()
            return [self.value(head & 15) for _ in range(head >> 4 if head >> 4 < 15 else self.varint())]
        check("a type of Thrift that is used", 12, kind)
        return self.struct()

    def struct(self):
        fields, last = {}, 0
        while head := self.byte():
            last += head >> 4
            fields[last] = self.value(head & 15)
        return fields


def read_page(data, type, rows):
    """The values of a page: levels first, None where they say so."""
    levels, at = Thrift(data[4:4 + int.from_bytes(data[:4], "little")]), 4 + int.from_bytes(data[:4], "little")
    present, values = [], []
    while levels.at < len(levels.data):
        count = levels.varint() >> 1
        present += [levels.byte()] * count
    check("levels of all rows", rows, len(present))
    for is_there in present:
        if not is_there:
            values.append(None)
            continue
        length = 8 if type in (2, 5) else 4 + int.from_bytes(data[at:at + 4], "little")
        piece = data[at:at + length]
        values.append(struct.unpack("<q" if type == 2 else "<d", piece)[0] if type in (2, 5) else piece[4:].decode())
        at += length
    check("the page ends with its last value", len(data), at)
    return values


def read_parquet(path):
    """{column: values} of a file, by the format's own description."""
    data = open(path, "rb").read()
    check(f"{path} begins and ends as Parquet", (b"PAR1", b"PAR1"), (data[:4], data[-4:]))
    about = Thrift(data[-8 - int.from_bytes(data[-8:-4], "little"):-8]).struct()
    columns = {element[4].decode(): [] for element in about[2][1:]}
    for group in about[4]:
        for element, chunk in zip(about[2][1:], group[1]):
            place = chunk[3]
            header = Thrift(data[place[9]:])
            page = header.struct()
            body = data[place[9] + header.at:place[9] + header.at + page[3]]
            check("sizes and names", (place[7], [element[4]], element[1], group[3]), (header.at + page[3], place[3], place[1], page[5][1]))
            columns[element[4].decode()] += read_page(body, place[1], page[5][1])
    check(f"rows of {path}", {about[3]}, {len(values) for values in columns.values()})
    return columns


def same(text, value):
    """Whether a cell of CSV is this value; CSV has fewer decimals."""
    if value is None or isinstance(value, str):
        return text == (value or "")
    return abs(float(text) - value) <= 0.5000001 * 10 ** -len(text.partition(".")[2]) + 1e-14 * abs(value) if isinstance(value, float) else text == str(value)


def compare_parquet(folder):
    for entry in list(os.scandir(folder)):
        if not entry.name.endswith(".csv"):
            continue
        columns = read_parquet(entry.path[:-4] + ".parquet")
        with open(entry.path, newline="") as file:
            rows = list(csv.reader(file))
        check(f"{entry.path}: columns", rows[0], list(columns))
        if pyarrow:
            check(f"{entry.path}: as pyarrow reads it", columns, pyarrow.read_table(entry.path[:-4] + ".parquet").to_pydict())
        check(f"{entry.path}: rows", len(rows) - 1, len(next(iter(columns.values()))))
        check(f"{entry.path}: values", [], [(row, column) for c, column in enumerate(columns) for row, value in enumerate(columns[column]) if not same(rows[row + 1][c], value)])


def recipe(name, *options, files="made"):
    """The files of a recipe, by name; tables as lists of rows by column."""
    folder = f"out-{name}"
    out = output("recipe", name, "--input", files, "--output", folder, "-f", "--csv", "--clock", "none", *options)
    written = [line for line in out.splitlines() if line.startswith(folder + "/")]
    check(f"{name}: what it says it wrote is there", sorted(os.listdir(folder)), sorted(os.path.basename(line) for line in written))
    compare_parquet(folder)
    return {entry.name: list(csv.DictReader(open(entry.path, newline=""))) for entry in os.scandir(folder) if entry.name.endswith(".csv")}


SUMS = {"files.csv", "all_stats.csv", "rank_stats.csv"}
LIST = {"files.csv", "analysis.csv"}
PACE = {"files.csv", "stats.csv", "pace_delta_stats.csv", *(f"pace_{name}.csv" for name in ("start", "end", "duration", "duration_accum", "delta", "delta_accum"))}
FILES = {  # as nsys 2025.3 names them
    **dict.fromkeys(("cuda_api_sum", "file_access_sum", "mpi_sum", "nccl_sum", "nccl_gpu_proj_sum", "nvtx_sum", "nvtx_gpu_proj_sum", "osrt_sum",
                     "network_sum", "gpu_metric_util_sum"), SUMS),
    **dict.fromkeys(("cuda_gpu_kern_sum",), SUMS | {"rank_stats_by_device.csv"}),
    **dict.fromkeys(("cuda_api_sync", "gpu_gaps", "gpu_time_util", "cuda_gpu_kern_hist", "cuda_gpu_time_util_map", "mpi_gpu_time_util_map",
                     "nccl_gpu_time_util_map", "ucx_gpu_time_util_map", "network_traffic_map", "network_map_aws", "gpu_metric_util_map"), LIST),
    "nvlink_sum": {"files.csv", "all_stats.csv", "stats_by_gpu.csv"},
    **dict.fromkeys(("cuda_gpu_kern_pace", "nvtx_pace", "nvtx_gpu_proj_pace"), PACE),
    "nccl_gpu_overlap_trace": {"files.csv", "rank_trace.csv", "grouped_trace.csv"},
    "nvtx_gpu_proj_trace": {"files.csv", "trace.csv"},
    "nccl_straggler": LIST,
}
MEMORY = {name: SUMS | {"rank_stats_by_device.csv"} for name in ("cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum")}
KNOWN = """cuda_api_sum cuda_api_sync cuda_gpu_kern_hist cuda_gpu_kern_pace cuda_gpu_kern_sum cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_gpu_time_util_map
cuda_memcpy_async cuda_memcpy_sync cuda_memset_sync diff dx12_mem_ops file_access_sum gfx_hotspot gpu_gaps gpu_metric_util_map gpu_metric_util_sum gpu_time_util
gpu_vram_usage_trace mpi_gpu_time_util_map mpi_sum nccl_gpu_overlap_trace nccl_gpu_proj_sum nccl_gpu_time_util_map nccl_straggler nccl_sum network_map_aws network_sum
network_traffic_map nvlink_sum nvtx_cpu_topdown nvtx_gpu_proj_pace nvtx_gpu_proj_sum nvtx_gpu_proj_trace nvtx_pace nvtx_sum osrt_sum s3_access_sum storage_util_map
ucx_gpu_time_util_map""".split()


def check_names():
    listed = re.findall(r"^  (\w+) ", output("recipe"), re.M)
    check("the recipes of nsys 2026.4", sorted(KNOWN), sorted(listed))
    check("help names them", [], [name for name in KNOWN if name not in output("recipe", "--help")])
    for files, expected in (("made", FILES), ("nsys", MEMORY)):
        for name, names in expected.items():
            check(f"files of {name}", names, set(recipe(name, files=files)))
    ranks = recipe("cuda_api_sum")["files.csv"]
    check("ranks are what the data says", [("0", "made/c.sqlite"), ("1", "made/a.sqlite"), ("2", "made/b.sqlite")], [(row["Rank"], row["File"]) for row in ranks])


def check_sums(databases):
    """All ranks: SQL over the union, and `stats` over the folder. Each rank: `stats` of its file."""
    for name in ("cuda_gpu_kern_sum", "cuda_api_sum", "nvtx_sum", "nvtx_gpu_proj_sum", "osrt_sum", "mpi_sum", "nccl_sum", "nccl_gpu_proj_sum", "file_access_sum"):
        files = recipe(name)
        check(f"{name} over all", list(csv.DictReader(output("stats", "-q", "--clock", "none", "-f", "csv", "-r", name, "made").splitlines())), files["all_stats.csv"])
        for rank, file in enumerate(("c", "a", "b")):
            expected = list(csv.DictReader(output("stats", "-q", "-f", "csv", "-r", name, f"made/{file}.sqlite").splitlines()))
            rows = [{key: value for key, value in row.items() if key != "Rank"} for row in files["rank_stats.csv"] if row["Rank"] == str(rank)]
            check(f"{name} of rank {rank}", expected, rows)
            check(f"{name} of rank {rank} has rows", True, len(rows) > 0)
    check("nccl_straggler is straggler_sum", list(csv.DictReader(output("stats", "-q", "--clock", "none", "-f", "csv", "-r", "straggler_sum", "made").splitlines())),
          recipe("nccl_straggler")["analysis.csv"])
    queries = {
        "cuda_gpu_kern_sum": "SELECT s.value, k.end - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName",
        "mpi_sum": "SELECT s.value, m.end - m.start FROM (SELECT * FROM MPI_P2P_EVENTS UNION ALL SELECT * FROM MPI_COLLECTIVES_EVENTS) m JOIN StringIds s ON s.id = m.textId",
        "nccl_sum": "SELECT s.value, n.end - n.start FROM NVTX_EVENTS n JOIN StringIds s ON s.id = n.textId WHERE n.domainId = 9 AND n.eventType = 59",
        "file_access_sum": "SELECT s.value, o.end - o.start FROM OSRT_API o JOIN StringIds s ON s.id = o.nameId WHERE s.value IN ('read', 'fopen64')",
    }
    for name, query in queries.items():
        expected = {}
        for database in databases:
            for text, duration in database.execute(query):
                expected.setdefault(text, []).append(duration)
        expected = {text: (len(values), sum(values), min(values), max(values), f"{statistics.median(values):.1f}") for text, values in expected.items()}
        found = {row["Name"]: (int(row.get("Instances") or row.get("Num Calls")), int(row["Total Time (ns)"]), int(row["Min (ns)"]), int(row["Max (ns)"]), row["Med (ns)"])
                 for row in recipe(name)["all_stats.csv"]}
        check(f"{name} as SQL has it", expected, found)
    moved = sum(database.execute("SELECT sum(max(o.returnValue, 0)) FROM OSRT_API o JOIN StringIds s ON s.id = o.nameId WHERE s.value = 'read'").fetchone()[0] for database in databases)
    check("bytes of files", {"read": f"{moved / 1e6:.3f}", "fopen64": ""}, {row["Name"]: row["Total (MB)"] for row in recipe("file_access_sum")["all_stats.csv"]})
    devices = {}
    for rank, database in enumerate(databases):
        for device, name, count in database.execute("SELECT k.deviceId, s.value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY 1, 2"):
            devices[rank, device + 2 * rank, name] = count
    rows = recipe("cuda_gpu_kern_sum")["rank_stats_by_device.csv"]
    found = {(int(row["Rank"]), int(row["Device ID"]), row["Name"]): int(row["Instances"]) for row in rows}
    first = {rank: min(key[1] for key in found if key[0] == rank) for rank in RANKS}
    check("by GPU", {(rank, device - 2 * rank, name): count for (rank, device, name), count in devices.items()},
          {(rank, device - first[rank], name): count for (rank, device, name), count in found.items()})


def shown(value):
    """As tables have it: halves are rounded up."""
    return str(decimal.Decimal(value).quantize(decimal.Decimal("0.1"), decimal.ROUND_HALF_UP))


def covered(intervals, start, end):
    """ns of [start, end) that an interval covers, ns by ns as far as edges tell."""
    edges = sorted({start, end, *(edge for pair in intervals for edge in pair if start < edge < end)})
    return sum(b - a for a, b in zip(edges, edges[1:]) if any(x <= a and b <= y for x, y in intervals))


def intervals(database, tables, where="1"):
    rows = []
    for name in tables:
        rows += database.execute(f"SELECT start, end FROM {name} WHERE {where}").fetchall()
    return rows


def check_maps(databases):
    mpi, ucx, kernel = ("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS"), ("UCP_EVENTS",), ("CUPTI_ACTIVITY_KIND_KERNEL",)
    nccl = "shortName IN (SELECT id FROM StringIds WHERE value LIKE 'nccl%')"
    for name, by_device in (("cuda_gpu_time_util_map", 1), ("nccl_gpu_time_util_map", 1), ("mpi_gpu_time_util_map", 0), ("ucx_gpu_time_util_map", 0)):
        rows = recipe(name, "--bins", str(BINS))["analysis.csv"]
        starts, ends = sorted({int(row["Start (ns)"]) for row in rows}), sorted({int(row["Start (ns)"]) + int(row["Duration (ns)"]) for row in rows})
        check(f"{name}: bins without gaps", (BINS, starts[1:]), (len(starts), ends[:-1]))
        lanes = sorted({(int(row["Rank"]), int(row.get("Device ID") or 0)) for row in rows})
        check(f"{name}: lanes", 6 if by_device else 3, len(lanes))
        compared = 0
        for row in rows:
            rank, start = int(row["Rank"]), int(row["Start (ns)"])
            end = start + int(row["Duration (ns)"])
            device = lanes.index((rank, int(row["Device ID"]))) % 2 if by_device else None
            where = f"deviceId = {device}" if by_device else "1"
            database = databases[rank]
            series = {"Kernel": intervals(database, kernel, where)}
            if name.startswith("nccl"):
                series = {"All": series["Kernel"], "NCCL": intervals(database, kernel, f"{where} AND {nccl}"), "Compute": intervals(database, kernel, f"{where} AND NOT {nccl}")}
                both = ("NCCL", "Compute")
            elif name[0] in "mu":
                other = "MPI" if name.startswith("mpi") else "UCX"
                series[other] = intervals(database, mpi if other == "MPI" else ucx)
                both = ("Kernel", other)
            for column, list_of in series.items():
                expected = 100 * covered(list_of, start, end) / (end - start)
                check(f"{name} {column} of {row}", shown(expected), row[f"{column} (%)"])
                compared += expected > 0
            if len(series) > 1:
                expected = 100 * (sum(covered(series[column], start, end) for column in both) - covered(series[both[0]] + series[both[1]], start, end)) / (end - start)
                check(f"{name} overlap of {row}", shown(expected), row["Overlap (%)"])
        check(f"{name}: cells with something in them", True, compared >= BINS * 3)
        picture = xml.etree.ElementTree.parse(f"out-{name}/heatmap.svg").getroot()
        cells = [cell for cell in picture.iter("{http://www.w3.org/2000/svg}rect") if cell.get("fill-opacity")]
        shares = sum(float(row[column]) > 0 for row in rows for column in row if column.endswith("(%)"))
        check(f"{name}: a rectangle a cell", True, shares <= len(cells) <= len(rows) * 4 and len(cells) > 0)
        printed = table(f"{name}:bins={BINS}", "made", "--clock", "none")
        check(f"{name}: as `stats` has it", [float(row[column]) for row in rows for column in row if column.endswith("(%)")],
              [round(float(row[column]), 1) for row in printed for column in row if column.endswith("(%)")])
        check(f"{name}: by rank anyway", printed, table(f"{name}:bins={BINS}", "made", "--clock", "none", "--by", "rank"))


def check_paces(databases):
    queries = {
        ("cuda_gpu_kern_pace", "gemm"): "SELECT k.start, k.end FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName WHERE s.value = 'gemm' ORDER BY 1, 2",
        ("nvtx_pace", "step"): "SELECT start, end FROM NVTX_EVENTS WHERE text = 'step' ORDER BY 1, 2",
        ("nvtx_gpu_proj_pace", "step"): "SELECT min(k.start), max(k.end) FROM NVTX_EVENTS n JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.start >= n.start AND r.end <= n.end "
                                        "JOIN CUPTI_ACTIVITY_KIND_KERNEL k USING (correlationId) WHERE n.text = 'step' GROUP BY n.start ORDER BY 1, 2",
    }
    for (name, event), query in queries.items():
        files = recipe(name, "--name", event)
        deltas = []
        for rank, database in enumerate(databases):
            rows = database.execute(query).fetchall()
            durations = [end - start for start, end in rows]
            delta = [None] + [rows[i][0] - rows[i - 1][1] for i in range(1, len(rows))]
            deltas.append(delta)
            for what, expected in (("start", [start for start, _ in rows]), ("end", [end for _, end in rows]), ("duration", durations), ("delta", delta),
                                   ("duration_accum", [sum(durations[:i + 1]) for i in range(len(rows))]),
                                   ("delta_accum", [None] + [sum(delta[1:i + 1]) for i in range(1, len(rows))])):
                got = [row[str(rank)] for row in files[f"pace_{what}.csv"]][:len(rows)]
                check(f"{name}: {what} of rank {rank}", ["" if value is None else str(value) for value in expected], got)
            check(f"{name}: rank {rank} came so often", True, len(rows) > 10)
        row = files["pace_delta_stats.csv"][3]
        values = [delta[3] for delta in deltas]
        check(f"{name}: the third delta of all ranks", (3, f"{statistics.median(values):.1f}", min(values), max(values)),
              (int(row["Count"]), row["Med (ns)"], int(row["Min (ns)"]), int(row["Max (ns)"])))
        check(f"{name}: all deltas", sum(value for delta in deltas for value in delta[1:]), int(files["stats.csv"][1]["Total (ns)"]))
    check("the name with the most time by itself", most_time(databases), table("cuda_gpu_kern_pace", "made", "--clock", "none")[0]["Name"])


def most_time(databases):
    times = {}
    for database in databases:
        for name, total in database.execute("SELECT s.value, sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName GROUP BY 1"):
            times[name] = times.get(name, 0) + total
    return max(times, key=times.get)


def check_histograms(databases):
    expected = {}
    for rank, database in enumerate(databases):
        for name, duration in database.execute("SELECT s.value, k.end - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName"):
            key = rank, name, 1 << (duration.bit_length() - 1)
            expected[key] = expected.get(key, 0) + 1
    rows = recipe("cuda_gpu_kern_hist")["analysis.csv"]
    check("classes", expected, {(int(row["Rank"]), row["Name"], int(row["From (ns)"])): int(row["Count"]) for row in rows})
    check("classes end where the next begin", [], [row for row in rows if int(row["To (ns)"]) != 2 * int(row["From (ns)"])])


def check_overlaps(databases):
    rows = recipe("nccl_gpu_overlap_trace")
    compared = 0
    sums = {}
    lanes = sorted({(int(row["Rank"]), int(row["DeviceID"])) for row in rows["rank_trace.csv"]})
    for rank, database in enumerate(databases):
        for device in (0, 1):
            kernels = database.execute("SELECT k.start, k.end, s.value, k.rowid FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.shortName "
                                       "WHERE k.deviceId = ? ORDER BY 1, 2", (device,)).fetchall()
            mine = lanes[rank * 2 + device]
            got = sorted((int(row["Start (ns)"]), int(row["End (ns)"]), row["Name"], row["Communication Overlap (%)"], row["Compute Overlap (%)"])
                         for row in rows["rank_trace.csv"] if (int(row["Rank"]), int(row["DeviceID"])) == mine)
            expected = []
            for start, end, name, number in kernels:
                shares = []
                for is_nccl in (True, False):
                    others = [(a, b) for a, b, other, n in kernels if n != number and other.startswith("nccl") == is_nccl and a < end and b > start]
                    shares.append(covered(others, start, end))
                total = sums.setdefault(name, [0, 0, 0, 0])
                for i, value in enumerate((1, end - start, *shares)):
                    total[i] += value
                expected.append((start, end, name, *(shown(100 * share / (end - start)) for share in shares)))
            check(f"overlaps of rank {rank}, GPU {device}", [], [pair for pair in zip(sorted(expected), got) if pair[0] != pair[1]])
            check(f"kernels of rank {rank}, GPU {device}", len(expected), len(got))
            compared += len(got)
    check("all kernels", 900, compared)
    check("by name", {name: (count, shown(100 * one / whole), shown(100 * two / whole)) for name, (count, whole, one, two) in sums.items()},
          {row["Name"]: (int(row["Count"]), row["Communication Overlap (%)"], row["Compute Overlap (%)"]) for row in rows["grouped_trace.csv"]})


def check_metrics(databases):
    """Means over time of samples of GPUs, which last until the next one, and of network interfaces, which say their own end."""
    queries = {
        ("network_traffic_map", "mlx5_0 port 1"): "SELECT n.name, m.start, m.end, m.value FROM NET_NIC_METRIC m JOIN TARGET_INFO_NETWORK_METRICS n USING (metricsListId, metricsIdx)",
        ("gpu_metric_util_map", "GPU"): "SELECT n.metricName, m.timestamp, m.timestamp + 10000, m.value FROM GPU_METRICS m JOIN TARGET_INFO_GPU_METRICS n USING (typeId, metricId)",
    }
    queries["network_map_aws", "adapter 3"] = (  # moments: all count the same
        "SELECT s.value, e.timestamp, e.timestamp, coalesce(d.uintVal, d.doubleVal) FROM GENERIC_EVENT_DATA d JOIN GENERIC_EVENTS e USING (genericEventId) "
        "JOIN GENERIC_EVENT_TYPE_FIELDS f USING (typeId, fieldIdx) JOIN StringIds s ON s.id = f.fieldNameId")
    for (name, device), query in queries.items():
        rows = recipe(name, "--bins", str(BINS))["analysis.csv"]
        check(f"{name}: rows", 3 * 2 * BINS, len(rows))
        for row in rows:
            start = int(row["Start (ns)"])
            end = start + int(row["Duration (ns)"])
            parts = [(value, min(end, until) - max(start, at) or 1) for metric, at, until, value in databases[int(row["Rank"])].execute(query)
                     if metric == row["Metric"] and at < end and (until > start or at == until >= start)]
            expected = sum(value * length for value, length in parts) / sum(length for _, length in parts) if parts else None
            check(f"{name}: {row}", (True, True), (row["Device"].startswith(device), abs(float(row["Value"]) - expected) < 0.001 if parts else row["Value"] == ""))
        picture = xml.etree.ElementTree.parse(f"out-{name}/heatmap.svg").getroot()
        check(f"{name}: a rectangle a cell", len([row for row in rows if float(row["Value"] or 0) > 0]),
              len([cell for cell in picture.iter("{http://www.w3.org/2000/svg}rect") if cell.get("fill-opacity")]))
    rows = {(row["Rank"], row["Metric"]): (int(row["Samples"]), int(row["Total"]), int(row["Min"]), int(row["Max"])) for row in recipe("network_sum")["rank_stats.csv"]}
    expected = {(str(rank), name): tuple(figures) for rank, database in enumerate(databases) for name, *figures in database.execute(
        "SELECT n.name, count(*), sum(m.value), min(m.value), max(m.value) FROM NET_NIC_METRIC m JOIN TARGET_INFO_NETWORK_METRICS n USING (metricsListId, metricsIdx) GROUP BY 1")}
    check("network_sum", expected, rows)
    check("metrics of NVLink alone", {"NVLink RX <Responses> [Throughput %]"}, {row["Metric"] for row in recipe("nvlink_sum")["stats_by_gpu.csv"]})


def check_several_ranks_in_a_file():
    """A report of several ranks is divided like several reports."""
    made = sqlite3.connect("made/c.sqlite")
    os.mkdir("one")
    with open("one/all.sqlite", "wb") as out:
        out.write(open("made/c.sqlite", "rb").read())
    made.close()
    both = sqlite3.connect("one/all.sqlite")
    other = 2000 << 24
    both.execute("INSERT INTO MPI_RANKS VALUES (?, 5)", (other | 1,))
    both.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT start + 1, end + 1, deviceId, contextId, streamId, correlationId, ?, demangledName, shortName "
                 "FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE rowid <= 10", (other,))
    both.commit()
    files = recipe("cuda_gpu_kern_sum", files="one")
    check("two ranks of one file", [("0", "one/all.sqlite"), ("5", "one/all.sqlite")], [(row["Rank"], row["File"]) for row in files["files.csv"]])
    count = {rank: sum(int(row["Instances"]) for row in files["rank_stats.csv"] if row["Rank"] == rank) for rank in ("0", "5")}
    check("each with its rows", {"0": 300, "5": 10}, count)


def check_diff():
    output("recipe", "diff", "--input", "made/a.sqlite", "made/b.sqlite", "-o", "out-diff", "--clock", "none", "--csv")
    rows = list(csv.DictReader(open("out-diff/all_stats.csv", newline="")))
    after = {row["Name"]: row["Total Time (ns)"] for row in table("cuda_gpu_kern_sum", "made/b.sqlite")}
    check("diff", {name: float(total) for name, total in after.items()}, {row["Name"]: float(next(value for key, value in row.items() if key.startswith("After"))) for row in rows})


def check_refusals():
    check("an unknown recipe", "tacho recipe: unknown recipe 'nvtx_pase': did you mean nvtx_pace; 'tacho recipe' lists the recipes\n", refusal("recipe", "nvtx_pase", "--input", "made"))
    check("no input", "tacho recipe: no reports given: tacho recipe nvtx_sum --input FOLDER\n", refusal("recipe", "nvtx_sum"))
    check("no such folder", True, "nowhere" in refusal("recipe", "nvtx_sum", "--input", "nowhere"))
    os.mkdir("there")
    check("a folder that exists", "tacho recipe: 'there' exists already: write into it with --force-overwrite=true\n", refusal("recipe", "nvtx_sum", "--input", "made", "-o", "there", "--clock", "none"))
    check("two recipes", "tacho recipe: one recipe at a time: 'osrt_sum' is a recipe too\n", refusal("recipe", "nvtx_sum", "osrt_sum", "--input", "made"))
    check("a folder that cannot be made", True, "made/c.sqlite/x" in refusal("recipe", "nvtx_sum", "--input", "made", "-o", "made/c.sqlite/x", "--clock", "none"))
    check("bins", True, "bins" in refusal("recipe", "cuda_gpu_time_util_map", "--bins", "0", "--input", "made", "--clock", "none"))
    check("an option of another recipe", True, "bins" in refusal("recipe", "nvtx_sum", "--bins", "3", "--input", "made", "--clock", "none"))
    for name, why in (("gfx_hotspot", "graphics are not recorded"), ("dx12_mem_ops", None), ("cuda_gpu_mem_time_sum", None)):
        before = set(os.listdir("."))
        out = output("recipe", name, "--input", "made", "--clock", "none")
        check(f"{name}: {out}", (True, True, before), (out.startswith(f"SKIPPED: {name}: "), why is None or why in out, set(os.listdir("."))))
    for number in (1, 2):
        output("recipe", "nvtx_sum", "--input", "made", "--clock", "none")
        check("folders by number, without --csv", ["all_stats.parquet", "files.parquet", "rank_stats.parquet"], sorted(os.listdir(f"nvtx_sum-{number}")))


def by_file(folder, file):
    """The rows of a table by the file that their rank is of, without the rank."""
    files = {row["Rank"]: row["File"][-8:] for row in csv.DictReader(open(f"{folder}/files.csv", newline=""))}
    rows = {}
    for row in csv.DictReader(open(f"{folder}/{file}", newline="")):
        rows.setdefault(files[row.pop("Rank")], []).append(row)
    return rows


def check_damage():
    """A rank whose bytes are changed at random: the others are answered as before."""
    chance = random.Random(3)
    os.mkdir("bad")
    output("import", "-q", "made/c.sqlite", "-o", "bad/c.tacho")
    for name in "ab":
        shutil.copy(f"made/{name}.sqlite", "bad")
    whole = open("bad/c.tacho", "rb").read()
    expected = by_file("out-cuda_gpu_kern_hist", "analysis.csv")
    for i in range(8):
        damaged = bytearray(whole[:chance.randrange(len(whole))] if i % 4 == 0 else whole)
        for _ in range(chance.randrange(1, 40)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        open("bad/c.tacho", "wb").write(damaged)
        for name in ("cuda_gpu_kern_hist", "nccl_gpu_time_util_map", "nvtx_gpu_proj_pace"):
            code, said, _ = run("recipe", name, "--input", "bad", "-o", "out-bad", "-f", "--csv", "--clock", "none")
            check(f"damage {i}, {name}: {said}", 0, code)
            if name == "cuda_gpu_kern_hist":
                found = by_file("out-bad", "analysis.csv")
                check(f"damage {i}: the others", [expected[f"{file}.sqlite"] for file in "ab"], [found.get(f"{file}.sqlite") for file in "ab"])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    made = make_files()
    check_names()
    check_sums(made)
    check_maps(made)
    check_paces(made)
    check_histograms(made)
    check_overlaps(made)
    check_metrics(made)
    check_several_ranks_in_a_file()
    check_diff()
    check_refusals()
    check_damage()
sys.exit(status())
