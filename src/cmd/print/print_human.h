/* Functions of the format `human` that commands need besides the table. */
#ifndef TACHO_CMD_PRINT_PRINT_HUMAN_H
#define TACHO_CMD_PRINT_PRINT_HUMAN_H

#include "print.h"

/* The columns that the format fills for a request. */
size_t print_human_columns(const struct print_request *request);

/* The rows up to the last one with a share that is not 0.0 %; all of them if there is none. */
size_t print_human_rows(const struct table *table);

#endif
