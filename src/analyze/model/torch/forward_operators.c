/* Matches forward and backward operators of a report. The callers decide which operators are forward or backward. */
#include "forward_operators.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"

int forward_operators_add(struct forward_operators *forwards, const struct operators_event *op, uint32_t place)
{
    size_t before = forwards->keys.count;
    uint32_t key = keys_add(&forwards->keys, (int64_t[]){ global_process(op->thread), op->sequence });

    if (key == NO_KEY)
        return ERR_NO_MEMORY;
    if (array_reserve(&forwards->list, &forwards->capacity, key + 1u, sizeof *forwards->list) != 0)
        return ERR_NO_MEMORY;
    if (key == before)
        forwards->list[key].first = place;
    forwards->list[key].last = place;
    return 0;
}

struct forward_operator forward_operators_find(const struct forward_operators *forwards,
                                               const struct operators_event *backward)
{
    uint32_t key = backward->sequence < 0 ? NO_KEY
                                          : keys_find(&forwards->keys, (int64_t[]){ global_process(backward->thread),
                                                                                    backward->sequence });

    return key == NO_KEY ? (struct forward_operator){ NO_OPERATOR, NO_OPERATOR } : forwards->list[key];
}

void forward_operators_free(struct forward_operators *forwards)
{
    keys_free(&forwards->keys);
    free(forwards->list);
    *forwards = FORWARD_OPERATORS_NONE;
}
