/* Native and Python frames as one stack: see stacks_join.h. */
#include "stacks_join.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "thread_spans.h"

/* The role of a native frame in the Python interpreter. */
enum stacks_join_role { ROLE_NONE, ROLE_LOOP, ROLE_HELPER };

int stack_join_open(struct stack_join *join, struct report *report, int lines, struct error *err)
{
    int code;

    *join = (struct stack_join){ .known.width = 3, .calls.width = 4 };
    if ((code = stacks_open(&join->python, report, err)) != 0)
        return code;
    return stack_chains_read(&join->chains, &join->python, "TACHO_PYTHON_CALLCHAINS", lines | STACKS_WITH_ENTRIES, err);
}

void stack_join_free(struct stack_join *join)
{
    stacks_free(&join->python);
    stack_chains_free(&join->chains);
    keys_free(&join->known);
    keys_free(&join->calls);
    free(join->joined);
    free(join->native_frames);
    free(join->python_frames);
    free(join->roles);
}

/* ---- roles of frames ------------------------------------------------------------------------------------------- */

/* Prefixes of the interpreter's functions between one Python function and the next. They are left out of stacks, since
 * the two Python functions show the same call. */
static const char *const helpers[] = {
    "_PyEval_",
    "PyEval_EvalCode",
    "PyEval_EvalFrame",
    "_PyFunction_Vectorcall",
    "_PyFunction_FastCall",
    "_PyObject_Vectorcall",
    "_PyObject_FastCall",
    "_PyObject_Call",
    "_PyObject_MakeTpCall",
    "PyObject_Vectorcall",
    "PyObject_Call",
    "_PyVectorcall_Call",
    "PyVectorcall_Call",
    "_PyMethod",
    "method_vectorcall",
    "method_call",
    "cfunction_vectorcall",
    "cfunction_call",
    "function_code_fastcall",
    "call_function",
    "do_call_core",
    "object_vacall",
    "vectorcall_",
    "gen_send_ex",
    "gen_iternext",
    NULL,
};

static enum stacks_join_role role_of_name(const char *name)
{
    static const char loop[] = "_PyEval_EvalFrameDefault";

    if (text_begins_with(name, loop))
        return ROLE_LOOP;
    return text_begins_with_one(name, helpers) ? ROLE_HELPER : ROLE_NONE;
}

/* Determined once for each frame. -1 when memory is short. */
static int role_of(struct stack_join *join, const struct stacks *native, uint32_t frame)
{
    if (array_reserve_zeroed(&join->roles, &join->role_room, (size_t)frame + 1, sizeof *join->roles) != 0)
        return -1;
    if (!join->roles[frame]) {
        const int64_t *key = stack_frame(native, frame);
        int is_named = key[FRAME_KIND] == FRAME_NATIVE && key[FRAME_SYMBOL] != FRAME_NO_NAME;
        join->roles[frame] = (signed char)(1 + (is_named ? role_of_name(
                                                               report_string(native->report, key[FRAME_SYMBOL], NULL))
                                                         : ROLE_NONE));
    }
    return join->roles[frame] - 1;
}

/* ---- one stack ------------------------------------------------------------------------------------------------- */

/* Frames of a stack, the innermost first; -1 when memory is short. */
static int64_t list_frames(const struct stacks *stacks, uint32_t stack, uint32_t **list, size_t *room)
{
    size_t count = 0;

    for (; stack != STACK_EMPTY; stack = stack_parent(stacks, stack)) {
        if (array_reserve_zeroed(list, room, count + 1, sizeof **list) != 0)
            return -1;
        (*list)[count++] = stack_innermost(stacks, stack);
    }
    return (int64_t)count;
}

/* Whether a Python frame is the outermost of its run of the loop. */
static int is_entry(const struct stack_join *join, size_t place, size_t count)
{
    return place + 1 == count ||
           stack_frame(&join->python, join->python_frames[place])[FRAME_KIND] == FRAME_PYTHON_ENTRY;
}

static uint32_t stacks_join_push(struct stacks *stacks, uint32_t stack, uint32_t frame)
{
    return stack == NO_KEY || frame == NO_KEY ? NO_KEY
                                              : keys_add(&stacks->nodes, (int64_t[NODE_PARTS]){ stack, frame });
}

