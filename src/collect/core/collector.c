/* What every source needs from the collector: time, strings, warnings. See collector.h. */
#include "collector.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { SOURCE_INJECTION = 1, SOURCE_DAEMON = 2 };
enum { SEVERITY_WARNING = 2 };

/* Descriptors reserved for agents that attach. Optional uses do without: a process that is not watched by descriptor
 * can be polled, but one that cannot attach is lost. */
#define DESCRIPTORS_KEPT 48

int64_t collector_now(const struct collector *collector)
{
    return clock_map_monotonic(&collector->clock, clock_monotonic_ns());
}

int64_t collector_string(struct collector *collector, const char *text)
{
    return writer_string(collector->writer, text, strlen(text));
}

void collector_diagnostic(struct collector *collector, int64_t time_ns, int severity, int64_t global_pid,
                          const char *text)
{
    struct row_DIAGNOSTIC_EVENT row = { 0 };
    ROW_SET(&row, DIAGNOSTIC_EVENT, timestamp, time_ns);
    ROW_SET(&row, DIAGNOSTIC_EVENT, timestampType, 1);
    ROW_SET(&row, DIAGNOSTIC_EVENT, source, global_pid ? SOURCE_INJECTION : SOURCE_DAEMON);
    ROW_SET(&row, DIAGNOSTIC_EVENT, severity, severity);
    ROW_SET(&row, DIAGNOSTIC_EVENT, text, collector_string(collector, text));
    ROW_SET(&row, DIAGNOSTIC_EVENT, globalPid, global_pid ? global_pid : COLLECTOR_VM_ID);
    writer_append(collector->writer, TABLE_DIAGNOSTIC_EVENT, &row);
    struct collect_result *result = collector->result;
    if (severity >= SEVERITY_WARNING && result->warning_count < COLLECT_WARNINGS_MAX) {
        char *copy = strdup(text);
        if (copy)
            result->warnings[result->warning_count++] = copy;
    }
}

void collector_warn(struct collector *collector, int64_t global_pid, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    collector_diagnostic(collector, collector_now(collector), SEVERITY_WARNING, global_pid, text);
}

int collector_descriptor_is_spare(const struct collector *collector, int descriptor)
{
    return (rlim_t)descriptor + DESCRIPTORS_KEPT < collector->old_files.rlim_max;
}
