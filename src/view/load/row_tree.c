/* Builds the tree of rows that is shown.
 *
 * Each row, and each group above it, gets a path: numbers that sort it. The path of a group is the beginning of the
 * paths of all rows below it. Sorted by their paths, rows are in the order in which they are shown, and the parent of a
 * row is the last group before it whose path the row's path begins with. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/gpu.h"
#include "base/array.h"
#include "event_search.h"
#include "row_labels.h"
#include "row_tree.h"

enum { PATH = 12 };
enum { FIRST = 0, THEN = 1 }; /* below a parent, groups come before single rows */

struct draft {
    int64_t path[PATH];
    int depth;              /* numbers in the path */
    struct view_row row;
    struct view_leaf *leaf; /* NULL of a group */
};

struct drafts {
    struct view *view;
    struct draft *list; /* owned */
    size_t count, capacity;
    struct keys groups; /* the paths of groups in the list, each with its depth as the last number */
    struct gpu_devices devices;
};

/* From the top: steps, GPUs, processes, CPUs, all else. */
enum { SECTION_STEPS, SECTION_GPUS, SECTION_PROCESSES, SECTION_CPUS, SECTION_OTHER };

static struct draft *add_draft(struct drafts *drafts, enum row_type type, const int64_t *path, int depth)
{
    if (array_reserve(&drafts->list, &drafts->capacity, drafts->count + 1, sizeof *drafts->list) != 0)
        return NULL;
    struct draft *draft = &drafts->list[drafts->count++];
    *draft = (struct draft){ .depth = depth,
                             .row = { .type = type,
                                      .kind = row_types[type].kind,
                                      .thread = -1,
                                      .process = -1,
                                      .device = -1,
                                      .context = -1,
                                      .stream = -1,
                                      .cpu = -1,
                                      .summary = VIEW_NO_ROW, }, };
    memcpy(draft->path, path, (size_t)depth * sizeof *path);
    return draft;
}

