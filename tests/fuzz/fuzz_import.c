/* The fuzzer's way into the importer of SQLite files: bytes become a file, the file a report, and the report is opened.
 * scripts/fuzz links it with libFuzzer. */
#include "import_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct report *report = import_bytes(&import_nsys_sqlite, bytes, size);

    if (report)
        report_close(report);
    return 0;
}
