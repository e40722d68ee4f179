"""What the golden tests share: run tacho, compare and count what differs, read a terminal, and traces of PyTorch as they are."""

import gzip
import json
import os
import sqlite3
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal

TACHO = os.environ["TACHO"]
HERE = os.path.dirname(os.path.abspath(__file__))
KINETO = os.path.join(HERE, "kineto")
PATIENCE = int(os.environ.get("PATIENCE", "60"))  # the one limit of waits, in seconds: tests/CMakeLists.txt
ALL = os.environ.get("TACHO_TEST_ALL", "") not in ("", "0")  # scripts/test --all
SIX_STEPS = (7276023678, 7292563162)  # of nsys/mnist_like
LONGEST = 2000  # characters of a value that differs
failures = 0


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print(f"{what}:\n  expected {str(expected)[:LONGEST]}\n  got      {str(got)[:LONGEST]}")


def status():
    """What a test exits with."""
    return 1 if failures else 0


def run(*arguments, **environment):
    """Exit status, what was said, what was printed."""
    done = subprocess.run([TACHO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, env={**os.environ, **environment})
    return done.returncode, done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace")


def output(*arguments, status=0, **environment):
    """What was printed by a command that must end so."""
    got, said, out = run(*arguments, **environment)
    check(f"status of {' '.join(arguments)}: {said}", status, got)
    return out


def summary(*arguments):
    """The lines of the summary, none of them wrapped."""
    return output("summary", *arguments, COLUMNS="10000")


def job_files(folder):
    """A folder of six reports made of nsys's files, each file twice, with calls of MPI that differ; a range that never ends is in one of them.
    Returns the nsys files, in a folder beside it."""
    os.mkdir(folder)
    os.mkdir(folder + "-nsys")
    for number, name in enumerate(("mix", "resnet18", "wait_stream") * 2):
        path = f"{folder}-nsys/{name}{number}.sqlite"
        with open(path, "wb") as out:
            out.write(gzip.open(f"{HERE}/nsys/{name}.sqlite.gz").read())
        database = sqlite3.connect(path)
        thread, start = database.execute("SELECT globalTid, min(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()
        database.execute("INSERT INTO StringIds SELECT max(id) + 1, 'MPI_Allreduce' FROM StringIds")
        text, = database.execute("SELECT max(id) FROM StringIds").fetchone()
        database.execute("CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER)")
        database.executemany("INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (?, ?, ?, ?, 0, NULL, ?, NULL)",
                             [(start + i * 1000, start + i * 1000 + 100 + (i * 7919 + number) % 523, thread, text, 8 * (i % 5)) for i in range(200)])
        if number == 4:
            database.execute("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (?, NULL, 59, 'open', ?)", (start, thread))
        database.commit()
        database.close()
        output("import", "-q", "-o", f"{folder}/{name}{number}.tacho", path)
    return folder + "-nsys"


def take_over(path):
    """A foreign file as it looks after an import and an export."""
    output("import", "-q", "-f", "true", "-o", "in.tacho", path)
    output("export", "-q", "-f", "true", "-o", "out.sqlite", "in.tacho")
    return sqlite3.connect("out.sqlite")


def table(report, file, *options):
    """A report's rows as objects."""
    return json.loads(output("stats", "-q", "-f", "json", "-r", report, *options, file))


def refusal(*arguments):
    """What a command that fails says: one sentence."""
    got, said, _ = run(*arguments)
    check(f"{' '.join(arguments)} fails with a sentence", (True, 1), (got in (1, 2), said.count("\n")))
    return said


def read_terminal(leader):
    """All that is written to a terminal until its other side is closed."""
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    return text


def unpack(path, into):
    with gzip.open(path) as packed, open(into, "wb") as out:
        out.write(packed.read())


def unpack_mnist_like(into, part=None):
    """The largest capture of nsys, a training run; `part`: of its events only those that begin from one moment to another, ns."""
    unpack(f"{HERE}/nsys/mnist_like.sqlite.gz", into)
    if part:
        database = sqlite3.connect(into)
        for name, in database.execute("SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) p WHERE p.name = 'start'").fetchall():
            database.execute(f"DELETE FROM {name} WHERE start NOT BETWEEN ? AND ?", part)
        database.commit()
        database.close()


def trace_events(path):
    """The events of a trace, with exact times."""
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        return json.load(file, parse_float=Decimal)["traceEvents"]


def ns(microseconds):
    return int(Decimal(microseconds) * 1000)


def trace_span(event):
    """Begin and end, ns."""
    return ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])


