"""tacho ncu: lists of sets, sections, chips and metrics. Metrics of chips come from the stand-in of CUPTI (tests/fake/cupti_profiler.c)."""

import os
import sys

import lib
from lib import check, output, refusal

os.environ["TACHO_CUPTI"] = os.path.join(os.environ["FAKE"], "lib", "libcupti.so.13")


def sets_are_those_of_ncu():
    text = output("ncu", "--list-sets")
    names = [line.split()[0] for line in text.splitlines() if line[:1].isalpha()][1:]
    assert names == ["light", "general", "basic", "detailed", "full", "nvlink", "pmsampling", "roofline"], names
    # Of Nsight Compute 2024.1.1, --list-sets: the sections of basic, and that it is the one that is enabled.
    basic, = [line for line in text.splitlines() if line.startswith("basic ")]
    assert {"LaunchStats", "Occupancy", "SpeedOfLight", "WorkloadDistribution"} == set(basic.replace(",", " ").split()[1:5]), basic
    assert basic.split()[5] == "yes", basic
    assert max(len(line) for line in text.splitlines()) <= 120, text


def sections_are_those_of_ncu():
    names = [line.split()[0] for line in output("ncu", "--list-sections").splitlines()[3:]]
    assert names == sorted(names), names
    text = output("ncu", "--list-sections", "--section", "Nvlink")
    lines = {line.split()[0]: line for line in text.splitlines()}
    assert lines["SpeedOfLight"].split(None, 1)[1].startswith("GPU Speed Of Light Throughput"), lines["SpeedOfLight"]
    # As Nsight Compute 2024.1.1 prints them (srsapireddy/CUDA_Programming, 04_32_a.cu)
    for name in """C2CLink ComputeWorkloadAnalysis InstructionStats LaunchStats MemoryWorkloadAnalysis MemoryWorkloadAnalysis_Chart
            MemoryWorkloadAnalysis_Tables NumaAffinity Nvlink Nvlink_Tables Nvlink_Topology Occupancy PmSampling PmSampling_WarpStates
            SchedulerStats SourceCounters SpeedOfLight SpeedOfLight_HierarchicalDoubleRooflineChart
            SpeedOfLight_HierarchicalHalfRooflineChart SpeedOfLight_HierarchicalSingleRooflineChart
            SpeedOfLight_HierarchicalTensorRooflineChart SpeedOfLight_RooflineChart WarpStateStats WorkloadDistribution""".split():
        assert name in lines, name
        assert lines[name].endswith(" yes") == (name == "Nvlink"), lines[name]


def metrics_of_a_set_are_shown_as_a_chip_has_them():
    check("ncu --list-metrics --set light --chips GB202", """\
GB202
------------------------------------------------- ----------- -----------
Metric Name                                       Metric Type Metric Unit
------------------------------------------------- ----------- -----------
gpu__time_duration.sum                            Counter     ns
gpc__cycles_elapsed.max                           Counter     cycle
sm__cycles_active.avg                             Counter     cycle
sm__warps_active.avg.pct_of_peak_sustained_active Counter     %
sm__inst_executed.sum                             Counter     inst
dram__bytes_op_read.sum                           Counter     byte
dram__bytes_op_write.sum                          Counter     byte
lts__t_sectors.sum                                Counter     sector
sm__inst_executed_pipe_tensor_subpipe_hmma.sum    Counter     inst
9 counters in 1 pass
""", output("ncu", "--list-metrics", "--set", "light", "--chips", "GB202"))
    check("a chip as ncu spells it", output("ncu", "--list-metrics", "--set", "light", "--chips", "GB202"), output("ncu", "--list-metrics", "--set", "light", "--chip", "gb202"))
    text = output("ncu", "--list-metrics", "--metrics", "sm__inst_executd.sum,sm__cycles_active", "--chip", "GH100")
    assert "sm__inst_executd.sum: GH100 has no such metric; the nearest: sm__inst_executed" in text, text
    assert "4 counters in 1 pass" in text, text
    assert output("ncu", "--list-metrics", "--set", "light").splitlines()[0] == "gpu__time_duration.sum"


def metrics_of_chips_are_listed():
    check("ncu --list-chips", "gv100, gh100, gb202\n", output("ncu", "--list-chips"))
    check("ncu --query-metrics --chips GB202 --query-metrics-collection pmsampling", """\
GB202
------------------- ----------- -----------
Metric Name         Metric Type Metric Unit
------------------- ----------- -----------
gpc__cycles_elapsed Counter     cycle
sys__cycles_elapsed Counter     cycle
sm__cycles_active   Counter     cycle
pcie__read_bytes    Counter     byte
""", output("ncu", "--query-metrics", "--chips", "GB202", "--query-metrics-collection", "pmsampling"))
    text = output("ncu", "--query-metrics", "--query-metrics-mode", "suffix", "--metrics", "lts__t_sector_hit_rate", "--chips", "GV100,GH100")
    assert text.count("lts__t_sector_hit_rate.ratio") == 2, text
    check("the chip of the first GPU", ["GH100"], output("ncu", "--query-metrics").splitlines()[:1])


def lists_may_be_longer_than_a_word_of_a_command_line():
    """Linux passes at most 128 KiB in one of them."""
    names = [f"sm__no_such_counter_{i:05}.sum" for i in range(9000)]
    lists = [word for part in range(0, 9000, 3000) for word in ("--metrics", ",".join(names[part:part + 3000]))]
    lines = output("ncu", "--list-metrics", "--chips", "GH100", "--section", "SpeedOfLight", *lists).splitlines()
    check("each is told", names, [line.split(":")[0] for line in lines if "no_such_counter" in line])
    assert any("sm__throughput" in line for line in lines), "sections, too"


def said(sentence, *arguments):
    got = refusal(*arguments)
    check(" ".join(arguments) + ": " + got, True, sentence in got)


def bad_wishes_get_a_sentence():
    said("there is no set 'nothing' (--list-sets)", "ncu", "--list-metrics", "--set", "nothing")
    said("there is no section 'nothing' (--list-sections)", "ncu", "--list-metrics", "--section", "nothing")
    said("this CUPTI does not know the counters of H100; did you mean GH100?", "ncu", "--query-metrics", "--chips", "H100")
    said("this CUPTI does not know the counters of XX100", "ncu", "--query-metrics", "--chips", "XX100")
    said("--query-metrics-mode suffix needs --metrics", "ncu", "--query-metrics", "--query-metrics-mode", "suffix", "--chips", "GH100")
    said("name a program to count, or what to print", "ncu")
    said("--chips needs the name of a chip", "ncu", "--list-metrics", "--chips", ",,")
    said("cannot write '/nowhere/log'", "ncu", "--log-file", "/nowhere/log", "touch", "ran")
    assert not os.path.exists("ran"), "the log is opened before the program runs"
    os.environ["TACHO_CUPTI"] = os.path.join(os.environ["FAKE"], "cupti-12.4", "libcupti.so.12")
    said("counters need CUPTI 12.6 or later", "ncu", "--list-chips")


for test in (sets_are_those_of_ncu, sections_are_those_of_ncu, metrics_of_a_set_are_shown_as_a_chip_has_them, metrics_of_chips_are_listed,
             lists_may_be_longer_than_a_word_of_a_command_line, bad_wishes_get_a_sentence):
    test()
sys.exit(lib.status())
