/* nvtx_sum, nvtx_pushpop_sum and nvtx_startend_sum: time in NVTX ranges, by name.
 *
 * One pass over the table. Domains may be named after the ranges in them, or in a chunk that another worker reads, so
 * ranges are first grouped by the number of their domain and joined by its name once all names are known. A range
 * that was still open when the capture ended counts up to the last moment of the table, as in nsys. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/group.h"
#include "analyze/engine/summary_partial.h"
#include "analyze/model/nvtx_fold.h"
#include "analyze/model/ranges.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { RANGE_KEY_NAME, RANGE_KEY_DOMAIN, RANGE_KEY_STYLE, RANGE_KEY_PROCESS };

struct open_range {
    struct group_key key;
    int64_t start_ns;
};

struct range_scan {
    struct groups *groups;
    int styles; /* RANGE_ bits of the requested ranges */
    struct filter filter;
    struct nvtx_fold fold;

    pthread_mutex_t lock;    /* guards the members below, which change rarely */
    struct nvtx_domains domains;
    struct open_range *open; /* owned */
    size_t open_count, open_capacity;
    int64_t last_ns;         /* last moment of the table, or of the whole set if this is a part of one */
};

static int nvtx_sum_add_domain(struct range_scan *scan, const struct report_block *block, size_t row)
{
    pthread_mutex_lock(&scan->lock);
    int code = nvtx_domains_take(&scan->domains, block, row);
    pthread_mutex_unlock(&scan->lock);
    return code;
}

static int add_open(struct range_scan *scan, const struct group_key *key, int64_t start_ns)
{
    pthread_mutex_lock(&scan->lock);
    int failed = array_reserve(&scan->open, &scan->open_capacity, scan->open_count + 1, sizeof *scan->open);
    if (!failed)
        scan->open[scan->open_count++] = (struct open_range){ *key, start_ns };
    pthread_mutex_unlock(&scan->lock);
    return failed ? ERR_NO_MEMORY : 0;
}

static int nvtx_sum_visit(void *context, int worker, const struct report_block *block)
{
    struct range_scan *scan = context;
    const int64_t *starts = block->values[NVTX_START], *ends = block->values[NVTX_END];

    for (size_t row = 0; row < block->rows; row++) {
        int is_open = block_is_null(block, NVTX_END, row);
        int64_t end = is_open ? starts[row] : ends[row];
        int style = range_style(block->values[NVTX_TYPE][row]) & scan->styles;
        if (!style) {
            if (block->values[NVTX_TYPE][row] == EVENT_NVTX_DOMAIN_CREATE && nvtx_sum_add_domain(scan, block, row) != 0)
                return ERR_NO_MEMORY;
            continue;
        }
        if (!filter_thread(&scan->filter, block->values[NVTX_THREAD][row], starts[row], is_open ? INT64_MAX : end))
            continue;
        int64_t domain = block_is_null(block, NVTX_DOMAIN, row) ? 0 : block->values[NVTX_DOMAIN][row];
        int64_t process = domain ? global_process(block->values[NVTX_THREAD][row]) : 0;
        struct group_key key = { { nvtx_name(block, row), domain, style, process } };
        int code = is_open ? add_open(scan, &key, starts[row])
                           : groups_add(scan->groups, worker, &key, saturating_duration(starts[row], end));
        if (code != 0)
            return code;
    }
    return 0;
}

struct range_labels {
    const struct nvtx_fold *fold;
    struct text label;
};

static struct summary_text name_of_group(struct range_labels *labels, const struct group *group)
{
    nvtx_fold_label(&labels->label, labels->fold, group->key.part[RANGE_KEY_DOMAIN], group->key.part[RANGE_KEY_NAME]);
    return (struct summary_text){ text_string(&labels->label), labels->label.length };
}

static void nvtx_sum_label(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    texts[0] = name_of_group(context, group);
}

static void label_with_style(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    const char *style = range_style_name((uint32_t)group->key.part[RANGE_KEY_STYLE]);

    texts[0] = (struct summary_text){ style, strlen(style) };
    texts[1] = name_of_group(context, group);
}

/* "a:b" may be the range b in the domain a, or a range of that name in none. */
static struct summary_text nvtx_sum_identify(void *context, const struct group *group)
{
    const struct range_labels *labels = context;
    struct summary_text domain = { "", 0 };

    if (group->key.part[RANGE_KEY_DOMAIN] != NVTX_NO_NAME)
        domain.bytes = report_string(labels->fold->report, group->key.part[RANGE_KEY_DOMAIN], &domain.length);
    return domain;
}

/* Replaces the number of a domain by its name, and folds that of the range. */
static void name_group(void *context, struct group_key *key)
{
    struct range_scan *scan = context;
    int64_t domain = key->part[RANGE_KEY_DOMAIN];

    key->part[RANGE_KEY_DOMAIN] = domain ? nvtx_domain_name(&scan->domains, key->part[RANGE_KEY_PROCESS], domain)
                                         : NVTX_NO_NAME;
    key->part[RANGE_KEY_PROCESS] = 0;
    key->part[RANGE_KEY_NAME] = nvtx_fold_name(&scan->fold, key->part[RANGE_KEY_NAME]);
}

