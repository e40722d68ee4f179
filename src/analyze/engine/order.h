/* Rows in order of time. Tables are nearly always in that order already, and then nothing is moved. */
#ifndef TACHO_ANALYZE_ENGINE_ORDER_H
#define TACHO_ANALYZE_ENGINE_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Sorts the row numbers in order by time[row]; rows of the same time stay as they are. ERR_NO_MEMORY or 0. */
int order_by_time(uint32_t *order, size_t count, const int64_t *time);

/* The same by thread[row] first. */
int order_by_thread(uint32_t *order, size_t count, const int64_t *thread, const int64_t *time);

#endif
