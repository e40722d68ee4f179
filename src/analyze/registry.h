/* The registries of reports and rules: the rows of registry.def. */
#ifndef TACHO_ANALYZE_REGISTRY_H
#define TACHO_ANALYZE_REGISTRY_H

#include "analyze/engine/analysis.h"

extern const struct analysis *const analyses[]; /* the reports; NULL-terminated */
extern const struct analysis *const rules[];    /* the rules, in the order in which they are run; NULL-terminated */

/* Find a report or rule by its name or old name; NULL if there is none. */
const struct analysis *analysis_find(const char *name);
const struct analysis *rule_find(const char *name);

/* The reports of the default list that apply to a report file, in order, NULL-terminated; room is that of out. Returns
 * their number. */
size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room);

/* The rows, each in the file of its report or rule. */
#define ANALYSIS(name) extern const struct analysis analysis_##name;
#define RULE(name) extern const struct analysis rule_##name;
#include "registry.def"

#endif
