#include "gpu_info.h"

#include <string.h>

#include "base/human.h"
#include "cmd/print/display.h"
#include "cmd/small_table.h"

enum { SOURCE, GPU, NAME, INDEX, REQUESTED, REACHED, SAMPLES, LOST, CLOCKS, REFUSAL };

static double gpu_info_real(const struct small_table *rows, size_t row, size_t column)
{
    union {
        int64_t bits;
        double real;
    } value = { .bits = small_table_number(rows, row, column, 0) };

    return value.real;
}

static void gpu_info_add_samples(struct text *out, const struct small_table *rows, size_t i)
{
    int64_t samples = small_table_number(rows, i, SAMPLES, 0);

    human_count(out, (uint64_t)samples);
    if (samples > 1)
        text_addf(out, " samples at %.3g Hz (%.3g requested), ", gpu_info_real(rows, i, REACHED),
                  gpu_info_real(rows, i, REQUESTED));
    else /* one has no rate */
        text_addf(out, " sample (%.3g Hz requested), ", gpu_info_real(rows, i, REQUESTED));
    human_count(out, (uint64_t)small_table_number(rows, i, LOST, 0));
    text_add(out, " lost");
    if (!small_table_is_null(rows, i, CLOCKS))
        text_addf(out, "; clocks %s", small_table_text(rows, i, CLOCKS, NULL));
}

static void gpu_info_add_row(struct text *out, const struct small_table *rows, size_t i)
{
    size_t length;
    const char *name = small_table_text(rows, i, NAME, &length), *separator = "";

    text_addf(out, "%-18s", small_table_text(rows, i, SOURCE, NULL));
    if (!small_table_is_null(rows, i, GPU)) {
        text_addf(out, "GPU %lld (", (long long)small_table_number(rows, i, GPU, 0));
        display_add(out, name, length, 40);
        text_addf(out, ", %lld in nvidia-smi): ", (long long)small_table_number(rows, i, INDEX, 0));
    }
    if (small_table_number(rows, i, SAMPLES, 0)) {
        gpu_info_add_samples(out, rows, i);
        separator = ". ";
    }
    const char *refusal = small_table_text(rows, i, REFUSAL, &length);
    text_add(out, length ? separator : "");
    display_add(out, refusal, length, 0);
    text_add_char(out, '\n');
}

int gpu_info(struct text *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "source",  "gpuId", "name",       "nvmlIndex", "requestedHz", "reachedHz",
                                         "samples", "lost",  "clockState", "refusal",   NULL };
    struct small_table rows;
    int code = small_table_read(&rows, report, "TACHO_GPU_SAMPLING", names, err);

    if (code != 0)
        return code;
    if (rows.columns.rows)
        text_add(out, "\nGPU metrics\n");
    for (size_t i = 0; i < rows.columns.rows; i++)
        gpu_info_add_row(out, &rows, i);
    small_table_free(&rows);
    return 0;
}
