/* Faults on managed memory: see advice_faults.h. NVIDIA's driver moves the page while the thread that touched it is in
 * the function below. Few captures have it: samples are read only if one does. */
#include "advice_faults.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"

static const char fault_function[] = "uvm_vm_fault_entry";

struct fault_ids {
    int64_t *list; /* owned; of samples, sorted */
    size_t count, room;
};

/* Whether a symbol is the function. Each is compared once: `symbols` has those that are not. A long capture may have
 * several ids of the same text. */
static int is_fault(struct report *report, struct keys *symbols, int64_t symbol, int *out)
{
    *out = 0;
    if (keys_find(symbols, &symbol) != NO_KEY)
        return 0;
    *out = strcmp(report_string(report, symbol, NULL), fault_function) == 0;
    return !*out && keys_add(symbols, &symbol) == NO_KEY ? ERR_NO_MEMORY : 0;
}

static int read_ids(struct fault_ids *ids, struct report *report, struct error *err)
{
    enum { ID, SYMBOL };
    static const char *const names[] = { "id", "symbol", NULL };
    struct keys symbols = { .width = 1 };
    struct row_cursor rows;
    int is_found, code = row_cursor_open(&rows, report, "SAMPLING_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (code == 0 && row_cursor_next(&rows))
        if (is_fault(report, &symbols, row_int_or(&rows, SYMBOL, -1), &is_found) != 0 ||
            (is_found && ARRAY_PUSH(ids->list, ids->room, ids->count, row_int(&rows, ID)) != 0))
            code = error_short_memory(err, "for page faults");
    row_cursor_close(&rows);
    keys_free(&symbols);
    return code;
}

static int by_thread_and_time(const void *a, const void *b)
{
    const struct fault_sample *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->time_ns, y->time_ns);
}

static int read_samples(struct managed_faults *faults, const struct fault_ids *ids, struct report *report,
                        struct error *err)
{
    enum { ID, START, THREAD };
    static const char *const names[] = { "id", "start", "globalTid", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "COMPOSITE_EVENTS", names, err);

    if (code != 0)
        return code;
    while (code == 0 && row_cursor_next(&rows)) {
        int64_t id = row_int(&rows, ID);
        struct fault_sample sample = { row_int_or(&rows, THREAD, 0), row_int(&rows, START),
                                       bsearch(&id, ids->list, ids->count, sizeof id, array_by_int64) != NULL };
        if (ARRAY_PUSH(faults->list, faults->room, faults->count, sample) != 0)
            code = error_short_memory(err, "for page faults");
    }
    row_cursor_close(&rows);
    if (code == 0 && faults->count)
        qsort(faults->list, faults->count, sizeof *faults->list, by_thread_and_time);
    return code;
}

int managed_faults_read(struct managed_faults *faults, struct report *report, struct error *err)
{
    struct fault_ids ids = { 0 };
    int code = read_ids(&ids, report, err);

    if (code == 0 && ids.count) {
        qsort(ids.list, ids.count, sizeof *ids.list, array_by_int64);
        code = read_samples(faults, &ids, report, err);
    }
    free(ids.list);
    return code;
}

void managed_faults_free(struct managed_faults *faults)
{
    free(faults->list);
    *faults = (struct managed_faults){ 0 };
}

void managed_faults_add(const struct managed_faults *faults, int64_t thread, int64_t from_ns, int64_t to_ns,
                        struct fault_tally *tally)
{
    size_t at = BISECT(0, faults->count, i,
                       faults->list[i].thread < thread ||
                           (faults->list[i].thread == thread && faults->list[i].time_ns < from_ns));

    for (; at < faults->count && faults->list[at].thread == thread && faults->list[at].time_ns < to_ns; at++) {
        tally->samples++;
        tally->faults += (size_t)faults->list[at].is_fault;
    }
}
