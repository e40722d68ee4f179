/* The table ThreadNames, sorted, and the tables of processes. Of several names of a thread the last in the table
 * counts: a process that became another program (a shell that runs `exec python`) has the name of the last program.
 * Threads get their row there when they end. In a report that is unfinished, TACHO_THREAD has the names of the others.
 */
#include "threads.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"

static int threads_by_thread(const void *a, const void *b)
{
    const struct thread_name *x = a, *y = b;

    return COMPARE(x->thread, y->thread);
}

static int by_thread_and_row(const void *a, const void *b)
{
    const struct thread_name *x = a, *y = b;

    return threads_by_thread(a, b) ?: COMPARE(x->row, y->row);
}

static void keep_last_names(struct thread_names *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < names->count; i++)
        if (i + 1 == names->count || names->list[i].thread != names->list[i + 1].thread)
            names->list[kept++] = names->list[i];
    names->count = kept;
}

static int add_thread_names(struct thread_names *names, struct report *report, const char *table, struct error *err)
{
    enum { NAME, PRIORITY, THREAD };
    static const char *const columns[] = { [NAME] = "nameId", [PRIORITY] = "priority", [THREAD] = "globalTid", NULL };
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, report, table, columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, NAME))
            continue;
        if (array_reserve(&names->list, &names->room, names->count + 1, sizeof *names->list) != 0 &&
            (code = error_no_memory(err)) != 0)
            goto close_rows;
        names->list[names->count] = (struct thread_name){
            .thread = row_int(&rows, THREAD),
            .name = row_int(&rows, NAME),
            .priority = row_int(&rows, PRIORITY),
            .row = names->count,
            .has_priority = !row_is_null(&rows, PRIORITY),
        };
        names->count++;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

int thread_names_read(struct thread_names *names, struct report *report, struct error *err)
{
    int code;

    *names = (struct thread_names){ 0 };
    if ((code = add_thread_names(names, report, "TACHO_THREAD", err)) != 0 ||
        (code = add_thread_names(names, report, "ThreadNames", err)) != 0) {
        thread_names_free(names);
        return code;
    }
    if (names->count)
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

    return names->count ? bsearch(&key, names->list, names->count, sizeof *names->list, threads_by_thread) : NULL;
}

void thread_name_label(struct text *out, const struct thread_names *names, struct report *report, int64_t thread)
{
    const struct thread_name *name = thread_name_find(names, thread);
    size_t length = 0;
    const char *bytes = name ? report_string(report, name->name, &length) : "";

    text_add_bytes(out, bytes, length);
    text_addf(out, length ? " (%lld)" : "%lld", (long long)global_tid_number(thread));
}

static int by_life(const void *a, const void *b)
{
    const struct thread_life *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
}

/* The row with an end counts, if several rows have one thread and start. */
static void merge_lives(struct thread_lives *lives)
{
    size_t kept = 0;

    if (lives->count)
        qsort(lives->list, lives->count, sizeof *lives->list, by_life);
    for (size_t i = 0; i < lives->count; i++) {
        struct thread_life *last = kept ? &lives->list[kept - 1] : NULL;
        if (!last || by_life(last, &lives->list[i]) != 0)
            lives->list[kept++] = lives->list[i];
        else if (lives->list[i].end_ns < last->end_ns)
            last->end_ns = lives->list[i].end_ns;
    }
    lives->count = kept;
}

int thread_lives_read(struct thread_lives *lives, struct report *report, struct error *err)
{
    enum { THREAD, START, END };
    static const char *const names[] = { [THREAD] = "globalTid", [START] = "start", [END] = "end", NULL };
    struct row_cursor rows;
    int code;

    *lives = (struct thread_lives){ 0 };
    if ((code = row_cursor_open(&rows, report, "TACHO_THREAD", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (ARRAY_PUSH(lives->list, lives->room, lives->count,
                       (struct thread_life){ row_int(&rows, THREAD), row_int(&rows, START),
                                             row_int_or(&rows, END, INT64_MAX) }) != 0 &&
            (code = error_short_memory(err, "for the threads")) != 0)
            goto close_rows;
    }
    merge_lives(lives);
close_rows:
    row_cursor_close(&rows);
    return code;
}

void thread_lives_free(struct thread_lives *lives)
{
    free(lives->list);
    *lives = (struct thread_lives){ 0 };
}

int64_t thread_lives_time(const struct thread_lives *lives, int64_t thread, const struct report_span *span)
{
    int64_t sum = 0;
    size_t first = BISECT(0, lives->count, i, lives->list[i].thread < thread);

    for (; first < lives->count && lives->list[first].thread == thread; first++) {
        const struct thread_life *life = &lives->list[first];
        int64_t from = life->start_ns > span->from_ns ? life->start_ns : span->from_ns,
                to = life->end_ns < span->to_ns ? life->end_ns : span->to_ns;
        if (from < to)
            sum = saturating_add(sum, saturating_duration(from, to));
    }
    return sum;
}

/* The place of the first name of a process from `from` on; the count: it has none. */
static size_t threads_find_process(const struct process_names *names, size_t from, int64_t process)
{
    while (from < names->count && names->list[from].process != process)
        from++;
    return from;
}

/* A program that a process became (exec) replaces the one before, which the same table has. */
static int add_process_names(struct process_names *names, struct report *report, const char *table, const char *column,
                             struct error *err)
{
    enum { PROCESS, NAME, IMAGE };
    const char *const columns[] = { [PROCESS] = "globalPid", [NAME] = column, [IMAGE] = "image", NULL };
    struct row_cursor rows;
    size_t first = names->count;
    int code;

    if ((code = row_cursor_open(&rows, report, table, columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, PROCESS) || row_is_null(&rows, NAME))
            continue;
        if (array_reserve(&names->list, &names->room, names->count + 1, sizeof *names->list) != 0 &&
            (code = error_no_memory(err)) != 0)
            goto close_rows;
        int64_t process = row_int(&rows, PROCESS);
        size_t at = row_int_or(&rows, IMAGE, 0) > 0 ? threads_find_process(names, first, process) : names->count;
        names->list[at] = (struct process_name){ process, row_int(&rows, NAME) };
        names->count += at == names->count;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

int process_names_read(struct process_names *names, struct report *report, struct error *err)
{
    int code;

    *names = (struct process_names){ 0 };
    if ((code = add_process_names(names, report, "PROCESSES", "name", err)) != 0 ||
        (code = add_process_names(names, report, "TACHO_PROCESS", "exe", err)) != 0)
        process_names_free(names);
    return code;
}

int process_commands_read(struct process_names *commands, struct report *report, struct error *err)
{
    int code;

    *commands = (struct process_names){ 0 };
    if ((code = add_process_names(commands, report, "TACHO_PROCESS", "command", err)) != 0)
        process_names_free(commands);
    return code;
}

void process_names_free(struct process_names *names)
{
    free(names->list);
    *names = (struct process_names){ 0 };
}

int64_t process_name_find(const struct process_names *names, int64_t process)
{
    size_t at = threads_find_process(names, 0, process);

    return at < names->count ? names->list[at].name : -1;
}
