/* Brings the clocks of a set's reports together (docs/ranks.md, "Clocks"). */
#ifndef TACHO_SET_SET_CLOCKS_H
#define TACHO_SET_SET_CLOCKS_H

#include "base/error.h"
#include "base/text.h"
#include "set/clocks/clock_fit.h"
#include "set_member.h"

/* Fills knots, clock and clock_error_ns of each member. The time of the set is 0 where that of the first member is. If
 * clocks contradict each other, a line in the notes, which may be NULL, names the worst pair. */
int set_clocks_fit(struct set_member *members, size_t count, enum clock_choice choice, struct text *notes,
                   struct error *err);

#endif