uint32_t stack_join_frame(const struct stack_join *join, struct stacks *native, uint32_t frame)
{
    int64_t key[FRAME_PARTS];

    memcpy(key, stack_frame(&join->python, frame), sizeof key);
    key[FRAME_KIND] = FRAME_PYTHON;
    return keys_add(&native->frames, key);
}

/* Joins two stacks, from the outermost frames on. */
struct builder {
    struct stack_join *join;
    struct stacks *native;
    uint32_t stack;   /* the result so far */
    size_t native_count, python_count;
    size_t left;      /* number of Python frames that are not in the result yet */
    size_t uncertain; /* number of Python frames, at the innermost end, that are not certain */
    int fits;         /* the native stack has as many runs of the loop as the Python stack has entries */
    int64_t module;   /* the interpreter's */
    int has_ended;    /* no Python frames are known from here on */
};

/* Whether a frame belongs to the C library, which all code calls. */
static int is_libc(struct report *report, const int64_t *frame)
{
    static const char *const files[] = { "libc.so", "libc-", "ld-", "libm.so", "libpthread", "[vdso]", NULL };
    const char *file = path_base_name(report_string(report, frame[FRAME_MODULE], NULL));

    return text_begins_with_one(file, files);
}

/* Whether the innermost run called only the interpreter's own code, the kernel and the C library. */
static int ends_in_interpreter(const struct builder *builder, size_t run)
{
    for (size_t i = 0; i < run; i++) {
        const int64_t *frame = stack_frame(builder->native, builder->join->native_frames[i]);
        if (frame[FRAME_KIND] != FRAME_KERNEL && frame[FRAME_MODULE] != builder->module &&
            !is_libc(builder->native->report, frame))
            return 0;
    }
    return 1;
}

/* Sets the key to the pair of a Python function, the innermost of a run, and the first native function with a name that
 * the run called. Returns 0 if there is none. */
static int callee_of(const struct builder *builder, size_t innermost, size_t place, int64_t key[4])
{
    for (size_t i = place; i-- > 0;) {
        const int64_t *frame = stack_frame(builder->native, builder->join->native_frames[i]);
        int role = role_of(builder->join, builder->native, builder->join->native_frames[i]);
        if (role == ROLE_LOOP)
            return 0;
        if (role == ROLE_HELPER || frame[FRAME_KIND] != FRAME_NATIVE || frame[FRAME_SYMBOL] == FRAME_NO_NAME)
            continue;
        const int64_t *caller = stack_frame(&builder->join->python, builder->join->python_frames[innermost]);
        memcpy(key, (int64_t[]){ caller[FRAME_SYMBOL], caller[FRAME_MODULE], frame[FRAME_SYMBOL], frame[FRAME_MODULE] },
               4 * sizeof *key);
        return 1;
    }
    return 0;
}

/* Records a certain call as evidence for other samples: a Python function that was seen to call this C function may
 * have called it there too. */
static void stacks_join_learn(struct builder *builder, size_t innermost, size_t place)
{
    int64_t key[4];

    if (builder->join->is_learning && callee_of(builder, innermost, place, key) &&
        keys_add(&builder->join->calls, key) == NO_KEY)
        builder->stack = NO_KEY;
}

static int is_known_call(const struct builder *builder, size_t innermost, size_t place)
{
    int64_t key[4];

    return callee_of(builder, innermost, place, key) && keys_find(&builder->join->calls, key) != NO_KEY;
}

/* Pushes the Python functions of one run of the loop, whose native frame is at `place`; then this frame, if the run may
 * have further functions. */
