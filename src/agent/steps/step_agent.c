/* Times the steps of the program, and switches what is recorded between them: see step_agent.h.
 *
 * A step is closed and the next one opened in the thread that makes the mark, one after the other, so that the time of
 * a change lies between two steps and in neither. A change stores the sources that record from now on and calls every
 * source, as the begin and the end of a capture range do. If the program has switched recording off, steps are neither
 * timed nor counted. A thread that finds another one at work leaves its mark out: marks of a step come from one
 * thread. */
#include "step_agent.h"

#include "abi/step_names.h"
#include "agent/core/source.h"
#include "agent/core/sys.h"
#include "step_schedule.h"

/* How marks make steps. A range is a step itself; between other marks, steps follow one another. */
static const struct {
    const char *prefix; /* of the names of annotations that are this mark; NULL: it has no name of its own */
    uint8_t is_range, at_end;
} marks[] = {
    [STEP_MARK_MODULE] = { NULL, 0, 0 },
    [STEP_MARK_LOADER] = { "enumerate(DataLoader)#", 0, 0 },
    [STEP_MARK_OPTIMIZER] = { "Optimizer.step#", 0, 1 },
    [STEP_MARK_NAMED] = { NULL, 1, 0 },
    [STEP_MARK_PROFILER] = { "ProfilerStep#", 1, 0 },
};
enum { CANDIDATES = 16, NAME_BYTES = 64, SEEN_OFTEN = 2, MUCH_MORE = 8 };

/* A mark that has come: ranges of one name, in one thread. */
struct step_agent_candidate {
    enum step_mark mark;
    const struct agent_thread *thread;
    uint32_t begins;
    size_t length; /* of the name without the number at its end */
    char name[NAME_BYTES];
};

static struct {
    _Atomic uint32_t busy;
    struct step_agent_candidate candidates[CANDIDATES];
    _Atomic(const struct step_agent_candidate *) current; /* NULL: none has come twice */
    struct step_schedule schedule;
    struct step_plan plan;
    uint64_t start_ticks, number;                         /* of the step that is open; 0 ticks: none is */
    uint64_t count;
    uint32_t full;             /* steps since the collector has switched all sources on again; 0: some are off */
    _Atomic uint32_t left_out; /* the sources that it has switched off in the step that is open: STEP_LEFT_OUT */
    _Atomic uint32_t lowered;  /* those that the schedule leaves out of this step */
    _Atomic uint32_t tag;
    int is_child;              /* this process was forked from one that is recorded */
} steps;

/* ---- Names ----------------------------------------------------------------------------------------------------- */

/* "iteration 7", "Step_7", "iter7", "step". */
static int step_agent_is_counted(const char *name, size_t length)
{
    size_t left = step_name_without_number(name, length);
    if (left < length && left && strchr(STEP_NAME_SEPARATORS, name[left - 1]))
        left--;
    return step_name_is_word(name, left);
}

enum step_mark step_mark_of(const char *name, size_t length)
{
    for (enum step_mark mark = STEP_MARK_PROFILER; mark > STEP_MARK_NONE; mark--) {
        size_t prefix = marks[mark].prefix ? strlen(marks[mark].prefix) : 0;
        if (prefix && length >= prefix && memcmp(name, marks[mark].prefix, prefix) == 0)
            return mark;
    }
    return step_agent_is_counted(name, length) ? STEP_MARK_NAMED : STEP_MARK_NONE;
}

/* The number at the end of the name of a range, else the steps so far. */
static uint64_t step_agent_number_of(const char *name, size_t length)
{
    enum { DIGITS_MAX = 18 };
    size_t first = step_name_without_number(name, length);
    if (!marks[steps.current->mark].is_range || first == length || length - first > DIGITS_MAX)
        return steps.count;
    uint64_t number = 0;
    for (size_t i = first; i < length; i++)
        number = number * 10 + (uint64_t)(name[i] - '0');
    return number;
}

int steps_are_advised(void)
{
    return steps_are_timed() && !(agent.arena->flags & WIRE_FLAG_STEP_PROBES);
}

/* ---- Candidates ------------------------------------------------------------------------------------------------ */

/* The begin or the end of an event that may mark steps. */
struct event {
    enum step_mark mark;
    int is_begin;
    struct agent_thread *thread;
    uint64_t ticks;
    const char *name;
    size_t length;
};

