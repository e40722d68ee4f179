/* What a change is tried on: the replay of a program that uses a GPU, or of the threads of one that does not. */
#ifndef TACHO_CMD_WHAT_IF_WHAT_IF_MODEL_H
#define TACHO_CMD_WHAT_IF_WHAT_IF_MODEL_H

#include "analyze/advice/adviser.h"
#include "analyze/model/wall/wall_lines.h"
#include "cmd/option.h"
#include "what_if_change.h"

enum { WHAT_IF_MOST_CHANGES = WHAT_IF_KINDS * OPTION_LIST_MAX };

struct what_if_settings {
    struct option_list changes[WHAT_IF_KINDS];
    const char *step_range, *step_operator, *format;
};

struct what_if_times {
    int64_t run_ns, step_ns;
    size_t steps; /* 0: the report has no steps */
};

struct what_if_job {
    struct report *report;
    const struct what_if_model *model;
    struct adviser adviser;  /* of a GPU: has the replay, its steps, and what the profiler took */
    struct steps asked;      /* owned; by the options; none: the adviser finds steps */
    struct wall_lines lines; /* of CPUs */
    struct what_if_change changes[WHAT_IF_MOST_CHANGES];
    size_t count;
};

/* A part of the critical path is added to the table that add_part() fills. */
struct what_if_parts {
    struct table *table;
    int64_t whole_ns;
};
int what_if_add_part(const struct what_if_parts *parts, const char *name, int64_t part_ns, struct error *err);

struct what_if_model {
    int (*open)(struct what_if_job *job, const struct what_if_settings *settings, struct error *err);
    void (*close)(struct what_if_job *job); /* after an error, too */
    /* Whether it has a time without the profiler, which changes are compared with. */
    int (*has_base)(const struct what_if_job *job);
    /* Finds what the change edits. */
    int (*find)(struct what_if_job *job, struct what_if_change *change, struct error *err);
    /* The times with the changes from first to behind; with_base: without the profiler. */
    int (*replay)(struct what_if_job *job, int with_base, const struct what_if_change *first,
                  const struct what_if_change *behind, struct what_if_times *out, struct error *err);
    int (*add_path)(struct table *table, struct what_if_job *job, struct error *err);
};

extern const struct what_if_model what_if_gpu, what_if_cpu;

#endif
