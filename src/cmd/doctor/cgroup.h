/* The limits that a container imposes on us, from cgroup v1 or v2. */
#ifndef TACHO_CMD_DOCTOR_CGROUP_H
#define TACHO_CMD_DOCTOR_CGROUP_H

#include <stdint.h>

struct cgroup_limits {
    int64_t memory_bytes, memory_used_bytes; /* -1: no limit, unknown */
    int64_t pids, pids_used;
    double cpus;                             /* from the quota; 0: none */
};

/* Reads the limits; the tightest one of all parent groups applies. root is "" except in tests, where a directory
 * stands for "/". */
struct cgroup_limits cgroup_read(const char *root);

#endif
