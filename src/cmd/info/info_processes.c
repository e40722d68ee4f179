/* The tree of processes: who started whom, what ran, and how it ended. */
#include "info_processes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "base/human.h"
#include "cmd/print/display.h"
#include "cmd/small_table.h"

enum {
    START,
    END,
    PID,
    PARENT,
    IMAGE,
    EXE,
    COMMAND,
    ENDING,
    STATUS,
    SIGNAL,
    CPU,
    HOST,
    RANK,
    LOCAL_RANK,
    WORLD,
    ORIGIN,
    UNRECORDED
};
static const char *const info_processes_names[] = { "start",  "end",        "globalPid", "parentGlobalPid", "image",
                                                    "exe",    "command",    "ending",    "exitStatus",      "signal",
                                                    "cpuNs",  "host",       "rank",      "localRank",       "worldSize",
                                                    "origin", "unrecorded", NULL };

enum { NAME_PID, NAME };
static const char *const name_names[] = { "globalPid", "name", NULL };

enum { DEEPEST = 1000 }; /* levels of the tree */
#define NO_ROW SIZE_MAX

struct info_processes_process {
    int64_t pid, image, parent, start_ns;
    size_t row;                       /* the last one about it, which counts; NO_ROW: another profiler only names it */
    size_t name_row;                  /* in PROCESSES, or NO_ROW */
    int64_t cpu_ns;                   /* in the first program of a process: with its descendants and other programs */
    size_t first_child, next_sibling; /* indices + 1; 0: none */
    int has_parent, shown;
};

struct info_processes_tree {
    struct small_table rows, names;
    struct info_processes_process *list;   /* by pid and image */
    struct info_processes_process **order; /* the first program of each process, by CPU time and start */
    size_t count, order_count;
    size_t lines, limit;
};

static int by_pid_and_row(const void *a, const void *b)
{
    const struct info_processes_process *x = a, *y = b;

    return COMPARE(x->pid, y->pid) ?: COMPARE(x->image, y->image) ?: COMPARE(x->row, y->row);
}

/* One entry for each pid and image, with the last row that speaks of it, and for each pid that only has a name. */
static int info_processes_collect(struct info_processes_tree *tree)
{
    size_t rows = tree->rows.columns.rows, all = rows + tree->names.columns.rows;

    tree->list = calloc(all + 1, sizeof *tree->list);
    tree->order = calloc(all + 1, sizeof *tree->order);
    if (!tree->list || !tree->order)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < rows; i++)
        tree->list[i] = (struct info_processes_process){
            .pid = small_table_number(&tree->rows, i, PID, 0),
            .image = small_table_number(&tree->rows, i, IMAGE, 0),
            .parent = small_table_number(&tree->rows, i, PARENT, -1),
            .start_ns = small_table_number(&tree->rows, i, START, 0),
            .row = i,
            .name_row = NO_ROW,
        };
    for (size_t i = rows; i < all; i++)
        tree->list[i] = (struct info_processes_process){ .pid = small_table_number(&tree->names, i - rows, NAME_PID, 0),
                                                         .image = INT64_MAX, /* after all programs of the pid */
                                                         .parent = -1,
                                                         .row = NO_ROW,
                                                         .name_row = i - rows };
    qsort(tree->list, all, sizeof *tree->list, by_pid_and_row);
    for (size_t i = 0; i < all; i++) {
        struct info_processes_process *before = tree->count ? &tree->list[tree->count - 1] : NULL;
        if (before && before->pid == tree->list[i].pid && tree->list[i].row == NO_ROW)
            before->name_row = tree->list[i].name_row;
        else if (before && before->pid == tree->list[i].pid && before->image == tree->list[i].image)
            *before = tree->list[i];
        else
            tree->list[tree->count++] = tree->list[i];
    }
    return 0;
}

/* The first program that ran in the process with this id, or NULL. */
static struct info_processes_process *info_processes_find_process(const struct info_processes_tree *tree, int64_t pid)
{
    size_t at = BISECT(0, tree->count, i, tree->list[i].pid < pid);

    return at < tree->count && tree->list[at].pid == pid ? &tree->list[at] : NULL;
}

