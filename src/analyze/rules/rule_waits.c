/* The costs of waits: see rule_waits.h. */
#include "rule_waits.h"

#include <stdlib.h>

enum { NO_ROW = UINT32_MAX };

/* A table's rows, and the calls that they are about. */
struct waits {
    const struct table *table;
    struct replay *replay;
    struct keys moments; /* pid and start of the rows */
    uint32_t *row;       /* owned; by moment: its first row */
    uint32_t *of_call;   /* owned; by call: its row, or NO_ROW */
    int64_t *costs;      /* owned; by call */
};

static int index_rows(struct waits *waits)
{
    size_t rows = table_row_count(waits->table), calls = waits->replay->events.call_count;
    size_t pid = table_find_column(waits->table, "PID"), start = table_find_column(waits->table, "Start");

    waits->row = malloc((rows + 1) * sizeof *waits->row);
    waits->of_call = malloc((calls + 1) * sizeof *waits->of_call);
    waits->costs = malloc((calls + 1) * sizeof *waits->costs);
    if (!waits->row || !waits->of_call || !waits->costs)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < rows && row < NO_ROW; row++) {
        size_t known = waits->moments.count;
        const struct table_cell *cells = table_row(waits->table, row);
        uint32_t moment = keys_add(&waits->moments, (int64_t[]){ cells[pid].integer, cells[start].integer });
        if (moment == NO_KEY)
            return ERR_NO_MEMORY;
        if (moment >= known)
            waits->row[moment] = (uint32_t)row;
    }
    for (size_t call = 0; call < calls; call++)
        waits->of_call[call] = NO_ROW;
    return 0;
}

static uint32_t row_at(const struct waits *waits, int64_t process, int64_t start_ns)
{
    uint32_t moment = keys_find(&waits->moments, (int64_t[]){ global_pid_number(process), start_ns });

    return moment == NO_KEY ? NO_ROW : waits->row[moment];
}

static void find_calls(struct waits *waits)
{
    const struct replay_events *events = &waits->replay->events;

    for (uint32_t i = 0; i < events->call_count; i++)
        waits->of_call[i] = row_at(waits, events->threads[events->calls[i].thread].id, events->calls[i].start_ns);
}

/* Finds the calls that launched the work. Its start is taken from the table: a replay corrects it. */
static int find_launches(struct waits *waits, struct report *report, int table, struct error *err)
{
    static const char *const names[] = { "start", "globalPid" };
    const struct replay_events *events = &waits->replay->events;
    struct report_columns rows = { 0 };
    int code = columns_read(report, gpu_busy_tables[table], names, 2, &rows, err);

    if (code != 0)
        return code;
    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (work->call == NO_CALL || replay_table_of(events, work->at) != table)
            continue;
        size_t row = work->at - events->first_at[table];
        uint32_t found = row_at(waits, columns_is_null(&rows, 1, row) ? 0 : rows.values[1][row], rows.values[0][row]);
        if (found != NO_ROW)
            waits->of_call[work->call] = found;
    }
    report_columns_free(&rows);
    return 0;
}

static int is_chosen(void *context, const struct replay_call *call)
{
    const struct waits *waits = context;

    return waits->of_call[call - waits->replay->events.calls] != NO_ROW;
}

/* table: of the work that the rows are about; REPLAY_TABLES: they are calls. */
static int read_costs(struct waits *waits, struct report *report, int table, int64_t *out, struct error *err)
{
    int code;

    if (index_rows(waits) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the waits");
    if (table == REPLAY_TABLES)
        find_calls(waits);
    else if ((code = find_launches(waits, report, table, err)) != 0)
        return code;
    if ((code = replay_wait_costs(waits->replay, is_chosen, waits, waits->costs, err)) != 0)
        return code;
    for (uint32_t i = 0; i < waits->replay->events.call_count; i++)
        if (waits->of_call[i] != NO_ROW)
            out[waits->of_call[i]] = saturating_add(out[waits->of_call[i]], waits->costs[i]);
    return 0;
}

static int costs(struct report *report, const struct table *table, struct rule_shared *shared, int work_table,
                 int64_t *out, struct error *err)
{
    struct waits waits = { .table = table, .replay = &shared->replay, .moments.width = 2 };
    int code;

    if (!table_row_count(table))
        return 0;
    if (!shared->has_replay && (code = replay_read(&shared->replay, report, err)) != 0)
        return code;
    shared->has_replay = 1;
    code = read_costs(&waits, report, work_table, out, err);
    keys_free(&waits.moments);
    free(waits.row);
    free(waits.of_call);
    free(waits.costs);
    return code;
}

void rule_shared_free(struct rule_shared *shared)
{
    replay_free(&shared->replay);
    shared->has_replay = 0;
}

RULE_WAITS(rule_waits_of_calls)
{
    return costs(report, table, shared, REPLAY_TABLES, out, err);
}

RULE_WAITS(rule_waits_for_copies)
{
    return costs(report, table, shared, REPLAY_COPY, out, err);
}

RULE_WAITS(rule_waits_for_fills)
{
    return costs(report, table, shared, REPLAY_FILL, out, err);
}
