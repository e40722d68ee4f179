/* cuda_kern_seq_sum: sequences of kernels that streams run again and again: candidates for fusion. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { LONGEST = 16, SHOWN_BYTES = 100 };

struct sequence_sum {
    int64_t count, gpu_ns, span_ns;
};

struct sequences {
    size_t length;
    struct gpu_ops ops;
    struct keys streams;       /* process, device, stream */
    uint32_t *order;           /* owned, as all below; rows by stream, then by start */
    int64_t *stream;           /* by row; -1: the row does not count */
    struct keys keys;          /* `length` names */
    struct sequence_sum *sums; /* by key */
    size_t room;
};

static int order_rows(struct sequences *sequences, const struct filter *filter)
{
    const struct gpu_ops *ops = &sequences->ops;

    sequences->order = malloc((ops->count + 1) * sizeof *sequences->order);
    sequences->stream = malloc((ops->count + 1) * sizeof *sequences->stream);
    if (!sequences->order || !sequences->stream || ops->count >= UINT32_MAX)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < ops->count; row++) {
        uint32_t stream = keys_add(&sequences->streams,
                                   (int64_t[]){ ops->process[row], ops->device[row], ops->stream[row] });
        if (stream == NO_KEY)
            return ERR_NO_MEMORY;
        sequences->order[row] = (uint32_t)row;
        sequences->stream[row] = gpu_counts(ops, row, filter) ? (int64_t)stream : -1;
    }
    return order_by_thread(sequences->order, ops->count, sequences->stream, ops->start);
}

/* Adds the kernels from this place in the order on, if they are of one stream. */
static int kern_seq_sum_add_sequence(struct sequences *sequences, size_t at)
{
    const struct gpu_ops *ops = &sequences->ops;
    uint32_t first = sequences->order[at], last = sequences->order[at + sequences->length - 1];
    int64_t key[LONGEST], gpu_ns = 0;

    if (sequences->stream[first] < 0 || sequences->stream[first] != sequences->stream[last])
        return 0;
    for (size_t i = 0; i < sequences->length; i++) {
        uint32_t row = sequences->order[at + i];
        key[i] = gpu_extra(ops, 0, row);
        gpu_ns = saturating_add(gpu_ns, saturating_duration(ops->start[row], ops->end[row]));
    }
    uint32_t number = keys_add(&sequences->keys, key);
    if (number == NO_KEY ||
        array_reserve_zeroed(&sequences->sums, &sequences->room, number + 1u, sizeof *sequences->sums) != 0)
        return ERR_NO_MEMORY;
    struct sequence_sum *sum = &sequences->sums[number];
    sum->count++;
    sum->gpu_ns = saturating_add(sum->gpu_ns, gpu_ns);
    sum->span_ns = saturating_add(sum->span_ns, saturating_duration(ops->start[first], ops->end[last]));
    return 0;
}

static int read_sequences(struct sequences *sequences, struct report *report, const struct analysis_request *request,
                          struct error *err)
{
    static const char *const extra[] = { "shortName", NULL };
    struct filter filter = { 0 };
    int code = filter_open(&filter, report, request, err);

    if (code != 0 || (code = gpu_read(&sequences->ops, report, GPU_KERNEL, extra, err)) != 0)
        goto done;
    if (order_rows(sequences, &filter) != 0)
        goto no_memory;
    for (size_t at = 0; at + sequences->length <= sequences->ops.count; at++)
        if (kern_seq_sum_add_sequence(sequences, at) != 0)
            goto no_memory;
    goto done;
no_memory:
    code = error_short_memory(err, "for the sequences of kernels");
done:
    filter_close(&filter);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { CELL_GPU_TIME, CELL_COUNT, CELL_SPAN, CELL_BETWEEN, CELL_NAMES, CELLS };

static void kern_seq_sum_add_names(struct text *out, const struct sequences *sequences, struct report *report,
                                   const int64_t *key)
{
    text_clear(out);
    for (size_t i = 0; i < sequences->length; i++) {
        size_t length;
        const char *name = report_string(report, key[i], &length);
        text_add(out, i ? " > " : "");
        text_add_bytes(out, name, length < SHOWN_BYTES ? length : SHOWN_BYTES);
    }
}

static int kern_seq_sum_add_row(struct table *table, const struct sequences *sequences, struct report *report,
                                uint32_t number, struct text *names)
{
    const struct sequence_sum *sum = &sequences->sums[number];
    struct table_cell *row;

    if (sum->count < 2)
        return 0;
    if (!(row = table_add_row(table)))
        return ERR_NO_MEMORY;
    cell_set_int(&row[CELL_GPU_TIME], sum->gpu_ns);
    cell_set_int(&row[CELL_COUNT], sum->count);
    cell_set_real(&row[CELL_SPAN], (double)sum->span_ns / (double)sum->count);
    cell_set_real(&row[CELL_BETWEEN], ((double)sum->span_ns - (double)sum->gpu_ns) / (double)sum->count);
    kern_seq_sum_add_names(names, sequences, report, keys_get(&sequences->keys, number));
    return cell_set_built(table, &row[CELL_NAMES], names);
}

static int cuda_kern_seq_sum(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    static const struct table_column columns[CELLS] = {
        { "Total GPU Time", CELL_INT, UNIT_NS, 0 }, { "Count", CELL_INT, UNIT_NONE, 0 },
        { "Span Avg", CELL_REAL, UNIT_NS, 1 },      { "Between Avg", CELL_REAL, UNIT_NS, 1 },
        { "Kernels", CELL_TEXT, UNIT_NAME, 0 },
    };
    struct sequences sequences = { .streams.width = 3 };
    struct table *table = NULL;
    struct text names = { 0 };
    int64_t length;
    int code = option_number(request, "length", 3, 2, LONGEST, &length, err);

    if (code != 0)
        return code;
    sequences.keys.width = sequences.length = (size_t)length;
    if ((code = read_sequences(&sequences, report, request, err)) != 0)
        goto done;
    table = table_new(columns, CELLS);
    code = table ? 0 : ERR_NO_MEMORY;
    for (uint32_t i = 0; table && i < sequences.keys.count; i++)
        if ((code = kern_seq_sum_add_row(table, &sequences, report, i, &names)) != 0)
            goto done;
    if (table)
        table_sort_by(table, BY(DOWN(CELL_GPU_TIME), CELL_NAMES));
done:
    text_free(&names);
    gpu_free(&sequences.ops);
    keys_free(&sequences.streams);
    keys_free(&sequences.keys);
    free(sequences.order);
    free(sequences.stream);
    free(sequences.sums);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_kern_seq_sum = {
    .name = "cuda_kern_seq_sum",
    .title = "Frequent Kernel Sequences",
    .usage = "[:length=<kernels>]",
    .help = "Sequences of kernels that a stream runs at least twice, by their GPU time: candidates for fusion and "
            "CUDA graphs. length: kernels in a sequence, 2 to 16 (default: 3). Span: from the start of the first to "
            "the end of the last; Between: the part of it in which none of them ran. Sequences overlap: a kernel is in "
            "up to length of them.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables } },
    .is_of_gpus = 1,
    .overlap = "sequences overlap",
    .run = cuda_kern_seq_sum,
};
