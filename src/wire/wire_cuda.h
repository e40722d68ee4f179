/* The part of the arena that CUPTI writes to: its buffers, and the texts that their records point to.
 *
 *     [descriptors of the buffers][buffers][texts]      behind the chunks; sparse, so what is not used costs nothing
 *
 * A buffer goes round: the agent takes it off the free list when CUPTI asks (LENT), CUPTI fills it and gives it back
 * (DELIVERED: bytes and number are set, and every text that its records point to stands in the texts, before the
 * release store of the state), the collector reads it, fills it with zeros and frees it. Only zeroed buffers are lent:
 * in one that CUPTI never gave back the records end where the zeros begin. Texts are only added. An entry is written,
 * then published by the release store of its first word; the reader stops at the first word that is zero. Names are
 * pointers into the program, so an entry says which pointer it was; the last entry of a pointer that lies before a
 * buffer's names_words is what its records mean by it. */
#ifndef TACHO_WIRE_WIRE_CUDA_H
#define TACHO_WIRE_WIRE_CUDA_H

#include "wire_chunks.h"

enum wire_cuda_type {
    /* CUDA, beside what stands in CUPTI's buffers. Handles are the program's pointers. */
    WIRE_CUDA_LOADED = WIRE_FIRST_CUDA, /* CUPTI is in use; a: 1 for all API calls, 2 for the chosen ones; body:
                                         * [cuptiGetVersion()] text, its path */
    WIRE_CUDA_REFUSED,                  /* and this is why not; a: the CUptiResult; body: text, a sentence */
    /* a: ordinal, b: number of attributes; body: [bytes of memory][uuid, 2 words][version of CUDA that the driver
     * serves][PCI domain << 32 | bus << 16 | device << 8 | function] [attributes by CUdevice_attribute, from 0, int32,
     * two a word] text, its name */
    WIRE_CUDA_DEVICE,
    WIRE_CUDA_STREAM, /* one was made; body: [handle][context id << 32 | stream id] */
    WIRE_CUDA_WAIT,   /* a call that orders streams or waits; a: enum cuda_wait_kind;
                       * body: [correlation id | device << 32][context id << 32 | stream id][event handle] */
    WIRE_CUDA_CALL,   /* an API call that CUPTI writes no record of; a: callback id, b: 0 runtime, 1 driver; its begin
                       * is the record's time; body: [correlation id | result << 32][duration in ticks] */
};
WIRE_TYPES_END_AT(CUDA, WIRE_CUDA_CALL);

/* The key of a WIRE_STACK: the correlation id of the call, and whether it is one of the driver's. */
#define WIRE_CUDA_STACK_OF_DRIVER (UINT64_C(1) << 32)

enum wire_cuda_flag {
    WIRE_CUDA_ALL_CALLS = 1,      /* every API call, not only those of cuda_calls.def */
    WIRE_CUDA_GRAPH_NODES = 2,    /* the nodes of graphs, not graphs as a whole */
    WIRE_CUDA_EVENTS = 4,         /* when the GPU reached each CUDA event */
    WIRE_CUDA_MEMORY = 8,         /* allocations and pools */
    WIRE_CUDA_CPU_FAULTS = 16,
    WIRE_CUDA_GPU_FAULTS = 32,    /* page faults of unified memory */
    WIRE_CUDA_FLUSH_ON_STOP = 64, /* cudaProfilerStop() waits for the records of what went before */
    WIRE_CUDA_YIELD = 128,        /* a program that uses CUPTI itself may have it */
};

struct wire_cuda_settings {
    uint32_t flags;             /* enum wire_cuda_flag */
    uint32_t backtrace_groups;  /* bits by group of cuda_calls.def: calls that have their call chain stored, … */
    uint64_t backtrace_ns;      /* … once they take so long, … */
    uint32_t backtrace_bytes;   /* … from so much of their stack */
    uint32_t flush_interval_ms; /* 0: the agent's own */
    uint32_t buffer_count;      /* struct wire_cuda_buffer */
    uint64_t ns_per_tick;       /* << WIRE_SCALE_SHIFT; wire_cuda_time() */
};
#define WIRE_SCALE_SHIFT 40

