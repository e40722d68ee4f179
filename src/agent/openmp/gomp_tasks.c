/* Explicit tasks of libgomp: see gomp_tasks.h.
 *
 * libgomp copies the data of a task into memory of its own, by a function of the program's or byte by byte, so nothing
 * can be added to the data. Instead each function that a task may have (a compiler makes one for each task construct)
 * gets one of a fixed number of wrappers, which knows the function by its own number. */
#include "gomp_tasks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "openmp_agent.h"

enum { SLOTS = 64 };

static _Atomic(gomp_task_function *) gomp_tasks_functions[SLOTS];

static void gomp_tasks_run(unsigned slot, void *data)
{
    gomp_task_function *function = atomic_load_explicit(&gomp_tasks_functions[slot], memory_order_relaxed);
    uint64_t task = openmp_new_task();
    openmp_begin(&(struct agent_openmp_event){ .event = WIRE_OPENMP_TASK, .kind = OMPT_TASK_EXPLICIT, .task = task });
    function(data);
    openmp_end(WIRE_OPENMP_TASK, task);
}

/* clang-format off */
#define SLOTS_OF(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) \
    X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) \
    X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) \
    X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
/* clang-format on */

#define WRAPPER(number)                                                                                                \
    static void run_##number(void *data)                                                                               \
    {                                                                                                                  \
        gomp_tasks_run(number, data);                                                                                  \
    }
SLOTS_OF(WRAPPER)

static gomp_task_function *const wrappers[SLOTS] = {
#define ENTRY(number) run_##number,
    SLOTS_OF(ENTRY)
};

gomp_task_function *gomp_task_wrapper(gomp_task_function *function)
{
    size_t first = (uintptr_t)function / 16 % SLOTS;
    for (size_t i = 0; function && i < SLOTS; i++) {
        size_t slot = (first + i) % SLOTS;
        gomp_task_function *known = atomic_load_explicit(&gomp_tasks_functions[slot], memory_order_relaxed);
        if (known == function ||
            (!known &&
             (atomic_compare_exchange_strong(&gomp_tasks_functions[slot], &known, function) || known == function)))
            return wrappers[slot];
    }
    return function;
}
