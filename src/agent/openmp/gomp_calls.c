/* Calls of libgomp's entry points, which libtacho-openmp.so interposes, to records.
 *
 * A parallel region is a call that runs a function of the program in every thread of a team. The agent puts its own in
 * that place, so that each thread's part begins and ends where the program's function does. The barrier at the end of a
 * region is inside libgomp and is not seen: a thread waits from the end of its part to the end of the region. */
#include "gomp_calls.h"

#include "agent/core/agent.h"
#include "gomp_tasks.h"
#include "openmp_agent.h"

enum gomp_action {
    GOMP_REGION,        /* a team runs a function: word 0, with its data: word 1 */
    GOMP_WORK_BEGIN,
    GOMP_WORK_END,
    GOMP_WORK_END_WAIT, /* with the barrier at its end */
    GOMP_SINGLE,        /* the result says which thread executes it */
    GOMP_WAIT,
    GOMP_LOCK,          /* word 0: the lock, if there is a word */
    GOMP_TEST_LOCK,
    GOMP_UNLOCK,
    GOMP_LOCK_INIT,
    GOMP_LOCK_DESTROY,
    GOMP_TASK, /* word 0: the task's function */
    GOMP_TASKLOOP,
    GOMP_CANCEL,
    GOMP_ACTIONS
};

static const struct gomp_calls_function {
    uint8_t action, words, kind;
} gomp_calls_functions[] = {
#define GOMP_CALL(name, words, action, kind) { GOMP_##action, words, kind },
#include "wire/gomp_functions.def"
#undef GOMP_CALL
};
#define FUNCTIONS COUNT_OF(gomp_calls_functions)

static const struct gomp_calls_function *gomp_calls_function_of(const struct word_call *call)
{
    return &gomp_calls_functions[call->function];
}

static void begin_event(const struct word_call *call, enum wire_openmp_event event, uint32_t kind, uint64_t value)
{
    openmp_begin(&(struct agent_openmp_event){ .event = event, .kind = kind, .value = value, .address = call->caller });
}

static void point_event(const struct word_call *call, enum wire_openmp_event event, uint64_t value)
{
    openmp_point(&(struct agent_openmp_event){
        .event = event, .kind = gomp_calls_function_of(call)->kind, .value = value, .address = call->caller });
}

/* ---- Regions --------------------------------------------------------------------------------------------------- */

/* In call->own, so on the stack of the thread that begins the region; it is there until the region has ended. */
struct gomp_calls_region {
    const struct gomp_library *library; /* at GOMP_OWN_LIBRARY */
    gomp_task_function *function;
    void *data;
    uint64_t number;
    const void *caller;
    uint64_t work; /* a kind of OMPT, if the region is a loop or sections */
};
_Static_assert(sizeof(struct gomp_calls_region) <= sizeof(((struct word_call *)0)->own), "it lies there");

static struct gomp_calls_region *region_of(struct word_call *call)
{
    return (struct gomp_calls_region *)(void *)call->own;
}

/* One thread's part of a region. */
static void run_part(void *context)
{
    const struct gomp_calls_region region = *(const struct gomp_calls_region *)context;
    uint32_t index = (uint32_t)region.library->thread_number();
    uint64_t task = wire_openmp_implicit_task(region.number, index);
    openmp_begin(&(struct agent_openmp_event){ .event = WIRE_OPENMP_TASK,
                                               .kind = OMPT_TASK_IMPLICIT,
                                               .index = index,
                                               .parallel = region.number,
                                               .task = task,
                                               .value = (uint32_t)region.library->team_size() });
    if (region.work)
        openmp_begin(&(struct agent_openmp_event){ .event = WIRE_OPENMP_WORKSHARE,
                                                   .kind = (uint32_t)region.work,
                                                   .parallel = region.number,
                                                   .address = region.caller });
    region.function(region.data);
    openmp_end(WIRE_OPENMP_TASK, task);
}

static int begin_region(struct word_call *call)
{
    struct gomp_calls_region *region = region_of(call);
    uint64_t number = openmp_new_region();
    if (!number)
        return 0;
    region->function = (gomp_task_function *)word_call_word(call, 0);
    region->data = (void *)word_call_word(call, 1);
    region->number = number;
    region->caller = call->caller;
    region->work = gomp_calls_function_of(call)->kind;
    *word_call_at(call, 0) = (uintptr_t)run_part;
    *word_call_at(call, 1) = (uintptr_t)region;
    openmp_begin(
        &(struct agent_openmp_event){ .event = WIRE_OPENMP_PARALLEL, .parallel = number, .address = call->caller });
    return 1;
}

static void end_region(struct word_call *call)
{
    openmp_end_region(region_of(call)->number);
}

/* ---- Work and waiting ------------------------------------------------------------------------------------------ */

static int gomp_calls_begin_work(struct word_call *call)
{
    begin_event(call, WIRE_OPENMP_WORKSHARE, gomp_calls_function_of(call)->kind, 0);
    return 0;
}

static int gomp_calls_end_work(struct word_call *call)
{
    openmp_end(WIRE_OPENMP_WORKSHARE, 0);
    return 0;
}

