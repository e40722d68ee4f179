/* Copies a set chunk by chunk: its workers decode and encode some chunks at a time, which are then written in order. It
 * knows nothing of the tables, so those that this version does not know survive. */
#include "merge_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "chunkfile.h"

#define WINDOW 64                        /* chunks in memory */
#define STRING_BYTES ((size_t)16 << 20) /* of a chunk; one more string may be added */

/* What one table needs in every chunk. */
struct merge_report_layout {
    const struct report_table *from;
    uint16_t id;
    int *columns; /* 0, 1, 2, …; owned, as all below */
    const char **names;
    enum column_type *types;
};

struct merge_report_merge {
    struct report *set;
    struct chunkfile file;
    struct encoder **encoders; /* by worker; owned, as all below */
    int workers;
    struct merge_report_layout *layouts;
    size_t layout_count;
    /* The window, and the table that it is of. */
    const struct merge_report_layout *layout;
    size_t first_chunk, chunk_count;
    struct encoded_chunk window[WINDOW];
};

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static int merge_report_make_layout(struct merge_report_layout *layout, const struct report_table *from, uint16_t id)
{
    size_t count = from->column_count;

    *layout = (struct merge_report_layout){ .from = from,
                                            .id = id,
                                            .columns = array_alloc(count + 1, sizeof *layout->columns),
                                            .names = array_alloc(count + 1, sizeof *layout->names),
                                            .types = array_alloc(count + 1, sizeof *layout->types) };
    if (!layout->columns || !layout->names || !layout->types)
        return ERR_NO_MEMORY;
    for (size_t c = 0; c < count; c++) {
        layout->columns[c] = (int)c;
        layout->names[c] = from->columns[c].name;
        layout->types[c] = from->columns[c].type;
    }
    return 0;
}

static int make_layouts(struct merge_report_merge *merge)
{
    size_t count = report_table_count(merge->set), next = TABLE_COUNT;
    int code;

    merge->layouts = calloc(count + 1, sizeof *merge->layouts);
    if (!merge->layouts)
        return ERR_NO_MEMORY;
    for (size_t t = 0; t < count && next < UINT16_MAX; t++) {
        const struct report_table *from = report_table_at(merge->set, t);
        int known = schema_find(from->name);
        uint16_t id = (uint16_t)(known >= 0 ? (size_t)known : next++);
        if ((code = merge_report_make_layout(&merge->layouts[merge->layout_count++], from, id)) != 0)
            return code;
    }
    return 0;
}

static int merge_report_put_tables(struct merge_report_merge *merge)
{
    struct encode_table *tables = calloc(merge->layout_count + 1, sizeof *tables);
    struct encoded_chunk chunk;
    int code = ERR_NO_MEMORY;

    if (!tables)
        return code;
    for (size_t t = 0; t < merge->layout_count; t++) {
        const struct merge_report_layout *at = &merge->layouts[t];
        tables[t] = (struct encode_table){ at->id, at->from->name, at->names, at->types, at->from->column_count };
    }
    code = encode_tables(merge->encoders[0], tables, merge->layout_count, &chunk);
    free(tables);
    if (code != 0)
        return code;
    code = chunkfile_put(&merge->file, &chunk, 0);
    free(chunk.bytes);
    return code;
}

/* ---- strings --------------------------------------------------------------------------------------------------- */

