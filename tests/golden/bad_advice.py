"""Advice on captures that no profiler makes: times at the ends of their range or running backwards, one step, nothing on the GPU, names full of control
characters. Each command ends with status 0 or 1, no step is negative, and nothing of a name is obeyed by a terminal, a page or a runner of workflows."""

import json
import os
import re
import sys
import tempfile

import lib
from lib import check, output, refusal, run

LEAST, MOST = -(1 << 63), (1 << 63) - 1
EVIL = "\x1b[31m<script>alert('x')</script>&\"::warning file=x::\r\n%0A,é"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def commands(file):
    return (["summary"], ["summary", "-f", "true", "-o", "page.html"], ["analyze"], ["analyze", "-f", "github", "--fail-if", "saving>5%"], ["analyze", "-f", "sarif"],
            ["what-if"], ["what-if", "--kernel", ".*=0.5x", "--no-wait", "all", "--no-host", "all"], ["diff", "--advice", "good.sqlite"],
            ["stats", "-f", "json", "-r", "advice_sum,rule_sum,gpu_idle_sum,step_breakdown,roofline,step_flops,torch_flops_sum,tensor_core_sum"],
            ["dlprof", "--reports=all", "--formats=csv,json", "--output_path=reports", "--force=true", f"--nsys_database={file}"], ["pyprof", "-c", "all"], ["pyprof", "-w", "100"])


def make(path, change=lambda table, row: row, steps=5, kernels=20):
    """Steps of 2 ms, each launches short kernels and waits for them."""
    made, correlation = lib.Made(path), 0
    made.add("TARGET_INFO_GPU", id=0, cuDevice=0, name="NVIDIA H200", chipName="GH100", smMajor=9, smMinor=0)

    def add(table, **row):
        row = change(table, row)
        if row:
            made.add(table, **row)

    for step in range(steps):
        start = step * 2000000
        add("NVTX_EVENTS", start=start, end=start + 1900000, eventType=59, text=f"step {step}", globalTid=1 << 24 | 1, domainId=0)
        for number in range(kernels):
            correlation, at = correlation + 1, start + 50000 * number
            add("CUPTI_ACTIVITY_KIND_RUNTIME", start=at, end=at + 5000, globalTid=1 << 24 | 1, correlationId=correlation, nameId=made.text("cudaLaunchKernel_v7000"))
            name = made.text(f"kernel{number}" if change.__name__ != "evil" else f"{EVIL}{number}")
            add("CUPTI_ACTIVITY_KIND_KERNEL", start=at + 6000, end=at + 9000, deviceId=0, contextId=1, streamId=7, correlationId=correlation, globalPid=1 << 24,
                demangledName=name, shortName=name, mangledName=name, gridX=1, gridY=1, gridZ=1, blockX=1, blockY=1, blockZ=1)
    return made.write()


def answers(file):
    return {row["Rule"]: row["Answer"] for row in lib.table("rule_sum", file)}


def at_limits(_, row):
    return {**row, "start": LEAST, "end": MOST}


def to_the_end(table, row):
    return {**row, "end": MOST} if table != "NVTX_EVENTS" else row


def from_the_beginning(table, row):
    return {**row, "start": LEAST} if table != "NVTX_EVENTS" else row


def backwards(_, row):
    return {**row, "start": row["end"], "end": row["start"]}


def at_once(_, row):
    return {**row, "start": 5, "end": 5}


def without_kernels(table, row):
    return row if not table.endswith("KERNEL") else None


def without_calls(table, row):
    return row if not table.endswith("RUNTIME") else None


def evil(table, row):
    return {**row, "text": f"step {EVIL}"} if table == "NVTX_EVENTS" else row


def check_odd_captures():
    for change in (at_limits, to_the_end, from_the_beginning, backwards, at_once, without_kernels, without_calls, evil):
        file = make(f"{change.__name__}.sqlite", change)
        for command in commands(file):
            arguments = [*command, *([file] if command[0] != "dlprof" else [])]
            status, said, shown = run(*arguments)
            check(f"status of {' '.join(arguments)}: {said[-500:]}", True, status in (0, 1))
            check(f"{' '.join(arguments)}: control characters", [], CONTROL.findall(shown))
        text = lib.summary(file)
        check(f"{file}: a step is not negative", [], re.findall(r"step -[^;]*", text))
        with open("page.html", encoding="utf-8") as page:
            check(f"{file}: the page", (False, []), ("<script" in (text := page.read()), CONTROL.findall(text)))
    without, bare = lib.summary("without_calls.sqlite"), answers("without_calls.sqlite")
    check("without calls nothing is known", (["not known"], "not checked", "no problem"),
          (re.findall(r"what to change first: ([a-z ]*),", without), bare["launch_bound"], answers("good.sqlite")["result_waits"]))
    one = lib.summary(make("one.sqlite", steps=1))
    check("one step", ["over 1 step by"], re.findall(r"over 1 steps? by", one))


