/* Functions of Python libraries that have a faster form: the rows of slow_calls.def. */
#ifndef TACHO_ANALYZE_MODEL_PLACES_SLOW_CALLS_H
#define TACHO_ANALYZE_MODEL_PLACES_SLOW_CALLS_H

#include <stddef.h>

struct slow_call {
    const char *file, *function, *what, *faster;
};
extern const struct slow_call slow_calls[];
extern const size_t slow_call_count;

/* The row that a function is in, or NO_SLOW_CALL. */
enum { NO_SLOW_CALL = -1 };
int slow_call_find(const char *file, size_t length, const char *function);

#endif
