/* The stacks that were recorded with calls and samples, and the line of Python that an event comes from. The line is
 * looked for in the stack of the call, in the stack of an operator, in traced functions, in the names of ranges, and in
 * the nearest sample, the most exact first: see ways[]. */
#include "event_frames.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "answer_cache.h"
#include "base/array.h"
#include "base/json_write.h"
#include "frame_library.h"
#include "operator_pairs.h"
#include "report/schema/chain_tables.h"
#include "view/load/event_search.h"

enum {
    MOST_FRAMES = 512,
    MOST_OPERATORS = 12,             /* around an event that are asked for their stack */
    NEAREST_SAMPLE_NS = 20 * 1000000 /* a sample further away says nothing about an event */
};

void event_frame_add(struct text *out, const struct event_frame *frame)
{
    json_addf(out, "{'name':%.*s", (int)frame->name_length, frame->name);
    if (frame->module_length)
        json_addf(out, "'module':%.*s", (int)frame->module_length, frame->module);
    if (frame->file_length)
        json_addf(out, "'file':%.*s", (int)frame->file_length, frame->file);
    if (frame->line > 0)
        json_addf(out, "'line':%jd", frame->line);
    size_t length;
    const struct frame_origin origin = { frame->kind, frame->file, frame->module, frame->file_length,
                                         frame->module_length };
    const char *library = frame_library(&origin, &length);
    if (library)
        json_addf(out, "'library':%.*s", (int)length, library);
    json_addf(out, "'kind':%s}", frame->kind);
}

/* ---- stacks by id ---------------------------------------------------------------------------------------------- */

