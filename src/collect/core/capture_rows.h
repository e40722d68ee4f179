/* Rows that every report has, whatever recorded it. */
#ifndef TACHO_COLLECT_CORE_CAPTURE_ROWS_H
#define TACHO_COLLECT_CORE_CAPTURE_ROWS_H

#include "report/writer/writer.h"

/* TARGET_INFO_SESSION_START_TIME: the report's time 0, in UTC and where we are. */
void capture_row_start(struct writer *writer, int64_t utc_ns);

/* META_DATA_CAPTURE. */
void capture_row_parameter(struct writer *writer, const char *name, const char *value);

#endif
