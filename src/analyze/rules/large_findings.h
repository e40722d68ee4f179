/* The findings that are worth a line: those of at least 1 % of the run. */
#ifndef TACHO_ANALYZE_RULES_LARGE_FINDINGS_H
#define TACHO_ANALYZE_RULES_LARGE_FINDINGS_H

#include "analyze/engine/table.h"
#include "report/reader/reader.h"

/* Moves the rows of advice_sum that are about less than 1 % of the run, or of a part of it (NULL: none), behind the
 * others, in their order, and returns the number of the others. The first `always` rows stay where they are and
 * count. */
size_t large_findings(struct table *advice, struct report *report, const struct report_span *part, size_t always);

#endif
