/* The memory of another process, read ahead: see python_snapshot.h. */
#include "python_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/array.h"

#define PAGE_BYTES 4096u
#define AHEAD_BYTES 1024u /* frames of the next calls follow the current ones */
#define GAP_BYTES 256u    /* spans this close to each other are merged */
#define SPAN_BYTES 16384u /* the largest merged span */
#define SNAPSHOT_BYTES (1u << 20)
#define ROUNDS_KEPT 64u   /* rounds after which an unused span is dropped */
#define PIECES_MAX 512u   /* per call; the limit of the kernel is 1024 */

void snapshot_init(struct snapshot *snapshot, pid_t pid)
{
    *snapshot = (struct snapshot){ .pid = pid };
}

void snapshot_free(struct snapshot *snapshot)
{
    free(snapshot->spans);
    free(snapshot->bytes);
    *snapshot = (struct snapshot){ 0 };
}

static ssize_t python_snapshot_read_pieces(struct snapshot *snapshot, void *buffer, size_t size,
                                           const struct iovec *pieces, size_t count)
{
    struct iovec here = { buffer, size };
    ssize_t got = process_vm_readv(snapshot->pid, &here, 1, pieces, count, 0);
    if (got < 0 && errno != EFAULT)
        snapshot->error = errno;
    return got;
}

int snapshot_read_now(void *context, uint64_t address, void *buffer, size_t size)
{
    struct iovec there = { (void *)(uintptr_t)address, size };
    return python_snapshot_read_pieces(context, buffer, size, &there, 1) == (ssize_t)size ? 0 : -1;
}

/* ---- The plan -------------------------------------------------------------------------------------------------- */

