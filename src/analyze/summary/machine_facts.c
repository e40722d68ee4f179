#include "machine_facts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/torch/literals.h"

static void add_as_is(struct text *out, const char *value)
{
    text_add(out, value);
}

/* A JSON string or number. */
static void machine_facts_add_json(struct text *out, const char *value)
{
    literal_add(out, (struct literal){ value, strlen(value) });
}

/* 5154304 is 515.43.04. */
static void add_driver(struct text *out, const char *value)
{
    int64_t number;

    if (literal_integer((struct literal){ value, strlen(value) }, &number) && number >= 10000)
        text_addf(out, "%lld.%02lld.%02lld", (long long)(number / 10000), (long long)(number / 100 % 100),
                  (long long)(number % 100));
    else
        text_add(out, value);
}

/* 11070 is 11.7. */
static void add_cuda(struct text *out, const char *value)
{
    int64_t number;

    if (literal_integer((struct literal){ value, strlen(value) }, &number) && number >= 1000)
        text_addf(out, "%lld.%lld", (long long)(number / 1000), (long long)(number % 1000 / 10));
    else
        text_add(out, value);
}

static void add_tacho(struct text *out, const char *value)
{
    text_addf(out, "Tacho %s", value);
}

/* Where else a value may stand: tables of names and values. The first that has it wins. */
static const struct machine_facts_source {
    const char *what, *table, *name;
    void (*add)(struct text *out, const char *value);
} machine_facts_sources[] = {
    { "driverVersion", "TARGET_INFO_SYSTEM_ENV", "NvDriverVersion", add_driver },
    { "cudaVersion", "TARGET_INFO_SYSTEM_ENV", "CudaDriverVersion", add_cuda },
    { "cudaVersion", "TACHO_TORCH_METADATA", "cuda_driver_version", add_cuda },
    { "cpuModel", "TARGET_INFO_SYSTEM_ENV", "CpuDescription", add_as_is },
    { "framework", "TACHO_TORCH_METADATA", "pytorch_version", machine_facts_add_json },
    { "nsysVersion", "META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", add_as_is },
    { "nsysVersion", "META_DATA_CAPTURE", "TACHO_VERSION", add_tacho },
};

/* The value of a name in a table, added by a function; 0 if it is not there. */
static int machine_facts_add_value(struct text *out, struct report *report, const struct machine_facts_source *source)
{
    static const char *const names[] = { "name", "value", NULL };
    struct row_cursor rows;
    int found = 0;

    if (row_cursor_open(&rows, report, source->table, names, NULL) != 0)
        return 0;
    while (!found && row_cursor_next(&rows)) {
        if (row_is_null(&rows, 0) || row_is_null(&rows, 1) ||
            strcmp(report_string(report, row_int(&rows, 0), NULL), source->name) != 0)
            continue;
        source->add(out, report_string(report, row_int(&rows, 1), NULL));
        found = 1;
    }
    row_cursor_close(&rows);
    return found;
}

void machine_fact_add(struct text *out, struct report *report, const char *what)
{
    const char *const names[] = { what, NULL };
    size_t before = out->length;
    struct row_cursor rows;

    if (row_cursor_open(&rows, report, "SystemInfo", names, NULL) == 0) {
        if (row_cursor_next(&rows) && !row_is_null(&rows, 0))
            text_add(out, report_string(report, row_int(&rows, 0), NULL));
        row_cursor_close(&rows);
    }
    for (size_t i = 0; i < COUNT_OF(machine_facts_sources) && out->length == before; i++)
        if (strcmp(machine_facts_sources[i].what, what) == 0)
            machine_facts_add_value(out, report, &machine_facts_sources[i]);
    if (out->length == before && strcmp(what, "framework") == 0 && report_rows(report, "TACHO_TORCH_OP"))
        text_add(out, "PyTorch");
}

void machine_gpu_names(struct text *out, struct report *report)
{
    static const char *const names[] = { "name", NULL };
    struct row_cursor rows;

    if (row_cursor_open(&rows, report, "TARGET_INFO_GPU", names, NULL) != 0)
        return;
    while (row_cursor_next(&rows)) {
        text_add(out, out->length ? ", " : "");
        text_add(out, row_string(&rows, report, 0));
    }
    row_cursor_close(&rows);
}

int64_t machine_gpu_count(struct report *report)
{
    const struct report_table *gpus = report_table(report, "TARGET_INFO_GPU");
    struct text text = { 0 };
    int64_t count = 0;

    machine_fact_add(&text, report, "gpuCount");
    if (!literal_integer((struct literal){ text_string(&text), text.length }, &count))
        count = gpus ? (int64_t)gpus->rows : 0;
    text_free(&text);
    return count < 1 ? 1 : count;
}
