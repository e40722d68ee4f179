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
#include "event_index.h"
#include "event_search.h"
#include "rank_map.h"
#include "row_labels.h"
#include "row_tree.h"

enum { PATH = 15 };
enum { AT_ONCE = -1, FIRST, THEN }; /* below a parent, groups come before single rows; idle time before both */

struct row_tree_path {
    int64_t numbers[PATH];
    int depth;
};

struct draft {
    struct row_tree_path path;
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

/* From the top: the hosts of a job; what belongs to none of them, and below each rank: steps, GPUs, processes, CPUs,
 * all else. */
enum { SECTION_JOB = -1, SECTION_STEPS, SECTION_GPUS, SECTION_PROCESSES, SECTION_CPUS, SECTION_OTHER };

static void row_tree_push(struct row_tree_path *path, int64_t number)
{
    path->numbers[path->depth++] = number;
}

static struct view_row no_ids(enum row_type type)
{
    return (struct view_row){ .type = type,
                              .kind = row_types[type].kind,
                              .thread = -1,
                              .process = -1,
                              .device = -1,
                              .context = -1,
                              .stream = -1,
                              .cpu = -1,
                              .rank = -1,
                              .host = NO_HOST };
}

static struct draft *add_draft(struct drafts *drafts, enum row_type type, const struct row_tree_path *path)
{
    if (array_reserve(&drafts->list, &drafts->capacity, drafts->count + 1, sizeof *drafts->list) != 0)
        return NULL;
    struct draft *draft = &drafts->list[drafts->count++];
    *draft = (struct draft){ .path = *path, .row = no_ids(type) };
    return draft;
}

/* Adds a group, unless it is there already. Its ids are those of the row below it, as far as its type has them. */
static int row_tree_add_group(struct drafts *drafts, enum row_type type, const struct row_tree_path *path,
                              const struct view_row *of)
{
    int64_t key[PATH] = { 0 };
    size_t before = drafts->groups.count;

    memcpy(key, path->numbers, (size_t)path->depth * sizeof *path->numbers);
    key[PATH - 1] = path->depth;
    if (keys_add(&drafts->groups, key) == NO_KEY)
        return ERR_NO_MEMORY;
    if (drafts->groups.count == before)
        return 0;
    struct draft *draft = add_draft(drafts, type, path);
    if (!draft)
        return ERR_NO_MEMORY;
    draft->row.thread = type == ROW_THREAD ? of->thread : -1;
    draft->row.process = type == ROW_THREAD || type == ROW_PROCESS || type == ROW_CONTEXT ? of->process : -1;
    draft->row.device = type == ROW_GPU || type == ROW_CONTEXT ? of->device : -1;
    draft->row.context = type == ROW_CONTEXT ? of->context : -1;
    draft->row.host = of->host;
    draft->row.rank = type == ROW_HOST ? -1 : of->rank;
    return 0;
}

/* ---- ids ------------------------------------------------------------------------------------------------------- */

/* Fills the ids of a row from its key. */
static void row_tree_read_ids(const struct drafts *drafts, const int64_t *key, struct view_row *row)
{
    enum row_place place = row_types[key[KEY_TYPE]].place;
    int is_on_gpu = place == PLACE_GPU || place == PLACE_CONTEXT;

    if (is_on_gpu) {
        row->device = gpu_device_of(&drafts->devices, key[KEY_B], key[KEY_A]);
        row->process = key[KEY_B] ? key[KEY_B] : -1;
    }
    if (place == PLACE_CONTEXT) {
        row->context = key[KEY_C];
        row->stream = key[KEY_D];
    }
    if (place == PLACE_PROCESS || place == PLACE_THREAD)
        row->process = global_process(key[KEY_A]);
    if (place == PLACE_THREAD)
        row->thread = key[KEY_A];
    if (place == PLACE_CPU)
        row->cpu = key[KEY_A];
    if (key[KEY_TYPE] == ROW_STEPS)
        row->process = key[KEY_A];
}

/* The host and the rank that a row belongs to. */
static struct rank_place row_tree_find_rank(const struct drafts *drafts, const int64_t *key, const struct view_row *row)
{
    const struct job_rows *ranks = &drafts->view->ranks;

