/* The time of one NVTX range, named as on a command line. */
#ifndef TACHO_ANALYZE_MODEL_NVTX_SPAN_H
#define TACHO_ANALYZE_MODEL_NVTX_SPAN_H

#include "base/error.h"
#include "report/reader/reader.h"

/* The time of an NVTX range given as RANGE[@DOMAIN][/INDEX]: INDEX counts from 0 by start, a backslash takes the
 * meaning from an @ or a /. Without a DOMAIN the default one is meant, or any if that has no such range; * is any.
 * ERR_NOT_FOUND if there is no such range. */
int nvtx_span_find(struct report *report, const char *range, struct report_span *out, struct error *err);

#endif
