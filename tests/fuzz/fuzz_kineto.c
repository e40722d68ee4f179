/* The fuzzer's way into traces of torch.profiler: bytes become a file, the file a report, and the report torch's table. scripts/fuzz
 * links it with libFuzzer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/analyze/torch_ops.h"
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
    snprintf(folder, sizeof folder, "/tmp/fuzz_kineto.XXXXXX");
    if (!mkdtemp(folder))
        abort();
    snprintf(input, sizeof input, "%s/in.json", folder);
    snprintf(output, sizeof output, "%s/out.tacho", folder);
    atexit(remove_folder);
}

/* A row stands for at least one event. */
static void read_ops(struct report *report)
{
    struct torch_ops_request request = { .by_shapes = 1, .stack_frames = 2, .with_flops = 1, .sort_by = "cpu_time" };
    struct torch_ops ops;
    struct error err;
    if (torch_ops(&ops, report, &(struct analysis_request){0}, &request, &err) != 0)
        return;
    for (size_t r = 0; r < table_row_count(ops.table); r++)
        if (table_row(ops.table, r)[TORCH_COUNT].integer < 1)
            abort();
    table_delete(ops.table);
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
    if (import_kineto.import(input, output, 1, &err) == 0) {
        if (report_open(output, &report, &err) != 0)
            abort(); /* what an import writes can be read */
        read_ops(report);
        report_close(report);
    }
    return 0;
}
