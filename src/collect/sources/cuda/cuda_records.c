/* The buffers that CUPTI filled: finds, copies, parses and recycles them. See cuda_records.h and ../wire/wire_cuda.h.
 *
 * The agent delivers a buffer with a release store of its state, which is read here with acquire. A buffer is copied,
 * cleared and freed before its records are parsed, so CUPTI can reuse it while we work. */
#include "cuda_records.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/clock.h"
#include "cuda_state.h"

#define HOLE_BYTES 4096u /* how far after the last record to search for an incomplete one */

struct cuda_process *cuda_process_new(const struct cuda_setup *setup)
{
    struct cuda_process *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return NULL;
    cuda->setup = *setup;
    cuda->writer = setup->writer;
    cuda_clock_init(&cuda->clock, setup->clock, setup->ns_per_tick);
    return cuda;
}

void cuda_process_free(struct cuda_process *cuda)
{
    if (!cuda)
        return;
    cuda_names_free(cuda);
    cuda_chains_free(cuda);
    cuda_waits_free(cuda);
    cuda_code_free(cuda);
    cuda_pc_rows_free(cuda);
    cuda_counters_free(cuda);
    cuda_launches_free(&cuda->pairs);
    free(cuda->target.streams);
    free(cuda->target.names);
    free(cuda->noted);
    free(cuda->copy);
    free(cuda);
}

const struct cuda_counts *cuda_process_counts(const struct cuda_process *cuda)
{
    return &cuda->counts;
}

static struct wire_cuda_buffer *buffers_of(const struct cuda_process *cuda)
{
    return wire_cuda_buffers(cuda->setup.arena, cuda->setup.chunk_count);
}

static unsigned char *cuda_records_bytes_of(const struct cuda_process *cuda, uint32_t index)
{
    return wire_cuda_bytes(cuda->setup.arena, cuda->setup.chunk_count, cuda->setup.buffer_count, index);
}

/* ---- Parsing --------------------------------------------------------------------------------------------------- */

/* Chooses the layouts once, since the program may overwrite the version in the arena later. */
static int choose_layouts(struct cuda_process *cuda)
{
    if (cuda->version)
        return 0;
    cuda->version = atomic_load_explicit(&wire_cuda(cuda->setup.arena)->cupti_version, memory_order_acquire);
    if (!cuda->version)
        return -1;
    cupti_layouts_init(&cuda->layouts, cuda->version);
    for (uint32_t kind = 0; kind < CUPTI_KIND_LIMIT; kind++)
        if (cuda->learned_bytes[kind])
            cupti_layouts_learn(&cuda->layouts, kind, cuda->learned_bytes[kind]);
    return 0;
}

/* The state of a record in a buffer that CUPTI had not finished. */
enum plausibility { WHOLE, UNFINISHED, IMPLAUSIBLE };

static enum plausibility judge(const struct cuda_process *cuda, const struct cuda_kind *kind,
                               const struct cupti_layout *layout, const void *record)
{
    if (!kind->has_span)
        return WHOLE;
    uint64_t start = (uint64_t)cupti_field(layout, record, kind->start),
             end = (uint64_t)cupti_field(layout, record, kind->end);
    if (end == 0 || start == 0 || (kind->has_call && cupti_field(layout, record, kind->correlation) == 0))
        return UNFINISHED;
    return start <= end && end <= cuda->latest_ns ? WHOLE : IMPLAUSIBLE;
}

/* Handles one record; 0, or -1 if the records after it cannot be trusted either. */
static int cuda_records_read_record(struct cuda_process *cuda, uint32_t number, const unsigned char *record)
{
    const struct cupti_layout *layout = cuda->layouts.of[number];
    const struct cuda_kind *kind = &cuda_kinds[number];
    if (!layout || !kind->read)
        return 0; /* a kind that was not requested */
    if (!cuda->recovering) {
        kind->read(cuda, layout, record);
        cuda->counts.recorded++;
        return 0;
    }
    enum plausibility plausibility = judge(cuda, kind, layout, record);
    if (plausibility == WHOLE) {
        kind->read(cuda, layout, record);
        cuda->counts.recovered++;
    } else {
        cuda->counts.unfinished++;
    }
    return plausibility == IMPLAUSIBLE ? -1 : 0;
}