/* The process that started it, as far as it is known. */
static struct info_processes_process *parent_of(const struct info_processes_tree *tree,
                                                const struct info_processes_process *process)
{
    return process->parent != process->pid ? info_processes_find_process(tree, process->parent) : NULL;
}

/* Adds up the CPU time of each process and all that descend from it. A damaged file may have a loop. */
static void sum_cpu_times(struct info_processes_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct info_processes_process *at = info_processes_find_process(tree, tree->list[i].pid);
        int64_t cpu_ns = tree->list[i].row == NO_ROW ? 0 : small_table_number(&tree->rows, tree->list[i].row, CPU, 0);
        for (int depth = 0; at && cpu_ns > 0 && depth < DEEPEST; depth++, at = parent_of(tree, at))
            at->cpu_ns = saturating_add(at->cpu_ns, cpu_ns);
    }
}

static int by_cpu_time(const void *a, const void *b)
{
    const struct info_processes_process *x = *(struct info_processes_process *const *)a,
                                        *y = *(struct info_processes_process *const *)b;

    return COMPARE(y->cpu_ns, x->cpu_ns) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x->pid, y->pid);
}

/* Children hang on the first program of their parent. Linked from the last to the first, so that lists are in order. */
static void link_children(struct info_processes_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (i == 0 || tree->list[i - 1].pid != tree->list[i].pid)
            tree->order[tree->order_count++] = &tree->list[i];
    qsort(tree->order, tree->order_count, sizeof(struct info_processes_process *), by_cpu_time);
    for (size_t i = tree->order_count; i-- > 0;) {
        struct info_processes_process *process = tree->order[i], *parent = parent_of(tree, process);
        process->has_parent = parent != NULL;
        if (parent) {
            process->next_sibling = parent->first_child;
            parent->first_child = (size_t)(process - tree->list) + 1;
        }
    }
}

/* No row has the end of the process: it was still running when the report was closed, or the process that would have
 * reported the end was killed. */
static void add_no_ending(struct text *out, const struct info_processes_tree *tree)
{
    struct report_health health = report_health(tree->rows.report);

    if (health.recovered)
        text_add(out, "end unknown");
    else
        text_add(out, health.complete ? "running" : "running when last seen");
}

static void info_processes_add_ending(struct text *out, const struct info_processes_tree *tree, size_t row)
{
    size_t length;
    const char *ending = small_table_text(&tree->rows, row, ENDING, &length);

    if (strcmp(ending, "exit") == 0 && !small_table_is_null(&tree->rows, row, STATUS))
        text_addf(out, "exit %" PRId64, small_table_number(&tree->rows, row, STATUS, 0));
    else if (strcmp(ending, "signal") == 0 && !small_table_is_null(&tree->rows, row, SIGNAL))
        text_addf(out, "signal %" PRId64, small_table_number(&tree->rows, row, SIGNAL, 0));
    else if (strcmp(ending, "lost") == 0)
        text_add(out, "end unknown");
    else if (length && strcmp(ending, "running") != 0)
        display_add(out, ending, length, 20);
    else
        add_no_ending(out, tree);
}

static void info_processes_add_next(struct text *out, const char **before)
{
    text_add(out, *before);
    *before = ", ";
}

static void info_processes_add_rank(struct text *out, const struct info_processes_tree *tree, size_t row,
                                    const char **before)
{
    if (small_table_is_null(&tree->rows, row, RANK))
        return;
    info_processes_add_next(out, before);
    text_addf(out, "rank %" PRId64, small_table_number(&tree->rows, row, RANK, 0));
    if (!small_table_is_null(&tree->rows, row, WORLD))
        text_addf(out, " of %" PRId64, small_table_number(&tree->rows, row, WORLD, 0));
    if (!small_table_is_null(&tree->rows, row, LOCAL_RANK))
        text_addf(out, ", local rank %" PRId64, small_table_number(&tree->rows, row, LOCAL_RANK, 0));
}

