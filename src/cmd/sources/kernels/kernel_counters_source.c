/* Counters of kernels: --gpu-counters names what to count of each. `tacho ncu` fills in the same options of a capture,
 * from ncu's command line. */
#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "base/nearest.h"
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"

enum { NAMES_MOST = 128 };

struct counted_source_settings {
    struct text sets, sections, metrics; /* with commas between them */
    const char *filters;                 /* lines for the agent, each ended by a line feed */
    const char *replay;
    double max_seconds;
    uint64_t max_bytes;
    struct option_list ranges;
};

static void counted_source_add_name(struct text *list, const char *name)
{
    text_addf(list, "%s%s", list->length ? "," : "", name);
}

/* The names of sets, then those of sections. */
static const char *const *known_names(void)
{
    static const char *names[NAMES_MOST + 1];
    size_t count = 0;

    for (size_t i = 0; i < COUNTER_SET_COUNT; i++)
        names[count++] = counter_sets[i].name;
    for (const struct counter_section *section = counter_sections; section->name && count < NAMES_MOST; section++)
        names[count++] = section->name;
    return names;
}

static int counted_source_take_name(struct counted_source_settings *own, const char *name, struct error *err)
{
    const char *nearest;

    if (counter_set_find(name)) {
        counted_source_add_name(&own->sets, name);
    } else if (counter_section_find(name)) {
        counted_source_add_name(&own->sections, name);
    } else if (strstr(name, "__") || strchr(name, ':')) { /* regex:, breakdown: */
        counted_source_add_name(&own->metrics, name);
    } else {
        nearest = nearest_name(name, known_names());
        return error_set(err, ERR_BAD_ARGUMENT,
                         "unknown set, section or metric '%s' in --gpu-counters%s%s%s; 'tacho ncu --list-sets', "
                         "'--list-sections' and '--query-metrics' list them",
                         name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    }
    return 0;
}

static int counted_source_take_counters(void *settings, const char *value, struct error *err)
{
    struct counted_source_settings *own = profile_source_settings(settings, &cmd_source_kernel_counters);
    size_t count = 0;
    char **names = option_split(value, &count);
    int code = 0;

    if (!names)
        return error_no_memory(err);
    if (!count)
        code = error_set(err, ERR_BAD_ARGUMENT,
                         "--gpu-counters needs a value: light, or a list of sets, sections and metrics");
    for (char **name = names; *name; name++)
        if ((code = counted_source_take_name(own, *name, err)) != 0)
            break;
    free(names);
    return code;
}

static int take_max_time(void *settings, const char *value, struct error *err)
{
    struct counted_source_settings *own = profile_source_settings(settings, &cmd_source_kernel_counters);

    return option_seconds("gpu-counters-max-time", value, &own->max_seconds, err);
}

static int take_max_size(void *settings, const char *value, struct error *err)
{
    struct counted_source_settings *own = profile_source_settings(settings, &cmd_source_kernel_counters);

    own->max_bytes = option_size(value, 1024);
    return own->max_bytes
               ? 0
               : error_set(err, ERR_BAD_ARGUMENT, "--gpu-counters-max-size must be a size such as 4G, not '%s'", value);
}

/* NULL for an empty list; the settings own it. */
static const char *kept(struct profile_settings *settings, struct text *list)
{
    return list->length ? profile_own(settings, text_take(list)) : NULL;
}

static int counted_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    struct counted_source_settings *own = profile_source_settings(settings, &cmd_source_kernel_counters);
    struct counter_options *counters = &collect->kernel_counters;

    counters->sets = kept(settings, &own->sets);
    counters->sections = kept(settings, &own->sections);
    counters->metrics = kept(settings, &own->metrics);
    if (!counters->sets && !counters->sections && !counters->metrics)
        return 0;
    if (!(collect->sources & WIRE_BIT(CUDA)))
        return error_set(err, ERR_BAD_ARGUMENT, "--gpu-counters needs CUDA: add cuda to --trace");
    if (collect->cuda_pc_mode)
        return error_set(err, ERR_BAD_ARGUMENT, "--gpu-counters and --pc-sampling exclude each other: profile twice");
    counters->filters = own->filters;
    counters->max_bytes = own->max_bytes;
    own->ranges.values[own->ranges.count < OPTION_LIST_MAX ? own->ranges.count : OPTION_LIST_MAX - 1] = NULL;
    counters->ranges = own->ranges.count ? own->ranges.values : NULL;
    counters->replay = own->replay;
    counters->max_seconds = own->max_seconds;
    return 0;
}

static void counted_source_release(void *settings)
{
    struct counted_source_settings *own = settings;

    text_free(&own->sets);
    text_free(&own->sections);
    text_free(&own->metrics);
}

#define FIELD(name) offsetof(struct counted_source_settings, name)
/* clang-format off */
static const struct option counted_source_options[] = {
    { .name = "gpu-counters", .kind = OPTION_CUSTOM, .value = "LIST", .choices = known_names,
      .take = counted_source_take_counters,
      .help = "Count hardware events of kernels: light (one pass: time, cycles, occupancy, instructions, DRAM and L2 "
              "traffic), or a list of sets, sections and metrics of `tacho ncu`. Kernels run one at a time. With "
              "several passes each kernel is replayed, and only counted kernels are recorded. Kernels of graphs and of "
              "NCCL are not counted. Default: none." },
    { .name = "gpu-counters-replay", .kind = OPTION_CHOICE, .offset = FIELD(replay), .value = "MODE",
      .words = OPTION_WORDS("kernel", "application"),
      .help = "Collect metrics that need several passes by replay of each kernel, with its memory restored (kernel), "
              "or count only what one pass can count, and refuse the rest (application); `tacho ncu --replay-mode "
              "application` repeats the program. Default: kernel, or no replay if one pass is enough." },
    { .name = "gpu-counters-max-time", .kind = OPTION_CUSTOM, .value = "SECONDS", .take = take_max_time,
      .help = "Stop counting after SECONDS; the program goes on. Default: no limit." },
    { .name = "gpu-counters-max-size", .kind = OPTION_CUSTOM, .value = "SIZE", .take = take_max_size,
      .help = "Stop counting when the counters in /tmp would take more than SIZE, such as 512M; the program goes on. "
              "Default: 4G." },
    { .name = "gpu-counters-filter", .kind = OPTION_TEXT, .offset = FIELD(filters), .value = "LINES", .hidden = 1,
      .help = "Filters of launches, one per line (set by `tacho ncu`)." },
    { .name = "gpu-counters-range", .kind = OPTION_LIST, .offset = FIELD(ranges), .value = "RULE", .hidden = 1,
      .help = "NVTX range that launches must, or must not, be in (set by `tacho ncu`)." },
    { 0 },
};
/* clang-format on */
#undef FIELD

static const struct cmd_source_table counted_source_tables[] = {
    { "kernel counters", "TACHO_KERNEL_COUNTERS" },
    { "warp samples", "TACHO_PC_SAMPLES" },
    { 0 },
};

static const struct cmd_source_subject subjects[] = {
    { "TACHO_KERNEL_COUNTERS", "stats -r kernel_speed_of_light",
      "kernels were counted one at a time, so times tell little about a run without counters: no advice on them" },
    { "TACHO_PC_SAMPLES", "stats -r kernel_stall_lines", NULL },
    { 0 },
};

const struct cmd_source cmd_source_kernel_counters = {
    .options = counted_source_options,
    .settings_bytes = sizeof(struct counted_source_settings),
    .release = counted_source_release,
    .finish = counted_source_finish,
    .tables = counted_source_tables,
    .subjects = subjects,
};
