/* One record of a perf ring: from bytes to a struct. Pure: no system calls, no memory of its own.
 *
 * The kernel writes the rings, but a ring that wrapped, an unknown kernel or a test may hold anything: every
 * count and offset is checked against the record's size before it is used. Pointers in the result lie inside the
 * bytes that were handed in. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_RECORD_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* What an event's samples hold; which event wrote one stands first in it. All events ask for the same
 * identity behind other records. */
struct perf_layout {
    uint64_t id;        /* PERF_EVENT_IOC_ID */
    uint64_t sample_type;
    uint64_t registers; /* sample_regs_user */
    uint32_t kind;      /* the opener's own word for it */
};

/* with sample_id_all */
#define PERF_IDENTITY (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct perf_branch {
    uint64_t from, to, flags;
};

struct perf_sample {
    uint64_t ip, period;
    const uint64_t *chain;              /* innermost first, with words of PERF_CONTEXT_… among them; NULL: none */
    size_t chain_count;
    const struct perf_branch *branches; /* newest first; NULL: none */
    size_t branch_count;
    const uint64_t *registers;          /* one for each bit of the layout's mask; NULL: the
                                         * sample has none of user space */
    const unsigned char *stack;         /* from the stack pointer upwards; NULL: none */
    size_t stack_bytes;                 /* what was copied */
    size_t stack_room;                  /* what would have been; equal: the stack may go on above it */
};

struct perf_mapping {
    uint64_t address, bytes, offset;
    uint64_t device, inode;        /* as makedev(); inode 0: not known */
    const unsigned char *build_id; /* NULL: not known */
    size_t build_id_bytes;
    int is_code;
    const char *path;
};

struct perf_record {
    uint32_t type, misc;           /* PERF_RECORD_…, as in the header */
    uint32_t kind;                 /* of the event that wrote it; of samples only */
    uint32_t pid, tid, cpu;
    uint64_t time_ns;              /* CLOCK_MONOTONIC */
    struct perf_sample sample;
    struct perf_mapping mapping;   /* MMAP2 */
    const char *name;              /* COMM */
    uint32_t other_pid, other_tid; /* FORK: the parent; SWITCH_CPU_WIDE: the next or the one before */
    uint64_t lost;                 /* LOST, LOST_SAMPLES */
};

/* 0; -1 if it makes no sense, or if no layout is its event's. `bytes` is the whole record, 8-byte aligned. Types that
 * are not in struct perf_record's comments come back with their type alone. */
int perf_record_parse(const struct perf_layout *layouts, size_t layout_count, const void *bytes, size_t size,
                      struct perf_record *out);

#endif
