/* The registries of reports and rules: the rows of registry.def. */
#ifndef TACHO_ANALYZE_REGISTRY_H
#define TACHO_ANALYZE_REGISTRY_H

#include "analyze/engine/analysis.h"
#include "base/text.h"

extern const struct analysis *const analyses[]; /* the reports; NULL-terminated */
extern const struct analysis *const rules[];    /* the rules, in the order in which they are run; NULL-terminated */

/* Find a report by its name or old name, a rule by its name; NULL if there is none. The first looks into `analyses` or
 * `rules`. */
const struct analysis *analysis_in(const struct analysis *const *list, const char *name);
const struct analysis *analysis_find(const char *name);
const struct analysis *rule_find(const char *name);

/* The reports of the default list that apply to a report file, in order, NULL-terminated; room is that of out. Returns
 * their number. */
size_t analysis_defaults(struct report *report, const struct analysis **out, size_t room);

/* The same for people: what matters most first, only reports with data. If lacking is not NULL, the kinds of data that
 * the file does not hold are added to it, "CUDA, NVTX". */
size_t analysis_defaults_for_people(struct report *report, const struct analysis **out, size_t room,
                                    struct text *lacking);

/* The reports of both lists that can be put together from partial results, which reports have in their tails
 * (stored_partials.h). */
size_t analysis_stored(const struct analysis **out, size_t room);

/* The rows, each in the file of its report or rule. */
#define ANALYSIS(name) extern const struct analysis analysis_##name;
#define RULE(name) extern const struct analysis rule_##name;
#include "registry.def"

#endif
