/* Time summed up by what it belongs to: for each group of a rule (a lock, a place) several questions (who waited,
 * where, who held it), and for each question the answers with their times. The largest answers become cells. */
#ifndef TACHO_ANALYZE_RULES_TALLY_H
#define TACHO_ANALYZE_RULES_TALLY_H

#include "analyze/engine/keys.h"

enum { TALLY_GROUP, TALLY_QUESTION, TALLY_ANSWER, TALLY_DETAIL, TALLY_PARTS };

/* Starts from TALLY_NONE. */
struct tally {
    struct keys keys; /* of TALLY_PARTS */
    int64_t *ns;      /* owned; by key */
    size_t room;
};
#define TALLY_NONE { .keys.width = TALLY_PARTS }

int tally_add(struct tally *tally, const int64_t key[TALLY_PARTS], int64_t ns); /* ERR_NO_MEMORY or 0 */
void tally_free(struct tally *tally);

/* The answer with the most time (of equal ones the first), and the number of answers. */
struct tally_largest {
    uint32_t key; /* NO_KEY: there is none */
    int64_t ns;
    uint32_t answers;
};
struct tally_largest tally_largest(const struct tally *tally, int64_t group, int64_t question);

#endif
