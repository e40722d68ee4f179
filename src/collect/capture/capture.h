/* A capture as a whole: the part that sources see (struct collector), and the state of all files in this folder. */
#ifndef TACHO_COLLECT_CAPTURE_CAPTURE_H
#define TACHO_COLLECT_CAPTURE_CAPTURE_H

#include <signal.h>
#include <sys/resource.h>

#include "base/text.h"
#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/core/cost_control.h"
#include "collect/core/procfs.h"
#include "collect/process/children.h"
#include "collect/process/process.h"
#include "collect/process/unattached.h"
#include "session_folder.h"

struct session_connection;
struct event;

/* Where agents attach: session.h. */
struct capture_session {
    int listener, file_listener;            /* -1: none */
    struct event *accept, *file_accept;
    struct session_folder folder;           /* contains the file-system socket, if it could be created */
    uint8_t token[16];
    char variable[256];                     /* the value of TACHO_SESSION */
    char agent_link[96];                    /* session_agent_path() */
    struct session_connection *connections; /* newest first */
    /* The uids of the last processes that presented the token; uid_count counts all. */
    uint32_t uids[8];
    uint32_t uid_count;
};

/* When recording is on: recording.h. */
struct capture_recording {
    int is_armed;         /* the delay is over */
    int is_done;          /* no further range may begin */
    unsigned open;        /* ranges that are open now, in all processes */
    uint32_t ranges_left; /* ranges that may still begin; UINT32_MAX: no limit */
    const char *cause;    /* what began the current span: see TACHO_RANGE */
    /* Another domain in which the awaited range began; "": none seen. */
    char elsewhere[64];
    struct event *delay, *duration;
};

/* --cost-limit: cost_limit.h. */
struct capture_cost_limit {
    struct event *timer; /* NULL: there is no limit */
    struct cost_control control;
    double read_ns;      /* of the clock */
    double cpu_ns;       /* of processes that have ended */
    double worst_share;  /* when the limit could not be kept, and the source that took most then */
    int worst_source;
    int is_in_window;
};

/* Arenas to rows: drain.h, drain_rounds.h. */
struct capture_drain {
    struct event *timer;
    int64_t interval_us;
    _Alignas(64) unsigned char copy[WIRE_LANES][WIRE_CHUNK_BYTES];
};

/* The hidden output of a program: program_output.h. */
struct capture_stream {
    int descriptor; /* -1: not hidden */
    int64_t offset; /* read up to here */
    struct text content;
    uint64_t dropped;
};

struct capture_streams {
    struct capture_stream out, err;
};

struct capture {
    struct collector collector; /* must be first: capture_of() */
    const char *output_path;
    /* The same path, for programs that change their directory; NULL if it could not be resolved. */
    char *absolute_path;
    struct capture_session session;
    struct capture_recording recording;
    struct capture_cost_limit cost_limit;
    struct capture_drain drain;
    struct capture_streams streams;
    struct process_table processes;
    struct children children;
    struct unattached unattached;
    struct procfs_tree strangers; /* the children that we had before the program, and their descendants */
    /* Processes of the program are left whose parent we are, as wait() says. */
    int children_left;
    int flush_failed; /* the user was warned */

    /* Signals and limits as they were before the capture, to restore them for the program and when we return. */
    sigset_t old_mask;
    struct sigaction old_child, old_pipe, old_file_size;
    struct rlimit old_bytes;
    int signal_fd;
    pid_t orphan_parent;         /* the process that would adopt orphans of the tree if we did not */

    struct event *signals, *tick, *calibrate, *grace, *notice, *hang_up;
    int64_t next_calibration_ns; /* the interval, which grows */
    int shutting_down;           /* the capture is over, and the program was told to end */
    int leaving;                 /* the loop ends as soon as possible */
    int64_t launch_cpu_ns;       /* used by the first process before it became the program */
    int64_t launch_ns, ended_ns; /* report time of the program's start, and of its end as we noticed it */
};

/* The capture that contains a collector. */
static inline struct capture *capture_of(const struct collector *collector)
{
    return (struct capture *)(uintptr_t)collector;
}

#endif
