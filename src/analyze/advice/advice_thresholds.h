/* The thresholds of the rules on the replay: the rows of advice_thresholds.def. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_THRESHOLDS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_THRESHOLDS_H

#include "analyze/engine/analysis.h"
#include "base/text.h"

enum advice_threshold {
#define THRESHOLD(id, ...) THRESHOLD_##id,
#include "advice_thresholds.def"
    ADVICE_THRESHOLDS
};

/* Sets the values for a rule: the options of the request, else the defaults. request may be NULL. ERR_BAD_ARGUMENT for
 * an option that the rule does not have, or a value out of its range. Times are then in ns. */
int advice_thresholds_read(int64_t out[ADVICE_THRESHOLDS], const struct analysis *rule,
                           const struct analysis_request *request, struct error *err);

/* Add "[:kernels=<count>][:saving=<percent>]", and a sentence about each with its default; nothing for other rules. */
void advice_thresholds_usage(struct text *out, const struct analysis *rule);
void advice_thresholds_help(struct text *out, const struct analysis *rule);

#endif
