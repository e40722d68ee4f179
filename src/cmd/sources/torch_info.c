/* PyTorch in `tacho info`: the rows of TACHO_TORCH_METADATA that a reader may look for, under the names that PyTorch
 * has for them. Values are JSON. */
#include "torch_info.h"

#include <string.h>

#include "base/json_scan.h"
#include "cmd/print/display.h"
#include "cmd/small_table.h"
#include "cuda_info.h"

enum { NAME, VALUE, WIDEST = 160 };

static void add_as_text(struct text *out, const char *value)
{
    struct text scratch = { 0 };
    struct json_slice text = json_slice_text((struct json_slice){ value, strlen(value) }, &scratch);

    display_add(out, text.bytes, text.length, WIDEST);
    text_free(&scratch);
}

static const struct {
    const char *name, *label;
    void (*add)(struct text *out, const char *value);
} lines[] = {
    { "tacho.torchVersion", "Version", add_as_text },
    { "traceName", "Trace", add_as_text },
    { "cuda_runtime_version", "CUDA runtime", cuda_add_version },
    { "cuda_driver_version", "CUDA driver", cuda_add_version },
};

/* Arguments of torch.profiler.profile(). */
static const char *const settings[] = { "record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops" };

/* The value of the first row with this name, or NULL. Each process that uses PyTorch has rows. */
static const char *torch_info_find(const struct small_table *rows, const char *name)
{
    for (size_t i = 0; i < rows->columns.rows; i++)
        if (strcmp(small_table_text(rows, i, NAME, NULL), name) == 0)
            return small_table_text(rows, i, VALUE, NULL);
    return NULL;
}

/* "record_shapes, with_stack" */
static void torch_info_add_settings(struct text *out, const struct small_table *rows)
{
    const char *before = "";
    int is_known = 0;
    struct text given = { 0 };

    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const char *value = torch_info_find(rows, settings[i]);
        is_known |= value != NULL;
        if (!value || strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
            continue;
        text_addf(&given, "%s%s", before, settings[i]);
        before = ", ";
    }
    if (is_known)
        text_addf(out, "%-18s%s\n", "Options", given.length ? text_string(&given) : "none");
    text_free(&given);
}

int torch_info(struct text *out, struct report *report, struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct small_table rows;
    struct text found = { 0 };
    int code = small_table_read(&rows, report, "TACHO_TORCH_METADATA", names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const char *value = torch_info_find(&rows, lines[i].name);
        if (!value)
            continue;
        text_addf(&found, "%-18s", lines[i].label);
        lines[i].add(&found, value);
        text_add_char(&found, '\n');
    }
    torch_info_add_settings(&found, &rows);
    if (found.length)
        text_addf(out, "\nPyTorch\n%s", text_string(&found));
    text_free(&found);
    small_table_free(&rows);
    return 0;
}
