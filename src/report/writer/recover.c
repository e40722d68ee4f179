/* Checks a report for damage, and recovers one. Recovery copies every whole chunk, byte for byte, into a new file
 * with an index. It does not interpret the chunks, so tables that this version does not know survive. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunkfile.h"
#include "report/reader/reader_state.h"

struct check {
    struct report *report;
    struct reader_table *table;
};

static void check_one(void *argument, int worker, size_t i)
{
    struct report *report = ((struct check *)argument)->report;
    struct reader_chunk *chunk = &((struct check *)argument)->table->chunks[i];
    struct reader_scratch *scratch = reader_scratch_take(report);
    size_t size;

    (void)worker;
    if (!scratch)
        return;
    reader_chunk_read(report, chunk, scratch, &size);
    reader_scratch_give(report, scratch);
}

void report_check(struct report *report)
{
    if (!report->has_index) /* then opening has checked it */
        return;
    for (size_t i = 0; i < report->table_count; i++) {
        struct check check = { report, report->tables[i] };
        report->host.parallel_for(report->host.context, check.table->chunk_count, check_one, &check);
    }
}

/* Whether there is a row that can be read; the report has been checked. */
static int has_rows(const struct report *report)
{
    for (size_t i = 0; i < report->table_count; i++)
        for (size_t c = 0; c < report->tables[i]->chunk_count; c++)
            if (!report->tables[i]->chunks[c].damaged)
                return 1;
    return 0;
}

static int copy_chunk(struct report *report, struct reader_scratch *scratch, const struct reader_found_chunk *found,
                      struct chunkfile *file)
{
    struct encoded_chunk chunk = { .size = found->size };
    int status = reader_chunk_read_at(report, found->offset, found->size, scratch, &chunk.header);
    if (status == ERR_CORRUPT) /* counted already */
        return 0;
    chunk.bytes = scratch->chunk;
    return status ? status : chunkfile_put(file, &chunk, 0);
}

static int copy_all(struct report *report, struct chunkfile *file)
{
    struct reader_scratch *scratch = reader_scratch_take(report);
    struct encoder *encoder = encoder_new(0);
    int status = scratch && encoder ? 0 : ERR_NO_MEMORY;
    for (size_t i = 0; i < report->found_count && !status; i++) {
        uint8_t kind = report->found[i].header.kind;
        if (kind && kind != CHUNK_INDEX && kind != CHUNK_END) /* 0: found to be damaged */
            status = copy_chunk(report, scratch, &report->found[i], file);
    }
    if (!status)
        status = chunkfile_finish(file, encoder);
    if (scratch)
        reader_scratch_give(report, scratch);
    encoder_delete(encoder);
    return status;
}

int report_recover(const char *path, const char *out_path, int overwrite, struct report_health *health,
                   struct error *err)
{
    struct stat there;
    int exists = !stat(out_path, &there);
    if (!overwrite && exists)
        return error_set(err, ERR_EXISTS, "'%s' exists already; -f true replaces it", out_path);
    if (exists && !S_ISREG(there.st_mode)) /* a device would be replaced by a file */
        return error_set(err, ERR_BAD_ARGUMENT, "'%s' is not a file", out_path);
    struct report *report;
    int status = report_open(path, &report, err);
    if (status)
        return status;
    report_check(report);
    struct report_health found = report_health(report);
    char *part = NULL; /* the result gets its name when it is whole: out_path may be path itself */
    struct chunkfile file;
    if (!has_rows(report)) {
        status = error_set(err, ERR_BAD_FORMAT, "no row of '%s' can be read, so there is nothing to recover", path);
        goto failed_name;
    }
    if (asprintf(&part, "%s.recovering", out_path) < 0) {
        status = error_set(err, ERR_NO_MEMORY, "out of memory");
        part = NULL;
        goto failed_name;
    }
    status = chunkfile_open(&file, part, 1, err);
    if (status)
        goto failed_name;
    file.recovered = found.recovered || !found.complete || found.damaged_chunks;
    status = copy_all(report, &file);
    if (chunkfile_close(&file) && !status)
        status = ERR_IO;
    if (status)
        error_set(err, status, "cannot write %s: %s", part, error_name(status));
    else if (rename(part, out_path))
        status = error_set_errno(err, "cannot create %s", out_path);
    if (status)
        unlink(part);
    else if (health)
        *health = found;
failed_name:
    free(part);
    report_close(report);
    return status;
}