/* Adds a group, unless it is there already. Its ids are those of the row below it, as far as its type has them. */
static int add_group(struct drafts *drafts, enum row_type type, const int64_t *path, int depth,
                     const struct view_row *of)
{
    int64_t key[PATH] = { 0 };
    size_t before = drafts->groups.count;

    memcpy(key, path, (size_t)depth * sizeof *path);
    key[PATH - 1] = depth;
    if (keys_add(&drafts->groups, key) == NO_KEY)
        return ERR_NO_MEMORY;
    if (drafts->groups.count == before)
        return 0;
    struct draft *draft = add_draft(drafts, type, path, depth);
    if (!draft)
        return ERR_NO_MEMORY;
    draft->row.thread = type == ROW_THREAD ? of->thread : -1;
    draft->row.process = type == ROW_THREAD || type == ROW_PROCESS || type == ROW_CONTEXT ? of->process : -1;
    draft->row.device = type == ROW_GPU || type == ROW_CONTEXT ? of->device : -1;
    draft->row.context = type == ROW_CONTEXT ? of->context : -1;
    return 0;
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

/* A process's first thread comes before its others. */
static int64_t thread_order(int64_t thread)
{
    return global_tid_number(thread) == global_pid_number(thread) ? -1 : global_tid_number(thread);
}

/* Each of the following fills the ids of a row and the path down to its parent, and adds the groups above the row.
 * Returns the depth of the path, or ERR_NO_MEMORY. */

static int place_at_top(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    row->process = key[KEY_TYPE] == ROW_STEPS ? key[KEY_A] : -1;
    path[0] = key[KEY_TYPE] == ROW_STEPS ? SECTION_STEPS : SECTION_OTHER;
    return 1;
}

/* Adds the group of the GPU, for the two places below it. */
static int add_gpu(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    row->device = gpu_device_of(&drafts->devices, key[KEY_B], key[KEY_A]);
    row->process = key[KEY_B] ? key[KEY_B] : -1;
    path[0] = SECTION_GPUS;
    path[1] = row->device;
    return add_group(drafts, ROW_GPU, path, 2, row);
}

static int place_on_gpu(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    int code;

    if ((code = add_gpu(drafts, key, row, path)) != 0)
        return code;
    path[2] = THEN;
    return 3;
}

static int place_in_context(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    int code;

    if ((code = add_gpu(drafts, key, row, path)) != 0)
        return code;
    row->context = key[KEY_C];
    row->stream = key[KEY_D];
    path[2] = FIRST;
    path[3] = key[KEY_B];
    path[4] = key[KEY_C];
    if ((code = add_group(drafts, ROW_CONTEXT, path, 5, row)) != 0)
        return code;
    return 5;
}

/* Adds the group of the process, for the two places below it. */
static int add_process(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    row->process = global_process(key[KEY_A]);
    path[0] = SECTION_PROCESSES;
    path[1] = row->process;
    return add_group(drafts, ROW_PROCESS, path, 2, row);
}

static int place_in_process(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    int code;

    if ((code = add_process(drafts, key, row, path)) != 0)
        return code;
    path[2] = THEN;
    return 3;
}

static int place_on_thread(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    int code;

    if ((code = add_process(drafts, key, row, path)) != 0)
        return code;
    row->thread = key[KEY_A];
    path[2] = FIRST;
    path[3] = thread_order(row->thread);
    path[4] = row->thread;
    if ((code = add_group(drafts, ROW_THREAD, path, 5, row)) != 0)
        return code;
    return 5;
}

static int place_on_cpu(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path)
{
    int code;

    row->cpu = key[KEY_A];
    path[0] = SECTION_CPUS;
    if ((code = add_group(drafts, ROW_CPUS, path, 1, row)) != 0)
        return code;
    return 1;
}

static int (*const place_row[])(struct drafts *drafts, const int64_t *key, struct view_row *row, int64_t *path) = {
    [PLACE_TOP] = place_at_top,         [PLACE_GPU] = place_on_gpu,       [PLACE_CONTEXT] = place_in_context,
    [PLACE_PROCESS] = place_in_process, [PLACE_THREAD] = place_on_thread, [PLACE_CPU] = place_on_cpu,
};

static int add_leaf(struct drafts *drafts, struct view_leaf *leaf)
{
    const int64_t *key = keys_get(&drafts->view->row_keys, leaf->key);
    int64_t path[PATH] = { 0 };
    struct view_row of = { .thread = -1, .process = -1, .device = -1, .context = -1, .stream = -1, .cpu = -1 };
    int depth = place_row[row_types[key[KEY_TYPE]].place](drafts, key, &of, path);

    if (depth < 0)
        return depth;
    path[depth++] = key[KEY_TYPE];
    for (int part = KEY_A; part < KEY_PARTS; part++)
        path[depth++] = key[part];
    path[PATH - 1] = leaf->spill;
    struct draft *draft = add_draft(drafts, (enum row_type)key[KEY_TYPE], path, PATH);
    if (!draft)
        return ERR_NO_MEMORY;
    draft->leaf = leaf;
    draft->row.thread = of.thread;
    draft->row.process = of.process;
    draft->row.device = of.device;
    draft->row.context = of.context;
    draft->row.stream = of.stream;
    draft->row.cpu = of.cpu;
    draft->row.spill = leaf->spill;
    memcpy(draft->row.key, key, sizeof draft->row.key);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct draft *x = a, *y = b;

    for (int i = 0; i < x->depth && i < y->depth; i++)
        if (x->path[i] != y->path[i])
            return x->path[i] < y->path[i] ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void take_leaf(struct view_row *row, struct view_leaf *leaf)
{
    row->family = leaf->family;
    row->events = leaf->events;
    row->points = leaf->points;
    leaf->events = (struct view_events){ 0 };
    leaf->points = (struct view_points){ 0 };
    row->from_ns = INT64_MAX;
    row->to_ns = INT64_MIN;
    for (uint32_t lane = 0; lane < row->events.lane_count; lane++) {
        uint32_t first = row->events.lanes[lane], behind = row->events.lanes[lane + 1];
        if (first < behind && row->events.start_ns[first] < row->from_ns)
            row->from_ns = row->events.start_ns[first];
        if (first < behind && event_end(&row->events, behind - 1) > row->to_ns)
            row->to_ns = event_end(&row->events, behind - 1);
    }
    if (row->points.count) {
        row->from_ns = row->points.time_ns[0];
        row->to_ns = row->points.time_ns[row->points.count - 1];
    }
}

static int is_below(const struct draft *draft, const struct draft *group)
{
    return memcmp(draft->path, group->path, (size_t)group->depth * sizeof *group->path) == 0;
}

static int find_parent(const struct drafts *drafts, const struct view *view, size_t i)
{
    int at = (int)i - 1;

    if (i > 0 && drafts->list[at].leaf)
        at = view->rows[at].parent;
    while (at >= 0 && !is_below(&drafts->list[i], &drafts->list[at]))
        at = view->rows[at].parent;
    return at;
}

/* A group reaches from the start to the end of all rows below it. */
static void spread(struct view *view)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].kind == KIND_GROUP) {
            view->rows[i].from_ns = INT64_MAX;
            view->rows[i].to_ns = INT64_MIN;
        }
    for (size_t i = view->row_count; i-- > 0;) {
        const struct view_row *row = &view->rows[i];
        struct view_row *parent = row->parent >= 0 ? &view->rows[row->parent] : NULL;
        if (!parent)
            continue;
        parent->from_ns = row->from_ns < parent->from_ns ? row->from_ns : parent->from_ns;
        parent->to_ns = row->to_ns > parent->to_ns ? row->to_ns : parent->to_ns;
    }
}

