/* A ring that the kernel writes perf records into, one for each CPU.
 *
 * The kernel publishes with data_head (read here with acquire) and may overwrite what lies before data_tail (written
 * here with release). A record may wrap around the end: then it is put together in a buffer. What is read is
 * checked, as for any input. */
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
    uint64_t tail;                          /* read so far */
    uint64_t ahead;                         /* looked at so far by perf_ring_peek() */
    _Alignas(8) unsigned char whole[65536]; /* a record that wraps */
};

/* Maps so many bytes of data (a power of two of pages) on an event: 0, or -errno. */
int perf_ring_map(struct perf_ring *ring, int descriptor, size_t data_bytes);
void perf_ring_unmap(struct perf_ring *ring);

/* How far the kernel has written. */
uint64_t perf_ring_head(const struct perf_ring *ring);

/* The next record before `head`, and its size; NULL at its end. *damaged counts up when nothing before `head` makes
 * sense any more: then all of it is passed over. The record is good until the next call. */
const void *perf_ring_next(struct perf_ring *ring, uint64_t head, size_t *size, uint64_t *damaged);

/* The same with a place of its own: looks at what perf_ring_next() will return later. */
const void *perf_ring_peek(struct perf_ring *ring, uint64_t head, size_t *size, uint64_t *damaged);

/* The kernel may write over what was read. */
void perf_ring_release(struct perf_ring *ring);

#endif
