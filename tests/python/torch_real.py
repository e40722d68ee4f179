"""Against PyTorch itself, where it is installed: the same work under torch.profiler and under ours has the same rows and counts on the CPU.
The variable TACHO_TEST_TORCH names a Python that has it, where that of the tests has not."""
import collections
import gzip
import json
import os
import subprocess

import lib

WORK = """
import json, sys, torch
import torch.profiler
MODE = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 30 * 30, 10))
data, target = torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
criterion, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters())

def train():
    optimizer.zero_grad()
    with torch.profiler.record_function("forward"):
        loss = criterion(model(data), target)
    loss.backward()
    optimizer.step()

train()
"""
ROWS = """
def rows(prof, **how):
    return sorted([row.key, row.count, *([json.dumps(row.input_shapes)] if how else []), row.cpu_memory_usage, row.self_cpu_memory_usage]
                  for row in prof.key_averages(**how))
"""
STEPS = WORK + ROWS + """
collected = []
with torch.profiler.profile(schedule=torch.profiler.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2),
                            on_trace_ready=lambda prof: collected.append([prof.step_num, rows(prof)])) as prof:
    for _ in range(10):
        train()
        prof.step()
print(json.dumps([torch.profiler.profile.__module__, collected]))
"""
SHAPES = WORK + ROWS + """
with torch.profiler.profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
    train()
table = prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_memory_usage", row_limit=-1, header="A header")
with torch.autograd.profiler.profile() as old:
    torch.square(data)
def events(found):
    return sorted([event.name, event.cpu_parent.name if event.cpu_parent else "", json.dumps(event.input_shapes or []), event.cpu_memory_usage,
                   event.self_cpu_memory_usage, event.device_memory_usage, event.device_time_total, str(event.device_type),
                   event.sequence_nr, bool(event.is_user_annotation), len(event.kernels), event.is_async, event.node_id, event.cpu_time_str[-1]] for event in found)
print(json.dumps([torch.profiler.profile.__module__, [rows(prof, group_by_input_shape=True), rows(old), table.split("\\n")[:4], events(prof.events()), events(old.function_events),
                  [[row.key, row.is_user_annotation, str(row.device_type), row.cpu_time_total_str[-1]] for row in prof.key_averages()]]]))
"""

COMPILED = WORK + ROWS + """
@torch.compile(backend="eager")
def compiled(data):
    return torch.square(data).sum() + data.mean()

compiled(data)
with torch.profiler.profile() as prof:
    for _ in range(3):
        compiled(data)
print(json.dumps([torch.profiler.profile.__module__, rows(prof)]))
"""
# Each item says which process made it, with one operator.
LOADER = """
import json, os, sys, torch

class Items(torch.utils.data.Dataset):
    def __len__(self):
        return 20
    def __getitem__(self, index):
        torch.square(torch.ones(3))
        return torch.tensor([os.getpid()])

def main():
    torch.square(torch.ones(3))
    loader = torch.utils.data.DataLoader(Items(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1])
    makers = [os.getpid()]
    with torch.profiler.profile() as prof:
        for batch in loader:
            makers += batch.flatten().tolist()
    print(json.dumps([makers, sorted({row.key for row in prof.key_averages()} & {"aten::square", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"})]))

if __name__ == "__main__":
    main()
"""


