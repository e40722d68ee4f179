/* Windows of rows. While the caller reads one window, a thread has the report's workers decode the next one.
 *
 * There are two windows, each with one owner at a time: the thread fills the one that the caller has returned
 * (filled == 0), the caller reads the one that the thread has filled. A chunk that cannot be read leaves a hole in
 * its window. */
#include "export_rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/gpu.h"
#include "base/array.h"
#include "last_rows.h"

#define WINDOW_ROWS 131072
#define AHEAD_ROWS 65536 /* a smaller table is not worth a thread */

/* Consecutive rows of a window that could be read. */
struct export_rows_run {
    size_t first, count;
};

struct export_rows_window {
    struct export_window view;
    struct export_rows_run *runs; /* owned */
    size_t run_count, run_capacity;
    uint64_t first, count;        /* rows of the table */
    int filled;
    int code;
    struct error err;
};

struct export_rows {
    struct report *report;
    const struct report_table *table;
    const int *columns;
    size_t column_count;
    const struct export_options *options;
    int64_t shift_ns;
    struct last_rows last;
    int start, end;                                         /* columns of its times, or -1 */
    int of_thread, of_process, correlation, device, stream; /* columns for the filter, or -1 */
    struct export_rows_window windows[2];
    uint64_t window_rows;
    uint64_t read;                                          /* windows that the caller has been given */
    size_t run, at;
    int started;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the fields below, and the windows' filled and runs */
    pthread_cond_t changed;
    int stop;
};

/* ---- filling --------------------------------------------------------------------------------------------------- */

struct export_rows_filling {
    struct export_rows *rows;
    struct export_rows_window *window;
};

/* A column that the file lacks (-1) is not a time. */
static int export_rows_is_time(const struct export_rows *rows, size_t c)
{
    return rows->columns[c] >= 0 && rows->table->columns[rows->columns[c]].type == COLUMN_TIME;
}

static void export_rows_copy_column(const struct export_rows *rows, struct export_rows_window *window,
                                    const struct report_block *block, size_t c, size_t from, size_t to, size_t count)
{
    int64_t *out = window->view.values[c] + to;
    int64_t shift = export_rows_is_time(rows, c) ? rows->shift_ns : 0;

    memcpy(out, block->values[c] + from, count * sizeof *out);
    for (size_t i = 0; shift && i < count; i++)
        out[i] = saturating_add(out[i], shift);
    if (block->nulls[c])
        for (size_t i = 0; i < count; i++)
            window->view.null_masks[to + i] |= (uint64_t)block_is_null(block, c, from + i) << c;
}

static int export_rows_add_run(struct export_rows *rows, struct export_rows_window *window, struct export_rows_run run)
{
    int code = 0;

    pthread_mutex_lock(&rows->lock);
    if (array_reserve(&window->runs, &window->run_capacity, window->run_count + 1, sizeof run) == 0)
        window->runs[window->run_count++] = run;
    else
        code = ERR_NO_MEMORY;
    pthread_mutex_unlock(&rows->lock);
    return code;
}

static int export_rows_take_block(void *context, int worker, const struct report_block *block)
{
    const struct export_rows_filling *filling = context;
    struct export_rows *rows = filling->rows;
    struct export_rows_window *window = filling->window;
    uint64_t begin = block->first_row > window->first ? block->first_row : window->first;
    uint64_t end = block->first_row + block->rows;

    end = end < window->first + window->count ? end : window->first + window->count;
    if (begin >= end)
        return 0;
    size_t from = (size_t)(begin - block->first_row), to = (size_t)(begin - window->first),
           count = (size_t)(end - begin);
    memset(window->view.null_masks + to, 0, count * sizeof *window->view.null_masks);
    for (size_t c = 0; c < rows->column_count; c++)
        export_rows_copy_column(rows, window, block, c, from, to, count);
    return export_rows_add_run(rows, window, (struct export_rows_run){ to, count });
}

static int export_rows_by_first(const void *a, const void *b)
{
    const struct export_rows_run *x = a, *y = b;

    return COMPARE(x->first, y->first);
}

