/* One process whose Python stacks are sampled: see python_target.h.
 *
 * A round reads the process at one moment (python_snapshot.h) and walks the snapshot. A stack that needed more data,
 * or whose frames do not seem to belong together, is read again, at most three times, then dropped and counted. A
 * thread that waits and has not been on a CPU since then has the same stack as before: it is not read again. */
#include "python_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "python_find.h"
#include "python_garbage.h"
#include "thread_watch.h"

#define DEPTH_MAX 1024
#define TRIES 4
/* How long a cached code object is valid. */
#define CHECK_NS 10000000
/* The same in a frame that has been there for longer. */
#define HELD_NS 50000000
/* After this time all code objects of an unchanged stack are checked once. */
#define CONFIRM_NS 20000000
/* Searches for an interpreter are FIRST_LOOK_NS apart at first, later LAST_LOOK_NS. */
#define FIRST_LOOK_NS 1000000
#define LAST_LOOK_NS 1000000000
/* Before the first search in a program that is not named like Python; then always twice as long as before. */
#define UNLIKELY_LOOK_NS 100000000
#define NEVER_NS (INT64_MAX / 4)
#define DENIALS_MAX 8           /* refused searches before the refusal is final: during exec all are refused */
#define PTHREAD_BYTES 1024      /* of struct pthread, which contains the thread's id */
#define ROUNDS_TO_IDENTIFY 16u
#define NAME_TRIES 3            /* rounds in which the name of a thread is read; it may change while it starts */
#define WATCHED_MAX 512         /* threads of a process with open files in /proc */

struct thread {
    uint64_t address, pthread; /* of its thread state */
    uint32_t tid;              /* its own id; 0: there is no such thread (any more, or yet) */
    struct thread_watch watch;
    uint32_t seen;             /* round */
    /* At the last look it waited, after `slices` turns on a CPU; is_settled: the frames below were read after that. */
    int waits;
    uint64_t slices;
    int is_settled;
    struct python_frame *frames; /* of the last sample */
    int frame_count;
    size_t frame_room;
    uint32_t chain;
    int has_chain, is_cut;
    int64_t since_ns; /* since when it has these frames */
    int is_confirmed; /* the code objects of these frames have been checked */
    int name_tries;   /* attempts to read its name that are left */
    uint8_t gil;      /* enum python_gil, while it waits */
};

enum stage { LOOKING, READING, REFUSED };

struct python_target {
    struct process *process;
    pid_t pid;
    enum stage stage;
    const char *refusal;
    int64_t next_look_ns, look_interval_ns, longest_interval_ns;
    int denials;
    struct python_others *others;            /* the caller's */
    struct snapshot snapshot;
    struct python_memory memory, memory_now; /* the snapshot; the current memory */
    struct python_runtime python;
    struct python_code_map codes;
    struct thread *threads;
    size_t thread_count, thread_room, next_thread;
    uint32_t round;
    struct python_target_counts counts;
    struct python_garbage garbage;
    struct stack {
        struct python_frame frames[DEPTH_MAX], last_frames[DEPTH_MAX];
        uint32_t places[DEPTH_MAX];
    } *stack; /* being read; NULL before the interpreter is found: most processes have none */
};

/* Programs embed Python under any name, but most that are not named like it have none. To read the mappings of a
 * process locks them for a moment, so that is done rarely: a process that ends soon is never searched. */
static void expect_no_python(struct python_target *target)
{
    target->look_interval_ns = UNLIKELY_LOOK_NS;
    target->longest_interval_ns = NEVER_NS;
    target->next_look_ns = clock_monotonic_ns() + UNLIKELY_LOOK_NS;
}

struct python_target *python_target_new(struct process *process, pid_t pid, int is_automatic,
                                        struct python_others *others)
{
    struct python_target *target = calloc(1, sizeof *target);
    if (!target)
        return NULL;
    target->process = process;
    target->pid = pid;
    target->others = others;
    target->look_interval_ns = FIRST_LOOK_NS;
    target->longest_interval_ns = LAST_LOOK_NS;
    if (is_automatic && !python_is_program(pid))
        expect_no_python(target);
    snapshot_init(&target->snapshot, pid);
    target->memory = (struct python_memory){ snapshot_read, &target->snapshot };
    target->memory_now = (struct python_memory){ snapshot_read_now, &target->snapshot };
    return target;
}

