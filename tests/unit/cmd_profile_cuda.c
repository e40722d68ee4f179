/* What `tacho profile` makes of the options for CUDA and its libraries: nsys's, their old spellings,
 * and values that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile_line.h"
#include "wire/wire_cuda.h"
#include "wire/wire_libraries.h"

static int free_settings(void **state)
{
    free_line();
    return 0;
}

static void expect(const char *line)
{
    if (parse(line) != 0)
        fail_msg("%s: %s", line, err.text);
}

static void expect_no_warning(const char *line)
{
    expect(line);
    assert_string_equal(text_string(&warnings), "");
}

static void defaults(void **state)
{
    expect_no_warning("p");
    assert_int_equal(settings.collect.sources, WIRE_BIT(CUDA) | WIRE_BIT(NVTX) | WIRE_BIT(OSRT) | WIRE_BIT(TORCH) |
                                                   WIRE_BIT(STEPS) | WIRE_BIT(OPENMP) | WIRE_BIT(MPI));
    assert_int_equal(settings.collect.libraries, 0);
    assert_int_equal(settings.collect.cuda_flags, WIRE_CUDA_FLUSH_ON_STOP);
    assert_int_equal(settings.collect.cuda_flush_interval_ms, 0);
    assert_int_equal(settings.collect.cuda_backtrace_groups, 0);
}

/* The command lines of three tutorials for nsys, with tacho for nsys. */
static void command_lines_of_tutorials(void **state)
{
    static const char *const lines[] = {
        "-w true -t cuda,nvtx,osrt,cudnn,cublas -s process-tree --capture-range=cudaProfilerApi "
        "--capture-range-end=stop --cudabacktrace=all -x true -o wait -f true python wait_stream.py",
        "-w true -t cuda,nvtx,osrt,cudnn,cublas, -s cpu --capture-range=cudaProfilerApi --capture-range-end=stop "
        "--cudabacktrace=all -x true -o resnet18 -f true python resnet18.py",
        "-w true -t cuda,nvtx,osrt,cudnn,cublas -s cpu -o nsight_report -f true --capture-range=cudaProfilerApi "
        "--stop-on-range-end=true --cudabacktrace=true --cudabacktrace-threshold=10000 --osrt-threshold=10000 -x true "
        "python script.py",
        "python main.py",
    };
    static const uint64_t thresholds[] = { 80000, 80000, 10000, 0 };
    static const enum collect_range_end ends[] = { COLLECT_END_STOP, COLLECT_END_STOP, COLLECT_END_STOP_SHUTDOWN,
                                                   COLLECT_END_STOP_SHUTDOWN };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        int is_long = i < 3;
        expect(lines[i]);
        assert_int_equal(program_count, 2);
        assert_string_equal(program[0], "python");
        assert_int_equal(settings.collect.sources,
                         WIRE_BIT(CUDA) | WIRE_BIT(NVTX) | WIRE_BIT(OSRT) |
                             (is_long ? WIRE_BIT(LIBRARIES)
                                      : WIRE_BIT(TORCH) | WIRE_BIT(STEPS) | WIRE_BIT(OPENMP) | WIRE_BIT(MPI)));
        assert_int_equal(settings.collect.libraries,
                         is_long ? WIRE_LIBRARY_BIT(WIRE_LIBRARY_CUDNN) | WIRE_LIBRARY_BIT(WIRE_LIBRARY_CUBLAS) : 0);
        assert_int_equal(settings.collect.range, is_long ? COLLECT_RANGE_API : COLLECT_RANGE_NONE);
        assert_int_equal(settings.collect.range_end, ends[i]);
        assert_int_equal(settings.collect.cuda_backtrace_groups != 0, is_long);
        assert_int_equal(settings.collect.cuda_backtrace_ns, thresholds[i]);
        assert_string_equal(text_string(&warnings), "");
    }
}

static void names_for_cuda(void **state)
{
    expect_no_warning("-t cuda p");
    assert_int_equal(settings.collect.sources, WIRE_BIT(CUDA));
    expect_no_warning("-t cuda-hw,nvtx p");
    assert_int_equal(settings.collect.sources, WIRE_BIT(CUDA) | WIRE_BIT(NVTX));
    expect_no_warning("-t cuda-sw p");
    assert_int_equal(settings.collect.sources, WIRE_BIT(CUDA));
    assert_int_equal(parse("-t cudaa p"), ERR_BAD_ARGUMENT);
    assert_string_equal(err.text, "unknown name 'cudaa' in --trace; did you mean cuda?");
}

