/* The part of a capture that sources see, shared by all files of src/collect. It is the first member of struct capture
 * (capture/capture.h), which has the rest. Nothing outside src/collect may include this file. */
#ifndef TACHO_COLLECT_CORE_COLLECTOR_H
#define TACHO_COLLECT_CORE_COLLECTOR_H

#include <sys/resource.h>

#include "abi/jobs/job_place.h"
#include "clock_map.h"
#include "collect/options/collect_options.h"
#include "collect/options/collect_result.h"
#include "collect_source.h"
#include "report/writer/writer.h"
#include "wire/wire_marks.h"

struct children;
struct event_base;
struct process;
struct process_table;
struct unattached;

#define COLLECTOR_VM_ID (INT64_C(1) << 48) /* the machine's part of globalPid and globalTid */

struct collector {
    const struct collect_options *options;
    struct collect_result *result;
    struct event_base *base;
    struct writer *writer;
    struct clock_map clock;
    record_handler handlers[WIRE_TYPE_COUNT]; /* by type of record; NULL: no such record */
    void *state[COLLECT_SOURCE_COUNT];        /* by source; each source has its own type */
    /* WIRE_BIT()s of the sources that agents record: those of the options, and those that sources add. */
    uint32_t sources;

    /* With --cost-limit: the level of each source, and what is left out: wire_header.left_out. */
    int levels[WIRE_SOURCE_COUNT];
    uint32_t left_out;

    int is_recording;                /* in all processes */
    int64_t recording_since_ns;
    int64_t recorded_ns;             /* sum of the finished spans */

    struct process_table *processes; /* these three are part of struct capture */
    struct children *children;
    struct unattached *unattached;
    struct process *primary;
    /* Why the program that we start takes no agent; the user is warned at once. From struct program_file. */
    enum wire_cause program_cause;
    /* children_add() also gets processes that may not belong to the tree. */
    int hears_of_strangers;
    unsigned ticks;
    /* Our own seccomp filters. A process of the program with no more than these installed none itself. */
    int filters;
    uint64_t buffer_bytes;   /* for the records of one process; less if its limits require it */
    struct rlimit old_files; /* before we raised it to its maximum */
    char host[256];
    struct job_place place;  /* our own in a parallel job: that of processes whose environment does not tell */
    const char *folder;      /* the session's, for files that agents share with us; "": there is none */
};

/* Adds a warning, one sentence for the user, to the result and to DIAGNOSTIC_EVENT. global_pid 0: about the capture. */
void collector_warn(struct collector *collector, int64_t global_pid, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void collector_diagnostic(struct collector *collector, int64_t time_ns, int severity, int64_t global_pid,
                          const char *text);

/* The current report time. */
int64_t collector_now(const struct collector *collector);

int64_t collector_string(struct collector *collector, const char *text);

/* 1: an optional use may keep this descriptor. 0: too few descriptors are left above it for agents that attach
 * later. */
int collector_descriptor_is_spare(const struct collector *collector, int descriptor);

#endif
