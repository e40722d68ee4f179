/* The events that a replay is built from: calls of the CUDA API that lie in no other call, and work on GPUs. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_EVENTS_H
#define TACHO_ANALYZE_REPLAY_REPLAY_EVENTS_H

#include "analyze/engine/keys.h"
#include "analyze/model/calls.h"
#include "analyze/model/gpu.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/model/stream_numbers.h"

enum { NO_WORK = UINT32_MAX, NO_LINK = UINT32_MAX, NO_HANDOVER = UINT32_MAX };

/* The tables of work, in the order of gpu_busy_tables[]; the first three in that of enum gpu_kind, too. */
enum { REPLAY_KERNEL, REPLAY_COPY, REPLAY_FILL, REPLAY_GRAPH, REPLAY_TABLES };

/* How a call depends on work. */
enum replay_wait {
    REPLAY_NO_WAIT,
    REPLAY_WAITED, /* it returned when the work was done */
    REPLAY_READY,  /* it found the work done, and would have waited for it */
    REPLAY_QUEUED, /* the work made room in the queue that the call launched into */
};

/* The memory that a copy or fill concerns, as far as its call depends on that. */
enum replay_memory {
    REPLAY_DEVICE_MEMORY, /* no call waits */
    REPLAY_HOST_MEMORY,   /* a blocking call waits until it is done */
    REPLAY_PAGEABLE,      /* so does any call, and until the last part is staged */
};

/* The engine of a GPU that runs a copy. Copies of one engine run one after the other, whatever their streams, and
 * beside kernels. The values are those of CUPTI's copyKind. */
enum replay_engine { REPLAY_NO_ENGINE, REPLAY_TO_GPU, REPLAY_FROM_GPU, REPLAY_ENGINES };

struct replay_call {
    int64_t start_ns, end_ns;
    uint32_t row;       /* in the table of calls */
    uint32_t thread;    /* its number */
    uint32_t name;      /* its number */
    uint32_t waits_for; /* the work whose end lets it return, or NO_WORK */
    uint32_t handover;  /* its number, if another thread handed over to this one, or NO_HANDOVER */
    enum replay_wait wait;
};

struct replay_work {
    int64_t start_ns, end_ns; /* not before the start of its call */
    uint32_t call;            /* that launched it, or NO_CALL */
    uint32_t stream;          /* its number */
    uint32_t at;              /* row, counted over all tables */
    uint32_t events;          /* the first link of work of other streams that it waits for, or NO_LINK */
};

struct replay_link {
    uint32_t work, next;
};

struct replay_handover {
    uint32_t after; /* a call of the thread that handed over */
    int64_t own_ns; /* how much of the time since its last call the other thread needs for itself */
};

struct replay_thread {
    int64_t id;
    uint32_t first, end; /* of its calls */
};

/* Calls wait for streams, contexts and processes. Their keys are those of streams, with this in place of parts. */
#define SCOPE_ALL INT64_MIN

/* Starts from {0}. */
struct replay_events {
    struct replay_call *calls;            /* owned, as all below; by thread, then by start */
    uint32_t call_count;
    struct replay_work *works;            /* by stream, then by start */
    uint32_t work_count;
    uint32_t early_count;                 /* work that begins long before its call: the clocks of the two differ */
    int64_t early_ns;                     /* by so much at most */
    uint32_t first_at[REPLAY_TABLES + 1]; /* of each table */
    struct replay_thread *threads;
    uint32_t thread_count;
    size_t thread_room;
    struct keys names;    /* of calls, as string ids */
    struct keys scopes;   /* streams have the numbers of their scopes */
    struct keys gpus;     /* with work, whatever number processes have for them */
    uint32_t *streams_of; /* by GPU: the number of its streams */
    uint32_t *gpu_of;     /* by stream */
    size_t gpu_room, stream_room;
    int64_t *call_ns;     /* by name: what a call takes that does not wait */
    uint8_t *has_work;    /* by name: a call that waits, and does more than that */
    int64_t return_ns;    /* the time from the end of the work that a call waits for to the call's own end */
    uint8_t *memory;      /* by row of the tables of copies and fills, as one: enum replay_memory */
    size_t memory_room;
    uint8_t *engine;      /* by row of the table of copies: enum replay_engine */
    size_t engine_room;
    uint8_t *is_full;     /* by row of the table of kernels: it has a block for every multiprocessor */
    int has_shared_gpu;   /* a GPU has several streams; else is_full is NULL */
    struct replay_handover *handovers;
    uint32_t handover_count;
    struct replay_link *links;
    size_t link_count, link_room;
    struct calls rows; /* the table of calls, until replay_rows_free(), as all below */
    uint32_t *call_of; /* by row of it: the call that holds it */
    size_t row_count;
    uint8_t *purpose;  /* by row: enum replay_purpose; NULL: no id is that of several calls, see replay_call_take() */
    uint32_t *turn;    /* by purpose and first row of an id: the row whose turn it is, plus 1; 0: that first row */
};

