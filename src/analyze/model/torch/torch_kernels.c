/* TACHO_TORCH_KERNEL, by mangled name. */
#include "torch_kernels.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"

int torch_kernels_read(struct torch_kernels *kernels, struct report *report, struct error *err)
{
    enum { MANGLED, NAME, COLUMNS };
    static const char *const names[COLUMNS] = { "mangledName", "nameId" };
    struct report_columns rows = { 0 };
    int code = columns_read(report, "TACHO_TORCH_KERNEL", names, COLUMNS, &rows, err);

    *kernels = (struct torch_kernels){ .mangled.width = 1 };
    if (code != 0 || !rows.values)
        return code;
    kernels->names = malloc((rows.rows + 1) * sizeof *kernels->names);
    for (size_t row = 0; row < rows.rows && kernels->names; row++) {
        uint32_t key = keys_add(&kernels->mangled, &rows.values[MANGLED][row]);
        if (key == NO_KEY)
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the names of kernels");
        else
            kernels->names[key] = rows.values[NAME][row];
    }
    if (!kernels->names)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the names of kernels");
    report_columns_free(&rows);
    return code;
}

void torch_kernels_free(struct torch_kernels *kernels)
{
    keys_free(&kernels->mangled);
    free(kernels->names);
}