static void export_rows_fill(struct export_rows *rows, struct export_rows_window *window, uint64_t number)
{
    struct export_rows_filling filling = { rows, window };

    window->first = window->view.first = number * rows->window_rows;
    window->count = rows->table->rows - window->first < rows->window_rows ? rows->table->rows - window->first
                                                                          : rows->window_rows;
    window->run_count = 0;
    window->code = report_scan_rows(rows->report, rows->table, rows->columns, rows->column_count, window->first,
                                    window->count, export_rows_take_block, &filling, &window->err);
    if (window->run_count)
        qsort(window->runs, window->run_count, sizeof *window->runs, export_rows_by_first);
}

static uint64_t window_count(const struct export_rows *rows)
{
    return (rows->table->rows + rows->window_rows - 1) / rows->window_rows;
}

static void *fill_ahead(void *argument)
{
    struct export_rows *rows = argument;

    for (uint64_t number = 0; number < window_count(rows); number++) {
        struct export_rows_window *window = &rows->windows[number % 2];
        pthread_mutex_lock(&rows->lock);
        while (window->filled && !rows->stop)
            pthread_cond_wait(&rows->changed, &rows->lock);
        int stop = rows->stop;
        pthread_mutex_unlock(&rows->lock);
        if (stop)
            break;
        export_rows_fill(rows, window, number);
        pthread_mutex_lock(&rows->lock);
        window->filled = 1;
        pthread_cond_broadcast(&rows->changed);
        pthread_mutex_unlock(&rows->lock);
    }
    return NULL;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Returns the window that was read to the thread and goes to the next: 1, or 0 when there is none. */
static int next_window(struct export_rows *rows)
{
    struct export_rows_window *old = &rows->windows[(rows->read + 1) % 2], *window = &rows->windows[rows->read % 2];

    if (rows->read == window_count(rows))
        return 0;
    if (rows->started) {
        pthread_mutex_lock(&rows->lock);
        if (rows->read > 0)
            old->filled = 0;
        pthread_cond_broadcast(&rows->changed);
        while (!window->filled)
            pthread_cond_wait(&rows->changed, &rows->lock);
        pthread_mutex_unlock(&rows->lock);
    } else
        export_rows_fill(rows, window, rows->read);
    rows->read++;
    rows->run = rows->at = 0;
    return 1;
}

static int64_t export_rows_value_or(const struct export_window *view, int column, int64_t fallback)
{
    return column < 0 || view->null_masks[view->at] >> column & 1 ? fallback : view->values[column][view->at];
}

/* Events have a thread, or a call that launched them; other rows describe events, and are always exported. */
static int in_filter(const struct export_rows *rows, const struct export_window *view, int64_t start, int64_t end)
{
    const struct filter *filter = rows->options->filter;

    if (filter && rows->of_thread >= 0)
        return filter_thread(filter, export_rows_value_or(view, rows->of_thread, 0), start, end);
    if (!filter || rows->of_process < 0 || rows->correlation < 0)
        return 1;
    return filter_gpu(filter, &(struct filter_gpu_work){ start, end, export_rows_value_or(view, rows->of_process, 0),
                                                         export_rows_value_or(view, rows->correlation, NO_CORRELATION),
                                                         export_rows_value_or(view, rows->device, -1),
                                                         export_rows_value_or(view, rows->stream, -1) });
}

static int export_rows_in_ranges(const struct export_rows *rows, const struct export_window *view)
{
    if ((rows->options->range_count == 0 && !rows->options->filter) || rows->start < 0)
        return 1;
    if (view->null_masks[view->at] >> rows->start & 1)
        return 0;
    int64_t start = saturating_subtract(view->values[rows->start][view->at], rows->shift_ns), end = start;
    if (rows->end >= 0 && !(view->null_masks[view->at] >> rows->end & 1))
        end = saturating_subtract(view->values[rows->end][view->at], rows->shift_ns);
    return export_wants_time(rows->options, start, end) && in_filter(rows, view, start, end);
}

const struct export_window *export_window(const struct export_rows *rows)
{
    return &rows->windows[(rows->read + 1) % 2].view;
}

int export_rows_next(struct export_rows *rows, struct error *err)
{
    for (;;) {
        struct export_rows_window *window = &rows->windows[(rows->read + 1) % 2];
        if (rows->read == 0 || rows->run == window->run_count) {
            if (!next_window(rows))
                return 0;
            window = &rows->windows[(rows->read + 1) % 2];
            if (window->code != 0) {
                *err = window->err;
                return window->code;
            }
            continue;
        }
        const struct export_rows_run *run = &window->runs[rows->run];
        window->view.at = run->first + rows->at;
        if (++rows->at == run->count) {
            rows->at = 0;
            rows->run++;
        }
        if (export_rows_in_ranges(rows, &window->view) &&
            !last_rows_is_replaced(&rows->last, window->first + window->view.at))
            return 1;
    }
}

/* ---- opening and closing --------------------------------------------------------------------------------------- */

static int make_window(const struct export_rows *rows, struct export_rows_window *window)
{
    window->view.null_masks = malloc(rows->window_rows * sizeof *window->view.null_masks);
    int made = window->view.null_masks != NULL;
    for (size_t c = 0; c < rows->column_count; c++)
        made &= (window->view.values[c] = malloc(rows->window_rows * sizeof(int64_t))) != NULL;
    return made;
}

static void find_times(struct export_rows *rows)
{
    rows->start = rows->end = -1;
    for (size_t c = 0; c < rows->column_count; c++) {
        if (!export_rows_is_time(rows, c))
            continue;
        if (rows->start < 0)
            rows->start = (int)c;
        else if (rows->end < 0 && strcmp(rows->table->columns[rows->columns[c]].name, "end") == 0)
            rows->end = (int)c;
    }
}

static void export_rows_find_places(struct export_rows *rows)
{
    const struct {
        const char *name;
        int *column;
    } places[] = {
        { "globalTid", &rows->of_thread }, { "globalPid", &rows->of_process }, { "correlationId", &rows->correlation },
        { "deviceId", &rows->device },     { "streamId", &rows->stream },
    };

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        *places[i].column = -1;
        for (size_t c = 0; c < rows->column_count; c++)
            if (rows->columns[c] >= 0 && strcmp(rows->table->columns[rows->columns[c]].name, places[i].name) == 0)
                *places[i].column = (int)c;
    }
}