static int make_rows(struct drafts *drafts)
{
    struct view *view = drafts->view;

    if (drafts->count)
        qsort(drafts->list, drafts->count, sizeof *drafts->list, by_path);
    view->rows = calloc(drafts->count + 1, sizeof *view->rows);
    view->row_of_key = malloc((view->row_keys.count + 1) * sizeof *view->row_of_key);
    if (!view->rows || !view->row_of_key || drafts->count > INT32_MAX)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < view->row_keys.count; i++)
        view->row_of_key[i] = VIEW_NO_ROW;
    for (size_t i = 0; i < drafts->count; i++) {
        struct view_row *row = &view->rows[view->row_count++];
        *row = drafts->list[i].row;
        row->parent = find_parent(drafts, view, i);
        if (drafts->list[i].leaf) {
            uint32_t key = drafts->list[i].leaf->key;
            view->row_of_key[key] = view->row_of_key[key] == VIEW_NO_ROW ? (int)i : view->row_of_key[key];
            take_leaf(row, drafts->list[i].leaf);
            view->event_count += row->events.count + row->points.count;
        }
    }
    spread(view);
    return 0;
}

/* ---- the row of a folded group --------------------------------------------------------------------------------- */

/* The types of rows that are shown for a folded group, the best first. */
static const enum row_type summaries[] = { ROW_STREAM,  ROW_TORCH,          ROW_NVTX,        ROW_CUDA_API,
                                           ROW_PYTHON,  ROW_STATE,          ROW_OSRT,        ROW_LIBRARY,
                                           ROW_SAMPLES, ROW_PYTHON_SAMPLES, ROW_THREAD_OTHER };
enum { SUMMARIES = sizeof summaries / sizeof *summaries };

static size_t summary_rank(enum row_type type)
{
    size_t i = 0;

    while (i < SUMMARIES && summaries[i] != type)
        i++;
    return i;
}

/* Whether a row represents its group better: by its type, then by its number of events. */
static int says_more(const struct view *view, int row, int than)
{
    size_t rank = summary_rank(view->rows[row].type),
           other = than >= 0 ? summary_rank(view->rows[than].type) : SUMMARIES;

    return rank != other ? rank < other
                         : rank < SUMMARIES && view->rows[row].events.count > view->rows[than].events.count;
}

static void choose_summaries(struct view *view)
{
    for (size_t i = view->row_count; i-- > 0;) {
        const struct view_row *row = &view->rows[i];
        int stands = row->kind == KIND_GROUP ? row->summary : (int)i;
        if (row->parent >= 0 && stands >= 0 && says_more(view, stands, view->rows[row->parent].summary))
            view->rows[row->parent].summary = stands;
    }
}

int tree_build(struct view *view, struct error *err)
{
    struct drafts drafts = { .view = view, .groups.width = PATH };
    int code;

    if ((code = gpu_devices_read(&drafts.devices, view->report, err)) != 0)
        goto done;
    for (size_t i = 0; i < view->leaf_count; i++)
        if ((code = add_leaf(&drafts, &view->leaves[i])) != 0)
            goto done;
    if ((code = make_rows(&drafts)) != 0)
        goto done;
    choose_summaries(view);
    code = labels_make(view, err);
done:
    keys_free(&drafts.groups);
    gpu_devices_free(&drafts.devices);
    free(drafts.list);
    return code == ERR_NO_MEMORY ? error_set(err, code, "not enough memory for the rows of the timeline") : code;
}
