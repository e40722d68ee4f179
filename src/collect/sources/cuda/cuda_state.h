/* The state of one process, shared by the files cuda*.c. Nothing else includes this. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_STATE_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_STATE_H

#include <string.h>

#include "abi/cuda_calls.h"
#include "abi/cupti.h"
#include "abi/cupti_layout.h"
#include "base/map.h"
#include "collect/core/clock_map.h"
#include "collect/process/process.h"
#include "cuda_clock.h"
#include "cuda_launches.h"
#include "cuda_setup.h"
#include "wire/wire_cuda.h"

#define CUDA_NOTHING 4294967295 /* nsys's value for "no stream", "no event" */

/* A text that records point to; ids in the writer's string pool. */
struct cuda_name {
    uint64_t pointer; /* never 0 */
    int64_t text_id, demangled_id, short_id;
};
MAP(cuda_name_map, struct cuda_name, uint64_t, pointer, pointer, hash_number, map_is_same_number)

struct cuda_names {
    struct cuda_name_map by_pointer;
    const struct cuda_name *last; /* found last: mostly the next record names it too. NULL: none */
};

/* A name of kernels, from the code of a module, from a record of a kernel, or both; see wire_cuda_code(). */
struct cuda_code_seen {
    uint64_t name;      /* the hash; never 0 */
    int64_t text_id;    /* if is_run */
    uint16_t types, sm; /* if is_told; types: of all kernels with this name */
    uint8_t is_run, is_told, is_mixed;
};
MAP(cuda_code_map, struct cuda_code_seen, uint64_t, name, name, hash_number, map_is_same_number)

/* The call that a callback id stands for. */
struct cuda_call_name {
    int64_t name_id;
    uint8_t known, work, wait;
    int8_t capture; /* 1 begins the capture of a stream, -1 ends one */
};
#define CUDA_CALLS_MAX 4096u

struct cuda_context {
    uint32_t id, device, parent;
    int is_green;
};
#define CUDA_CONTEXTS_MAX 256u

struct cuda_stream {
    uint64_t handle; /* 0: unknown */
    uint32_t context, id;
    int has_row;
};

struct cuda_stream_name {
    uint64_t handle;
    int64_t name_id;
};

struct cuda_target {
    struct cuda_context contexts[CUDA_CONTEXTS_MAX];
    uint32_t context_count;
    int any_green;
    struct cuda_stream *streams;
    size_t stream_count, stream_capacity;
    struct cuda_stream_name *names;
    size_t name_count, name_capacity;
};

/* A call that orders streams or waits, from the agent's record. */
struct cuda_wait {
    uint64_t ticks, event;
    uint32_t correlation, device, context, stream;
    uint8_t what;              /* enum cuda_wait_kind */
    int64_t event_id, sync_id; /* set once all calls before it are known */
};

struct cuda_event {
    uint64_t handle;     /* never 0 */
    int64_t id, sync_id; /* sync_id: of its last recording; CUDA_NOTHING: none yet */
};
MAP(cuda_event_map, struct cuda_event, uint64_t, handle, handle, hash_number, map_is_same_number)

/* One half of a wait or a recording: the other half has the same correlation id. */
struct cuda_join {
    uint32_t state;           /* enum cuda_join_state */
    uint32_t correlation;
    struct cuda_wait wait;    /* of CUDA_JOIN_WAIT and CUDA_JOIN_GPU */
    int64_t start_ns, end_ns; /* of CUDA_JOIN_CALL: the call's; of CUDA_JOIN_GPU: when the GPU got there, or 0 */
};
enum cuda_join_state { CUDA_JOIN_WAIT = 1, CUDA_JOIN_CALL = 2, CUDA_JOIN_GPU = 4 };
MAP(cuda_join_map, struct cuda_join, uint32_t, correlation, state, hash_number, map_is_same_number)

struct cuda_waits {
    struct cuda_wait *list;                   /* in the order read */
    size_t count, capacity;
    struct cuda_event_map events, old_events; /* two generations: handles in use move to the younger one */
    int64_t last_event_id;
    struct cuda_join_map joins;
    int64_t last_sync_id;
};

struct cuda_chain_id {
    uint32_t correlation, domain;
    struct call_chains chains; /* both 0: an empty slot */
};
#define CUDA_CHAINS_WAITING 4096u /* a power of two */
#define CUDA_FRAMES_KNOWN 1024u   /* a power of two */

struct cuda_frame {
    uint64_t address;
    int64_t symbol_id, module_id;
};

struct cuda_chains {
    struct cuda_chain_id *waiting; /* for their call; direct-mapped by id */
    struct cuda_frame *frames;     /* direct-mapped by address */
    size_t module_count;           /* when the frames were looked up */
    int64_t count;
};

/* A launch whose kernel was counted. */
struct cuda_counted {
    uint32_t correlation, passes; /* passes: never 0 */
    uint32_t image, range;
    int64_t launch;
    int64_t end_ns;               /* when the launch returned, by CUPTI's clock: its kernel had ended */
    int is_seen;                  /* its kernel's record came */
};
MAP(cuda_counted_map, struct cuda_counted, uint32_t, correlation, passes, hash_number, map_is_same_number)