int export_rows_open(struct report *report, const struct report_table *table, const int *columns, size_t column_count,
                     const struct export_options *options, int64_t shift_ns, struct export_rows **out,
                     struct error *err)
{
    struct export_rows *rows = calloc(1, sizeof *rows);
    int code;

    if (!rows)
        return error_no_memory(err);
    *rows = (struct export_rows){
        .report = report,
        .table = table,
        .columns = columns,
        .column_count = column_count,
        .options = options,
        .shift_ns = shift_ns,
        .window_rows = table->rows < WINDOW_ROWS ? table->rows + 1 : WINDOW_ROWS,
    };
    pthread_mutex_init(&rows->lock, NULL);
    pthread_cond_init(&rows->changed, NULL);
    find_times(rows);
    export_rows_find_places(rows);
    if ((code = last_rows_find(report, table, &rows->last, err)) != 0)
        goto close_rows;
    if ((!make_window(rows, &rows->windows[0]) || !make_window(rows, &rows->windows[1])) &&
        (code = error_no_memory(err)) != 0)
        goto close_rows;
    rows->started = table->rows >= AHEAD_ROWS && pthread_create(&rows->thread, NULL, fill_ahead, rows) == 0;
    *out = rows;
    return 0;
close_rows:
    export_rows_close(rows);
    return code;
}

void export_rows_close(struct export_rows *rows)
{
    if (!rows)
        return;
    if (rows->started) {
        pthread_mutex_lock(&rows->lock);
        rows->stop = 1;
        pthread_cond_broadcast(&rows->changed);
        pthread_mutex_unlock(&rows->lock);
        pthread_join(rows->thread, NULL);
    }
    for (int w = 0; w < 2; w++) {
        free(rows->windows[w].runs);
        free(rows->windows[w].view.null_masks);
        for (size_t c = 0; c < rows->column_count; c++)
            free(rows->windows[w].view.values[c]);
    }
    pthread_cond_destroy(&rows->changed);
    pthread_mutex_destroy(&rows->lock);
    last_rows_free(&rows->last);
    free(rows);
}
