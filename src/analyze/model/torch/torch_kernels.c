/* TACHO_TORCH_KERNEL, by mangled name. */
#include "torch_kernels.h"

#include <stdlib.h>

#include "analyze/engine/row_cursor.h"

enum { MANGLED, NAME };

static int torch_kernels_add_names(struct torch_kernels *kernels, struct row_cursor *rows)
{
    kernels->names = malloc((rows->columns.rows + 1) * sizeof *kernels->names);
    if (!kernels->names)
        return ERR_NO_MEMORY;
    while (row_cursor_next(rows)) {
        uint32_t key = keys_add(&kernels->mangled, &(int64_t){ row_int(rows, MANGLED) });
        if (key == NO_KEY)
            return ERR_NO_MEMORY;
        kernels->names[key] = row_int(rows, NAME);
    }
    return 0;
}

int torch_kernels_read(struct torch_kernels *kernels, struct report *report, struct error *err)
{
    static const char *const names[] = { [MANGLED] = "mangledName", [NAME] = "nameId", NULL };
    struct row_cursor rows;
    int code;

    *kernels = (struct torch_kernels){ .mangled.width = 1 };
    if ((code = row_cursor_open(&rows, report, "TACHO_TORCH_KERNEL", names, err)) != 0)
        return code;
    if (torch_kernels_add_names(kernels, &rows) != 0)
        code = error_short_memory(err, "for the names of kernels");
    row_cursor_close(&rows);
    return code;
}

void torch_kernels_free(struct torch_kernels *kernels)
{
    keys_free(&kernels->mangled);
    free(kernels->names);
}
