/* The state of an import of a trace of torch.profiler (Kineto).
 *
 * import_window.c reads the file, plain or compressed, through a window of bounded size; json_scan.c finds values in
 * it; kineto_event.c parses one event; kineto_rows.c makes rows of it; kineto_metadata.c makes rows of the rest;
 * kineto.c goes through the file and notes the losses. */
#ifndef TACHO_IMPORT_KINETO_H
#define TACHO_IMPORT_KINETO_H

#include "base/error.h"
#include "base/json_scan.h"
#include "import_window.h"
#include "report/schema/schema.h"
#include "report/writer/writer.h"

/* ---- one event ------------------------------------------------------------------------------------------------- */

/* Arguments that become columns, in their current spelling. */
#define KINETO_KEYS(X)                                                                                                 \
    X(EXTERNAL, "External id") X(RECORD_FUNCTION, "Record function id") X(SEQUENCE, "Sequence number")                 \
    X(FORWARD_THREAD, "Fwd thread id") X(DIMS, "Input Dims") X(TYPES, "Input type") X(STRIDES, "Input Strides")        \
    X(CONCRETE, "Concrete Inputs") X(INDEX, "Ev Idx") X(STACK, "Call stack") X(MODULE, "Module Hierarchy")             \
    X(PYTHON, "Python id") X(PYTHON_PARENT, "Python parent id") X(PYTHON_MODULE, "Python module id")                   \
    X(DEVICE, "device") X(CONTEXT, "context") X(STREAM, "stream") X(CORRELATION, "correlation")                        \
    X(REGISTERS, "registers per thread") X(SHARED, "shared memory") X(GRID, "grid") X(BLOCK, "block")                  \
    X(GRAPH, "graph id") X(GRAPH_NODE, "graph node id") X(BYTES, "bytes") X(DEVICE_TYPE, "Device Type")                \
    X(DEVICE_ID, "Device Id") X(ADDRESS, "Addr") X(MEMORY_BYTES, "Bytes") X(ALLOCATED, "Total Allocated")              \
    X(RESERVED, "Total Reserved") X(BANDWIDTH, "memory bandwidth (GB/s)") X(NAME, "name")
enum kineto_key {
#define KINETO_KEY(name, spelling) KEY_##name,
    KINETO_KEYS(KINETO_KEY) KEY_COUNT,
    KEY_OTHER = KEY_COUNT
#undef KINETO_KEY
};
enum { KINETO_MOST_ARGS = 128, KINETO_KEY_SLOTS = 128 };

struct kineto_arg {
    enum kineto_key key;
    struct json_slice name, value;
};

/* Slices point into the window and are valid until it moves. */
struct kineto_event {
    struct json_slice phase, category, name, id, pid, tid, ts, dur;
    struct kineto_arg args[KINETO_MOST_ARGS];
    size_t arg_count, args_left_out;
    struct json_slice by_key[KEY_COUNT];   /* bytes NULL: not given */
    unsigned char slots[KINETO_KEY_SLOTS]; /* for kineto_event.c: a hash table of the spellings, number + 1 */
};

void kineto_event_init(struct kineto_event *event);
/* The event at scan's place, from its brace on. SCAN_OK, SCAN_CUT or SCAN_BAD. */
int kineto_read_event(struct json_scan *scan, struct kineto_event *event);

/* ---- the import ------------------------------------------------------------------------------------------------ */

/* A name of a process (tid -1) or a thread. */
struct kineto_name {
    int64_t pid, tid, name;
};
enum { KINETO_MOST_NAMES = 1024 };

struct kineto {
    const char *path;
    struct import_window window;
    struct writer *writer;
    struct text scratch, other;
    uint64_t events, damaged, repaired, too_many_args, unknown_phases, no_time, backwards;
    int truncated;
    int64_t process; /* globalPid of GPU work: the first process that has an event on a CPU */
    struct kineto_name names[KINETO_MOST_NAMES]; /* names before the first event on a CPU, which distinguishes the
                                                  * process on the CPU from GPUs */
    size_t name_count;
    int64_t origin_ns;                           /* ts of the report's time 0 */
    int has_origin;
    int64_t base_ns;                             /* baseTimeNanoseconds */
    int64_t rank, world_size;                    /* -1: not said */
    int64_t first_ns, last_ns;                   /* span of all events; first > last while there are none */
};

/* The metadata member that holds the offset that was subtracted from every ts. */
#define KINETO_ORIGIN "tacho.originNanoseconds"

/* Writes the rows of an event. */
void kineto_add_event(struct kineto *import, const struct kineto_event *event);
/* Writes the names that came too early. */
void kineto_add_names(struct kineto *import);
/* Writes the rows of a member of the trace other than its events. */
void kineto_add_metadata(struct kineto *import, struct json_slice name, struct json_slice value);
/* Writes the rows that need the whole file: the process, the start of the capture. */
void kineto_add_capture(struct kineto *import);

#endif
