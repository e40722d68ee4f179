/* The callbacks that the agent registers with an OpenMP runtime that has OMPT (LLVM's, Intel's, AMD's, NVIDIA's). Each
 * writes at most one record. The runtime's words for regions, tasks and threads hold their numbers. */
#include "agent/core/agent.h"
#include "agent/core/sys.h"
#include "openmp_agent.h"

static int hides_releases; /* mutex_released() is not registered */

static uint64_t ompt_tool_value_of(const union ompt_data *data)
{
    return data ? data->value : 0;
}

/* A construct with a begin and an end in one thread. */
static void scope(int endpoint, const struct agent_openmp_event *event)
{
    if (endpoint != OMPT_END)
        openmp_begin(event);
    if (endpoint != OMPT_BEGIN)
        openmp_end(event->event, 0);
}

/* ---- Threads and regions --------------------------------------------------------------------------------------- */

static void ompt_tool_thread_begin(int kind, union ompt_data *thread)
{
    thread->value = openmp_new_thread();
    openmp_begin(
        &(struct agent_openmp_event){ .event = WIRE_OPENMP_THREAD, .kind = (uint32_t)kind, .value = thread->value });
}

static void ompt_tool_thread_end(union ompt_data *thread)
{
    openmp_end(WIRE_OPENMP_THREAD, 0);
}

static void parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel, unsigned threads,
                           int flags, const void *address)
{
    parallel->value = openmp_new_region();
    openmp_begin(&(struct agent_openmp_event){ .event = WIRE_OPENMP_PARALLEL,
                                               .parallel = parallel->value,
                                               .task = ompt_tool_value_of(task),
                                               .value = threads,
                                               .address = address });
}

static void parallel_end(union ompt_data *parallel, union ompt_data *task, int flags, const void *address)
{
    if (ompt_tool_value_of(parallel))
        openmp_end_region(parallel->value);
}

static void implicit_task(int endpoint, union ompt_data *parallel, union ompt_data *task, unsigned threads,
                          unsigned index, int flags)
{
    if (endpoint == OMPT_END) {
        openmp_end_inside(WIRE_OPENMP_TASK, ompt_tool_value_of(task), wire_openmp_region_of(ompt_tool_value_of(task)));
        return;
    }
    /* The region around an initial task is none of the program's. */
    uint64_t region = flags & OMPT_TASK_INITIAL ? 0 : ompt_tool_value_of(parallel);
    task->value = wire_openmp_implicit_task(region, index);
    openmp_begin(&(struct agent_openmp_event){ .event = WIRE_OPENMP_TASK,
                                               .kind = (uint32_t)flags & OMPT_TASK_KINDS,
                                               .index = index,
                                               .parallel = region,
                                               .task = task->value,
                                               .value = threads });
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

static void sync_scope(enum wire_openmp_event event, int kind, int endpoint, const union ompt_data *parallel,
                       const union ompt_data *task, const void *address)
{
    uint64_t number = ompt_tool_value_of(task);
    if (endpoint == OMPT_END) { /* of a worker in a region's last barrier, this may come late, and without the region */
        uint64_t inside = !parallel && wire_openmp_is_implicit(number) ? wire_openmp_region_of(number) : 0;
        openmp_end_inside(event, 0, inside);
        return;
    }
    scope(endpoint, &(struct agent_openmp_event){ .event = event,
                                                  .kind = (uint32_t)kind,
                                                  .parallel = ompt_tool_value_of(parallel),
                                                  .task = number,
                                                  .address = address });
}

static void sync_region(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, const void *address)
{
    sync_scope(WIRE_OPENMP_SYNC_REGION, kind, endpoint, parallel, task, address);
}

static void sync_region_wait(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task,
                             const void *address)
{
    sync_scope(WIRE_OPENMP_SYNC_REGION_WAIT, kind, endpoint, parallel, task, address);
}

static void ompt_tool_reduction(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task,
                                const void *address)
{
    sync_scope(WIRE_OPENMP_REDUCTION, kind, endpoint, parallel, task, address);
}

/* ---- Work and tasks -------------------------------------------------------------------------------------------- */

static void ompt_tool_work(int kind, int endpoint, union ompt_data *parallel, union ompt_data *task, uint64_t count,
                           const void *address)
{
    scope(endpoint, &(struct agent_openmp_event){ .event = WIRE_OPENMP_WORKSHARE,
                                                  .kind = (uint32_t)kind,
                                                  .parallel = ompt_tool_value_of(parallel),
                                                  .task = ompt_tool_value_of(task),
                                                  .value = count,
                                                  .address = address });
}

static void masked(int endpoint, union ompt_data *parallel, union ompt_data *task, const void *address)
{
    scope(endpoint, &(struct agent_openmp_event){ .event = WIRE_OPENMP_MASTER,
                                                  .parallel = ompt_tool_value_of(parallel),
                                                  .task = ompt_tool_value_of(task),
                                                  .address = address });
}

/* Initial tasks come here too in some versions of LLVM's runtime; implicit_task() has them. */
static void task_create(union ompt_data *task, const void *frame, union ompt_data *created, int flags,
                        int has_dependences, const void *address)
{
    if (!created || flags & (OMPT_TASK_INITIAL | OMPT_TASK_IMPLICIT))
        return;
    created->value = openmp_new_task();
    openmp_point(&(struct agent_openmp_event){ .event = WIRE_OPENMP_TASK_CREATE,
                                               .kind = (uint32_t)flags & OMPT_TASK_KINDS,
                                               .task = ompt_tool_value_of(task),
                                               .value = created->value,
                                               .address = address });
}

static void task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
    openmp_point(&(struct agent_openmp_event){ .event = WIRE_OPENMP_TASK_SCHEDULE,
                                               .kind = (uint32_t)status,
                                               .task = ompt_tool_value_of(prior),
                                               .value = ompt_tool_value_of(next) });
}

