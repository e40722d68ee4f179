/* Writes the rows of capture_rows.h. */
#include "capture_rows.h"

#include <string.h>
#include <time.h>

static int64_t capture_rows_string_id(struct writer *writer, const char *text)
{
    return writer_string(writer, text, strlen(text));
}

void capture_row_start(struct writer *writer, int64_t utc_ns)
{
    struct row_TARGET_INFO_SESSION_START_TIME row = { 0 };
    time_t seconds = (time_t)(utc_ns / 1000000000);
    struct tm broken;
    char text[64];

    ROW_SET(&row, TARGET_INFO_SESSION_START_TIME, utcEpochNs, utc_ns);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &broken));
    ROW_SET(&row, TARGET_INFO_SESSION_START_TIME, utcTime, capture_rows_string_id(writer, text));
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", localtime_r(&seconds, &broken));
    ROW_SET(&row, TARGET_INFO_SESSION_START_TIME, localTime, capture_rows_string_id(writer, text));
    writer_append(writer, TABLE_TARGET_INFO_SESSION_START_TIME, &row);
}

void capture_row_parameter(struct writer *writer, const char *name, const char *value)
{
    struct row_META_DATA_CAPTURE row = { 0 };

    ROW_SET(&row, META_DATA_CAPTURE, name, capture_rows_string_id(writer, name));
    ROW_SET(&row, META_DATA_CAPTURE, value, capture_rows_string_id(writer, value));
    writer_append(writer, TABLE_META_DATA_CAPTURE, &row);
}