static void push_run(struct builder *builder, size_t place)
{
    size_t first = builder->left, behind = first; /* the run's frames are [behind, first) */

    while (behind > 0 && (behind == first || !is_entry(builder->join, behind - 1, builder->python_count)))
        behind--;
    int has_next = behind > 0;
    size_t end = behind < builder->uncertain ? builder->uncertain : behind;
    /* the run cannot have called functions that are not known */
    int is_whole = builder->fits || (has_next && builder->uncertain < behind);
    if (end == behind && is_whole)
        stacks_join_learn(builder, behind, place);
    else if (builder->fits &&
             ((!has_next && ends_in_interpreter(builder, place)) || is_known_call(builder, behind, place)))
        end = behind;
    for (; builder->left > end; builder->left--)
        builder->stack = stacks_join_push(builder->native, builder->stack,
                                          stack_join_frame(builder->join, builder->native,
                                                           builder->join->python_frames[builder->left - 1]));
    if (end > behind || !is_whole) {
        builder->stack = stacks_join_push(builder->native, builder->stack, builder->join->native_frames[place]);
        builder->has_ended = 1;
    }
}

static uint32_t stacks_join_build(struct builder *builder)
{
    for (size_t i = builder->native_count; i-- > 0 && builder->stack != NO_KEY;) {
        uint32_t frame = builder->join->native_frames[i];
        int role = role_of(builder->join, builder->native, frame);
        int is_helper = role == ROLE_HELPER && stack_frame(builder->native, frame)[FRAME_MODULE] == builder->module;
        if (role == ROLE_LOOP && !builder->has_ended)
            push_run(builder, i);
        else if (!is_helper || builder->has_ended)
            builder->stack = stacks_join_push(builder->native, builder->stack, frame);
    }
    return builder->stack;
}

static uint32_t join_new(struct stack_join *join, struct stacks *native, uint32_t stack, uint32_t python,
                         uint32_t certain)
{
    int64_t native_count = list_frames(native, stack, &join->native_frames, &join->native_room), runs = 0, entries = 0;
    int64_t python_count = list_frames(&join->python, python, &join->python_frames, &join->python_room);
    struct builder builder = {
        .join = join,
        .native = native,
        .native_count = (size_t)native_count,
        .python_count = (size_t)python_count,
        .left = (size_t)python_count,
        .module = FRAME_NO_NAME,
    };

    if (native_count < 0 || python_count < 0)
        return NO_KEY;
    for (int64_t i = 0; i < native_count; i++) {
        int role = role_of(join, native, join->native_frames[i]);
        if (role < 0)
            return NO_KEY;
        runs += role == ROLE_LOOP;
        builder.module = role == ROLE_LOOP ? stack_frame(native, join->native_frames[i])[FRAME_MODULE] : builder.module;
    }
    for (int64_t i = 0; i < python_count; i++)
        entries += is_entry(join, (size_t)i, (size_t)python_count);
    builder.fits = runs == entries;
    builder.uncertain = certain < python_count ? (size_t)python_count - certain : 0;
    if (runs == 0 || (certain == STACK_JOIN_ALL && !builder.fits))
        return stack;
    return stacks_join_build(&builder);
}

uint32_t stack_join(struct stack_join *join, struct stacks *native, uint32_t stack, uint32_t python, uint32_t certain)
{
    size_t before = join->known.count;
    uint32_t key = keys_add(&join->known, (int64_t[]){ stack, python, certain });

    if (key == NO_KEY ||
        array_reserve_zeroed(&join->joined, &join->joined_room, (size_t)key + 1, sizeof *join->joined) != 0)
        return NO_KEY;
    if (key == before)
        join->joined[key] = join_new(join, native, stack, python, certain);
    return join->joined[key];
}

/* ---- samples --------------------------------------------------------------------------------------------------- */

static uint32_t depth_of(const struct stacks *stacks, uint32_t stack)
{
    uint32_t depth = 0;

    for (; stack != STACK_EMPTY; stack = stack_parent(stacks, stack))
        depth++;
    return depth;
}

static int is_same_function(const struct stacks *stacks, uint32_t a, uint32_t b)
{
    const int64_t *x = stack_frame(stacks, stack_innermost(stacks, a)),
                  *y = stack_frame(stacks, stack_innermost(stacks, b));

    return x[FRAME_KIND] == y[FRAME_KIND] && x[FRAME_SYMBOL] == y[FRAME_SYMBOL] && x[FRAME_MODULE] == y[FRAME_MODULE];
}

