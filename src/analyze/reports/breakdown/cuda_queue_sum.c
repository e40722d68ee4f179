/* cuda_queue_sum: how far the CPU is ahead of each stream: launch delays, the depth of the queue, and why the stream
 * was idle, in the three classes of HolisticTraceAnalysis.
 *
 * Work is in the queue from the start of the call that launched it to its own start. The depth is sampled whenever it
 * changes. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { KEY_PROCESS, KEY_DEVICE, KEY_STREAM, KEY_PARTS };

/* Work of a stream, and the call that launched it. */
struct queued {
    int64_t called_ns, returned_ns, start_ns, end_ns;
    uint32_t stream;
};

struct queues {
    struct keys streams;
    struct queued *list; /* owned; by stream, then by start */
    size_t count, room;
};

/* ---- reading --------------------------------------------------------------------------------------------------- */

static int queue_sum_add_table(struct queues *queues, const struct gpu_ops *ops, const struct calls *calls,
                               const struct filter *filter)
{
    for (size_t row = 0; row < ops->count; row++) {
        uint32_t call = gpu_counts(ops, row, filter) ? calls_find(calls, ops->process[row], ops->correlation[row])
                                                     : NO_CALL;
        if (call == NO_CALL)
            continue;
        uint32_t stream = keys_add(&queues->streams,
                                   (int64_t[]){ ops->process[row], ops->device[row], ops->stream[row] });
        if (stream == NO_KEY ||
            array_reserve(&queues->list, &queues->room, queues->count + 1, sizeof *queues->list) != 0)
            return ERR_NO_MEMORY;
        queues->list[queues->count++] = (struct queued){ calls->start[call], calls->end[call], ops->start[row],
                                                         ops->end[row], stream };
    }
    return 0;
}

static int by_stream(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;

    return COMPARE(x->stream, y->stream) ?: COMPARE(x->start_ns, y->start_ns) ?: COMPARE(x->end_ns, y->end_ns);
}

static int queues_read(struct queues *queues, struct report *report, const struct analysis_request *request,
                       struct error *err)
{
    struct calls calls = { 0 };
    struct filter filter = { 0 };
    int code;

    if ((code = calls_read(&calls, report, err)) != 0)
        return code;
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    for (const char *const *table = gpu_busy_tables; *table; table++) {
        struct gpu_ops ops;
        if ((code = gpu_read_table(&ops, report, *table, NULL, err)) != 0)
            goto done;
        if (queue_sum_add_table(queues, &ops, &calls, &filter) != 0)
            code = error_short_memory(err, "for the streams");
        gpu_free(&ops);
        if (code != 0)
            goto done;
    }
    if (queues->count)
        qsort(queues->list, queues->count, sizeof *queues->list, by_stream);
done:
    filter_close(&filter);
    calls_free(&calls);
    return code;
}

/* ---- figures of a stream --------------------------------------------------------------------------------------- */

enum idle_class { HOST_WAIT, KERNEL_WAIT, OTHER_WAIT, IDLE_CLASSES };
static const char *const class_names[IDLE_CLASSES] = { "Host Wait", "Kernel Wait", "Other Wait" };

struct queue_sum_figures {
    struct statistics delay, depth, call, gpu;
    double median_delay;
    int64_t idle_ns[IDLE_CLASSES];
    int64_t shorter; /* number of works shorter than their calls */
};

static int64_t delay_of(const struct queued *work)
{
    int64_t delay = saturating_duration(work->returned_ns, work->start_ns);

    return delay > 0 ? delay : 0;
}

/* Host: the call began after the work before had ended. Kernel: the time between two works that were queued, below the
 * limit. Other: the work waited for something else. */
static void queue_sum_add_idle(struct queue_sum_figures *figures, const struct queued *before,
                               const struct queued *work, int64_t limit_ns)
{
    int64_t idle = saturating_duration(before->end_ns, work->start_ns);
    enum idle_class class = work->called_ns > before->end_ns ? HOST_WAIT : idle < limit_ns ? KERNEL_WAIT : OTHER_WAIT;

    figures->idle_ns[class] = saturating_add(figures->idle_ns[class], idle);
}

/* The depth after each call and each start of work; at the same time the calls come first. */
static void add_depths(struct queue_sum_figures *figures, const struct queued *works, size_t count, int64_t *called)
{
    size_t calls = 0, starts = 0;

    for (size_t i = 0; i < count; i++)
        called[i] = works[i].called_ns;
    qsort(called, count, sizeof *called, array_by_int64);
    while (calls + starts < 2 * count) {
        if (calls < count && (starts == count || called[calls] <= works[starts].start_ns))
            calls++;
        else
            starts++;
        statistics_add(&figures->depth, (int64_t)calls - (int64_t)starts);
    }
}

