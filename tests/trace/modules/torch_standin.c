/* A stand-in of libtorch_cpu.so and libc10.so, as far as an observer of operators meets them: the same symbols, the same calls and
 * objects laid out in the same way, for versions told apart by macros:
 *   STRING_BYTES   of a std::string: 32, or 8 of the older kind
 *   NAMED_INPUTS   bytes of the map of named inputs: 56, or 0 before 2.4
 *   DESCRIPTION    an operator is named by a std::variant, from 2.9 on
 *   SHIFTED        a version that nobody knows: everything lies 8 bytes further on
 *   NO_NAME        a version from before 1.8 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "torch_standin.h"

struct callback {
    void *start, *end;
    double probability;
    unsigned char scopes[10], needs_inputs, needs_outputs, needs_numbers;
};

/* What is returned through memory that the caller names: so is a std::unique_ptr. */
struct returned { void *context, *rest[2]; };
typedef struct returned (*start_function)(const void *function);
typedef void (*end_function)(const void *function, void *context);

struct pair { start_function start; end_function end; };

struct function {
    const void *virtual_functions;
    struct { struct pair *first; uint32_t count, capacity; struct pair list[4]; } callbacks;
    uint64_t thread;
    _Alignas(8) unsigned char scope;
    unsigned char needs_inputs, needs_outputs, needs_numbers;
    char padding[4];
#ifdef SHIFTED
    uint64_t something_new;
#endif
    unsigned char has_begun;
    struct { void **first; uint32_t count, capacity; void *list[4]; } contexts;
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

static struct callback observers[4];
static uint64_t observer_ids[4];
static int observer_count;
static _Atomic uint64_t last_number, last_observer, last_thread;
static _Thread_local uint64_t thread_number;
_Atomic uint64_t standin_contexts_deleted;

#define CPP(type, name, parameters, symbol) type name parameters __asm__(symbol); type name parameters

CPP(uint64_t, add_callback, (struct callback callback), "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE")
{
    if (callback.probability != 1.0 || !callback.start || !callback.scopes[0] || !callback.scopes[9])
        abort();
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

#ifndef NO_NAME
CPP(const char *, name_of, (const struct function *function), "_ZNK2at14RecordFunction4nameEv")
{
    return function->name;
}
#endif

CPP(void, construct, (struct function *function, int scope), "_ZN2at14RecordFunctionC1ENS_11RecordScopeE")
{
    memset(function, 0, sizeof *function);
    function->callbacks.first = function->callbacks.list;
    function->contexts.first = function->contexts.list;
    function->thread = current_thread();
    function->scope = (unsigned char)scope;
    function->sequence = -1;
    for (int i = 0; i < observer_count; i++) {
        function->callbacks.list[function->callbacks.count++] = (struct pair){ (start_function)observers[i].start, (end_function)observers[i].end };
        function->needs_inputs |= observers[i].needs_inputs;
        function->needs_numbers |= observers[i].needs_numbers;
    }
}

static void begin(struct function *function, const char *name, long sequence)
{
    function->name = name;
    function->sequence = sequence;
    if (!function->callbacks.count)
        return;
    if (function->needs_numbers)
        function->number = ++last_number;
    for (uint32_t i = 0; i < function->callbacks.count; i++)
        function->contexts.list[i] = function->callbacks.list[i].start(function).context;
    function->has_begun = 1;
}

#ifdef DESCRIPTION
struct description { size_t length; const char *name; unsigned char which; };
CPP(void, before, (struct function *function, struct description description, long sequence),
    "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEESt17reference_wrapperIKN3c1014FunctionSchemaEEEEl")
{
    if (description.which != 0 || description.length != strlen(description.name))
        abort();
    begin(function, description.name, sequence);
}
#else
CPP(void, before, (struct function *function, const char *name, long sequence), "_ZN2at14RecordFunction6beforeEPKcl")
{
    begin(function, name, sequence);
}
#endif

/* A context is deleted by the second of its virtual functions. */
CPP(void, destroy, (struct function *function), "_ZN2at14RecordFunctionD1Ev")
{
    for (uint32_t i = 0; function->has_begun && i < function->callbacks.count; i++) {
        void *context = function->contexts.list[i];
        if (function->callbacks.list[i].end)
            function->callbacks.list[i].end(function, context);
        if (context) {
            (*(void (***)(void *))context)[1](context);
            standin_contexts_deleted++;
        }
    }
}

/* ---- For the program under test --------------------------------------------------------------------------------- */

void *standin_begin(const struct standin_operator *operator)
{
    struct function *function = malloc(sizeof *function);
    construct(function, operator->scope);
    function->forward_thread = operator->forward_thread;
    if (function->needs_inputs) {
        function->inputs = operator->inputs;
        function->input_count = operator->input_count;
    }
    begin(function, operator->name, operator->sequence);
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
