/* The commands' side of a source: one row with everything that `profile`, its summary, `doctor` and `info` read and
 * print about it. Commands iterate over the rows and know no source by name.
 *
 * To add a source, define its row `const struct cmd_source cmd_source_NAME` in sources/NAME_source.c, and add
 * CMD_SOURCE(NAME) to cmd_sources.def. `events` names the rows of wire/sources.def that it covers; each of those must
 * be covered by a row here. A member that is left out (0, NULL) means that the source has nothing there. The order of
 * cmd_sources.def is the order of every list, except of those in `last`. */
#ifndef TACHO_CMD_CMD_SOURCE_H
#define TACHO_CMD_CMD_SOURCE_H

#include "base/text.h"
#include "option.h"

struct collect_options;
struct doctor_examination;
struct profile_settings;
struct report;
struct source_summary;

/* A name that --trace accepts. */
enum { BY_DEFAULT = 1, BY_DEFAULT_IF_USED };
struct cmd_source_trace {
    const char *name;  /* NULL ends a list */
    int by_default;    /* recorded if there is no --trace: always, or in programs that use it (IF_USED) */
    int is_other_name; /* an alias, which help does not list */
};

/* A table of the report with events of a source, and their name in `tacho info`. */
struct cmd_source_table {
    const char *events; /* the same name as in TACHO_COUNT, if they are counted there; NULL ends a list */
    const char *table;
};

/* A table that has rows only if the user asked for them. */
struct cmd_source_subject {
    const char *table; /* NULL ends a list */
    const char *next;  /* the command that the summary names first */
    const char *slows; /* why the times of the capture are not worth advice; NULL: they are */
};

/* How `tacho info` shows a value of the report's META_DATA_CAPTURE or TARGET_INFO_SYSTEM_ENV. */
struct cmd_source_label {
    const char *name;                                 /* NULL ends a list */
    const char *label;                                /* NULL: not shown */
    void (*add)(struct text *out, const char *value); /* NULL: as it is */
};

struct cmd_source {
    uint32_t events; /* WIRE_BIT()s: its events in the counts of a capture; 0: agents record none */

    /* ---- tacho profile ---- */
    const struct cmd_source_trace *traces;

    /* Options, in the order of help; a row without a name ends them. The offset in a row is that of a field in the
     * source's own settings, which start as a copy of `settings` (NULL: zeros). take() gets the struct
     * profile_settings, in which profile_source_settings() finds them. */
    const struct option *options;
    const struct option *late_options;   /* shown in help after --preload */
    const void *settings;
    size_t settings_bytes;
    void (*release)(void *own_settings); /* frees what they hold, if they hold memory */

    /* An option requested the list of its values: adds that list. The program is then not run. */
    void (*list_values)(struct profile_settings *settings, struct text *out);

    /* All options are parsed: fills in the options of the capture, and adds options without effect to
     * settings->warnings. collect->sources has the sources that --trace names. An error ends the command. */
    int (*finish)(struct profile_settings *settings, struct collect_options *collect, struct error *err);

    /* For a source whose data may concern the whole host: another rank of this host records them, so takes them out of
     * the options of the capture. Returns their name; NULL: none were asked for. */
    const char *(*leave_host)(struct collect_options *collect);

    /* ---- tacho doctor ---- */
    const struct doctor_examination *examinations;

    /* ---- tacho info ---- */
    const struct cmd_source_label *labels;
    const struct cmd_source_table *tables;
    /* Adds lines of its own with a heading; nothing if the report has no data of the source. */
    int (*info)(struct text *out, struct report *report, struct error *err);

    const struct source_summary *summary; /* its part of tacho summary */
    const struct cmd_source_subject *subjects;

    unsigned last;                        /* lists in which it comes after the other sources: SOURCE_LAST_IN_... */
};

enum {
    SOURCE_LAST_IN_DOCTOR = 1,
    SOURCE_LAST_IN_INFO = 2,
    SOURCE_LAST_IN_TABLES = 4, /* the table of sources in info: `tables` */
};

enum {
    CMD_SOURCE_COUNT = 0
#define CMD_SOURCE(name) +1
#include "cmd_sources.def"
#undef CMD_SOURCE
};

/* Every source, in the order of cmd_sources.def; NULL-terminated. */
extern const struct cmd_source *const cmd_sources[];

#define CMD_SOURCE(name) extern const struct cmd_source cmd_source_##name;
#include "cmd_sources.def"
#undef CMD_SOURCE

/* The index of a source in cmd_sources. */
size_t cmd_source_index(const struct cmd_source *source);

/* All sources in the order of one of these lists. */
void cmd_sources_order(unsigned list, const struct cmd_source *ordered[CMD_SOURCE_COUNT]);

#endif
