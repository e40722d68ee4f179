/* Opens the file that a user names, a report of Tacho or a file of another profiler, which is imported on the way; and
 * closes it. */
#ifndef TACHO_CMD_OPEN_REPORT_H
#define TACHO_CMD_OPEN_REPORT_H

#include "base/error.h"
#include "base/text.h"
#include "foreign_rep.h"
#include "report/reader/reader.h"

int open_report(const char *path, struct report **out, struct error *err);

/* The same, with the name of the file that was read: X.tacho for X. The caller frees it in any case. */
int open_report_as(const char *path, struct text *found, struct report **out, struct error *err);

/* Operands that are read as one report: a file; or a folder, a pattern or several of all these as a set. */
struct input {
    const char *const *paths;
    size_t count;
};

/* How the operands of a command are read: as one, or with --each one by one. */
static inline size_t input_count(size_t path_count, int each)
{
    return each || !path_count ? path_count : 1;
}
static inline struct input input_at(const char *const *paths, size_t path_count, int each, size_t index)
{
    return each ? (struct input){ paths + index, 1 } : (struct input){ paths, path_count };
}
/* The row of this option for a command's table. */
#define EACH_OPTION(type, member)                                                                                      \
    { .name = "each", .kind = OPTION_FLAG, .offset = offsetof(type, member),                                           \
      .help = "Treat several FILEs one by one, instead of reading them as one set of reports." }

/* Adds how the input is called in messages: "a.tacho", "a.tacho and 3 more". */
void input_name(struct text *out, struct input input);

/* Adds it as the words of a command line; only the first ones of many files. */
void input_add_words(struct text *out, struct input input);

/* Opens an input as options of the command ask for; settings may be NULL. */
int open_input(struct input input, const struct foreign_rep_settings *settings, struct text *found, struct report **out,
               struct error *err);

/* The same as a set in any case, of a single file too. */
int open_as_set(struct input input, const struct foreign_rep_settings *settings, struct report **out,
                struct error *err);

/* Closes a report, and warns on stderr if parts were damaged or not imported, if the end is missing, or if the tables
 * that were read lost events. Call it after everything is read and printed. */
void close_report(struct report *report, const char *path);

/* Prints on stderr the parts of a report that were damaged or could not be imported. */
void tell_damage(struct report *report, const char *path);

/* Prints on stderr the losses that concern the tables that were read, or all of them. */
enum told_losses { LOSSES_OF_WHAT_WAS_READ, LOSSES_OF_ALL };
void tell_losses(struct report *report, const char *path, enum told_losses which);

#endif
