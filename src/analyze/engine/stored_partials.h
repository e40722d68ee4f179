/* Partial results (summary_partial.h) that reports have in their tails: the table of a set is merged from them, and
 * only the rows of the parts without one are read.
 *
 * The table is the one that analysis_run() makes of all rows, byte for byte. Therefore a part's result counts only if
 * it was made by the same version, of all rows that the part has now, if the set takes all of them, and if nothing in
 * the set changes the numbers: its clock is off by a constant at most, and no other part may be of the same process. */
#ifndef TACHO_ANALYZE_ENGINE_STORED_PARTIALS_H
#define TACHO_ANALYZE_ENGINE_STORED_PARTIALS_H

#include "analysis.h"

/* Bump it if the bytes, or what any analysis puts into them, changes between two releases. */
#define STORED_PARTIALS_VERSION 1

/* The key of a result: the program's version, the analysis and its options but for `rows`. */
uint64_t stored_partial_key(const struct analysis *analysis, const struct analysis_request *request);

/* Appends the result of a report for its tail. ERR_NO_DATA: there is none, or its numbers depend on the set. */
int stored_partial_make(const struct analysis *analysis, struct report *report, const struct analysis_request *request,
                        struct text *out, struct error *err);

/* The table of a set. ERR_NOT_FOUND: no part has a result that counts, and all rows must be read. */
int stored_partials_run(const struct analysis *analysis, struct report *set, const struct analysis_request *request,
                        struct table **out, struct error *err);

#endif