/* The facts of a row about the process, in brackets; missing ones are left out. */
static void add_facts(struct text *out, const struct info_processes_tree *tree, size_t row, int64_t start_ns)
{
    const char *before = "  [";
    size_t length;

    if (!small_table_is_null(&tree->rows, row, ENDING)) {
        info_processes_add_next(out, &before);
        info_processes_add_ending(out, tree, row);
    }
    if (!small_table_is_null(&tree->rows, row, END)) {
        info_processes_add_next(out, &before);
        human_time(out, saturating_duration(start_ns, small_table_number(&tree->rows, row, END, 0)));
    }
    if (!small_table_is_null(&tree->rows, row, CPU)) {
        info_processes_add_next(out, &before);
        text_add(out, "CPU ");
        human_time(out, small_table_number(&tree->rows, row, CPU, 0));
    }
    if (strcmp(small_table_text(&tree->rows, row, ORIGIN, &length), "found") == 0 ||
        !small_table_is_null(&tree->rows, row, UNRECORDED)) {
        info_processes_add_next(out, &before);
        text_add(out, "no agent");
    }
    if (!small_table_is_null(&tree->rows, row, UNRECORDED)) {
        const char *cause = small_table_text(&tree->rows, row, UNRECORDED, &length);
        text_add(out, ": ");
        display_add(out, cause, length, 40);
    }
    info_processes_add_rank(out, tree, row, &before);
    text_add(out, strcmp(before, ", ") == 0 ? "]" : "");
}

static void info_processes_add_line(struct text *out, const struct info_processes_tree *tree,
                                    const struct info_processes_process *process, int depth)
{
    size_t length = 0;
    const char *name = "";

    if (process->row != NO_ROW) {
        name = small_table_text(&tree->rows, process->row, COMMAND, &length);
        if (!length)
            name = small_table_text(&tree->rows, process->row, EXE, &length);
    }
    if (!length && process->name_row != NO_ROW)
        name = small_table_text(&tree->names, process->name_row, NAME, &length);
    text_add_repeat(out, ' ', 2 + 2 * (size_t)(depth < 30 ? depth : 30));
    text_addf(out, "%" PRId64 "  ", global_pid_number(process->pid));
    display_add(out, name, length, 80);
    if (process->row != NO_ROW)
        add_facts(out, tree, process->row, process->start_ns);
    text_add_char(out, '\n');
}

/* A process, the programs that followed it by exec, and its children. A loop in a damaged file ends at `shown`. */
static void info_processes_add_process(struct text *out, struct info_processes_tree *tree, size_t index, int depth)
{
    for (size_t i = index; i < tree->count && tree->list[i].pid == tree->list[index].pid; i++) {
        if (tree->list[i].shown)
            return;
        tree->list[i].shown = 1;
        if (tree->lines++ < tree->limit)
            info_processes_add_line(out, tree, &tree->list[i], depth);
    }
    for (size_t child = tree->list[index].first_child; child && depth < DEEPEST;
         child = tree->list[child - 1].next_sibling)
        info_processes_add_process(out, tree, child - 1, depth + 1);
}

static void info_processes_add_heading(struct text *out, const struct info_processes_tree *tree)
{
    size_t length = 0;
    const char *host = tree->rows.columns.rows ? small_table_text(&tree->rows, 0, HOST, &length) : "";

    text_add(out, "\nProcesses");
    if (length) {
        text_add(out, " on ");
        display_add(out, host, length, 80);
    }
    text_add_char(out, '\n');
}

static void info_processes_add_tree(struct text *out, struct info_processes_tree *tree)
{
    info_processes_add_heading(out, tree);
    sum_cpu_times(tree);
    link_children(tree);
    for (size_t i = 0; i < tree->order_count; i++)
        if (!tree->order[i]->has_parent)
            info_processes_add_process(out, tree, (size_t)(tree->order[i] - tree->list), 0);
}

int info_add_processes(struct text *out, struct report *report, size_t limit, size_t *left, struct error *err)
{
    struct info_processes_tree tree = { .limit = limit };
    int code = small_table_read(&tree.rows, report, "TACHO_PROCESS", info_processes_names, err);

    if (code != 0)
        return code;
    if ((code = small_table_read(&tree.names, report, "PROCESSES", name_names, err)) != 0)
        goto free_rows;
    if (info_processes_collect(&tree) != 0)
        code = error_short_memory(err, "for the processes");
    else if (tree.count)
        info_processes_add_tree(out, &tree);
    *left = tree.lines > limit ? tree.lines - limit : 0;
    small_table_free(&tree.names);
free_rows:
    small_table_free(&tree.rows);
    free(tree.list);
    free(tree.order);
    return code;
}
