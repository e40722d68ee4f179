/* Fuzzes what reads the kernel's perf rings: the input is a ring's content; the first bytes say where
 * reading begins, how far the kernel has written, and what samples hold. Whatever stands there, nothing
 * outside the record may be touched. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "collect/sources/perf/perf_record.h"
#include "collect/sources/perf/perf_ring.h"

enum { RING_BYTES = 4096, HEAD_BYTES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static uint64_t sum(const void *bytes, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; bytes && i < count; i++)
        total += ((const unsigned char *)bytes)[i];
    return total;
}

/* Touches all that the record points to. */
static uint64_t touch(const struct perf_record *record)
{
    const struct perf_sample *sample = &record->sample;
    uint64_t total = sum(sample->chain, sample->chain_count * 8) +
                     sum(sample->branches, sample->branch_count * sizeof *sample->branches) +
                     sum(sample->stack, sample->stack_bytes) +
                     sum(record->mapping.build_id, record->mapping.build_id_bytes);
    total += sample->registers ? sum(sample->registers, 3 * 8) : 0;
    total += record->name ? strlen(record->name) : 0;
    return total + (record->mapping.path ? strlen(record->mapping.path) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    static const uint64_t types[] = {
        PERF_SAMPLE_CALLCHAIN,
        PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        PERF_SAMPLE_BRANCH_STACK,
        PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
    };
    if (size < HEAD_BYTES)
        return 0;
    struct perf_layout layout = {
        .registers = 0x111, .sample_type = PERF_IDENTITY | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | types[input[0] & 3]
    };
    struct perf_event_mmap_page page = { 0 };
    unsigned char *data = aligned_alloc(8, RING_BYTES); /* of its own, so that a byte too far is noticed */
    struct perf_ring *ring = calloc(1, sizeof *ring);
    uint64_t start = (uint64_t)(input[1] | input[2] << 8) * 8, damaged = 0;
    *ring = (struct perf_ring){ .page = &page, .data = data, .data_bytes = RING_BYTES, .tail = start, .ahead = start };
    memset(data, 0, RING_BYTES);
    for (size_t i = 0; i < size - HEAD_BYTES && i < RING_BYTES; i++)
        data[(start + i) % RING_BYTES] = input[HEAD_BYTES + i];
    page.data_head = start + (uint64_t)(input[3] | input[4] << 8);
    volatile uint64_t total = 0;
    size_t bytes;
    const void *record;
    while ((record = perf_ring_next(ring, page.data_head, &bytes, &damaged)) != NULL) {
        void *copy = malloc(bytes);
        struct perf_record parsed;
        memcpy(copy, record, bytes);
        if (perf_record_parse(&layout, 1, copy, bytes, &parsed) == 0)
            total += touch(&parsed);
        free(copy);
    }
    free(ring);
    free(data);
    return 0;
}