def check_between_ranges():
    """Ranges around the launches alone: the wait of 1.94 ms after each belongs to the step all the same, whose time counts it. The truth is the same program with
    ranges of 5 ms, the time from one to the next."""
    saved = {}
    for length in (60000, 4999999):
        made, correlation = lib.Made(f"{length}.sqlite"), 0
        for start in range(0, 100000000, 5000000):
            made.add("NVTX_EVENTS", start=start, end=start + length, eventType=59, text=f"step {start // 5000000}", globalTid=1 << 24 | 1, domainId=0)
            for number in range(5):
                correlation += 1
                made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start + 10000 * number, end=start + 10000 * number + 5000, globalTid=1 << 24 | 1, correlationId=correlation,
                         nameId=made.text("cudaLaunchKernel_v7000"))
                made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start + 20000 + 400000 * number, end=start + 400000 + 400000 * number, deviceId=0, contextId=1, streamId=7,
                         correlationId=correlation, globalPid=1 << 24, demangledName=made.text(f"kernel{number}"), shortName=made.text(f"kernel{number}"))
            made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start + 70000, end=start + 2010000, globalTid=1 << 24 | 1, correlationId=correlation + 10000,
                     nameId=made.text("cudaDeviceSynchronize_v3020"))
        rows = lib.table("advice_sum", made.write())
        saved[length] = [(row["Rule"], row["Saves per Step (ns)"]) for row in rows if row["Confidence"]]
    check("a wait between two ranges", saved[4999999], saved[60000])
    check("what it costs", [("result_waits", True)], [(rule, 1900000 < saves < 1940000) for rule, saves in saved[60000]])


def check_clocks():
    """A GPU whose clock is 20 ms behind: no kernel can begin before its launch."""
    early = make("early.sqlite", lambda table, row: {**row, "start": row["start"] - 20000000, "end": row["end"] - 20000000} if table.endswith("KERNEL") else row)
    words = "100 of 100 kernels, copies and fills begin before the calls that launched them, by up to 20.0 ms: the GPU's clock is off"
    told = [words in re.sub(r"\s+", " ", output(*command)) for command in (["summary", early], ["stats", "-f", "human", "-r", "advice_sum", early], ["summary", "good.sqlite"])]
    check("a clock that is off", [True, True, False], told)


def check_long_warm_up():
    """30 steps of 100 ms, then 20 of 5 ms: the mean is of the latter, and the former are not passed over."""
    made, start = lib.Made("warm.sqlite"), 0
    for step in range(50):
        length = 100000000 if step < 30 else 5000000
        made.add("NVTX_EVENTS", start=start, end=start + length, eventType=59, text=f"step {step}", globalTid=1 << 24 | 1, domainId=0)
        made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=start + 5000, globalTid=1 << 24 | 1, correlationId=step + 1, nameId=made.text("cudaLaunchKernel_v7000"))
        made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start + 6000, end=start + 9000, deviceId=0, contextId=1, streamId=7, correlationId=step + 1, globalPid=1 << 24,
                 demangledName=made.text("k"), shortName=made.text("k"))
        start += length
    text = output("summary", made.write())
    check(f"a warm-up that is longer than the rest: {text}", True, "step 5.00 ms over 20 steps by ranges 'iteration N' or 'step N', after 30 that took 3.00 s" in text)
    check("a usual one", [], re.findall("that took", output("summary", "good.sqlite")))


def check_names():
    """The file and the function of a finding come from the capture."""
    events = []
    for step in range(5):
        start = step * 2000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": start, "dur": 1990})
        events.append({"ph": "X", "cat": "python_function", "name": f"{EVIL}/tr\x07ain.py(8): step{EVIL}", "pid": 1, "tid": 1, "ts": start, "dur": 1980, "args": {"Python id": step + 1}})
        for number in range(20):
            link = {"correlation": 1 + step * 20 + number, "device": 0, "stream": 7}
            at = start + 10 + 50 * number
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 5, "args": link})
            events.append({"ph": "X", "cat": "kernel", "name": f"{EVIL}{number}", "pid": 0, "tid": 7, "ts": at + 6, "dur": 3, "args": link})
    with open("evil.json", "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    lines = output("analyze", "-f", "github", "evil.json")
    first = lines.split("\n")[0]
    check("an annotation is one line without control characters", [], CONTROL.findall(lines))
    check("the file of an annotation ends where it ends", "8", re.fullmatch(r"::warning file=[^,:]*,line=(\d+),title=\w+::.*", first)[1])
    check("nothing but annotations", set(), {line.split(" ")[0] for line in lines.splitlines()} - {"::warning", "::notice"})
    document = json.loads(output("analyze", "-f", "sarif", "evil.json"))
    uri = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    check(f"sarif: {uri}", True, bool(re.fullmatch(r"[-._~/@+%0-9A-Za-z]*", uri)))
    check("on a terminal", [], CONTROL.findall(lib.summary("evil.json")))


def check_arguments():
    file = "good.sqlite"
    for factor in ("-1x", "nanx", "infx", "1e308x", "1000001x", "x", "", "0.5xx"):
        check(f"a factor of {factor}", True, "a factor from 0 to 1000000" in refusal("what-if", "--kernel", f"kernel={factor}", file))
    for pattern in ("((((.*)*)*)*)*q", "(x+x+)+y", "(a|a)*$"):
        check(f"the pattern {pattern} ends", True, run("what-if", "--kernel", f"{pattern}=0.5x", file)[0] in (0, 1))
    for condition in ("", ">", "saving", "saving>", "saving>nan%", "saving>inf%", "saving>-1%", "saving<5%", "saving>=5%", "saving>5%%", "cost>5%"):
        check(f"--fail-if '{condition}'", True, "--fail-if must be like" in refusal("analyze", "--fail-if", condition, file))
    for option in ("saving=nan", "saving=inf", "saving=-1", "saving=1e308", "saving=", "kernels=99999999999999999999", "mean=0", "share=101"):
        check(f"launch_bound:{option}", True, "use a whole number from" in refusal("analyze", "-r", f"launch_bound:{option}", file))
    os.mkdir("folder")
    check("a folder is no page", True, "folder" in refusal("summary", "-f", "true", "-o", "folder", file))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make("good.sqlite")
        check_odd_captures()
        check_between_ranges()
        check_clocks()
        check_long_warm_up()
        check_names()
        check_arguments()
        os.chdir("/")
    return lib.status()


sys.exit(main())