/* By table of call chains. Constant: key_ranges.h caches its results by the address of a kind. */
static const struct key_ranges_kind chain_kinds[CHAIN_TABLES] = {
    [CHAINS_CUDA] = { "CUDA_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
    [CHAINS_OSRT] = { "OSRT_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
    [CHAINS_SYSCALL] = { "SYSCALL_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
    [CHAINS_SAMPLING] = { "SAMPLING_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
    [CHAINS_PYTHON] = { "TACHO_PYTHON_CALLCHAINS", CHAIN_PYTHON_COLUMNS, NULL },
    [CHAINS_OPENMP] = { "TACHO_OPENMP_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
    [CHAINS_MPI] = { "TACHO_MPI_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
    [CHAINS_HEAP] = { "TACHO_HEAP_CALLCHAINS", CHAIN_NATIVE_COLUMNS, NULL },
};

struct chain_frame {
    int64_t depth, symbol, module, source, line;
    int is_kernel, is_unresolved;
};
struct event_frames_chain {
    struct chain_frame list[MOST_FRAMES];
    size_t count;
};

static int take_chain_frame(void *context, const struct report_block *block, size_t row)
{
    struct event_frames_chain *chain = context;

    chain->list[chain->count++] = (struct chain_frame){
        .depth = block_value(block, CHAIN_DEPTH, row, 0),
        .symbol = block_value(block, CHAIN_SYMBOL, row, -1),
        .module = block_value(block, CHAIN_MODULE, row, -1),
        .source = block_value(block, CHAIN_SOURCE, row, -1),
        .line = block_value(block, CHAIN_LINE, row, 0),
        .is_kernel = block_value(block, CHAIN_KERNEL, row, 0) != 0,
        .is_unresolved = block_value(block, CHAIN_UNRESOLVED, row, 0) != 0,
    };
    return chain->count == MOST_FRAMES ? KEY_RANGES_ENOUGH : 0;
}

static int by_depth(const void *a, const void *b)
{
    const struct chain_frame *x = a, *y = b;

    return COMPARE(x->depth, y->depth);
}

const char *event_frame_string(struct view *view, int64_t id, size_t *length)
{
    *length = 0;
    return id < 0 ? "" : report_string(view->report, id, length);
}

static void event_frames_add_chain(struct view *view, struct text *out, const struct event_frames_chain *chain,
                                   int is_python)
{
    for (size_t i = 0; i < chain->count; i++) {
        const struct chain_frame *from = &chain->list[i];
        struct event_frame frame = {
            .line = from->line,
            .kind = is_python         ? "python"
                    : from->is_kernel ? "kernel"
                                      : "native",
        };
        frame.name = event_frame_string(view, from->is_unresolved ? -1 : from->symbol, &frame.name_length);
        if (!is_python)
            frame.module = event_frame_string(view, from->module, &frame.module_length);
        frame.file = event_frame_string(view, from->source, &frame.file_length);
        if (!frame.name_length) {
            frame.name = frame.module_length ? frame.module : "?";
            frame.name_length = frame.module_length ? frame.module_length : 1;
        }
        event_frame_add(out, &frame);
    }
}

static int take_id(void *context, const struct report_block *block, size_t row)
{
    *(int64_t *)context = block_value(block, 0, row, 0);
    return 0;
}

/* Adds the frames of the Python stack of an event, or of its native stack; *found: there are some. */
static int add_recorded(struct view *view, struct text *out, struct view_place place, int is_python, int *found,
                        struct error *err)
{
    struct event_frames_chain chain = { 0 };
    int64_t id = 0;
    int code;

    *found = 0;
    for (size_t i = 0; i < CHAIN_USERS && !chain.count; i++) {
        const struct chain_user *user = &chain_users[i];
        const struct key_ranges_kind kind = { user->table, { user->column }, NULL };
        if (strcmp(user->table, place_table(view, place)) != 0 || user->is_name ||
            is_python != (user->chains == CHAINS_PYTHON))
            continue;
        if ((code = key_ranges_row(view->report, &kind, place_table_row(view, place), take_id, &id, err)) != 0)
            return code;
        if (id && (code = key_ranges_find(&view->cache->key_ranges, view->report, &chain_kinds[user->chains], &id, 1,
                                          take_chain_frame, &chain, err)) != 0)
            return code;
    }
    if (!chain.count)
        return 0;
    *found = 1;
    qsort(chain.list, chain.count, sizeof *chain.list, by_depth);
    event_frames_add_chain(view, out, &chain, is_python);
    return 0;
}

int event_frames_add_stack(struct view *view, struct text *out, struct view_place place, int *found, struct error *err)
{
    struct text frames = { 0 };
    int has_stack = 0, code;

    if (place.row != VIEW_NO_ROW && (code = add_recorded(view, &frames, place, 0, &has_stack, err)) != 0)
        goto free_frames;
    *found |= has_stack;
    if (has_stack)
        text_addf(out, "{\"frames\":[%s]}", text_string(&frames));
    else
        text_add(out, "null");
    code = 0;
free_frames:
    text_free(&frames);
    return code;
}

/* ---- lines in texts -------------------------------------------------------------------------------------------- */

/* "train.py(12): main", as PyTorch writes it; any other text is a name. */
static void add_torch_frame(struct text *out, const char *bytes, size_t length)
{
    struct event_frame frame = { .name = bytes, .name_length = length, .kind = "python" };
    const char *behind = memmem(bytes, length, "): ", 3), *digits = behind;

    while (digits && digits > bytes && isdigit((unsigned char)digits[-1]))
        digits--;
    if (digits && digits < behind && digits > bytes && digits[-1] == '(') {
        frame.file = bytes;
        frame.file_length = (size_t)(digits - 1 - bytes);
        frame.line = strtol(digits, NULL, 10);
        frame.name = behind + 3;
        frame.name_length = (size_t)(bytes + length - frame.name);
    }
    event_frame_add(out, &frame);
}

static int add_torch_stack(struct view *view, struct text *out, int64_t stack)
{
    size_t length, count = 0;
    const char *at = report_string(view->report, stack, &length), *end = at + length;

    for (; at < end && count < MOST_FRAMES; count++) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        add_torch_frame(out, at, (size_t)(stop - at));
        at = stop + 1;
    }
    return count > 0;
}

/* {'traceMarker': ['/a/train.py:12', …]}: ranges of PyProf, the outermost line first. */
static int add_marker(struct view *view, struct text *out, struct view_place place)
{
    size_t length, count = 0;
    const char *text = view_name(view, place_name(view, place), &length), *end = text + length;
    const char *at = memmem(text, length, "traceMarker", 11), *starts[MOST_FRAMES], *stops[MOST_FRAMES];

    at = at ? memchr(at, '[', (size_t)(end - at)) : NULL;
    while (at && at < end && *at != ']' && count < MOST_FRAMES) {
        char quote = *at++;
        if (quote != '\'' && quote != '"')
            continue;
        const char *stop = memchr(at, quote, (size_t)(end - at));
        if (!stop)
            break;
        starts[count] = at;
        stops[count++] = stop;
        at = stop + 1;
    }
    for (size_t i = count; i-- > 0;) {
        const char *colon = memrchr(starts[i], ':', (size_t)(stops[i] - starts[i]));
        struct event_frame frame = { .name = starts[i],
                                     .name_length = (size_t)(stops[i] - starts[i]),
                                     .kind = "python" };
        frame.file = starts[i];
        frame.file_length = colon ? (size_t)(colon - starts[i]) : frame.name_length;
        frame.line = colon ? strtol(colon + 1, NULL, 10) : 0;
        event_frame_add(out, &frame);
    }
    return count > 0;
}

/* ---- lines of Python ------------------------------------------------------------------------------------------- */

struct event_frames_lines {
    struct view *view;
    struct text frames, from;
    int found;
};

/* "recorded with NAME" */
static void event_frames_say(struct event_frames_lines *lines, const char *words, struct view_place place)
{
    size_t length;
    const char *name = view_name(lines->view, place_name(lines->view, place), &length);

    lines->found = 1;
    text_add(&lines->from, words);
    text_add_bytes(&lines->from, name, length < 200 ? length : 200);
}

/* Each of the following looks for lines in one place and sets lines->found if there are some. */

static int look_at_stack(struct event_frames_lines *lines, struct view_place place, struct error *err)
{
    int code;

    if (place.row == VIEW_NO_ROW)
        return 0;
    if ((code = add_recorded(lines->view, &lines->frames, place, 1, &lines->found, err)) != 0)
        return code;
    if (lines->found)
        event_frames_say(lines, "recorded with ", place);
    return 0;
}

static int look_at_self(struct event_frames_lines *lines, const struct event_frames_wanted *wanted, struct error *err)
{
    return look_at_stack(lines, wanted->self, err);
}

static int look_at_call(struct event_frames_lines *lines, const struct event_frames_wanted *wanted, struct error *err)
{
    return look_at_stack(lines, wanted->call, err);
}

/* The event itself, then the events around it from the innermost on. */
static int look_at_operators(struct event_frames_lines *lines, const struct event_frames_wanted *wanted,
                             struct error *err)
{
    const struct event_list *around = wanted->around;
    int code, asked = 0;

    for (size_t i = around->count + 1; i-- > 0 && !lines->found && asked < MOST_OPERATORS;) {
        struct view_place place = i == around->count ? wanted->self : around->list[i];
        struct operator_facts facts;
        if (lines->view->rows[place.row].type != ROW_TORCH)
            continue;
        asked++;
        if ((code = operator_facts(&facts, lines->view, place, err)) != 0)
            return code;
        if (facts.stack >= 0 && add_torch_stack(lines->view, &lines->frames, facts.stack))
            event_frames_say(lines, "recorded with ", place);
    }
    return 0;
}

static int look_at_functions(struct event_frames_lines *lines, const struct event_frames_wanted *wanted,
                             struct error *err)
{
    const struct event_list *around = wanted->around;
    size_t count = 0;

    for (size_t i = around->count + 1; i-- > 0 && count < MOST_FRAMES;) {
        struct view_place place = i == around->count ? wanted->self : around->list[i];
        size_t length;
        if (lines->view->rows[place.row].type != ROW_PYTHON)
            continue;
        const char *name = view_name(lines->view, place_name(lines->view, place), &length);
        add_torch_frame(&lines->frames, name, length);
        count++;
    }
    if (count) {
        lines->found = 1;
        text_add(&lines->from, "functions on the call stack");
    }
    return 0;
}

static int look_at_markers(struct event_frames_lines *lines, const struct event_frames_wanted *wanted,
                           struct error *err)
{
    const struct event_list *around = wanted->around;

    for (size_t i = around->count + 1; i-- > 0 && !lines->found;) {
        struct view_place place = i == around->count ? wanted->self : around->list[i];
        if (lines->view->rows[place.row].type == ROW_NVTX && add_marker(lines->view, &lines->frames, place)) {
            lines->found = 1;
            text_add(&lines->from, "named by a range around it");
        }
    }
    return 0;
}

/* The first sample inside the event, else the nearest. */
static struct view_place nearest_sample(const struct view *view, const struct event_frames_wanted *wanted,
                                        int64_t *distance_ns)
{
    struct view_place best = VIEW_NO_PLACE;

    *distance_ns = NEAREST_SAMPLE_NS + 1;
    for (size_t r = 0; r < view->row_count; r++) {
        const struct view_events *events = &view->rows[r].events;
        if (view->rows[r].type != ROW_PYTHON_SAMPLES || view->rows[r].thread != wanted->thread)
            continue;
        for (uint32_t lane = 0; lane < events->lane_count; lane++) {
            uint32_t next = events_from(events, lane, wanted->from_ns);
            for (uint32_t event = next > events->lanes[lane] ? next - 1 : next;
                 event <= next && event < events->lanes[lane + 1]; event++) {
                int64_t time = events->start_ns[event];
                int64_t away = time < wanted->from_ns ? wanted->from_ns - time
                               : time > wanted->to_ns ? time - wanted->to_ns
                                                      : 0;
                if (away < *distance_ns) {
                    *distance_ns = away;
                    best = (struct view_place){ (int)r, event };
                }
            }
        }
    }
    return best;
}

static int look_at_samples(struct event_frames_lines *lines, const struct event_frames_wanted *wanted,
                           struct error *err)
{
    struct view_place sample;
    int64_t away;
    int code;

    if (wanted->thread < 0 || (sample = nearest_sample(lines->view, wanted, &away)).row == VIEW_NO_ROW)
        return 0;
    if ((code = add_recorded(lines->view, &lines->frames, sample, 1, &lines->found, err)) != 0)
        return code;
    if (!lines->found)
        return 0;
    if (away == 0)
        text_add(&lines->from, "sample of the thread in that time");
    else
        text_addf(&lines->from, "nearest sample of the thread, %.3g ms %s", (double)away / 1e6,
                  place_start(lines->view, sample) < wanted->from_ns ? "before" : "after");
    return 0;
}

typedef int look_at(struct event_frames_lines *lines, const struct event_frames_wanted *wanted, struct error *err);

/* Tries one way after another, up to a NULL, until one finds lines. */
static int try_ways(look_at *const *ways, struct event_frames_lines *lines, const struct event_frames_wanted *wanted,
                    struct error *err)
{
    int code;

    for (; *ways && !lines->found; ways++)
        if ((code = (*ways)(lines, wanted, err)) != 0)
            return code;
    return 0;
}

/* The line that called the forward operator. */
static int look_at_forward(struct event_frames_lines *lines, const struct event_frames_wanted *wanted,
                           struct error *err)
{
    static look_at *const ways[] = { look_at_operators, look_at_functions, look_at_markers, NULL };
    struct view *view = lines->view;
    struct view_place forward = wanted->forward;
    struct event_list around = { 0 };
    int code;

    if (forward.row == VIEW_NO_ROW)
        return 0;
    if ((code = event_list_around(&around, view, view->rows[forward.row].thread, place_start(view, forward),
                                  place_end(view, forward), forward, err)) != 0)
        goto free_around;
    if ((code = try_ways(ways, lines, &(struct event_frames_wanted){ .self = forward, .around = &around }, err)) != 0)
        goto free_around;
    if (lines->found) {
        text_clear(&lines->from);
        event_frames_say(lines, "of the forward operator ", forward);
    }
free_around:
    event_list_free(&around);
    return code;
}

int event_frames_add_python(struct view *view, struct text *out, const struct event_frames_wanted *wanted, int *found,
                            struct error *err)
{
    static look_at *const ways[] = { look_at_self,    look_at_call,    look_at_operators, look_at_functions,
                                     look_at_markers, look_at_forward, look_at_samples,   NULL };
    struct event_frames_lines lines = { .view = view };
    int code;

    if ((code = try_ways(ways, &lines, wanted, err)) != 0)
        goto free_lines;
    *found |= lines.found;
    if (lines.found) {
        text_addf(out, "{\"frames\":[%s]", text_string(&lines.frames));
        json_addf(out, "'from':%.*s}", (int)lines.from.length, text_string(&lines.from));
    } else
        text_add(out, "null");
free_lines:
    text_free(&lines.frames);
    text_free(&lines.from);
    return code;
}
