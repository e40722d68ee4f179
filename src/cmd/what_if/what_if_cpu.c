/* Changes to the threads of a program without a GPU: see what_if_model.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturating.h"
#include "what_if_model.h"
#include "what_if_place.h"

static int what_if_cpu_open(struct what_if_job *job, const struct what_if_settings *settings, struct error *err)
{
    static const struct filter all;

    if (settings->step_range || settings->step_operator)
        return error_set(err, ERR_BAD_ARGUMENT, "--step-range and --step-op are for programs that use a GPU");
    return wall_lines_read(&job->lines, job->report, &all, err);
}

static void what_if_cpu_close(struct what_if_job *job)
{
    wall_lines_free(&job->lines);
}

static int what_if_cpu_has_base(const struct what_if_job *job)
{
    return 0;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* What a change is about. */
struct what_if_cpu_search {
    struct what_if_job *job;
    struct wall_edits *edits;
    struct text wanted;            /* owned, as all below: "all", FILE:LINE or a part of a name */
    double factor;
    struct keys names;             /* of calls that were searched before */
    uint8_t *of_names, *of_places; /* by name, by place: enum what_if_cpu_answer */
    size_t names_room, places_room;
    size_t found;
};
enum what_if_cpu_answer { NOT_ASKED, IS_NOT_WANTED, IS_WANTED };

static void what_if_cpu_search_free(struct what_if_cpu_search *search)
{
    text_free(&search->wanted);
    keys_free(&search->names);
    free(search->of_names);
    free(search->of_places);
}

static int what_if_cpu_is_all(const struct what_if_cpu_search *search)
{
    return strcmp(text_string(&search->wanted), "all") == 0;
}

static uint8_t what_if_cpu_answer(const struct what_if_cpu_search *search, const char *name)
{
    return what_if_place_matches(text_string(&search->wanted), name) ? IS_WANTED : IS_NOT_WANTED;
}

/* Each name and each place is searched once. Negative: memory is short. */
static int what_if_cpu_is_named(struct what_if_cpu_search *search, int64_t name)
{
    uint32_t number = keys_add(&search->names, &name);

    if (number == NO_KEY || array_reserve_zeroed(&search->of_names, &search->names_room, number + 1u, 1) != 0)
        return -1;
    uint8_t *answer = &search->of_names[number];
    if (*answer == NOT_ASKED)
        *answer = what_if_cpu_answer(search, report_string(search->job->report, name, NULL));
    return *answer == IS_WANTED;
}

