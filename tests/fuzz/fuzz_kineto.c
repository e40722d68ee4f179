/* The fuzzer's way into traces of torch.profiler: bytes become a file, the file a report, and the report torch's table.
 * scripts/fuzz links it with libFuzzer. */
#include <string.h>

#include "analyze/registry.h"
#include "analyze/reports/torch/torch_ops.h"
#include "import_files.h"

/* A row stands for at least one event. */
static void read_ops(struct report *report)
{
    struct torch_ops_request request = { .by_shapes = 1, .stack_frames = 2, .with_flops = 1, .sort_by = "cpu_time" };
    struct torch_ops ops;
    struct error err;
    if (torch_ops(&ops, report, &(struct analysis_request){ 0 }, &request, &err) != 0)
        return;
    for (size_t r = 0; r < table_row_count(ops.table); r++)
        if (table_row(ops.table, r)[TORCH_COUNT].integer < 1)
            abort();
    table_delete(ops.table);
}

/* Those on steps, memory and modules: a table, or a sentence why there is none. */
static void read_tables(struct report *report)
{
    for (const struct analysis *const *at = analyses; *at; at++) {
        struct table *table = NULL;
        struct error err = { 0 };
        if (strncmp((*at)->name, "torch_", 6) != 0 && strncmp((*at)->name, "step_", 5) != 0)
            continue;
        if ((analysis_run(*at, report, &(struct analysis_request){ 0 }, &table, &err) == 0) != (table != NULL))
            abort();
        table_delete(table);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct report *report = import_bytes(&import_kineto, bytes, size);

    if (report) {
        read_ops(report);
        read_tables(report);
        report_close(report);
    }
    return 0;
}
