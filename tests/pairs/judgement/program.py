"""What the programs of the judgement set share: their base class, how they are run and timed, and a stand-in for a GPU.

    python3 vision.py Distillation             run the faulty program, for a profiler
    python3 vision.py Distillation fixed       run the program with all faults repaired
    python3 vision.py Distillation 2           run it with the second fault repaired
    python3 vision.py Distillation all         time the faulty program and each repair in turn; µs per step as JSON
    JUDGE_HOST=cpu python3 vision.py …         the same with tiny sizes on the CPU, to see that the programs work
    JUDGE_HOST=cpu python3 vision.py A,B,      the programs A and B, one after the other"""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.dirname(HERE))
# What `fetch` brought comes last: a host's own packages fit each other.
sys.path += [folder for folder in os.environ.get("JUDGE_PACKAGES", "").split(":") if folder]
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")

import torch
from torch.overrides import TorchFunctionMode

import pair

ON_CPU = os.environ.get("JUDGE_HOST") == "cpu"
ROUNDS, ROUND_SECONDS, FEWEST, MOST = 7, 0.12, 4, 40  # of bare runs
SKIPPED = 77


def size(on_gpu, on_cpu):
    """A size of a program: the second is only there to see that the program works."""
    return on_cpu if ON_CPU else on_gpu


# ---- a stand-in for a GPU ----

class HostEvent:
    def __init__(self, **_):
        self.time = 0.0

    def record(self, *_):
        self.time = time.perf_counter()

    def elapsed_time(self, end):
        return (end.time - self.time) * 1000

    def wait(self, *_):
        pass

    synchronize = wait


class HostStream:
    def __init__(self, *_, **__):
        pass

    def wait_stream(self, _):
        pass

    wait_event = wait_stream


class OnHost(TorchFunctionMode):
    """Takes "cuda" for "cpu" in all functions of PyTorch."""

    @staticmethod
    def place(value):
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        return "cpu" if isinstance(value, str) and value.startswith("cuda") else value

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name == "pin_memory":
            return args[0]
        if name == "cuda":
            return args[0]
        if name == "record_stream":
            return None
        return function(*map(self.place, args), **{key: self.place(value) for key, value in (kwargs or {}).items()})


def stand_in():
    torch.cuda.Event, torch.cuda.Stream = HostEvent, HostStream
    torch.cuda.current_stream = HostStream
    torch.cuda.stream = lambda _: contextlib.nullcontext()
    torch.cuda.synchronize = lambda *_: None
    torch.set_num_threads(1)
    OnHost().__enter__()
    pair.STEPS, pair.LEAD = 3, 1


if ON_CPU:
    stand_in()


def captured(step):
    """The step as a CUDA graph; on the CPU the step itself."""
    if ON_CPU:
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


# ---- programs ----

class Program(pair.Pair):
    """A program with `faults` faults. fixed: False, True (all), or the number of the one fault that is repaired. needs: packages that
    PyTorch does not bring. A program without a planted fault has the family "clean"; in carried.py fixed is one of its `rules`, whose
    finding is carried out."""

    family = None
    needs = ()
    rules = ()

    def repaired(self, number=1):
        return self.fixed is True or (self.fixed is not False and self.fixed == number)


def variants(kind):
    """What is timed: {name: fixed}."""
    if kind.family == "clean":
        return {"faulty": False, **{rule: rule for rule in kind.rules}}
    each = {str(number): number for number in range(1, kind.faults + 1)} if kind.faults > 1 else {}
    return {"faulty": False, **each, "fixed": True}


def build_all(kind):
    """All variants. A finding whose code does not run on this host is left out."""
    programs = {}
    for name, fixed in variants(kind).items():
        try:
            programs[name] = kind(fixed)
            if kind.rules:
                pair.timed(programs[name], 3, 1)  # compiles
        except Exception:
            programs.pop(name, None)
            if not kind.rules:
                raise
            traceback.print_exc()
    return programs


def time_all(programs):
    """µs per step of all variants, in rounds that take turns."""
    if ON_CPU:
        return {name: [pair.timed(program, 2, 1)] for name, program in programs.items()}
    counts, times = {}, {name: [] for name in programs}
    for name, program in programs.items():
        pair.timed(program, pair.LEAD, 2)
        counts[name] = max(FEWEST, min(MOST, int(ROUND_SECONDS * 1e6 / pair.timed(program, FEWEST + 2, 2))))
    for _ in range(ROUNDS):
        for name, program in programs.items():
            times[name].append(pair.timed(program, counts[name] + 2, 2))
    return times


def missing(kind):
    return [name for name in kind.needs if not importlib.util.find_spec(name)]


def versions(kind):
    """{package: version} of PyTorch and of what the program needs."""
    names = importlib.metadata.packages_distributions()
    return {name: importlib.metadata.version(names[name][0]) for name in ("torch", *kind.needs) if name in names}


def try_each(module, names):
    """Times the programs on the CPU, each in a process of its own, but PyTorch is loaded once. Prints a line of JSON for each."""
    for name in names:
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            try:
                main(module, name, "all")
            except Exception:
                traceback.print_exc()
                os._exit(1)
            sys.stdout.flush()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        print(json.dumps({"name": name, "status": status}), flush=True)


def follow_main_thread():
    """Moves the threads that started before the turn, such as that of autograd, to the cores of the one that took it."""
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread), os.sched_getaffinity(0))


def main(module, name, what="faulty"):
    if ON_CPU and "," in name:
        try_each(module, name.strip(",").split(","))
        return
    kind = pair.pairs_of(module)[name]
    lacking = missing(kind)
    if lacking:
        print(f"skipped: {name} needs {', '.join(lacking)}", flush=True)
        os._exit(SKIPPED)
    found = versions(kind)
    programs = build_all(kind) if what == "all" and kind.rules else None  # torch.compile takes long: others have the GPU meanwhile
    pair.take_turn()
    if what == "all":
        if programs:
            follow_main_thread()
        print(json.dumps({"times": time_all(programs or build_all(kind)), "versions": found}))
        return
    fixed = {"faulty": False, "fixed": True}[what] if what in ("faulty", "fixed") else what if what in kind.rules else int(what)
    start = time.perf_counter()
    step_us = pair.timed(kind(fixed), pair.STEPS, pair.LEAD)
    print(json.dumps({"step": step_us, "seconds": time.perf_counter() - start}))


def run(module_name):
    if module_name == "__main__":
        main(sys.modules["__main__"], *sys.argv[1:])
