/* The tree of processes: who started whom, what ran, and how it ended. */
#include "info_processes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
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
static const char *const names[] = { "start",   "end",       "globalPid",  "parentGlobalPid", "image",      "exe",
                                     "command", "ending",    "exitStatus", "signal",          "cpuNs",      "host",
                                     "rank",    "localRank", "worldSize",  "origin",          "unrecorded", NULL };

struct process {
    int64_t pid, image, parent, start_ns;
    size_t row;                       /* the last one about it: that one counts */
    size_t first_child, next_sibling; /* indices + 1; 0: none */
    int has_parent, shown;
};

struct tree {
    struct small_table rows;
    struct process *list; /* by pid and image */
    size_t count, roots;
    size_t lines, limit;
};

static int by_pid_and_row(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* One entry for each pid and image, with the last row that speaks of it. */
static int collect(struct tree *tree)
{
    size_t rows = tree->rows.columns.rows;

    tree->list = calloc(rows + 1, sizeof *tree->list);
    if (!tree->list)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < rows; i++)
        tree->list[i] = (struct process){
            .pid = small_table_number(&tree->rows, i, PID, 0),
            .image = small_table_number(&tree->rows, i, IMAGE, 0),
            .parent = small_table_number(&tree->rows, i, PARENT, -1),
            .start_ns = small_table_number(&tree->rows, i, START, 0),
            .row = i,
        };
    qsort(tree->list, rows, sizeof *tree->list, by_pid_and_row);
    for (size_t i = 0; i < rows; i++)
        if (i + 1 == rows || tree->list[i].pid != tree->list[i + 1].pid ||
            tree->list[i].image != tree->list[i + 1].image)
            tree->list[tree->count++] = tree->list[i];
    return 0;
}

/* The first program that ran in the process with this id, or NULL. */
static struct process *find_process(struct tree *tree, int64_t pid)
{
    size_t low = 0, high = tree->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tree->list[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tree->count && tree->list[low].pid == pid ? &tree->list[low] : NULL;
}

/* Children hang on the first program of their parent. Linked from the last to the first, so that lists are in order. */
static void link_children(struct tree *tree)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct process *process = &tree->list[i];
        int is_first = i == 0 || tree->list[i - 1].pid != process->pid;
        struct process *parent = is_first && process->parent != process->pid ? find_process(tree, process->parent)
                                                                             : NULL;
        process->has_parent = !is_first || parent != NULL;
        if (parent) {
            process->next_sibling = parent->first_child;
            parent->first_child = i + 1;
        }
    }
}

/* No row has the end of the process: it was still running when the report was closed, or the process that would have
 * reported the end was killed. */
static void add_no_ending(struct text *out, const struct tree *tree)
{
    struct report_health health = report_health(tree->rows.report);

    if (health.recovered)
        text_add(out, "end unknown");
    else
        text_add(out, health.complete ? "running" : "running when last seen");
}

static void add_ending(struct text *out, const struct tree *tree, size_t row)
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

static void add_line(struct text *out, struct tree *tree, const struct process *process, int depth)
{
    size_t row = process->row, length;
    const char *command = small_table_text(&tree->rows, row, COMMAND, &length);

    if (!length)
        command = small_table_text(&tree->rows, row, EXE, &length);
    text_add_repeat(out, ' ', 2 + 2 * (size_t)(depth < 30 ? depth : 30));
    text_addf(out, "%" PRId64 "  ", global_pid_number(process->pid));
    display_add(out, command, length, 80);
    text_add(out, "  [");
    add_ending(out, tree, row);
    if (!small_table_is_null(&tree->rows, row, END)) {
        text_add(out, ", ");
        human_time(out, saturating_duration(process->start_ns, small_table_number(&tree->rows, row, END, 0)));
    }
    if (!small_table_is_null(&tree->rows, row, CPU)) {
        text_add(out, ", CPU ");
        human_time(out, small_table_number(&tree->rows, row, CPU, 0));
    }
    if (strcmp(small_table_text(&tree->rows, row, ORIGIN, &length), "found") == 0 ||
        !small_table_is_null(&tree->rows, row, UNRECORDED))
        text_add(out, ", no agent");
    if (!small_table_is_null(&tree->rows, row, UNRECORDED)) {
        const char *cause = small_table_text(&tree->rows, row, UNRECORDED, &length);
        text_add(out, ": ");
        display_add(out, cause, length, 40);
    }
    if (!small_table_is_null(&tree->rows, row, RANK)) {
        text_addf(out, ", rank %" PRId64, small_table_number(&tree->rows, row, RANK, 0));
        if (!small_table_is_null(&tree->rows, row, WORLD))
            text_addf(out, " of %" PRId64, small_table_number(&tree->rows, row, WORLD, 0));
        if (!small_table_is_null(&tree->rows, row, LOCAL_RANK))
            text_addf(out, ", local rank %" PRId64, small_table_number(&tree->rows, row, LOCAL_RANK, 0));
    }
    text_add(out, "]\n");
}

/* A process, the programs that followed it by exec, and its children. A loop in a damaged file ends at `shown`. */
static void add_process(struct text *out, struct tree *tree, size_t index, int depth)
{
    for (size_t i = index; i < tree->count && tree->list[i].pid == tree->list[index].pid; i++) {
        if (tree->list[i].shown)
            return;
        tree->list[i].shown = 1;
        if (tree->lines++ < tree->limit)
            add_line(out, tree, &tree->list[i], depth);
    }
    for (size_t child = tree->list[index].first_child; child && depth < 1000;
         child = tree->list[child - 1].next_sibling)
        add_process(out, tree, child - 1, depth + 1);
}

static void add_heading(struct text *out, const struct tree *tree)
{
    size_t length;
    const char *host = small_table_text(&tree->rows, 0, HOST, &length);

    text_add(out, "\nProcesses");
    if (length) {
        text_add(out, " on ");
        display_add(out, host, length, 80);
    }
    text_add_char(out, '\n');
}

int info_add_processes(struct text *out, struct report *report, size_t limit, struct error *err)
{
    struct tree tree = { .limit = limit };
    int code = small_table_read(&tree.rows, report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    if (!tree.rows.columns.rows)
        goto free_tree;
    if (collect(&tree) != 0) {
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
        goto free_tree;
    }
    add_heading(out, &tree);
    link_children(&tree);
    for (size_t i = 0; i < tree.count; i++)
        if (!tree.list[i].has_parent)
            add_process(out, &tree, i, 0);
    if (tree.lines > limit)
        text_addf(out, "  … %zu more: tacho info --all\n", tree.lines - limit);
free_tree:
    small_table_free(&tree.rows);
    free(tree.list);
    return code;
}
