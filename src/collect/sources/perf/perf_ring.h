/* A ring buffer that the kernel writes perf records into, one for each CPU.
 *
 * The kernel publishes data_head (read here with acquire) and may overwrite everything before data_tail (written here
 * with release). A record may wrap around the end: then it is assembled in a buffer. The content is checked, as for
 * any input. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_RING_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

struct perf_event_mmap_page;

struct perf_ring {
    struct perf_event_mmap_page *page;      /* NULL: not mapped */
    unsigned char *data;
    size_t data_bytes;                      /* a power of two */
    size_t mapped_bytes;
    uint64_t tail;                          /* read up to here */
    uint64_t ahead;                         /* perf_ring_peek() has read up to here */
    _Alignas(8) unsigned char whole[65536]; /* a record that wraps around */
};

/* Maps data_bytes of data (a power of two of pages) on an event: 0, or -errno. */
int perf_ring_map(struct perf_ring *ring, int descriptor, size_t data_bytes);
void perf_ring_unmap(struct perf_ring *ring);

/* The kernel's write position. */
uint64_t perf_ring_head(const struct perf_ring *ring);

/* The next record before `head`, and its size; NULL at the end. If a record is invalid, *damaged is incremented and
 * everything up to `head` is skipped. The record is valid until the next call. */
const void *perf_ring_next(struct perf_ring *ring, uint64_t head, size_t *size, uint64_t *damaged);

/* The same with a read position of its own: looks ahead at records that perf_ring_next() returns later. */
const void *perf_ring_peek(struct perf_ring *ring, uint64_t head, size_t *size, uint64_t *damaged);

/* Lets the kernel overwrite the records that were read. */
void perf_ring_release(struct perf_ring *ring);

#endif
