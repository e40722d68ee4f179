/* Counters of the CPU and the kernel: names as perf has them, or their numbers in the lists that "help" shows. */
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/cpu_event_sum.h"
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "collect/sources/perf/counter_rows.h"
#include "scope.h"

struct counters_source_settings {
    int scope_given;
    enum collect_scope scope;
    uint32_t os, core, metrics; /* bits by place in the option's list; a metric sets the bits of its counters */
    int help_os, help_core, help_metrics;
    uint32_t interval_ms;
};

enum { LEAST_INTERVAL_MS = 1, MOST_INTERVAL_MS = 1000 };

/* The part of collect_counters that an option is about. */
struct counters_source_part {
    const char *option;
    size_t first, count;
};
static const struct counters_source_part os_part = { "os-events", 0, COLLECT_COUNTERS_OS };
static const struct counters_source_part core_part = { "cpu-core-events", COLLECT_COUNTERS_OS,
                                                       COLLECT_COUNTERS - COLLECT_COUNTERS_OS };

static struct counters_source_settings *counters_source_settings(struct profile_settings *settings)
{
    return profile_source_settings(settings, &cmd_source_counters);
}

static int take_scope(void *settings, const char *value, struct error *err)
{
    counters_source_settings(settings)->scope_given = 1;
    return scope_read("event-sample", value, &counters_source_settings(settings)->scope, err);
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

/* The place of a name or number among `count` names; -1: there is none. */
static int counters_source_find(const char *text, size_t count, const char *(*name_of)(size_t place))
{
    uint64_t number;

    if (option_read_number(text, 0, UINT64_MAX, &number) == 0)
        return number < count ? (int)number : -1;
    for (size_t i = 0; i < count; i++)
        if (strcmp(name_of(i), text) == 0)
            return (int)i;
    return -1;
}

static const char *os_name(size_t place)
{
    return collect_counters[place].name;
}
static const char *core_name(size_t place)
{
    return collect_counters[COLLECT_COUNTERS_OS + place].name;
}
static const char *metric_name(size_t place)
{
    return cpu_metrics[place].name;
}

/* Sets the bit of each item's place; "none" is no item, and "help" asks for the list of what there is. */
static int take_list(const char *option, const char *value, size_t count, const char *(*name_of)(size_t place),
                     uint32_t *places, int *help, struct error *err)
{
    char **names = option_split(value, NULL);
    int code = 0;

    if (!names)
        return error_no_memory(err);
    *places = 0;
    for (char **name = names; *name; name++) {
        int place = counters_source_find(*name, count, name_of);
        if (strcmp(*name, "help") == 0)
            *help = 1;
        else if (place >= 0)
            *places |= 1u << place;
        else if (strcmp(*name, "none") != 0) {
            code = error_set(err, ERR_BAD_ARGUMENT, "unknown name '%s' in --%s; --%s=help lists the names", *name,
                             option, option);
            goto free_names;
        }
    }
free_names:
    free(names);
    return code;
}

static int take_os(void *settings, const char *value, struct error *err)
{
    struct counters_source_settings *counters = counters_source_settings(settings);

    return take_list(os_part.option, value, os_part.count, os_name, &counters->os, &counters->help_os, err);
}

static int take_core(void *settings, const char *value, struct error *err)
{
    struct counters_source_settings *counters = counters_source_settings(settings);

    return take_list(core_part.option, value, core_part.count, core_name, &counters->core, &counters->help_core, err);
}

static int take_metrics(void *settings, const char *value, struct error *err)
{
    struct counters_source_settings *counters = counters_source_settings(settings);
    uint32_t places;
    int code = take_list("cpu-core-metrics", value, CPU_METRICS, metric_name, &places, &counters->help_metrics, err);

    if (code != 0)
        return code;
    counters->metrics = 0;
    for (size_t i = 0; i < CPU_METRICS; i++)
        if (places >> i & 1)
            for (size_t j = 0; j < core_part.count; j++)
                if (strcmp(core_name(j), cpu_metrics[i].of) == 0 || strcmp(core_name(j), cpu_metrics[i].per) == 0)
                    counters->metrics |= 1u << j;
    return 0;
}

static int take_interval(void *settings, const char *value, struct error *err)
{
    static const struct option_range interval = { "event-sampling-interval", "milliseconds", 1, MOST_INTERVAL_MS };

    return option_range_read_small(&interval, value, &counters_source_settings(settings)->interval_ms, err);
}

static int counters_source_take_frequency(void *settings, const char *value, struct error *err)
{
    static const struct option_range range = { "event-sampling-frequency", "reads per second", 1,
                                               1000 / LEAST_INTERVAL_MS };
    uint64_t frequency;
    int code = option_range_read(&range, value, &frequency, err);

    counters_source_settings(settings)->interval_ms = code ? 0 : 1000 / (uint32_t)frequency;
    return code;
}

/* ---- help ------------------------------------------------------------------------------------------------------ */

static void list_part(struct text *out, const struct counters_source_part *part)
{
    text_addf(out, "--%s takes a list of these, by name or number:\n\n", part->option);
    for (size_t i = 0; i < part->count; i++) {
        const struct collect_counter *event = &collect_counters[part->first + i];
        int with_kernel, error = collect_counter_probe(event, 0, &with_kernel);
        text_addf(out, "  %2zu  %-24s %s", i, event->name, event->about);
        text_addf(out,
                  error         ? "\n      %-24s not available: %s\n"
                  : with_kernel ? "\n"
                                : "; user space only\n",
                  "", error ? collect_counter_refusal(event, error) : "");
    }
    text_add_char(out, '\n');
}

static void list_metrics(struct text *out)
{
    text_add(out, "--cpu-core-metrics takes a list of these, by name or number:\n\n");
    for (size_t i = 0; i < CPU_METRICS; i++)
        text_addf(out, "  %2zu  %-24s %s / %s\n", i, cpu_metrics[i].name, cpu_metrics[i].of, cpu_metrics[i].per);
    text_add_char(out, '\n');
}

static void counters_source_list_values(struct profile_settings *settings, struct text *out)
{
    const struct counters_source_settings *counters = counters_source_settings(settings);

    if (counters->help_os)
        list_part(out, &os_part);
    if (counters->help_core)
        list_part(out, &core_part);
    if (counters->help_metrics)
        list_metrics(out);
}

/* ---- what it comes to ------------------------------------------------------------------------------------------ */

static uint32_t counters_source_bits_of(const char *const *names)
{
    uint32_t bits = 0;

    for (; *names; names++)
        for (size_t i = 0; i < COLLECT_COUNTERS; i++)
            bits |= strcmp(collect_counters[i].name, *names) == 0 ? 1u << i : 0;
    return bits;
}

static int counters_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    static const char *const usual[] = { "page-faults", "context-switches", "cpu-migrations",
                                         "cycles",      "instructions",     NULL };
    const struct counters_source_settings *counters = counters_source_settings(settings);
    uint32_t asked = counters->os | (counters->core | counters->metrics) << COLLECT_COUNTERS_OS;

    if (counters->scope_given && counters->scope == COLLECT_SCOPE_NONE) {
        if (asked)
            text_add(&settings->warnings, "no events are counted: --event-sample is none\n");
        return 0;
    }
    if (!asked && !counters->scope_given) {
        if (counters->interval_ms)
            text_add(&settings->warnings,
                     "--event-sampling-interval has no effect: add --event-sample, --os-events or --cpu-core-events\n");
        return 0;
    }
    collect->counters = (struct collect_counter_options){
        .scope = counters->scope_given ? counters->scope : COLLECT_SCOPE_TREE,
        .events = asked ? asked : counters_source_bits_of(usual),
        .by_default = asked ? 0 : counters_source_bits_of(usual),
        .interval_ms = counters->interval_ms,
    };
    return 0;
}

