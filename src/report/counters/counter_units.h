/* Units of counters, as ncu spells them. Reports hold base units (ns, byte, byte/s, hz, …); ncu prints those, or units
 * scaled by 1000 to the size of a value (us, Kbyte, Gbyte/s, Ghz). Older versions spell them nsecond, byte/second and
 * cycle/second. */
#ifndef TACHO_REPORT_COUNTERS_COUNTER_UNITS_H
#define TACHO_REPORT_COUNTERS_COUNTER_UNITS_H

#include "base/text.h"

/* Appends the base unit of a printed unit and returns how many of it one printed unit is: "Kbyte/block" is 1000
 * "byte/block", "cycle/nsecond" is 1e9 "hz". A unit that is not known is its own base. */
double counter_unit_base(struct text *base, const char *unit, size_t length);

/* Appends the unit in which a value of a base unit is printed, and returns how many base units that is: "us" and 1000
 * for 1500 "ns". A unit that ncu does not scale stays as it is. */
double counter_unit_scaled(struct text *out, const char *base, double value);

#endif
