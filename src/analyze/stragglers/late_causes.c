/* Sums up what threads did in the windows of late ranks, and in those of the median ranks beside them. */
#include "late_causes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/ranks/collective_kinds.h"
#include "base/array.h"

static const char *const texts[LATE_ACTIVITY_COUNT] = {
#define LATE_ACTIVITY(id, text) [LATE_##id] = text,
    LATE_ACTIVITIES(LATE_ACTIVITY)
#undef LATE_ACTIVITY
};

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static int add(struct activities *activities, int64_t owner, int64_t start_ns, int64_t end_ns)
{
    if (array_reserve(&activities->list, &activities->room, activities->count + 1, sizeof *activities->list) != 0)
        return ERR_NO_MEMORY;
    activities->list[activities->count++] = (struct activity){ owner, start_ns, end_ns, 0, 0 };
    int64_t time_ns = saturating_duration(start_ns, end_ns);
    activities->longest_ns = time_ns > activities->longest_ns ? time_ns : activities->longest_ns;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct activity *x = a, *y = b;

    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static enum late_activity kind_of_call(struct report *report, const struct os_call *call)
{
    if (strstr(report_string(report, call->name, NULL), "sleep"))
        return LATE_SLEEP;
    return call->kind == OS_CALL_IO ? LATE_IO : call->kind == OS_CALL_LOCK ? LATE_LOCK : LATE_OTHER_WAIT;
}

static int read_os_calls(struct late_causes *causes, struct error *err)
{
    struct os_call_choice choice = { { 0 } };
    struct os_calls calls = { 0 };
    const struct filter all = { 0 };
    int code = os_calls_read(&calls, causes->report, &choice, &all, err);

    for (size_t i = 0; code != ERR_NO_MEMORY && i < calls.count; i++) {
        const struct os_call *at = &calls.list[i];
        causes->has_os_calls = 1;
        struct activities *of = &causes->of[kind_of_call(causes->report, at)];
        if (add(of, at->thread, at->start_ns, at->end_ns) != 0) {
            code = ERR_NO_MEMORY;
            break;
        }
        of->list[of->count - 1].chain = at->chain;
        of->list[of->count - 1].python = at->python;
    }
    os_calls_free(&calls);
    return code;
}

/* Events of a table whose text in one column begins like this. */
static int read_named(struct late_causes *causes, enum late_activity activity, const char *table, const char *column,
                      const char *begin, struct error *err)
{
    const char *const names[] = { "start", "end", "globalTid", column, NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, causes->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, 1) || row_is_null(&rows, 2) ||
            !text_begins_with(report_string(causes->report, row_int_or(&rows, 3, 0), NULL), begin))
            continue;
        if ((code = add(&causes->of[activity], row_int(&rows, 2), row_int(&rows, 0), row_int(&rows, 1))) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

static int read_gpu(struct late_causes *causes, enum late_activity activity, enum gpu_kind kind, struct error *err)
{
    static const char *const extra[] = { "shortName", NULL };
    struct gpu_ops ops = { 0 };
    int code = gpu_read(&ops, causes->report, kind, kind == GPU_KERNEL ? extra : extra + 1, err);

    if (code != 0)
        return code;
    for (size_t row = 0; row < ops.count; row++) {
        if (kind == GPU_KERNEL && strncmp(report_string(causes->report, gpu_extra(&ops, 0, row), NULL), "nccl", 4) == 0)
            continue; /* it waits for other ranks */
        if ((code = add(&causes->of[activity], global_process(ops.process[row]), ops.start[row], ops.end[row])) != 0)
            break;
    }
    gpu_free(&ops);
    return code;
}

struct switching {
    int64_t thread, time_ns;
    int is_in;
};

static int compare_switches(const void *a, const void *b)
{
    const struct switching *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* A thread runs from where it is switched in to where it is switched out. */
static int add_runs(struct late_causes *causes, struct switching *switches, size_t count)
{
    qsort(switches, count, sizeof *switches, compare_switches);
    for (size_t i = 0; i + 1 < count; i++)
        if (switches[i].thread == switches[i + 1].thread && switches[i].is_in && !switches[i + 1].is_in &&
            add(&causes->of[LATE_RUNNING], switches[i].thread, switches[i].time_ns, switches[i + 1].time_ns) != 0)
            return ERR_NO_MEMORY;
    causes->has_switches = count > 0;
    return 0;
}

static int read_switches(struct late_causes *causes, struct error *err)
{
    static const char *const names[] = { "start", "isSchedIn", "globalTid", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, causes->report, "SCHED_EVENTS", names, err);

    if (code != 0)
        return code;
    struct switching *switches = array_alloc(rows.columns.rows + 1, sizeof *switches);
    size_t count = 0;
    while (switches && row_cursor_next(&rows))
        if (!row_is_null(&rows, 2))
            switches[count++] = (struct switching){ row_int(&rows, 2), row_int(&rows, 0), row_int(&rows, 1) != 0 };
    code = switches ? add_runs(causes, switches, count) : ERR_NO_MEMORY;
    free(switches);
    row_cursor_close(&rows);
    return code;
}

int late_causes_open(struct late_causes *causes, struct report *report, struct error *err)
{
    int code;

    *causes = (struct late_causes){ .report = report };
    if ((code = read_os_calls(causes, err)) != 0)
        return code;
    if ((code = read_named(causes, LATE_GC, "TACHO_PYTHON_EVENT", "kind", "gc", err)) != 0)
        return code;
    if ((code = read_named(causes, LATE_LOADER, "TACHO_TORCH_OP", "nameId", "enumerate(DataLoader)", err)) != 0)
        return code;
    if ((code = read_gpu(causes, LATE_KERNELS, GPU_KERNEL, err)) != 0)
        return code;
    if ((code = read_gpu(causes, LATE_COPIES, GPU_MEMCPY, err)) != 0)
        return code;
    if ((code = read_switches(causes, err)) != 0)
        return code;
    for (int i = 0; i < LATE_ACTIVITY_COUNT; i++)
        if (causes->of[i].count)
            qsort(causes->of[i].list, causes->of[i].count, sizeof *causes->of[i].list, compare);
    if ((code = call_origins_open(&causes->origins, report, err)) != 0)
        return code;
    return places_open(&causes->places, report, err);
}

void late_causes_close(struct late_causes *causes)
{
    for (int i = 0; i < LATE_ACTIVITY_COUNT; i++)
        free(causes->of[i].list);
    places_close(&causes->places);
    call_origins_close(&causes->origins);
}

/* ---- Windows ---------------------------------------------------------------------------------------------------- */

/* What of an activity lies in a window. */
struct share {
    int64_t time_ns, count;
    struct activity longest; /* within the window */
};

static struct share share_of(const struct activities *activities, int64_t owner, const struct rank_window *window)
{
    /* Those that begin earlier than the longest one lasts cannot reach into the window. */
    const struct activity wanted = { owner, saturating_subtract(window->from_ns, activities->longest_ns), 0, 0, 0 };
    struct share share = { 0 };
    size_t low = 0, high = activities->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&activities->list[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < activities->count; low++) {
        struct activity part = activities->list[low];
        if (part.owner != owner || part.start_ns >= window->to_ns)
            break;
        part.start_ns = part.start_ns < window->from_ns ? window->from_ns : part.start_ns;
        part.end_ns = part.end_ns > window->to_ns ? window->to_ns : part.end_ns;
        if (part.end_ns <= part.start_ns)
            continue;
        share.count++;
        share.time_ns = saturating_add(share.time_ns, part.end_ns - part.start_ns);
        if (part.end_ns - part.start_ns > share.longest.end_ns - share.longest.start_ns)
            share.longest = part;
    }
    return share;
}

static int is_of_process(enum late_activity activity)
{
    return activity == LATE_KERNELS || activity == LATE_COPIES;
}

static struct share share_in(const struct late_causes *causes, enum late_activity activity,
                             const struct rank_window *window)
{
    return share_of(&causes->of[activity], is_of_process(activity) ? global_process(window->thread) : window->thread,
                    window);
}

/* What late windows have more than those of median ranks. */
struct excess {
    int64_t total_ns, of_ns[LATE_ACTIVITY_COUNT], off_cpu_ns;
    int64_t kernels, usual_kernels; /* counts */
};

static int64_t length_of(const struct rank_window *window)
{
    return saturating_subtract(window->to_ns, window->from_ns);
}

static struct excess add_up(const struct late_causes *causes, const struct late *const *lates, size_t count)
{
    struct excess excess = { 0 };

    for (size_t i = 0; i < count; i++) {
        const struct rank_window *late = &lates[i]->window, *usual = &lates[i]->usual;
        int has_usual = usual->rank != COLLECTIVE_UNKNOWN;
        excess.total_ns = saturating_add(excess.total_ns, late->busy_ns - (has_usual ? usual->busy_ns : 0));
        for (int a = 0; a < LATE_ACTIVITY_COUNT; a++) {
            struct share own = share_in(causes, (enum late_activity)a, late), other = { 0 };
            if (has_usual)
                other = share_in(causes, (enum late_activity)a, usual);
            excess.of_ns[a] = saturating_add(excess.of_ns[a], own.time_ns - other.time_ns);
            excess.kernels += a == LATE_KERNELS ? own.count : 0;
            excess.usual_kernels += a == LATE_KERNELS ? other.count : 0;
            if (a == LATE_RUNNING)
                excess.off_cpu_ns += (length_of(late) - own.time_ns) -
                                     (has_usual ? length_of(usual) - other.time_ns : 0);
        }
    }
    for (int a = LATE_SLEEP; a <= LATE_OTHER_WAIT; a++)
        excess.off_cpu_ns -= excess.of_ns[a] > 0 ? excess.of_ns[a] : 0;
    return excess;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

struct place_sum {
    uint32_t place;
    int64_t time_ns;
};

/* The line that made the longest of the OS calls, if they have call stacks. */
static int find_origin(struct late_causes *causes, const struct late *const *lates, size_t count,
                       enum late_activity activity, struct text *where)
{
    struct activity longest = { 0 };
    struct call_origin origin;

    for (size_t i = 0; i < count; i++) {
        struct activity own = share_in(causes, activity, &lates[i]->window).longest;
        if ((own.chain || own.python) && own.end_ns - own.start_ns > longest.end_ns - longest.start_ns)
            longest = own;
    }
    if (!longest.chain && !longest.python)
        return 0;
    if (call_origins_find(&causes->origins, longest.chain, longest.python, &origin) != 0)
        return ERR_NO_MEMORY;
    if (origin.frame != NO_KEY)
        stack_frame_label(where, &causes->origins.stacks, origin.frame);
    return 0;
}

/* Where the rank spent the time of an activity, or (-1) of its windows; only_python: nothing if that is native code. */
static int find_where(struct late_causes *causes, const struct late *const *lates, size_t count, int activity,
                      int only_python, struct text *where)
{
    struct place_sum *sums = NULL;
    size_t sum_count = 0, room = 0, best = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rank_window *window = &lates[i]->window;
        struct activity span = { window->thread, window->from_ns, window->to_ns, 0, 0 };
        if (activity >= 0 && !is_of_process((enum late_activity)activity))
            span = share_in(causes, (enum late_activity)activity, window).longest;
        uint32_t place = places_line(&causes->places,
                                     places_at(&causes->places, window->thread, span.start_ns, span.end_ns));
        size_t at = 0;
        while (at < sum_count && sums[at].place != place)
            at++;
        if (at == sum_count && array_reserve(&sums, &room, at + 1, sizeof *sums) != 0) {
            free(sums);
            return ERR_NO_MEMORY;
        }
        if (at == sum_count)
            sums[sum_count++] = (struct place_sum){ place, 0 };
        sums[at].time_ns = saturating_add(sums[at].time_ns, saturating_duration(span.start_ns, span.end_ns));
    }
    for (size_t i = 1; i < sum_count; i++)
        if (sums[best].place == NO_PLACE || (sums[i].place != NO_PLACE && sums[i].time_ns > sums[best].time_ns))
            best = i;
    if (sum_count && sums[best].place != NO_PLACE &&
        (!only_python || places_get(&causes->places, sums[best].place).kind == PLACE_PYTHON))
        place_text(where, &causes->places, sums[best].place);
    free(sums);
    return 0;
}

/* Of OS calls, the line of Python, else the function that made the call; else the line of most samples. */
static int find_line(struct late_causes *causes, const struct late *const *lates, size_t count, int activity,
                     struct text *where)
{
    int is_call = activity >= LATE_SLEEP && activity <= LATE_OTHER_WAIT;

    if (is_call && find_where(causes, lates, count, activity, 1, where) != 0)
        return ERR_NO_MEMORY;
    if (is_call && !where->length && find_origin(causes, lates, count, (enum late_activity)activity, where) != 0)
        return ERR_NO_MEMORY;
    if (!where->length && find_where(causes, lates, count, activity, 0, where) != 0)
        return ERR_NO_MEMORY;
    return where->length ? 0 : find_where(causes, lates, count, -1, 0, where);
}

int late_cause(struct late_causes *causes, const struct late *const *lates, size_t count, struct text *cause,
               struct text *where)
{
    const struct excess excess = add_up(causes, lates, count);
    int64_t half_ns = excess.total_ns / 2;
    int found = -1;

    for (int a = 0; a < LATE_RUNNING && found < 0; a++)
        if (excess.of_ns[a] > 0 && excess.of_ns[a] >= half_ns)
            found = a;
    int is_idle = causes->of[LATE_KERNELS].count && !(found >= 0 && is_of_process((enum late_activity)found));
    if (excess.total_ns <= 0)
        return 0;
    if (is_idle)
        text_add(cause, "GPU idle: ");
    if (found == LATE_KERNELS)
        text_add(cause,
                 excess.kernels > excess.usual_kernels + excess.usual_kernels / 20 ? "more kernels" : "slower kernels");
    else if (found >= 0)
        text_add(cause, texts[found]);
    else if (causes->has_switches && excess.off_cpu_ns >= half_ns)
        text_add(cause, "off CPU: others run there");
    else
        text_add(cause, causes->has_switches || causes->has_os_calls ? "compute" : "outside of collectives");
    return find_line(causes, lates, count, found, where);
}
