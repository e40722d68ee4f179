/* What all files of src/collect share: the part of a capture that sources see. The rest of it is struct capture, in
 * capture/capture.h, whose first member this is. Nothing outside src/collect includes this. */
#ifndef TACHO_COLLECT_CORE_COLLECTOR_H
#define TACHO_COLLECT_CORE_COLLECTOR_H

#include <sys/resource.h>

#include "clock_map.h"
#include "collect/options/collect_options.h"
#include "collect/options/collect_result.h"
#include "collect_source.h"
#include "report/writer/writer.h"
#include "wire/wire_marks.h"

struct children;
struct event_base;
struct process_table;
struct unattached;

#define COLLECTOR_VM_ID (INT64_C(1) << 48) /* the machine's part of globalPid and globalTid */

struct collector {
    const struct collect_options *options;
    struct collect_result *result;
    struct event_base *base;
    struct writer *writer;
    struct clock_map clock;
    record_handler handlers[WIRE_TYPE_COUNT]; /* by type of record; NULL: nobody writes such */
    void *state[COLLECT_SOURCE_COUNT];        /* of sources, as each likes */
    uint32_t sources;    /* WIRE_BIT()s that agents record: those of the options, and what sources add to them */

    int is_recording;    /* in all processes */
    int64_t recording_since_ns;
    int64_t recorded_ns; /* sum of the spans that are over */

    struct process_table *processes; /* the capture's, as are the next two */
    struct children *children;
    struct unattached *unattached;
    struct process *primary;
    enum wire_cause program_cause; /* why the program that we started takes no agent, which is told at once: of struct
                                    * program */
    int hears_of_strangers;        /* children_add() is told of processes that may be none of the tree's */
    unsigned ticks;
    int filters;                   /* seccomp filters of our own: those of the program's processes that have no more
                                    * were there before */
    uint64_t buffer_bytes;         /* for the records of a process; less where its limits ask for it */
    struct rlimit old_files;       /* before us; we take what its maximum allows */
    char host[256];
};

/* One sentence for the person, kept in the result and in DIAGNOSTIC_EVENT. pid 0: about the capture. */
void collector_warn(struct collector *collector, int64_t global_pid, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void collector_diagnostic(struct collector *collector, int64_t time_ns, int severity, int64_t global_pid,
                          const char *text);

/* Report time now. */
int64_t collector_now(const struct collector *collector);

int64_t collector_string(struct collector *collector, const char *text);

/* May something that could be done without keep this descriptor, or are those above it too few for agents that come
 * in? */
int collector_descriptor_is_spare(const struct collector *collector, int descriptor);

#endif
