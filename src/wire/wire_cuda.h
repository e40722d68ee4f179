/* The part of the arena that CUPTI writes to: its buffers, and the texts that records in them point to.
 *
 *     [descriptors of the buffers][buffers][texts]      behind the chunks; sparse: unused parts cost nothing
 *
 * The cycle of a buffer: when CUPTI asks for one, the agent takes it off the free list (LENT). CUPTI fills it and hands
 * it back (DELIVERED: before the release store of that state the agent sets bytes and number, and adds every text that
 * the records point to). The collector reads the buffer, zeroes it and frees it. Only zeroed buffers are lent, because
 * in a buffer that CUPTI never hands back the records end where the zeros begin.
 *
 * Texts are only added. The agent writes an entry and publishes it with the release store of its first word; the reader
 * stops at the first word that is zero. Names are pointers into the program, so an entry has the pointer as its key. A
 * record means the last entry of its pointer that lies before names_words of its buffer. */
#ifndef TACHO_WIRE_WIRE_CUDA_H
#define TACHO_WIRE_WIRE_CUDA_H

#include "wire_chunks.h"

enum wire_cuda_type {
    /* Records beside those in CUPTI's buffers. Handles are the program's pointers. */

    /* The agent uses CUPTI. a: 1 for all API calls, 2 for the chosen ones; body: [cuptiGetVersion()] text, its path */
    WIRE_CUDA_LOADED = WIRE_FIRST_CUDA,
    WIRE_CUDA_REFUSED, /* the agent cannot use CUPTI; a: the CUptiResult; body: text, a sentence that says why */
    /* a: ordinal, b: number of attributes; body: [bytes of memory][uuid, 2 words][CUDA version of the driver]
     * [PCI domain << 32 | bus << 16 | device << 8 | function] [attributes by CUdevice_attribute, from 0, int32, two in
     * a word] text, the name */
    WIRE_CUDA_DEVICE,
    WIRE_CUDA_STREAM, /* the program created a stream; body: [handle][context id << 32 | stream id] */
    /* A call that orders streams or waits. a: enum cuda_wait_kind; body: [correlation id | device << 32]
     * [context id << 32 | stream id][event handle] */
    WIRE_CUDA_WAIT,
    /* An API call for which CUPTI writes no record. a: callback id, b: 0 runtime, 1 driver; the time is its begin;
     * body: [correlation id | result << 32][duration in ticks] */
    WIRE_CUDA_CALL,
    /* Kernels of a module that was loaded. a: architecture, 90 for sm_90; body: wire_cuda_code() of each */
    WIRE_CUDA_CODE,
    /* Warps of a context are sampled, or not. a: the CUptiResult, 0: they are; b: enum cupti_pc_mode;
     * body: [context id | device << 32][period as a power of two, 0: unknown] text, a sentence if it was refused */
    WIRE_CUDA_PC_SAMPLING,
    WIRE_CUDA_STALL_REASON, /* a: its number in samples; text, the name that CUPTI has for it */
    /* A function that has samples. body: [CRC of its cubin][its number in the cubin] text, the mangled name */
    WIRE_CUDA_PC_FUNCTION,
    /* Samples at an instruction. body: [CRC of the cubin][function's number | context id << 32][offset in the function]
     * [correlation id, 0: unknown] and for each reason [its number << 32 | samples] */
    WIRE_CUDA_PC,
    /* What CUPTI counted since the last such record. body: [context id][samples][dropped][of kernels that are not the
     * program's][times that the GPU's buffer was full] */
    WIRE_CUDA_PC_TOTALS,
    /* A part of a cubin that has line information. body: [CRC][size of the whole][offset][bytes] and the bytes */
    WIRE_CUDA_CUBIN,
    /* A launch whose kernel was counted and has ended. a: passes; body: struct wire_counted */
    WIRE_CUDA_COUNTED,
    /* An image is complete. a: the CUptiResult; body: [image << 32 | launches][ranges << 32 | ranges dropped] */
    WIRE_CUDA_COUNTERS_IMAGE,
    WIRE_CUDA_UNCOUNTED,        /* launches that were not counted; body: their number, by enum wire_uncounted */
    WIRE_CUDA_COUNTERS_REFUSED, /* counting ends; a: the CUptiResult; body: text, a sentence */
};
WIRE_TYPES_END_AT(CUDA, WIRE_CUDA_COUNTERS_REFUSED);