static int put_strings(struct merge_report_merge *merge, const struct report_table *from)
{
    struct intern_string *strings = array_alloc(CHUNK_MAX_ROWS, sizeof *strings);
    int code = strings ? 0 : ERR_NO_MEMORY;

    for (uint64_t id = 0, first = 0; id < from->rows && code >= 0; first = id) {
        struct encoded_chunk chunk;
        size_t count = 0, bytes = 0;
        for (; id < from->rows && count < CHUNK_MAX_ROWS && bytes < STRING_BYTES; id++) {
            strings[count].bytes = report_string(merge->set, (int64_t)id, &strings[count].length);
            bytes += strings[count++].length;
        }
        if ((code = encode_strings(merge->encoders[0], (int64_t)first, strings, count, &chunk)) != 0)
            break;
        code = chunkfile_put(&merge->file, &chunk, 0);
        free(chunk.bytes);
    }
    free(strings);
    return code;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static size_t merge_report_place_of(const struct merge_report_merge *merge, uint64_t first_row)
{
    for (size_t i = 0; i < merge->chunk_count; i++)
        if (report_chunk_at(merge->layout->from, merge->first_chunk + i).first_row == first_row)
            return i;
    return 0;
}

static int encode_one(void *context, int worker, const struct report_block *block)
{
    struct merge_report_merge *merge = context;
    const struct merge_report_layout *layout = merge->layout;
    const struct encode_block from = { .table = layout->id,
                                       .types = layout->types,
                                       .values = block->values,
                                       .nulls = block->nulls,
                                       .column_count = layout->from->column_count,
                                       .rows = block->rows };

    return encode_block(merge->encoders[worker], &from, &merge->window[merge_report_place_of(merge, block->first_row)]);
}

/* A chunk that could not be read is left out; the set has counted it. */
static int put_window(struct merge_report_merge *merge, int code)
{
    for (size_t i = 0; i < merge->chunk_count; i++) {
        if (code >= 0 && merge->window[i].bytes)
            code = chunkfile_put(&merge->file, &merge->window[i], 0);
        free(merge->window[i].bytes);
        merge->window[i] = (struct encoded_chunk){ 0 };
    }
    return code;
}

static int merge_report_put_rows(struct merge_report_merge *merge, const struct merge_report_layout *layout,
                                 struct error *err)
{
    size_t chunks = report_chunk_count(layout->from);
    int code;

    merge->layout = layout;
    for (size_t first = 0; first < chunks; first += merge->chunk_count) {
        merge->first_chunk = first;
        merge->chunk_count = chunks - first < WINDOW ? chunks - first : WINDOW;
        struct report_chunk from = report_chunk_at(layout->from, first),
                            to = report_chunk_at(layout->from, first + merge->chunk_count - 1);
        code = report_scan_rows(merge->set, layout->from, layout->columns, layout->from->column_count, from.first_row,
                                to.first_row + to.rows - from.first_row, encode_one, merge, err);
        if ((code = put_window(merge, code)) != 0)
            return code;
    }
    return 0;
}

static int merge_report_put_all(struct merge_report_merge *merge, struct error *err)
{
    int code;

    if ((code = make_layouts(merge)) != 0 || (code = merge_report_put_tables(merge)) != 0)
        return code;
    for (size_t t = 0; t < merge->layout_count; t++)
        if (merge->layouts[t].id == TABLE_StringIds && (code = put_strings(merge, merge->layouts[t].from)) != 0)
            return code;
    for (size_t t = 0; t < merge->layout_count; t++)
        if (merge->layouts[t].id != TABLE_StringIds &&
            (code = merge_report_put_rows(merge, &merge->layouts[t], err)) != 0)
            return code;
    struct report_health health = report_health(merge->set);
    merge->file.recovered = health.recovered || !health.complete || health.damaged_chunks;
    return chunkfile_finish(&merge->file, merge->encoders[0]);
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static int open_encoders(struct merge_report_merge *merge)
{
    merge->workers = report_workers(merge->set);
    merge->encoders = calloc((size_t)merge->workers + 1, sizeof *merge->encoders);
    for (int i = 0; merge->encoders && i < merge->workers; i++)
        if (!(merge->encoders[i] = encoder_new(0)))
            return ERR_NO_MEMORY;
    return merge->encoders ? 0 : ERR_NO_MEMORY;
}

static void free_merge(struct merge_report_merge *merge)
{
    for (int i = 0; merge->encoders && i < merge->workers; i++)
        encoder_delete(merge->encoders[i]);
    for (size_t t = 0; t < merge->layout_count; t++) {
        free(merge->layouts[t].columns);
        free(merge->layouts[t].names);
        free(merge->layouts[t].types);
    }
    free(merge->encoders);
    free(merge->layouts);
    free(merge);
}

/* Writes to `part`, which becomes `path` when it is whole. */
static int merge_report_write_file(struct merge_report_merge *merge, const char *part, const char *path,
                                   struct error *err)
{
    struct error cause = { 0 };
    int code = chunkfile_open(&merge->file, part, 1, err);

    if (code != 0)
        return code;
    code = open_encoders(merge);
    code = code != 0 ? code : merge_report_put_all(merge, &cause);
    int failed_errno = merge->file.failed_errno, closed = chunkfile_close(&merge->file);
    code = code != 0 ? code : closed;
    if (code != 0) {
        error_set(err, code, "cannot write %s: %s", path,
                  cause.code     ? cause.text
                  : failed_errno ? strerror(failed_errno)
                                 : error_name(code));
        goto remove_part;
    }
    if (rename(part, path) == 0)
        return 0;
    code = error_set_errno(err, "cannot create %s", path);
remove_part:
    unlink(part);
    return code;
}

int report_merge(struct report *set, const char *path, int overwrite, struct error *err)
{
    struct merge_report_merge *merge = calloc(1, sizeof *merge);
    struct stat there;
    char *part = NULL;
    int exists = stat(path, &there) == 0, code;

    if (!merge) {
        code = error_no_memory(err);
    } else if (exists && !overwrite) {
        code = error_set(err, ERR_EXISTS, "'%s' exists already: choose another name, or overwrite it with -f true",
                         path);
    } else if (exists && !S_ISREG(there.st_mode)) { /* a device would be replaced by a file */
        code = error_set(err, ERR_BAD_ARGUMENT, "'%s' is not a file", path);
    } else if (asprintf(&part, "%s.merging", path) < 0) {
        part = NULL;
        code = error_no_memory(err);
    } else {
        merge->set = set;
        code = merge_report_write_file(merge, part, path, err);
    }
    free(part);
    if (merge)
        free_merge(merge);
    return code;
}
