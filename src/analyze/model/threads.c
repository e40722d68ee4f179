/* The table ThreadNames, sorted, and the tables of processes. Of several names of a thread the last in the table
 * counts: a process that became another program (a shell that runs `exec python`) is called as it ended. */
#include "threads.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"

enum { NAME, PRIORITY, THREAD, COLUMNS };

static int by_thread(const void *a, const void *b)
{
    const struct thread_name *x = a, *y = b;

    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int by_thread_and_row(const void *a, const void *b)
{
    const struct thread_name *x = a, *y = b;
    int order = by_thread(a, b);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static void keep_last_names(struct thread_names *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < names->count; i++)
        if (i + 1 == names->count || names->list[i].thread != names->list[i + 1].thread)
            names->list[kept++] = names->list[i];
    names->count = kept;
}

int thread_names_read(struct thread_names *names, struct report *report, struct error *err)
{
    const struct report_table *table = report_table(report, "ThreadNames");
    struct report_columns columns;

    *names = (struct thread_names){ 0 };
    if (!table || !table->rows)
        return 0;
    int wanted[COLUMNS] = { report_column(table, "nameId"), report_column(table, "priority"),
                            report_column(table, "globalTid") };
    int code = report_read(report, table, wanted, COLUMNS, &columns, err);
    if (code != 0)
        return code;
    names->list = calloc(columns.rows + 1, sizeof *names->list);
    for (size_t row = 0; names->list && row < columns.rows; row++) {
        names->list[names->count++] = (struct thread_name){ columns.values[THREAD][row], columns.values[NAME][row],
                                                            columns.values[PRIORITY][row], row,
                                                            !columns_is_null(&columns, PRIORITY, row) };
    }
    report_columns_free(&columns);
    if (!names->list)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    qsort(names->list, names->count, sizeof *names->list, by_thread_and_row);
    keep_last_names(names);
    return 0;
}

void thread_names_free(struct thread_names *names)
{
    free(names->list);
    *names = (struct thread_names){ 0 };
}

const struct thread_name *thread_name_find(const struct thread_names *names, int64_t thread)
{
    struct thread_name key = { .thread = thread };

    return names->count ? bsearch(&key, names->list, names->count, sizeof *names->list, by_thread) : NULL;
}

static int add_process_names(struct process_names *names, struct report *report, const char *table, const char *column,
                             struct error *err)
{
    const char *wanted[] = { "globalPid", column };
    struct report_columns columns = { 0 };
    int code = columns_read(report, table, wanted, 2, &columns, err);

    if (code != 0 || !columns.values)
        return code;
    if (array_reserve(&names->list, &names->room, names->count + columns.rows, sizeof *names->list) != 0)
        code = error_set(err, ERR_NO_MEMORY, "out of memory");
    for (size_t row = 0; code == 0 && row < columns.rows; row++)
        if (!columns_is_null(&columns, 0, row) && !columns_is_null(&columns, 1, row))
            names->list[names->count++] = (struct process_name){ columns.values[0][row], columns.values[1][row] };
    report_columns_free(&columns);
    return code;
}

int process_names_read(struct process_names *names, struct report *report, struct error *err)
{
    *names = (struct process_names){ 0 };
    int code = add_process_names(names, report, "PROCESSES", "name", err);
    return code ? code : add_process_names(names, report, "TACHO_PROCESS", "exe", err);
}

void process_names_free(struct process_names *names)
{
    free(names->list);
    *names = (struct process_names){ 0 };
}

int64_t process_name_find(const struct process_names *names, int64_t process)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->list[i].process == process)
            return names->list[i].name;
    return -1;
}
