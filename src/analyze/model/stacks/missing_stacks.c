/* Counts the events whose stack is not in the report: see missing_stacks.h. */
#include "missing_stacks.h"

#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/event_counts.h"
#include "base/array.h"
#include "base/human.h"
#include "base/saturating.h"
#include "report/schema/chain_tables.h"

/* Stacks of Python are in the file before their events. */
static const char *const nouns[CHAIN_TABLES] = { [CHAINS_CUDA] = "CUDA calls",
                                                 [CHAINS_OSRT] = "OS calls",
                                                 [CHAINS_SYSCALL] = "system calls",
                                                 [CHAINS_SAMPLING] = "samples",
                                                 [CHAINS_HEAP] = "allocations" };

struct ids {
    int64_t *list; /* owned; sorted once all are added */
    size_t count, room;
};

/* The ids of all stacks in a table, which are runs of rows. */
static int missing_stacks_read_ids(struct ids *ids, struct report *report, const char *table, struct error *err)
{
    static const char *const columns[] = { "id", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, table, columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (ids->count && ids->list[ids->count - 1] == row_int(&rows, 0))
            continue;
        if (ARRAY_PUSH(ids->list, ids->room, ids->count, row_int(&rows, 0)) != 0 && (code = error_no_memory(err)) != 0)
            goto close_rows;
    }
    if (ids->count)
        qsort(ids->list, ids->count, sizeof *ids->list, array_by_int64);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int missing_stacks_is_known(const struct ids *ids, int64_t id)
{
    return ids->count && bsearch(&id, ids->list, ids->count, sizeof *ids->list, array_by_int64) != NULL;
}

/* Fills all but the names. */
static int missing_stacks_count_events(struct missing_stacks *missing, struct report *report,
                                       const struct chain_user *user, const struct ids *ids, struct error *err)
{
    enum { STACK, START };
    const char *const columns[] = { [STACK] = user->column, [START] = "start", NULL };
    int64_t last_ns = INT64_MIN, last_with_ns = INT64_MIN;
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, user->table, columns, err)) != 0)
        return code;
    for (int pass = 0; pass < 2; pass++, rows.next = 0)
        while (row_cursor_next(&rows)) {
            int64_t start = row_int_or(&rows, START, INT64_MIN);
            if (row_int_or(&rows, STACK, 0) == 0) /* its stack was not asked for, or could not be had */
                continue;
            int has_stack = missing_stacks_is_known(ids, row_int(&rows, STACK));
            if (pass == 1) {
                missing->at_end += !has_stack && start > last_with_ns;
                continue;
            }
            missing->events++;
            missing->without += !has_stack;
            last_ns = start > last_ns ? start : last_ns;
            if (has_stack && start > last_with_ns)
                last_with_ns = start;
        }
    missing->at_end_ns = last_with_ns == INT64_MIN ? 0 : saturating_subtract(last_ns, last_with_ns);
    row_cursor_close(&rows);
    return 0;
}

static int read_user(struct missing_stacks *missing, struct report *report, const struct chain_user *user,
                     struct error *err)
{
    struct ids ids = { 0 };
    int code;

    *missing = (struct missing_stacks){ .table = user->table, .noun = nouns[user->chains] };
    if ((code = missing_stacks_read_ids(&ids, report, chain_tables[user->chains], err)) != 0)
        goto free_ids;
    code = missing_stacks_count_events(missing, report, user, &ids, err);
free_ids:
    free(ids.list);
    return code;
}

/* The capture was killed, or its disk was full. */
static int may_lack_stacks(int *may, struct report *report, struct error *err)
{
    struct report_health health = report_health(report);
    struct event_counts counts;
    int code;

    if ((code = event_counts_read(&counts, report, err)) != 0)
        return code;
    const struct counted_source *frames = event_counts_find(&counts, COUNTED_STACK_FRAMES);
    *may = !health.complete || health.recovered || (frames && frames->lost);
    return 0;
}

int missing_stacks_read(struct missing_stacks list[MISSING_STACKS_MAX], size_t *count, struct report *report,
                        struct error *err)
{
    int may, code;

    *count = 0;
    if ((code = may_lack_stacks(&may, report, err)) != 0 || !may)
        return code;
    for (size_t i = 0; i < CHAIN_USERS && *count < MISSING_STACKS_MAX; i++) {
        if (!nouns[chain_users[i].chains] || chain_users[i].is_name)
            continue;
        if ((code = read_user(&list[*count], report, &chain_users[i], err)) != 0)
            return code;
        *count += list[*count].without > 0;
    }
    return 0;
}

static void missing_stacks_add_text(struct text *out, const struct missing_stacks *missing)
{
    int is_all = missing->at_end == missing->without;

    human_count(out, missing->without);
    text_add(out, " of ");
    human_count(out, missing->events);
    text_addf(out, " %s have no stack", missing->noun);
    if (!missing->at_end || !missing->at_end_ns)
        return;
    text_add(out, is_all ? ": those of the last " : ", ");
    if (!is_all) {
        human_count(out, missing->at_end);
        text_add(out, " of them in the last ");
    }
    human_time(out, missing->at_end_ns);
}

void missing_stacks_describe(struct text *out, const struct missing_stacks *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_add(out, i ? "; " : "");
        missing_stacks_add_text(out, &list[i]);
    }
}
