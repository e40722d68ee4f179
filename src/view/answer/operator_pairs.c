/* Matches forward and backward operators.
 *
 * An operator that needs no gradient shows the sequence number that the next operator with a gradient will get, and so
 * do the operators that this one calls. So the forward operator is the last operator with the same number that starts
 * before the backward one; the operators around it belong to it. */
#include "operator_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/torch/operators.h"
#include "answer_cache.h"
#include "base/array.h"
#include "report/schema/torch_names.h"

enum { MOST_CANDIDATES = 256 }; /* all are compared with all */

/* ---- facts ----------------------------------------------------------------------------------------------------- */

/* Both kinds have these columns first. */
enum { THREAD, START, END, COMMON };
enum { SEQUENCE = COMMON, FORWARD_THREAD, NAME, CATEGORY, STACK };
enum { TEXT = COMMON, TEXT_ID };

static int64_t torch_sequence(struct report *report, const struct report_block *block, size_t row)
{
    int64_t sequence = block_value(block, SEQUENCE, row, -1);

    return sequence < 0 ? KEY_RANGES_NO_KEY : sequence;
}

static const char *range_bytes(struct report *report, const struct report_block *block, size_t row, size_t *length)
{
    size_t column = block_is_null(block, TEXT, row) ? TEXT_ID : TEXT;

    *length = 0;
    return block_is_null(block, column, row) ? "" : report_string(report, block->values[column][row], length);
}

/* memmem() rules out most ranges faster than parsing their text would. */
static int64_t range_sequence(struct report *report, const struct report_block *block, size_t row)
{
    static const char mark[] = ", seq = ";
    size_t length;
    const char *bytes = range_bytes(report, block, row, &length);
    int64_t sequence = memmem(bytes, length, mark, sizeof mark - 1) ? operator_text(bytes, length).sequence : -1;

    return sequence < 0 ? KEY_RANGES_NO_KEY : sequence;
}

static const struct key_ranges_kind torch_kind = {
    "TACHO_TORCH_OP",
    { "globalTid", "start", "end", "sequenceNumber", "forwardThread", "nameId", "category", "callStackId" },
    torch_sequence,
};
static const struct key_ranges_kind range_kind = { "NVTX_EVENTS",
                                                   { "globalTid", "start", "end", "text", "textId" },
                                                   range_sequence };

static struct operator_facts facts_of(struct report *report, int is_torch, const struct report_block *block, size_t row)
{
    struct operator_facts facts = {
        .thread = block_value(block, THREAD, row, 0),
        .start_ns = block_value(block, START, row, 0),
        .end_ns = block_value(block, END, row, INT64_MAX),
        .sequence = -1,
        .stack = -1,
    };

    facts.process = global_process(facts.thread);
    if (is_torch) {
        size_t length;
        const char *name = report_string(report, block_value(block, NAME, row, -1), &length);
        facts.is_operator = strcmp(report_string(report, block_value(block, CATEGORY, row, -1), NULL), "cpu_op") == 0;
        facts.sequence = block_value(block, SEQUENCE, row, -1);
        facts.is_backward = block_value(block, FORWARD_THREAD, row, 0) > 0 && !torch_is_engine(name, length);
        facts.stack = block_value(block, STACK, row, -1);
        facts.sequence = torch_is_engine(name, length) ? -1 : facts.sequence;
    } else {
        size_t length;
        const char *bytes = range_bytes(report, block, row, &length);
        struct operator_text text = operator_text(bytes, length);
        facts.is_operator = text.is_operator;
        facts.sequence = text.sequence;
        facts.is_backward = text.is_backward && text.sequence >= 0;
    }
    return facts;
}

struct operator_pairs_reading {
    struct report *report;
    int is_torch;
    struct operator_facts *out;
};

static int take_facts(void *context, const struct report_block *block, size_t row)
{
    const struct operator_pairs_reading *reading = context;

    *reading->out = facts_of(reading->report, reading->is_torch, block, row);
    return 0;
}

static const struct key_ranges_kind *operator_pairs_kind_of(const struct view *view, struct view_place place)
{
    const char *table = place_table(view, place);

    return strcmp(table, torch_kind.table) == 0   ? &torch_kind
           : strcmp(table, range_kind.table) == 0 ? &range_kind
                                                  : NULL;
}

