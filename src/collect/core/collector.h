/* What the files of src/collect share: the one struct of a capture. Nothing outside the folder includes this. */
#ifndef TACHO_COLLECT_CORE_COLLECTOR_H
#define TACHO_COLLECT_CORE_COLLECTOR_H

#include <signal.h>
#include <sys/resource.h>

#include "clock_map.h"
#include "collect/capture/drain.h"
#include "collect/capture/program_output.h"
#include "collect/capture/recording.h"
#include "collect/capture/session.h"
#include "collect/collect.h"
#include "collect/process/children.h"
#include "collect/process/process.h"
#include "collect/sources/cuda/cuda_collect.h"
#include "collect/sources/osrt/osrt_collect.h"
#include "collect/sources/perf/counter_rows.h"
#include "collect/sources/perf/cpu_sampling.h"
#include "collect/sources/perf/perf_reader.h"
#include "collect/sources/perf/sample_rows.h"
#include "collect/sources/perf/sched_rows.h"
#include "collect/sources/python/python_calls.h"
#include "procfs.h"
#include "report/writer/writer.h"

struct event_base;
struct event;
struct python;
struct stacks;

struct collector {
    const struct collect_options *options;
    struct collect_result *result;
    const char *output_path;
    char *absolute_path; /* the same, for programs that change their folder; NULL if it could not be had */
    struct event_base *base;
    struct writer *writer;
    struct clock_map clock;
    struct session session;
    struct capture capture;
    struct drain drain;
    struct osrt osrt;
    struct perf perf;
    struct sched sched;
    struct samples samples;
    struct counters counters;
    uint32_t sources;      /* WIRE_BIT()s that agents record: those of the options, and samples where perf is refused */
    struct cuda_gpus gpus;
    struct stacks *stacks; /* NULL: memory was short, no call has a chain */
    struct python *python; /* NULL: Python stacks are not sampled */
    struct python_calls python_calls;
    int64_t python_chains; /* the last id of TACHO_PYTHON_CALLCHAINS */
    struct process_table processes;
    struct children children;
    struct streams streams;
    struct process *primary;
    struct machine machine;
    struct procfs_tree strangers;  /* our children from before the program, and theirs */
    enum wire_cause program_cause; /* why the program that we started takes no agent, which is told
                                    * at once: of struct program */
    int children_left;             /* processes of the program that we are the parent of; found out by wait */
    int flush_failed;              /* told once */

    /* Signals: what they were before us, for the program and for our own return. */
    sigset_t old_mask;
    struct sigaction old_child, old_pipe, old_file_size;
    struct rlimit old_files, old_bytes;
    int signal_fd;
    pid_t orphan_parent;         /* who would adopt the processes of the tree, if we did not */

    struct event *signals, *tick, *calibrate, *grace, *notice, *hang_up;
    int64_t next_calibration_ns; /* the interval, which grows */
    unsigned ticks;
    int shutting_down;           /* over, and the program was told so */
    int leaving;                 /* the loop ends as soon as it can */
    int64_t launch_cpu_ns;       /* what the first process had used before it became the program */
    int64_t launch_ns, ended_ns; /* report time at which the program was started, and was found to have ended */
};

/* One sentence for the person, kept in the result and in DIAGNOSTIC_EVENT. pid 0: about the capture. */
void collector_warn(struct collector *collector, int64_t global_pid, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void collector_diagnostic(struct collector *collector, int64_t time_ns, int severity, int64_t global_pid,
                          const char *text);

/* Report time now. */
int64_t collector_now(const struct collector *collector);

int64_t collector_string(struct collector *collector, const char *text);

/* Writes all that was read so far, and its counts, into the report: 0, or an ERR_ code. */
int collector_write_down(struct collector *collector);

#endif
