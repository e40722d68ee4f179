/* Kernels as PyProf lists them: see pyprof.h.
 *
 * The FLOPs and bytes of a call stand in the rows of its kernels, divided by their time, so that sums over rows are
 * those of the calls. */
#include "pyprof.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/model/ranges.h"
#include "base/array.h"
#include "base/saturating.h"
#include "compat/dlprof/dlprof_internal.h"

static const struct table_column pyprof_columns[PYPROF_COLUMNS] = {
    [PYPROF_IDX] = { "Idx", CELL_INT, UNIT_ID, 0 },
    [PYPROF_SEQ] = { "SeqId", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_ALTSEQ] = { "AltSeqId", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_TID] = { "TId", CELL_INT, UNIT_ID, 0 },
    [PYPROF_LAYER] = { "Layer", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_TRACE] = { "Trace", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_DIR] = { "Direction", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_SUB] = { "Sub", CELL_INT, UNIT_ID, 0 },
    [PYPROF_MOD] = { "Module", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_OP] = { "Op", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_KERNEL] = { "Kernel", CELL_TEXT, UNIT_NAME, 0 },
    [PYPROF_PARAMS] = { "Params", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_SIL] = { "Sil(ns)", CELL_INT, UNIT_NONE, 0 },
    [PYPROF_TC] = { "TC", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_DEVICE] = { "Device", CELL_INT, UNIT_ID, 0 },
    [PYPROF_STREAM] = { "Stream", CELL_INT, UNIT_ID, 0 },
    [PYPROF_GRID] = { "Grid", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_BLOCK] = { "Block", CELL_TEXT, UNIT_NONE, 0 },
    [PYPROF_FLOPS] = { "FLOPs", CELL_INT, UNIT_NONE, 0 },
    [PYPROF_BYTES] = { "Bytes", CELL_INT, UNIT_NONE, 0 },
};

/* Time of a call's kernels, and of those that multiply matrices. */
struct kernel_times {
    double all_ns, product_ns;
};

struct pyprof_listing {
    struct dlprof dlprof;
    struct ranges layers;             /* "layer:NAME", of the user */
    struct kernel_times *times;       /* owned; by call */
    const struct dlprof_work **order; /* owned: the kernels in order of time */
    size_t count;
};

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The length of the prefix here that a kernel is shown without; 0: none. */
static size_t dropped(const char *name)
{
    static const char *const parts[] = {
        "void ", "at::", "cuda::", "native::", "<unnamed>::", "(anonymous namespace)::"
    };

    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (text_begins_with(name, parts[i]))
            return strlen(parts[i]);
    return 0;
}

/* "void at::native::(anonymous namespace)::softmax_warp_forward<float, …>(…)" is softmax_warp_forward. */
static void pyprof_add_kernel(struct text *out, const char *name)
{
    for (size_t length; (length = dropped(name)) > 0 || (*name && *name != '(' && *name != '<'); name += length) {
        if (length)
            continue;
        text_add_char(out, *name == ' ' ? '_' : *name);
        length = 1;
    }
}

/* The parts of a text, with another character between them. */
static void add_joined(struct text *out, const char *text, size_t length, char from, char to)
{
    for (size_t i = length && text[0] == from; i < length; i++)
        text_add_char(out, text[i] == from ? to : text[i]);
}

/* The ranges of the user around the launch; without any in the report, the modules around the operator. */
static void pyprof_add_layer(struct text *out, const struct pyprof_listing *listing, const struct dlprof_work *work)
{
    const struct ranges *layers = &listing->layers;
    const struct dlprof_call *call = &listing->dlprof.calls[work->call];
    uint32_t path[64];
    size_t depth = 0;
    size_t later = BISECT(0, layers->count, i,
                          layers->list[i].thread < work->thread || (layers->list[i].thread == work->thread &&
                                                                    layers->list[i].start_ns <= work->call_start_ns));

    for (uint32_t at = later ? (uint32_t)later - 1 : NO_RANGE; at != NO_RANGE && depth < 64;
         at = layers->list[at].parent)
        if (layers->list[at].thread == work->thread && layers->list[at].end_ns >= work->call_end_ns)
            path[depth++] = at;
    while (depth > 0) {
        text_add(out, out->length ? ":" : "");
        text_add(out, report_string(listing->dlprof.report, layers->list[path[--depth]].name, NULL) + strlen("layer:"));
    }
    if (!layers->count && !listing->dlprof.is_marked && call->words.direction != DLPROF_UNKNOWN) {
        const char *name = dlprof_text(&listing->dlprof, call->words.name).bytes, *slash = strrchr(name, '/');
        add_joined(out, name, slash ? (size_t)(slash - name) : 0, '/', ':');
    }
}

