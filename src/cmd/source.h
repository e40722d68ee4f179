/* A source of events, as the commands see it: one row for each, with all that `tacho profile` reads, prints and decides
 * about it. Commands walk through the rows and know no source by name.
 *
 * To add a source: a file in sources/ that defines its row, and a line in sources.def. A slot that is left out (0,
 * NULL) means that the source has nothing to say there. The row's place in sources.def is its place in every list. */
#ifndef TACHO_CMD_SOURCE_H
#define TACHO_CMD_SOURCE_H

#include "base/text.h"
#include "option.h"

struct collect_options;
struct collect_result;
struct profile_settings;

/* A name that --trace takes. */
struct source_trace {
    const char *name;  /* NULL ends a list */
    int by_default;    /* recorded when there is no --trace */
    int is_other_name; /* understood, but help does not list it */
};

struct cmd_source {
    uint32_t events; /* WIRE_BIT()s: its events in the counts of a capture; 0: agents record none for it */

    /* ---- tacho profile ---- */
    const struct source_trace *traces;

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

    /* Whether the summary names its events even if there are none. NULL: it does if collect->sources has them. */
    int (*is_expected)(struct profile_settings *settings, const struct collect_result *result);
};

/* Every source, in the order of sources.def; NULL ends them. */
extern const struct cmd_source *const cmd_sources[];

#define CMD_SOURCE(name) extern const struct cmd_source cmd_source_##name;
#include "sources.def"
#undef CMD_SOURCE

#endif
