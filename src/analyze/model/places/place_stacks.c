/* The user's frame of a stack: the innermost one of the code that is most the user's own. The frame inside of it is the
 * library function that it called. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/torch/python_files.h"
#include "base/array.h"
#include "base/path.h"
#include "places_state.h"

/* A Python function's file is its module; native code has a module and, with debug information, a source. */
static const char *file_of(const struct stacks *stacks, const int64_t *frame, size_t *length)
{
    int64_t file = frame[FRAME_KIND] == FRAME_PYTHON || frame[FRAME_SOURCE] == FRAME_NO_NAME ? frame[FRAME_MODULE]
                                                                                             : frame[FRAME_SOURCE];

    return report_string(stacks->report, file, length);
}

static uint32_t frame_text(struct place_stacks *places, uint32_t frame)
{
    struct text text = { 0 };

    stack_frame_name(&text, places->stacks, frame);
    uint32_t number = text_failed(&text) ? UINT32_MAX
                                         : places_add_text(places->places, text_string(&text), text.length);
    text_free(&text);
    places->failed |= number == UINT32_MAX;
    return number;
}

static uint32_t place_stacks_add_frame(struct place_stacks *places, enum place_kind kind, uint32_t frame,
                                       struct place place)
{
    const int64_t *key = stack_frame(places->stacks, frame);
    size_t length;
    const char *file = file_of(places->stacks, key, &length);

    place.kind = kind;
    place.file = places_add_text(places->places, file, length);
    place.function = frame_text(places, frame);
    place.line = key[FRAME_LINE] == FRAME_NO_LINE ? 0 : key[FRAME_LINE];
    places->failed |= place.file == UINT32_MAX;
    uint32_t number = places->failed ? NO_PLACE : places_add(places->places, &place);
    places->failed |= number == NO_PLACE;
    return number;
}

static enum python_owner place_stacks_owner_of(const struct stacks *stacks, uint32_t frame)
{
    const int64_t *key = stack_frame(stacks, frame);
    size_t length;
    const char *file = file_of(stacks, key, &length);

    return key[FRAME_KIND] == FRAME_PYTHON ? python_file_owner(file, length) : PYTHON_BUILTIN;
}

/* Whether a frame is the function that returns the next batch of a DataLoader. */
static int is_loader(const struct stacks *stacks, uint32_t frame)
{
    const int64_t *key = stack_frame(stacks, frame);
    const char *function = report_string(stacks->report, key[FRAME_SYMBOL], NULL);

    return key[FRAME_SYMBOL] != FRAME_NO_NAME && strstr(function, "__next__") &&
           python_is_loader(report_string(stacks->report, key[FRAME_MODULE], NULL), function);
}

/* The text of the function that a place called. */
static struct place place_stacks_act_of(struct place_stacks *places, uint32_t inner)
{
    struct place place = { .act = NO_PLACE_TEXT, .loop = NO_PLACE, .slow = NO_SLOW_CALL };

    if (inner == NO_KEY)
        return place;
    place.act = is_loader(places->stacks, inner) ? places_add_text(places->places, place_loads, strlen(place_loads))
                                                 : frame_text(places, inner);
    place.act_owner = place_stacks_owner_of(places->stacks, inner);
    places->failed |= place.act == UINT32_MAX;
    return place;
}

/* Closures of libraries are mostly decorators: what they call is what the program meant. */
static int is_wrapper(const struct stacks *stacks, uint32_t frame, enum python_owner owner)
{
    static const char *const names[] = { "wrapper", "_wrapper", "wrapped", "inner", NULL };
    const int64_t *key = stack_frame(stacks, frame);

    if (owner == PYTHON_PROGRAM || key[FRAME_KIND] != FRAME_PYTHON || key[FRAME_SYMBOL] == FRAME_NO_NAME)
        return 0;
    const char *function = report_string(stacks->report, key[FRAME_SYMBOL], NULL);
    for (size_t i = 0; names[i]; i++)
        if (strcmp(function, names[i]) == 0)
            return 1;
    return strstr(function, ".<locals>.") != NULL;
}

static int slow_call_of(const struct stacks *stacks, uint32_t frame, enum python_owner owner)
{
    const int64_t *key = stack_frame(stacks, frame);
    size_t length;

    if (owner == PYTHON_PROGRAM || key[FRAME_KIND] != FRAME_PYTHON || key[FRAME_SYMBOL] == FRAME_NO_NAME)
        return NO_SLOW_CALL;
    const char *file = file_of(stacks, key, &length);
    return slow_call_find(file, length, report_string(stacks->report, key[FRAME_SYMBOL], NULL));
}

/* The innermost frame, from this stack outward, whose code is most the user's own, and the frame inside of it. Frames
 * of packages are taken if there are none of the program, and those of libraries never. What a slow call does, own
 * functions included, belongs to the one who called it. */
