/* The request flame: samples of threads, or slices of a row, summed up along their stacks for a span. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/stacks/stacks_join.h"
#include "analyze/model/stacks/stacks_tree.h"
#include "answer_cache.h"
#include "answers.h"
#include "base/json_write.h"
#include "event_frames.h"
#include "flame_events.h"
#include "row_answers.h"

/* ---- samples --------------------------------------------------------------------------------------------------- */

static void flame_answer_add_frame(struct flame *flame, struct view *view, const struct stacks *stacks, uint32_t number)
{
    static const char *const kinds[] = {
        [FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel", [FRAME_PYTHON] = "python", [FRAME_THREAD] = "native"
    };
    const int64_t *key = stack_frame(stacks, number);
    int is_python = key[FRAME_KIND] == FRAME_PYTHON; /* its module is a file */
    struct event_frame frame = { .line = key[FRAME_LINE], .kind = kinds[key[FRAME_KIND]] };

    text_clear(&flame->name);
    stack_frame_name(&flame->name, stacks, number);
    frame.name = text_string(&flame->name);
    frame.name_length = flame->name.length;
    if (!is_python && key[FRAME_KIND] != FRAME_THREAD) /* a thread has its number there */
        frame.module = event_frame_string(view, key[FRAME_MODULE], &frame.module_length);
    frame.file = event_frame_string(view,
                                    is_python && key[FRAME_SOURCE] == FRAME_NO_NAME ? key[FRAME_MODULE]
                                                                                    : key[FRAME_SOURCE],
                                    &frame.file_length);
    event_frame_add(&flame->frames, &frame);
    flame->frame_count++;
}

/* Parents come before their children, so a node whose parent was left out is left out too. `numbers` has the number of
 * each frame in the answer, counted from 1, and 0 for frames that are not in it yet. */
static int flame_answer_add_tree(struct flame *flame, struct view *view, const struct stacks *stacks,
                                 const struct stack_tree *tree)
{
    uint32_t *numbers = calloc(stacks->frames.count + 1, sizeof *numbers);

    if (!numbers)
        return ERR_NO_MEMORY;
    flame_add_node(flame, -1, -1, tree->self[TREE_ROOT].samples, tree->total[TREE_ROOT].samples);
    for (uint32_t node = TREE_ROOT + 1; node < tree->nodes.count && node < FLAME_MOST_NODES; node++) {
        uint32_t frame = tree_frame(tree, node);
        if (!numbers[frame]) {
            flame_answer_add_frame(flame, view, stacks, frame);
            numbers[frame] = (uint32_t)flame->frame_count;
        }
        flame_add_node(flame, tree_parent(tree, node), numbers[frame] - 1, tree->self[node].samples,
                       tree->total[node].samples);
    }
    flame->samples = tree->total[TREE_ROOT].samples;
    free(numbers);
    return 0;
}

/* Reads all samples of a source into the cache, unless they are there. */
static int read_stacks(struct view *view, enum stack_source source, struct error *err)
{
    const struct filter everything = { 0 };
    struct stacks *stacks = &view->cache->stacks[source];
    int code;

    if (view->cache->has_stacks[source])
        return 0;
    if ((code = stacks_open(stacks, view->report, err)) != 0 ||
        (code = source == STACKS_CPU ? stacks_join_samples(stacks, STACKS_WITH_LINES, &everything, err)
                                     : stacks_read_samples(stacks, source, STACKS_WITH_LINES, &everything, err)) != 0) {
        stacks_free(stacks);
        return code;
    }
    view->cache->has_stacks[source] = 1;
    return 0;
}

/* thread -1: all */
struct flame_answer_part {
    struct report_span span;
    int64_t thread;
    int with_waiting;
};

static int flame_answer_is_in(const struct flame_answer_part *part, const struct stack_sample *sample)
{
    return sample->time_ns >= part->span.from_ns && sample->time_ns <= part->span.to_ns &&
           (part->thread < 0 || sample->thread == part->thread || global_tid_number(sample->thread) == part->thread);
}

static int choose_samples(const struct stacks *stacks, const struct flame_answer_part *part, struct stack_sample **out,
                          size_t *out_count)
{
    size_t count = 0;

    for (size_t i = 0; i < stacks->sample_count; i++)
        count += flame_answer_is_in(part, &stacks->samples[i]) != 0;
    struct stack_sample *chosen = malloc((count + 1) * sizeof *chosen);
    if (!chosen)
        return ERR_NO_MEMORY;
    for (size_t i = 0, next = 0; i < stacks->sample_count; i++)
        if (flame_answer_is_in(part, &stacks->samples[i]))
            chosen[next++] = stacks->samples[i];
    *out = chosen;
    *out_count = count;
    return 0;
}

/* stack_tree_read() builds the tree of all samples of the stacks, so the chosen ones replace them meanwhile. */
static int flame_of_samples(struct flame *flame, struct view *view, enum stack_source source,
                            const struct flame_answer_part *part, struct error *err)
{
    const struct stack_tree_request request = { .unit = STACK_BY_FUNCTION, .with_waiting = part->with_waiting };
    struct stacks *stacks = &view->cache->stacks[source];
    struct stack_tree tree = { 0 };
    struct stack_sample *chosen;
    size_t count;
    int code;

    if ((code = read_stacks(view, source, err)) != 0)
        return code;
    if (choose_samples(stacks, part, &chosen, &count) != 0)
        return error_short_memory(err, "for the samples");
    struct stack_sample *all = stacks->samples;
    size_t all_count = stacks->sample_count;
    stacks->samples = chosen;
    stacks->sample_count = count;
    code = stack_tree_read(&tree, stacks, &request, err);
    stacks->samples = all;
    stacks->sample_count = all_count;
    free(chosen);
    if (code != 0)
        goto free_tree;
    if (flame_answer_add_tree(flame, view, stacks, &tree) != 0)
        code = error_short_memory(err, "for the flame graph");
free_tree:
    stack_tree_free(&tree);
    return code;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

static int flame_answer_read_part(struct view *view, const struct arguments *arguments, struct flame_answer_part *part,
                                  struct error *err)
{
    int64_t with_waiting = 0;
    int code;

    part->thread = -1;
    if ((code = view_argument_span(view, arguments, &part->span, err)) != 0 ||
        (code = argument_int(arguments, "thread", 0, INT64_MAX, &part->thread, err)) != 0 ||
        (code = argument_int(arguments, "waiting", 0, 1, &with_waiting, err)) != 0)
        return code;
    part->with_waiting = (int)with_waiting;
    return 0;
}

static int flame_answer_make(struct flame *flame, struct view *view, const struct arguments *arguments,
                             const char *source, struct error *err)
{
    struct flame_answer_part part;
    int row = VIEW_NO_ROW, code;

    if ((code = flame_answer_read_part(view, arguments, &part, err)) != 0)
        return code;
    if (strcmp(source, "cpu") == 0)
        return flame_of_samples(flame, view, STACKS_CPU, &part, err);
    if (strcmp(source, "python") == 0)
        return flame_of_samples(flame, view, STACKS_PYTHON, &part, err);
    if (strcmp(source, "events") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "source=%.40s: must be cpu, python or events", source);
    if ((code = view_argument_row(view, arguments, "row", &row, err)) != 0)
        return code;
    return flame_of_events(flame, view, row, &part.span, err);
}

int view_flame(struct view *view, const struct arguments *arguments, struct text *out, struct error *err)
{
    const char *given = argument_text(arguments, "source", NULL), *source = given ? given : "cpu";
    struct flame flame = { 0 };
    int code;

    if ((code = flame_answer_make(&flame, view, arguments, source, err)) != 0)
        goto free_flame;
    json_addf(out, "{'unit':%s,'frames':[", strcmp(source, "events") == 0 ? "ns" : "samples");
    text_add_bytes(out, text_string(&flame.frames), flame.frames.length);
    json_addf(out, "],'nodes':[");
    text_add_bytes(out, text_string(&flame.nodes), flame.nodes.length);
    json_addf(out, "],'samples':%jd}", flame.samples);
    if (text_failed(&flame.frames) || text_failed(&flame.nodes))
        code = error_short_memory(err, "for the flame graph");
free_flame:
    text_free(&flame.frames);
    text_free(&flame.nodes);
    text_free(&flame.name);
    return code;
}
