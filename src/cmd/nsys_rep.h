/* X.nsys-rep: nsys's own format, which only nsys can read. It stands for the file that holds
 * the same and can be read. */
#ifndef TACHO_CMD_NSYS_REP_H
#define TACHO_CMD_NSYS_REP_H

#include "base/error.h"
#include "base/text.h"
#include "option.h"

/* What the options fill; a command has it as a member of its settings. */
struct nsys_rep_settings {
    const char *sqlite; /* where the export is or goes; NULL: beside the report */
    int force_export;   /* even if there is one */
};

/* Their rows in a table of options: NSYS_REP_OPTIONS(struct settings, input). */
#define NSYS_REP_OPTIONS(type, member)                                                                                 \
    { .name = "sqlite", .kind = OPTION_TEXT, .offset = offsetof(type, member.sqlite), .value = "FILE",                 \
      .help = "Of a .nsys-rep: its SQLite export, read if it exists and made if it does not. Default: beside it." },   \
    { .name = "force-export", .kind = OPTION_BOOL, .offset = offsetof(type, member.force_export),                      \
      .help = "Of a .nsys-rep: have nsys export it again." }

/* The file to read for path: path itself, or path.tacho where there is no path; unless it is a .nsys-rep (or .qdrep).
 * Then it is X.tacho or X.sqlite beside it, or else an installed nsys is asked to export it. settings may be NULL. */
int nsys_rep_find(const char *path, const struct nsys_rep_settings *settings, struct text *out, struct error *err);

#endif