static int what_if_cpu_is_at(struct what_if_cpu_search *search, uint32_t number)
{
    const struct places *places = &search->job->lines.places;
    struct text text = { 0 };

    if (number == NO_PLACE)
        return 0;
    if (array_reserve_zeroed(&search->of_places, &search->places_room, number + 1u, 1) != 0)
        return -1;
    uint8_t *answer = &search->of_places[number];
    if (*answer == NOT_ASKED) {
        place_text(&text, places, number);
        *answer = what_if_cpu_answer(search, text_string(&text));
        if (*answer == IS_NOT_WANTED)
            *answer = what_if_cpu_answer(search, places_string(places, places_get(places, number).act));
        text_free(&text);
    }
    return *answer == IS_WANTED;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

/* All that threads do but wait, up to the end of the program. */
static int what_if_cpu_scale_all(struct what_if_cpu_search *search)
{
    const struct wall_threads *threads = &search->job->lines.path.threads;
    const struct thread_lives *lives = &threads->lives;

    search->found = lives->count;
    for (size_t i = 0; i < lives->count; i++) {
        int64_t end_ns = lives->list[i].end_ns < threads->program->end_ns ? lives->list[i].end_ns
                                                                          : threads->program->end_ns;
        if (wall_edits_add(search->edits, lives->list[i].thread, lives->list[i].start_ns, end_ns, search->factor) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int what_if_cpu_scale_spans(struct what_if_cpu_search *search, const struct thread_spans *spans)
{
    search->found = spans->count;
    for (size_t i = 0; i < spans->count; i++)
        if (wall_edits_add(search->edits, spans->list[i].thread, spans->list[i].start_ns, spans->list[i].end_ns,
                           search->factor) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static int what_if_cpu_scale_place(struct what_if_cpu_search *search, struct error *err)
{
    struct what_if_place place;
    int code = what_if_place_find_work(&place, search->job->report, text_string(&search->wanted), err);

    if (code != 0)
        goto free_place;
    code = what_if_cpu_scale_spans(search, &place.spans);
free_place:
    what_if_place_free(&place);
    return code;
}

static int what_if_cpu_scale(struct what_if_cpu_search *search, struct error *err)
{
    int code = what_if_cpu_is_all(search) ? what_if_cpu_scale_all(search) : what_if_cpu_scale_place(search, err);

    wall_edits_sort(search->edits);
    return code;
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Sleep, and waits for a lock or for I/O, at the place or everywhere; any call of the name but a wait for a joined
 * thread or a child, which is one for their work. Negative: memory is short. */
static int what_if_cpu_is_dropped(struct what_if_cpu_search *search, const struct os_call *call)
{
    const char *name = call->name < 0 ? "" : report_string(search->job->report, call->name, NULL);
    int is_idle = strstr(name, "sleep") || call->kind == OS_CALL_LOCK || call->kind == OS_CALL_IO, is_named;

    if (strstr(name, "join") || call->kind == OS_CALL_CHILD)
        return 0;
    if (what_if_cpu_is_all(search))
        return is_idle;
    if ((is_named = call->name < 0 ? 0 : what_if_cpu_is_named(search, call->name)) != 0 || !is_idle)
        return is_named;
    return what_if_cpu_is_at(search, places_at(&search->job->lines.places, call->thread, call->start_ns, call->end_ns));
}

/* Nothing of the call is left: neither its waits nor what the kernel does in it. */
static int what_if_cpu_drop_call(struct what_if_cpu_search *search, const struct os_call *call)
{
    const struct wall_threads *threads = &search->job->lines.path.threads;
    const struct wall_waits *waits = &threads->waits;
    const struct wall_wait *wait = wall_wait_before(waits, call->thread, call->end_ns);

    search->found++;
    for (; wait && wait->thread == call->thread && wait->end_ns > call->start_ns;
         wait = wait > waits->list ? wait - 1 : NULL)
        if (wall_edits_add_wait(search->edits, threads, (size_t)(wait - waits->list)) != 0)
            return ERR_NO_MEMORY;
    return wall_edits_add(search->edits, call->thread, call->start_ns, call->end_ns, 0);
}

static int what_if_cpu_drop_calls(struct what_if_cpu_search *search, struct error *err)
{
    static const struct os_call_choice every; /* of each kind, however short */
    static const struct filter all;
    struct os_calls calls = { 0 };
    int code = os_calls_read(&calls, search->job->report, &every, &all, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < calls.count; i++) {
        int is_dropped = what_if_cpu_is_dropped(search, &calls.list[i]);
        if (is_dropped < 0 || (is_dropped && what_if_cpu_drop_call(search, &calls.list[i]) != 0)) {
            code = ERR_NO_MEMORY;
            goto free_calls;
        }
    }
    wall_edits_sort(search->edits);
free_calls:
    os_calls_free(&calls);
    return code;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static int what_if_cpu_search(struct what_if_cpu_search *search, const struct what_if_change *change, struct error *err)
{
    size_t length = change->kind == WHAT_IF_FUNCTION ? what_if_factor(change->text, &search->factor)
                                                     : strlen(change->text);

    text_add_bytes(&search->wanted, change->text, length);
    if (text_failed(&search->wanted))
        return ERR_NO_MEMORY;
    return change->kind == WHAT_IF_NO_WAIT ? what_if_cpu_drop_calls(search, err) : what_if_cpu_scale(search, err);
}

static int what_if_cpu_find(struct what_if_job *job, struct what_if_change *change, struct error *err)
{
    struct what_if_cpu_search search = { .job = job, .edits = &change->cpu, .names.width = 1 };

    if (change->kind == WHAT_IF_KERNEL)
        return error_set(err, ERR_NO_DATA, "--kernel '%s': the report has no work on a GPU", change->text);
    int code = what_if_cpu_search(&search, change, err);
    what_if_cpu_search_free(&search);
    if (code != 0)
        return code == ERR_NO_MEMORY ? error_short_memory(err, "for the change") : code;
    if (search.found)
        return 0;
    if (change->kind == WHAT_IF_NO_WAIT)
        return error_set(err, ERR_NO_DATA,
                         "--no-wait '%s': no thread waited there for a lock, a file, a socket or sleep", change->text);
    return error_set(err, ERR_NO_DATA, "--%s '%s': no thread was seen at work there", what_if_option(change->kind),
                     change->text);
}

static int what_if_cpu_replay(struct what_if_job *job, int with_base, const struct what_if_change *first,
                              const struct what_if_change *behind, struct what_if_times *out, struct error *err)
{
    const struct wall_edits *lists[WHAT_IF_MOST_CHANGES + 1] = { NULL };
    size_t count = 0;

    for (; first < behind; first++)
        lists[count++] = &first->cpu;
    *out = (struct what_if_times){ 0 };
    return wall_replay(&job->lines.path.threads, lists, &out->run_ns) != 0 ? error_short_memory(err, "for the replay")
                                                                           : 0;
}

static int what_if_cpu_add_path(struct table *table, struct what_if_job *job, struct error *err)
{
    static const char *const names[WALL_STATES] = {
        [WALL_RUNS] = "computing",
        [WALL_READY] = "ready to run, without a CPU",
        [WALL_SLEEPS] = "sleeping",
        [WALL_IO] = "files, sockets, pipes",
        [WALL_EVENTS] = "events",
        [WALL_LOCKS] = "locks",
        [WALL_WAITS] = "waiting for others",
        [WALL_IMPORTS] = "Python imports",
    };
    const struct wall_lines *lines = &job->lines;
    const struct what_if_parts parts = { table, lines->whole_ns };
    int64_t sums_ns[WALL_STATES] = { 0 };
    int code;

    for (uint32_t i = 0; i < lines->keys.count; i++)
        sums_ns[lines->list[i].state] = saturating_add(sums_ns[lines->list[i].state], lines->list[i].total_ns);
    for (int state = 0; state < WALL_STATES; state++)
        if ((code = what_if_add_part(&parts, names[state], sums_ns[state], err)) != 0)
            return code;
    return 0;
}

const struct what_if_model what_if_cpu = { what_if_cpu_open, what_if_cpu_close,  what_if_cpu_has_base,
                                           what_if_cpu_find, what_if_cpu_replay, what_if_cpu_add_path };
