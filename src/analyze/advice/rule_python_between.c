/* The rule python_between: a thread that launches work runs the program's own code, and the GPU has nothing to do.
 *
 * Time between two CUDA calls, outside of operators and of a DataLoader, belongs to the line that the thread was at.
 * The lines of a function are one cause. Code of PyTorch itself, up to 2 ms, is left to the rule launch_bound,
 * collections and compilations to rules of their own. Time in which the thread waits for Python's GIL, also in an
 * operator, belongs to the thread that holds it. Bound and estimate: the function takes no time, or the thread does not
 * wait.
 *
 * A function may take long because it touches managed memory, whose pages then move to the CPU. The next kernel that
 * needs them waits until they are back. So, where most samples of a function are in such faults, the kernel after it
 * takes no longer than kernels of its name usually do. */
#include <stdlib.h>
#include <string.h>

#include "advice_faults.h"
#include "advice_gil.h"
#include "advice_kernels.h"
#include "advice_operators.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "sampled_compilations.h"

enum { LONG_NS = 2000000 };  /* code of PyTorch that takes longer is no way to a launch: launch_bound leaves it */
enum { WAITS_FOR_GIL = -1 }; /* first part of a group's key; the second is the thread that holds it */

struct between {
    struct adviser *adviser;
    struct advice_groups groups;
    struct advice_operators operators; /* only operators, DataLoaders and events of Python, none in another */
    struct gil_waits gil_waits;
    struct piece {
        uint32_t group, call;          /* before which the thread runs its own code */
        int64_t from_ns, to_ns;
    } *pieces;                         /* owned; of its time */
    size_t piece_count, piece_room;
    struct fault_tally *tallies;       /* owned; by group, of those in which pages may move */
    const struct replay_thread *thread;
    uint32_t call;                     /* before which the thread runs its own code */
};

static int add_sampled_compilations(struct thread_spans *spans, struct report *report, struct error *err)
{
    struct sampled_compilations sampled = { 0 };
    int code = sampled_compilations_read(&sampled, report, err);

    for (size_t i = 0; code == 0 && i < sampled.count; i++)
        if (thread_spans_add(spans, &(struct thread_span){ .thread = sampled.list[i].thread,
                                                           .start_ns = sampled.list[i].start_ns,
                                                           .end_ns = sampled.list[i].end_ns }) != 0)
            code = error_short_memory(err, "for the compilations");
    sampled_compilations_free(&sampled);
    return code;
}

/* Leaves the spans that other rules explain. */
static int keep_operators(struct advice_operators *operators, struct error *err)
{
    static const struct thread_span_source events = { "TACHO_PYTHON_EVENT", "nameId", NULL, NULL, NULL, NULL, 0 };
    static const struct filter all;
    size_t kept = 0;
    int code;

    for (size_t i = 0; i < operators->spans.count; i++) {
        size_t length;
        const char *name = report_string(operators->report, operators->spans.list[i].name, &length);
        if (memmem(name, length, "::", 2) || text_begins_with(name, advice_loader_mark))
            operators->spans.list[kept++] = operators->spans.list[i];
    }
    operators->spans.count = kept;
    if ((code = thread_spans_read(&operators->spans, operators->report, &events, &all, err)) != 0 ||
        (code = add_sampled_compilations(&operators->spans, operators->report, err)) != 0)
        return code;
    thread_spans_keep_outermost(&operators->spans);
    return 0;
}