struct wire_counted {
    uint32_t correlation, device;
    uint32_t range, image;             /* range: its number in the image */
    uint64_t number;                   /* among all of the process */
    uint32_t stream, context;
    uint64_t name;                     /* the pointer of a text */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes, registers;  /* shared_bytes: those of the launch */
    uint32_t fixed_bytes, local_bytes; /* fixed_bytes: of shared memory, by the kernel itself */
};

/* In the session's folder: what is counted. Lines "key=value" up to an empty line, then CUPTI's configuration: chip,
 * passes, ranges (of an image), replay (application or kernel), image (bytes of the configuration), ns (that counting
 * may take), bytes (that all images may have), metric (each), and those of agent/counters/launch_filter.h. Images have
 * this name, too, with "-<number>" behind it; no two images of a session have one number. */
#define WIRE_COUNTERS_FILE "counters"
#define WIRE_COUNTERS_SUM_FILE "counters.sum" /* a word: the bytes of all images */

/* Why a launch was not counted. */
enum wire_uncounted {
    WIRE_UNCOUNTED_FILTER,     /* nobody asked for it */
    WIRE_UNCOUNTED_GRAPH,      /* the launch of a graph */
    WIRE_UNCOUNTED_CAPTURED,   /* into a graph */
    WIRE_UNCOUNTED_LATE,       /* after the time that was given */
    WIRE_UNCOUNTED_COLLECTIVE, /* it waits for other GPUs or for all its blocks, and was not named */
    WIRE_UNCOUNTED_CHIP,       /* on a GPU with another chip than that of the counters */
    WIRE_UNCOUNTED_CAUSES
};

#define WIRE_CUDA_CUBIN_PIECE 32768u /* the most bytes in a WIRE_CUDA_CUBIN */

/* A kernel and the types of the operands that its code has instructions of tensor cores for (enum cuda_code_type), in a
 * word: the name is a hash of 48 bits, because modules have thousands of kernels of which few are launched. */
#define WIRE_CUDA_CODE_TYPES UINT64_C(0xffff)
static inline uint64_t wire_cuda_code(const char *name, unsigned types)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (hash & ~WIRE_CUDA_CODE_TYPES) | (types & WIRE_CUDA_CODE_TYPES);
}

/* The key of a WIRE_STACK is the correlation id of the call, with this bit for calls of the driver API. */
#define WIRE_CUDA_STACK_OF_DRIVER (UINT64_C(1) << 32)

enum wire_cuda_flag {
    WIRE_CUDA_ALL_CALLS = 1,      /* record every API call, not only those of cuda_calls.def */
    WIRE_CUDA_GRAPH_NODES = 2,    /* record the nodes of graphs instead of whole graphs */
    WIRE_CUDA_EVENTS = 4,         /* record when the GPU reached each CUDA event */
    WIRE_CUDA_MEMORY = 8,         /* record allocations and pools */
    WIRE_CUDA_CPU_FAULTS = 16,    /* record page faults of unified memory on the CPU */
    WIRE_CUDA_GPU_FAULTS = 32,    /* and on the GPU */
    WIRE_CUDA_FLUSH_ON_STOP = 64, /* cudaProfilerStop() waits for the records of earlier work */
    WIRE_CUDA_YIELD = 128,        /* leave CUPTI to a program that uses it itself */
    WIRE_CUDA_COUNTERS = 256,     /* count kernels, as WIRE_COUNTERS_FILE says */
    WIRE_CUDA_REPLAY = 512,       /* and replay them: CUPTI then traces no work of the GPU */
};

