/* The settings of `tacho profile`: the values of its options. */
#ifndef TACHO_CMD_PROFILE_PROFILE_SETTINGS_H
#define TACHO_CMD_PROFILE_PROFILE_SETTINGS_H

#include "abi/jobs/job_place.h"
#include "cmd/option.h"
#include "collect/collect.h"

struct cmd_source;

enum { PROFILE_EXPORTS_MAX = 64, PROFILE_SOURCES_BYTES = 2048 };

/* Filled by the options; call profile_options_init() first. */
struct profile_settings {
    const struct option *options; /* the table that fills them; --command-file parses more with it */
    struct collect_options collect;
    const char *output;
    struct job_place place;       /* ours in a parallel job */
    const char *ranks;            /* --ranks; NULL: all */
    int overwrite, redact, show_output, inherit_environment, stop_on_exit, trace_fork, preload;
    int stats, quiet, advise;
    int step_probes;              /* -1: not given */
    int names_operators;          /* an option of PyTorch was given: all operators are wanted */
    int has_range_end;            /* --capture-range-end was given */
    const char *attach;           /* "caller", "caller-temporary", or NULL: there is a program */
    struct option_list exports;   /* names of exporters, without duplicates */
    struct text unsupported;      /* names of -t that this version does not support, separated by commas */
    int has_sources;              /* -t was given: the next two apply, else the defaults */
    uint32_t sources_given;       /* WIRE_BIT()s */
    struct option_list traced;    /* names of sources, without duplicates */
    /* The settings of the sources, one after another: profile_source_settings(). */
    _Alignas(max_align_t) unsigned char of_sources[PROFILE_SOURCES_BYTES];
    struct collect_variable environment[256];
    void *owned[512];     /* memory that take() functions allocated */
    size_t owned_count;
    struct text warnings; /* a line each */
    struct text left_to;  /* the data that another rank of this host records */
};

/* The settings of one source, and their offset in a struct profile_settings. */
void *profile_source_settings(struct profile_settings *settings, const struct cmd_source *source);
size_t profile_source_offset(const struct cmd_source *source);

/* Does -t name it? 0 if it is recorded by default only. */
int profile_is_traced(const struct profile_settings *settings, const char *name);

void profile_settings_free(struct profile_settings *settings);
/* Keeps an allocation until profile_settings_free(); NULL if out of memory or room. */
void *profile_own(struct profile_settings *settings, void *memory);

#endif
