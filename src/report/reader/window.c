/* Opens a window of a report: leaves out chunks, and rows of the chunks at its edges. */
#include "window.h"

#include <string.h>

#include "reader_state.h"
#include "report/schema/schema.h"

/* A chunk of which some rows are left out is one of the window's own, in front of the whole one. */
static int window_narrow_chunk(struct report *window, const struct reader_table *table, struct reader_chunk *chunk)
{
    struct reader_chunk *whole;
    int64_t kept;

    if (chunk->first >= table->window.from_ns && chunk->last <= table->window.to_ns)
        return 0;
    if ((kept = reader_window_rows(window, chunk)) < 0)
        kept = 0; /* its damage is counted */
    if (kept == chunk->rows)
        return 0;
    if (!(whole = arena_alloc(&window->arena, sizeof *whole)))
        return ERR_NO_MEMORY;
    *whole = *chunk;
    chunk->part_chunk = whole;
    chunk->rows = (uint32_t)kept;
    return 0;
}

static int window_narrow_table(struct report *window, struct reader_table *table)
{
    const struct report_span *span = &table->window;
    size_t count = 0;

    table->public.rows = 0;
    table->public.first_ns = INT64_MAX;
    table->public.last_ns = INT64_MIN;
    for (size_t i = 0; i < table->chunk_count; i++) {
        struct reader_chunk *chunk = &table->chunks[count];
        int has_times = table->chunks[i].first <= table->chunks[i].last;
        if (has_times && (table->chunks[i].last < span->from_ns || table->chunks[i].first > span->to_ns))
            continue;
        *chunk = table->chunks[i];
        if (has_times && window_narrow_chunk(window, table, chunk) != 0)
            return ERR_NO_MEMORY;
        if (!chunk->rows)
            continue;
        count++;
        chunk->first_row = table->public.rows;
        table->public.rows += chunk->rows;
        if (!has_times)
            continue;
        chunk->first = chunk->first > span->from_ns ? chunk->first : span->from_ns;
        chunk->last = chunk->last < span->to_ns ? chunk->last : span->to_ns;
        table->public.first_ns = chunk->first < table->public.first_ns ? chunk->first : table->public.first_ns;
        table->public.last_ns = chunk->last > table->public.last_ns ? chunk->last : table->public.last_ns;
    }
    table->chunk_count = count;
    return 0;
}

static int is_late(const struct report_late *late, const char *table)
{
    for (const char *const *name = late ? late->tables : NULL; name && *name; name++)
        if (strcmp(*name, table) == 0)
            return 1;
    return 0;
}

static int window_narrow(struct report *window, const struct report_span *span, const struct report_late *late)
{
    window->is_window = 1;
    for (size_t i = 0; i < window->table_count; i++) {
        struct reader_table *table = window->tables[i];
        table->window = *span;
        if (is_late(late, table->public.name))
            table->window.to_ns = late->to_ns;
        if (table->has_time && !schema_is_kept_whole(table->public.name) && window_narrow_table(window, table) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int report_open_window(struct report *report, const struct report_span *span, const struct report_late *late,
                       struct report **out, struct error *err)
{
    struct report *window;
    int code;

    if (report->parts)
        return error_set(err, ERR_UNSUPPORTED, "a set of reports has no windows");
    if ((code = report_open_host(&report->host, &window, err)) != 0)
        return code;
    if (window_narrow(window, span, late) != 0) {
        report_close(window);
        return error_no_memory(err);
    }
    *out = window;
    return 0;
}