static const char *counters_source_leave_host(struct collect_options *collect)
{
    if (collect->counters.scope != COLLECT_SCOPE_SYSTEM)
        return NULL;
    collect->counters = (struct collect_counter_options){ .scope = COLLECT_SCOPE_NONE };
    return "event counters";
}

/* clang-format off */
static const struct option counters_source_options[] = {
    { .name = "event-sample", .kind = OPTION_CUSTOM, .value = "SCOPE", .words = SCOPE_WORDS,
      .take = take_scope,
      .help = "Count kernel and CPU events of: process-tree (the program and its descendants), system-wide, none. "
              "Default: process-tree if one of the next three options is given, else none." },
    { .name = "os-events", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_os,
      .help = "Kernel events to count, by name or number (`help` lists them)." },
    { .name = "cpu-core-events", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_core,
      .help = "CPU core events to count, by name or number (`help` lists them)." },
    { .name = "cpu-core-metrics", .kind = OPTION_CUSTOM, .value = "LIST", .take = take_metrics,
      .help = "CPU core metrics to record the events of, by name or number (`help` lists them)." },
    { .name = "event-sampling-interval", .kind = OPTION_CUSTOM, .value = "MS", .take = take_interval,
      .help = "Read the event counters every MS ms, 1 to 1000. Default: 10." },
    { .name = "event-sampling-frequency", .kind = OPTION_CUSTOM, .value = "HZ",
      .take = counters_source_take_frequency, .hidden = 1,
      .help = "Old spelling of --event-sampling-interval." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_table counters_source_tables[] = {
    { "counters", "PMU_EVENT_COUNTERS" },
    { 0 },
};

const struct cmd_source cmd_source_counters = {
    .options = counters_source_options,
    .settings_bytes = sizeof(struct counters_source_settings),
    .list_values = counters_source_list_values,
    .finish = counters_source_finish,
    .leave_host = counters_source_leave_host,
    .tables = counters_source_tables,
};