static struct step_agent_candidate *candidate_of(const struct event *event)
{
    size_t kept = step_name_without_number(event->name, event->length < NAME_BYTES ? event->length : NAME_BYTES - 1);
    for (size_t i = 0; i < CANDIDATES; i++) {
        struct step_agent_candidate *candidate = &steps.candidates[i];
        if (!candidate->mark) {
            *candidate = (struct step_agent_candidate){ .mark = event->mark, .thread = event->thread, .length = kept };
            memcpy(candidate->name, event->name, kept);
        }
        if (candidate->mark == event->mark && candidate->thread == event->thread && candidate->length == kept &&
            memcmp(candidate->name, event->name, kept) == 0)
            return candidate;
    }
    return NULL;
}

/* A mark is better if its kind is, or if it is of the same kind and occurs so much more often that the other was no
 * step: a text encoder runs twice, the model after it in every step. */
static int step_agent_is_better(const struct step_agent_candidate *candidate,
                                const struct step_agent_candidate *current)
{
    return candidate->begins >= SEEN_OFTEN &&
           (!current || candidate->mark > current->mark ||
            (candidate->mark == current->mark && candidate->begins / MUCH_MORE > current->begins));
}

/* Ranks of a job would pause at different times, and a call that only some of them have looks like a late one. torchrun
 * and its like set this variable in programs that the capture began with. */
static int step_agent_is_rank(void)
{
    const char *ranks = getenv("WORLD_SIZE");
    return ranks && strcmp(ranks, "1") != 0;
}

/* Steps are counted anew. What is recorded stays as it is until the next step. */
static void step_agent_choose(const struct step_agent_candidate *candidate)
{
    if (!step_agent_is_better(candidate, steps.current) || (!steps_are_advised() && step_agent_is_rank()))
        return;
    steps.current = candidate;
    atomic_store_explicit(&agent.arena->marks_steps, 1, memory_order_relaxed);
    steps.schedule = (struct step_schedule){ .is_plain = !steps_are_advised(),
                                             .may_lower = (agent.arena->flags & WIRE_FLAG_STEP_WINDOWS) != 0 };
    steps.start_ticks = 0;
    steps.count = 0;
    sources_switched();
}

/* ---- Steps ----------------------------------------------------------------------------------------------------- */

/* A probe keeps the ranges of the program: they cost next to nothing, and someone counts on them.
 *
 * Fails if the program or the collector switches recording at the same time: then their word counts until the next
 * change. */
static void switch_to(enum step_records records)
{
    _Atomic uint32_t *recording = &agent.arena->recording;
    uint32_t before = atomic_load(recording), wanted = atomic_load(&agent.chosen);
    wanted = wire_recording(agent.arena, wanted);
    if (records == STEP_RECORDS_NOTHING)
        wanted = WIRE_PAUSED | WIRE_BIT(STEPS) | (steps_are_advised() ? 0 : wanted & WIRE_BIT(NVTX));
    if (before & WIRE_BIT(STEPS))
        atomic_compare_exchange_strong(recording, &before, wanted);
    sources_switched();
}

/* The sources that the next step is to leave out (--cost-limit). A window in which all are on has at least three steps,
 * the first of which settles. */
static uint32_t step_agent_left_out(void)
{
    enum { LEAST_STEPS = 3 };
    uint32_t now = atomic_load_explicit(&agent.arena->left_out, memory_order_relaxed) & STEP_LEFT_OUT;
    return steps.full && steps.full < LEAST_STEPS ? steps.left_out : now;
}

/* The phase of the step that ends. CUPTI may drop records of its last kernels if CUDA is switched off after it. */
static enum wire_step_phase step_agent_phase(int is_change)
{
    if (steps.plan.records != STEP_RECORDS_EVENTS)
        return steps.plan.phase;
    if (steps.left_out)
        return WIRE_STEP_LOWERED;
    return is_change || steps.full == 1 ? WIRE_STEP_SETTLING : steps.plan.phase;
}

static void close_step(const struct event *event, int is_change)
{
    const struct step_agent_candidate *current = steps.current;
    uint64_t start = steps.start_ticks;
    steps.start_ticks = 0;
    if (!start)
        return;
    struct agent_lane *lane;
    uint32_t words = WIRE_HEAD_WORDS + 2 + emit_text_words(current->length);
    struct wire_record *record = emit_begin(event->thread, &lane, WIRE_SOURCE_STEPS, WIRE_STEP, words);
    if (!record)
        return;
    record->a = (uint16_t)step_agent_phase(is_change);
    record->b = steps.plan.records == STEP_RECORDS_FEW ? (uint16_t)steps.schedule.longer : 0;
    record->ticks = start;
    record->body[0] = event->ticks;
    record->body[1] = steps.number;
    emit_text(record->body + 2, current->name, current->length);
    emit_commit(lane, record);
}

