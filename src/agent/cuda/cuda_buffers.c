/* Buffers for CUPTI: lends those of the arena and hands full ones to the collector. wire/wire_cuda.h has their cycle.
 *
 * CUPTI asks for a buffer in a thread that launches, and returns it in a thread of its own, where the agent copies the
 * texts that the records point to. When the arena has none left, a CUPTI that can cope gets none, and counts what it
 * drops. Older versions would crash, so they get memory that nobody reads; its records are counted as lost. A buffer
 * that CUPTI has is never taken away, unmapped or lent again. Nothing here calls CUDA or allocates from the heap. */
#include "agent/core/arena_window.h"
#include "agent/core/sys.h"
#include "cuda_agent.h"

#define CUPTI_TAKES_NONE 28u /* versions from 12.9 on can do without a buffer */
#define EMERGENCY_BYTES 65536u
#define NAMES_FIRST_BYTES 65536u
#define AHEAD 2u /* buffers that get their pages before they are needed */
#define ADVICE_POPULATE_WRITE 23       /* MADV_POPULATE_WRITE, which older headers lack */

/* COUNTED: its records were counted at the end, while CUPTI still had it. */
enum { EMERGENCY_FREE, EMERGENCY_TAKEN, EMERGENCY_COUNTED };
struct emergency {
    uint8_t buffer[EMERGENCY_BYTES];
    struct emergency *next;
    _Atomic uint32_t state;
};
static _Atomic(struct emergency *) emergencies; /* all emergency buffers; none is ever unmapped */
static uint32_t prepared;                       /* number of buffers that have their pages */

/* The index of this buffer in the arena, or WIRE_NONE. */
static uint32_t cuda_buffers_index_of(const uint8_t *buffer)
{
    struct area *area = &cuda.buffers;
    uint32_t mapped = atomic_load_explicit(&area->mapped, memory_order_acquire);
    for (uint32_t first = 0; first < mapped; first += area->per_window) {
        uintptr_t offset = (uintptr_t)buffer - (uintptr_t)area_unit(area, first);
        if (offset < (uintptr_t)area->per_window * WIRE_CUDA_BUFFER_BYTES)
            return first + (uint32_t)(offset / WIRE_CUDA_BUFFER_BYTES);
    }
    return WIRE_NONE;
}

/* In a program that never uses CUDA, these two mappings are all that the source costs. */
int cuda_buffers_attach(struct wire_header *arena, int descriptor, enum wire_origin origin)
{
    uint32_t count = wire_cuda(arena)->settings.buffer_count;
    size_t bytes = (size_t)wire_cuda_descriptor_bytes(count);
    if (wire_arena_bytes(arena->chunk_count, count) != arena->arena_bytes)
        return -EPROTO;
    area_set(&cuda.buffers, WIRE_CUDA_BUFFER_BYTES, count, area_per_window(count, 1), 0);
    if (count == 0)
        return 0;
    cuda.descriptors = window_map(descriptor, wire_chunks_end(arena->chunk_count), bytes);
    cuda.names = window_map(descriptor, wire_cuda_names_offset(arena->chunk_count, count), NAMES_FIRST_BYTES);
    cuda.names_bytes = NAMES_FIRST_BYTES;
    cuda.buffers.before = (char *)cuda.descriptors;
    cuda.buffers.before_bytes = bytes;
    return cuda.descriptors && cuda.names ? 0 : -ENOMEM;
}

/* ---- Lending --------------------------------------------------------------------------------------------------- */

static uint8_t *take_from_arena(void)
{
    struct wire_cuda_buffer *all = cuda.descriptors;
    uint32_t index;
    do
        index = wire_list_pop(&wire_cuda(agent.arena)->free_buffers, &wire_cuda(agent.arena)->buffers_taken,
                              atomic_load_explicit(&cuda.buffers.mapped, memory_order_acquire), &all->next_free,
                              sizeof *all);
    while (index == WIRE_NONE && area_grow(&cuda.buffers) == 0);
    if (index == WIRE_NONE)
        return NULL;
    all[index].bytes = 0;
    all[index].number = agent_ticks();
    atomic_store_explicit(&all[index].state, WIRE_CUDA_LENT, memory_order_release);
    return area_unit(&cuda.buffers, index);
}