class Torch(lib.Case):
    def setUp(self):
        super().setUp()
        self.need_torch()
        self.python = lib.trace.TORCH_PYTHON

    def both(self, text):
        """What the program finds with torch's profiler, and with ours."""
        program = self.write("program.py", text)
        own = json.loads(self.run_python(program, "torch", path=()).splitlines()[-1])
        ours = json.loads(self.run_python("-m", "tacho", program, "tacho").splitlines()[-1])
        self.assertEqual((own[0].split(".")[0], ours[0].split(".")[0]), ("torch", "tacho"))
        return own[1], ours[1]

    def test_steps(self):
        own, ours = self.both(STEPS)
        self.assertEqual(ours, own)

    def test_shapes_and_memory(self):
        own, ours = self.both(SHAPES)
        self.assertEqual(ours[0], own[0])
        self.assertEqual(ours[1], own[1])
        self.assertEqual(ours[2], own[2], "the head of the table")
        self.assertEqual(ours[3], own[3], "events")
        self.assertEqual(ours[4], own[4], "events of the older profiler")
        self.assertEqual(sorted(ours[5]), sorted(own[5]), "rows")

    def test_compiled(self):
        """What torch marks for its own profiler alone (docs/python.md) is missing, and nothing else."""
        own, ours = self.both(COMPILED)
        self.assertIn("aten::square", [row[0] for row in own])
        self.assertEqual(ours, [row for row in own if row[0] != "Pregraph bytecode"])

    def test_workers(self):
        """Operators of DataLoader's processes are in the report under the process that ran them; the table of the program's own profiler
        has those of its own process, as torch's."""
        for method in ("fork", "spawn"):
            report = self.profile(self.python, self.write("program.py", LOADER), method, options=["-t", "nvtx", "--pytorch=replace"])
            makers, own = json.loads(self.output.stdout.splitlines()[-1])
            self.assertEqual(len(set(makers)), 3, method)
            self.assertEqual(own, ["enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"], method)
            squares = report.rows("SELECT globalTid >> 24 & 0xffffff FROM TACHO_TORCH_OP JOIN StringIds ON id = nameId WHERE value = 'aten::square'")
            self.assertEqual(collections.Counter(pid for pid, in squares), collections.Counter(makers), method)

    def test_alone(self):
        """In a process that knows nothing of tacho until torch has run: the same."""
        program = WORK + ROWS + """
if MODE == "tacho":
    import tacho
    profile = tacho.profile
else:
    profile = torch.profiler.profile
with profile() as first:
    train()
with profile(record_shapes=True, profile_memory=True) as second:
    train()
print(json.dumps([rows(first), rows(second, group_by_input_shape=True)]))
"""
        path = self.write("program.py", program)
        own, ours = (json.loads(self.run_python(path, mode).splitlines()[-1]) for mode in ("torch", "tacho"))
        self.assertEqual(ours[0], own[0])
        self.assertEqual(ours[1], own[1])

    def test_stacks(self):
        """An operator has the frames that Python itself says it was called from; one of the engine's own thread has none."""
        program = WORK + """
import inspect
def frames(frame):
    while frame is not None:
        yield f"{frame.f_code.co_filename}({frame.f_lineno}): {frame.f_code.co_name}"
        frame = frame.f_back
def called(data):
    return torch.square(data), list(frames(inspect.currentframe()))
import tacho
with tacho.profile(with_stack=True) as prof:
    truth = [called(data)[1] for _ in range(2)] + [(lambda: called(data)[1])()]
found = [event.stack for event in prof.events() if event.name == "aten::square"]
table = prof.key_averages(group_by_stack_n=2).table(row_limit=-1)
prof.export_stacks("stacks.txt", "self_cpu_time_total")
print(json.dumps([found, truth, "Source Location" in table]))
"""
        for command in ([], ["-m", "tacho"]):
            found, truth, has_column = json.loads(self.run_python(*command, self.write("program.py", program), "tacho").splitlines()[-1])
            self.assertEqual(found, truth, command)
            self.assertTrue(has_column)
            with open(self.path("stacks.txt"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"(?m)program\.py\(\d+\):_called \d+$")

    def test_modules(self):
        """The trace has the modules that torch's own has, with as many calls, and operators in them."""
        program = self.write("program.py", WORK + """
with torch.profiler.profile(with_stack=True) as prof:
    for _ in range(2):
        train()
prof.export_chrome_trace(MODE + ".json")
compiled = torch.compile(model, backend="eager", fullgraph=True) if hasattr(torch, "compile") else model
with torch.profiler.profile(with_modules=True) as prof:
    print(json.dumps(torch.equal(compiled(data), model(data))))
""")
        for mode, how in (("torch", ()), ("tacho", ("-m", "tacho"))):
            self.assertEqual(self.run_python(*how, program, mode).splitlines()[-1], "true", mode)
        def modules(trace):
            done = subprocess.run([lib.TACHO, "stats", "-q", "-r", "torch_module_sum", "-f", "json", self.path(trace)], capture_output=True, text=True, check=True)
            return sorted((row["Module"], row["Calls"], row["Operators"]) for row in json.loads(done.stdout))
        own, ours = modules("torch.json"), modules("tacho.json")
        self.assertIn("Linear_0", [name for name, *_ in own])
        self.assertEqual(ours, own)

    def test_memory_timeline(self):
        """What was taken and given back is what torch's own trace says; in what form, torch's documentation."""
        program = self.write("program.py", WORK + """
with torch.profiler.profile(profile_memory=True) as prof:
    train()
if MODE == "torch":
    prof.export_chrome_trace("trace.json")
else:
    for name in ("m.html", "m.json", "m.json.gz", "m.raw.json.gz"):
        prof.export_memory_timeline(name, device="cpu")
""")
        self.run_python(program, "torch")
        self.run_python("-m", "tacho", program, "tacho")
        with open(self.path("trace.json"), encoding="utf-8") as file:
            own = [event["args"]["Bytes"] for event in json.load(file)["traceEvents"] if event.get("name") == "[memory]"]
        with gzip.open(self.path("m.raw.json.gz"), "rt") as file:
            raw = json.load(file)
        created = sorted(size for _, action, size, category in raw if action == 1 and category == 7)
        self.assertEqual(created, sorted(size for size in own if size > 0))
        self.assertEqual(sorted(size for _, action, size, _ in raw if action == 3), sorted(size for size in own if size < 0))
        with open(self.path("m.json"), encoding="utf-8") as plain, gzip.open(self.path("m.json.gz"), "rt") as packed:
            times, sizes = json.load(plain)
            self.assertEqual(json.load(packed), [times, sizes])
        self.assertEqual(times, sorted(times))
        self.assertEqual({len(row) for row in sizes}, {9})
        self.assertEqual(sum(sizes[-1]), sum(size for _, _, size, _ in raw))
        self.assertGreaterEqual(min(min(row) for row in sizes), 0)
        with open(self.path("m.html"), encoding="utf-8") as file:
            self.assertIn("<svg", file.read())

    def test_all_that_a_script_can_call(self):
        """What the rest of torch's interface does under its own profiler, or a sentence that says why not."""
        out = self.run_python("-m", "tacho", self.write("program.py", WORK + """
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile
observer = ExecutionTraceObserver()
observer.register_callback("et.json")
with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer, acc_events=True, custom_trace_id_callback=lambda: "mine",
             post_processing_timeout_s=5.0, experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True)) as prof:
    torch.square(data)
    prof.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    torch.cos(data)
    prof.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    torch.sin(data)
with open("et.json") as file:
    print("aten::square" in file.read())
rows = {row.key for row in prof.key_averages(include_python_functions=True)}
print(rows >= {"aten::square", "aten::sin"}, "aten::cos" in rows, prof.get_trace_id())
events = prof.events()
print(sum(row.count for row in events.key_averages(group_by_input_shapes=True)) == len(events), "self_cpu_time_total" in events.supported_export_stacks_metrics())
print([getattr(events[0], name) for name in ("flops", "fwd_thread", "trace_name", "device_index")], events[0].device_resource_id == events[0].thread)
first, second = prof.key_averages()[:2]
print(first.count + second.count == first.add(second).count)
bare = torch.profiler._KinetoProfile(activities=[ProfilerActivity.CPU])
bare.start(); torch.square(data); bare.stop()
print(bare.profiler is not None, "aten::square" in {event.name for event in bare.events()})
try:
    bare.export_memory_timeline("m.json")
except ValueError as error:
    print(error)
"""), "tacho")
        self.assertEqual(out.splitlines(), ["True", "True False mine", "True True", "[None, None, None, -1] True", "True", "True True",
                                            "no memory events were recorded: use profile(profile_memory=True)"])
        for sentence in ("profile(acc_events=True) has no effect", "key_averages(include_python_functions=True) has no effect"):
            self.assertEqual(self.complaints.count(sentence), 1, self.complaints)

    def test_exports(self):
        """torch's own handler writes our trace, packed and plain."""
        self.run_python("-m", "tacho", self.write("program.py", WORK + """
with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler("log", "worker", use_gzip=True)) as prof:
    train()
prof.add_metadata_json("hyper", '{"lr": 0.1}')
prof.export_chrome_trace("trace.json")
"""), "tacho")
        with open(self.path("trace.json"), encoding="utf-8") as file:
            trace = json.load(file)
        self.assertEqual(trace["hyper"], {"lr": 0.1})
        self.assertIn("aten::addmm", {event["name"] for event in trace["traceEvents"]})
        packed, = os.listdir(self.path("log"))
        self.assertRegex(packed, r"^worker\.\d+\.pt\.trace\.json\.gz$")
        done = subprocess.run([lib.TACHO, "ops", "--row-limit", "-1", self.path("log/" + packed)], capture_output=True, text=True)
        self.assertIn("aten::addmm", done.stdout)


if __name__ == "__main__":
    lib.main()
