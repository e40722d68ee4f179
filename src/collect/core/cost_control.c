/* The levels of --cost-limit: see cost_control.h. */
#include "cost_control.h"

#define HOLD_LEAST_NS INT64_C(4000000000)
#define HOLD_MOST_NS INT64_C(128000000000)
#define CPU_LEAST_NS 20e6 /* a share of less CPU time than this means nothing: the program waits */

/* A large excess is sure after a short time, a small one needs a longer look. */
static const struct {
    int64_t span_ns;
    double limits;
} sure_after[] = { { 200000000, 2 }, { 800000000, 1.2 }, { COST_ROUND_NS / 2, 1 } };

static double cost_control_own_ns(const struct cost_control *control, const struct cost_look *look, double cost_ns)
{
    double own_ns = look->cpu_ns - control->since.cpu_ns - cost_ns;
    return own_ns > 1 ? own_ns : 1;
}

static double cost_control_cost_ns(const struct cost_control *control, const struct cost_look *look)
{
    double sum = 0;
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        sum += look->cost_ns[i] - control->since.cost_ns[i];
    return sum;
}

double cost_control_share(const struct cost_control *control, const struct cost_look *look, int source)
{
    return (look->cost_ns[source] - control->since.cost_ns[source]) /
           cost_control_own_ns(control, look, cost_control_cost_ns(control, look));
}

/* The source that costs most of those that can be lowered, or -1. One that costs next to nothing is left alone. */
static int cost_control_dearest(const struct cost_control *control, const struct cost_look *look)
{
    enum { LEAST_PART = 20 };
    double most = control->limit / LEAST_PART;
    int dearest = -1;
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        double share = cost_control_share(control, look, i);
        if (control->sources[i].level >= control->sources[i].lowest || share <= most)
            continue;
        most = share;
        dearest = i;
    }
    return dearest;
}

static int cost_control_has_windows(const struct cost_control *control)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        if (control->sources[i].windows && control->sources[i].level == control->sources[i].windows)
            return 1;
    return 0;
}

static int cost_control_is_above(const struct cost_control *control, int64_t span_ns)
{
    if (cost_control_has_windows(control))
        return span_ns >= COST_ROUND_NS && control->share > control->limit;
    for (size_t i = 0; i < COUNT_OF(sure_after); i++)
        if (span_ns >= sure_after[i].span_ns && control->share > control->limit * sure_after[i].limits)
            return 1;
    return 0;
}

/* The next level, or at once the one that helps, if events that make no record cost too much by themselves. */
static int cost_control_lower_to(const struct cost_control *control, const struct cost_look *look, int source)
{
    const struct cost_control_source *lowered = &control->sources[source];
    double kept_ns = look->kept_ns[source] - control->since.kept_ns[source];
    double own_ns = cost_control_own_ns(control, look, cost_control_cost_ns(control, look));
    return lowered->level < lowered->counted && kept_ns > control->limit * own_ns ? lowered->counted
                                                                                  : lowered->level + 1;
}

static int cost_control_lower(struct cost_control *control, const struct cost_look *look)
{
    int source = cost_control_dearest(control, look);
    control->is_exceeded = source < 0;
    if (source < 0)
        return -1;
    if (control->raised_ns && look->now_ns - control->raised_ns < 2 * control->hold_ns)
        control->hold_ns = control->hold_ns < HOLD_MOST_NS / 2 ? 2 * control->hold_ns : HOLD_MOST_NS;
    control->raised_ns = 0;
    control->below_ns = 0;
    struct cost_control_source *lowered = &control->sources[source];
    int to = cost_control_lower_to(control, look, source);
    for (; lowered->level < to; lowered->level++)
        if (control->lowered_count < COUNT_OF(control->lowered))
            control->lowered[control->lowered_count++] = (uint8_t)source;
    control->since = *look;
    return source;
}

/* Whether the source that was lowered last may be raised, as far as that is known. */
static int cost_control_has_room(const struct cost_control *control, const struct cost_look *look)
{
    int source = control->lowered[control->lowered_count - 1];
    double more_ns = look->saved_ns[source] - control->since.saved_ns[source];
    double own_ns = cost_control_own_ns(control, look, cost_control_cost_ns(control, look));
    return control->share + more_ns / own_ns < control->limit;
}

/* Before a source is raised, recording may cost no more than half of the limit: what most sources will cost then is not
 * known. */
static int cost_control_raise(struct cost_control *control, const struct cost_look *look, int64_t span_ns)
{
    int has_room = control->lowered_count && control->share < control->limit / 2 &&
                   cost_control_has_room(control, look);
    control->below_ns = has_room ? control->below_ns + span_ns : 0;
    control->since = *look;
    if (control->raised_ns && look->now_ns - control->raised_ns >= 2 * control->hold_ns) {
        control->hold_ns = HOLD_LEAST_NS; /* what was raised has stayed */
        control->raised_ns = 0;
    }
    if (!has_room || control->below_ns < control->hold_ns)
        return -1;
    int source = control->lowered[--control->lowered_count];
    control->sources[source].level--;
    control->raised_ns = look->now_ns;
    control->below_ns = 0;
    return source;
}

int cost_control_look(struct cost_control *control, const struct cost_look *look)
{
    if (!control->has_begun) {
        control->has_begun = 1;
        control->since = *look;
        control->hold_ns = HOLD_LEAST_NS;
        return -1;
    }
    int64_t span_ns = look->now_ns - control->since.now_ns;
    double cost_ns = cost_control_cost_ns(control, look);
    if (look->cpu_ns - control->since.cpu_ns < CPU_LEAST_NS) {
        if (span_ns >= COST_ROUND_NS) /* it waits: that costs nothing, and says nothing of what comes next */
            control->since = *look;
        return -1;
    }
    control->share = cost_ns / cost_control_own_ns(control, look, cost_ns);
    if (cost_control_is_above(control, span_ns)) {
        int source = cost_control_lower(control, look);
        if (source >= 0)
            return source;
    } else if (span_ns >= COST_ROUND_NS) {
        control->is_exceeded = 0;
    }
    return span_ns >= COST_ROUND_NS ? cost_control_raise(control, look, span_ns) : -1;
}