# ---- the timeline ----

class Timeline:
    """`tacho view` of a file, asked for what docs/view-api.md lists."""

    def __init__(self, file):
        self.process = subprocess.Popen([TACHO, "view", "--no-browser", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = next((line.strip() for line in self.process.stdout if "?token=" in line), None)
        if not self.address:
            raise SystemExit(f"tacho view {file} printed no address")
        self.base, self.token = self.address.split("?token=")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        check("the server ends well", 0, self.process.wait())
        self.process.stdout.close()

    def answer(self, request, body=None, **arguments):
        """Status and what was answered."""
        address = f"{self.base}api/{request}" + (f"?{urllib.parse.urlencode(arguments)}" if arguments else "")
        asked = urllib.request.Request(address, data=body.encode() if body else None, headers={"X-Tacho-Token": self.token})
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answered:
                return answered.status, json.loads(answered.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def ask(self, request, body=None, **arguments):
        status, answered = self.answer(request, body, **arguments)
        check(f"status of {request} {arguments} {body or ''}: {answered if status != 200 else ''}", 200, status)
        return answered


# ---- reports that are made here ----

class Made:
    """A SQLite file as nsys exports one, filled row by row: add("OSRT_API", start=1, end=2, nameId=made.text("poll"))."""

    def __init__(self, path):
        if os.path.exists(path):
            os.unlink(path)
        self.path, self.rows, self.texts = path, {}, {"": 0}

    def text(self, value):
        return self.texts.setdefault(value, len(self.texts))

    def add(self, table, **columns):
        self.rows.setdefault(table, []).append(columns)

    def write(self):
        database = sqlite3.connect(self.path)
        self.rows["StringIds"] = [{"id": number, "value": value} for value, number in self.texts.items()]
        for table, rows in self.rows.items():
            names = list({name: None for row in rows for name in row})
            database.execute('CREATE TABLE {} ("{}")'.format(table, '", "'.join(names)))
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", [[row.get(name) for name in names] for row in rows])
        database.commit()
        database.close()
        return self.path


class OldCapture(Made):
    """A run of a small network as nsys 2022 exported it and DLProf 1.8 completed it: with tables and columns that have other names now, the table SystemInfo, and the
    ranges of DLProf's patches. Two layers, a convolution and a linear one; the figures of golden/dlprof.py and pyprof.py follow from the times here, ns."""

    PROCESS = (7 << 24) | (1 << 48)
    THREAD = PROCESS | 7
    CONV_LONG_NAMES = "void implicit_convolve_sgemm<float, 128>(int)", "void implicit_convolve_sgemm<float, 1024>(int)"

    def __init__(self, path):
        super().__init__(path)
        self.correlation = 100
        self.machine()
        network, forward = "/<module>/Net::", "/<module>/Net::_call_impl/Net::forward/"
        self.operator(100, 110, 190, network + "__init__/Conv2d::__init__/uniform_", ["run.py:9", "conv.py:20"], "Tensor", "uniform_", (2, 3, 3, 3))
        for start, end, calls, shape in ((310, 1310, (("cudaMalloc", 320, 920), ("cudaMemcpyAsync", 950, 1000, 1010, 1030), ("cudaStreamSynchronize", 1000, 1200)), (2, 3, 3, 3)),
                                         (1410, 1510, (("cudaMemcpyAsync", 1420, 1450, 1460, 1470), ("cudaStreamSynchronize", 1450, 1490)), (2,))):
            self.operator(start - 10, start, end, network + "cuda/Conv2d::_apply/<lambda>/cuda", ["run.py:9"], "Tensor", "cuda", shape)
            for call in calls:
                self.call(*call)
        self.call("cudaDeviceSynchronize", 1600, 1607)
        self.range(1900, 1903, '{"model_config": {"emit_nvtx": true}}')
        self.operator(2000, 2010, 2990, forward + "Conv2d::_call_impl/conv2d", ["run.py:12", "conv.py:44"], "torch.nn.functional", "conv2d", (4, 3, 8, 8), (2, 3, 3, 3), (2,))
        self.range(2020, 2980, "aten::conv2d, seq = 0")
        self.kernel(2100, 2110, 2200, 2300, "implicit_convolve_sgemm", self.CONV_LONG_NAMES[0], (9, 1, 1))
        self.call("cudaMemsetAsync", 2120, 2125, 2310, 2314)
        self.kernel(2130, 2150, 2400, 2460, "implicit_convolve_sgemm", self.CONV_LONG_NAMES[1], (18, 1, 1))
        self.kernel(2160, 2170, 2450, 2480, "computeOffsetsKernel", "cudnn::computeOffsetsKernel(Params)", (2, 3, 4), stream=8)
        for number, (start, end, call, call_end, begin, done) in enumerate(((3110, 3190, 3140, 3146, 3150, 3170), (3310, 3400, 3340, 3348, 3360, 3372))):
            self.operator(start - 10, start, end, forward + ("relu(2)" if number else "relu"), ["run.py:13"], "torch.nn.functional", "relu", (4, 2, 6, 6))
            self.operator(start + 10, start + 11, start + 19, forward + "relu/has_torch_function_unary", ["run.py:13", "functional.py:5"], "torch", "has_torch_function_unary")
            self.kernel(call, call_end, begin, done, "vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<4>(int)", (5, 1, 1))
        self.operator(3500, 3510, 3690, forward + "Linear::_call_impl(2)/linear", ["run.py:14"], "torch.nn.functional", "linear", (4, 72), (5, 72), (5,))
        self.range(3520, 3680, "aten::linear, seq = 3")
        self.kernel(3540, 3550, 3600, 3640, "volta_sgemm_32x32_sliced1x4_tn", "volta_sgemm_32x32_sliced1x4_tn", (4, 1, 5))
        self.kernel(3560, 3566, 3695, 3705, "splitKreduce_kernel", "void splitKreduce_kernel<float>(int)", (1, 1, 1))
        self.call("cudaDeviceSynchronize", 3800, 3805)

    def machine(self):
        self.add("SystemInfo", gpuCount="1", driverVersion="520.61.05", cudaVersion="11.8", cudnnVersion="", framework="PyTorch 1.13.1", nsysVersion="2022.4.2.1", cpuModel="A CPU")
        self.add("EXPORT_META_DATA", name="EXPORT_SCHEMA_VERSION", value="2.10.0")
        self.add("TARGET_INFO_GPU", vmId=1, id=0, name="A GPU", smCount=40)
        self.add("TARGET_INFO_CUDA_NULL_STREAM", streamId=7, hwId=0, vmId=1, processId=7, deviceId=0, contextId=1)
        self.add("TARGET_INFO_CUDA_STREAM", streamId=8, hwId=0, vmId=1, processId=7, contextId=1, priority=0, flag=1)
        self.add("PROCESSES", globalPid=self.PROCESS, pid=7, name="python3")
        self.add("ThreadNames", nameId=self.text("python3"), priority=0, globalTid=self.THREAD)

    def range(self, start, end, text):
        self.add("NVTX_EVENTS", start=start, end=end, eventType=59, text=text, globalTid=self.THREAD, textId=None, domainId=0)

    def operator(self, trace, start, end, name, lines, module, op, *shapes):
        """The range with the stack around the range of the call; it ends 10 ns after it."""
        self.range(trace, end + 10, str({"traceMarker": lines, "funcStack": name}))
        self.range(start, end, str({"mod": module, "op": op, "args": [{"name": "", "type": "tensor", "shape": shape, "dtype": "float32"} for shape in shapes]}))

    def call(self, name, start, end, begin=None, done=None):
        """A CUDA call, and the copy or fill that it launches."""
        self.correlation += 1
        name += "_v3020"
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=self.THREAD, correlationId=self.correlation, nameId=self.text(name), returnValue=0,
                 callchainId=None, cuda_name=name, kernel_name=None)
        work = dict(start=begin, end=done, deviceId=0, contextId=1, streamId=7, correlationId=self.correlation, globalPid=self.PROCESS)
        if "Memcpy" in name:
            self.add("CUPTI_ACTIVITY_KIND_MEMCPY", **work, bytes=216, copyKind=1, deprecatedSrcId=None, srcKind=0, dstKind=2)
        elif "Memset" in name:
            self.add("CUPTI_ACTIVITY_KIND_MEMSET", **work, value=0, bytes=64, memKind=2)

    def kernel(self, call, call_end, start, end, name, long_name, grid, stream=7):
        self.call("cudaLaunchKernel", call, call_end)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=0, contextId=1, streamId=stream, correlationId=self.correlation, globalPid=self.PROCESS,
                 demangledName=self.text(long_name), shortName=self.text(name), mangledName=None, gridX=grid[0], gridY=grid[1], gridZ=grid[2], blockX=32, blockY=2, blockZ=1,
                 kernel_name=name, long_kernel_name=long_name)
