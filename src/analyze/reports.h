/* The functions behind the rows of the registry; see struct analysis for what each is given and gives. */
#ifndef TACHO_ANALYZE_REPORTS_H
#define TACHO_ANALYZE_REPORTS_H

#include "analyze.h"

int nvtx_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
int nvtx_pushpop_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
int nvtx_startend_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
int nvtx_pushpop_trace(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);
int osrt_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err);

#endif