/* "<N:32, C:3>; <K:8>" and "float16" are [32,3];[8] and fp16: shapes, then the types of all tensors. */
static void add_params(struct text *out, const struct dlprof *dlprof, const struct dlprof_words *words)
{
    const char *shapes = dlprof_text(dlprof, words->inputs).bytes, *types = dlprof_text(dlprof, words->data_type).bytes;

    for (const char *c = shapes; *c; c++) {
        if (c[0] != ' ' && c[1] == ':' && *c != ';')
            c++; /* a letter */
        else if (*c != ' ')
            text_add_char(out, *c == '<' ? '[' : *c == '>' ? ']' : *c);
    }
    for (const char *c = types; *c; c++) {
        text_add(out, c == types && out->length ? ";" : "");
        if (text_begins_with(c, "float")) {
            text_add(out, "fp");
            c += 4;
        } else if (*c != ' ') {
            text_add_char(out, *c);
        }
    }
    if (words->parameters) {
        text_add_char(out, ';');
        for (const char *c = dlprof_text(dlprof, words->parameters).bytes; *c; c++)
            if (*c != ' ')
                text_add_char(out, *c == ':' ? '=' : *c);
    }
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* The FLOPs or bytes of a call; 0 where there are none to count. */
static double pyprof_figure_of(const struct op_work *work, size_t offset)
{
    return work->class == OP_UNKNOWN ? 0 : *(const double *)((const char *)work + offset);
}

/* The FLOPs or bytes of a call that a kernel has: products of matrices are done by the kernels that multiply, all else
 * by the others. The markers of a call count the forward pass alone; each product of its backward pass is as large. */
static void set_part(struct table_cell *cell, const struct pyprof_listing *listing, const struct dlprof_work *work,
                     size_t offset)
{
    const struct dlprof_call *call = &listing->dlprof.calls[work->call];
    const struct kernel_times *times = &listing->times[work->call];
    const struct op_work *marked = &call->words.work, none = { 0 };
    int is_counted = call->products.class != OP_UNKNOWN || call->others.class != OP_UNKNOWN;
    int is_product = op_class_is_matrix(marked->class);
    double products = pyprof_figure_of(is_counted ? &call->products : is_product ? marked : &none, offset);
    double others = pyprof_figure_of(is_counted ? &call->others : is_product ? &none : marked, offset);
    double ns = (double)saturating_duration(work->start_ns, work->end_ns), value = products + others,
           all_ns = times->all_ns;

    if (!is_counted && marked->class == OP_UNKNOWN)
        return;
    if (times->product_ns > 0 && products != 0 && (times->product_ns < all_ns || others == 0)) {
        value = work->tensor.is_matrix ? products : others;
        all_ns = work->tensor.is_matrix ? times->product_ns : all_ns - times->product_ns;
        if (!is_counted && work->tensor.is_matrix && call->words.direction == DLPROF_BACKWARD)
            all_ns = ns;
    } else if (products < 0 || others < 0) {
        return;
    }
    if (value >= 0)
        cell_set_int(cell, all_ns > 0 ? saturating_from_double(value * ns / all_ns + 0.5) : 0);
}

static int set_built(struct table *table, struct table_cell *cell, struct text *text)
{
    int code = text->length ? cell_set_built(table, cell, text) : 0;

    text_clear(text);
    return code;
}

static int set_call(struct table *table, struct table_cell *row, const struct pyprof_listing *listing,
                    const struct dlprof_work *work)
{
    const struct dlprof *dlprof = &listing->dlprof;
    const struct dlprof_call *call = &dlprof->calls[work->call];
    struct text text = { 0 };
    int code;

    if (call->sequence >= 0)
        text_addf(&text, "%lld", (long long)call->sequence);
    if ((code = set_built(table, &row[PYPROF_SEQ], &text)) != 0 ||
        (code = dlprof_set_text(table, &row[PYPROF_ALTSEQ], dlprof, call->other_sequences)) != 0)
        goto free_text;
    pyprof_add_layer(&text, listing, work);
    if ((code = set_built(table, &row[PYPROF_LAYER], &text)) != 0)
        goto free_text;
    if (call->words.direction == DLPROF_UNKNOWN)
        goto free_text; /* a kernel outside of all calls */
    struct intern_string stack = dlprof_text(dlprof, call->words.stack);
    add_joined(&text, stack.bytes, stack.length, '\n', ',');
    if ((code = set_built(table, &row[PYPROF_TRACE], &text)) != 0 ||
        (code = cell_set_string(table, &row[PYPROF_DIR],
                                call->words.direction == DLPROF_BACKWARD ? "bprop" : "fprop")) != 0 ||
        (code = dlprof_set_text(table, &row[PYPROF_MOD], dlprof, call->words.module)) != 0 ||
        (code = dlprof_set_text(table, &row[PYPROF_OP], dlprof, call->words.type)) != 0)
        goto free_text;
    add_params(&text, dlprof, &call->words);
    code = set_built(table, &row[PYPROF_PARAMS], &text);
    set_part(&row[PYPROF_FLOPS], listing, work, offsetof(struct op_work, flops));
    set_part(&row[PYPROF_BYTES], listing, work, offsetof(struct op_work, bytes));
free_text:
    text_free(&text);
    return code;
}

/* "4,1,1" */
static int pyprof_set_size(struct table *table, struct table_cell *cell, const int64_t size[3])
{
    struct text text = { 0 };

    text_addf(&text, "%lld,%lld,%lld", (long long)size[0], (long long)size[1], (long long)size[2]);
    int code = cell_set_built(table, cell, &text);
    text_free(&text);
    return code;
}

static int pyprof_add_row(struct table *table, const struct pyprof_listing *listing, const struct dlprof_work *work,
                          int64_t sub)
{
    static const char *const uses[TENSOR_USES] = { [TENSOR_UNKNOWN] = "", [TENSOR_NO] = "0", [TENSOR_YES] = "1" };
    struct table_cell *row = table_add_row(table);
    struct text name = { 0 };

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[PYPROF_TID], global_tid_number(work->thread));
    cell_set_int(&row[PYPROF_SUB], sub);
    cell_set_int(&row[PYPROF_SIL], saturating_duration(work->start_ns, work->end_ns));
    cell_set_int(&row[PYPROF_DEVICE], work->device);
    cell_set_int(&row[PYPROF_STREAM], work->stream);
    if (pyprof_set_size(table, &row[PYPROF_GRID], work->grid) != 0 ||
        pyprof_set_size(table, &row[PYPROF_BLOCK], work->block) != 0)
        return ERR_NO_MEMORY;
    if ((work->tensor.is_matrix || work->tensor.use == TENSOR_YES) && work->tensor.use != TENSOR_UNKNOWN &&
        cell_set_string(table, &row[PYPROF_TC], uses[work->tensor.use]) != 0)
        return ERR_NO_MEMORY;
    pyprof_add_kernel(&name, report_string(listing->dlprof.report, work->long_name, NULL));
    int code = set_built(table, &row[PYPROF_KERNEL], &name);
    text_free(&name);
    return code != 0 ? code : set_call(table, row, listing, work);
}

