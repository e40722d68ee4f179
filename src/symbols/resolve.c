/* Finds the names of frames, in rounds: see symbols.h.
 *
 * The frames of a round are sorted by module and place. Each module is one job (name_job.h), done by any thread. Only
 * the caller makes jobs and takes their results, so numbers and texts need no lock. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "base/saturating.h"
#include "module.h"
#include "name_job.h"
#include "proc_maps.h"
#include "runtime_names.h"
#include "symbols/names/debug_info.h"
#include "symbols_state.h"

/* The intervals between rounds of a module grow to this many times the CPU time that its last round took. */
#define LEAST_INTERVALS 256
#define GROWTH 4 /* times the time until then */
/* What the lines of a file may take: this much, and this share of the time that samples saw it in. */
#define LINES_ALWAYS_NS 20000000
#define LINES_SHARE 4
#define MAIN_SHARE 4 /* frames of files that are in fewer samples do not wait for lines, which would hold up stacks */
#define LAST_ROUND INT64_MAX /* in place of the time: no frame is left out */

struct name_round {
    uint32_t *order; /* the frames, by module and place */
    struct name_job *jobs;
    size_t job_count, taken;
    pthread_t thread;
    _Atomic size_t done; /* number of finished jobs */
};

/* ---- Combining the results ------------------------------------------------------------------------------------- */

static int resolve_add_line(struct symbols *symbols, const struct symbols_line *line)
{
    if (array_reserve(&symbols->lines, &symbols->line_capacity, symbols->line_count + 1u, sizeof *line) != 0)
        return -1;
    symbols->lines[symbols->line_count++] = *line;
    return 0;
}

static int resolve_take_line(struct symbols *symbols, const struct symbols_line *told, uint64_t address)
{
    struct symbols_line line = *told;
    char hexadecimal[24];
    const char *name = line.name;
    if (line.flags & SYMBOLS_UNRESOLVED) {
        snprintf(hexadecimal, sizeof hexadecimal, "0x%" PRIx64, address);
        name = hexadecimal;
    }
    line.name = symbols_text(symbols, name, strlen(name));
    line.module = symbols_text(symbols, line.module, strlen(line.module));
    if (line.file)
        line.file = symbols_text(symbols, line.file, strlen(line.file));
    return resolve_add_line(symbols, &line);
}

/* Frames of one place share its lines, but frames without a name are named by their own addresses. */
static int take_job(struct symbols *symbols, const struct name_job *job)
{
    size_t place = 0;
    const struct symbols_frame_item *shared = NULL;
    for (size_t k = 0; k < job->frame_count; k++) {
        struct symbols_frame_item *frame = item_table_item(&symbols->frames, job->frames[k]);
        if (job->places[place] != frame->inside) {
            place++;
            shared = NULL;
        }
        const struct name_answer *answer = &job->answers[place];
        int is_named = !(answer->lines[answer->count - 1].flags & SYMBOLS_UNRESOLVED);
        if (shared && (is_named || shared->address == frame->address)) {
            frame->first_line = shared->first_line;
            frame->line_count = shared->line_count;
            continue;
        }
        if (!is_named && frame->line_count) /* asked again, to no avail */
            continue;
        frame->first_line = symbols->line_count;
        for (uint32_t i = 0; i < answer->count; i++)
            if (resolve_take_line(symbols, &answer->lines[i], frame->address) != 0)
                return -1;
        frame->line_count = answer->count;
        if (!shared) {
            symbols->counts.places++;
            symbols->counts.named += is_named;
            symbols->counts.with_source += answer->lines[0].file != NULL;
        }
        shared = frame;
    }
    symbols->counts.maps_cut += job->is_cut;
    return 0;
}

static int resolve_by_place(const void *a, const void *b, void *context)
{
    const struct symbols *symbols = context;
    const struct symbols_frame_item *x = item_table_item(&symbols->frames, *(const uint32_t *)a),
                                    *y = item_table_item(&symbols->frames, *(const uint32_t *)b);
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->inside > y->inside) - (x->inside < y->inside);
}

/* ---- Rounds ---------------------------------------------------------------------------------------------------- */

