/* The launches of a thread in order of time, and the GPU work of any run of them. The projection of ranges onto GPUs
 * uses it.
 *
 * The calls inside a range are a run of the thread's launches. The first start and the last end over any run come from
 * a tree in logarithmic time, so a range costs the same whether ranges are nested or overlap. */
#ifndef TACHO_ANALYZE_MODEL_LAUNCH_RUN_H
#define TACHO_ANALYZE_MODEL_LAUNCH_RUN_H

#include <stddef.h>
#include <stdint.h>

struct launch_run_work {
    int64_t first_ns, last_ns;
    uint64_t ops;
};
#define LAUNCH_RUN_NO_WORK ((struct launch_run_work){ INT64_MAX, INT64_MIN, 0 })
static inline struct launch_run_work launch_run_work_joined(struct launch_run_work a, struct launch_run_work b)
{
    return (struct launch_run_work){ a.first_ns < b.first_ns ? a.first_ns : b.first_ns,
                                     a.last_ns > b.last_ns ? a.last_ns : b.last_ns, a.ops + b.ops };
}

struct launch_run {
    int64_t *call_start_ns, *call_end_ns; /* owned; in order of start */
    struct launch_run_work *tree;         /* owned; leaf i, at count + i, is launch i; node n joins its children 2n and
                                           * 2n + 1 */
    size_t count;
};

/* Allocates room for count launches. The caller sets each of them, in order of start, and then calls
 * launch_run_ready(). launch_run_close() is safe after a failure. */
int launch_run_open(struct launch_run *run, size_t count);
static inline void launch_run_set(struct launch_run *run, size_t i, int64_t call_start_ns, int64_t call_end_ns,
                                  struct launch_run_work work)
{
    run->call_start_ns[i] = call_start_ns;
    run->call_end_ns[i] = call_end_ns;
    run->tree[run->count + i] = work;
}
void launch_run_ready(struct launch_run *run);
void launch_run_close(struct launch_run *run);

/* The work of the calls that lie inside a range. Ranges must come in order of start; *from is 0 for the first. */
struct launch_run_work launch_run_inside(const struct launch_run *run, int64_t start_ns, int64_t end_ns, size_t *from);

#endif
