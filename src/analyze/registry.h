/* The registries of reports and rules: the rows of registry.def. */
#ifndef TACHO_ANALYZE_REGISTRY_H
#define TACHO_ANALYZE_REGISTRY_H

#include "analyze/engine/analysis.h"

extern const struct analysis *const analyses[]; /* the reports; NULL-terminated */
extern const struct analysis *const rules[];    /* the rules, in the order in which they are run; NULL-terminated */

/* By name, old name included; NULL if there is none. */
const struct analysis *analysis_find(const char *name);
const struct analysis *rule_find(const char *name);

/* Those of the default list that count for a report, in order; NULL-terminated, room for as many as
 * there are. Returns how many. */
size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room);

/* The rows, each in the file of its report or rule. */
#define ANALYSIS(name) extern const struct analysis analysis_##name;
#define RULE(name) extern const struct analysis rule_##name;
#include "registry.def"

#endif
