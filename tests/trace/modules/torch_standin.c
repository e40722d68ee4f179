/* A stand-in of libtorch_cpu.so and libc10.so, as far as an observer of operators meets them: the same symbols, the
 * same calls and objects laid out in the same way, for versions told apart by macros:
 *   STRING_BYTES   of a std::string: 32, or 8 of the older kind
 *   NAMED_INPUTS   bytes of the map of named inputs: 56, or 0 before 2.4
 *   DESCRIPTION    an operator is named by a std::variant, from 2.9 on
 *   SHIFTED        a version that nobody knows: everything lies 8 bytes further on
 *   NO_NAME        a version from before 1.8
 *   OLDER          8 to 11: version 1.8 to 1.11, with strings of the older kind */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "torch_standin.h"

#ifndef OLDER
#define OLDER 12
#endif
enum { SCOPES = OLDER <= 9 ? 5 : OLDER == 10 ? 6 : 10, USER_SCOPE = OLDER <= 9 ? 4 : OLDER == 10 ? 5 : 7 };

struct callback {
    void *start, *end;
#if OLDER <= 9
    void *should_run;
#endif
    double probability;
    unsigned char scopes[SCOPES], needs_inputs;
#if OLDER > 8
    unsigned char needs_outputs;
#endif
    unsigned char needs_numbers;
};

/* What is returned through memory that the caller names: so is a std::unique_ptr. */
struct returned {
    void *context, *rest[2];
};
typedef struct returned (*start_function)(const void *function);
typedef void (*end_function)(const void *function, void *context);

struct pair {
    start_function start;
    end_function end;
};

#if OLDER < 12
/* Most of it lies elsewhere up to 1.10, and behind a flag in 1.11. */
struct fields {
    unsigned char needs_inputs, needs_outputs, needs_numbers, has_begun;
    struct {
        struct pair *first;
        uint32_t count, capacity;
        struct pair list[4];
    } callbacks;
    struct {
        void **first;
        uint32_t count, capacity;
        void *list[4];
    } contexts;
#if OLDER <= 10
    char before[32];
    void *owned_name[2];
#else
    char before[64];
#endif
    const char *name;
    int64_t sequence;
    const void *inputs, *inputs_end, *inputs_room;
#if OLDER > 8
    char outputs[24];
#endif
    char operator_name[24];
#if OLDER > 8
    uint64_t counts[2];
#endif
    unsigned char scope;
    uint64_t thread, forward_thread, number;
};
_Static_assert(offsetof(struct fields, sequence) == (OLDER <= 10 ? 192 : 208), "as torch has it");
_Static_assert(offsetof(struct fields, scope) == (OLDER == 8 ? 248 : OLDER <= 10 ? 288 : 304), "as torch has it");

struct function {
    const void *virtual_functions;
#if OLDER <= 10
    struct fields *state;
    struct fields elsewhere;
#else
    unsigned char is_there;
    struct fields state[1];
#endif
};
#define F(function) ((function)->state)
#else
struct function {
    const void *virtual_functions;
    struct {
        struct pair *first;
        uint32_t count, capacity;
        struct pair list[4];
    } callbacks;
    uint64_t thread;
    _Alignas(8) unsigned char scope;
    unsigned char needs_inputs, needs_outputs, needs_numbers;
    char padding[4];
#ifdef SHIFTED
    uint64_t something_new;
#endif
    unsigned char has_begun;
    struct {
        void **first;
        uint32_t count, capacity;
        void *list[4];
    } contexts;
    const char *name;
    char rest_of_name[STRING_BYTES];
    int64_t sequence;
    const void *inputs;
    uint64_t input_count;
    char named_inputs[NAMED_INPUTS];
    char outputs[24];
    uint64_t forward_thread, number;
    unsigned char is_asynchronous;
};
#ifndef SHIFTED
_Static_assert(offsetof(struct function, sequence) == 168 + STRING_BYTES, "as torch has it");
#endif
#define F(function) (function)
#endif

static struct callback observers[4];
static uint64_t observer_ids[4];
static int observer_count;
static _Atomic uint64_t last_number, last_observer, last_thread;
static _Thread_local uint64_t thread_number, tries; /* tries: operators that a sampled observer might have seen */
_Atomic uint64_t standin_contexts_deleted, standin_observed;

#define CPP(type, name, parameters, symbol) type name parameters __asm__(symbol); type name parameters

CPP(uint64_t, add_callback, (struct callback callback), "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE")
{
    if (callback.probability <= 0 || callback.probability > 1.0 || !callback.start || !callback.scopes[USER_SCOPE])
        abort();
    if (standin_is_observed)
        standin_is_observed();
    observers[observer_count] = callback;
    observer_ids[observer_count] = ++last_observer;
    return observer_ids[observer_count++];
}

