/* Events of OpenMP, from OMPT's callbacks (ompt_tool.c) and from the entry points of libgomp, which libtacho-openmp.so
 * interposes. Both write the same records (wire_openmp.h). */
#ifndef TACHO_AGENT_OPENMP_OPENMP_AGENT_H
#define TACHO_AGENT_OPENMP_OPENMP_AGENT_H

#include <stdint.h>

#include "abi/openmp/ompt.h"
#include "wire/wire_openmp.h"

/* Fields that an event does not have are 0. */
struct agent_openmp_event {
    enum wire_openmp_event event;
    uint32_t kind, index;
    uint64_t parallel, task, value;
    const void *address; /* that the runtime returns to */
};

/* All of these keep errno. Each does nothing if the thread is not recorded. */
void openmp_begin(const struct agent_openmp_event *event);
void openmp_point(const struct agent_openmp_event *event);
/* key: see WIRE_OPENMP_END */
void openmp_end(enum wire_openmp_event event, uint64_t key);
/* The same for a construct of this region: if the region has ended, then so has the construct, at that moment. */
void openmp_end_inside(enum wire_openmp_event event, uint64_t key, uint64_t region);
void openmp_end_region(uint64_t region);

/* A lock: the thread wants it, has it (or has it without having waited), gives it back. Where nobody has named OpenMP,
 * only long waits are recorded (wire_openmp_shared.lock_wait_ticks). */
void openmp_lock_wanted(uint32_t kind, uint64_t lock, const void *address);
void openmp_lock_taken(uint32_t kind, uint64_t lock, const void *address);
void openmp_lock_given_back(uint64_t lock);
int openmp_keeps_locks(void); /* whether all that happens to locks is recorded */

/* Numbers, from 1. 0: the thread is not recorded. */
uint64_t openmp_new_region(void);
uint64_t openmp_new_task(void);
uint64_t openmp_new_thread(void);

/* OMPT's tool. NULL if OpenMP is not recorded. */
struct ompt_tool *openmp_tool(void);

/* Why OMPT's events are missing: a sentence for the report, once. */
void openmp_tell(const char *sentence);

/* A copy of libgomp. struct word_call of its calls has its address in own[GOMP_OWN_LIBRARY]; 0: not recorded. */
typedef int gomp_number_function(void);
struct gomp_library {
    gomp_number_function *thread_number, *team_size; /* omp_get_thread_num(), omp_get_num_threads() */
};
enum { GOMP_OWN_LIBRARY };

/* What libtacho-openmp.so calls in the agent. Both come from the same build. */
struct agent_openmp_calls {
    uint32_t size;
    struct ompt_tool *(*tool)(void);
    void (*tell)(const char *sentence);
};

/* NULL when this process is not recorded. */
const struct agent_openmp_calls *tacho_agent_openmp_calls(void);

#endif