struct wire_cuda_settings {
    uint32_t flags;             /* enum wire_cuda_flag */
    uint32_t backtrace_groups;  /* calls with a backtrace, as bits by group of cuda_calls.def */
    uint64_t backtrace_ns;      /* only calls that take at least this long get one */
    uint32_t backtrace_bytes;   /* bytes of stack to copy for it */
    uint32_t flush_interval_ms; /* 0: the default of the agent */
    uint32_t buffer_count;      /* number of struct wire_cuda_buffer */
    uint64_t ns_per_tick;       /* << WIRE_SCALE_SHIFT; wire_cuda_time() */
    uint8_t pc_mode;            /* enum cupti_pc_mode; 0: no PC sampling */
    uint8_t pc_period;          /* cycles between samples, as a power of two */
};
#define WIRE_SCALE_SHIFT 40

struct wire_cuda_shared {
    _Alignas(64) struct wire_cuda_settings settings;
    _Alignas(64) _Atomic uint64_t free_buffers;
    _Atomic uint32_t buffers_taken;
    _Atomic uint32_t cupti_version; /* cuptiGetVersion(), once the agent uses CUPTI: the layout of the records */
    _Atomic uint64_t deliveries;    /* number of buffers delivered so far; gives each buffer its number */
    _Atomic uint64_t names_bytes;   /* bytes of the text area that are in use */
    /* tid of the agent's flush thread, 0 for none. The report leaves out this thread and its calls into CUDA. */
    _Atomic uint32_t thread;
};
WIRE_SHARED(CUDA, struct wire_cuda_shared, wire_cuda)

#define WIRE_CUDA_BUFFER_BYTES (1u << 20)
#define WIRE_CUDA_NAMES_BYTES (64u << 20)

enum wire_cuda_buffer_state { WIRE_CUDA_FREE, WIRE_CUDA_LENT, WIRE_CUDA_DELIVERED };

struct wire_cuda_buffer {
    _Atomic uint32_t state;
    _Atomic uint32_t next_free;
    uint32_t bytes;       /* bytes of records; valid when delivered */
    uint32_t names_words; /* end of the texts at delivery, in 8-byte words; 0: unknown */
    uint64_t number;      /* order of delivery; while lent: ticks when it was lent, for the agent alone */
    _Alignas(64) char end[0];
};
_Static_assert(sizeof(struct wire_cuda_buffer) == 64, "descriptors are laid out back to back");

enum wire_cuda_name {
    WIRE_CUDA_NAME_POINTER = 1, /* key: the pointer */
    WIRE_CUDA_NAME_RUNTIME,     /* key: the callback id of a runtime call */
    WIRE_CUDA_NAME_DRIVER,      /* key: the callback id of a driver call */
    /* key: kind << 32 | size of a record, measured with a CUPTI newer than our table of layouts; no text */
    WIRE_CUDA_NAME_RECORD_BYTES,
};

struct wire_cuda_text {
    _Atomic uint32_t words; /* length of the entry; 0: not published yet */
    uint32_t what;          /* enum wire_cuda_name */
    uint64_t key;
    char text[];            /* padded with zeros, at least one */
};

/* Rounded up to 64 KiB, so that the buffers begin on a page boundary whatever the page size is. */
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

/* Size of the whole arena; buffer_count is 0 when CUDA is not traced. */
static inline uint64_t wire_arena_bytes(uint32_t chunk_count, uint32_t buffer_count)
{
    return wire_cuda_names_offset(chunk_count, buffer_count) + (buffer_count ? WIRE_CUDA_NAMES_BYTES : 0);
}

/* CUPTI's timestamps are nanoseconds: ticks times a factor that is fixed for the arena. So the collector's map
 * from ticks to time holds for them too (collect/sources/cuda/cuda_clock.h). */
static inline uint64_t wire_cuda_time(uint64_t ticks, uint64_t ns_per_tick)
{
    return (uint64_t)((unsigned __int128)ticks * ns_per_tick >> WIRE_SCALE_SHIFT);
}

#endif
