"""`tacho ncu PROGRAM` without a GPU: the program runs as it would alone, ncu's options are taken or refused with a sentence, and nothing is
left behind. What is counted is tested on a GPU (tests/gpu)."""

import os
import subprocess
import sys
import tempfile

import lib
from lib import check, output, refusal, run

os.environ["TACHO_CUPTI"] = "nothing.so"  # whatever this machine has
NO_CUPTI = "tacho ncu: Kernels are not counted. TACHO_CUPTI names nothing.so, which cannot be loaded.\n"
NONE = NO_CUPTI + "tacho ncu: no kernel was counted\n"


def the_program_is_as_alone():
    got = run("ncu", "--csv", "sh", "-c", "echo out; echo err >&2; exit 3")
    check("status, notes and output", (3, "err\n" + NONE, "out\n"), got)
    got = run("ncu", "--cache-control", "none", "--quiet", "sh", "-c", "kill -TERM $$")
    check("a signal ends tacho too", (-15, "", ""), got)
    check("a program that is not there", 127, run("ncu", "--quiet", "./nothing")[0])
    check("nothing is left", [], os.listdir(os.environ["TMPDIR"]))


def the_report_is_kept_with_o():
    check("nothing else is printed", (0, NO_CUPTI, ""), run("ncu", "--cache-control=none", "-o", "kernels", "/bin/true"))
    assert os.path.exists("kernels.tacho")
    said = run("ncu", "--cache-control=none", "-o", "kernels", "/bin/true")
    check("a report that exists", (1, "tacho ncu: 'kernels.tacho' exists already: choose another name, or overwrite it with -f\n", ""), said)
    check("overwritten", (0, NO_CUPTI, ""), run("ncu", "--cache-control=none", "-f", "-o", "kernels", "/bin/true"))
    check("a page that was asked for", (0, NONE, ""), run("ncu", "--cache-control=none", "-f", "-o", "kernels", "--page", "raw", "/bin/true"))


def command_of(*options):
    """The command line of `tacho profile` that the report was made by."""
    output("ncu", "--quiet", "-f", "-o", "made", *options, "/bin/true")
    line, = [line for line in output("info", "made.tacho").splitlines() if line.startswith("Command ")]
    return line.split(None, 1)[1]


def what_is_counted():
    start = "tacho profile -q -s none -t cuda -f true -o made --gpu-counters "
    for options, counted in (([], "basic"), (["--set", "full"], "full"), (["--set", "full", "--section", "Occupancy"], "full,Occupancy"),
                             (["--metrics", "sm__cycles_active.avg,dram__bytes.sum"], "sm__cycles_active.avg,dram__bytes.sum"),
                             (["--metrics", r"regex:^sm__inst\w+"], "'regex:^sm__inst\\\\w+'")):
        check(f"counted with {options}", start + counted + " /bin/true", command_of(*options))
    check("NVTX", start.replace("-t cuda", "-t cuda,nvtx") + "basic /bin/true", command_of("--nvtx"))
    check("replay", start + "basic --gpu-counters-replay=application /bin/true", command_of("--replay-mode", "application"))
    check("a limit", start + "basic --gpu-counters-max-time=1.5 /bin/true", command_of("--max-time", "1.5"))
    check("from the program's call on", start + "basic --capture-range=cudaProfilerApi --capture-range-end=repeat /bin/true",
          command_of("--profile-from-start", "off"))
    got = command_of("--range-filter", "no:[1-3],5:").removesuffix("…")
    wanted = start.replace("-t cuda", "-t cuda,nvtx") + "basic --gpu-counters-range c1-3,5 --capture-range=cudaProfilerApi --capture-range-end=repeat"
    check("ranges of cudaProfilerStart()", wanted[:len(got)], got)
    for options, rules in ((["--nvtx-include", "step/"], [r"'ip\tstep'"]), (["--nvtx-include", "step"], [r"'is\tstep'"]),
                           (["--nvtx-include", "My domain@step/"], [r"'ipMy domain\tstep'"]), (["--nvtx-include", r"a\[i\]/"], [r"'ip\ta[i]'"]),
                           (["--nvtx-exclude", "a/", "--nvtx-include", "b/"], [r"'ip\tb'", r"'ep\ta'"]),
                           (["--nvtx-include", "b", "--range-filter", "::[2-3],7"], [r"'is\tb'", "n2-3,7"])):
        got = command_of("--nvtx", *options).removesuffix("…")  # info cuts long lines
        wanted = start.replace("-t cuda", "-t cuda,nvtx") + "basic " + "".join(f"--gpu-counters-range {rule} " for rule in rules) + "/bin/true"
        check(f"in ranges, with {options}", wanted[:len(got)], got)
        assert rules[-1][:-1] in got, got


def filters():
    def lines(*options):
        line = command_of(*options)
        return line.split(" --gpu-counters-filter ", 1)[1].removesuffix(" /bin/true").strip("'").replace("\\n", "\n").split()

    for options, expected in (
            (["-k", "gemm"], ["kernel=gemm", "collective=1"]), (["-k", "regex:gemm"], ["kernel=regex:gemm"]),
            (["-k", "regex:nccl"], ["kernel=regex:nccl", "collective=1"]),
            (["-k", "regex:gemm", "-s", "2", "-c", "3", "--launch-skip-before-match=4"], ["kernel=regex:gemm", "skip=2", "count=3", "skip-before=4"]),
            (["--kernel-id", "::foo:2"], ["kernel-id=::foo:2"]), (["--kernel-id", "::regex:a|b:"], ["kernel-id=::regex:a|b:"]),
            (["--devices", "0,2"], ["device=0", "device=2"]), (["--device", "1"], ["device=1"]),
            (["--filter-mode", "per-gpu", "-c", "1"], ["filter-mode=per-gpu", "count=1"]),
            (["-k", "_Z1fv", "--kernel-name-base", "mangled"], ["kernel=_Z1fv", "collective=1", "base=mangled"])):
        check(f"filters of {options}", expected, lines(*options))