static void open_step(const struct event *event, uint32_t left_out)
{
    enum step_records before = steps.plan.records;
    int is_change = left_out != steps.left_out;
    if (is_change || steps.full)
        steps.full = left_out ? 0 : steps.full + (steps.full < UINT32_MAX);
    atomic_store_explicit(&steps.left_out, left_out, memory_order_relaxed);
    steps.plan = step_schedule_next(&steps.schedule, sys_now_ns());
    atomic_store_explicit(&steps.lowered, steps.plan.records == STEP_RECORDS_FEW ? WIRE_BIT(TORCH) : 0,
                          memory_order_relaxed);
    steps.number = step_agent_number_of(event->name, event->length);
    steps.count++;
    uint32_t tag = (uint32_t)(1 + steps.count % 63) << 1;
    tag |= steps.plan.records == STEP_RECORDS_DETAILS ? STEP_TAG_DETAILED : 0;
    atomic_store_explicit(&steps.tag, tag, memory_order_relaxed);
    if (steps.plan.records != before || is_change || (steps.is_child && steps.count == 1))
        switch_to(steps.plan.records);
    steps.start_ticks = agent_ticks();
}

static void step_agent_take(const struct event *event)
{
    struct step_agent_candidate *candidate = candidate_of(event);
    if (!candidate)
        return;
    candidate->begins += (uint32_t)event->is_begin;
    if (event->is_begin)
        step_agent_choose(candidate);
    int is_range = marks[event->mark].is_range;
    if (candidate != steps.current || (!is_range && event->is_begin == marks[event->mark].at_end))
        return;
    uint32_t left_out = step_agent_left_out();
    close_step(event, left_out != steps.left_out);
    if (!is_range || event->is_begin)
        open_step(event, left_out);
}

/* Holds signals back: a handler that left by longjmp() would keep all later marks out. */
static void take_alone(struct event *event)
{
    event->ticks = agent_ticks();
    event->thread = agent_enter(WIRE_BIT(STEPS));
    if (!event->thread)
        return;
    int saved_errno = errno;
    uint64_t mask = sys_hold_signals();
    if (!atomic_exchange_explicit(&steps.busy, 1, memory_order_acquire)) {
        step_agent_take(event);
        atomic_store_explicit(&steps.busy, 0, memory_order_release);
    }
    sys_release_signals(mask);
    errno = saved_errno;
}

void step_mark_begin(enum step_mark mark, const char *name, size_t length)
{
    take_alone(&(struct event){ .mark = mark, .is_begin = 1, .name = name, .length = length });
}

void step_mark_end(enum step_mark mark, const char *name, size_t length)
{
    take_alone(&(struct event){ .mark = mark, .name = name, .length = length });
}

uint32_t step_tag(void)
{
    return atomic_load_explicit(&steps.tag, memory_order_relaxed);
}

uint32_t steps_left_out(void)
{
    if (steps_are_timed() && atomic_load_explicit(&steps.current, memory_order_relaxed))
        return atomic_load_explicit(&steps.left_out, memory_order_relaxed) |
               atomic_load_explicit(&steps.lowered, memory_order_relaxed);
    return atomic_load_explicit(&agent.arena->left_out, memory_order_relaxed) & STEP_LEFT_OUT;
}

int step_needs_modules(void)
{
    const struct step_agent_candidate *current = atomic_load_explicit(&steps.current, memory_order_relaxed);
    return !current || current->mark == STEP_MARK_MODULE;
}

int step_is_in_worker(void)
{
    return steps.is_child && steps_are_advised() && !atomic_load_explicit(&steps.current, memory_order_relaxed);
}

int step_has_details(void)
{
    return (step_tag() & STEP_TAG_DETAILED) != 0;
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

/* A forked child counts steps of its own. Until it has some, all sources record; operators: step_is_in_worker(). */
static void step_agent_forked(void)
{
    memset(&steps, 0, sizeof steps);
    steps.is_child = 1;
}

const struct agent_source agent_source_steps = {
    .forked = step_agent_forked,
};