struct cuda_process {
    struct cuda_setup setup;
    struct writer *writer;
    struct cuda_clock clock;
    struct cuda_counts counts;

    uint64_t names_read;             /* bytes of the text area read so far */
    int names_damaged;
    struct cuda_names names;
    struct cuda_call_name *calls[2]; /* by enum cuda_domain, CUDA_CALLS_MAX each */

    uint32_t version;                /* of the layouts; 0: unknown so far */
    struct cupti_layouts layouts;
    uint16_t learned_bytes[CUPTI_KIND_LIMIT];

    struct cuda_noted {
        uint64_t number;
        uint32_t index;
    } *noted;                  /* delivered buffers, oldest first */
    size_t noted_count, noted_next, noted_capacity;
    uint32_t buffers_seen;     /* the most that were ever taken */
    uint64_t noted_ticks;      /* the time of cuda_note() */
    uint64_t goal, goal_ticks; /* cuda_set_goal(): buffers with lower numbers, and the time */
    unsigned char *copy;       /* of the current buffer */
    int recovering;            /* the current buffer was never delivered */
    uint64_t latest_ns;        /* then no timestamp can be later than this */

    struct cuda_pairs pairs;
    uint32_t own_thread;       /* the agent's; 0: unknown */
    struct cuda_target target;
    struct cuda_waits waits;
    struct cuda_chains chains;
    struct cuda_code_map code;
    struct cuda_pc_rows *pc;       /* NULL: no warps were sampled */
    struct cuda_counted_map counted;
    struct wire_counted *replayed; /* launches of which CUPTI writes no record, because it replays the kernel */
    size_t replayed_count, replayed_room;
};

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

/* A row in the table's batch, to be filled in place and committed. Intern strings before this call. */
#define CUDA_ROW(cuda, table) ((struct row_##table *)cuda_row((cuda)->writer, TABLE_##table))
static inline void *cuda_row(struct writer *writer, enum table_id table)
{
    size_t count = 1;
    uint64_t *row = writer_reserve(writer, table, &count);
    row[0] = 0; /* present */
    return row;
}
#define CUDA_COMMIT(cuda, table) writer_commit((cuda)->writer, TABLE_##table, 1)

/* Sets a column if the record has the field. */
#define CUDA_SET_IF(row, table, column, value)             \
    do {                                                   \
        int64_t cuda_value_ = (value);                     \
        if (cuda_value_ != CUPTI_NO_FIELD)                 \
            ROW_SET(row, table, column, cuda_value_);      \
    } while (0)

/* The report time of a timestamp; 0, which means that there is none, stays 0. */
static inline int64_t cuda_time(struct cuda_process *cuda, int64_t cupti_ns)
{
    return cupti_ns ? cuda_clock_time(&cuda->clock, (uint64_t)cupti_ns) : 0;
}

/* nsys counts kinds of memory from 0 (pageable), and has the unknown kind last. */
static inline int64_t cuda_memory_kind(int64_t cupti_kind)
{
    return cupti_kind >= 1 && cupti_kind <= 7 ? cupti_kind - 1 : 7;
}

/* ---- Records of the agent -------------------------------------------------------------------------------------- */

/* Reads one of them, of the thread tid. Returns 0, or -1 if it is malformed. */
#define CUDA_TOLD(name) \
    int name(struct cuda_process *cuda, const struct wire_record *record, uint32_t words, uint32_t tid)
typedef CUDA_TOLD((*cuda_told));

CUDA_TOLD(cuda_device_told);      /* cuda_devices.c */
CUDA_TOLD(cuda_stream_told);      /* cuda_devices.c */
CUDA_TOLD(cuda_wait_told);        /* cuda_waits.c */
CUDA_TOLD(cuda_call_told);        /* cuda_rows.c */
CUDA_TOLD(cuda_code_told);        /* cuda_code_rows.c */
CUDA_TOLD(cuda_pc_sampling_told); /* cuda_pc_rows.c, as those below */
CUDA_TOLD(cuda_stall_reason_told);
CUDA_TOLD(cuda_pc_function_told);
CUDA_TOLD(cuda_pc_told);
CUDA_TOLD(cuda_pc_totals_told);
CUDA_TOLD(cuda_cubin_told);

/* ---- cuda_names.c ---------------------------------------------------------------------------------------------- */

void cuda_names_read(struct cuda_process *cuda, uint64_t until); /* until: offset in the area */
void cuda_names_free(struct cuda_process *cuda);

/* Returns the text that was at this pointer of the program; the address as text if the agent has not published it. */
const struct cuda_name *cuda_names_find(struct cuda_process *cuda, uint64_t pointer);
const struct cuda_call_name *cuda_call_name(struct cuda_process *cuda, enum cuda_domain domain, uint32_t id);

/* ---- cuda_rows.c, cuda_memory.c: one function for each kind ---------------------------------------------------- */

