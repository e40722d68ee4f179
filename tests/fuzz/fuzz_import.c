/* The fuzzer's way into the importer of SQLite files: bytes become a file, the file a report, and the report is opened.
 * scripts/fuzz links it with libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../src/import/import.h"
#include "../../src/report/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char folder[64], input[96], output[96];

static void remove_folder(void)
{
    unlink(input);
    unlink(output);
    rmdir(folder);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/fuzz_import.XXXXXX");
    if (!mkdtemp(folder))
        abort();
    snprintf(input, sizeof input, "%s/in.sqlite", folder);
    snprintf(output, sizeof output, "%s/out.tacho", folder);
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct report *report;
    struct error err;
    if (!*folder)
        make_folder();
    FILE *file = fopen(input, "we");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    if (import_nsys_sqlite.import(input, output, 1, &err) == 0) {
        if (report_open(output, &report, &err) != 0)
            abort(); /* what an import writes can be read */
        report_close(report);
    }
    return 0;
}
