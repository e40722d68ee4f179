/* A source of events, as the commands see it: one row for each, with all that `profile`, its summary, `doctor` and
 * `info` read and print about it. Commands walk through the rows and know no source by name.
 *
 * To add a source: define its row, `const struct cmd_source cmd_source_NAME`, in sources/NAME_source.c, and add
 * CMD_SOURCE(NAME) to cmd_sources.def. `events` says which rows of wire/sources.def it stands for; every one of them
 * needs a row here. A slot that is left out (0, NULL) means that the source has nothing to say there. The row's place
 * in cmd_sources.def is its place in every list but those that `last` names. */
#ifndef TACHO_CMD_CMD_SOURCE_H
#define TACHO_CMD_CMD_SOURCE_H

#include "base/text.h"
#include "option.h"

struct collect_options;
struct collect_result;
struct doctor_examination;
struct profile_settings;
struct report;
struct source_summary;

/* A name that --trace takes. */
struct cmd_source_trace {
    const char *name;  /* NULL ends a list */
    int by_default;    /* recorded when there is no --trace */
    int is_other_name; /* understood, but help does not list it */
};

/* A table of the report that holds a source's events, and what `tacho info` calls them. */
struct cmd_source_table {
    const char *events; /* as in TACHO_COUNT, where they are counted there; NULL ends a list */
    const char *table;
};

/* How `tacho info` shows a value of the report's META_DATA_CAPTURE or TARGET_INFO_SYSTEM_ENV. */
struct cmd_source_label {
    const char *name;                                 /* NULL ends a list */
    const char *label;                                /* NULL: it is not shown */
    void (*add)(struct text *out, const char *value); /* NULL: as it is */
};

struct cmd_source {
    uint32_t events; /* WIRE_BIT()s: its events in the counts of a capture; 0: agents record none for it */

    /* ---- tacho profile ---- */
    const struct cmd_source_trace *traces;

    /* Options, in the order of help; a row without a name ends them. The offset of a row is that of a field in the
     * source's own settings, which start as a copy of `settings` (NULL: zeros); take() gets the struct
     * profile_settings, in which profile_source_settings() finds them. */
    const struct option *options;
    const struct option *late_options; /* that help shows behind --preload */
    const void *settings;
    size_t settings_bytes;

    /* An option asked for a list of its values: adds that list. The program is then not run. */
    void (*list_values)(struct profile_settings *settings, struct text *out);

    /* All options are known: fills in what the capture is told, and adds to settings->warnings what has no effect.
     * collect->sources is what --trace names. An error ends the command. */
    int (*finish)(struct profile_settings *settings, struct collect_options *collect, struct error *err);

    /* Whether the summary names its events even if there are none. NULL: if collect->sources has them. */
    int (*is_expected)(struct profile_settings *settings, const struct collect_result *result);

    /* ---- tacho doctor ---- */
    const struct doctor_examination *examinations;

    /* ---- tacho info ---- */
    const struct cmd_source_label *labels;
    const struct cmd_source_table *tables;
    /* Adds lines of its own, with a heading; nothing where the report has nothing of it. */
    int (*info)(struct text *out, struct report *report, struct error *err);

    const struct source_summary *summary; /* in the last lines of tacho profile */

    unsigned last;                        /* lists in which it stands behind the other sources: SOURCE_LAST_IN_… */
};

enum {
    SOURCE_LAST_IN_DOCTOR = 1,
    SOURCE_LAST_IN_INFO = 2,
    SOURCE_LAST_IN_TABLES = 4, /* of info: `tables` */
};

enum {
    CMD_SOURCE_COUNT = 0
#define CMD_SOURCE(name) +1
#include "cmd_sources.def"
#undef CMD_SOURCE
};

/* Every source, in the order of cmd_sources.def; NULL ends them. */
extern const struct cmd_source *const cmd_sources[];

#define CMD_SOURCE(name) extern const struct cmd_source cmd_source_##name;
#include "cmd_sources.def"
#undef CMD_SOURCE

/* Its place in cmd_sources, and that as a bit. */
size_t cmd_source_index(const struct cmd_source *source);
uint32_t cmd_source_bit(const struct cmd_source *source);

/* The sources in the order of one of these lists. */
void cmd_sources_order(unsigned list, const struct cmd_source *ordered[CMD_SOURCE_COUNT]);

#endif
