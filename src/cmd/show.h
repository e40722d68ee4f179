/* Showing what was asked for of one file after another: what `stats` and `analyze` share. */
#ifndef TACHO_CMD_SHOW_H
#define TACHO_CMD_SHOW_H

#include "command.h"
#include "deliver.h"
#include "nsys_rep.h"
#include "wanted.h"

struct show {
    const struct wanted_list *wanted; /* not empty */
    const struct delivery *delivery;
    const struct part_settings *part;
    const struct nsys_rep_settings *input;
};

/* Runs all that is wanted on a file and delivers it; the exit status, after a word on stderr. */
int show_file(const struct command *self, const char *path, const struct show *show);

#endif
