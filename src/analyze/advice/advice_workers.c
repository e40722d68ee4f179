/* The workers of a DataLoader: see advice_workers.h. A thread of a worker is in PyTorch's _worker_loop(), and asks a
 * queue of multiprocessing for its next order in there. */
#include "advice_workers.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "base/text.h"

enum { ID, SYMBOL, MODULE, CHAIN_COLUMNS };
enum { START, THREAD, CHAIN, SAMPLE_COLUMNS };
enum { IN_LOOP = 1, IN_QUEUE = 2 };
enum { BUSY_PERCENT = 90 }; /* the rest is the way of a batch through the queues */

struct advice_workers_marks {
    struct keys chains;     /* by id */
    unsigned char *flags;   /* owned; by chain */
};

static unsigned char flag_of(struct report *report, int64_t symbol, int64_t module)
{
    const char *name = report_string(report, symbol, NULL);

    if (strcmp(name, "_worker_loop") == 0)
        return IN_LOOP;
    return text_ends_with(name, "get") &&
                   text_ends_with(report_string(report, module, NULL), "multiprocessing/queues.py")
               ? IN_QUEUE
               : 0;
}

/* The chains of the samples in the span: a long capture has a thousand times as many. */
static int add_chains(struct advice_workers_marks *marks, const struct report_columns *samples, int64_t start_ns,
                      int64_t end_ns)
{
    for (size_t row = 0; row < samples->rows; row++) {
        int64_t time = samples->values[START][row];
        if (time >= start_ns && time <= end_ns && keys_add(&marks->chains, &samples->values[CHAIN][row]) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    marks->flags = calloc(marks->chains.count + 1u, 1);
    return marks->flags ? 0 : ERR_NO_MEMORY;
}

static int advice_workers_read_marks(struct advice_workers_marks *marks, struct report *report, struct error *err)
{
    static const char *const names[CHAIN_COLUMNS] = { "id", "symbol", "module" };
    struct report_columns frames = { 0 };
    uint32_t chain = NO_KEY;
    int code = columns_read(report, "TACHO_PYTHON_CALLCHAINS", names, CHAIN_COLUMNS, &frames, err);

    if (code != 0)
        return code;
    for (size_t row = 0; row < frames.rows; row++) {
        if (row == 0 || frames.values[ID][row] != frames.values[ID][row - 1])
            chain = keys_find(&marks->chains, &frames.values[ID][row]);
        if (chain != NO_KEY)
            marks->flags[chain] |= flag_of(report, frames.values[SYMBOL][row], frames.values[MODULE][row]);
    }
    report_columns_free(&frames);
    return 0;
}

static int count_samples(struct advice_workers *workers, const struct advice_workers_marks *marks,
                         const struct report_columns *samples, int64_t start_ns, int64_t end_ns)
{
    struct keys threads = { .width = 1 };
    int code = 0;

    for (size_t row = 0; row < samples->rows && code == 0; row++) {
        uint32_t chain = keys_find(&marks->chains, &samples->values[CHAIN][row]);
        int64_t time = samples->values[START][row];
        if (chain == NO_KEY || !(marks->flags[chain] & IN_LOOP) || time < start_ns || time > end_ns)
            continue;
        if (keys_add(&threads, &samples->values[THREAD][row]) == NO_KEY)
            code = ERR_NO_MEMORY;
        workers->samples++;
        workers->busy += !(marks->flags[chain] & IN_QUEUE);
    }
    workers->count = (int64_t)threads.count;
    keys_free(&threads);
    return code;
}

int advice_workers_read(struct advice_workers *workers, struct report *report, int64_t start_ns, int64_t end_ns,
                        struct error *err)
{
    static const char *const names[SAMPLE_COLUMNS] = { "start", "globalTid", "callchainId" };
    struct advice_workers_marks marks = { .chains.width = 1 };
    struct report_columns samples = { 0 };
    int code;

    *workers = (struct advice_workers){ 0 };
    if ((code = columns_read(report, "TACHO_PYTHON_SAMPLE", names, SAMPLE_COLUMNS, &samples, err)) != 0)
        return code;
    if (add_chains(&marks, &samples, start_ns, end_ns) != 0 &&
        (code = error_short_memory(err, "for the stacks of workers")) != 0)
        goto done;
    if ((code = advice_workers_read_marks(&marks, report, err)) != 0)
        goto done;
    if (count_samples(workers, &marks, &samples, start_ns, end_ns) != 0)
        code = error_short_memory(err, "for the workers");
done:
    report_columns_free(&samples);
    keys_free(&marks.chains);
    free(marks.flags);
    return code;
}

int advice_workers_are_busy(const struct advice_workers *workers)
{
    return workers->busy * 100 >= workers->samples * BUSY_PERCENT;
}
