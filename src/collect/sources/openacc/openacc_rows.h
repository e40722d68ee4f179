/* OpenACC events to rows of CUPTI_ACTIVITY_KIND_OPENACC_DATA, _LAUNCH and _OTHER.
 *
 * GCC's runtime does not say where a directive stands in the source. Then the event has the call stack, and its row
 * waits until the functions of the stack have names. */
#ifndef TACHO_COLLECT_SOURCES_OPENACC_OPENACC_ROWS_H
#define TACHO_COLLECT_SOURCES_OPENACC_OPENACC_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct collector;

struct openacc_row {
    int64_t start_ns, end_ns, global_tid;
    uint32_t number;                /* enum openacc_event */
    uint32_t flags;                 /* enum wire_openacc_flag */
    int32_t device_type, device_number;
    uint32_t stack;                 /* leads to the directive; SYMBOLS_NO_STACK: none */
    uint32_t line;                  /* 0: unknown */
    int64_t file, function, object; /* in the writer's string pool; 0: none */
    const char *file_name;          /* of a row with a line: the text of `file`; otherwise not used */
    int64_t sizes[3];               /* bytes; or gangs, workers, vector length */
    int is_incomplete;
};

/* Initialise with zeros. */
struct openacc_rows {
    struct openacc_row *waiting;
    size_t count, room;
};

/* True if this is the number of an event, as WIRE_OPENACC_EVENT has it. */
int openacc_is_event(uint32_t number);

/* Writes the row, or keeps it until its stack has names. */
void openacc_add(struct collector *collector, struct openacc_rows *rows, const struct openacc_row *row);

/* Writes the rows whose stacks have names by now; with is_end all of them. */
void openacc_write(struct collector *collector, struct openacc_rows *rows, int is_end);

#endif
