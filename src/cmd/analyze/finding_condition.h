/* Conditions of `tacho analyze --fail-if`: 'saving > 5 %', 'bound > 200us', 'impact > 5 %'. */
#ifndef TACHO_CMD_ANALYZE_FINDING_CONDITION_H
#define TACHO_CMD_ANALYZE_FINDING_CONDITION_H

#include "analyze_file.h"
#include "cmd/condition.h"

int finding_condition_parse(const char *text, struct condition *out, struct error *err);

/* Sets *is_met if a finding exceeds the limit, and then adds a line with the largest. ERR_NO_DATA if the report has
 * nothing that the condition could be checked on. */
int finding_condition_check(const struct condition *condition, const struct analyze_file *file, int *is_met,
                            struct text *line, struct error *err);

#endif
