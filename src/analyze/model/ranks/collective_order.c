/* Counts calls by process and communicator. */
#include "collective_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

int ordered_calls_append(struct ordered_calls *calls, const struct ordered_call *call)
{
    return ARRAY_PUSH(calls->list, calls->room, calls->count, *call);
}

void ordered_calls_free(struct ordered_calls *calls)
{
    free(calls->list);
    *calls = (struct ordered_calls){ 0 };
}

static int is_same_sequence(const struct ordered_call *a, const struct ordered_call *b)
{
    return global_process(a->call.thread) == global_process(b->call.thread) && a->communicator == b->communicator;
}

static int coll_order_compare(const void *a, const void *b)
{
    const struct ordered_call *x = a, *y = b;

    return COMPARE(global_process(x->call.thread), global_process(y->call.thread))
               ?: COMPARE(x->communicator, y->communicator)
               ?: COMPARE(collective_call_start(&x->call), collective_call_start(&y->call))
               ?: COMPARE(x->call.thread, y->call.thread);
}

int ordered_calls_add(struct collectives *all, struct ordered_calls *calls)
{
    uint64_t number = 0;

    if (calls->count)
        qsort(calls->list, calls->count, sizeof *calls->list, coll_order_compare);
    for (size_t i = 0; i < calls->count; i++) {
        struct ordered_call *at = &calls->list[i];
        int is_new;
        number = i && is_same_sequence(at - 1, at) ? number + 1 : 0;
        at->call.sequence = number;
        const struct collective_communicator *communicator = collectives_communicator(all, at->communicator, &is_new);
        if (!communicator || collectives_add(all, communicator, &at->call, at->rank) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int ordered_communicator(struct collectives *all, uint64_t name, const char *text, int64_t number, int64_t size,
                         int is_guessed)
{
    int is_new;
    struct collective_communicator *communicator = collectives_communicator(all, name, &is_new);
    struct text label = { 0 };

    if (!communicator)
        return ERR_NO_MEMORY;
    if (!is_new)
        return 0;
    text_add(&label, text);
    if (number > 0)
        text_addf(&label, " %lld", (long long)number);
    communicator->label = arena_copy(&all->state->arena, text_string(&label), label.length);
    communicator->size = size;
    communicator->is_guessed = is_guessed;
    int failed = text_failed(&label) || !communicator->label;
    text_free(&label);
    return failed ? ERR_NO_MEMORY : 0;
}

/* ---- Guesses --------------------------------------------------------------------------------------------------- */

/* Whether ranks took part in this at times that do not touch, beyond the error of their clocks. */
static int coll_order_is_torn(const struct collectives *all, const struct collective_instance *instance)
{
    const struct collective_call *calls = all->calls + instance->first;
    size_t late = 0, early = 0;

    if (instance->is_open)
        return 0;
    for (size_t i = 1; i < instance->count; i++) {
        late = calls[i].enter_ns > calls[late].enter_ns ? i : late;
        early = calls[i].leave_ns < calls[early].leave_ns ? i : early;
    }
    int64_t error_ns = late == early ? 0 : collectives_clock_error(all, calls[late].rank, calls[early].rank);
    return saturating_subtract(calls[late].enter_ns, calls[early].leave_ns) > error_ns;
}

/* Whether more than one in ten instances with several ranks do not fit. */
static int is_wrong(const struct collectives *all, uint32_t communicator)
{
    size_t several = 0, wrong = 0;

    for (size_t i = 0; i < all->instance_count; i++) {
        const struct collective_instance *at = &all->instances[i];
        if (at->communicator != communicator || at->count < 2)
            continue;
        several++;
        wrong += at->has_several || (collective_synchronises(at->kind) && coll_order_is_torn(all, at));
    }
    return wrong > several / 10;
}

void collectives_check_guesses(struct collectives *all)
{
    for (uint32_t c = 0; c < all->communicator_count; c++) {
        size_t kept = 0;
        if (!all->communicators[c].is_guessed || !is_wrong(all, c))
            continue;
        for (size_t i = 0; i < all->instance_count; i++)
            if (all->instances[i].communicator != c)
                all->instances[kept++] = all->instances[i];
        all->instance_count = kept;
    }
}