static int begin_wait(struct word_call *call)
{
    begin_event(call, WIRE_OPENMP_SYNC_REGION, gomp_calls_function_of(call)->kind, 0);
    return 1;
}

static void end_wait(struct word_call *call)
{
    openmp_end(WIRE_OPENMP_SYNC_REGION, 0);
}

static int end_work_and_wait(struct word_call *call)
{
    gomp_calls_end_work(call);
    return begin_wait(call);
}

static int begin_nothing(struct word_call *call)
{
    return 1;
}

static void end_nothing(struct word_call *call)
{
}

/* The end of a single region is not a call: it has the time of its begin. A bool is a byte of the result. */
static void end_single(struct word_call *call)
{
    int is_executor = gomp_calls_function_of(call)->kind ? (call->result & 0xff) != 0 : call->result == 0;
    begin_event(call, WIRE_OPENMP_WORKSHARE, is_executor ? OMPT_WORK_SINGLE_EXECUTOR : OMPT_WORK_SINGLE_OTHER, 1);
    openmp_end(WIRE_OPENMP_WORKSHARE, 0);
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

/* One that has no address is the only one of its kind. */
static uint64_t lock_of(const struct word_call *call)
{
    return gomp_calls_function_of(call)->words ? word_call_word(call, 0) : gomp_calls_function_of(call)->kind;
}

static int begin_lock(struct word_call *call)
{
    openmp_lock_wanted(gomp_calls_function_of(call)->kind, lock_of(call), call->caller);
    return 1;
}

static void end_lock(struct word_call *call)
{
    openmp_lock_taken(gomp_calls_function_of(call)->kind, lock_of(call), call->caller);
}

static void end_test_lock(struct word_call *call)
{
    if ((int)call->result)
        end_lock(call);
}

static int gomp_calls_unlock(struct word_call *call)
{
    openmp_lock_given_back(lock_of(call));
    return 0;
}

static int lock_init(struct word_call *call)
{
    point_event(call, WIRE_OPENMP_LOCK_INIT, lock_of(call));
    return 0;
}

static int lock_destroy(struct word_call *call)
{
    point_event(call, WIRE_OPENMP_LOCK_DESTROY, lock_of(call));
    return 0;
}

/* ---- Tasks ----------------------------------------------------------------------------------------------------- */

static void wrap_task(struct word_call *call)
{
    uint64_t *function = word_call_at(call, 0);
    *function = (uintptr_t)gomp_task_wrapper((gomp_task_function *)*function);
}

static int begin_task(struct word_call *call)
{
    point_event(call, WIRE_OPENMP_TASK_CREATE, 0);
    wrap_task(call);
    return 1;
}

static int begin_taskloop(struct word_call *call)
{
    begin_event(call, WIRE_OPENMP_WORKSHARE, OMPT_WORK_TASKLOOP, 0);
    wrap_task(call);
    return 1;
}

static void end_taskloop(struct word_call *call)
{
    openmp_end(WIRE_OPENMP_WORKSHARE, 0);
}

static int gomp_calls_cancel(struct word_call *call)
{
    if (word_call_word(call, 1) & 0xff)
        point_event(call, WIRE_OPENMP_CANCEL, 0);
    return 0;
}

/* ---- The calls ------------------------------------------------------------------------------------------------- */

static const struct {
    int (*begin)(struct word_call *call); /* returns whether gomp_calls_end() must follow */
    void (*end)(struct word_call *call);
} actions[GOMP_ACTIONS] = {
    [GOMP_REGION] = { begin_region, end_region },
    [GOMP_WORK_BEGIN] = { gomp_calls_begin_work, end_nothing },
    [GOMP_WORK_END] = { gomp_calls_end_work, end_nothing },
    [GOMP_WORK_END_WAIT] = { end_work_and_wait, end_wait },
    [GOMP_SINGLE] = { begin_nothing, end_single },
    [GOMP_WAIT] = { begin_wait, end_wait },
    [GOMP_LOCK] = { begin_lock, end_lock },
    [GOMP_TEST_LOCK] = { begin_nothing, end_test_lock },
    [GOMP_UNLOCK] = { gomp_calls_unlock, end_nothing },
    [GOMP_LOCK_INIT] = { lock_init, end_nothing },
    [GOMP_LOCK_DESTROY] = { lock_destroy, end_nothing },
    [GOMP_TASK] = { begin_task, end_nothing },
    [GOMP_TASKLOOP] = { begin_taskloop, end_taskloop },
    [GOMP_CANCEL] = { gomp_calls_cancel, end_nothing },
};

static int gomp_calls_begin(struct word_call *call)
{
    if (!call->own[GOMP_OWN_LIBRARY] || call->function >= FUNCTIONS || !agent_enter(WIRE_BIT(OPENMP)))
        return 0;
    return actions[gomp_calls_function_of(call)->action].begin(call);
}

static void gomp_calls_end(struct word_call *call)
{
    actions[gomp_calls_function_of(call)->action].end(call);
}

const struct word_calls gomp_calls = { .begin = gomp_calls_begin, .end = gomp_calls_end };