static int queue_sum_measure(struct queue_sum_figures *figures, const struct queued *works, size_t count,
                             int64_t limit_ns)
{
    int64_t *values = malloc(count * sizeof *values), *scratch = malloc(count * sizeof *scratch);
    int code = ERR_NO_MEMORY;

    if (!values || !scratch)
        goto done;
    for (size_t i = 0; i < count; i++) {
        int64_t call = saturating_duration(works[i].called_ns, works[i].returned_ns),
                gpu = saturating_duration(works[i].start_ns, works[i].end_ns);
        values[i] = delay_of(&works[i]);
        statistics_add(&figures->delay, values[i]);
        statistics_add(&figures->call, call);
        statistics_add(&figures->gpu, gpu);
        figures->shorter += gpu < call;
        if (i)
            queue_sum_add_idle(figures, &works[i - 1], &works[i], limit_ns);
    }
    figures->median_delay = statistics_median_of(values, count, scratch);
    add_depths(figures, works, count, values);
    code = 0;
done:
    free(values);
    free(scratch);
    return code;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum {
    CELL_WORKS,
    CELL_DELAY,
    CELL_MEDIAN,
    CELL_LONGEST,
    CELL_CALL,
    CELL_GPU_TIME,
    CELL_SHORTER,
    CELL_DEPTH,
    CELL_DEVIATION,
    CELL_DEEPEST,
    CELL_CLASS,
    CELL_PID = CELL_CLASS + IDLE_CLASSES,
    CELL_DEVICE,
    CELL_STREAM,
    CELLS
};

static int queue_sum_add_row(struct table *table, const int64_t *key, const struct queue_sum_figures *figures)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[CELL_WORKS], (int64_t)figures->delay.count);
    cell_set_real(&row[CELL_DELAY], statistics_mean(&figures->delay));
    cell_set_real(&row[CELL_MEDIAN], figures->median_delay);
    cell_set_int(&row[CELL_LONGEST], figures->delay.max);
    cell_set_real(&row[CELL_CALL], statistics_mean(&figures->call));
    cell_set_real(&row[CELL_GPU_TIME], statistics_mean(&figures->gpu));
    cell_set_int(&row[CELL_SHORTER], figures->shorter);
    cell_set_real(&row[CELL_DEPTH], statistics_mean(&figures->depth));
    cell_set_real(&row[CELL_DEVIATION], statistics_deviation(&figures->depth));
    cell_set_int(&row[CELL_DEEPEST], figures->depth.max);
    for (int class = 0; class < IDLE_CLASSES; class ++)
        cell_set_int(&row[CELL_CLASS + class], figures->idle_ns[class]);
    cell_set_int(&row[CELL_PID], global_pid_number(key[KEY_PROCESS]));
    cell_set_int(&row[CELL_DEVICE], key[KEY_DEVICE]);
    cell_set_int(&row[CELL_STREAM], key[KEY_STREAM]);
    return 0;
}

static int queue_sum_fill(struct table *table, const struct queues *queues, int64_t limit_ns)
{
    for (size_t first = 0, behind; first < queues->count; first = behind) {
        struct queue_sum_figures figures = { 0 };
        for (behind = first + 1; behind < queues->count && queues->list[behind].stream == queues->list[first].stream;)
            behind++;
        if (queue_sum_measure(&figures, &queues->list[first], behind - first, limit_ns) != 0 ||
            queue_sum_add_row(table, keys_get(&queues->streams, queues->list[first].stream), &figures) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int cuda_queue_sum(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    struct table_column columns[CELLS] = {
        [CELL_WORKS] = { "Launches", CELL_INT, UNIT_NONE, 0 },
        [CELL_DELAY] = { "Delay Avg", CELL_REAL, UNIT_NS, 1 },
        [CELL_MEDIAN] = { "Delay Med", CELL_REAL, UNIT_NS, 1 },
        [CELL_LONGEST] = { "Delay Max", CELL_INT, UNIT_NS, 0 },
        [CELL_CALL] = { "Call Avg", CELL_REAL, UNIT_NS, 1 },
        [CELL_GPU_TIME] = { "GPU Avg", CELL_REAL, UNIT_NS, 1 },
        [CELL_SHORTER] = { "Shorter than Call", CELL_INT, UNIT_NONE, 0 },
        [CELL_DEPTH] = { "Queue Avg", CELL_REAL, UNIT_NONE, 2 },
        [CELL_DEVIATION] = { "Queue StdDev", CELL_REAL, UNIT_NONE, 2 },
        [CELL_DEEPEST] = { "Queue Max", CELL_INT, UNIT_NONE, 0 },
        [CELL_PID] = { "PID", CELL_INT, UNIT_ID, 0 },
        [CELL_DEVICE] = { "Device", CELL_INT, UNIT_ID, 0 },
        [CELL_STREAM] = { "Stream", CELL_INT, UNIT_ID, 0 },
    };
    struct queues queues = { .streams.width = KEY_PARTS };
    struct table *table = NULL;
    int64_t limit_ns;
    int code;

    for (int class = 0; class < IDLE_CLASSES; class ++)
        columns[CELL_CLASS + class] = (struct table_column){ class_names[class], CELL_INT, UNIT_NS, 0 };
    if ((code = option_number(request, "kernel-wait", 30000, 0, INT64_MAX, &limit_ns, err)) != 0 ||
        (code = queues_read(&queues, report, request, err)) != 0)
        goto done;
    table = table_new(columns, CELLS);
    code = table ? queue_sum_fill(table, &queues, limit_ns) : ERR_NO_MEMORY;
done:
    keys_free(&queues.streams);
    free(queues.list);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_cuda_queue_sum = {
    .name = "cuda_queue_sum",
    .title = "CUDA Queues and Launch Delays",
    .usage = "[:kernel-wait=<ns>]",
    .help = "For each stream: the delay from the return of a launching call to the start of its work; calls that took "
            "longer than their work; the depth of the queue, which is the number of launched works that have not "
            "begun, at each change; and the idle time of the stream. Host Wait: the next launch began after the last "
            "work had ended. Kernel Wait: between two queued works, if it is less than kernel-wait (default: 30000 "
            "ns). Other Wait: the work waited for something else.",
    .needs = { { "CUDA trace data", gpu_call_tables }, { "GPU trace data", gpu_busy_tables } },
    .is_of_gpus = 1,
    .run = cuda_queue_sum,
};