static uint8_t *take_emergency(void)
{
    struct emergency *first = atomic_load_explicit(&emergencies, memory_order_acquire);
    for (struct emergency *emergency = first; emergency; emergency = emergency->next) {
        uint32_t state = EMERGENCY_FREE;
        if (atomic_compare_exchange_strong(&emergency->state, &state, EMERGENCY_TAKEN))
            return emergency->buffer;
    }
    struct emergency *fresh = window_map_inherited(sizeof *fresh);
    if (!fresh)
        return NULL;
    atomic_store_explicit(&fresh->state, EMERGENCY_TAKEN, memory_order_relaxed);
    do
        fresh->next = first;
    while (!atomic_compare_exchange_weak(&emergencies, &first, fresh));
    return fresh->buffer;
}

void cuda_buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *most_records = 0; /* 0: as many as fit */
    *buffer = cuda_in_use() ? take_from_arena() : NULL;
    *bytes = *buffer ? WIRE_CUDA_BUFFER_BYTES : 0;
    if (*buffer)
        atomic_fetch_add_explicit(&cuda.lent, 1, memory_order_relaxed);
    else if (cuda.version < CUPTI_TAKES_NONE) {
        *buffer = take_emergency();
        *bytes = *buffer ? EMERGENCY_BYTES : 0;
    }
}

/* The agent's thread calls this, so that no launching thread takes the page faults. Kernels before 5.14 refuse it. */
void cuda_buffers_prepare(void)
{
    uint32_t want = atomic_load_explicit(&wire_cuda(agent.arena)->buffers_taken, memory_order_relaxed) + AHEAD;
    if (want > cuda.settings.buffer_count)
        want = cuda.settings.buffer_count;
    for (; prepared < want; prepared++) {
        while (prepared >= atomic_load_explicit(&cuda.buffers.mapped, memory_order_acquire))
            if (area_grow(&cuda.buffers) != 0)
                return;
        sys_madvise(area_unit(&cuda.buffers, prepared), WIRE_CUDA_BUFFER_BYTES, ADVICE_POPULATE_WRITE);
    }
}

int cuda_buffers_older_than(uint64_t ns)
{
    const struct wire_cuda_buffer *all = cuda.descriptors;
    uint32_t taken = atomic_load_explicit(&wire_cuda(agent.arena)->buffers_taken, memory_order_relaxed);
    uint64_t now = agent_ticks();
    for (uint32_t i = 0; i < taken && i < cuda.settings.buffer_count; i++)
        if (atomic_load_explicit(&all[i].state, memory_order_acquire) == WIRE_CUDA_LENT &&
            wire_cuda_time(now - all[i].number, cuda.settings.ns_per_tick) >= ns)
            return 1;
    return 0;
}

/* ---- Taking back ----------------------------------------------------------------------------------------------- */

/* The newest context has finished a kernel: from here on the chosen calls are enough. */
static void note_kernel(const struct cupti_layout *layout, const uint8_t *record)
{
    uint32_t context = atomic_load_explicit(&cuda.new_context, memory_order_relaxed);
    if (likely(context == 0) || layout->record != CUPTI_RECORD_KERNEL)
        return;
    if ((uint32_t)cupti_field(layout, record, CUPTI_KERNEL_contextId) == context &&
        atomic_compare_exchange_strong(&cuda.new_context, &context, 0))
        cuda_thread_wake();
}