int symbols_look_for_made_names(const struct symbols *symbols)
{
    int is_any = 0;
    for (size_t i = 0; i < symbols->module_count; i++) {
        struct symbols_module *module = symbols->modules[i];
        if (module->kind != MODULE_JIT)
            continue;
        module->names_come_later = proc_maps_names_at_exit(module->owner);
        module->has_more_names = !module->owner->is_gone && names_made_bytes(module->owner) != module->made_bytes;
        is_any |= module->has_more_names;
    }
    return is_any;
}

static int has_lines(const struct symbols *symbols, uint32_t number)
{
    const struct symbols_frame_item *frame = item_table_item(&symbols->frames, number);
    return frame->line_count > 0;
}

/* A module that costs much is asked at growing intervals, until they are long enough for it to take a small share of
 * the time: after 2, 10 and 50 seconds. */
static int resolve_is_due(const struct symbols *symbols, const struct symbols_module *module, int64_t now_ns)
{
    int64_t grown_ns = GROWTH * (module->asked_ns - symbols->began_ns), enough_ns = module->naming_ns * LEAST_INTERVALS;
    return !module->asked_ns || now_ns - module->asked_ns >= (grown_ns < enough_ns ? grown_ns : enough_ns);
}

static int resolve_is_waiting(const struct symbols *symbols, uint32_t number, int64_t now_ns)
{
    const struct symbols_frame_item *frame = item_table_item(&symbols->frames, number);
    const struct symbols_module *module = symbols->modules[frame->module];
    if (now_ns != LAST_ROUND && (module->names_come_later || !resolve_is_due(symbols, module, now_ns)))
        return 0;
    if (frame->line_count == 0)
        return 1;
    return module->has_more_names && symbols->lines[frame->first_line].flags & SYMBOLS_UNRESOLVED;
}

/* Frames that wait for names, sorted. */
static size_t waiting_frames(struct symbols *symbols, uint32_t *order, int64_t now_ns)
{
    size_t count = 0;
    while (symbols->first_unnamed < symbols->frames.count && has_lines(symbols, symbols->first_unnamed))
        symbols->first_unnamed++;
    uint32_t first = symbols_look_for_made_names(symbols) ? 1 : symbols->first_unnamed;
    for (uint32_t i = first; i < symbols->frames.count; i++)
        if (resolve_is_waiting(symbols, i, now_ns))
            order[count++] = i;
    qsort_r(order, count, sizeof *order, resolve_by_place, symbols);
    return count;
}

static int add_places(const struct symbols *symbols, struct name_job *job)
{
    job->places = malloc(job->frame_count * sizeof *job->places);
    job->answers = calloc(job->frame_count, sizeof *job->answers);
    if (!job->places || !job->answers)
        return -1;
    for (size_t k = 0; k < job->frame_count; k++) {
        const struct symbols_frame_item *frame = item_table_item(&symbols->frames, job->frames[k]);
        if (job->place_count == 0 || job->places[job->place_count - 1] != frame->inside)
            job->places[job->place_count++] = frame->inside;
    }
    return 0;
}

/* A module's debug information is read again in each round that has new places of it. */
static int64_t lines_limit_ns(const struct symbols *symbols, const struct symbols_module *module)
{
    int64_t seen_ns = saturating_multiply((int64_t)module->uses, SYMBOLS_SAMPLE_NS);
    return symbols->samples ? LINES_ALWAYS_NS + seen_ns / LINES_SHARE - module->lines_ns : INT64_MAX;
}

static int add_jobs(const struct symbols *symbols, struct name_round *round, size_t count, int64_t now_ns)
{
    for (size_t i = 0; i < count; i++) {
        const struct symbols_frame_item *frame = item_table_item(&symbols->frames, round->order[i]);
        struct symbols_module *module = symbols->modules[frame->module];
        if (round->job_count == 0 || round->jobs[round->job_count - 1].module != module) {
            struct name_job *job = &round->jobs[round->job_count++];
            module->asked_ns = now_ns;
            *job = (struct name_job){ .settings = &symbols->settings, .module = module, .frames = round->order + i };
            job->lines_limit_ns = lines_limit_ns(symbols, module);
            job->may_wait = now_ns != LAST_ROUND && module->uses >= symbols->samples / MAIN_SHARE;
            if (module->owner)
                job->owner = *module->owner;
        }
        round->jobs[round->job_count - 1].frame_count++;
    }
    for (size_t i = 0; i < round->job_count; i++)
        if (add_places(symbols, &round->jobs[i]) != 0)
            return -1;
    return 0;
}

