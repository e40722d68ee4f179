/* CPU sampling and context switches. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "collect/process/program_file.h"
#include "samples_doctor.h"
#include "samples_info.h"
#include "samples_summary.h"
#include "scope.h"

enum { LEAST_PERIOD = 10000, MOST_FREQUENCY = 100000, MOST_PER_BACKTRACE = 32, LEAST_STACK = 512, MOST_STACK = 65528 };
#define MOST_PERIOD UINT64_C(100000000000)

static struct collect_samples_options *samples_source_settings(void *settings)
{
    return profile_source_settings(settings, &cmd_source_samples);
}

static int samples_source_take_sample(void *settings, const char *value, struct error *err)
{
    samples_source_settings(settings)->samples_asked = 1;
    return scope_read("sample", value, &samples_source_settings(settings)->samples, err);
}

static int take_switches(void *settings, const char *value, struct error *err)
{
    samples_source_settings(settings)->switches_asked = 1;
    return scope_read("cpuctxsw", value, &samples_source_settings(settings)->switches, err);
}

static int samples_source_take_backtrace(void *settings, const char *value, struct error *err)
{
    static const struct {
        const char *name;
        enum collect_backtrace backtrace;
    } backtraces[] = {
        { "dwarf", COLLECT_BACKTRACE_DWARF },
        { "fp", COLLECT_BACKTRACE_FP },
        { "lbr", COLLECT_BACKTRACE_LBR },
        { "none", COLLECT_BACKTRACE_NONE },
    };

    for (size_t i = 0; i < COUNT_OF(backtraces); i++)
        if (strcmp(backtraces[i].name, value) == 0) {
            samples_source_settings(settings)->backtrace = backtraces[i].backtrace;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT, "--backtrace must be dwarf, fp, lbr or none, not '%s'", value);
}

static int take_period(void *settings, const char *value, struct error *err)
{
    static const struct option_range period = { "sampling-period", "events", LEAST_PERIOD, MOST_PERIOD };

    return option_range_read(&period, value, &samples_source_settings(settings)->period, err);
}

static int samples_source_take_frequency(void *settings, const char *value, struct error *err)
{
    static const struct option_range frequency = { "sampling-frequency", "samples per second", 1, MOST_FREQUENCY };

    return option_range_read_small(&frequency, value, &samples_source_settings(settings)->frequency, err);
}

static int take_samples_per_backtrace(void *settings, const char *value, struct error *err)
{
    static const struct option_range samples = { "samples-per-backtrace", "samples", 1, MOST_PER_BACKTRACE };

    return option_range_read_small(&samples, value, &samples_source_settings(settings)->samples_per_backtrace, err);
}

static int take_stack_size(void *settings, const char *value, struct error *err)
{
    static const struct option_range bytes = { "backtrace-stack-size", "bytes", LEAST_STACK, MOST_STACK };

    return option_range_read_small(&bytes, value, &samples_source_settings(settings)->stack_bytes, err);
}

/* Advice needs lines. Python programs have samples of their own, which cost their threads nothing. */
static enum collect_scope scope_of_advice(const struct collect_options *collect)
{
    struct program_file program;
    struct error unused;
    int status;
    int is_found = collect->argv && collect->argv[0] &&
                   program_file_find(&program, collect->argv[0], getenv("PATH"), &status, &unused) == 0;

    return is_found && program_file_has_gpu_code(program.path) ? COLLECT_SCOPE_TREE : COLLECT_SCOPE_NONE;
}

static int samples_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    struct collect_samples_options cpu = *samples_source_settings(settings);

    if (!cpu.samples_asked)
        cpu.samples = settings->advise ? scope_of_advice(collect) : COLLECT_SCOPE_TREE;
    if (!cpu.switches_asked)
        cpu.switches = cpu.samples;
    if (cpu.period && cpu.frequency)
        text_add(&settings->warnings, "--sampling-frequency has no effect: --sampling-period is given\n");
    collect->cpu = cpu;
    return 0;
}

static const char *samples_source_leave_host(struct collect_options *collect)
{
    struct collect_samples_options *cpu = &collect->cpu;
    int samples = cpu->samples == COLLECT_SCOPE_SYSTEM, switches = cpu->switches == COLLECT_SCOPE_SYSTEM;

    if (samples)
        cpu->samples = COLLECT_SCOPE_NONE;
    if (switches)
        cpu->switches = COLLECT_SCOPE_NONE;
    if (samples && switches)
        return "CPU samples and context switches";
    return samples ? "CPU samples" : switches ? "context switches" : NULL;
}

/* clang-format off */
static const struct option samples_source_options[] = {
    { .name = "sample", .letter = 's', .kind = OPTION_CUSTOM, .value = "SCOPE", .words = SCOPE_WORDS,
      .take = samples_source_take_sample,
      .help = "Sample the CPU call stacks of: process-tree (the program and its descendants), system-wide, none. "
              "Default: process-tree; with --advise only for programs that contain GPU code, else none." },
    { .name = "backtrace", .letter = 'b', .kind = OPTION_CUSTOM, .value = "HOW",
      .words = OPTION_WORDS("dwarf", "fp", "lbr", "none"),
      .take = samples_source_take_backtrace,
      .help = "Method to unwind the call stack of a sample: dwarf (call frame information), fp (frame pointers), lbr "
              "(last branch records of Intel CPUs), none. Default: dwarf." },
    { .name = "sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ", .take = samples_source_take_frequency,
      .help = "Take HZ CPU samples per second of CPU time, 1 to 100000. Default: 1000." },
    { .name = "sampling-period", .kind = OPTION_CUSTOM, .value = "EVENTS", .take = take_period,
      .help = "Take a CPU sample every EVENTS CPU cycles, or ns where the CPU cannot count cycles, instead of "
              "--sampling-frequency. At least 10000." },
    { .name = "samples-per-backtrace", .kind = OPTION_CUSTOM, .value = "N",
      .take = take_samples_per_backtrace,
      .help = "Record a backtrace with one of every N samples, 1 to 32; the other samples have only an address. "
              "Default: 1." },
    { .name = "backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES", .take = take_stack_size,
      .help = "Copy at most BYTES of the stack with each sample for --backtrace=dwarf, 512 to 65528. Default: 65528, "
              "less where ulimit -l keeps the ring buffers small." },
    { .name = "cpuctxsw", .kind = OPTION_CUSTOM, .value = "SCOPE", .words = SCOPE_WORDS,
      .take = take_switches,
      .help = "Record context switches of: process-tree (the program and its descendants), system-wide, none. Default: "
              "the value of --sample." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_table samples_source_tables[] = {
    { "samples", "COMPOSITE_EVENTS" },
    { "switches", "SCHED_EVENTS" },
    { 0 },
};

const struct cmd_source cmd_source_samples = {
    .events = WIRE_BIT(SAMPLES),
    .options = samples_source_options,
    .settings = &(struct collect_samples_options){ .backtrace = COLLECT_BACKTRACE_DWARF },
    .settings_bytes = sizeof(struct collect_samples_options),
    .finish = samples_source_finish,
    .leave_host = samples_source_leave_host,
    .examinations = samples_examinations,
    .tables = samples_source_tables,
    .info = samples_info,
    .summary = &samples_summary,
};
