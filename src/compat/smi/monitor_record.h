/* Records readings as a report: the tables that a capture with GPU metrics has, without a program. */
#ifndef TACHO_COMPAT_SMI_MONITOR_RECORD_H
#define TACHO_COMPAT_SMI_MONITOR_RECORD_H

#include "base/error.h"
#include "wire/wire_gpu.h"

struct monitor_record;

/* A file that exists is ERR_EXISTS. The path must stay valid. */
int monitor_record_open(struct monitor_record **out, const char *path, int64_t interval_us, struct error *err);

/* Takes a frame; context is the record. */
void monitor_record_take(void *context, const struct gpu_frame *frame, const void *payload);

/* Ends the report after work that ended with `code`, which err describes. The first failure is returned; the report is
 * valid whatever it is, and removed if it has not one reading. */
int monitor_record_close_after(struct monitor_record *record, int code, struct error *err);

#endif
