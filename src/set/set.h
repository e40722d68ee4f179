/* Opens several reports as one: finds the files, learns from the data of each which rank, host and job it is of, brings
 * their clocks together, and unites them (report/reader/unite.h). */
#ifndef TACHO_SET_SET_H
#define TACHO_SET_SET_H

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "report/reader/unite.h"
#include "set/clocks/clock_fit.h"

/* Whether a word of the command line means several files: it is a folder, or a pattern and not the name of a file. */
int set_is_meant(const char *operand);
/* Whether such a word would mean this file too, once it is there. */
int set_takes(const char *operand, const char *path);

struct set_filter;

struct set_request {
    const char *const *operands; /* files, folders, patterns */
    size_t operand_count;
    /* Opens one file, without threads (report/reader/unite.h); if there are many, none keeps a descriptor. */
    int (*open)(const char *path, int keeps_descriptor, struct report **out, struct error *err);
    enum clock_choice clock;         /* how the clocks of hosts are joined */
    const struct set_filter *filter; /* the ranks and hosts to read (set_filter.h); NULL: all */
    /* Sentences on files that could not be used, and on ranks that are missing or there twice, a line each; may be
     * NULL. */
    struct text *notes;
};

/* Gives the rows of an open report of several ranks their rank and host, as a set of one, and leaves out rows that the
 * filter, which may be NULL, rejects. A report of a single rank stays as it is, unless `always`. After an error it is
 * closed. */
int set_divide(const char *path, const struct set_filter *filter, int always, struct report **report,
               struct error *err);

/* A file that cannot be opened is skipped and reported in the notes; an error if none can be. */
int set_open(const struct set_request *request, struct report **out, struct error *err);

#endif
