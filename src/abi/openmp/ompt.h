/* OMPT, the tools interface of OpenMP 5.0 to 5.2, as far as the agent uses it: numbers of callbacks, their parameters
 * and the values of these. All runtimes share them; the structs are the specification's. */
#ifndef TACHO_ABI_OPENMP_OMPT_H
#define TACHO_ABI_OPENMP_OMPT_H

#include <stdint.h>

/* A word of the tool in an object of the runtime: a thread, a parallel region, a task. 0 when the object is new. */
union ompt_data {
    uint64_t value;
    void *pointer;
};

typedef void ompt_any_function(void);
typedef ompt_any_function *ompt_lookup_function(const char *name);
typedef int ompt_set_callback_function(int which, ompt_any_function *callback); /* how often it comes; 0: error */

/* What ompt_start_tool() returns. initialize() returns 0 to turn the tool off. */
struct ompt_tool {
    int (*initialize)(ompt_lookup_function *lookup, int initial_device, union ompt_data *tool);
    void (*finalize)(union ompt_data *tool);
    union ompt_data data;
};
typedef struct ompt_tool *ompt_start_tool_function(unsigned omp_version, const char *runtime_version);

enum ompt_callback {
    OMPT_THREAD_BEGIN = 1,
    OMPT_THREAD_END = 2,
    OMPT_PARALLEL_BEGIN = 3,
    OMPT_PARALLEL_END = 4,
    OMPT_TASK_CREATE = 5,
    OMPT_TASK_SCHEDULE = 6,
    OMPT_IMPLICIT_TASK = 7,
    OMPT_SYNC_REGION_WAIT = 16,
    OMPT_MUTEX_RELEASED = 17,
    OMPT_WORK = 20,
    OMPT_MASKED = 21,
    OMPT_SYNC_REGION = 23,
    OMPT_LOCK_INIT = 24,
    OMPT_LOCK_DESTROY = 25,
    OMPT_MUTEX_ACQUIRE = 26,
    OMPT_MUTEX_ACQUIRED = 27,
    OMPT_NEST_LOCK = 28,
    OMPT_FLUSH = 29,
    OMPT_CANCEL = 30,
    OMPT_REDUCTION = 31,
    OMPT_DISPATCH = 32,
};

enum ompt_endpoint { OMPT_BEGIN = 1, OMPT_END = 2, OMPT_BEGIN_END = 3 };

enum ompt_thread_kind { OMPT_THREAD_INITIAL = 1, OMPT_THREAD_WORKER = 2 };

enum ompt_task_flag { OMPT_TASK_INITIAL = 1, OMPT_TASK_IMPLICIT = 2, OMPT_TASK_EXPLICIT = 4 };
#define OMPT_TASK_KINDS 0xffu /* the flags that say what kind of task it is */

enum ompt_task_status {
    OMPT_TASK_COMPLETE = 1,
    OMPT_TASK_CANCELLED = 3,
    OMPT_TASK_LATE_FULFILL = 6,
    OMPT_TASK_SWITCH = 7
};

enum ompt_sync_kind {
    OMPT_SYNC_BARRIER = 1,
    OMPT_SYNC_BARRIER_IMPLICIT = 2,
    OMPT_SYNC_BARRIER_EXPLICIT = 3,
    OMPT_SYNC_TASKWAIT = 5,
    OMPT_SYNC_TASKGROUP = 6,
    OMPT_SYNC_BARRIER_WORKSHARE = 8,
    OMPT_SYNC_BARRIER_PARALLEL = 9,
    OMPT_SYNC_BARRIER_TEAMS = 10,
};

enum ompt_work_kind {
    OMPT_WORK_LOOP = 1,
    OMPT_WORK_SECTIONS = 2,
    OMPT_WORK_SINGLE_EXECUTOR = 3,
    OMPT_WORK_SINGLE_OTHER = 4,
    OMPT_WORK_WORKSHARE = 5,
    OMPT_WORK_TASKLOOP = 7,
    OMPT_WORK_SCOPE = 8,
    OMPT_WORK_LOOP_STATIC = 10,
    OMPT_WORK_LOOP_DYNAMIC = 11,
    OMPT_WORK_LOOP_GUIDED = 12,
    OMPT_WORK_LOOP_OTHER = 13,
};

enum ompt_dispatch_kind {
    OMPT_DISPATCH_ITERATION = 1,
    OMPT_DISPATCH_LOOP_CHUNK = 3,
    OMPT_DISPATCH_DISTRIBUTE_CHUNK = 5,
};

enum ompt_mutex_kind {
    OMPT_MUTEX_LOCK = 1,
    OMPT_MUTEX_TEST_LOCK = 2,
    OMPT_MUTEX_NEST_LOCK = 3,
    OMPT_MUTEX_TEST_NEST_LOCK = 4,
    OMPT_MUTEX_CRITICAL = 5,
    OMPT_MUTEX_ATOMIC = 6,
    OMPT_MUTEX_ORDERED = 7,
};

#endif
