/* Facts about the machine and the job: rows of the report, and the rank of each process. */
#ifndef TACHO_COLLECT_CORE_MACHINE_H
#define TACHO_COLLECT_CORE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/jobs/job_place.h"

struct collector;

/* Reads the place in a job from a process's environment block; host_ranks is not read. */
struct job_place machine_place(const char *block, size_t length);

/* The memory limit of our cgroup in bytes; 0: none. */
uint64_t machine_memory_limit(void);

/* The same from the text of /proc/PID/cgroup, for cgroup hierarchies of both versions mounted below `root`. */
uint64_t machine_group_limit(const char *groups, const char *root);

/* Writes the rows that are known at the start. */
void machine_describe(struct collector *collector);

/* Rows of TARGET_INFO_SYSTEM_ENV and of META_DATA_CAPTURE. `number` is nsys's nameEnum, or 0 if it has none. An empty
 * value makes no row. */
void machine_fact(struct collector *collector, const char *name, int number, const char *value);
void machine_parameter(struct collector *collector, const char *name, const char *value);

#endif