static void free_thread(struct thread *thread)
{
    thread_watch_close(&thread->watch);
    free(thread->frames);
}

void python_target_free(struct python_target *target)
{
    if (!target)
        return;
    for (size_t i = 0; i < target->thread_count; i++)
        free_thread(&target->threads[i]);
    free(target->threads);
    free(target->stack);
    snapshot_free(&target->snapshot);
    python_codes_free(&target->codes);
    free(target);
}

int64_t python_target_due(const struct python_target *target)
{
    return target->stage == READING ? 0 : target->stage == LOOKING ? target->next_look_ns : INT64_MAX;
}

struct process *python_target_process(const struct python_target *target)
{
    return target->process;
}
const struct python_target_counts *python_target_counts(const struct python_target *target)
{
    return &target->counts;
}
int python_target_saw_collector(const struct python_target *target)
{
    return target->garbage.count > 0;
}
int python_target_is_python(const struct python_target *target)
{
    return target->stage == READING;
}
const char *python_target_refusal(const struct python_target *target)
{
    return target->refusal;
}

/* ---- Searching for the interpreter ----------------------------------------------------------------------------- */

static void python_target_refuse(struct python_target *target, const char *why)
{
    target->stage = REFUSED;
    target->refusal = why;
}

static void python_target_look(struct python_target *target, int64_t now_ns)
{
    uint64_t symbols[PYTHON_SYMBOL_COUNT];
    target->snapshot.error = 0;
    int found = python_find(target->pid, &target->memory_now, target->others, symbols);
    enum python_status status = found > 0 ? python_open(&target->python, &target->memory_now, symbols) : PYTHON_TORN;
    target->next_look_ns = now_ns + target->look_interval_ns;
    if (target->look_interval_ns < target->longest_interval_ns)
        target->look_interval_ns *= 2;
    if (status == PYTHON_OK && (target->stack = malloc(sizeof *target->stack)) == NULL)
        python_target_refuse(target, "out of memory");
    else if (status == PYTHON_OK)
        target->stage = READING;
    else if (status != PYTHON_TORN && status != PYTHON_UNREADABLE)
        python_target_refuse(target, python_status_text(status));
    else if (target->snapshot.error == EPERM || target->snapshot.error == ENOSYS)
        if (++target->denials == DENIALS_MAX)
            python_target_refuse(
                target, "the kernel denies reading its memory (process_vm_readv); 'tacho doctor' says how to allow "
                        "it");
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

/* The id of the thread in /proc. */
static pid_t python_target_number_of(struct python_target *target, const struct python_thread *read)
{
    unsigned char bytes[PTHREAD_BYTES];
    if (read->native)
        return thread_of_native(target->pid, (pid_t)read->native);
    for (size_t size = sizeof bytes; size >= 256; size /= 2) /* it may lie at the end of a page */
        if (snapshot_read_now(&target->snapshot, read->pthread, bytes, size) == 0)
            return thread_of_pthread(target->pid, bytes, size);
    return 0;
}

/* Identifies a thread. A thread without an id is tried again from time to time: Python sets it late in the child of a
 * fork. */
static void python_target_identify(struct python_target *target, struct thread *thread,
                                   const struct python_thread *read)
{
    pid_t number = python_target_number_of(target, read);
    thread->tid = number && read->native ? (uint32_t)read->native : (uint32_t)number;
    if (number && target->thread_count <= WATCHED_MAX)
        thread_watch_open(&thread->watch, target->pid, number);
}

static struct thread *python_target_add_thread(struct python_target *target)
{
    if (array_reserve(&target->threads, &target->thread_room, target->thread_count + 1, sizeof *target->threads) != 0)
        return NULL;
    return &target->threads[target->thread_count++];
}

/* Threads come in the same order in each round, so the search begins with the next one. */
static struct thread *python_target_find_thread(struct python_target *target, const struct python_thread *read)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        size_t at = (target->next_thread + i) % target->thread_count;
        struct thread *thread = &target->threads[at];
        if (thread->address == read->address && thread->pthread == read->pthread) {
            target->next_thread = at + 1;
            return thread;
        }
    }
    struct thread *thread = python_target_add_thread(target);
    if (!thread)
        return NULL;
    *thread = (struct thread){
        .address = read->address, .pthread = read->pthread, .watch = { -1, -1, 0 }, .name_tries = NAME_TRIES
    };
    python_target_identify(target, thread, read);
    target->next_thread = target->thread_count;
    return thread;
}

