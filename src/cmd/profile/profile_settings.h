/* What `tacho profile` is told: the values of its options. */
#ifndef TACHO_CMD_PROFILE_PROFILE_SETTINGS_H
#define TACHO_CMD_PROFILE_PROFILE_SETTINGS_H

#include "cmd/option.h"
#include "collect/collect.h"

struct cmd_source;

enum { PROFILE_EXPORTS_MAX = 64, PROFILE_SOURCES_BYTES = 1024 };

/* Filled by the options; profile_options_init() first. */
struct profile_settings {
    const struct option *options; /* the table that they are filled by; --command-file reads more with it */
    struct collect_options collect;
    const char *output;
    int overwrite, redact, show_output, inherit_environment, stop_on_exit, trace_fork, preload;
    int stats, quiet;
    const char *attach;         /* "caller", "caller-temporary", or NULL: there is a program */
    struct option_list exports; /* names of exporters, each once */
    struct text unsupported;    /* names of -t that this version cannot honour, with commas between */
    int has_sources;            /* -t was there: the next two count, else the default does */
    uint32_t sources_given;     /* WIRE_BIT()s */
    struct option_list traced;  /* names that sources have, each once */
    /* those of the sources, one behind the other: profile_source_settings() */
    _Alignas(max_align_t) unsigned char of_sources[PROFILE_SOURCES_BYTES];
    struct collect_variable environment[256];
    void *owned[512];     /* what take() functions allocated */
    size_t owned_count;
    struct text warnings; /* a line each */
};

/* The settings that a source has for itself, and where they begin in a struct profile_settings. */
void *profile_source_settings(struct profile_settings *settings, const struct cmd_source *source);
size_t profile_source_offset(const struct cmd_source *source);

/* Whether -t names it; not if it is recorded by default. */
int profile_is_traced(const struct profile_settings *settings, const char *name);

void profile_settings_free(struct profile_settings *settings);
/* Keeps an allocation until then; NULL when memory or room is short. */
void *profile_own(struct profile_settings *settings, void *memory);

#endif
