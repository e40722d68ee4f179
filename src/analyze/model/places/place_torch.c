/* Places from records of PyTorch: stacks of operators, Python functions, and names of ranges, annotations and
 * modules. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/names/operator_text.h"
#include "analyze/model/torch/python_files.h"
#include "analyze/model/torch/torch_stacks.h"
#include "base/array.h"
#include "places_state.h"

static const char module_mark[] = "nn.Module: ";

/* The number of a place that a record has, by a string of the report; each string is read once. */
struct place_torch_names {
    struct places *places;
    struct place_layer *layer;
    struct keys known;
    uint32_t *of_known; /* owned; by known */
    size_t room;
    int failed;
};

static uint32_t place_torch_find_name(struct place_torch_names *names, int64_t name,
                                      uint32_t (*make)(struct place_torch_names *, const char *, size_t))
{
    size_t before = names->known.count, length;
    uint32_t key = NO_KEY;

    /* room comes first: every known key must have an entry */
    if (array_reserve(&names->of_known, &names->room, before + 1, sizeof *names->of_known) == 0)
        key = keys_add(&names->known, &name);
    names->failed |= key == NO_KEY;
    if (key == NO_KEY)
        return NO_PLACE;
    if (key == before) {
        const char *bytes = report_string(names->places->report, name, &length);
        names->of_known[key] = make(names, bytes, length);
    }
    return names->of_known[key];
}

static uint32_t place_torch_add_place(struct place_torch_names *names, const struct place *place)
{
    uint32_t number = places_add(names->places, place);

    names->failed |= number == NO_PLACE;
    return number;
}

static uint32_t place_torch_add_text(struct place_torch_names *names, const char *bytes, size_t length)
{
    uint32_t number = places_add_text(names->places, bytes, length);

    names->failed |= number == UINT32_MAX;
    return number;
}

static uint32_t place_torch_add_function(struct place_torch_names *names, const char *bytes, size_t length)
{
    struct text name = { 0 };

    python_function_name(&name, bytes, length);
    uint32_t number = place_torch_add_text(names, text_string(&name), name.length);
    names->failed |= text_failed(&name);
    text_free(&name);
    return number;
}

static uint32_t place_torch_add_frame(struct place_torch_names *names, const struct python_frame *frame,
                                      struct place place)
{
    place.kind = PLACE_PYTHON;
    place.file = place_torch_add_text(names, frame->file, frame->file_length);
    place.function = place_torch_add_text(names, frame->function, frame->function_length);
    place.line = frame->line;
    return place_torch_add_place(names, &place);
}

/* The function that a place called, if there is one. */
static struct place place_torch_act_of(struct place_torch_names *names, const char *bytes, size_t length)
{
    struct place place = { .act = NO_PLACE_TEXT, .slow = NO_SLOW_CALL, .loop = NO_PLACE };

    if (!length)
        return place;
    struct python_frame frame = python_frame_read(bytes, length);
    place.act = frame.file && python_is_loader(frame.file, frame.function)
                    ? place_torch_add_text(names, place_loads, strlen(place_loads))
                    : place_torch_add_function(names, bytes, length);
    place.act_owner = frame.owner;
    return place;
}

/* Fills the layer by a walk through these lists. */
static int place_torch_walk(struct place_torch_names *names, const struct place_nest *nest, struct error *err)
{
    int code = place_nest_walk(nest) == 0 && !names->failed ? 0 : error_short_memory(err, "for the places");

    keys_free(&names->known);
    free(names->of_known);
    return code;
}

/* Values of the walks: 0, or the number of a place + 1 in the lower half. */
static inline uint64_t place_torch_value_of(uint32_t place)
{
    return place == NO_PLACE ? 0 : (uint64_t)place + 1;
}
static inline uint32_t place_torch_of(uint64_t value)
{
    return (uint32_t)value ? (uint32_t)value - 1 : NO_PLACE;
}

static int place_torch_add_span(void *context, int64_t thread, int64_t from_ns, int64_t to_ns, uint64_t value)
{
    struct place_torch_names *names = context;

    return place_layer_add(names->layer, thread, &(struct place_span){ from_ns, to_ns, place_torch_of(value) });
}

/* ---- stacks of operators --------------------------------------------------------------------------------------- */

/* The stack is "innermost;…;outermost". */
static uint32_t place_of_operator_stack(struct place_torch_names *names, const char *bytes, size_t length)
{
    const char *at = bytes, *end = bytes + length;
    struct python_frame best = { .owner = PYTHON_LIBRARY };
    struct intern_string act = { 0 }, inner = { 0 }, next;

    while ((next = torch_next_frame(&at, end)).length) {
        struct python_frame frame = python_frame_read(next.bytes, next.length);
        if (frame.owner < best.owner) {
            best = frame;
            act = inner;
        }
        inner = next;
    }
    return best.file ? place_torch_add_frame(names, &best, place_torch_act_of(names, act.bytes, act.length)) : NO_PLACE;
}

static uint64_t open_operator(void *context, uint64_t around, int list, const struct thread_span *span)
{
    uint32_t place = span->chain ? place_torch_find_name(context, span->chain, place_of_operator_stack) : NO_PLACE;

    return place == NO_PLACE ? around : place_torch_value_of(place);
}