struct users_frame {
    uint32_t frame, inner;
    int slow;
};
static struct users_frame users_frame(const struct stacks *stacks, uint32_t stack)
{
    static const struct users_frame none = { NO_KEY, NO_KEY, NO_SLOW_CALL };
    struct users_frame found = none, within = none; /* within: of a slow call */
    enum python_owner best = PYTHON_LIBRARY;
    uint32_t inner = NO_KEY;
    int slow = NO_SLOW_CALL;

    for (uint32_t at = stack; at != STACK_EMPTY; at = stack_parent(stacks, at)) {
        uint32_t frame = stack_innermost(stacks, at);
        enum python_owner owner = place_stacks_owner_of(stacks, frame);
        int is_slow = slow_call_of(stacks, frame, owner);
        if (is_slow != NO_SLOW_CALL) {
            within = found.frame == NO_KEY ? within : found;
            found = none;
            best = PYTHON_LIBRARY;
            slow = is_slow;
            inner = frame;
        } else if (owner < best) {
            best = owner;
            found = (struct users_frame){ frame, inner, slow };
        }
        if (slow == NO_SLOW_CALL && (inner == NO_KEY || !is_wrapper(stacks, frame, owner)))
            inner = frame;
    }
    return found.frame == NO_KEY ? within : found;
}

/* The place that iterates over the DataLoader in whose __next__ the stack is, or NO_PLACE. */
static uint32_t place_stacks_loop_of(struct place_stacks *places, uint32_t stack)
{
    const struct stacks *stacks = places->stacks;

    for (uint32_t at = stack; at != STACK_EMPTY; at = stack_parent(stacks, at)) {
        if (!is_loader(stacks, stack_innermost(stacks, at)))
            continue;
        struct users_frame loop = users_frame(stacks, stack_parent(stacks, at));
        return loop.frame == NO_KEY
                   ? NO_PLACE
                   : place_stacks_add_frame(places, PLACE_PYTHON, loop.frame, place_stacks_act_of(places, NO_KEY));
    }
    return NO_PLACE;
}

static uint32_t python_place(struct place_stacks *places, uint32_t stack)
{
    struct users_frame found = users_frame(places->stacks, stack);

    if (found.frame == NO_KEY)
        return NO_PLACE;
    struct place place = place_stacks_act_of(places, found.inner);
    place.slow = found.slow;
    place.loop = place_stacks_loop_of(places, stack);
    return place_stacks_add_frame(places, PLACE_PYTHON, found.frame, place);
}

/* "python3.11" and "perl" run scripts, "nodes" does not. */
static int is_interpreter(const char *program)
{
    static const char *const names[] = {
        "python", "bash", "dash", "zsh", "perl", "ruby", "node", "java", "php", "lua"
    };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (text_begins_with(program, names[i]) &&
            !program[strlen(names[i]) + strspn(program + strlen(names[i]), "0123456789.-")])
            return 1;
    return 0;
}

/* Native code is the user's if its lines are known or it is the program itself, unless that runs a script. */
static uint32_t native_place(struct place_stacks *places, uint32_t stack)
{
    const struct stacks *stacks = places->stacks;
    uint32_t frame = stack_caller(stacks, stack);
    size_t length;

    if (frame == NO_KEY)
        return NO_PLACE;
    const int64_t *key = stack_frame(stacks, frame);
    if (key[FRAME_MODULE] == FRAME_NO_NAME || key[FRAME_SYMBOL] == FRAME_NO_NAME)
        return NO_PLACE;
    const char *module = path_base_name(report_string(stacks->report, key[FRAME_MODULE], &length));
    int is_program = !strstr(module, ".so") && !is_interpreter(module) && *module != '[';
    return key[FRAME_SOURCE] != FRAME_NO_NAME || is_program
               ? place_stacks_add_frame(places, PLACE_NATIVE, frame, place_stacks_act_of(places, NO_KEY))
               : NO_PLACE;
}

enum { IS_NONE = 1, FIRST_KNOWN = 2 };

uint32_t place_of_stack(struct place_stacks *places, uint32_t stack)
{
    size_t count = places->stacks->nodes.count;

    if (stack == STACK_EMPTY || stack >= count)
        return NO_PLACE;
    if (array_reserve_zeroed(&places->known, &places->room, count, sizeof *places->known) != 0) {
        places->failed = 1;
        return NO_PLACE;
    }
    if (!places->known[stack]) {
        const int64_t *frame = stack_frame(places->stacks, stack_innermost(places->stacks, stack));
        uint32_t place = frame[FRAME_KIND] == FRAME_PYTHON ? python_place(places, stack) : native_place(places, stack);
        places->known[stack] = place == NO_PLACE ? IS_NONE : place + FIRST_KNOWN;
    }
    return places->known[stack] == IS_NONE ? NO_PLACE : places->known[stack] - FIRST_KNOWN;
}
