/* Imports counters of kernels from the CSV of Nsight Compute's command line (ncu --csv), raw page, details page or
 * summary, and skips the text that ncu and the program print around it. */
#include "ncu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import.h"

/* A line that ncu prints, or the header of a table. */
static int is_line_of_ncu(const char *line, size_t length)
{
    static const char *const starts[] = { "==PROF==", "==WARNING==", "==ERROR==" };

    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (text_bytes_begin_with(line, length, starts[i]))
            return 1;
    if (text_bytes_begin_with(line, length, "Section: ")) /* a page of text, which is refused with a sentence */
        return 1;
    return memmem(line, length, "Kernel Name\"", strlen("Kernel Name\"")) &&
           (memmem(line, length, "\"ID\"", strlen("\"ID\"")) ||
            memmem(line, length, "\"Process ID\"", strlen("\"Process ID\"")) ||
            memmem(line, length, "\"Metric Name\"", strlen("\"Metric Name\"")));
}

static int ncu_file_recognise(const void *bytes, size_t length)
{
    const char *at = bytes, *end = at + length;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        while (at < stop && (*at == ' ' || *at == '\t'))
            at++;
        if (is_line_of_ncu(at, (size_t)(stop - at)))
            return 1;
        at = stop + 1;
    }
    return 0;
}

static void ncu_file_note(struct ncu *import, const char *reason, uint64_t count)
{
    if (count)
        import_note(import->writer, "csv", NULL, reason, (int64_t)count);
}

/* One record of any kind; text before the first header is output of the program. */
static int take_record(struct ncu *import)
{
    if (ncu_is_header(&import->record))
        return ncu_take_header(import);
    if (!import->header.count)
        return 0;
    if (!import->header.wants_units || !ncu_take_units(import))
        ncu_add_record(import);
    return text_failed(&import->scratch) || text_failed(&import->unit) || text_failed(&import->key) ? ERR_NO_MEMORY : 0;
}

static int ncu_file_write_rows(struct ncu *import, struct error *err)
{
    int found;

    while ((found = ncu_record_read(&import->record, &import->window, err)) > 0)
        if (take_record(import) != 0)
            return error_no_memory(err);
    if (found < 0)
        return found;
    if (!import->header.count)
        return error_set(err, ERR_BAD_FORMAT,
                         "cannot import '%s': it has no table of ncu, only text. Print one with: ncu --import "
                         "REPORT.ncu-rep --page raw --csv",
                         import->path);
    ncu_file_note(import, "damaged", import->damaged);
    ncu_file_note(import, "truncated", (uint64_t)import->truncated);
    ncu_file_note(import, "unknown-column", import->unknown_columns);
    return 0;
}

static int ncu_file_write_report(struct ncu *import, const char *out_path, int overwrite, struct error *err)
{
    struct writer_options options = { .overwrite = overwrite };
    int code;

    if ((code = writer_open(out_path, &options, &import->writer, err)) != 0)
        return code;
    code = ncu_file_write_rows(import, err);
    if ((code = writer_close_after(import->writer, code, err)) != 0)
        unlink(out_path); /* half an import would pass for a whole one */
    return code;
}

static int ncu_file_import_file(const char *path, const char *out_path, int overwrite, struct error *err)
{
    struct ncu import = { .path = path };
    int code;

    if ((code = import_window_open(&import.window, path, err)) != 0)
        goto close_window;
    code = ncu_file_write_report(&import, out_path, overwrite, err);
close_window:
    import_window_close(&import.window);
    ncu_record_free(&import.record);
    ncu_record_free(&import.header.names);
    free(import.header.metrics);
    intern_free(&import.metrics);
    intern_free(&import.devices);
    text_free(&import.key);
    text_free(&import.last_key);
    text_free(&import.scratch);
    text_free(&import.unit);
    return code;
}

const struct importer import_ncu = {
    .name = "ncu",
    .help = "CSV of ncu",
    .extension = "csv",
    .recognise = ncu_file_recognise,
    .import = ncu_file_import_file,
};