    if (row_types[row->type].place == PLACE_RANK)
        return (struct rank_place){ (int)key[KEY_A], key[KEY_B] };
    if (row->process >= 0)
        return job_rows_of_process(ranks, row->process);
    if (row->device >= 0)
        return job_rows_of_device(ranks, row->device);
    if (row->cpu >= 0)
        return job_rows_of_system(ranks, key[KEY_B]);
    return (struct rank_place){ NO_HOST, -1 };
}

/* Notes the ranks that use each GPU: metrics have a GPU, and no process. */
static int note_devices(struct drafts *drafts)
{
    struct view *view = drafts->view;

    for (size_t i = 0; i < view->leaf_count && view->ranks.host_count; i++) {
        struct view_row row = { .device = -1, .process = -1 };
        row_tree_read_ids(drafts, keys_get(&view->row_keys, view->leaves[i].key), &row);
        if (row.device >= 0 && row.process >= 0 && job_rows_add_device(&view->ranks, row.device, row.process) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

/* A process's first thread comes before its others. */
static int64_t thread_order(int64_t thread)
{
    return global_tid_number(thread) == global_pid_number(thread) ? -1 : global_tid_number(thread);
}

/* Begins the path of a row that belongs to a host with the groups of host and rank. Rows of no rank come after the
 * ranks of their host. */
static int place_in_job(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    int code;

    if (row->host == NO_HOST)
        return 0;
    row_tree_push(path, SECTION_JOB);
    row_tree_push(path, row->host);
    if ((code = row_tree_add_group(drafts, ROW_HOST, path, row)) != 0)
        return code;
    row_tree_push(path, row->rank >= 0 ? row->rank : INT64_MAX);
    return row->rank >= 0 ? row_tree_add_group(drafts, ROW_RANK, path, row) : 0;
}

/* Each of the following completes the path down to the parent of a row, and adds the groups above the row. Returns
 * ERR_NO_MEMORY or 0. */

static int place_at_top(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    row_tree_push(path, row->type == ROW_STEPS ? SECTION_STEPS : SECTION_OTHER);
    return 0;
}

/* Adds the group of the GPU, for the two places below it. */
static int row_tree_add_gpu(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    row_tree_push(path, SECTION_GPUS);
    row_tree_push(path, row->device);
    return row_tree_add_group(drafts, ROW_GPU, path, row);
}

static int place_on_gpu(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    int code = row_tree_add_gpu(drafts, row, path);

    row_tree_push(path, row->type == ROW_IDLE ? AT_ONCE : THEN);
    return code;
}

static int place_in_context(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    int code;

    if ((code = row_tree_add_gpu(drafts, row, path)) != 0)
        return code;
    row_tree_push(path, FIRST);
    row_tree_push(path, row->process < 0 ? 0 : row->process);
    row_tree_push(path, row->context);
    return row_tree_add_group(drafts, ROW_CONTEXT, path, row);
}

/* Adds the group of the process, for the two places below it. */
static int row_tree_add_process(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    row_tree_push(path, SECTION_PROCESSES);
    row_tree_push(path, row->process);
    return row_tree_add_group(drafts, ROW_PROCESS, path, row);
}

static int place_in_process(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    int code = row_tree_add_process(drafts, row, path);

    row_tree_push(path, THEN);
    return code;
}

static int place_on_thread(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    int code;

    if ((code = row_tree_add_process(drafts, row, path)) != 0)
        return code;
    row_tree_push(path, FIRST);
    row_tree_push(path, thread_order(row->thread));
    row_tree_push(path, row->thread);
    return row_tree_add_group(drafts, ROW_THREAD, path, row);
}

static int place_on_cpu(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    row_tree_push(path, SECTION_CPUS);
    return row_tree_add_group(drafts, ROW_CPUS, path, row);
}

static int place_in_rank(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path)
{
    row_tree_push(path, SECTION_STEPS);
    return 0;
}

static int (*const place_row[])(struct drafts *drafts, const struct view_row *row, struct row_tree_path *path) = {
    [PLACE_TOP] = place_at_top,         [PLACE_GPU] = place_on_gpu,       [PLACE_CONTEXT] = place_in_context,
    [PLACE_PROCESS] = place_in_process, [PLACE_THREAD] = place_on_thread, [PLACE_CPU] = place_on_cpu,
    [PLACE_RANK] = place_in_rank,
};

static int add_leaf(struct drafts *drafts, struct view_leaf *leaf)
{
    const int64_t *key = keys_get(&drafts->view->row_keys, leaf->key);
    enum row_type type = (enum row_type)key[KEY_TYPE];
    struct row_tree_path path = { 0 };
    struct view_row of = no_ids(type);
    int code;

    row_tree_read_ids(drafts, key, &of);
    struct rank_place place = row_tree_find_rank(drafts, key, &of);
    of.host = place.host;
    of.rank = place.rank;
    of.spill = leaf->spill;
    if ((code = place_in_job(drafts, &of, &path)) != 0 ||
        (code = place_row[row_types[type].place](drafts, &of, &path)) != 0)
        return code;
    for (int part = KEY_TYPE; part < KEY_PARTS; part++)
        row_tree_push(&path, key[part]);
    path.depth = PATH;
    path.numbers[PATH - 1] = leaf->spill;
    struct draft *draft = add_draft(drafts, type, &path);
    if (!draft)
        return ERR_NO_MEMORY;
    draft->leaf = leaf;
    draft->row = of;
    memcpy(draft->row.key, key, sizeof draft->row.key);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct row_tree_path *x = &((const struct draft *)a)->path, *y = &((const struct draft *)b)->path;

    for (int i = 0; i < x->depth && i < y->depth; i++)
        if (x->numbers[i] != y->numbers[i])
            return COMPARE(x->numbers[i], y->numbers[i]);
    return COMPARE(x->depth, y->depth);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void take_leaf(struct view_row *row, struct view_leaf *leaf)
{
    row->family = leaf->family;
    row->events = leaf->events;
    row->points = leaf->points;
    row->events.is_named_late = row->type == ROW_IDLE;
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
    return memcmp(draft->path.numbers, group->path.numbers, (size_t)group->path.depth * sizeof *group->path.numbers) ==
           0;
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

/* Rows that a folded group does not show: they divide the time or repeat other rows, and say of no device and no thread
 * that it was busy. */
static const enum row_type not_busy[] = { ROW_STEPS, ROW_IDLE, ROW_GPU_NVTX, ROW_GPU_TORCH, ROW_GPU_SYNC };

static int is_busy_row(const struct view_row *row)
{
    for (size_t i = 0; i < COUNT_OF(not_busy); i++)
        if (not_busy[i] == row->type)
            return 0;
    return 1;
}

/* A group reaches from the start to the end of all rows below it, and is busy with the work of all of them. */
static void row_tree_spread(struct view *view)
{
    for (size_t i = 0; i < view->row_count; i++) {
        view->rows[i].behind = (int)i + 1;
        view->rows[i].works = index_works(&view->rows[i].events);
        view->rows[i].busy = is_busy_row(&view->rows[i]) ? view->rows[i].works & ~(1u << WORK_NONE) : 0;
        if (view->rows[i].kind == KIND_GROUP) {
            view->rows[i].from_ns = INT64_MAX;
            view->rows[i].to_ns = INT64_MIN;
        }
    }
    for (size_t i = view->row_count; i-- > 0;) {
        const struct view_row *row = &view->rows[i];
        struct view_row *parent = row->parent >= 0 ? &view->rows[row->parent] : NULL;
        if (!parent)
            continue;
        parent->from_ns = row->from_ns < parent->from_ns ? row->from_ns : parent->from_ns;
        parent->to_ns = row->to_ns > parent->to_ns ? row->to_ns : parent->to_ns;
        parent->behind = row->behind > parent->behind ? row->behind : parent->behind;
        parent->busy |= row->busy;
        parent->works |= row->busy;
    }
}

static int row_tree_make_rows(struct drafts *drafts)
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
            view->event_count += view->is_map || row->type == ROW_IDLE ? 0 : row->events.count + row->points.count;
        }
    }
    row_tree_spread(view);
    return 0;
}

int tree_build(struct view *view, struct error *err)
{
    struct drafts drafts = { .view = view, .groups.width = PATH };
    int code;

    if ((code = gpu_devices_read(&drafts.devices, view->report, err)) != 0 || (code = note_devices(&drafts)) != 0)
        goto done;
    for (size_t i = 0; i < view->leaf_count; i++)
        if ((code = add_leaf(&drafts, &view->leaves[i])) != 0)
            goto done;
    if ((code = row_tree_make_rows(&drafts)) != 0 || (view->is_map && (code = rank_map_means(view)) != 0))
        goto done;
    code = labels_make(view, err);
done:
    keys_free(&drafts.groups);
    gpu_devices_free(&drafts.devices);
    free(drafts.list);
    return code == ERR_NO_MEMORY ? error_short_memory(err, "for the rows of the timeline") : code;
}