struct wire_cuda_shared {
    _Alignas(64) struct wire_cuda_settings settings;
    _Alignas(64) _Atomic uint64_t free_buffers;
    _Atomic uint32_t buffers_taken;
    _Atomic uint32_t cupti_version; /* cuptiGetVersion(), once it is in use; says how records are laid out */
    _Atomic uint64_t deliveries;    /* counts up; numbers the buffers in the order of their delivery */
    _Atomic uint64_t names_bytes;   /* handed out of the area for texts */
    _Atomic uint32_t thread;        /* tid of the agent's own thread, 0 for none: neither it nor its calls into CUDA are
                                     * the program's */
};
WIRE_SHARED(CUDA, struct wire_cuda_shared, wire_cuda)

#define WIRE_CUDA_BUFFER_BYTES (1u << 20)
#define WIRE_CUDA_NAMES_BYTES (64u << 20)

enum wire_cuda_buffer_state { WIRE_CUDA_FREE, WIRE_CUDA_LENT, WIRE_CUDA_DELIVERED };

struct wire_cuda_buffer {
    _Atomic uint32_t state;
    _Atomic uint32_t next_free;
    uint32_t bytes;       /* of records; when delivered */
    uint32_t names_words; /* how far the texts reached, in 8-byte words, when it was delivered; 0: not told */
    uint64_t number;      /* wire_cuda_shared.deliveries when it was delivered; until then the
                           * agent's, ticks when it was lent */
    _Alignas(64) char end[0];
};
_Static_assert(sizeof(struct wire_cuda_buffer) == 64, "descriptors are laid out back to back");

enum wire_cuda_name {
    WIRE_CUDA_NAME_POINTER = 1,  /* key: the pointer */
    WIRE_CUDA_NAME_RUNTIME,      /* key: the callback id of a runtime call */
    WIRE_CUDA_NAME_DRIVER,       /* the same of a driver call */
    WIRE_CUDA_NAME_RECORD_BYTES, /* key: kind << 32 | size, learned from a CUPTI that is
                                  * newer than our table; no text */
};

struct wire_cuda_text {
    _Atomic uint32_t words; /* of the whole entry; 0: not published yet */
    uint32_t what;          /* enum wire_cuda_name */
    uint64_t key;
    char text[];            /* padded with zeros, at least one */
};

/* In whole pages, of any size. */
static inline uint64_t wire_cuda_descriptor_bytes(uint32_t buffer_count)
{
    return ((uint64_t)buffer_count * sizeof(struct wire_cuda_buffer) + 65535) / 65536 * 65536;
}
static inline uint64_t wire_cuda_names_offset(uint32_t chunk_count, uint32_t buffer_count)
{
    return wire_chunks_end(chunk_count) + wire_cuda_descriptor_bytes(buffer_count) +
           (uint64_t)buffer_count * WIRE_CUDA_BUFFER_BYTES;
}
static inline struct wire_cuda_buffer *wire_cuda_buffers(struct wire_header *arena, uint32_t chunk_count)
{
    return (struct wire_cuda_buffer *)((char *)arena + wire_chunks_end(chunk_count));
}
static inline char *wire_cuda_names(struct wire_header *arena, uint32_t chunk_count, uint32_t buffer_count)
{
    return (char *)arena + wire_cuda_names_offset(chunk_count, buffer_count);
}
static inline unsigned char *wire_cuda_bytes(struct wire_header *arena, uint32_t chunk_count, uint32_t buffer_count,
                                             uint32_t index)
{
    return (unsigned char *)arena + wire_chunks_end(chunk_count) + wire_cuda_descriptor_bytes(buffer_count) +
           (uint64_t)index * WIRE_CUDA_BUFFER_BYTES;
}

/* The whole arena; buffer_count 0 when CUDA is not traced. */
static inline uint64_t wire_arena_bytes(uint32_t chunk_count, uint32_t buffer_count)
{
    return wire_cuda_names_offset(chunk_count, buffer_count) + (buffer_count ? WIRE_CUDA_NAMES_BYTES : 0);
}

/* CUPTI wants nanoseconds: ticks times a factor that is fixed for the arena, so that the collector's map from ticks to
 * time holds for these too (src/collect/sources/cuda/cuda_clock.h). */
static inline uint64_t wire_cuda_time(uint64_t ticks, uint64_t ns_per_tick)
{
    return (uint64_t)((unsigned __int128)ticks * ns_per_tick >> WIRE_SCALE_SHIFT);
}

#endif