static void round_free(struct name_round *round)
{
    for (size_t i = 0; round && i < round->job_count; i++)
        name_job_free(&round->jobs[i]);
    if (round) {
        free(round->jobs);
        free(round->order);
    }
    free(round);
}

/* Returns NULL when memory is short. */
static struct name_round *round_new(struct symbols *symbols, int64_t now_ns)
{
    struct name_round *round = calloc(1, sizeof *round);
    if (!round)
        return NULL;
    round->order = malloc(symbols->frames.count * sizeof *round->order);
    round->jobs = calloc(symbols->module_count + 1, sizeof *round->jobs);
    if (!round->order || !round->jobs ||
        add_jobs(symbols, round, waiting_frames(symbols, round->order, now_ns), now_ns) != 0) {
        round_free(round);
        return NULL;
    }
    return round;
}

/* Makes the results of the jobs before `end` known. */
static int round_take(struct symbols *symbols, struct name_round *round, size_t end)
{
    int result = 0;
    for (; round->taken < end; round->taken++) {
        const struct name_job *job = &round->jobs[round->taken];
        struct symbols_module *module = symbols->modules[job->module->number];
        result |= job->failed ? -1 : job->is_postponed ? 0 : take_job(symbols, job);
        module->made_bytes = job->made_bytes;
        module->naming_ns = job->cpu_ns;
        module->lines_ns += job->child_ns;
        symbols->counts.children_ns += job->child_ns;
        symbols->counts.without_lines += job->is_without_lines && !module->is_without_lines;
        module->is_without_lines |= job->is_without_lines;
    }
    return result;
}

static void resolve_work(void *argument, int worker, size_t i)
{
    name_job_do((struct name_job *)argument + i);
}

static void *work_alone(void *argument)
{
    struct name_round *round = argument;
    for (size_t i = 0; i < round->job_count; i++) {
        name_job_do(&round->jobs[i]);
        atomic_store_explicit(&round->done, i + 1, memory_order_release);
    }
    return NULL;
}

int symbols_naming_begin(struct symbols *symbols)
{
    if (symbols->round)
        return 0;
    struct name_round *round = round_new(symbols, clock_ns(CLOCK_MONOTONIC));
    if (round && round->job_count && pthread_create(&round->thread, NULL, work_alone, round) == 0) {
        symbols->round = round;
#if defined(DEBUG_INFO_SANITIZED)
        /* The round forks a child that allocates (debug_child.c). libc's allocator survives a fork in one of several
         * threads; that of a sanitizer need not: if this thread held one of its locks meanwhile, the child would wait
         * for it for ever. So this thread waits, and a sanitizer does not see the two side by side. What they share is
         * `done`, and the jobs before it: work_alone() releases them, symbols_naming_take() acquires them. */
        symbols_naming_end(symbols);
#endif
        return 1;
    }
    round_free(round);
    return 0;
}

int symbols_naming_take(struct symbols *symbols)
{
    struct name_round *round = symbols->round;
    if (!round)
        return 0;
    round_take(symbols, round, atomic_load_explicit(&round->done, memory_order_acquire));
    if (round->taken < round->job_count)
        return 0;
    symbols_naming_end(symbols);
    return 1;
}

void symbols_naming_end(struct symbols *symbols)
{
    struct name_round *round = symbols->round;
    if (!round)
        return;
    pthread_join(round->thread, NULL);
    round_take(symbols, round, round->job_count);
    round_free(round);
    symbols->round = NULL;
}

int symbols_resolve(struct symbols *symbols, struct parallel *pool)
{
    symbols_naming_end(symbols);
    struct name_round *round = round_new(symbols, LAST_ROUND);
    if (!round)
        return -1;
#if defined(DEBUG_INFO_SANITIZED)
    pool = NULL;
#endif
    parallel_for(pool, round->job_count, resolve_work, round->jobs);
    int result = round_take(symbols, round, round->job_count);
    round_free(round);
    return result;
}
