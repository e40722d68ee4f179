/* The calls of the CUDA API, found by the work that they launched.
 *
 * A call and its work on a GPU have the same correlation id, which is unique only within a process. Several calls may
 * have the same id (a capture with backtraces records some calls twice), and one call may launch many operations (a
 * graph). */
#ifndef TACHO_ANALYZE_MODEL_CALLS_H
#define TACHO_ANALYZE_MODEL_CALLS_H

#include "base/hash_index.h"
#include "report/reader/reader.h"

enum { CALL_START, CALL_END, CALL_THREAD, CALL_CORRELATION, CALL_NAME, CALL_COLUMNS };
enum { NO_CALL = UINT32_MAX };

struct calls {
    size_t count;
    const int64_t *start, *end, *thread, *name; /* by row of the table */

    /* for calls.c alone */
    struct report_columns columns;
    uint32_t *next;          /* owned; a further row of the same id, or NO_CALL */
    struct hash_index index; /* of the first row of each id; not used if there is a list */
    uint32_t *list;          /* owned; by id from least_id on: its first row, or NO_CALL; NULL: ids are not dense */
    size_t list_count;
    int64_t list_process;    /* all calls are of this one */
    int64_t least_id;
};

/* Reads all calls of the report; a report without the table has none. */
int calls_read(struct calls *calls, struct report *report, struct error *err);
void calls_free(struct calls *calls);

/* The first call with this id in the process, or NO_CALL; calls_next() gives the others, in the order of their rows. */
uint32_t calls_find(const struct calls *calls, int64_t process, int64_t correlation);
static inline uint32_t calls_next(const struct calls *calls, uint32_t call)
{
    return calls->next[call];
}

/* How many bytes of a call's name are shown: "_v3020" goes, "_v10000" stays, as in nsys. */
size_t call_name_length(const char *name, size_t length);

#endif
