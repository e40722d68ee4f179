/* What the fuzzers of importers share: bytes become a file, and the file a report, both in a folder
 * that is removed at the end. */
#ifndef TACHO_TESTS_FUZZ_IMPORT_FILES_H
#define TACHO_TESTS_FUZZ_IMPORT_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "import/import.h"
#include "report/reader/reader.h"

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
    snprintf(input, sizeof input, "%s/in", folder);
    snprintf(output, sizeof output, "%s/out.tacho", folder);
    atexit(remove_folder);
}

/* The report that the bytes become, or NULL where the importer refuses them. */
static struct report *import_bytes(const struct importer *importer, const uint8_t *bytes, size_t size)
{
    struct report *report;
    struct error err;

    if (!*folder)
        make_folder();
    FILE *file = fopen(input, "we");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        abort();
    if (importer->import(input, output, 1, &err) != 0)
        return NULL;
    if (report_open(output, &report, &err) != 0)
        abort(); /* what an import writes can be read */
    return report;
}

#endif