static void libraries(void **state)
{
    expect_no_warning("-t cublas,cusolver-verbose,nccl p");
    assert_int_equal(settings.collect.sources, WIRE_BIT(LIBRARIES));
    assert_int_equal(settings.collect.libraries,
                     WIRE_LIBRARY_BIT(WIRE_LIBRARY_CUBLAS) | WIRE_LIBRARY_BIT(WIRE_LIBRARY_CUSOLVER) |
                         WIRE_LIBRARY_VERBOSE(WIRE_LIBRARY_CUSOLVER) | WIRE_LIBRARY_BIT(WIRE_LIBRARY_NCCL));
    expect_no_warning("-t cublas -t cusparse,cudnn-verbose p"); /* the last -t counts */
    assert_int_equal(settings.collect.libraries, WIRE_LIBRARY_BIT(WIRE_LIBRARY_CUSPARSE) |
                                                     WIRE_LIBRARY_BIT(WIRE_LIBRARY_CUDNN) |
                                                     WIRE_LIBRARY_VERBOSE(WIRE_LIBRARY_CUDNN));
}

static void flags(void **state)
{
    static const struct {
        const char *line;
        uint32_t flags;
    } cases[] = {
        { "--cuda-graph-trace=node p", WIRE_CUDA_GRAPH_NODES | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-graph-trace=node:host-only p", WIRE_CUDA_GRAPH_NODES | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-graph-trace graph p", WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-graph-trace=node --cuda-graph-trace=graph:host-only p", WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-event-trace=true p", WIRE_CUDA_EVENTS | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-event-trace=auto p", WIRE_CUDA_EVENTS | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-event-trace=false p", WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-memory-usage=true p", WIRE_CUDA_MEMORY | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-memory-usage true --cuda-memory-usage=false p", WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-um-cpu-page-faults=true p", WIRE_CUDA_CPU_FAULTS | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-um-gpu-page-faults=true p", WIRE_CUDA_GPU_FAULTS | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-trace-all-apis=true p", WIRE_CUDA_ALL_CALLS | WIRE_CUDA_FLUSH_ON_STOP },
        { "--cuda-trace-all-apis p", WIRE_CUDA_ALL_CALLS | WIRE_CUDA_FLUSH_ON_STOP },
        { "--flush-on-cudaprofilerstop=false p", 0 },
        { "--cuda-yield p", WIRE_CUDA_YIELD | WIRE_CUDA_FLUSH_ON_STOP },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect_no_warning(cases[i].line);
        if (settings.collect.cuda_flags != cases[i].flags)
            fail_msg("%s: flags are %u, not %u", cases[i].line, settings.collect.cuda_flags, cases[i].flags);
        assert_int_equal(program_count, 1);
    }
    expect_no_warning("--cuda-flush-interval=250 p");
    assert_int_equal(settings.collect.cuda_flush_interval_ms, 250);
    expect("--cuda-graph-trace=graph:host-and-device p");
    assert_non_null(strstr(text_string(&warnings), "has the effect of host-only"));
}

static void backtraces(void **state)
{
    expect_no_warning("--cudabacktrace=all p");
    uint32_t all = settings.collect.cuda_backtrace_groups, sum = 0;
    static const char *const lines[] = { "--cudabacktrace=kernel p", "--cudabacktrace=memory p",
                                         "--cudabacktrace=sync p", "--cudabacktrace other p" };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        expect_no_warning(lines[i]);
        assert_int_not_equal(settings.collect.cuda_backtrace_groups, 0);
        assert_int_equal(settings.collect.cuda_backtrace_groups & sum, 0); /* each group is its own */
        assert_int_equal(settings.collect.cuda_backtrace_ns, 80000);
        sum |= settings.collect.cuda_backtrace_groups;
    }
    assert_int_equal(sum, all);
    expect_no_warning("--cudabacktrace=true p");
    assert_int_equal(settings.collect.cuda_backtrace_groups, all);
    static const char *const nothing[] = { "--cudabacktrace=none p", "--cudabacktrace=false p",
                                           "--cudabacktrace=all --cudabacktrace=none p" };
    for (size_t i = 0; i < COUNT_OF(nothing); i++) {
        expect_no_warning(nothing[i]);
        assert_int_equal(settings.collect.cuda_backtrace_groups, 0);
    }
}

