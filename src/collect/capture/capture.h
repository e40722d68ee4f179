/* A capture as a whole: what sources see of it (struct collector), and the state of all files of this folder. */
#ifndef TACHO_COLLECT_CAPTURE_CAPTURE_H
#define TACHO_COLLECT_CAPTURE_CAPTURE_H

#include <signal.h>
#include <sys/resource.h>

#include "base/text.h"
#include "collect/core/collect_sources.h"
#include "collect/core/collector.h"
#include "collect/core/procfs.h"
#include "collect/process/children.h"
#include "collect/process/process.h"
#include "collect/process/unattached.h"
#include "session_folder.h"

struct connection;
struct event;

/* Where agents come in: session.h. */
struct session {
    int listener, file_listener;    /* -1: none */
    struct event *accept, *file_accept;
    struct folder folder;           /* with the file-system socket, if it could be made */
    uint8_t token[16];
    char variable[256];             /* the value of TACHO_SESSION */
    char agent_link[96];            /* session_agent_path() */
    struct connection *connections; /* the newest first */
    uint32_t uids[8];               /* of processes that came with the token, the
                                     * latest; uid_count of them so far */
    uint32_t uid_count;
};

/* When recording is on: recording.h. */
struct recording {
    int is_armed;         /* the delay is over */
    int is_done;          /* no range may begin any more */
    unsigned open;        /* ranges that are on at the moment, over all processes */
    uint32_t ranges_left; /* that may still begin; UINT32_MAX: any number */
    const char *cause;    /* of the span that is on: see TACHO_RANGE */
    char elsewhere[64];   /* a domain that had the range which was waited for in another; "": none is known */
    struct event *delay, *duration;
};

/* From arenas to rows: drain.h, drain_rounds.h. */
struct drain {
    struct event *timer;
    int64_t interval_us;
    _Alignas(64) unsigned char copy[WIRE_LANES][WIRE_CHUNK_BYTES];
};

/* The hidden output of a program: program_output.h. */
struct stream {
    int descriptor; /* -1: not hidden */
    int64_t offset; /* read so far */
    struct text content;
    uint64_t dropped;
};

struct streams {
    struct stream out, err;
};

struct capture {
    struct collector collector; /* first: capture_of() */
    const char *output_path;
    char *absolute_path;        /* the same, for programs that change their folder; NULL if it could not be had */
    struct session session;
    struct recording recording;
    struct drain drain;
    struct streams streams;
    struct process_table processes;
    struct children children;
    struct unattached unattached;
    struct procfs_tree strangers; /* our children from before the program, and theirs */
    int children_left;            /* processes of the program that we are the parent of; found out by wait */
    int flush_failed;             /* told once */

    /* Signals: what they were before us, for the program and for our own return. */
    sigset_t old_mask;
    struct sigaction old_child, old_pipe, old_file_size;
    struct rlimit old_bytes;
    int signal_fd;
    pid_t orphan_parent;         /* who would adopt the processes of the tree, if we did not */

    struct event *signals, *tick, *calibrate, *grace, *notice, *hang_up;
    int64_t next_calibration_ns; /* the interval, which grows */
    int shutting_down;           /* over, and the program was told so */
    int leaving;                 /* the loop ends as soon as it can */
    int64_t launch_cpu_ns;       /* what the first process had used before it became the program */
    int64_t launch_ns, ended_ns; /* report time at which the program was started, and was found to have ended */
};

/* The capture that a collector is part of. */
static inline struct capture *capture_of(const struct collector *collector)
{
    return (struct capture *)(uintptr_t)collector;
}

#endif