static void dispatch(union ompt_data *parallel, union ompt_data *task, int kind, union ompt_data instance)
{
    openmp_point(&(struct agent_openmp_event){ .event = WIRE_OPENMP_DISPATCH,
                                               .kind = (uint32_t)kind,
                                               .parallel = ompt_tool_value_of(parallel),
                                               .task = ompt_tool_value_of(task) });
}

static void ompt_tool_flush(union ompt_data *thread, const void *address)
{
    openmp_point(&(struct agent_openmp_event){
        .event = WIRE_OPENMP_FLUSH, .value = ompt_tool_value_of(thread), .address = address });
}

static void ompt_tool_cancel(union ompt_data *task, int flags, const void *address)
{
    openmp_point(&(struct agent_openmp_event){
        .event = WIRE_OPENMP_CANCEL, .kind = (uint32_t)flags, .task = ompt_tool_value_of(task), .address = address });
}

/* ---- Locks ----------------------------------------------------------------------------------------------------- */

static void mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t lock, const void *address)
{
    openmp_lock_wanted((uint32_t)kind, lock, address);
}

static void mutex_acquired(int kind, uint64_t lock, const void *address)
{
    openmp_lock_taken((uint32_t)kind, lock, address);
    if (hides_releases)
        openmp_lock_given_back(lock);
}

static void mutex_released(int kind, uint64_t lock, const void *address)
{
    openmp_lock_given_back(lock);
}

/* A thread takes a lock again that it holds, or gives it back and still holds it. */
static void nest_lock(int endpoint, uint64_t lock, const void *address)
{
    if (endpoint == OMPT_BEGIN)
        mutex_acquired(OMPT_MUTEX_NEST_LOCK, lock, address);
    else if (!hides_releases)
        mutex_released(OMPT_MUTEX_NEST_LOCK, lock, address);
}

static void lock_init(int kind, unsigned hint, unsigned implementation, uint64_t lock, const void *address)
{
    openmp_point(&(struct agent_openmp_event){
        .event = WIRE_OPENMP_LOCK_INIT, .kind = (uint32_t)kind, .value = lock, .address = address });
}