/* The purpose of a call, as far as records of other tables have its id. */
enum replay_purpose {
    PURPOSE_KERNEL,
    PURPOSE_COPY,
    PURPOSE_FILL,
    PURPOSE_GRAPH, /* up to here in the order of the tables of work */
    PURPOSE_SYNC,
    PURPOSE_HOLD,  /* cudaStreamWaitEvent */
    PURPOSE_RECORD,
    PURPOSES,      /* another one, or part of another call */
};

/* Reads all of them, on the thread of its caller but for the decoding of columns. After an error there is nothing to
 * free. */
int replay_events_read(struct replay_events *events, struct report *report, struct error *err);
/* Its parts: reads the calls, and then the work. replay_events_free() is safe after an error. */
int replay_calls_read(struct replay_events *events, struct report *report, struct error *err);
int replay_works_read(struct replay_events *events, struct report *report, struct error *err);
/* Frees what replay_call_take() needs. */
void replay_rows_free(struct replay_events *events);
void replay_events_free(struct replay_events *events);

/* The thread with this id; NULL: it makes no calls. */
const struct replay_thread *replay_thread_of(const struct replay_events *events, int64_t id);
/* The first call of a thread that starts at this time or later; its end if there is none. */
uint32_t replay_call_from(const struct replay_events *events, const struct replay_thread *thread, int64_t time_ns);

/* By work: the copy before it on its engine, or NO_WORK. *out is the caller's to free; NULL: no GPU has several
 * streams, or there are no copies. */
int replay_engines_find(const struct replay_events *events, uint32_t **out);
/* Finds the work that each call waits for, and the work of other streams that work waits for. */
int replay_waits_find(struct replay_events *events, struct report *report, struct error *err);
/* Finds calls that go on after a call of another thread. */
int replay_handovers_find(struct replay_events *events, struct report *report, struct error *err);

/* The call of a process with this correlation id, or NO_CALL. CUPTI may get stuck and give all further calls of a
 * thread the same id: then each record gets the next call of its purpose, so ask once for each record, in order of
 * time. */
uint32_t replay_call_take(struct replay_events *events, int64_t process, int64_t correlation,
                          enum replay_purpose purpose);

static inline int replay_table_of(const struct replay_events *events, uint32_t at)
{
    int table = 0;

    while (at >= events->first_at[table + 1])
        table++;
    return table;
}

static inline enum replay_memory replay_memory_of(const struct replay_events *events, const struct replay_work *work)
{
    int table = replay_table_of(events, work->at);

    return table == REPLAY_COPY || table == REPLAY_FILL
               ? (enum replay_memory)events->memory[work->at - events->first_at[REPLAY_COPY]]
               : REPLAY_DEVICE_MEMORY;
}

static inline enum replay_engine replay_engine_of(const struct replay_events *events, const struct replay_work *work)
{
    return replay_table_of(events, work->at) == REPLAY_COPY
               ? (enum replay_engine)events->engine[work->at - events->first_at[REPLAY_COPY]]
               : REPLAY_NO_ENGINE;
}

/* Whether work can fill its device alone. */
static inline int replay_fills_device(const struct replay_events *events, const struct replay_work *work)
{
    int table = replay_table_of(events, work->at);

    return table == REPLAY_GRAPH || (table == REPLAY_KERNEL && events->is_full[work->at]);
}

#endif