/* Kernels of the same number and operator that follow each other are counted. */
static int pyprof_fill(struct table *table, const struct pyprof_listing *listing)
{
    const struct dlprof_call *last = NULL;
    int64_t sub = 0;

    for (size_t i = 0; i < listing->count; i++) {
        const struct dlprof_call *call = &listing->dlprof.calls[listing->order[i]->call];
        int goes_on = last && call->sequence >= 0 && call->sequence == last->sequence &&
                      call->words.type == last->words.type && call->words.direction == last->words.direction;
        sub = goes_on ? sub + 1 : 0;
        last = call;
        if (pyprof_add_row(table, listing, listing->order[i], sub) != 0)
            return ERR_NO_MEMORY;
    }
    table_number_rows(table);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int pyprof_by_start(const void *left, const void *right)
{
    const struct dlprof_work *a = *(const struct dlprof_work *const *)left,
                             *b = *(const struct dlprof_work *const *)right;

    return COMPARE(a->start_ns, b->start_ns) ?: COMPARE(a, b);
}

static int order_kernels(struct pyprof_listing *listing)
{
    const struct dlprof *dlprof = &listing->dlprof;

    listing->order = malloc((dlprof->work_count + 1) * sizeof *listing->order);
    listing->times = calloc(dlprof->call_count + 1, sizeof *listing->times);
    if (!listing->order || !listing->times)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < dlprof->work_count; i++) {
        const struct dlprof_work *work = &dlprof->works[i];
        double ns = (double)saturating_duration(work->start_ns, work->end_ns);
        if (work->kind != GPU_KERNEL)
            continue;
        listing->order[listing->count++] = work;
        listing->times[work->call].all_ns += ns;
        listing->times[work->call].product_ns += work->tensor.is_matrix ? ns : 0;
    }
    if (listing->count)
        qsort(listing->order, listing->count, sizeof *listing->order, pyprof_by_start);
    return 0;
}

static int is_layer(void *context, int64_t name)
{
    return text_begins_with(report_string(context, name, NULL), "layer:");
}

static int read_listing(struct pyprof_listing *listing, struct report *report, struct error *err)
{
    const struct dlprof_request all = { .last = -1, .has_details = 1 };
    const struct range_names names = { is_layer, report };
    const struct filter everything = { 0 };
    int code = dlprof_read(&listing->dlprof, report, &all, err);

    if (code != 0)
        return code;
    if ((code = ranges_read_named(&listing->layers, report, RANGE_PUSHPOP, &everything, &names, err)) != 0)
        return code;
    ranges_nest(&listing->layers);
    if (order_kernels(listing) != 0)
        return error_short_memory(err, "for the kernels");
    if (!listing->count)
        return error_set(err, ERR_NO_DATA,
                         "the report has no kernels; record them with 'tacho profile --trace=cuda,nvtx "
                         "--pytorch=auto --pytorch-shapes=true'");
    return 0;
}

int pyprof_table(struct report *report, struct table **out, struct error *err)
{
    struct pyprof_listing listing = { 0 };
    struct table *table = NULL;
    int code = read_listing(&listing, report, err);

    if (code != 0)
        goto free_listing;
    table = table_new(pyprof_columns, PYPROF_COLUMNS);
    code = table ? pyprof_fill(table, &listing) : ERR_NO_MEMORY;
free_listing:
    free(listing.order);
    free(listing.times);
    ranges_free(&listing.layers);
    dlprof_free(&listing.dlprof);
    return table_hand_over(table, code, out, err);
}
