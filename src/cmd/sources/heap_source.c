/* The heap: which blocks are recorded. */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/profile/profile_settings.h"
#include "heap_summary.h"

enum { STACK_BYTES = 16384 };
#define LONGEST_RATE_BYTES (UINT64_C(1) << 40)

struct heap_source_settings {
    uint64_t rate_bytes, most_rate_bytes;
    int is_given; /* the option: it also asks for the source */
};
static const struct heap_source_settings heap_source_defaults = { .rate_bytes = 64 << 10,
                                                                  .most_rate_bytes = 512 << 10 };

static int take_rate(void *settings, const char *value, struct error *err)
{
    struct heap_source_settings *heap = profile_source_settings(settings, &cmd_source_heap);
    heap->is_given = 1;
    if (strcmp(value, "all") == 0) {
        heap->rate_bytes = heap->most_rate_bytes = 0;
        return 0;
    }
    if (option_read_number(value, 1, LONGEST_RATE_BYTES, &heap->rate_bytes) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--heap must be 'all' or a number of bytes from 1, not '%s'", value);
    heap->most_rate_bytes = heap->rate_bytes;
    return 0;
}

static int heap_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct heap_source_settings *heap = profile_source_settings(settings, &cmd_source_heap);
    collect->heap_rate_bytes = heap->rate_bytes;
    collect->heap_most_rate_bytes = heap->most_rate_bytes;
    collect->heap_stack_bytes = STACK_BYTES;
    if (heap->is_given) {
        collect->sources |= WIRE_BIT(HEAP);
        collect->requested |= WIRE_BIT(HEAP);
    }
    collect->python_blocks = (collect->sources & WIRE_BIT(HEAP)) != 0;
    return 0;
}

/* clang-format off */
static const struct option heap_source_options[] = {
    { .name = "heap", .kind = OPTION_CUSTOM, .value = "BYTES", .take = take_rate,
      .help = "Record the heap (-t heap): one allocation for each BYTES allocated bytes, on average, or all of them "
              "(all). Default: 65536, and more for threads that allocate more than 256 MiB, up to 524288." },
    { 0 },
};
/* clang-format on */

static const struct cmd_source_trace heap_source_traces[] = { { .name = "heap" }, { 0 } };

static void heap_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why, "-t heap samples what malloc() and operator new allocate, by bytes.");
}

static const struct doctor_examination heap_source_examinations[] = { { "Heap", heap_source_look }, { 0 } };

static void add_rate(struct text *out, const char *value)
{
    unsigned long long bytes = strtoull(value, NULL, 10);
    if (bytes)
        human_bytes(out, bytes);
    else
        text_add(out, "every allocation");
}

static const struct cmd_source_label heap_source_labels[] = { { "HEAP_RATE_BYTES", "Sampled every", add_rate }, { 0 } };

static const struct cmd_source_table heap_source_tables[] = {
    { "allocations", "TACHO_HEAP_ALLOCATION" },
    { "frees", "TACHO_HEAP_FREE" },
    { 0 },
};

static const struct cmd_source_subject heap_source_subjects[] = {
    { "TACHO_HEAP_ALLOCATION", "stats -r heap_sum", NULL },
    { 0 },
};

const struct cmd_source cmd_source_heap = {
    .events = WIRE_BIT(HEAP),
    .traces = heap_source_traces,
    .options = heap_source_options,
    .settings = &heap_source_defaults,
    .settings_bytes = sizeof heap_source_defaults,
    .finish = heap_source_finish,
    .examinations = heap_source_examinations,
    .labels = heap_source_labels,
    .tables = heap_source_tables,
    .summary = &heap_summary,
    .subjects = heap_source_subjects,
};
