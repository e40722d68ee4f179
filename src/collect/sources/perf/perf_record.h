/* Parses one record of a perf ring into a struct. It makes no system calls and allocates nothing.
 *
 * The kernel writes the rings, but after a wrap-around, on an unknown kernel or in a test a ring may hold anything:
 * every count and offset is checked against the record's size before it is used. Pointers in the result point into the
 * given bytes. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_RECORD_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* The parts of an event's samples. A sample begins with the id of its event. All events request the same identity at
 * the end of other records. */
struct perf_layout {
    uint64_t id;        /* PERF_EVENT_IOC_ID */
    uint64_t sample_type;
    uint64_t registers; /* sample_regs_user */
    uint32_t kind;      /* the opener's own number */
};

/* With sample_id_all. */
#define PERF_IDENTITY (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct perf_branch {
    uint64_t from, to, flags;
};

struct perf_sample {
    uint64_t ip, period;
    const uint64_t *chain;              /* innermost first, with PERF_CONTEXT_... markers among them; NULL: none */
    size_t chain_count;
    const struct perf_branch *branches; /* newest first; NULL: none */
    size_t branch_count;
    /* One for each bit of the layout's mask; NULL: the sample has no registers of user space. */
    const uint64_t *registers;
    const unsigned char *stack; /* from the stack pointer upwards; NULL: none */
    size_t stack_bytes;         /* bytes copied */
    size_t stack_room;          /* bytes requested; if both are equal, the stack may continue above */
};

struct perf_mapping {
    uint64_t address, bytes, offset;
    uint64_t device, inode;        /* as makedev(); inode 0: unknown */
    const unsigned char *build_id; /* NULL: unknown */
    size_t build_id_bytes;
    int is_code;
    const char *path;
};

struct perf_record {
    uint32_t type, misc;           /* PERF_RECORD_..., as in the header */
    uint32_t kind;                 /* of the event that wrote it; for samples only */
    uint32_t pid, tid, cpu;
    uint64_t time_ns;              /* CLOCK_MONOTONIC */
    struct perf_sample sample;
    struct perf_mapping mapping;   /* MMAP2 */
    const char *name;              /* COMM */
    uint32_t other_pid, other_tid; /* FORK: the parent; SWITCH_CPU_WIDE: the next or the previous thread */
    uint64_t lost;                 /* LOST, LOST_SAMPLES */
};

/* 0; -1 if the record is invalid, or if no layout belongs to its event. `bytes` is the whole record, 8-byte aligned.
 * For types that the comments of struct perf_record do not name, only the type is set. */
int perf_record_parse(const struct perf_layout *layouts, size_t layout_count, const void *bytes, size_t size,
                      struct perf_record *out);

#endif