static int add_open_ranges(struct range_scan *scan)
{
    for (size_t i = 0; i < scan->open_count; i++)
        if (groups_add(scan->groups, 0, &scan->open[i].key,
                       saturating_duration(scan->open[i].start_ns, scan->last_ns)) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* Groups all ranges; those that are still open after the scan count up to the last moment. */
static int nvtx_sum_group_ranges(struct range_scan *scan, struct report *report, struct error *err)
{
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    int columns[NVTX_COLUMNS], code;

    if (!scan->groups)
        return ERR_NO_MEMORY;
    nvtx_columns(table, columns);
    if ((code = report_scan(report, table, columns, NVTX_COLUMNS, NULL, nvtx_sum_visit, scan, err)) != 0)
        return code;
    return add_open_ranges(scan);
}

struct nvtx_sum_choice {
    int styles;
    struct summary_shape shape;
};

static int nvtx_sum_summarize(struct report *report, const struct analysis_request *request, const void *as,
                              struct table **out, struct error *err)
{
    const struct nvtx_sum_choice *choice = as;
    struct range_scan scan = {
        .groups = groups_new(report_workers(report)),
        .styles = choice->styles,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .last_ns = report_table(request->share ? request->share->whole : report, "NVTX_EVENTS")->last_ns
    };
    struct range_labels labels = { .fold = &scan.fold };
    struct group *groups;
    size_t count;
    int code;

    if ((code = nvtx_fold_open(&scan.fold, report, request, err)) != 0)
        goto done;
    if ((code = filter_open(&scan.filter, report, request, err)) != 0)
        goto done;
    code = nvtx_sum_group_ranges(&scan, report, err);
    if (code == ERR_NO_MEMORY)
        error_short_memory(err, "to group the ranges");
    if (code != 0)
        goto done;
    if (scan.open_count)
        analysis_share_bind(request->share);
    nvtx_domains_sort(&scan.domains);
    if ((code = groups_finish(scan.groups, name_group, &scan, &groups, &count, err)) != 0)
        goto done;
    if (scan.fold.failed && (code = error_short_memory(err, "for the names of ranges")) != 0)
        goto done;
    code = summary_deliver(request, &choice->shape, groups, count, &labels, out, err);
done:
    filter_close(&scan.filter);
    nvtx_fold_close(&scan.fold);
    text_free(&labels.label);
    nvtx_domains_free(&scan.domains);
    free(scan.open);
    groups_delete(scan.groups);
    return code;
}

static const struct nvtx_sum_choice all_choice = {
    RANGE_PUSHPOP | RANGE_STARTEND, { "Instances", { "Style", "Range" }, label_with_style, 0, nvtx_sum_identify }
};
#define RANGES { "Instances", { "Range" }, nvtx_sum_label, 0, nvtx_sum_identify }
static const struct nvtx_sum_choice pushpop_choice = { RANGE_PUSHPOP, RANGES };
static const struct nvtx_sum_choice startend_choice = { RANGE_STARTEND, RANGES };

static const char *const nvtx_sum_tables[] = { "NVTX_EVENTS", NULL };
const struct analysis analysis_nvtx_sum = {
    .name = "nvtx_sum",
    .title = "NVTX Range Summary",
    .usage = NVTX_FOLD_USAGE,
    .help = "Time in NVTX ranges (push/pop and start/end) by name. Ranges nest and overlap, so the shares refer to the "
            "sum of all ranges, not to wall time. fold: merge the calls of an operator (emit_nvtx) into one row.",
    .needs = { { "NV Tools Extension (NVTX) data", nvtx_sum_tables } },
    .by_default = 1,
    .overlap = "ranges contain each other",
    .for_people = NVTX_FOLD_FOR_PEOPLE,
    .run_as = nvtx_sum_summarize,
    .as = &all_choice,
    .divides = &all_choice.shape,
};

const struct analysis analysis_nvtx_pushpop_sum = {
    .name = "nvtx_pushpop_sum",
    .title = "NVTX Push/Pop Range Summary",
    .usage = NVTX_FOLD_USAGE,
    .help = "Time in NVTX push/pop ranges, by name. fold: as in nvtx_sum.",
    .needs = { { "NV Tools Extension (NVTX) data", nvtx_sum_tables } },
    .overlap = "ranges contain each other",
    .for_people = NVTX_FOLD_FOR_PEOPLE,
    .run_as = nvtx_sum_summarize,
    .as = &pushpop_choice,
    .divides = &pushpop_choice.shape,
};

const struct analysis analysis_nvtx_startend_sum = {
    .name = "nvtx_startend_sum",
    .title = "NVTX Start/End Range Summary",
    .help = "Time in NVTX start/end ranges, by name.",
    .needs = { { "NV Tools Extension (NVTX) data", nvtx_sum_tables } },
    .overlap = "ranges contain each other",
    .run_as = nvtx_sum_summarize,
    .as = &startend_choice,
    .divides = &startend_choice.shape,
};