#define CUDA_HANDLER(name) void name(struct cuda_process *cuda, const struct cupti_layout *layout, const void *record)
typedef CUDA_HANDLER((*cuda_handler));
#define FIELD(type, name) cupti_field(layout, record, CUPTI_##type##_##name) /* of the record in a handler */

struct cuda_kind {
    cuda_handler read;
    int has_span; /* it has a start and an end, in these fields */
    enum cupti_field start, end;
    int has_call; /* it comes from a call, whose correlation id is in this field */
    enum cupti_field correlation;
};
extern const struct cuda_kind cuda_kinds[CUPTI_KIND_LIMIT];

CUDA_HANDLER(cuda_memory_record);
CUDA_HANDLER(cuda_pool_record);
CUDA_HANDLER(cuda_unified_memory_record);

int64_t cuda_global_tid(const struct cuda_process *cuda, uint32_t tid);

/* ---- cuda_devices.c: devices, contexts, streams ---------------------------------------------------------------- */

CUDA_HANDLER(cuda_context_record);
CUDA_HANDLER(cuda_green_context_record);
CUDA_HANDLER(cuda_stream_record);
const struct cuda_context *cuda_context_find(const struct cuda_process *cuda, uint32_t id);
void cuda_target_finish(struct cuda_process *cuda);

/* ---- cuda_waits.c ---------------------------------------------------------------------------------------------- */

CUDA_HANDLER(cuda_event_record);

/* An API call that waits or orders streams; times are report times. */
void cuda_waits_call(struct cuda_process *cuda, uint32_t correlation, int64_t start_ns, int64_t end_ns);

/* All records that threads wrote before these ticks have been read. */
void cuda_waits_settle(struct cuda_process *cuda, uint64_t ticks);
void cuda_waits_finish(struct cuda_process *cuda);
void cuda_waits_free(struct cuda_process *cuda);

/* ---- cuda_code_rows.c ------------------------------------------------------------------------------------------ */

void cuda_code_run(struct cuda_process *cuda, const char *name, int64_t text_id); /* a kernel of this name ran */
void cuda_code_finish(struct cuda_process *cuda); /* writes the rows of the kernels that ran */
void cuda_code_free(struct cuda_process *cuda);

/* ---- cuda_pc_rows.c -------------------------------------------------------------------------------------------- */

void cuda_pc_rows_finish(struct cuda_process *cuda); /* writes the rows of samples */
void cuda_pc_rows_free(struct cuda_process *cuda);

/* ---- cuda_pc_lines.c ------------------------------------------------------------------------------------------- */

/* Cubins with line information, put together from their parts. {0} is none. */
struct cuda_cubin {
    uint64_t crc;
    unsigned char *image;
    size_t size;
};
MAP(cuda_cubin_map, struct cuda_cubin, uint64_t, crc, image, hash_number, map_is_same_number)
int cuda_cubin_add(struct cuda_cubin_map *cubins, const struct wire_record *record, uint32_t words); /* 0, or -1 */
void cuda_cubins_free(struct cuda_cubin_map *cubins);

/* The lines of a function, by offset. */
struct cuda_function_lines {
    struct cuda_pc_line {
        uint64_t offset;
        int64_t file_id; /* of a string */
        uint32_t line;   /* 0: none */
    } *list;             /* owned */
    size_t count, capacity;
    struct writer *writer;
};
void cuda_function_lines_read(struct cuda_function_lines *lines, const struct cuda_cubin_map *cubins, uint64_t crc,
                              const char *function);
const struct cuda_pc_line *cuda_function_line(const struct cuda_function_lines *lines, uint64_t offset); /* or NULL */

/* ---- kernel_counter_rows.c -------------------------------------------------------------------------------------- */

CUDA_TOLD(cuda_counted_told);
CUDA_TOLD(cuda_image_told);
CUDA_TOLD(cuda_uncounted_told);

void cuda_counters_finish(struct cuda_process *cuda); /* writes the rows of kernels that were replayed */
void cuda_counters_free(struct cuda_process *cuda);

/* Returns 1 if the kernel of a record was counted and has its row already. */
int cuda_counted_again(struct cuda_process *cuda, uint32_t correlation);

/* The row of a kernel, before it is written. 1: it is kept back. CUPTI writes no times for kernels that it replays;
 * they get those that were counted. Sets *start_ns, by CUPTI's clock. */
int cuda_counted_kernel(struct cuda_process *cuda, struct row_CUPTI_ACTIVITY_KIND_KERNEL *kernel, int64_t *start_ns);

/* ---- cuda_chains.c --------------------------------------------------------------------------------------------- */

/* Returns symbol and module of an address of the program. Valid until the next call. */
const struct cuda_frame *cuda_frame_of(struct cuda_process *cuda, uint64_t address);

/* Takes the call chains of a call; 0 and 0 if it has none. */
struct call_chains cuda_chain_of(struct cuda_process *cuda, enum cuda_domain domain, uint32_t correlation);
void cuda_chains_free(struct cuda_process *cuda);

#endif