/* Copies the texts of the records. Returns the number of records, as far as they can be walked. */
static uint64_t cuda_buffers_walk(const uint8_t *buffer, size_t valid_bytes)
{
    uint64_t count = 0;
    for (size_t at = 0; at + 8 <= valid_bytes; count++) {
        const uint8_t *record = buffer + at;
        uint32_t kind = cupti_kind_of(record), bytes = cupti_record_bytes(&cuda.layouts, kind);
        if (bytes == 0 || bytes > valid_bytes - at)
            break;
        const struct cupti_layout *layout = cuda.layouts.of[kind];
        if (layout && layout->text_count) {
            for (uint32_t i = 0; i < layout->text_count; i++) {
                const char *text = cupti_text(layout, record, i);
                if (text)
                    cuda_name_text(text);
            }
            note_kernel(layout, record);
        }
        at += bytes;
    }
    return count;
}

/* CUPTI may still be writing. The records end where the zeros begin. */
void cuda_buffers_tell_names(void)
{
    uint32_t taken = atomic_load_explicit(&wire_cuda(agent.arena)->buffers_taken, memory_order_relaxed);
    for (uint32_t i = 0; i < taken && i < cuda.settings.buffer_count; i++)
        if (atomic_load_explicit(&cuda.descriptors[i].state, memory_order_acquire) == WIRE_CUDA_LENT)
            cuda_buffers_walk(area_unit(&cuda.buffers, i), WIRE_CUDA_BUFFER_BYTES);
}

static void count_lost(const uint8_t *buffer, size_t valid_bytes)
{
    uint64_t lost = cuda_buffers_walk(buffer, valid_bytes);
    if (agent_attached())
        atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_CUDA][WIRE_LOST_GPU_BUFFER], lost,
                                  memory_order_relaxed);
}

static void take_back_emergency(struct emergency *emergency, size_t valid_bytes)
{
    uint32_t state = EMERGENCY_TAKEN;
    if (!atomic_compare_exchange_strong(&emergency->state, &state, EMERGENCY_COUNTED))
        return;
    count_lost(emergency->buffer, valid_bytes < EMERGENCY_BYTES ? valid_bytes : EMERGENCY_BYTES);
    memset(emergency->buffer, 0, EMERGENCY_BYTES);
    atomic_store_explicit(&emergency->state, EMERGENCY_FREE, memory_order_release);
}

void cuda_buffers_count_lost(void)
{
    struct emergency *emergency = atomic_load_explicit(&emergencies, memory_order_acquire);
    for (; emergency; emergency = emergency->next) {
        uint32_t state = EMERGENCY_TAKEN;
        if (atomic_compare_exchange_strong(&emergency->state, &state, EMERGENCY_COUNTED))
            count_lost(emergency->buffer, EMERGENCY_BYTES);
    }
}

/* May run after agent_leave() or after the collector is gone: the arena stays mapped. */
void cuda_buffer_done(void *context, uint32_t stream_id, uint8_t *buffer, size_t bytes, size_t valid_bytes)
{
    if (!buffer || cuda.pid != agent.pid)
        return;
    int saved_errno = errno;
    if (!agent_self) /* CUPTI's own thread is not a thread of the program */
        agent_self = AGENT_OWN_THREAD;
    uint32_t index = cuda_buffers_index_of(buffer);
    if (index == WIRE_NONE) {
        take_back_emergency((struct emergency *)buffer, valid_bytes);
    } else {
        struct wire_cuda_buffer *descriptor = &cuda.descriptors[index];
        if (valid_bytes > WIRE_CUDA_BUFFER_BYTES)
            valid_bytes = WIRE_CUDA_BUFFER_BYTES;
        cuda_buffers_walk(buffer, valid_bytes);
        descriptor->bytes = (uint32_t)valid_bytes;
        descriptor->names_words = (uint32_t)(atomic_load_explicit(&wire_cuda(agent.arena)->names_bytes,
                                                                  memory_order_relaxed) /
                                             8);
        descriptor->number = atomic_fetch_add_explicit(&wire_cuda(agent.arena)->deliveries, 1, memory_order_relaxed);
        atomic_store_explicit(&descriptor->state, WIRE_CUDA_DELIVERED, memory_order_release);
        atomic_fetch_sub_explicit(&cuda.lent, 1, memory_order_relaxed);
    }
    errno = saved_errno;
}
