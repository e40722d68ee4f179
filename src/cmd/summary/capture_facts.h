/* The facts of a capture as a whole: the program and how it ended, times, processes, warnings. Reports of Tacho have
 * all of it, one whose collector was killed most of it, imports a little. */
#ifndef TACHO_CMD_SUMMARY_CAPTURE_FACTS_H
#define TACHO_CMD_SUMMARY_CAPTURE_FACTS_H

#include "cmd/report_sources.h"
#include "cmd/small_table.h"

enum { CAPTURE_LEFT_MAX = 4 };

/* Strings are those of the report. */
struct capture_facts {
    const char *recorder;                  /* recorder_read() */
    int is_ours;                           /* Tacho recorded it */
    int is_over;                           /* Tacho closed it. An older version recorded less: -1 below */
    const char *program;                   /* the command line; "": not known */
    const char *requested;                 /* names of the sources that -t named, with commas between them */

    const char *ending;                    /* how the program ended: exit, signal, running, lost, … */
    int64_t exit_status, signal;
    int64_t process_ns;                    /* from the start of the program to its end, or to that of the capture */
    int64_t recorded_ns;                   /* how long recording was on */
    int is_part;                           /* in spans that the user chose, of which there are range_count */
    size_t range_count;
    const char *over;                      /* what ended the capture: TACHO_CAPTURE.over */
    int64_t kill_signal;                   /* 0: none was sent */
    int64_t cpu_ns, cost_ns, start_cost_ns, own_cpu_ns, cut_stacks, throttled;
    const char *sampling;                  /* TACHO_SAMPLING.method */

    uint64_t processes, programs, threads; /* programs: different files that were run */
    int64_t rank;                          /* in a set: rank of the program with this ending; -1: none */
    size_t cut_count;                      /* ranks of a set whose reports end before their programs */
    int64_t *cut_ranks;                    /* owned; sorted */
    size_t left_count;                     /* processes that outlived the capture */
    struct capture_left {
        int pid;
        const char *name;
    } left[CAPTURE_LEFT_MAX];

    struct small_table messages; /* severity and text; capture_warning() finds the warnings of a capture of ours */
    size_t warning_count;
    int has_output;              /* the report has the program's output */
    struct report_sources sources;
};

/* After an error there is nothing to free. */
int capture_facts_read(struct capture_facts *facts, struct report *report, struct error *err);
void capture_facts_free(struct capture_facts *facts);

const char *capture_warning(const struct capture_facts *facts, size_t index);

/* Whether -t named a source. */
int capture_is_requested(const struct capture_facts *facts, const char *source);

#endif