def refusals():
    for options, says in (
            (["-k", "regex:(a"], "cannot use --kernel-name 'regex:(a': a '(' has no ')'"),
            (["-k", "regex:^(?!foo)"], "cannot use --kernel-name 'regex:^(?!foo)': look-around and named groups are not supported"),
            (["--kernel-id", "1:2"], "--kernel-id must be CONTEXT:STREAM:[regex:]NAME:INVOCATION, not '1:2'"),
            (["--kernel-id", ":::[2"], "cannot use --kernel-id ':::[2': a '[' has no ']'"),
            (["-c", "0"], "--launch-count must be a whole number from 1 on, not '0'"),
            (["-s", "x"], "--launch-skip must be a whole number from 0 on, not 'x'"),
            (["--launch-skip-before-match", "-1"], "--launch-skip-before-match must be a whole number from 0 on, not '-1'"),
            (["--devices", "0,a"], "--devices must be a whole number from 0 on, not 'a'"),
            (["--kernel-name-base", "demangled"], "--kernel-name-base demangled is not supported: use function or mangled"),
            (["--replay-mode", "range"], "--replay-mode range is not supported: ranges are not replayed; use kernel or application"),
            (["--replay-mode", "app-range"], "--replay-mode app-range is not supported: ranges are not replayed; use kernel or application"),
            (["--set", "fulll"], "there is no set 'fulll' (--list-sets)"), (["--section", "X"], "there is no section 'X' (--list-sections)"),
            (["--metrics", "dram__bytes.sum,cycles"], "there is no metric 'cycles' (--query-metrics)"),
            (["--kernel-id", ":::" + "1|" * 70 + "2"], "cannot use --kernel-id ':::1|1|"),
            (["--metrics", "pmsampling:sm__cycles_active.avg"], "pmsampling:sm__cycles_active.avg is a metric over time: 'tacho profile --gpu-metrics-devices all "
                                                               "--gpu-metrics-set sm__cycles_active.avg' samples it"),
            (["--page", "source"], "--page source is not supported: 'tacho profile --pc-sampling' counts the stalls of source lines"),
            (["--max-time", "soon"], "--max-time must be a number of seconds, not 'soon'"),
            (["--import", "x.csv", "--csv"], "--import and lists take no program, not './nothing'"),
            *[(["--nvtx-include", value], "--nvtx-include takes one range, [DOMAIN@]RANGE/ (push/pop) or [DOMAIN@]RANGE (start/end), not '")
              for value in ("A/B", "A/*/B/", "[A", "A]", "A,B", "regex:A/", "D@", "", "D@A@B")],
            (["--range-filter", "::2"], "--range-filter needs --nvtx-include for instances of NVTX ranges"),
            *[(["--nvtx-include", "A/", "--range-filter", value], "--range-filter takes instances of ranges of cudaProfilerStart() and of NVTX, such as ")
              for value in ("", "2", ":", "yes::2", "::", "::x", "::1--2", "::-2", ":x:", ":1:2:3x")],
            *[([f"--{name}", "x"], f"--{name} is not supported: ") for name in (
                "mode", "hostname", "preload-library", "kill", "target-processes-filter", "nvtx-push-pop-scope", "graph-profiling", "native-include",
                "native-exclude", "python-include", "python-exclude", "range-replay-options",
                "communicator")]):
        said = refusal("ncu", "--quiet", *options, "./nothing")
        assert said.startswith("tacho ncu: " + says), said
    check("nothing is left", [], os.listdir(os.environ["TMPDIR"]))


def a_report_is_no_program():
    for name in ("made.tacho", "kernels.csv"):
        with open(name, "a"):
            pass
        check(f"{name} as a program", f"tacho ncu: '{name}' is a report, not a program: print it with --import\n", refusal("ncu", name))
    check("the version", output("version"), output("ncu", "--version"))


def options_without_effect():
    for option in ("--apply-rules", "--import-source=on", "--pm-sampling-interval=1000", "--call-stack", "--warp-sampling-interval=3", "--verbose"):
        got = run("ncu", "--cache-control=none", option, "/bin/true")
        name = option.split("=")[0]
        assert got[0] == 0 and got[1].startswith(f"tacho ncu: {name} has no effect: ") and got[1].count("\n") == 3, got
    check("nothing was asked for", (0, NONE, ""), run("ncu", "--cache-control=none", "--apply-rules", "no", "/bin/true"))
    for options, says in ((["--clock-control", "base"], "clocks are not locked"), (["--target-processes", "application-only"], "kernels of all processes")):
        got = run("ncu", "--cache-control=none", *options, "/bin/true")
        assert got[0] == 0 and says in got[1], got
    check("ncu's other defaults", (0, NONE, ""), run("ncu", "--cache-control=none", "--clock-control=none", "--target-processes=all", "/bin/true"))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.mkdir("tmp")
    os.environ["TMPDIR"] = os.path.join(folder, "tmp")
    for test in (the_program_is_as_alone, the_report_is_kept_with_o, what_is_counted, filters, refusals, a_report_is_no_program, options_without_effect):
        test()
sys.exit(lib.status())
