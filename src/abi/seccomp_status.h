/* Counts seccomp filters in /proc/self/status. The kernel inherits filters and never removes one: a process that has
 * more of them than the collector is behind one that was installed during the capture. */
#ifndef TACHO_ABI_SECCOMP_STATUS_H
#define TACHO_ABI_SECCOMP_STATUS_H

#include <string.h>

#define WIRE_SECCOMP_STATUS "/proc/self/status"

/* The number in the line with this prefix; -1 if the text does not hold the whole line. */
static inline int wire_status_number(const char *status, const char *line)
{
    const char *found = strstr(status, line);
    int number = 0;
    if (!found)
        return -1;
    for (found += strlen(line); *found >= '0' && *found <= '9' && number < 100000; found++)
        number = number * 10 + (*found - '0');
    return *found == '\n' ? number : -1;
}

/* The number of filters. Kernels before 5.9 only say whether there are any. -1: this part of the text has no such
 * line. */
static inline int wire_seccomp_filters(const char *status)
{
    int filters = wire_status_number(status, "\nSeccomp_filters:\t");
    return filters >= 0 ? filters : wire_status_number(status, "\nSeccomp:\t");
}

#endif
