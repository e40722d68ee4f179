/* Facts about the machine and the job: rows of the report, and each process's rank. */
#ifndef TACHO_COLLECT_CORE_MACHINE_H
#define TACHO_COLLECT_CORE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct collector;

struct machine {
    char host[256];
};

struct rank {
    const char *source;                   /* the launcher whose variables said so; NULL: no rank */
    int64_t rank, local_rank, world_size; /* -1: not known */
};

/* A variable's value in a block of NUL-separated NAME=value texts, or NULL. */
const char *environment_find(const char *block, size_t length, const char *name);

/* Whether a variable is one of the few that are stored. */
int environment_is_kept(const char *name, size_t length);

/* From a process's environment block. */
struct rank machine_rank(const char *block, size_t length);

/* The memory limit of our control group in bytes; 0: none. */
uint64_t machine_memory_limit(void);

/* The same by the text of /proc/PID/cgroup, for hierarchies of both versions below this folder. */
uint64_t machine_group_limit(const char *groups, const char *root);

/* Writes the rows that are known at the start. */
void machine_describe(struct collector *collector);

/* Writes the row that is known once a program has used CUDA, if one has. */
void machine_describe_cuda(struct collector *collector);

#endif
