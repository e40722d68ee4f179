/* A set of reports that reads as one.
 *
 * The tables of a set are the union of its parts' tables, and its rows are those of the parts, part after part. Values
 * are mapped as they are decoded: times through the clock of their part, ids of strings into one pool, packed ids by
 * the number of their system, other keys and GPUs by an offset of their part (schema_meaning()). Every table has the
 * columns `rank` and `host`, unless it has columns of these names anyway. */
#ifndef TACHO_REPORT_READER_UNITE_H
#define TACHO_REPORT_READER_UNITE_H

#include "reader.h"
#include "report_part.h"

/* Opens a file that is to be one of many: without threads of its own, and without a descriptor if it is not to keep
 * one; its path must then stay the file's. */
int report_open_part(const char *path, int keeps_descriptor, struct report **out, struct error *err);
/* Frees the memory that a report holds for decoding; it takes some again when it needs it. Of thousands of parts it
 * would be gigabytes. */
void report_release_memory(struct report *report);
/* Gives threads to a report that was opened so. A set works with those of its first part. */
int report_use_threads(struct report *report, struct error *err);

/* `out` owns the parts, after an error they are still the caller's. `abouts` and what it points to is copied. */
int report_unite(struct report *const *parts, const struct report_part *abouts, size_t count, struct report **out,
                 struct error *err);

/* A set of some parts of another, or of some ranks of parts, on the same clock and with the same ids. It must be closed
 * before the other. Only one of them may be in use at a time, until a string of each has been asked for. */
struct report_choice {
    size_t part;
    const int64_t *kept_ranks; /* as in struct report_part; NULL: as in the other set */
    size_t kept_rank_count;
};
int report_choose(struct report *set, const struct report_choice *choices, size_t count, struct report **out,
                  struct error *err);

/* 0 and NULL for a report that is no set. */
size_t report_part_count(const struct report *report);
const struct report_part *report_part_at(const struct report *report, size_t index);
/* The part itself, with its own times and ids. It must not be closed; its strings are valid until the first string of
 * the set is asked for. */
struct report *report_part_report(const struct report *report, size_t index);

#endif