CPP(void, remove_callback, (uint64_t id), "_ZN2at14removeCallbackEm")
{
    for (int i = 0; i < observer_count; i++)
        if (observer_ids[i] == id) {
            observers[i] = observers[--observer_count];
            observer_ids[i] = observer_ids[observer_count];
        }
}

CPP(uint64_t, current_thread, (void), "_ZN2at14RecordFunction15currentThreadIdEv")
{
    return thread_number ? thread_number : (thread_number = ++last_thread);
}

#if !defined NO_NAME && OLDER == 12
CPP(const char *, name_of, (const struct function *function), "_ZNK2at14RecordFunction4nameEv")
{
    return F(function)->name;
}
#endif

#if OLDER < 12
CPP(void, construct, (struct function * function, int scope, int is_sampled),
    "_ZN2at14RecordFunctionC1ENS_11RecordScopeEb")
#else
CPP(void, construct, (struct function * function, int scope), "_ZN2at14RecordFunctionC1ENS_11RecordScopeE")
#endif
{
    memset(function, 0, sizeof *function);
#if OLDER <= 10
    function->state = &function->elsewhere;
#endif
    F(function)->callbacks.first = F(function)->callbacks.list;
    F(function)->contexts.first = F(function)->contexts.list;
    F(function)->thread = current_thread();
    F(function)->scope = (unsigned char)scope;
    F(function)->sequence = -1;
    for (int i = 0; i < observer_count; i++) {
        if (scope < SCOPES && !observers[i].scopes[scope])
            continue;
        if (observers[i].probability < 1.0 && ++tries % (uint64_t)(1 / observers[i].probability) != 0)
            continue;
        F(function)->callbacks.list[F(function)->callbacks.count++] = (struct pair){ (start_function)observers[i].start,
                                                                                     (end_function)observers[i].end };
        F(function)->needs_inputs |= observers[i].needs_inputs;
        F(function)->needs_numbers |= observers[i].needs_numbers;
    }
}

static void begin(struct function *function, const char *name, long sequence)
{
    F(function)->name = name;
    F(function)->sequence = sequence;
    if (!F(function)->callbacks.count)
        return;
    if (F(function)->needs_numbers)
        F(function)->number = ++last_number;
    standin_observed += F(function)->callbacks.count;
    for (uint32_t i = 0; i < F(function)->callbacks.count; i++)
        F(function)->contexts.list[i] = F(function)->callbacks.list[i].start(function).context;
    F(function)->has_begun = 1;
}

#ifdef DESCRIPTION
struct description {
    size_t length;
    const char *name;
    unsigned char which;
};
CPP(void, before, (struct function * function, struct description description, long sequence),
    "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEESt17reference_"
    "wrapperIKN3c1014FunctionSchemaEEEEl")
{
    if (description.which != 0 || description.length != strlen(description.name))
        abort();
    begin(function, description.name, sequence);
}
#else
CPP(void, before, (struct function * function, const char *name, long sequence), "_ZN2at14RecordFunction6beforeEPKcl")
{
    begin(function, name, sequence);
}
#endif

/* A context is deleted by the second of its virtual functions. */
CPP(void, destroy, (struct function * function), "_ZN2at14RecordFunctionD1Ev")
{
    for (uint32_t i = 0; F(function)->has_begun && i < F(function)->callbacks.count; i++) {
        void *context = F(function)->contexts.list[i];
        if (F(function)->callbacks.list[i].end)
            F(function)->callbacks.list[i].end(function, context);
        if (context) {
            (*(void (***)(void *))context)[1](context);
            standin_contexts_deleted++;
        }
    }
}

/* ---- For the program under test -------------------------------------------------------------------------------- */

void *standin_begin(const struct standin_operator *op)
{
    struct function *function = malloc(sizeof *function);
#if OLDER < 12
    construct(function, op->scope == 7 ? USER_SCOPE : op->scope, 0);
#else
    construct(function, op->scope);
#endif
    F(function)->forward_thread = op->forward_thread;
    if (F(function)->needs_inputs) {
        F(function)->inputs = op->inputs;
#if OLDER < 12
        F(function)->inputs_end = (const char *)op->inputs + 16 * op->input_count;
#else
        F(function)->input_count = op->input_count;
#endif
    }
    begin(function, op->name, op->sequence);
    return function;
}

void standin_end(void *function)
{
    destroy(function);
    free(function);
}

uint64_t standin_observe(void *start, void *end)
{
    struct callback callback = { .start = start, .end = end, .probability = 1.0, .needs_numbers = 1 };
    memset(callback.scopes, 1, sizeof callback.scopes);
    return add_callback(callback);
}