static void thresholds_of_backtraces(void **state)
{
    static const struct {
        const char *line;
        uint64_t ns;
        int warns;
    } cases[] = {
        { "--cudabacktrace=kernel:500 p", 500, 0 },
        { "--cudabacktrace=all:0 p", 0, 0 },
        { "--cudabacktrace=kernel:500,sync:500 p", 500, 0 },
        { "--cudabacktrace=kernel:500,sync:9000 p", 500, 1 },
        { "--cudabacktrace=kernel:500,sync p", 500, 1 },
        { "--cudabacktrace=kernel:90000,sync p", 80000, 1 },
        { "--cudabacktrace-threshold=7 --cudabacktrace=kernel p", 7, 0 },
        { "--cudabacktrace=true --cudabacktrace-threshold 7 p", 7, 0 },
        { "--cudabacktrace=kernel:500 --cudabacktrace-threshold=7 p", 500, 0 }, /* its own counts */
        { "--cudabacktrace=kernel:500 --cudabacktrace=sync:600 p", 600, 0 },    /* the last one counts */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect(cases[i].line);
        if (settings.collect.cuda_backtrace_ns != cases[i].ns)
            fail_msg("%s: the threshold is %llu", cases[i].line,
                     (unsigned long long)settings.collect.cuda_backtrace_ns);
        assert_int_equal(strstr(text_string(&warnings), "one threshold for all groups") != NULL, cases[i].warns);
    }
}

/* One sentence that names the option and what was wrong with its value. */
static void wrong_values(void **state)
{
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "--cuda-graph-trace=nodes p", "--cuda-graph-trace must be graph or node, optionally followed by :host-only "
                                        "or :host-and-device, not 'nodes'" },
        { "--cuda-graph-trace=node:device p", "--cuda-graph-trace must be graph or node, optionally followed by "
                                              ":host-only or :host-and-device, not 'node:device'" },
        { "--cuda-event-trace=perhaps p", "--cuda-event-trace must be auto, true or false, not 'perhaps'" },
        { "--cuda-flush-interval=1s p",
          "--cuda-flush-interval must be a number of milliseconds, at most an hour, not '1s'" },
        { "--cuda-flush-interval=-1 p",
          "--cuda-flush-interval must be a number of milliseconds, at most an hour, not '-1'" },
        { "--cuda-flush-interval=99999999999999999999 p",
          "--cuda-flush-interval must be a number of milliseconds, at most an hour, not '99999999999999999999'" },
        { "--cuda-memory-usage=much p", "--cuda-memory-usage must be true or false, not 'much'" },
        { "--cuda-yield=maybe p", "--cuda-yield must be true or false, not 'maybe'" },
        { "--cudabacktrace=kernels p",
          "--cudabacktrace must be all, none, or a list of kernel, memory, sync and other, not 'kernels'" },
        { "--cudabacktrace=kernel:x p", "the threshold in --cudabacktrace must be a number of nanoseconds, not 'x'" },
        { "--cudabacktrace=kernel: p", "the threshold in --cudabacktrace must be a number of nanoseconds, not ''" },
        { "--cudabacktrace=, p",
          "--cudabacktrace needs a value: all, none, or a list of kernel, memory, sync and other" },
        { "--cudabacktrace-threshold=80us p", "--cudabacktrace-threshold must be a number of nanoseconds, not '80us'" },
        { "--cuda-graphtrace=node p", "unknown option --cuda-graphtrace; did you mean --cuda-graph-trace?" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(parse(cases[i].line), ERR_BAD_ARGUMENT);
        assert_string_equal(err.text, cases[i].sentence);
    }
}

static void without_cuda_they_have_no_effect(void **state)
{
    expect("-t nvtx --cudabacktrace=all --cuda-memory-usage=true p");
    assert_string_equal(text_string(&warnings), "the CUDA options have no effect: add cuda to --trace\n");
    expect_no_warning("-t nvtx p");
    expect_no_warning("-t nvtx --cuda-event-trace=false --cudabacktrace=none p");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(command_lines_of_tutorials),
        cmocka_unit_test(names_for_cuda),
        cmocka_unit_test(libraries),
        cmocka_unit_test(flags),
        cmocka_unit_test(backtraces),
        cmocka_unit_test(thresholds_of_backtraces),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(without_cuda_they_have_no_effect),
    };

    return cmocka_run_group_tests(tests, NULL, free_settings);
}
