/* Sums up what threads did in the windows of late ranks, and in those of the median ranks beside them. */
#include "late_causes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/communication.h"
#include "analyze/model/os_calls.h"
#include "analyze/model/ranks/collective_kinds.h"
#include "base/array.h"
#include "base/saturating.h"

static const char *const texts[LATE_ACTIVITY_COUNT] = {
#define LATE_ACTIVITY(id, text) [LATE_##id] = text,
    LATE_ACTIVITIES(LATE_ACTIVITY)
#undef LATE_ACTIVITY
};

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

static int late_causes_add(struct activities *activities, int64_t owner, int64_t start_ns, int64_t end_ns)
{
    if (ARRAY_PUSH(activities->list, activities->room, activities->count,
                   (struct activity){ .owner = owner, .start_ns = start_ns, .end_ns = end_ns }) != 0)
        return ERR_NO_MEMORY;
    int64_t time_ns = saturating_duration(start_ns, end_ns);
    activities->longest_ns = time_ns > activities->longest_ns ? time_ns : activities->longest_ns;
    return 0;
}

static int late_causes_compare(const void *a, const void *b)
{
    const struct activity *x = a, *y = b;

    return COMPARE(x->owner, y->owner) ?: COMPARE(x->start_ns, y->start_ns);
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
        if (late_causes_add(of, at->thread, at->start_ns, at->end_ns) != 0) {
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
        if ((code = late_causes_add(&causes->of[activity], row_int(&rows, 2), row_int(&rows, 0), row_int(&rows, 1))) !=
            0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

enum { SIZES = 6, NAME = SIZES /* of kernels */ };

/* The threads of a kernel, or the bytes of a copy. */
static double size_of_work(const struct gpu_ops *ops, size_t row, size_t sizes)
{
    double size = 1;

    for (size_t c = 0; c < sizes; c++)
        size *= gpu_extra_is_null(ops, c, row) ? 1 : (double)gpu_extra(ops, c, row);
    return size;
}

static int late_causes_read_gpu(struct late_causes *causes, enum late_activity activity, enum gpu_kind kind,
                                struct error *err)
{
    static const char *const of_kernels[] = {
        "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "shortName", NULL
    };
    static const char *const of_copies[] = { "bytes", NULL };
    struct gpu_ops ops = { 0 };
    int code = gpu_read(&ops, causes->report, kind, kind == GPU_KERNEL ? of_kernels : of_copies, err);

    if (code != 0)
        return code;
    for (size_t row = 0; row < ops.count; row++) {
        if (kind == GPU_KERNEL &&
            communication_of_kernel(report_string(causes->report, gpu_extra(&ops, NAME, row), NULL)))
            continue; /* it waits for other ranks */
        struct activities *of = &causes->of[activity];
        if ((code = late_causes_add(of, global_process(ops.process[row]), ops.start[row], ops.end[row])) != 0)
            break;
        of->list[of->count - 1].size = size_of_work(&ops, row, kind == GPU_KERNEL ? SIZES : 1);
    }
    gpu_free(&ops);
    return code;
}

/* ---- Page faults ------------------------------------------------------------------------------------------------ */

enum { USUAL_FREQUENCY = 1000 };

static int64_t sampling_period_ns(struct report *report, struct error *err)
{
    static const char *const names[] = { "frequency", NULL };
    struct row_cursor rows;
    int64_t frequency = USUAL_FREQUENCY;

    if (row_cursor_open(&rows, report, "TACHO_SAMPLING", names, err) != 0)
        return INT64_C(1000000000) / USUAL_FREQUENCY;
    while (row_cursor_next(&rows))
        frequency = row_int_or(&rows, 0, 0) > 0 ? row_int(&rows, 0) : frequency;
    row_cursor_close(&rows);
    return INT64_C(1000000000) / frequency;
}

/* The samples in whose stack the kernel handles a page fault. Captures with the privilege for it have kernel frames. */
static int find_fault_samples(struct late_causes *causes, int64_t **ids, size_t *count, struct error *err)
{
    static const char *const names[] = { "id", "symbol", "kernelMode", NULL };
    struct row_cursor rows;
    size_t room = 0;
    int code = row_cursor_open(&rows, causes->report, "SAMPLING_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_int_or(&rows, 2, 0) == 0 || (*count && (*ids)[*count - 1] == row_int(&rows, 0)) ||
            !strstr(report_string(causes->report, row_int_or(&rows, 1, 0), NULL), "page_fault"))
            continue;
        if ((code = ARRAY_PUSH(*ids, room, *count, row_int(&rows, 0))) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

/* Each of these samples stands for the time between two of them. */
static int read_faults(struct late_causes *causes, struct error *err)
{
    static const char *const names[] = { "id", "start", "globalTid", NULL };
    struct row_cursor rows;
    int64_t *ids = NULL, half_ns = sampling_period_ns(causes->report, err) / 2;
    size_t count = 0;
    int code = find_fault_samples(causes, &ids, &count, err);

    if (code != 0 || !count || (code = row_cursor_open(&rows, causes->report, "COMPOSITE_EVENTS", names, err)) != 0)
        goto done;
    qsort(ids, count, sizeof *ids, array_by_int64);
    while (row_cursor_next(&rows)) {
        int64_t id = row_int(&rows, 0), at_ns = row_int(&rows, 1);
        int64_t from_ns = saturating_subtract(at_ns, half_ns), to_ns = saturating_add(at_ns, half_ns);
        if (row_is_null(&rows, 2))
            continue;
        if ((code = late_causes_add(&causes->samples, row_int(&rows, 2), from_ns, to_ns)) != 0)
            break;
        if (bsearch(&id, ids, count, sizeof id, array_by_int64) &&
            (code = late_causes_add(&causes->of[LATE_FAULTS], row_int(&rows, 2), from_ns, to_ns)) != 0)
            break;
    }
    row_cursor_close(&rows);
done:
    free(ids);
    return code;
}

int late_causes_open(struct late_causes *causes, struct report *report, const struct cpu_runs *runs, struct error *err)
{
    int code;

    *causes = (struct late_causes){ .report = report, .runs = runs };
    if ((code = read_os_calls(causes, err)) != 0)
        return code;
    if ((code = read_named(causes, LATE_GC, "TACHO_PYTHON_EVENT", "kind", "gc", err)) != 0)
        return code;
    if ((code = read_named(causes, LATE_LOADER, "TACHO_TORCH_OP", "nameId", "enumerate(DataLoader)", err)) != 0)
        return code;
    if ((code = late_causes_read_gpu(causes, LATE_KERNELS, GPU_KERNEL, err)) != 0)
        return code;
    if ((code = late_causes_read_gpu(causes, LATE_COPIES, GPU_MEMCPY, err)) != 0)
        return code;
    if ((code = read_faults(causes, err)) != 0)
        return code;
    for (int i = 0; i < LATE_ACTIVITY_COUNT; i++)
        if (causes->of[i].count)
            qsort(causes->of[i].list, causes->of[i].count, sizeof *causes->of[i].list, late_causes_compare);
    if (causes->samples.count)
        qsort(causes->samples.list, causes->samples.count, sizeof *causes->samples.list, late_causes_compare);
    if ((code = call_origins_open(&causes->origins, report, err)) != 0)
        return code;
    return places_open(&causes->places, report, err);
}

void late_causes_close(struct late_causes *causes)
{
    for (int i = 0; i < LATE_ACTIVITY_COUNT; i++)
        free(causes->of[i].list);
    free(causes->samples.list);
    free(causes->ops);
    places_close(&causes->places);
    call_origins_close(&causes->origins);
}

/* ---- Windows ---------------------------------------------------------------------------------------------------- */

/* The part of an activity that lies in a window. */
struct share {
    int64_t time_ns, count;
    double size;
    struct activity longest; /* within the window */
};

static struct share late_causes_share_of(const struct activities *activities, int64_t owner,
                                         const struct rank_window *window, int64_t begin_ns)
{
    /* Those that begin earlier than the longest one lasts cannot reach into the window. */
    const struct activity wanted = { .owner = owner,
                                     .start_ns = saturating_subtract(window->from_ns, activities->longest_ns) };
    struct share share = { 0 };
    size_t first = BISECT(0, activities->count, i, late_causes_compare(&activities->list[i], &wanted) < 0);

    for (; first < activities->count; first++) {
        struct activity part = activities->list[first];
        if (part.owner != owner || part.start_ns >= window->to_ns)
            break;
        if (part.start_ns < begin_ns)
            continue;
        part.start_ns = part.start_ns < window->from_ns ? window->from_ns : part.start_ns;
        part.end_ns = part.end_ns > window->to_ns ? window->to_ns : part.end_ns;
        if (part.end_ns <= part.start_ns)
            continue;
        share.count++;
        share.size += part.size;
        share.time_ns = saturating_add(share.time_ns, part.end_ns - part.start_ns);
        if (part.end_ns - part.start_ns > share.longest.end_ns - share.longest.start_ns)
            share.longest = part;
    }
    return share;
}

static int late_causes_is_of_process(enum late_activity activity)
{
    return activity == LATE_KERNELS || activity == LATE_COPIES;
}

static int late_causes_is_call(int activity)
{
    return activity >= LATE_SLEEP && activity <= LATE_OTHER_WAIT;
}

static struct share share_in(const struct late_causes *causes, enum late_activity activity,
                             const struct rank_window *window)
{
    /* A call that began before the rank left the instance before is how it waited there. */
    return late_causes_share_of(&causes->of[activity],
                                late_causes_is_of_process(activity) ? global_process(window->thread) : window->thread,
                                window, late_causes_is_call(activity) ? window->left_ns : INT64_MIN);
}

struct cpu_time {
    int64_t running_ns, off_ns, sampled_ns, faults_ns;
};

/* What the GPU did in late windows, and in those of median ranks. */
struct gpu_work {
    int64_t count, usual_count;
    double size, usual_size; /* of all: threads of kernels, bytes of copies */
};

/* The time of late windows beyond that of median ranks' windows. */
struct excess {
    int64_t total_ns, of_ns[LATE_ACTIVITY_COUNT], off_cpu_ns;
    struct gpu_work work[LATE_ACTIVITY_COUNT];
};

/* Adds the time of a window on its CPU, and the time off it that neither an OS call nor another rank explains. */
static void add_cpu_time(const struct late_causes *causes, const struct rank_window *window, struct cpu_time *time)
{
    int64_t running_ns = cpu_runs_time(causes->runs, window->thread, window->from_ns, window->to_ns);
    int64_t off_ns = saturating_subtract(window->to_ns, window->from_ns);

    off_ns = saturating_subtract(saturating_subtract(off_ns, running_ns), window->shared_ns);
    for (int a = LATE_SLEEP; a <= LATE_OTHER_WAIT; a++)
        off_ns = saturating_subtract(off_ns, share_in(causes, (enum late_activity)a, window).time_ns);
    time->sampled_ns = saturating_add(
        time->sampled_ns, late_causes_share_of(&causes->samples, window->thread, window, INT64_MIN).time_ns);
    time->faults_ns = saturating_add(time->faults_ns, share_in(causes, LATE_FAULTS, window).time_ns);
    time->running_ns = saturating_add(time->running_ns, running_ns);
    time->off_ns = saturating_add(time->off_ns, off_ns > 0 ? off_ns : 0);
}

/* The time that a rank was off its CPU beyond that of the median rank in the same work: a rank with more to do is
 * interrupted more often, too. */
static int64_t off_cpu_excess(const struct cpu_time *late, const struct cpu_time *usual)
{
    double longer = usual->running_ns > 0 ? (double)late->running_ns / (double)usual->running_ns : 1;

    return saturating_subtract(late->off_ns, saturating_from_double((double)usual->off_ns * (longer > 1 ? longer : 1)));
}

/* The time in page faults. On a busy machine samples are lost, and more of one rank than of another: the share of those
 * that are left holds. */
static int64_t time_in_faults(const struct cpu_time *time)
{
    double missing = time->sampled_ns > 0 ? (double)time->running_ns / (double)time->sampled_ns : 1;

    return saturating_from_double((double)time->faults_ns * (missing > 1 ? missing : 1));
}

static struct excess late_causes_add_up(const struct late_causes *causes, const struct late *const *lates, size_t count)
{
    struct excess excess = { 0 };
    struct cpu_time own_time = { 0 }, usual_time = { 0 };

    for (size_t i = 0; i < count; i++) {
        const struct rank_window *late = &lates[i]->window, *usual = &lates[i]->usual;
        int has_usual = usual->rank != COLLECTIVE_UNKNOWN;
        excess.total_ns = saturating_add(excess.total_ns,
                                         saturating_subtract(late->busy_ns, has_usual ? usual->busy_ns : 0));
        for (int a = 0; a < LATE_ACTIVITY_COUNT; a++) {
            struct share own = share_in(causes, (enum late_activity)a, late), other = { 0 };
            if (has_usual)
                other = share_in(causes, (enum late_activity)a, usual);
            excess.of_ns[a] = saturating_add(excess.of_ns[a], own.time_ns - other.time_ns);
            excess.work[a].count += own.count;
            excess.work[a].usual_count += other.count;
            excess.work[a].size += own.size;
            excess.work[a].usual_size += other.size;
        }
        add_cpu_time(causes, late, &own_time);
        if (has_usual)
            add_cpu_time(causes, usual, &usual_time);
    }
    excess.off_cpu_ns = off_cpu_excess(&own_time, &usual_time);
    excess.of_ns[LATE_FAULTS] = time_in_faults(&own_time) - time_in_faults(&usual_time);
    return excess;
}

/* More of them, larger ones, or the same that took longer. A twentieth more is no difference. */
static const char *how_much_more(const struct gpu_work *work)
{
    if (work->count > work->usual_count + work->usual_count / 20)
        return "more";
    return work->size > work->usual_size * 1.05 ? "larger" : "slower";
}

/* ---- Operators -------------------------------------------------------------------------------------------------- */

static int late_causes_compare_ops(const void *a, const void *b)
{
    const struct op_start *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
}

/* There may be millions of them, and only some causes need them. */
static int late_causes_read_ops(struct late_causes *causes)
{
    static const char *const names[] = { "start", "globalTid", NULL };
    struct row_cursor rows;
    struct error err;
    int code = causes->has_ops ? 0 : row_cursor_open(&rows, causes->report, "TACHO_TORCH_OP", names, &err);

    if (code != 0 || causes->has_ops)
        return code == ERR_NO_MEMORY ? code : 0;
    causes->has_ops = 1;
    while (row_cursor_next(&rows) && code == 0) {
        if (row_is_null(&rows, 1))
            continue;
        code = ARRAY_PUSH(causes->ops, causes->op_room, causes->op_count,
                          (struct op_start){ row_int(&rows, 1), row_int(&rows, 0) });
    }
    row_cursor_close(&rows);
    if (causes->op_count)
        qsort(causes->ops, causes->op_count, sizeof *causes->ops, late_causes_compare_ops);
    return code;
}

static int64_t ops_in(const struct late_causes *causes, const struct rank_window *window)
{
    const struct op_start from = { window->thread, window->from_ns }, to = { window->thread, window->to_ns };
    size_t first = BISECT(0, causes->op_count, i, late_causes_compare_ops(&causes->ops[i], &from) < 0);

    return (int64_t)(BISECT(first, causes->op_count, i, late_causes_compare_ops(&causes->ops[i], &to) < 0) - first);
}

/* Code that computes longer has more to do, or is slower. In PyTorch the number of operators says which. */
static int add_more_operators(struct late_causes *causes, const struct late *const *lates, size_t count,
                              struct text *cause)
{
    int64_t own = 0, usual = 0;

    if (late_causes_read_ops(causes) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        int has_usual = lates[i]->usual.rank != COLLECTIVE_UNKNOWN;
        own += has_usual ? ops_in(causes, &lates[i]->window) : 0;
        usual += has_usual ? ops_in(causes, &lates[i]->usual) : 0;
    }
    if (own > usual + usual / 20)
        text_add(cause, ": more operators");
    return 0;
}

/* ---- Places ----------------------------------------------------------------------------------------------------- */

enum { SLICES = 32 /* of a window */ };
/* Instead of an activity: what windows have more than usual ones, and all of them. */
enum { WINDOWS = -1, WHOLE_WINDOWS = -2 };

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

struct place_sums {
    struct place_sum *list; /* owned */
    size_t count, room;
};

static int late_causes_add_place(struct place_sums *sums, uint32_t place, int64_t time_ns)
{
    size_t at = 0;

    while (at < sums->count && sums->list[at].place != place)
        at++;
    if (at == sums->count && ARRAY_PUSH(sums->list, sums->room, sums->count, (struct place_sum){ place, 0 }) != 0)
        return ERR_NO_MEMORY;
    sums->list[at].time_ns = saturating_add(sums->list[at].time_ns, time_ns);
    return 0;
}

/* Adds where a window was spent, slice by slice; sign -1 takes it off. */
static int add_window(struct late_causes *causes, const struct rank_window *window, int sign, struct place_sums *sums)
{
    int64_t length_ns = saturating_subtract(window->to_ns, window->from_ns) / SLICES;

    for (int64_t i = 0; length_ns > 0 && i < SLICES; i++) {
        int64_t from_ns = window->from_ns + i * length_ns;
        uint32_t place = places_line(&causes->places,
                                     places_at(&causes->places, window->thread, from_ns, from_ns + length_ns));
        if (late_causes_add_place(sums, place, sign * length_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int add_activity(struct late_causes *causes, const struct rank_window *window, enum late_activity activity,
                        struct place_sums *sums)
{
    struct activity span = share_in(causes, activity, window).longest;
    uint32_t place = places_line(&causes->places,
                                 places_at(&causes->places, window->thread, span.start_ns, span.end_ns));

    return late_causes_add_place(sums, place, saturating_duration(span.start_ns, span.end_ns));
}

/* Where the rank spent the time of an activity, or of WINDOWS; only_python: nothing if that is native code. */
static int find_where(struct late_causes *causes, const struct late *const *lates, size_t count, int activity,
                      int only_python, struct text *where)
{
    int is_window = activity < 0 || late_causes_is_of_process((enum late_activity)activity);
    struct place_sums sums = { 0 };
    size_t best = 0;
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++) {
        code = is_window ? add_window(causes, &lates[i]->window, 1, &sums)
                         : add_activity(causes, &lates[i]->window, (enum late_activity)activity, &sums);
        if (code == 0 && is_window && activity != WHOLE_WINDOWS && lates[i]->usual.rank != COLLECTIVE_UNKNOWN)
            code = add_window(causes, &lates[i]->usual, -1, &sums);
    }
    for (size_t i = 1; i < sums.count; i++)
        if (sums.list[best].place == NO_PLACE ||
            (sums.list[i].place != NO_PLACE && sums.list[i].time_ns > sums.list[best].time_ns))
            best = i;
    if (code == 0 && sums.count && sums.list[best].place != NO_PLACE && sums.list[best].time_ns > 0 &&
        (!only_python || places_get(&causes->places, sums.list[best].place).kind == PLACE_PYTHON))
        place_text(where, &causes->places, sums.list[best].place);
    free(sums.list);
    return code;
}

/* For OS calls: the line of Python, else the function that made the call. Otherwise: the line of most samples. */
static int late_causes_find_line(struct late_causes *causes, const struct late *const *lates, size_t count,
                                 int activity, struct text *where)
{
    int is_call = late_causes_is_call(activity);

    if (is_call && find_where(causes, lates, count, activity, 1, where) != 0)
        return ERR_NO_MEMORY;
    if (is_call && !where->length && find_origin(causes, lates, count, (enum late_activity)activity, where) != 0)
        return ERR_NO_MEMORY;
    if (!where->length && find_where(causes, lates, count, activity, 0, where) != 0)
        return ERR_NO_MEMORY;
    return where->length ? 0 : find_where(causes, lates, count, WHOLE_WINDOWS, 0, where);
}

/* Whether it is by chance that this rank was where other programs ran: the CPU that it was kept off most is one for
 * other ranks as well, or it runs on one of theirs at times. */
static int is_on_any_cpu(const struct late_causes *causes, const struct late *const *lates, size_t count)
{
    int64_t most_ns = 0, cpu = -1, rank = lates[0]->window.rank;

    for (size_t i = 0; i < count; i++) {
        const struct rank_window *window = &lates[i]->window;
        int64_t off_cpu = -1;
        int64_t off_ns = cpu_runs_kept_off(causes->runs, window->thread, window->from_ns, window->to_ns, &off_cpu);
        if (off_ns > most_ns) {
            most_ns = off_ns;
            cpu = off_cpu;
        }
    }
    if (cpu < 0)
        return 0;
    int64_t other = cpu_runs_other_cpu(causes->runs, lates[0]->window.thread, cpu, causes->from_ns, causes->to_ns);
    return cpu_runs_is_of_several(causes->runs, cpu, rank, causes->from_ns, causes->to_ns) ||
           (other >= 0 && cpu_runs_is_of_several(causes->runs, other, rank, causes->from_ns, causes->to_ns));
}

int late_causes_explain(struct late_causes *causes, const struct late *const *lates, size_t count,
                        struct late_reason *reason)
{
    const struct excess excess = late_causes_add_up(causes, lates, count);
    int64_t half_ns = excess.total_ns / 2;
    int found = WINDOWS;

    for (int a = 0; a < LATE_ACTIVITY_COUNT && found < 0; a++)
        if (excess.of_ns[a] > 0 && excess.of_ns[a] >= half_ns)
            found = a;
    if (excess.total_ns <= 0)
        return 0;
    if (causes->of[LATE_KERNELS].count && !(found >= 0 && late_causes_is_of_process((enum late_activity)found)))
        text_add(&reason->cause, "GPU idle: ");
    if (found >= 0 && late_causes_is_of_process((enum late_activity)found))
        text_addf(&reason->cause, "%s %s", how_much_more(&excess.work[found]), texts[found]);
    else if (found >= 0)
        text_add(&reason->cause, texts[found]);
    else if (causes->runs->count && excess.off_cpu_ns >= half_ns) {
        text_add(&reason->cause, "off CPU: others run there");
        reason->is_by_others = 1;
        reason->is_by_chance = is_on_any_cpu(causes, lates, count);
        found = WHOLE_WINDOWS; /* no line of it is slower than others */
    } else {
        text_add(&reason->cause, causes->runs->count || causes->has_os_calls ? "compute" : "outside of collectives");
        if (add_more_operators(causes, lates, count, &reason->cause) != 0)
            return ERR_NO_MEMORY;
    }
    return late_causes_find_line(causes, lates, count, found, &reason->where);
}
