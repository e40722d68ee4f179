/* Facts about the machine and the job: rows of the report, and each process's rank. */
#ifndef TACHO_COLLECT_CORE_MACHINE_H
#define TACHO_COLLECT_CORE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct collector;

struct rank {
    const char *source;                   /* the launcher whose variables said so; NULL: no rank */
    int64_t rank, local_rank, world_size; /* -1: not known */
};

/* From a process's environment block. */
struct rank machine_rank(const char *block, size_t length);

/* The memory limit of our control group in bytes; 0: none. */
uint64_t machine_memory_limit(void);

/* The same by the text of /proc/PID/cgroup, for hierarchies of both versions below this folder. */
uint64_t machine_group_limit(const char *groups, const char *root);

/* Writes the rows that are known at the start. */
void machine_describe(struct collector *collector);

/* Rows of TARGET_INFO_SYSTEM_ENV (number: as nsys has it, 0 if it has none; none if the value is empty) and of
 * META_DATA_CAPTURE. */
void machine_fact(struct collector *collector, const char *name, int number, const char *value);
void machine_parameter(struct collector *collector, const char *name, const char *value);

#endif
