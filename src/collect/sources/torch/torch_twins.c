/* Details of operators for steps that were recorded without: see torch_twins.h. */
#include "torch_twins.h"

#include <stdlib.h>

#include "base/array.h"

enum { TWINS_MAX = 1 << 20 };

static void torch_twins_remember(struct torch_twins *twins, const struct torch_twin *twin)
{
    if (twins->count >= TWINS_MAX ||
        array_reserve(&twins->list, &twins->capacity, twins->count + 1, sizeof *twins->list) != 0)
        return; /* the rest of the step has no twins */
    twins->list[twins->count++] = *twin;
}

/* The operator may have some of its own, which --pytorch-shapes and the like ask for in all steps. */
static void fill_in(struct torch_details *details, const struct torch_details *from)
{
    struct torch_details own = *details;
    *details = *from;
    if (own.dims) {
        details->dims = own.dims;
        details->types = own.types;
        details->strides = own.strides;
        details->values = own.values;
    }
    details->stack = own.stack ? own.stack : from->stack;
    details->modules = own.modules ? own.modules : from->modules;
}

void torch_twins_take(struct torch_twins *twins, uint32_t step, int has_details, int64_t name,
                      struct torch_details *details)
{
    if (step != twins->step) {
        twins->step = step;
        twins->place = 0;
        twins->differs = 0;
        if (has_details)
            twins->count = 0;
    }
    if (has_details) {
        torch_twins_remember(twins, &(struct torch_twin){ name, *details });
    } else if (!twins->differs && twins->place < twins->count && twins->list[twins->place].name == name) {
        fill_in(details, &twins->list[twins->place++].details);
    } else {
        twins->differs = 1;
    }
}

void torch_twins_free(struct torch_twins *twins)
{
    free(twins->list);
    *twins = (struct torch_twins){ 0 };
}