/* The number of functions that two stacks have in common, from the outermost on; lines may differ. */
static uint32_t common_depth(const struct stacks *stacks, uint32_t a, uint32_t b)
{
    uint32_t depths[2] = { depth_of(stacks, a), depth_of(stacks, b) }, common = 0;

    for (; depths[0] > depths[1]; depths[0]--)
        a = stack_parent(stacks, a);
    for (; depths[1] > depths[0]; depths[1]--)
        b = stack_parent(stacks, b);
    for (; a != b; a = stack_parent(stacks, a), b = stack_parent(stacks, b), depths[0]--)
        common = is_same_function(stacks, a, b) ? common + 1 : 0;
    return depths[0] + common; /* from here outwards they are the same stack */
}

/* The Python stack nearest in time to a sample of a thread, and the number of its frames that are certain. Samples are
 * late at times, so stacks within twice the usual distance are used. *at moves with the samples, which are in order. */
struct nearest {
    uint32_t stack, certain;
};
static struct nearest nearest_to(const struct stacks *python, const struct stack_sample *sample, int64_t reach,
                                 size_t *at)
{
    const struct stack_sample *list = python->samples, *before = NULL, *behind = NULL;

    while (*at < python->sample_count && (list[*at].thread < sample->thread ||
                                          (list[*at].thread == sample->thread && list[*at].time_ns <= sample->time_ns)))
        ++*at;
    if (*at > 0 && list[*at - 1].thread == sample->thread &&
        saturating_duration(list[*at - 1].time_ns, sample->time_ns) <= 2 * reach)
        before = &list[*at - 1];
    if (*at < python->sample_count && list[*at].thread == sample->thread &&
        saturating_duration(sample->time_ns, list[*at].time_ns) <= 2 * reach)
        behind = &list[*at];
    if (!before || !behind)
        return (struct nearest){ before ? before->stack : behind ? behind->stack : STACK_EMPTY, 0 };
    int is_before = saturating_duration(before->time_ns, sample->time_ns) <
                    saturating_duration(sample->time_ns, behind->time_ns);
    return (struct nearest){ is_before ? before->stack : behind->stack,
                             common_depth(python, before->stack, behind->stack) };
}

/* Joins the stacks of all samples. While learning, the samples keep their stacks. */
static int stacks_join_all(struct stack_join *join, struct stacks *stacks)
{
    int64_t thread = 0, reach = 0;
    size_t at = 0, hint = 0;

    for (size_t i = 0; i < stacks->sample_count; i++) {
        struct stack_sample *sample = &stacks->samples[i];
        if ((i == 0 || sample->thread != thread) && stack_samples_distance(&join->python, sample->thread, &reach) != 0)
            return ERR_NO_MEMORY;
        thread = sample->thread;
        struct nearest nearest = { STACK_EMPTY, STACK_JOIN_ALL };
        if (sample->python)
            nearest.stack = stack_chains_find(&join->chains, sample->python, &hint);
        else
            nearest = nearest_to(&join->python, sample, reach, &at);
        uint32_t joined = nearest.stack == STACK_EMPTY
                              ? sample->stack
                              : stack_join(join, stacks, sample->stack, nearest.stack, nearest.certain);
        if (joined == NO_KEY)
            return ERR_NO_MEMORY;
        sample->stack = join->is_learning ? sample->stack : joined;
    }
    return 0;
}

static int learn_and_join(struct stack_join *join, struct stacks *stacks)
{
    join->is_learning = 1;
    if (stacks_join_all(join, stacks) != 0)
        return ERR_NO_MEMORY;
    join->is_learning = 0;
    keys_free(&join->known);
    return stacks_join_all(join, stacks);
}

int stacks_join_samples(struct stacks *stacks, int lines, const struct filter *filter, struct error *err)
{
    struct stack_join join;
    int code;

    if ((code = stacks_read_samples(stacks, STACKS_CPU, lines, filter, err)) != 0)
        return code;
    if ((code = stack_join_open(&join, stacks->report, lines, err)) != 0 || !join.chains.count)
        goto free_join;
    if ((code = stacks_read_samples(&join.python, STACKS_PYTHON, lines | STACKS_WITH_ENTRIES, filter, err)) != 0)
        goto free_join;
    if (learn_and_join(&join, stacks) != 0)
        code = error_short_memory(err, "for the stacks");
free_join:
    stack_join_free(&join);
    return code;
}
