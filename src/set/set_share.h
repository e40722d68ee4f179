/* Lets the processes of a job divide work on a set of reports, through a folder that all of them can write to.
 *
 * Each share is a file, written under another name and renamed. The first process that has finished its own share
 * collects: it waits for the files of the others, does the shares that do not come, and is thus the last to end. All
 * names begin with a key of the request and of the names of the reports, and a share records the state of the reports
 * that it was computed from, so that a share of an earlier run, or of other reports, is not taken. No messages, no
 * ports, no locks: a name that is created exclusively decides who collects. */
#ifndef TACHO_SET_SET_SHARE_H
#define TACHO_SET_SET_SHARE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/text.h"

enum set_share_role {
    SHARE_OF_JOB, /* one of the processes that a launcher started */
    SHARE_ALONE,  /* makes one share; someone else collects */
    SHARE_MERGE,  /* collects, and has no share of its own */
};

struct set_share {
    enum set_share_role role;
    size_t index, count; /* the share of this process; SHARE_MERGE has none */
    const char *folder;
    int is_of_one_run;   /* the folder belongs to this run of the job alone */
    uint64_t key;
    uint64_t state;      /* state of the reports; shares of another state are not merged */
    int64_t wait_s;      /* timeout for shares whose process may still come; -1: automatic */
    int64_t begin_ns;    /* set by set_share_begin() */
    uid_t owner;         /* owner of the files, set by set_share_begin() */
    size_t collector;    /* number of the own file, set by set_share_hand_in() */
};

enum set_share_turn {
    SHARE_COLLECTS,  /* this process collects */
    SHARE_IS_LEFT,   /* the share was put; another process collects */
    SHARE_CAME_LATE, /* another process has computed it */
};

/* Makes the folder and announces this process. Returns 1 if the work was done without it. */
int set_share_begin(struct set_share *share, struct error *err);

/* Reads the file of a share into an empty text; an error if it is not whole, ERR_NO_DATA if it is of
 * another state of the reports. */
int set_share_get(const struct set_share *share, size_t index, struct text *out, struct error *err);

/* Finds out who collects, and puts the share of this process if another does. A collector on another host that seems
 * dead gets some time to show that it lives; then this process takes its place. */
int set_share_hand_in(struct set_share *share, struct text *bytes, enum set_share_turn *out, struct error *err);

/* Waits until the file of this share is there, its process is known to have ended, or is not to be expected any more.
 * NULL: it is there; else the fate of its process: "did not start". */
const char *set_share_wait(const struct set_share *share, size_t index);

/* Removes all that was written, by the process that collects. */
void set_share_end(const struct set_share *share);

#endif