int place_operators_read(struct places *places, const struct place_events *events, struct error *err)
{
    struct place_torch_names names = { .places = places,
                                       .layer = &places->layers[PLACES_OF_OPERATORS],
                                       .known.width = 1 };

    return place_torch_walk(&names,
                            &(struct place_nest){ { &events->operators }, open_operator, place_torch_add_span, &names },
                            err);
}

/* ---- Python functions ------------------------------------------------------------------------------------------ */

/* The upper half of a value is the owner of its place, and whether the innermost function is that place itself: then
 * the next one is the act. */
#define VALUE_OWNER_SHIFT 32
#define VALUE_IS_OWN (UINT64_C(1) << 40)

static inline enum python_owner place_torch_owner_of(uint64_t value)
{
    return (uint32_t)value ? (enum python_owner)(value >> VALUE_OWNER_SHIFT & 0xff) : PYTHON_LIBRARY;
}

static uint32_t place_of_function(struct place_torch_names *names, const char *bytes, size_t length)
{
    struct python_frame frame = python_frame_read(bytes, length);

    return frame.owner <= PYTHON_PACKAGE ? place_torch_add_frame(names, &frame, place_torch_act_of(names, NULL, 0))
                                         : NO_PLACE;
}

static int is_module(const char *bytes, size_t length)
{
    return length >= sizeof module_mark - 1 && memcmp(bytes, module_mark, sizeof module_mark - 1) == 0;
}

/* A place that is called where a DataLoader gets its next batch knows the loop. */
static uint32_t in_loop(struct place_torch_names *names, uint32_t number, uint32_t around)
{
    struct places *places = names->places;

    if (number == NO_PLACE || around == NO_PLACE)
        return number;
    struct place place = places_get(places, number), caller = places_get(places, around);
    int is_loop = caller.act != NO_PLACE_TEXT && strcmp(places_string(places, caller.act), place_loads) == 0;
    place.loop = is_loop ? places_line(places, around) : caller.loop;
    return place.loop == NO_PLACE ? number : place_torch_add_place(names, &place);
}

static uint64_t open_function(void *context, uint64_t around, int list, const struct thread_span *span)
{
    struct place_torch_names *names = context;
    size_t length;
    const char *bytes = report_string(names->places->report, span->name, &length);

    if (is_module(bytes, length) || !torch_shows_frame(bytes, length))
        return around;
    enum python_owner owner = python_frame_read(bytes, length).owner;
    if (owner <= PYTHON_PACKAGE && owner <= place_torch_owner_of(around)) {
        uint32_t place = in_loop(names, place_torch_find_name(names, span->name, place_of_function),
                                 place_torch_of(around));
        return place == NO_PLACE ? around
                                 : place_torch_value_of(place) | (uint64_t)owner << VALUE_OWNER_SHIFT | VALUE_IS_OWN;
    }
    if (!(around & VALUE_IS_OWN))
        return around;
    struct place place = places_get(names->places, place_torch_of(around)),
                 act = place_torch_act_of(names, bytes, length);
    place.act = act.act;
    place.act_owner = act.act_owner;
    return place_torch_value_of(place_torch_add_place(names, &place)) | (uint64_t)place_torch_owner_of(around)
                                                                            << VALUE_OWNER_SHIFT;
}

int place_functions_read(struct places *places, const struct place_events *events, struct error *err)
{
    struct place_torch_names names = { .places = places,
                                       .layer = &places->layers[PLACES_OF_FUNCTIONS],
                                       .known.width = 1 };

    return place_torch_walk(&names,
                            &(struct place_nest){ { &events->functions }, open_function, place_torch_add_span, &names },
                            err);
}

/* ---- ranges ---------------------------------------------------------------------------------------------------- */

/* The length of a name without the number after it: all of "step 1", "step 2" and so on are one place. */
static size_t place_torch_without_number(const char *bytes, size_t length)
{
    size_t at = length;

    while (at && bytes[at - 1] >= '0' && bytes[at - 1] <= '9')
        at--;
    return at > 1 && strchr(" #", bytes[at - 1]) ? at - 1 : length;
}

static uint32_t place_of_range(struct place_torch_names *names, const char *bytes, size_t length)
{
    size_t mark = is_module(bytes, length) ? sizeof module_mark - 1 : 0;

    if (!length || *bytes == '<' || python_frame_read(bytes, length).file || memmem(bytes, length, "::", 2) ||
        operator_text(bytes, length).is_operator)
        return NO_PLACE;
    uint32_t name = place_torch_add_text(names, bytes + mark, place_torch_without_number(bytes + mark, length - mark));
    return place_torch_add_place(names, &(struct place){ .kind = PLACE_RANGE,
                                                         .file = NO_PLACE_TEXT,
                                                         .function = name,
                                                         .act = NO_PLACE_TEXT,
                                                         .loop = NO_PLACE });
}

static uint64_t open_range(void *context, uint64_t around, int list, const struct thread_span *span)
{
    uint32_t place = place_torch_find_name(context, span->name, place_of_range);

    return place == NO_PLACE ? around : place_torch_value_of(place);
}

int place_ranges_read(struct places *places, const struct place_events *events, struct error *err)
{
    struct place_torch_names names = { .places = places, .layer = &places->layers[PLACES_OF_RANGES], .known.width = 1 };

    return place_torch_walk(&names,
                            &(struct place_nest){ { &events->ranges, &events->operators, &events->functions },
                                                  open_range,
                                                  place_torch_add_span,
                                                  &names },
                            err);
}