static int by_address(const void *left, const void *right)
{
    const struct snapshot_span *a = left, *b = right;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Sorts late spans in, merges neighbours, and drops spans that nobody has used for a long time. Overlapping spans that
 * are too large to be merged stay two: python_snapshot_find() takes the last one that begins at or before an address.
 */
static void plan_anew(struct snapshot *snapshot)
{
    size_t kept = 0, total = 0;
    qsort(snapshot->spans, snapshot->count, sizeof *snapshot->spans, by_address);
    for (size_t i = 0; i < snapshot->count; i++) {
        struct snapshot_span span = snapshot->spans[i];
        struct snapshot_span *before = kept ? &snapshot->spans[kept - 1] : NULL;
        if (snapshot->round - span.last_used > ROUNDS_KEPT)
            continue;
        uint64_t end = span.address + span.wanted;
        if (before && before->order == span.order && span.address <= before->address + before->wanted + GAP_BYTES &&
            end - before->address <= SPAN_BYTES) {
            uint32_t wanted = (uint32_t)(end - before->address);
            total += wanted > before->wanted ? wanted - before->wanted : 0;
            before->wanted = wanted > before->wanted ? wanted : before->wanted;
            before->last_used = span.last_used - before->last_used < ROUNDS_KEPT ? span.last_used : before->last_used;
        } else if (total + span.wanted <= SNAPSHOT_BYTES) {
            snapshot->spans[kept++] = span;
            total += span.wanted;
        }
    }
    snapshot->count = kept;
    for (int order = 0; order <= SNAPSHOT_ORDERS; order++) {
        size_t start = order ? snapshot->starts[order - 1] : 0;
        while (start < kept && (int)snapshot->spans[start].order < order)
            start++;
        snapshot->starts[order] = start;
    }
}

static int python_snapshot_grow(struct snapshot *snapshot, size_t bytes)
{
    return array_reserve(&snapshot->bytes, &snapshot->room, bytes, 1);
}

/* Reads spans from `first` on with one call. The kernel stops at the first one that it cannot read. Returns where to
 * continue. */
static size_t python_snapshot_read_some(struct snapshot *snapshot, size_t first)
{
    struct iovec pieces[PIECES_MAX];
    size_t count = 0, size = 0;
    for (size_t i = first; i < snapshot->starts[SNAPSHOT_ORDERS] && count < PIECES_MAX; i++, count++) {
        struct snapshot_span *span = &snapshot->spans[i];
        pieces[count] = (struct iovec){ (void *)(uintptr_t)span->address, span->wanted };
        span->at = snapshot->used + size;
        span->bytes = 0;
        size += span->wanted;
    }
    if (python_snapshot_grow(snapshot, snapshot->used + size) != 0)
        return snapshot->starts[SNAPSHOT_ORDERS];
    ssize_t got = python_snapshot_read_pieces(snapshot, snapshot->bytes + snapshot->used, size, pieces, count);
    size_t left = got > 0 ? (size_t)got : 0;
    snapshot->used += size;
    for (size_t i = first; i < first + count; i++) {
        struct snapshot_span *span = &snapshot->spans[i];
        size_t bytes = left < span->wanted ? left : span->wanted;
        span->bytes = (uint32_t)bytes;
        left -= bytes;
        if (bytes < span->wanted)
            return i + 1;
    }
    return first + count;
}

void snapshot_take(struct snapshot *snapshot)
{
    snapshot->round++;
    snapshot->error = 0;
    if (snapshot->count > snapshot->starts[SNAPSHOT_ORDERS] || snapshot->round % ROUNDS_KEPT == 0)
        plan_anew(snapshot);
    snapshot->used = 0;
    for (size_t next = 0; next < snapshot->starts[SNAPSHOT_ORDERS] && !snapshot->error;)
        next = python_snapshot_read_some(snapshot, next);
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static int python_snapshot_holds(const struct snapshot_span *span, uint64_t address, size_t size)
{
    return address >= span->address && address - span->address <= span->bytes &&
           size <= span->bytes - (address - span->address);
}

static struct snapshot_span *python_snapshot_find(struct snapshot *snapshot, uint64_t address, size_t size)
{
    size_t first = snapshot->starts[snapshot->order];
    size_t after = BISECT(first, snapshot->starts[snapshot->order + 1], i, snapshot->spans[i].address <= address);
    if (after > first && python_snapshot_holds(&snapshot->spans[after - 1], address, size))
        return &snapshot->spans[after - 1];
    for (size_t i = snapshot->starts[SNAPSHOT_ORDERS]; i < snapshot->count; i++)
        if (snapshot->spans[i].order == snapshot->order && python_snapshot_holds(&snapshot->spans[i], address, size))
            return &snapshot->spans[i];
    return NULL;
}

static struct snapshot_span *add_late(struct snapshot *snapshot, uint64_t address, size_t size)
{
    if (array_reserve(&snapshot->spans, &snapshot->capacity, snapshot->count + 1, sizeof *snapshot->spans) != 0)
        return NULL;
    uint64_t page_end = (address | (PAGE_BYTES - 1)) + 1;
    size_t wanted = page_end - address < AHEAD_BYTES ? (size_t)(page_end - address) : AHEAD_BYTES;
    wanted = wanted < size ? size : wanted;
    if (snapshot->used + wanted > SNAPSHOT_BYTES || python_snapshot_grow(snapshot, snapshot->used + wanted) != 0 ||
        snapshot_read_now(snapshot, address, snapshot->bytes + snapshot->used, wanted) != 0)
        return NULL;
    struct snapshot_span *span = &snapshot->spans[snapshot->count++];
    *span = (struct snapshot_span){
        .address = address,
        .bytes = (uint32_t)wanted,
        .wanted = (uint32_t)wanted,
        .at = snapshot->used,
        .order = snapshot->order,
    };
    snapshot->used += wanted;
    return span;
}

int snapshot_read(void *context, uint64_t address, void *buffer, size_t size)
{
    struct snapshot *snapshot = context;
    struct snapshot_span *span = python_snapshot_find(snapshot, address, size);
    if (!span) {
        snapshot->late++;
        span = add_late(snapshot, address, size);
    }
    if (!span)
        return -1;
    span->last_used = snapshot->round;
    memcpy(buffer, snapshot->bytes + span->at + (address - span->address), size);
    return 0;
}
