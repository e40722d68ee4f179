/* What the options of `tacho profile` mean. */
#ifndef TACHO_CMD_PROFILE_H
#define TACHO_CMD_PROFILE_H

#include "../collect/collect.h"
#include "option.h"

enum { PROFILE_EXPORTS_MAX = 64 };

/* Filled by the options; profile_settings_init() first. */
struct profile_settings {
    struct collect_options collect;
    const char *output;
    int overwrite, show_output, inherit_environment, stop_on_exit, trace_fork, preload;
    int stats, quiet;
    struct option_list exports;   /* names of exporters, each once */
    struct text unsupported;      /* names of -t that this version cannot honour, with commas between */
    uint32_t sources_given;       /* -t was there: the bits; else the default counts */
    int has_sources;
    struct collect_variable environment[256];
    void *owned[512];             /* what take() functions allocated */
    size_t owned_count;
    struct text warnings;         /* a line each */
};

extern const struct option profile_options[];

void profile_settings_init(struct profile_settings *settings);
/* What can be said only when all options are known; fills in settings->collect. */
int profile_settings_finish(struct profile_settings *settings, struct error *err);
void profile_settings_free(struct profile_settings *settings);

#endif
