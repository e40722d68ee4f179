/* Recovers a report: copies every whole chunk, byte for byte, into a new file with an index. It does not interpret the
 * chunks, so tables that this version does not know survive. */
#include "recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunkfile.h"
#include "report/reader/reader_state.h"

/* Is there a readable row? The report must have been checked. */
static int recover_has_rows(const struct report *report)
{
    for (size_t i = 0; i < report->table_count; i++)
        for (size_t c = 0; c < report->tables[i]->chunk_count; c++)
            if (!report->tables[i]->chunks[c].damaged)
                return 1;
    return 0;
}

static int recover_copy_chunk(struct report *report, struct reader_scratch *scratch,
                              const struct reader_found_chunk *found, struct chunkfile *file)
{
    struct encoded_chunk chunk = { .size = found->size };
    int code = reader_chunk_read_at(report, found->offset, found->size, scratch, &chunk.header);
    if (code == ERR_CORRUPT) /* counted already */
        return 0;
    if (code != 0)
        return code;
    chunk.bytes = scratch->chunk;
    return chunkfile_put(file, &chunk, 0);
}

static int copy_all(struct report *report, struct chunkfile *file)
{
    struct reader_scratch *scratch = reader_scratch_take(report);
    struct encoder *encoder = encoder_new(0);
    int code = ERR_NO_MEMORY;
    if (!scratch || !encoder)
        goto done;
    for (size_t i = 0; i < report->found_count; i++) {
        uint8_t kind = report->found[i].header.kind;
        if (!kind || kind == CHUNK_INDEX || kind == CHUNK_END) /* 0: known to be damaged */
            continue;
        if ((code = recover_copy_chunk(report, scratch, &report->found[i], file)) != 0)
            goto done;
    }
    code = chunkfile_finish(file, encoder);
done:
    if (scratch)
        reader_scratch_give(report, scratch);
    encoder_delete(encoder);
    return code;
}

/* Writes to `part`, which becomes out_path when it is whole: that may be the report itself. */
static int write_copy(struct report *report, const char *part, const char *out_path, int recovered, struct error *err)
{
    struct chunkfile file;
    int code;
    if ((code = chunkfile_open(&file, part, 1, err)) != 0)
        return code;
    file.recovered = recovered;
    code = copy_all(report, &file);
    int closed = chunkfile_close(&file);
    if (code != 0 || closed != 0) {
        code = code != 0 ? code : closed;
        error_set(err, code, "cannot write %s: %s", part, error_name(code));
        goto remove_part;
    }
    if (rename(part, out_path) == 0)
        return 0;
    code = error_set_errno(err, "cannot create %s", out_path);
remove_part:
    unlink(part);
    return code;
}

int report_recover(const char *path, const char *out_path, int overwrite, struct report_health *health,
                   struct error *err)
{
    struct stat there;
    struct report *report;
    char *part = NULL;
    int exists = !stat(out_path, &there), code;
    if (!overwrite && exists)
        return error_set(err, ERR_EXISTS,
                         "'%s' exists already: choose another name, or overwrite it with -f "
                         "true",
                         out_path);
    if (exists && !S_ISREG(there.st_mode)) /* a device would be replaced by a file */
        return error_set(err, ERR_BAD_ARGUMENT, "'%s' is not a file", out_path);
    if ((code = report_open(path, &report, err)) != 0)
        return code;
    report_check(report);
    struct report_health found = report_health(report);
    if (!recover_has_rows(report)) {
        code = error_set(err, ERR_BAD_FORMAT, "cannot recover '%s': no row of it can be read", path);
        goto close_report;
    }
    if (asprintf(&part, "%s.recovering", out_path) < 0 && (code = error_no_memory(err)) != 0)
        goto close_report;
    code = write_copy(report, part, out_path, found.recovered || !found.complete || found.damaged_chunks, err);
    free(part);
    if (code != 0)
        goto close_report;
    if (health)
        *health = found;
close_report:
    report_close(report);
    return code;
}
