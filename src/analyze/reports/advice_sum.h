/* advice_sum with an adviser that its caller keeps, for data that the table lacks. */
#ifndef TACHO_ANALYZE_REPORTS_ADVICE_SUM_H
#define TACHO_ANALYZE_REPORTS_ADVICE_SUM_H

#include "analyze/findings/findings.h"

/* Runs all rules: those on the replay with the adviser, whose causes are the first rows of the table. */
int advice_sum_of(struct adviser *adviser, const struct analysis_request *request, struct table **out,
                  struct error *err);

/* The table of findings that were read already. */
int advice_sum_table(const struct findings *findings, struct table **out, struct error *err);

#endif
