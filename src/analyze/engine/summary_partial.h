/* The groups of a summary as bytes: processes each summarize some reports of a set and one of them merges the results,
 * or a report has those of its own rows in its tail (stored_partials.h).
 *
 * A group is its texts, its figures and its numbers: sorted, each distinct number once with its count. Figures and
 * medians of the merged groups are therefore those of all numbers, exactly. The bytes are for the same version of the
 * program. */
#ifndef TACHO_ANALYZE_ENGINE_SUMMARY_PARTIAL_H
#define TACHO_ANALYZE_ENGINE_SUMMARY_PARTIAL_H

#include "base/text.h"
#include "request.h"
#include "summary_table.h"

/* Appends the groups to out. */
int summary_partial_add(struct text *out, const struct summary_shape *shape, const struct group *groups, size_t count,
                        void *context, struct error *err);

/* The table of all groups; partials without bytes are passed over. */
int summary_merge(const struct summary_shape *shape, const struct analysis_partial *partials, size_t count,
                  struct table **out, struct error *err);

/* How an analysis that can be divided ends: with the table, or with the partial result that the request asks for, and
 * no table. */
int summary_deliver(const struct analysis_request *request, const struct summary_shape *shape,
                    const struct group *groups, size_t count, void *context, struct table **out, struct error *err);

#endif
