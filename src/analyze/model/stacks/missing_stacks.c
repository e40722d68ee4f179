/* Counts the events whose stack is not in the report: see missing_stacks.h. */
#include "missing_stacks.h"

#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/human.h"
#include "report/schema/chain_tables.h"

/* Stacks of Python are in the file before their events. */
static const char *const nouns[CHAIN_TABLES] = { [CHAINS_CUDA] = "CUDA calls",
                                                 [CHAINS_OSRT] = "OS runtime calls",
                                                 [CHAINS_SYSCALL] = "system calls",
                                                 [CHAINS_SAMPLING] = "samples" };

struct ids {
    int64_t *list; /* owned; sorted once all are added */
    size_t count, room;
};

struct tally {
    uint64_t events, without, at_end; /* at_end: behind the last event that has its stack */
    int64_t last_with_ns, last_ns;
};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The ids of all stacks in a table, which are runs of rows. */
static int read_ids(struct ids *ids, struct report *report, const char *table, struct error *err)
{
    static const char *const columns[] = { "id", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, table, columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (ids->count && ids->list[ids->count - 1] == row_int(&rows, 0))
            continue;
        if (array_reserve(&ids->list, &ids->room, ids->count + 1, sizeof *ids->list) != 0) {
            code = error_set(err, ERR_NO_MEMORY, "out of memory");
            goto close_rows;
        }
        ids->list[ids->count++] = row_int(&rows, 0);
    }
    if (ids->count)
        qsort(ids->list, ids->count, sizeof *ids->list, compare);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int is_known(const struct ids *ids, int64_t id)
{
    return ids->count && bsearch(&id, ids->list, ids->count, sizeof *ids->list, compare) != NULL;
}

static int count_events(struct tally *tally, struct report *report, const struct chain_user *user,
                        const struct ids *ids, struct error *err)
{
    enum { STACK, START };
    const char *const columns[] = { [STACK] = user->column, [START] = "start", NULL };
    struct row_cursor rows;
    int code;

    *tally = (struct tally){ .last_with_ns = INT64_MIN, .last_ns = INT64_MIN };
    if ((code = row_cursor_open(&rows, report, user->table, columns, err)) != 0)
        return code;
    for (int pass = 0; pass < 2; pass++, rows.next = 0)
        while (row_cursor_next(&rows)) {
            int64_t start = row_int_or(&rows, START, INT64_MIN);
            if (row_int_or(&rows, STACK, 0) == 0) /* its stack was not asked for, or could not be had */
                continue;
            int has_stack = is_known(ids, row_int(&rows, STACK));
            if (pass == 1) {
                tally->at_end += !has_stack && start > tally->last_with_ns;
                continue;
            }
            tally->events++;
            tally->without += !has_stack;
            tally->last_ns = start > tally->last_ns ? start : tally->last_ns;
            if (has_stack && start > tally->last_with_ns)
                tally->last_with_ns = start;
        }
    row_cursor_close(&rows);
    return 0;
}

static void describe(struct text *out, const struct tally *tally, const char *noun)
{
    if (!tally->without)
        return;
    if (out->length)
        text_add(out, "; ");
    human_count(out, tally->without);
    text_add(out, " of ");
    human_count(out, tally->events);
    text_addf(out, " %s have no stack", noun);
    if (!tally->at_end || tally->last_with_ns == INT64_MIN)
        return;
    text_add(out, tally->at_end == tally->without ? ": those" : ", ");
    if (tally->at_end != tally->without) {
        human_count(out, tally->at_end);
        text_add(out, " of them");
    }
    text_add(out, tally->at_end == tally->without ? " of the last " : " in the last ");
    human_time(out, tally->last_ns - tally->last_with_ns);
}

static int describe_user(struct text *out, struct report *report, const struct chain_user *user, struct error *err)
{
    struct ids ids = { 0 };
    struct tally tally;
    int code;

    if ((code = read_ids(&ids, report, chain_tables[user->chains], err)) != 0 ||
        (code = count_events(&tally, report, user, &ids, err)) != 0)
        goto free_ids;
    describe(out, &tally, nouns[user->chains]);
free_ids:
    free(ids.list);
    return code;
}

int missing_stacks_describe(struct text *out, struct report *report, struct error *err)
{
    struct report_health health = report_health(report);
    int code;

    if (health.complete && !health.recovered)
        return 0;
    for (size_t i = 0; i < CHAIN_USERS; i++)
        if (nouns[chain_users[i].chains] && (code = describe_user(out, report, &chain_users[i], err)) != 0)
            return code;
    return 0;
}