static void forget_ended(struct python_target *target)
{
    size_t kept = 0;
    for (size_t i = 0; i < target->thread_count; i++) {
        if (target->threads[i].seen == target->round)
            target->threads[kept++] = target->threads[i];
        else
            free_thread(&target->threads[i]);
    }
    target->thread_count = kept;
    target->next_thread = 0;
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

static int is_same_stack(const struct python_frame *frames, int count, const struct python_frame *others,
                         int other_count)
{
    int same = count == other_count;
    for (int i = 0; same && i < count; i++)
        same = frames[i].address == others[i].address && frames[i].code == others[i].code;
    return same;
}

/* Stores the stack that was read as the thread's: 1, or -1 if out of memory. */
static int keep_stack(struct python_target *target, struct thread *thread, const struct python_look *with, int count)
{
    int64_t chain = python_names_chain(with->names, target->stack->places, (size_t)count);
    if (!is_same_stack(target->stack->frames, count, thread->frames, thread->frame_count)) {
        thread->since_ns = with->now_ns;
        thread->is_confirmed = 0;
    }
    thread->has_chain = thread->frame_count = 0;
    if (chain < 0 || array_reserve(&thread->frames, &thread->frame_room, (size_t)count, sizeof *thread->frames) != 0)
        return -1;
    memcpy(thread->frames, target->stack->frames, (size_t)count * sizeof *thread->frames);
    thread->frame_count = count;
    thread->chain = (uint32_t)chain;
    thread->has_chain = 1;
    return 1;
}

/* True if the stack has not changed for CONFIRM_NS and its code objects have not been checked in that time. */
static int python_target_is_due(const struct thread *thread, const struct python_look *with)
{
    return thread->has_chain && !thread->is_confirmed && with->now_ns - thread->since_ns > CONFIRM_NS;
}

/* Finds the place of each frame: 1; 0 if they are hardly from one moment; -1 if they cannot be. A thread's outermost
 * frame stays as long as it has any; the others follow each other. */
static int place_frames(struct python_target *target, const struct thread *thread, const struct python_look *with,
                        int count)
{
    struct python_look look = *with;
    int is_likely = 1, is_held = 1, fits, has_stack = target->python.at[PYTHON_FRAME_OWNER] != PYTHON_NO_FIELD;
    for (int i = count - 1, before = thread->frame_count - 1; i >= 0; i--, before--) {
        const struct python_frame *frame = &target->stack->frames[i],
                                  *then = before >= 0 ? &thread->frames[before] : NULL;
        is_held = is_held && then && then->address == frame->address && then->code == frame->code;
        look.believed_ns = python_target_is_due(thread, with) ? 0 : is_held ? HELD_NS : CHECK_NS;
        if (i == count - 1)
            is_likely = is_held;
        if (python_codes_place(&target->codes, &look, frame, i && has_stack ? frame - 1 : NULL,
                               &target->stack->places[i], &fits) != 0)
            return -1;
        target->stack->places[i] |= frame->is_entry ? PYTHON_ENTRY : 0;
        is_likely &= fits;
    }
    return is_likely;
}

/* Is the innermost frame still the same, and does it run the same code? */
static int is_top_unchanged(struct python_target *target, const struct python_thread *read,
                            const struct python_frame *top)
{
    struct python_thread now;
    struct python_frame frame;
    uint64_t next;
    return python_thread_read(&target->python, &target->memory_now, read->address, &now) == PYTHON_OK &&
           now.frame == read->frame &&
           python_frames(&target->python, &target->memory_now, now.frame, &frame, 1, &next) == 1 &&
           frame.code == top->code;
}

static int python_target_read_frames(struct python_target *target, struct thread *thread, struct python_thread *read,
                                     int is_first, uint64_t *next)
{
    if (!is_first) {
        snapshot_take(&target->snapshot);
        if (python_thread_read(&target->python, &target->memory, read->address, read) != PYTHON_OK ||
            read->pthread != thread->pthread)
            return -PYTHON_TORN;
    }
    target->snapshot.order = SNAPSHOT_SECOND;
    int count = python_frames(&target->python, &target->memory, read->frame, target->stack->frames, DEPTH_MAX, next);
    target->snapshot.order = SNAPSHOT_FIRST;
    return count;
}

/* Reads the stack of a thread into its chain: 1; 0 if it has no Python frames; -1 if it could not be read completely.
 * An unlikely stack is accepted if it is read a second time. */
static int python_target_read_stack(struct python_target *target, struct thread *thread, struct python_thread *read,
                                    const struct python_look *with)
{
    int before = 0; /* number of frames of the previous attempt */
    for (int attempt = 0; attempt < TRIES; attempt++) {
        uint64_t next = 0;
        unsigned late = target->snapshot.late;
        int count = python_target_read_frames(target, thread, read, attempt == 0, &next);
        if (count == 0)
            return 0;
        if (count < 0)
            continue;
        if (target->snapshot.late != late &&
            !(attempt == TRIES - 1 && is_top_unchanged(target, read, target->stack->frames)))
            continue;
        int was_due = python_target_is_due(thread, with);
        if (thread->has_chain && !was_due && count == thread->frame_count &&
            memcmp(target->stack->frames, thread->frames, (size_t)count * sizeof *target->stack->frames) == 0)
            return 1;
        int likely = place_frames(target, thread, with, count);
        if (likely > 0 ||
            (likely == 0 && is_same_stack(target->stack->frames, count, target->stack->last_frames, before))) {
            thread->is_cut = next != 0;
            thread->is_confirmed |= was_due;
            return keep_stack(target, thread, with, count);
        }
        memcpy(target->stack->last_frames, target->stack->frames, (size_t)count * sizeof *target->stack->frames);
        before = count;
    }
    return -1;
}

/* ---- A round --------------------------------------------------------------------------------------------------- */

/* Finds out whether a thread waits, and whether for the GIL. A thread that holds the GIL and runs needs no further
 * check. The slices belong to this wait only if the wait is the same before and after reading them. */
static int look_at_state(struct thread *thread, const struct python_interpreter *interpreter)
{
    uint64_t futex, futex_then;
    int state = thread_watch_state(&thread->watch, &futex);
    thread->is_settled = 0;
    thread->waits = state == THREAD_WAITING;
    thread->gil = PYTHON_GIL_NONE;
    if (thread->waits) {
        thread->slices = thread_watch_slices(&thread->watch);
        if (thread_watch_state(&thread->watch, &futex_then) != state || futex_then != futex)
            thread->slices = 0;
        if (interpreter->gil && futex - interpreter->gil < PYTHON_GIL_BYTES)
            thread->gil = PYTHON_GIL_WAITS;
    }
    return state;
}

/* With several interpreters an OS thread may have a state in each. The one that holds a GIL, or the first one, stands
 * for it. */
static int is_double(struct python_batch *batch, size_t first, uint32_t tid, int holds)
{
    for (size_t i = first; i < batch->sample_count; i++) {
        struct python_sample *sample = &batch->samples[i];
        if (sample->tid != tid)
            continue;
        if (!holds)
            return 1;
        *sample = batch->samples[--batch->sample_count];
        return 0;
    }
    return 0;
}

/* Reads the name that the program gave a thread. */
static void name_thread(struct python_target *target, struct thread *thread, const struct python_look *with)
{
    struct python_named named = { .process = target->process, .tid = thread->tid };
    if (!thread->frame_count || thread->is_cut)
        return;
    thread->name_tries--;
    if (python_thread_name(&target->python, &target->memory_now, &thread->frames[thread->frame_count - 1],
                           named.name) != PYTHON_OK)
        return;
    python_batch_name(with->names->batch, &named);
    thread->name_tries = 0;
}

static void sample_thread(struct python_target *target, const struct python_interpreter *interpreter,
                          struct thread *thread, struct python_thread *read, const struct python_look *with,
                          size_t first_sample)
{
    thread->seen = target->round;
    if (!thread->tid && target->round % ROUNDS_TO_IDENTIFY == 0)
        python_target_identify(target, thread, read);
    if (!thread->tid)
        return;
    int holds = interpreter->holder == read->address, state = THREAD_WAITING, is_waiting_still = 0;
    if (thread->waits && thread->slices)
        is_waiting_still = thread_watch_slices(&thread->watch) == thread->slices;
    if (!(is_waiting_still && thread->is_settled && thread->is_confirmed && thread->has_chain)) {
        int got = read->frame ? python_target_read_stack(target, thread, read, with) : 0;
        target->counts.torn += got < 0;
        if (got <= 0) {
            thread->waits = 0;
            return;
        }
        if (!is_waiting_still)
            state = look_at_state(thread, interpreter);
        thread->is_settled = is_waiting_still;
    }
    if (thread->name_tries)
        name_thread(target, thread, with);
    if (is_double(with->names->batch, first_sample, thread->tid, holds))
        return;
    target->counts.cut += (uint64_t)thread->is_cut;
    python_batch_add(with->names->batch, &(struct python_sample){
                                             .process = target->process,
                                             .monotonic_ns = with->now_ns,
                                             .tid = thread->tid,
                                             .chain = thread->chain,
                                             .state = (uint8_t)state,
                                             .gil = holds ? PYTHON_GIL_HOLDS : thread->gil,
                                         });
}

static void sample_interpreter(struct python_target *target, const struct python_interpreter *interpreter,
                               const struct python_look *with, size_t first_sample)
{
    struct python_thread read;
    unsigned count = 0;
    for (uint64_t at = interpreter->first_thread; at && count++ < PYTHON_THREADS_MAX; at = read.next) {
        if (python_thread_read(&target->python, &target->memory, at, &read) != PYTHON_OK ||
            read.interpreter != interpreter->address)
            return;                                   /* the list was changed: the rest is missing in this round */
        uint64_t next = read.next;
        struct thread *thread = python_target_find_thread(target, &read);
        if (!thread || thread->seen == target->round) /* the list is a cycle */
            return;
        sample_thread(target, interpreter, thread, &read, with, first_sample);
        read.next = next;                             /* the value in the snapshot in which the list was begun */
    }
}

/* The thread that holds the lock is the one that collects. It was sampled, so that its id is known. */
static void watch_garbage(struct python_target *target, const struct python_interpreter *interpreter,
                          const struct python_collector *collector, const struct python_look *with)
{
    struct python_collection ended = { .process = target->process };
    uint32_t tid = 0;
    for (size_t i = 0; i < target->thread_count && interpreter->holder; i++)
        if (target->threads[i].address == interpreter->holder && target->threads[i].seen == target->round)
            tid = target->threads[i].tid;
    if (python_garbage_round(&target->garbage, interpreter->address, collector, tid, with->now_ns, &ended))
        python_batch_collect(with->names->batch, &ended);
}

static void python_target_sample(struct python_target *target, struct python_names *names, int64_t now_ns)
{
    const struct python_look with = {
        .python = &target->python, .memory = &target->memory_now, .names = names, .now_ns = now_ns
    };
    size_t first_sample = names->batch->sample_count;
    struct python_interpreter interpreter;
    unsigned count = 0;
    target->round++;
    snapshot_take(&target->snapshot);
    uint64_t at = python_first_interpreter(&target->python, &target->memory);
    for (; at && count++ < PYTHON_INTERPRETERS_MAX; at = interpreter.next) {
        if (python_interpreter_read(&target->python, &target->memory, at, &interpreter) != PYTHON_OK)
            break;
        struct python_collector collector;
        int is_read = python_collector_read(&target->python, &target->memory, at, &collector) == PYTHON_OK;
        sample_interpreter(target, &interpreter, &with, first_sample);
        if (is_read)
            watch_garbage(target, &interpreter, &collector, &with);
    }
    forget_ended(target);
    target->counts.samples += names->batch->sample_count - first_sample;
}

void python_target_round(struct python_target *target, struct python_names *names, int64_t now_ns)
{
    if (target->stage == LOOKING && now_ns >= target->next_look_ns)
        python_target_look(target, now_ns);
    if (target->stage == READING)
        python_target_sample(target, names, now_ns);
}
