/* X.nsys-rep and X.ncu-rep: formats that only nsys and ncu can read. Commands read a file with the same content
 * instead: an export or an imported report. */
#ifndef TACHO_CMD_FOREIGN_REP_H
#define TACHO_CMD_FOREIGN_REP_H

#include "base/error.h"
#include "base/text.h"
#include "option.h"

/* Filled by the options; a command has it as a member of its settings. */
struct foreign_rep_settings {
    const char *sqlite;        /* path of nsys's export, existing or new; NULL: beside the report */
    int force_export;          /* even if an export exists */
    int is_import;             /* the command writes the imported report beside it, and must not read it */
    const char *ranks, *hosts; /* those of a set to read; NULL: all */
    const char *by;            /* a row of each rank or host: a single report is a set, too */
    const char *clock;         /* method that aligns the clocks of a set; NULL: the best available */
    int is_quiet;              /* another process reports the faults of the set */
};

/* The rows of these options for a command's table: FOREIGN_REP_OPTIONS(struct settings, input). */
#define FOREIGN_REP_OPTIONS(type, member)                                                                              \
    { .name = "sqlite", .kind = OPTION_TEXT, .offset = offsetof(type, member.sqlite), .value = "FILE",                 \
      .help = "SQLite export of a .nsys-rep: read it if it exists, else have nsys write it. Default: beside the "      \
              ".nsys-rep." },                                                                                          \
    { .name = "force-export", .kind = OPTION_BOOL, .offset = offsetof(type, member.force_export),                      \
      .help = "Have nsys export a .nsys-rep again (ncu a .ncu-rep), even if an export exists. Default: false." },      \
    SET_OPTIONS(type, member)

/* Those of them that choose from a set of reports. */
#define SET_OPTIONS(type, member)                                                                                      \
    { .name = "filter-rank", .kind = OPTION_TEXT, .offset = offsetof(type, member.ranks), .value = "RANKS",            \
      .help = "Read only the reports of these ranks: 0,8-15." },                                                       \
    { .name = "filter-host", .kind = OPTION_TEXT, .offset = offsetof(type, member.hosts), .value = "HOSTS",            \
      .help = "Read only the reports of these hosts: node01,gpu*." },                                                  \
    { .name = "clock", .kind = OPTION_CHOICE, .offset = offsetof(type, member.clock),                                  \
      .words = OPTION_WORDS("collectives", "utc", "none"),                                                             \
      .help = "What brings the clocks of several hosts together: collectives of the program, utc, or none. Default: "  \
              "collectives if the reports have them, else utc." }

/* Finds the file to read for a path. It is path itself, or path.tacho if path is no file that can be read. For a
 * .nsys-rep (or .qdrep) it is X.tacho or X.sqlite beside it, for a .ncu-rep X.tacho or X.ncu.csv; if there is neither,
 * an installed nsys or ncu exports it. settings may be NULL. */
int foreign_rep_find(const char *path, const struct foreign_rep_settings *settings, struct text *out,
                     struct error *err);

#endif
