/* OS calls: how short a call may be, and which calls have a call stack. */
#include <stdlib.h>

#include "base/human.h"
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/profile/profile_settings.h"
#include "osrt_summary.h"

#define LONGEST_NS UINT64_C(1000000000000000000) /* 30 years; in ticks of any counter it still fits */
enum { LARGEST_STACK_BYTES = 65528, DEEPEST = 1024 };

struct osrt_source_settings {
    uint64_t threshold_ns, backtrace_ns;
    uint32_t backtrace_bytes, backtrace_depth;
};
static const struct osrt_source_settings osrt_source_defaults = { .threshold_ns = 1000,
                                                                  .backtrace_ns = 80000,
                                                                  .backtrace_bytes = 16384 };

static struct osrt_source_settings *osrt_source_settings(void *settings)
{
    return profile_source_settings(settings, &cmd_source_osrt);
}

static int take_threshold(void *settings, const char *value, struct error *err)
{
    if (option_read_number(value, 0, LONGEST_NS, &osrt_source_settings(settings)->threshold_ns) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--osrt-threshold must be a number of nanoseconds, not '%s'", value);
    return 0;
}

static int osrt_source_read_number(const char *option, const char *unit, const char *value, uint64_t most,
                                   uint64_t *number, struct error *err)
{
    if (option_read_number(value, 0, most, number) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a number of %s up to %llu, not '%s'", option, unit,
                         (unsigned long long)most, value);
    return 0;
}

static int take_backtrace_threshold(void *settings, const char *value, struct error *err)
{
    return osrt_source_read_number("osrt-backtrace-threshold", "nanoseconds", value, LONGEST_NS,
                                   &osrt_source_settings(settings)->backtrace_ns, err);
}

static int take_depth(void *settings, const char *value, struct error *err)
{
    uint64_t number;
    int failed = osrt_source_read_number("osrt-backtrace-depth", "frames", value, DEEPEST, &number, err);

    if (failed)
        return failed;
    osrt_source_settings(settings)->backtrace_depth = (uint32_t)number;
    if (number == 0)
        osrt_source_settings(settings)->backtrace_bytes = 0;
    return 0;
}

static int take_stack_size(void *settings, const char *value, struct error *err)
{
    uint64_t number;
    int failed = osrt_source_read_number("osrt-backtrace-stack-size", "bytes", value, LARGEST_STACK_BYTES, &number,
                                         err);

    if (!failed)
        osrt_source_settings(settings)->backtrace_bytes = (uint32_t)number;
    return failed;
}

static int osrt_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct osrt_source_settings *osrt = osrt_source_settings(settings);

    collect->osrt_threshold_ns = osrt->threshold_ns;
    collect->osrt_backtrace_ns = osrt->backtrace_ns;
    collect->osrt_backtrace_bytes = osrt->backtrace_bytes;
    collect->osrt_backtrace_depth = osrt->backtrace_depth;
    return 0;
}

/* clang-format off */
static const struct option osrt_source_options[] = {
    { .name = "osrt-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = take_threshold,
      .help = "Record OS calls that take at least NS ns; count shorter ones. 0 records all. Default: 1000." },
    { .name = "osrt-backtrace-threshold", .kind = OPTION_CUSTOM, .value = "NS", .take = take_backtrace_threshold,
      .help = "Record a backtrace for OS calls that take at least NS ns. Default: 80000." },
    { .name = "osrt-backtrace-stack-size", .kind = OPTION_CUSTOM, .value = "BYTES", .take = take_stack_size,
      .help = "Copy at most BYTES of the stack for such a backtrace, up to 65528; 0 turns these backtraces off. "
              "Default: 16384." },
    { .name = "osrt-backtrace-depth", .kind = OPTION_CUSTOM, .value = "FRAMES", .take = take_depth,
      .help = "Keep at most FRAMES frames of such a backtrace, up to 1024; 0 turns these backtraces off. Default: all "
              "frames." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace osrt_source_traces[] = { { .name = "osrt", .by_default = BY_DEFAULT }, { 0 } };

static void osrt_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "Hooks time the blocking and I/O calls of libc and pthread; LD_PRELOAD loads them.");
}

static const struct doctor_examination osrt_source_examinations[] = { { "OS calls", osrt_source_look }, { 0 } };

static void add_threshold(struct text *out, const char *value)
{
    human_time(out, strtoll(value, NULL, 10));
}

static const struct cmd_source_label osrt_source_labels[] = { { "OSRT_THRESHOLD_NS", "Threshold", add_threshold },
                                                              { 0 } };

static const struct cmd_source_table osrt_source_tables[] = {
    { "osrt", "OSRT_API" },
    { 0 },
};

const struct cmd_source cmd_source_osrt = {
    .events = WIRE_BIT(OSRT),
    .traces = osrt_source_traces,
    .options = osrt_source_options,
    .settings = &osrt_source_defaults,
    .settings_bytes = sizeof osrt_source_defaults,
    .finish = osrt_source_finish,
    .examinations = osrt_source_examinations,
    .labels = osrt_source_labels,
    .tables = osrt_source_tables,
    .summary = &osrt_summary,
};