static void lock_destroy(int kind, uint64_t lock, const void *address)
{
    openmp_point(&(struct agent_openmp_event){
        .event = WIRE_OPENMP_LOCK_DESTROY, .kind = (uint32_t)kind, .value = lock, .address = address });
}

/* ---- The tool -------------------------------------------------------------------------------------------------- */

static const struct {
    int which;
    uint32_t detail; /* of enum wire_openmp_detail: registered only on request; 0: always */
    ompt_any_function *callback;
} callbacks[] = {
#define CALLBACK(which, detail, function) { which, detail, (ompt_any_function *)(uintptr_t)(function) }
    CALLBACK(OMPT_THREAD_BEGIN, 0, ompt_tool_thread_begin),
    CALLBACK(OMPT_THREAD_END, 0, ompt_tool_thread_end),
    CALLBACK(OMPT_PARALLEL_BEGIN, 0, parallel_begin),
    CALLBACK(OMPT_PARALLEL_END, 0, parallel_end),
    CALLBACK(OMPT_IMPLICIT_TASK, 0, implicit_task),
    CALLBACK(OMPT_SYNC_REGION, 0, sync_region),
    CALLBACK(OMPT_SYNC_REGION_WAIT, 0, sync_region_wait),
    CALLBACK(OMPT_REDUCTION, 0, ompt_tool_reduction),
    CALLBACK(OMPT_WORK, 0, ompt_tool_work),
    CALLBACK(OMPT_MASKED, 0, masked),
    CALLBACK(OMPT_TASK_CREATE, 0, task_create),
    CALLBACK(OMPT_TASK_SCHEDULE, 0, task_schedule),
    CALLBACK(OMPT_CANCEL, 0, ompt_tool_cancel),
    CALLBACK(OMPT_MUTEX_ACQUIRE, 0, mutex_acquire),
    CALLBACK(OMPT_MUTEX_ACQUIRED, 0, mutex_acquired),
    CALLBACK(OMPT_MUTEX_RELEASED, 0, mutex_released),
    CALLBACK(OMPT_NEST_LOCK, 0, nest_lock),
    CALLBACK(OMPT_LOCK_INIT, 0, lock_init),
    CALLBACK(OMPT_LOCK_DESTROY, 0, lock_destroy),
    CALLBACK(OMPT_DISPATCH, WIRE_OPENMP_DETAIL_DISPATCH, dispatch),
    CALLBACK(OMPT_FLUSH, WIRE_OPENMP_DETAIL_FLUSH, ompt_tool_flush),
};

/* LLVM's runtime reads the record of the thread that began it when any thread leaves a critical section and a tool
 * wants to know that; it crashes if that thread has ended. The process's first thread lasts. */
static int is_begun_by_another_thread(void)
{
    return sys_gettid() != sys_getpid();
}

static int ompt_tool_is_wanted(size_t i, uint32_t details)
{
    int is_release = callbacks[i].which == OMPT_MUTEX_RELEASED;
    return (callbacks[i].detail & details) == callbacks[i].detail &&
           !(is_release && (hides_releases || !openmp_keeps_locks()));
}

static int ompt_tool_initialize(ompt_lookup_function *lookup, int initial_device, union ompt_data *tool)
{
    ompt_set_callback_function *set = (ompt_set_callback_function *)(uintptr_t)lookup("ompt_set_callback");
    if (!set || !agent_attached())
        return 0;
    uint32_t details = wire_openmp(agent.arena)->details;
    if ((hides_releases = is_begun_by_another_thread()) && openmp_keeps_locks())
        openmp_tell(
            "The times that threads hold OpenMP's locks and critical sections are not recorded: the first thread "
            "that used OpenMP is not the program's first one, and LLVM's runtime could crash.");
    for (size_t i = 0; i < COUNT_OF(callbacks); i++)
        if (ompt_tool_is_wanted(i, details))
            set(callbacks[i].which, callbacks[i].callback);
    return 1;
}

static void ompt_tool_finalize(union ompt_data *tool)
{
}

struct ompt_tool *openmp_tool(void)
{
    static struct ompt_tool tool = { .initialize = ompt_tool_initialize, .finalize = ompt_tool_finalize };
    return &tool;
}
