/* Limits that a container puts on us, from cgroup v1 or v2. */
#ifndef TACHO_CMD_DOCTOR_CGROUP_H
#define TACHO_CMD_DOCTOR_CGROUP_H

#include <stdint.h>

struct cgroup_limits {
    int64_t memory_bytes, memory_used_bytes; /* -1: no limit, not known */
    int64_t pids, pids_used;
    double cpus;                             /* of the quota; 0: none */
};

/* root is "" but for tests: a folder that stands for "/". The tightest limit on the way up counts. */
struct cgroup_limits cgroup_read(const char *root);

#endif
