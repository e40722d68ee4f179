/* Reads a perf ring: see perf_ring.h. */
#include "perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int perf_ring_map(struct perf_ring *ring, int descriptor, size_t data_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *mapped = mmap(NULL, page + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    ring->page = mapped;
    ring->data = (unsigned char *)mapped + page;
    ring->data_bytes = data_bytes;
    ring->mapped_bytes = page + data_bytes;
    ring->tail = ring->ahead = 0;
    return 0;
}

void perf_ring_unmap(struct perf_ring *ring)
{
    if (ring->page)
        munmap(ring->page, ring->mapped_bytes);
    ring->page = NULL;
}

uint64_t perf_ring_head(const struct perf_ring *ring)
{
    return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Copies from the ring, also across its end. */
static void copy_out(const struct perf_ring *ring, uint64_t from, void *to, size_t bytes)
{
    size_t at = (size_t)(from & (ring->data_bytes - 1)),
           first = ring->data_bytes - at < bytes ? ring->data_bytes - at : bytes;
    memcpy(to, ring->data + at, first);
    memcpy((unsigned char *)to + first, ring->data, bytes - first);
}

static const void *record_at(struct perf_ring *ring, uint64_t *place, uint64_t head, size_t *size, uint64_t *damaged)
{
    struct perf_event_header header;
    if (*place == head)
        return NULL;
    uint64_t there = head - *place;
    if (there > ring->data_bytes || there < sizeof header)
        goto damage;
    copy_out(ring, *place, &header, sizeof header);
    if (header.size < sizeof header || header.size > there || header.size % 8)
        goto damage;
    *size = header.size;
    size_t at = (size_t)(*place & (ring->data_bytes - 1));
    *place += header.size;
    if (at + header.size <= ring->data_bytes)
        return ring->data + at;
    copy_out(ring, *place - header.size, ring->whole, header.size);
    return ring->whole;
damage:
    *place = head;
    ++*damaged;
    return NULL;
}

const void *perf_ring_next(struct perf_ring *ring, uint64_t head, size_t *size, uint64_t *damaged)
{
    return record_at(ring, &ring->tail, head, size, damaged);
}

const void *perf_ring_peek(struct perf_ring *ring, uint64_t head, size_t *size, uint64_t *damaged)
{
    return record_at(ring, &ring->ahead, head, size, damaged);
}

void perf_ring_release(struct perf_ring *ring)
{
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