/* Returns the end of the records; less than length if they cannot be parsed to the end. */
static size_t cuda_records_walk(struct cuda_process *cuda, const unsigned char *bytes, size_t length)
{
    size_t at = 0;
    while (length - at >= 8) {
        uint32_t number = cupti_kind_of(bytes + at);
        uint32_t size = cupti_record_bytes(&cuda->layouts, number);
        if (number == 0 || size == 0 || size > length - at)
            return at;
        if (cuda_records_read_record(cuda, number, bytes + at) != 0)
            return at;
        at += size;
    }
    return at;
}

static void walk_delivered(struct cuda_process *cuda, size_t length)
{
    size_t at = cuda_records_walk(cuda, cuda->copy, length);
    if (at == length)
        return;
    if (length - at >= 8 && cupti_kind_of(cuda->copy + at) != 0 &&
        cupti_record_bytes(&cuda->layouts, cupti_kind_of(cuda->copy + at)) == 0)
        cuda->counts.unknown_kind++;
    else
        cuda->counts.damaged++;
}

/* Parses up to the zeros. Bytes after them that are not zero belong to a record that was being written. */
static void walk_lent(struct cuda_process *cuda, size_t length)
{
    uint64_t unfinished = cuda->counts.unfinished;
    size_t at = cuda_records_walk(cuda, cuda->copy, length);
    size_t until = length - at < HOLE_BYTES ? length : at + HOLE_BYTES;
    if (cuda->counts.unfinished != unfinished && at < length && cupti_kind_of(cuda->copy + at) != 0)
        return; /* it stopped at a record that is already counted */
    for (; at < until; at++)
        if (cuda->copy[at]) {
            cuda->counts.unfinished++;
            return;
        }
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static void free_buffer(struct cuda_process *cuda, uint32_t index)
{
    struct wire_cuda_buffer *buffers = buffers_of(cuda);
    atomic_store_explicit(&buffers[index].state, WIRE_CUDA_FREE, memory_order_relaxed);
    wire_list_push(&wire_cuda(cuda->setup.arena)->free_buffers, index, &buffers->next_free, sizeof *buffers);
}

static int get_copy(struct cuda_process *cuda)
{
    if (!cuda->copy)
        cuda->copy = aligned_alloc(64, WIRE_CUDA_BUFFER_BYTES);
    return cuda->copy ? 0 : -1;
}

static size_t read_buffer(struct cuda_process *cuda, uint32_t index)
{
    struct wire_cuda_buffer *buffer = &buffers_of(cuda)[index];
    if (atomic_load_explicit(&buffer->state, memory_order_acquire) != WIRE_CUDA_DELIVERED || get_copy(cuda) != 0)
        return 0;
    size_t length = *(volatile uint32_t *)&buffer->bytes;
    uint32_t names_words = *(volatile uint32_t *)&buffer->names_words;
    /* No further than the delivery, since a pointer may stand for another text later. */
    cuda_names_read(cuda, names_words ? (uint64_t)names_words * 8 : UINT64_MAX);
    int readable = length <= WIRE_CUDA_BUFFER_BYTES && choose_layouts(cuda) == 0;
    if (readable)
        memcpy(cuda->copy, cuda_records_bytes_of(cuda, index), length);
    else
        cuda->counts.damaged++;
    memset(cuda_records_bytes_of(cuda, index), 0, readable ? length : WIRE_CUDA_BUFFER_BYTES);
    free_buffer(cuda, index);
    if (readable)
        walk_delivered(cuda, length);
    return length <= WIRE_CUDA_BUFFER_BYTES ? length : WIRE_CUDA_BUFFER_BYTES;
}

static void recover_buffer(struct cuda_process *cuda, uint32_t index)
{
    if (get_copy(cuda) != 0 || choose_layouts(cuda) != 0)
        return;
    memcpy(cuda->copy, cuda_records_bytes_of(cuda, index), WIRE_CUDA_BUFFER_BYTES);
    walk_lent(cuda, WIRE_CUDA_BUFFER_BYTES);
}

static uint32_t buffers_taken(struct cuda_process *cuda)
{
    uint32_t taken = atomic_load_explicit(&wire_cuda(cuda->setup.arena)->buffers_taken, memory_order_acquire);
    if (taken > cuda->setup.buffer_count)
        taken = cuda->setup.buffer_count;
    if (taken > cuda->buffers_seen)
        cuda->buffers_seen = taken;
    return cuda->buffers_seen;
}

int cuda_awaits(struct cuda_process *cuda)
{
    const struct wire_cuda_buffer *buffers = buffers_of(cuda);
    uint32_t taken = buffers_taken(cuda);
    for (uint32_t i = 0; i < taken; i++)
        if (atomic_load_explicit(&buffers[i].state, memory_order_relaxed) == WIRE_CUDA_LENT)
            return 1;
    return 0;
}

static int cuda_records_by_number(const void *left, const void *right)
{
    uint64_t a = ((const struct cuda_noted *)left)->number, b = ((const struct cuda_noted *)right)->number;
    return COMPARE(a, b);
}

static uint64_t ticks_now(const struct clock_map *map)
{
    return map->clock == WIRE_CLOCK_COUNTER ? clock_ticks() : (uint64_t)clock_monotonic_ns();
}

void cuda_note(struct cuda_process *cuda)
{
    const struct wire_cuda_buffer *buffers = buffers_of(cuda);
    uint32_t taken = buffers_taken(cuda);
    cuda->noted_count = cuda->noted_next = 0;
    cuda->noted_ticks = ticks_now(cuda->clock.map);
    cuda->own_thread = atomic_load_explicit(&wire_cuda(cuda->setup.arena)->thread, memory_order_relaxed);
    if (array_reserve(&cuda->noted, &cuda->noted_capacity, taken, sizeof *cuda->noted) != 0)
        return;
    for (uint32_t i = 0; i < taken; i++)
        if (atomic_load_explicit(&buffers[i].state, memory_order_acquire) == WIRE_CUDA_DELIVERED)
            cuda->noted[cuda->noted_count++] = (struct cuda_noted){ buffers[i].number, i };
    if (cuda->noted_count > 1)
        qsort(cuda->noted, cuda->noted_count, sizeof *cuda->noted, cuda_records_by_number);
}

size_t cuda_read(struct cuda_process *cuda, size_t budget, int threads_read)
{
    size_t bytes = 0;
    cuda_clock_refresh(&cuda->clock);
    if (threads_read)
        cuda_waits_settle(cuda, cuda->noted_ticks);
    while (cuda->noted_next < cuda->noted_count && (bytes == 0 || bytes < budget))
        bytes += read_buffer(cuda, cuda->noted[cuda->noted_next++].index);
    cuda->counts.launches = cuda->pairs.launches;
    return bytes;
}

void cuda_set_goal(struct cuda_process *cuda)
{
    cuda->goal_ticks = ticks_now(cuda->clock.map);
    cuda->goal = atomic_load_explicit(&wire_cuda(cuda->setup.arena)->deliveries, memory_order_relaxed);
    buffers_taken(cuda); /* also notes the buffers that cuda_reached_goal() checks */
}

int cuda_reached_goal(const struct cuda_process *cuda)
{
    const struct wire_cuda_buffer *buffers = buffers_of(cuda);
    for (uint32_t i = 0; i < cuda->buffers_seen; i++)
        if (atomic_load_explicit(&buffers[i].state, memory_order_acquire) == WIRE_CUDA_DELIVERED &&
            buffers[i].number < cuda->goal)
            return 0;
    return 1;
}

void cuda_settle_goal(struct cuda_process *cuda)
{
    cuda_waits_settle(cuda, cuda->goal_ticks);
}

/* ---- Records of the agent -------------------------------------------------------------------------------------- */

static const cuda_told told[] = {
    [WIRE_CUDA_DEVICE] = cuda_device_told,
    [WIRE_CUDA_STREAM] = cuda_stream_told,
    [WIRE_CUDA_WAIT] = cuda_wait_told,
    [WIRE_CUDA_CALL] = cuda_call_told,
    [WIRE_CUDA_CODE] = cuda_code_told,
    [WIRE_CUDA_PC_SAMPLING] = cuda_pc_sampling_told,
    [WIRE_CUDA_STALL_REASON] = cuda_stall_reason_told,
    [WIRE_CUDA_PC_FUNCTION] = cuda_pc_function_told,
    [WIRE_CUDA_PC] = cuda_pc_told,
    [WIRE_CUDA_PC_TOTALS] = cuda_pc_totals_told,
    [WIRE_CUDA_CUBIN] = cuda_cubin_told,
    [WIRE_CUDA_COUNTED] = cuda_counted_told,
    [WIRE_CUDA_COUNTERS_IMAGE] = cuda_image_told,
    [WIRE_CUDA_UNCOUNTED] = cuda_uncounted_told,
};

void cuda_record(struct cuda_process *cuda, const struct wire_record *record, uint32_t words, uint32_t tid)
{
    unsigned type = record->type; /* read it once: see cuda_records.h */
    cuda_told read = type < COUNT_OF(told) ? told[type] : NULL;
    if (read && read(cuda, record, words, tid) != 0)
        cuda->counts.damaged++;
    else
        cuda->counts.recorded++;
}

/* ---- The end --------------------------------------------------------------------------------------------------- */

static void cuda_records_take_pairs(struct cuda_process *cuda)
{
    cuda_launches_settle(&cuda->pairs);
    cuda->counts.launches = cuda->pairs.launches;
    cuda->counts.launches_without_kernel = cuda->pairs.launches_without_kernel;
    cuda->counts.kernels_without_launch = cuda->pairs.kernels_without_launch;
    cuda->counts.kernels_before_launch = cuda->pairs.kernels_before_launch;
}

void cuda_finish(struct cuda_process *cuda)
{
    uint32_t taken = buffers_taken(cuda);
    const struct wire_cuda_buffer *buffers = buffers_of(cuda);
    cuda_note(cuda);
    cuda_read(cuda, SIZE_MAX, 1);
    cuda_names_read(cuda, UINT64_MAX);
    cuda->latest_ns = wire_cuda_time(ticks_now(cuda->clock.map), cuda->setup.ns_per_tick);
    cuda->recovering = 1;
    for (uint32_t i = 0; i < taken; i++)
        if (atomic_load_explicit(&buffers[i].state, memory_order_acquire) == WIRE_CUDA_LENT)
            recover_buffer(cuda, i);
    cuda->recovering = 0;
    cuda_counters_finish(cuda);
    cuda_waits_finish(cuda);
    cuda_target_finish(cuda);
    cuda_code_finish(cuda);
    cuda_pc_rows_finish(cuda);
    cuda_records_take_pairs(cuda);
}

/* Takes free buffers so that nobody fills them, releases their pages, and puts the buffers back. The program may wake
 * up meanwhile and need some, so at most half of all are held. */
void cuda_trim(struct cuda_process *cuda)
{
    struct wire_header *arena = cuda->setup.arena;
    struct wire_cuda_buffer *buffers = buffers_of(cuda);
    uint32_t limit = buffers_taken(cuda) / 2, count = 0;
    uint32_t *held = limit ? malloc(limit * sizeof *held) : NULL;
    while (held && count < limit) {
        uint32_t index = wire_list_pop_free(&wire_cuda(arena)->free_buffers, cuda->setup.buffer_count,
                                            &buffers->next_free, sizeof *buffers);
        if (index == WIRE_NONE)
            break;
        held[count++] = index;
        madvise(cuda_records_bytes_of(cuda, index), WIRE_CUDA_BUFFER_BYTES, MADV_REMOVE);
    }
    while (count > 0)
        free_buffer(cuda, held[--count]);
    free(held);
}