static int python_between_add_event(struct between *between, uint32_t group, uint32_t place, int64_t from_ns,
                                    int64_t to_ns)
{
    const struct advice_event event = {
        .place = place, .thread = between->thread->id, .start_ns = from_ns, .end_ns = to_ns
    };

    if (group == NO_KEY || advice_group_note(&between->groups, group, &event) != 0 ||
        ARRAY_PUSH(between->pieces, between->piece_room, between->piece_count,
                   (struct piece){ group, between->call, from_ns, to_ns }) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &between->groups.list[group].cause;
    const struct replay *replay = &between->adviser->replay;
    if (advice_cut_time(replay, &cause->bound, between->thread, from_ns, to_ns, 0) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(replay, &cause->estimate, between->thread, from_ns, to_ns, 0);
}

/* Adds a span of time without the waits for the GIL in it. */
static int add_without_waits(struct between *between, uint32_t group, uint32_t place, int64_t from_ns, int64_t to_ns)
{
    const struct gil_waits *waits = &between->gil_waits;

    for (size_t i = gil_waits_from(waits, between->thread->id, from_ns); i < waits->count && from_ns < to_ns; i++) {
        const struct gil_wait *wait = &waits->list[i];
        if (wait->thread != between->thread->id || wait->start_ns >= to_ns)
            break;
        if (wait->start_ns > from_ns && python_between_add_event(between, group, place, from_ns, wait->start_ns) != 0)
            return ERR_NO_MEMORY;
        from_ns = wait->end_ns;
    }
    return from_ns < to_ns ? python_between_add_event(between, group, place, from_ns, to_ns) : 0;
}

/* The function that a place is in: for a generator, a comprehension or a function within another one, the outermost. */
static int64_t outermost_function(const struct places *places, const struct place *place)
{
    const char *name = places_string(places, place->function), *inner = strstr(name, ".<locals>.");
    int64_t outer = inner ? intern_find(&places->texts, name, (size_t)(inner - name)) : -1;

    return outer >= 0 ? outer : place->function;
}

/* Counts code of the user, of packages, and of C that these call. The code that runs in a range is not known. */
static int python_between_add_stretch(void *context, uint32_t number, int64_t from_ns, int64_t to_ns)
{
    struct between *between = context;
    struct places *places = between->groups.places;

    if (number == NO_PLACE)
        return 0;
    struct place place = places_get(places, number);
    int is_way = place.act != NO_PLACE_TEXT && place.act_owner == PYTHON_LIBRARY &&
                 saturating_duration(from_ns, to_ns) <= LONG_NS;
    if (place.kind == PLACE_RANGE || is_way)
        return 0;
    uint32_t group = advice_group(&between->groups, (int64_t)place.kind << 32 | place.file,
                                  outermost_function(places, &place));
    return add_without_waits(between, group, places_line(places, number), from_ns, to_ns);
}

/* At the line of the thread that holds the GIL. */
static int add_gil_waits(struct between *between, int64_t from_ns, int64_t to_ns)
{
    const struct gil_waits *waits = &between->gil_waits;
    struct places *places = between->groups.places;

    for (size_t i = gil_waits_from(waits, between->thread->id, from_ns); i < waits->count; i++) {
        const struct gil_wait *wait = &waits->list[i];
        if (wait->thread != between->thread->id || wait->start_ns >= to_ns)
            break;
        int64_t start = wait->start_ns > from_ns ? wait->start_ns : from_ns,
                end = wait->end_ns < to_ns ? wait->end_ns : to_ns;
        uint32_t group = advice_group(&between->groups, WAITS_FOR_GIL, wait->holder),
                 place = places_line(places, places_at(places, wait->holder, start, end));
        if (python_between_add_event(between, group, place, start, end) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Shorter pieces are the way from one launch to the next. */
static int is_long(const struct between *between, int64_t from_ns, int64_t to_ns)
{
    return from_ns < to_ns && saturating_duration(from_ns, to_ns) >= between->adviser->thresholds[THRESHOLD_PIECE];
}

static int python_between_add_piece(struct between *between, int64_t from_ns, int64_t to_ns)
{
    if (!is_long(between, from_ns, to_ns))
        return 0;
    return places_each(between->groups.places, between->thread->id, from_ns, to_ns, python_between_add_stretch,
                       between);
}

/* The time between two calls, without the operators in it. */
static int python_between_add_gap(struct between *between, int64_t from_ns, int64_t to_ns)
{
    const struct thread_spans *spans = &between->operators.spans;
    size_t behind, i = thread_spans_from(spans, between->thread->id, from_ns, &behind);

    if (add_gil_waits(between, from_ns, to_ns) != 0)
        return ERR_NO_MEMORY;
    for (; i < behind && spans->list[i].start_ns < to_ns; i++) {
        if (python_between_add_piece(between, from_ns, spans->list[i].start_ns) != 0)
            return ERR_NO_MEMORY;
        from_ns = spans->list[i].end_ns;
    }
    return python_between_add_piece(between, from_ns, to_ns);
}

static int python_between_add_thread(struct between *between)
{
    const struct replay *replay = &between->adviser->replay;
    const struct replay_thread *thread = between->thread;

    for (uint32_t at = thread->first; at < thread->end; at++) {
        const struct replay_call *call = &replay->events.calls[at];
        uint32_t start = replay_call_start(at), edge = replay_edge_to(replay, start, REPLAY_HOST);
        if (edge == REPLAY_NO_EDGE || replay_edge_to(replay, start, REPLAY_HANDOVER) != REPLAY_NO_EDGE ||
            !adviser_counts(between->adviser, call))
            continue;
        int64_t from_ns = replay_edge_start(replay, edge);
        between->call = at;
        if (is_long(between, from_ns, call->start_ns) && python_between_add_gap(between, from_ns, call->start_ns) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int python_between_add_threads(struct between *between)
{
    const struct replay_events *events = &between->adviser->replay.events;

    for (uint32_t i = 0; i < events->thread_count; i++) {
        between->thread = &events->threads[i];
        if (python_between_add_thread(between) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- managed memory -------------------------------------------------------------------------------------------- */

/* Whether most samples of a group are in faults on managed memory. */
static int waits_for_pages(const struct between *between, uint32_t group)
{
    return between->tallies && 2 * between->tallies[group].faults > between->tallies[group].samples;
}

/* The median time of the kernels of this name, in *out. */
static int usual_ns(const struct advice_kernels *kernels, uint32_t name, int64_t *out)
{
    int64_t *times = malloc((kernels->count + 1) * sizeof *times);
    size_t count = 0;

    if (!times)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->list[i].name == name)
            times[count++] = kernels->list[i].run_ns;
    if (count)
        qsort(times, count, sizeof *times, array_by_int64);
    *out = count ? times[count / 2] : 0;
    free(times);
    return 0;
}

/* The first kernel that a thread launches from a call on, or NULL. */
static const struct advice_kernel *kernel_from(const struct between *between, const struct advice_kernels *kernels,
                                               const uint32_t *kernel_of, uint32_t call)
{
    const struct replay_events *events = &between->adviser->replay.events;
    uint32_t end = events->threads[events->calls[call].thread].end;

    while (call < end && !kernel_of[call])
        call++;
    return call < end ? &kernels->list[kernel_of[call] - 1] : NULL;
}

static int shorten_kernels(struct between *between, const struct advice_kernels *kernels, const uint32_t *kernel_of)
{
    uint32_t name = NO_KEY;
    int64_t usual = 0;

    for (size_t i = 0; i < between->piece_count; i++) {
        const struct piece *piece = &between->pieces[i];
        const struct advice_kernel *kernel = waits_for_pages(between, piece->group)
                                                 ? kernel_from(between, kernels, kernel_of, piece->call)
                                                 : NULL;
        if (kernel && kernel->name != name && usual_ns(kernels, name = kernel->name, &usual) != 0)
            return ERR_NO_MEMORY;
        if (!kernel || kernel->run_ns <= usual)
            continue;
        struct advice_cause *cause = &between->groups.list[piece->group].cause;
        cause->confidence = ADVICE_MODELLED;
        if (advice_kernel_take(&cause->bound, kernel, usual) != 0 ||
            advice_kernel_take(&cause->estimate, kernel, usual) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Counts the samples in the pieces, and those that are in faults. The thread of a piece is that of its call. */
static int tally_faults(struct between *between, const struct managed_faults *faults)
{
    const struct replay_events *events = &between->adviser->replay.events;

    between->tallies = calloc(between->groups.keys.count + 1, sizeof *between->tallies);
    for (size_t i = 0; between->tallies && i < between->piece_count; i++) {
        const struct piece *piece = &between->pieces[i];
        managed_faults_add(faults, events->threads[events->calls[piece->call].thread].id, piece->from_ns, piece->to_ns,
                           &between->tallies[piece->group]);
    }
    return between->tallies ? 0 : ERR_NO_MEMORY;
}

static int cut_waits_for_pages(struct between *between, struct error *err)
{
    const struct replay_events *events = &between->adviser->replay.events;
    struct advice_kernels *kernels;
    int code;

    if ((code = adviser_kernels(between->adviser, &kernels, err)) != 0)
        return code;
    uint32_t *kernel_of = calloc(events->call_count + 1u, sizeof *kernel_of);
    for (size_t i = kernel_of ? kernels->count : 0; i-- > 0;)
        kernel_of[events->works[kernels->list[i].work].call] = (uint32_t)i + 1;
    code = kernel_of && shorten_kernels(between, kernels, kernel_of) == 0 ? 0
                                                                          : error_short_memory(err, "for the kernels");
    free(kernel_of);
    return code;
}

/* Samples may be many: they are read if a group is large enough to be a cause. */
static int add_managed_memory(struct between *between, struct error *err)
{
    struct managed_faults faults = { 0 };
    size_t large = 0;
    int code;

    while (large < between->groups.keys.count && between->groups.list[large].total_ns < advice_least(between->adviser))
        large++;
    if (large == between->groups.keys.count)
        return 0;
    if ((code = managed_faults_read(&faults, between->adviser->report, err)) == 0 && faults.count)
        code = tally_faults(between, &faults) != 0 ? error_short_memory(err, "for page faults")
                                                   : cut_waits_for_pages(between, err);
    managed_faults_free(&faults);
    return code;
}

/* ---- the rule -------------------------------------------------------------------------------------------------- */

static void describe_pages(struct advice_cause *cause)
{
    text_add(&cause->what, "pages of managed memory move to the CPU: ");
    if (cause->confidence == ADVICE_MODELLED)
        text_add(&cause->rate, "kernels after it take as long as others of their name");
    cause->advice =
        "It touches managed memory that kernels use, so that its pages move to the CPU, and back in the next "
        "kernel. Give what the CPU reads or writes memory of its own (cudaMallocHost), and copy it.";
}

/* What can be done about code between launches. Another thread of Python would hold the GIL in it. */
static const char *advice_on_code(const struct between *between, int is_python)
{
#define FIRST "Launch the GPU's work first, or move this "
#define THREAD "to another thread if it releases the GIL (NumPy, I/O)."
    if (!is_python)
        return FIRST "to another thread, or out of the loop.";
    return adviser_uses_torch(between->adviser) ? FIRST
               "out of the loop, to a DataLoader's worker or another process; " THREAD
                                                : FIRST "out of the loop, or to another process; " THREAD;
}

/* "Python between launches: 2.03 ms in each step" */
static int python_between_describe(struct advice_groups *groups, uint32_t group)
{
    const struct between *between = (const struct between *)((const char *)groups - offsetof(struct between, groups));
    struct advice_cause *cause = &groups->list[group].cause;
    int is_of_pages = waits_for_pages(between, group);
    uint32_t place;
    int64_t kind;

    cause->total_ns = is_of_pages ? cause->total_ns : 0;
    for (size_t i = 0; i < cause->bound.count && !is_of_pages; i++)
        cause->total_ns = saturating_add(cause->total_ns, cause->bound.list[i].cut_ns);
    advice_group_most(groups, group, &place, &kind);
    int waits_for_gil = keys_get(&groups->keys, group)[0] == WAITS_FOR_GIL,
        is_python = place != NO_PLACE && places_get(groups->places, place).kind == PLACE_PYTHON;
    cause->advice = waits_for_gil
                        ? "Python runs one thread at a time. Move this to another process (multiprocessing), or to "
                          "code that releases the GIL (NumPy, many C extensions)."
                        : advice_on_code(between, is_python);
    if (is_of_pages)
        describe_pages(cause);
    else if (waits_for_gil)
        text_add(&cause->what, "another thread holds the GIL: ");
    else
        text_add(&cause->what, is_python ? "Python between launches: " : "CPU code between launches: ");
    advice_cause_figure(cause, FIGURE_TIME);
    text_add(&cause->what, groups->adviser->steps->count ? " in each step" : "");
    place_text(&cause->where, groups->places, place);
    return 1;
}

static int find_python_between(struct adviser *adviser, struct error *err)
{
    struct between between = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&between.groups, adviser, err)) != 0 ||
        (code = advice_operators_open(&between.operators, adviser->report, err)) != 0 ||
        (code = gil_waits_read(&between.gil_waits, adviser->report, err)) != 0)
        goto done;
    if ((code = keep_operators(&between.operators, err)) != 0)
        goto done;
    if (python_between_add_threads(&between) != 0 &&
        (code = error_short_memory(err, "for the times between launches")) != 0)
        goto done;
    if ((code = add_managed_memory(&between, err)) == 0)
        code = advice_groups_add(&between.groups, advice_least(adviser), python_between_describe, err);
done:
    free(between.tallies);
    free(between.pieces);
    gil_waits_free(&between.gil_waits);
    advice_operators_free(&between.operators);
    advice_groups_free(&between.groups);
    return code;
}

const struct analysis rule_python_between = {
    .name = "python_between",
    .title = "Python between Launches",
    .help = "Functions of the program that run between CUDA calls while the GPU waits for its next work. Operators, "
            "DataLoaders and code of PyTorch itself are left out. The saving is that of a replay in which the function "
            "takes no time there. Time in which the thread waits for Python's GIL belongs to the thread that holds "
            "it.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(
        python_between,
        .advice = "Launch the work of the GPU first, or move other work to another process, or to another thread "
                  "if it needs no GIL.",
        .praise = "The GPU does not wait for the program's own code between launches."),
};
