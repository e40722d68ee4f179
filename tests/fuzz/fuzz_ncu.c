/* The fuzzer's way into ncu's CSV: bytes become a file, the file a report, and the report the tables on counters.
 * scripts/fuzz links it with libFuzzer. */
#include <string.h>

#include "analyze/registry.h"
#include "import_files.h"

/* A table, or a sentence why there is none. */
static void read_tables(struct report *report)
{
    for (const struct analysis *const *at = analyses; *at; at++) {
        struct table *table = NULL;
        struct error err = { 0 };
        if (strncmp((*at)->name, "kernel_", strlen("kernel_")) != 0)
            continue;
        if ((analysis_run(*at, report, &(struct analysis_request){ 0 }, &table, &err) == 0) != (table != NULL))
            abort();
        table_delete(table);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct report *report = import_bytes(&import_ncu, bytes, size);

    if (report) {
        read_tables(report);
        report_close(report);
    }
    return 0;
}
