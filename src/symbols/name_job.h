/* The names of the frames of one module: a job that any thread can do while the capture goes on. It reads what it has
 * been given and the files, and nothing else of struct symbols. */
#ifndef TACHO_SYMBOLS_NAME_JOB_H
#define TACHO_SYMBOLS_NAME_JOB_H

#include "base/arena.h"
#include "base/text.h"
#include "module.h"
#include "symbols_state.h"

struct name_answer { /* the lines of one place */
    struct symbols_line *lines;
    uint32_t count;
};

struct name_job {
    const struct symbols_settings *settings;
    const struct symbols_module *module; /* opened before, so that nobody changes what the job reads of it */
    struct symbols_process owner;        /* of code made at run time, as it was when the round began */
    const uint32_t *frames;              /* of the module, by place */
    size_t frame_count;
    uint64_t *places;                    /* the same without duplicates; owned, as all below */
    struct name_answer *answers;         /* by place; texts are in the arena */
    size_t place_count;
    struct arena arena;
    struct text text;                    /* for demangling */
    const char *last_mangled, *last_name;
    /* The CPU time that the lines may take; INT64_MAX: any. may_wait: a later round may find them worth more. */
    int64_t lines_limit_ns;
    int may_wait;
    int is_cut, failed, is_postponed, is_without_lines;
    uint64_t made_bytes;      /* size of the file with the names of such code */
    int64_t cpu_ns, child_ns; /* child_ns: of the child that read debug information, part of cpu_ns */
};

void name_job_do(struct name_job *job);
void name_job_free(struct name_job *job);

#endif