int operator_facts(struct operator_facts *out, struct view *view, struct view_place place, struct error *err)
{
    const struct key_ranges_kind *kind = operator_pairs_kind_of(view, place);
    struct operator_pairs_reading reading = { view->report, kind == &torch_kind, out };

    *out = (struct operator_facts){ .sequence = -1, .stack = -1 };
    return kind ? key_ranges_row(view->report, kind, place_table_row(view, place), take_facts, &reading, err) : 0;
}

/* ---- those with one number ------------------------------------------------------------------------------------- */

struct operator_pairs_candidate {
    struct operator_facts facts;
    uint64_t row;
};

struct candidates {
    struct report *report;
    int is_torch;
    int64_t process;
    struct operator_pairs_candidate *list; /* owned */
    size_t count, capacity;
    struct error *err;
};

static int take_candidate(void *context, const struct report_block *block, size_t row)
{
    struct candidates *candidates = context;
    struct operator_facts facts = facts_of(candidates->report, candidates->is_torch, block, row);

    if (facts.process != candidates->process || !facts.is_operator || facts.sequence < 0)
        return 0;
    if (ARRAY_PUSH(candidates->list, candidates->capacity, candidates->count,
                   (struct operator_pairs_candidate){ facts, block->first_row + row }) != 0)
        return error_no_memory(candidates->err);
    return candidates->count >= MOST_CANDIDATES ? KEY_RANGES_ENOUGH : 0;
}

static int operator_pairs_holds(const struct operator_facts *outer, const struct operator_facts *inner)
{
    return outer->thread == inner->thread && outer->start_ns <= inner->start_ns && outer->end_ns >= inner->end_ns;
}

/* The operator that a backward one belongs to: the last forward operator that starts before it and is not part of any
 * backward one. */
static const struct operator_pairs_candidate *forward_of(const struct candidates *candidates,
                                                         const struct operator_facts *backward)
{
    const struct operator_pairs_candidate *last = NULL;

    for (size_t i = 0; i < candidates->count; i++) {
        const struct operator_facts *facts = &candidates->list[i].facts;
        int counts = !facts->is_backward && facts->start_ns < backward->start_ns;
        for (size_t j = 0; j < candidates->count && counts; j++)
            counts = !candidates->list[j].facts.is_backward || !operator_pairs_holds(&candidates->list[j].facts, facts);
        if (counts && (!last || facts->start_ns >= last->facts.start_ns))
            last = &candidates->list[i];
    }
    return last;
}

static int add_forwards(struct event_list_rows *rows, const struct candidates *candidates,
                        const struct operator_facts *backward)
{
    const struct operator_pairs_candidate *last = forward_of(candidates, backward);

    for (size_t i = 0; i < candidates->count && last; i++)
        if (!candidates->list[i].facts.is_backward && operator_pairs_holds(&candidates->list[i].facts, &last->facts) &&
            event_list_rows_add(rows, candidates->list[i].row) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int add_backwards(struct event_list_rows *rows, const struct candidates *candidates,
                         const struct operator_facts *forward)
{
    for (size_t i = 0; i < candidates->count; i++) {
        const struct operator_facts *backward = &candidates->list[i].facts;
        const struct operator_pairs_candidate *last = backward->is_backward ? forward_of(candidates, backward) : NULL;
        if (last && operator_pairs_holds(forward, &last->facts) &&
            event_list_rows_add(rows, candidates->list[i].row) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int operator_pairs_find(struct event_list *places, struct view *view, const struct operator_facts *facts,
                        struct view_place self, struct error *err)
{
    const struct key_ranges_kind *kind = operator_pairs_kind_of(view, self);
    struct candidates candidates = {
        .report = view->report, .is_torch = kind == &torch_kind, .process = facts->process, .err = err
    };
    struct event_list_rows rows = { 0 };
    int code;

    if (!kind || !facts->is_operator || facts->sequence < 0)
        return 0;
    if ((code = key_ranges_find(&view->cache->key_ranges, view->report, kind, &facts->sequence, 1, take_candidate,
                                &candidates, err)) != 0)
        goto done;
    if ((facts->is_backward ? add_forwards : add_backwards)(&rows, &candidates, facts) != 0 &&
        (code = error_no_memory(err)) != 0)
        goto done;
    if ((code = event_list_add_rows(places, view, kind->table, &rows, err)) != 0)
        goto done;
    event_list_sort(places, view);
done:
    event_list_rows_free(&rows);
    free(candidates.list);
    return code;
}
