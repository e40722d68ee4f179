/* Records the operators of PyTorch, through the observers that it has for its own profiler.
 *
 * When libtorch_cpu.so is among the loaded objects, the agent adds a callback that PyTorch calls at the begin and at
 * the end of each operator, in the thread that runs it, beside the callbacks of torch.profiler. The way a callback is
 * passed has not changed since 1.11, nor have the functions used here since 1.12; earlier versions have a row each. The
 * offsets of the fields of at::RecordFunction depend on the version and on how the library was compiled. So the agent
 * first runs an operator of its own, whose field values it knows, and takes the layout that shows them. If none does,
 * it removes the callback and the report says why: no operator is ever read at an offset that was not proven. Inputs,
 * if recorded, are read by version number: see torch_ivalues.c.
 *
 * The observer stays for the life of the process, and changes with what the program chooses (follow_wanted). A forked
 * child has it too and attaches at its next operator. */
#include "torch_agent.h"

#include <fcntl.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/libc_loader.h"
#include "agent/core/libc_real.h"
#include "agent/core/source.h"
#include "agent/core/sys.h"
#include "agent/python/python_agent.h"
#include "agent/steps/step_agent.h"
#include "base/path.h"
#include "wire/wire_torch.h"

/* at::RecordFunctionCallback. It costs PyTorch time to provide inputs, so the agent asks only for what is recorded.
 * After the two functions comes the probability (1.0; up to 1.9 with another function, none, before it), then a byte
 * for each scope and for each request. */
enum { FUNCTION_SCOPES = 4, EDGE_SCOPE = 6, USER_SCOPE = 7 }; /* the scopes of functions never changed their numbers */
struct callback {
    void *start, *end;
    unsigned char rest[24];
};
_Static_assert(sizeof(struct callback) == 40, "as torch has it");

static const struct generation {
    uint32_t major, minor;
    uint8_t probability, scopes, scope_count, needs_inputs, needs_numbers; /* offsets in rest */
    uint8_t user_scope;
} generations[] = {
    { 1, 8, 8, 16, 5, 21, 22, 4 },           { 1, 9, 8, 16, 5, 21, 23, 4 },           { 1, 10, 0, 8, 6, 14, 16, 5 },
    { 1, 11, 0, 8, 10, 18, 20, USER_SCOPE }, { 1, 12, 0, 8, 10, 18, 20, USER_SCOPE },
};
enum { LAST_GENERATION = COUNT_OF(generations) - 1 };
static const struct generation *generation;

/* std::variant<std::string_view, …>: the name of an operator from 2.9 on. */
struct description {
    size_t length;
    const char *name;
    unsigned char which;
};

static struct {
    uint64_t (*add_callback)(struct callback callback);
    void (*remove_callback)(uint64_t handle);
    const char *(*name)(const void *function);
    void (*construct)(void *function, int scope);
    void (*construct_older)(void *function, int scope, int is_sampled);
    void (*destroy)(void *function);
    void (*before_text)(void *function, const char *name, long sequence);
    void (*before)(void *function, struct description description, long sequence);
    uint64_t (*thread)(void);
    const void *undefined;
} torch_agent_calls;

static const struct {
    const char *symbol;
    void **function;
    int is_optional;
} torch_agent_symbols[] = {
    { "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", (void **)&torch_agent_calls.add_callback, 0 },
    { "_ZN2at14removeCallbackEm", (void **)&torch_agent_calls.remove_callback, 0 },
    { "_ZNK2at14RecordFunction4nameEv", (void **)&torch_agent_calls.name, 1 },
    { "_ZN2at14RecordFunctionC1ENS_11RecordScopeE", (void **)&torch_agent_calls.construct, 1 },
    { "_ZN2at14RecordFunctionC1ENS_11RecordScopeEb", (void **)&torch_agent_calls.construct_older, 1 },
    { "_ZN2at14RecordFunctionD1Ev", (void **)&torch_agent_calls.destroy, 0 },
    { "_ZN2at14RecordFunction15currentThreadIdEv", (void **)&torch_agent_calls.thread, 0 },
    { "_ZN2at14RecordFunction6beforeEPKcl", (void **)&torch_agent_calls.before_text, 1 },
    { "_ZN2at14RecordFunction6beforeESt7variantIJSt17basic_string_viewIcSt11char_traitsIcEESt17reference_"
      "wrapperIKN3c1014FunctionSchemaEEEEl",
      (void **)&torch_agent_calls.before, 1 },
    { "_ZN3c1019UndefinedTensorImpl10_singletonE", (void **)&torch_agent_calls.undefined, 1 },
};

static struct torch_layout layout;
static struct torch_version version;
static _Atomic uint32_t state;                               /* enum below */
enum { NOT_LOADED, INSTALLING, OBSERVED, REFUSED };
static _Atomic int with_inputs, with_stacks, with_operators; /* with_operators 0: annotations alone are observed */
static uint64_t observer; /* PyTorch's handle of the callback; only the thread that took `asked` from 0 writes it */
static uint64_t poller;   /* the same of the callback that looks whether operators are wanted again; 0: there is none */
static _Atomic uint32_t asked;   /* calls of follow_wanted() that are not done yet; 0: no thread is working on it */
static const char *refusal;
static char library_path[4096];  /* written when the library is first seen, which is once */
static _Atomic uintptr_t met_by; /* the thread that has just loaded it: the address of its agent_self; 0: none */
_Atomic uint32_t torch_wanted;
unsigned torch_modules_wanted;

static void follow_wanted(void);

/* Operators are not recorded, to keep the cost of recording low. Call it only while attached. */
static int torch_agent_is_left_out(void)
{
    return (steps_left_out() & WIRE_BIT(TORCH)) != 0;
}

/* A callback is exchanged while operators run. Before 1.12 that is not safe, so there it stays, and gets inputs from
 * the start. */
static int can_be_exchanged(void)
{
    return generation == &generations[LAST_GENERATION];
}

/* ---- Each operator --------------------------------------------------------------------------------------------- */

/* The begin passes one of these to the end, to say that it was recorded or may mark a step, or both. PyTorch deletes it
 * through its table of virtual functions. */
static void torch_agent_keep(void *context)
{
}
static void (*const context_functions[])(void *) = { torch_agent_keep, torch_agent_keep };
enum { RECORDED = 1, MARKED = 2, CONTEXTS };
static const void *const context_objects[CONTEXTS + 1] = {
    [RECORDED] = context_functions, [MARKED] = context_functions, [RECORDED | MARKED] = context_functions
};

static inline void *torch_agent_context_of(unsigned what)
{
    return what ? (void *)&context_objects[what] : NULL;
}

static inline unsigned what_of(const void *context)
{
    return context ? (unsigned)((const void *const *)context - context_objects) : 0;
}

static inline const void *fields_of(const void *function, const struct torch_layout *of)
{
    return likely(!of->state) ? function : (const void *)torch_word(function, of->state);
}

static inline const char *torch_agent_name_of(const void *function, const struct torch_layout *of)
{
    return likely(!of->name) ? torch_agent_calls.name(function)
                             : (const char *)torch_word(fields_of(function, of), of->name);
}

/* The scope, as versions from 1.11 on number it. */
static inline uint16_t torch_agent_scope_of(const void *fields)
{
    unsigned char scope = ((const unsigned char *)fields)[layout.scope];
    if (likely(generation->user_scope == USER_SCOPE))
        return scope;
    return scope == generation->user_scope ? USER_SCOPE : scope < FUNCTION_SCOPES ? scope : EDGE_SCOPE;
}

static inline unsigned torch_agent_write_begin(struct agent_thread *thread, const void *function,
                                               const uint64_t *inputs, uint32_t input_words, uint64_t stack)
{
    const char *name = torch_agent_name_of(function, &layout);
    const void *fields = fields_of(function, &layout);
    size_t length = name ? emit_text_length(name) : 0;
    if (unlikely(length > WIRE_TEXT_MAX)) /* truncate between characters, not inside one */
        for (length = WIRE_TEXT_MAX; length > WIRE_TEXT_MAX - 3 && (name[length] & 0xc0) == 0x80;)
            length--;
    uint32_t before_inputs = WIRE_TORCH_HEAD_WORDS + (stack != 0);
    uint32_t words = WIRE_HEAD_WORDS + before_inputs + input_words + emit_text_words(length);
    struct agent_lane *lane;
    struct wire_record *record = emit_begin(thread, &lane, WIRE_SOURCE_TORCH, WIRE_TORCH_BEGIN, words);
    if (unlikely(!record))
        return 0;
    record->a = torch_agent_scope_of(fields);
    record->b = (uint16_t)input_words;
    if (steps_are_timed())
        record->flags = (uint8_t)(step_tag() << WIRE_TORCH_STEP_SHIFT);
    record->body[0] = torch_word(fields, layout.number);
    record->body[1] = torch_word(fields, layout.sequence);
    record->body[2] = torch_word(fields, layout.forward_thread);
    if (stack) {
        record->flags |= WIRE_TORCH_HAS_STACK;
        record->body[WIRE_TORCH_HEAD_WORDS] = stack;
    }
    for (uint32_t i = 0; i < input_words; i++)
        record->body[before_inputs + i] = inputs[i];
    emit_text(record->body + before_inputs + input_words, name ? name : "", length);
    record->ticks = agent_ticks(); /* last: the time to write the record is not the operator's */
    emit_commit(lane, record);
    return RECORDED;
}

static inline int torch_agent_is_set(_Atomic int *flag)
{
    return atomic_load_explicit(flag, memory_order_relaxed);
}

/* Stops recording inputs. The observer still requests them until the choice of what is recorded changes. */
static __attribute__((noinline)) void give_up_inputs(void)
{
    if (atomic_exchange(&with_inputs, 0))
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
                  "Shapes of PyTorch operators are no longer recorded: tensors are not laid out as in this version of "
                  "PyTorch.");
}

static uint32_t read_inputs(uint64_t *words, const void *fields)
{
    enum { VALUE_BYTES = 16 };
    uint64_t first = torch_word(fields, layout.inputs), behind = torch_word(fields, layout.inputs + 8u);
    return first ? torch_inputs_read(words, WIRE_TORCH_INPUT_WORDS, (const void *)first,
                                     layout.inputs_are_vector ? (behind - first) / VALUE_BYTES : behind)
                 : 0;
}

static __attribute__((noinline)) unsigned begin_with_more(struct agent_thread *thread, const void *function)
{
    _Static_assert(WIRE_TORCH_INPUT_WORDS * sizeof(uint64_t) <= AGENT_SCRATCH_BYTES, "there is room for them");
    uint64_t stack = torch_agent_is_set(&with_stacks) ? python_stack_of_operator(thread) : 0;
    uint64_t *inputs = torch_agent_is_set(&with_inputs) ? agent_scratch_take(thread, AGENT_SCRATCH_OF_HOOK) : NULL;
    uint32_t words = inputs ? read_inputs(inputs, fields_of(function, &layout)) : 0;
    if (unlikely(torch_inputs_are_refuted())) {
        give_up_inputs();
        words = 0;
    }
    unsigned recorded = torch_agent_write_begin(thread, function, inputs, words, stack);
    if (inputs)
        agent_scratch_give(thread, AGENT_SCRATCH_OF_HOOK);
    return recorded;
}

/* Only annotations mark steps. */
static inline int may_mark_step(const void *function)
{
    return steps_are_timed() && torch_agent_scope_of(fields_of(function, &layout)) == USER_SCOPE;
}

/* The mark that an annotation is, and its name. */
static enum step_mark torch_agent_mark_of(const void *function, const char **name, size_t *length)
{
    *name = torch_agent_name_of(function, &layout);
    *length = *name ? emit_text_length(*name) : 0;
    return step_mark_of(*name ? *name : "", *length);
}

static __attribute__((noinline)) unsigned mark_begin(const void *function)
{
    const char *name;
    size_t length;
    enum step_mark mark = torch_agent_mark_of(function, &name, &length);
    if (mark)
        step_mark_begin(mark, name, length);
    return mark ? MARKED : 0;
}

static __attribute__((noinline)) void mark_end(const void *function)
{
    const char *name;
    size_t length;
    enum step_mark mark = torch_agent_mark_of(function, &name, &length);
    if (mark)
        step_mark_end(mark, name, length);
}

/* Operators are left out just now, or were until now (--cost-limit). Annotations are recorded all the same: they mark
 * steps, and are few. */
static __attribute__((noinline)) int is_still_wanted(const void *function)
{
    if (torch_agent_is_left_out() == torch_agent_is_set(&with_operators) && can_be_exchanged())
        follow_wanted();
    return !torch_agent_is_left_out() || torch_agent_scope_of(fields_of(function, &layout)) == USER_SCOPE;
}

static inline void *torch_agent_begin(const void *function)
{
    unsigned marked = may_mark_step(function) ? mark_begin(function) : 0;
    struct agent_thread *thread = agent_enter(WIRE_BIT(TORCH));
    if (!thread)
        return torch_agent_context_of(marked);
    uint32_t left_out = atomic_load_explicit(&agent.arena->left_out, memory_order_relaxed) & WIRE_BIT(TORCH);
    if (unlikely(left_out || !torch_agent_is_set(&with_operators)) && !is_still_wanted(function))
        return torch_agent_context_of(marked);
    return torch_agent_context_of(marked | (torch_agent_is_set(&with_inputs) | torch_agent_is_set(&with_stacks)
                                                ? begin_with_more(thread, function)
                                                : torch_agent_write_begin(thread, function, NULL, 0, 0)));
}

static void torch_agent_write_end(const void *function)
{
    uint64_t ticks = agent_ticks();
    struct agent_thread *thread = agent_thread();
    enum wire_fate fate;
    struct agent_lane *lane;
    struct wire_record *record = thread ? emit_reserve(thread, &lane, WIRE_TORCH_END, WIRE_HEAD_WORDS + 1, &fate)
                                        : NULL;
    if (!record) /* the operator has its row all the same, without an end */
        return;
    record->ticks = ticks;
    record->body[0] = torch_word(fields_of(function, &layout), layout.number);
    emit_commit(lane, record);
}

static void torch_agent_end(const void *function, const void *context)
{
    unsigned what = what_of(context);
    if (what & RECORDED)
        torch_agent_write_end(function);
    if (unlikely(what & MARKED))
        mark_end(function);
}

/* The start callback returns a std::unique_ptr, which has a destructor: so the caller passes the address for it. */
#if defined(__x86_64__)
#define START(symbol, function)                                                                                      \
    static void **symbol(void **result, const void *operator)                                                       \
    {                                                                                                                \
        *result = function(operator);                                                                                \
        return result;                                                                                               \
    }
#elif defined(__aarch64__) /* in x8, which C cannot express */
#define START(symbol, function)                                                                                        \
    __attribute__((used)) void *torch_c_##function(const void *operator);                                              \
    void *torch_c_##function(const void *operator)                                                                     \
    {                                                                                                                  \
        return function(operator);                                                                                     \
    }                                                                                                                  \
    __attribute__((visibility("hidden"))) void **symbol(void **result, const void *operator);                          \
    __asm__(".text\n.p2align 4\n.type " #symbol ", %function\n" #symbol ":\n"                                          \
            ".cfi_startproc\nhint 34\n"                                                                                \
            "stp x29, x30, [sp, -32]!\n.cfi_def_cfa_offset 32\n.cfi_offset 29, -32\n.cfi_offset 30, -24\n"             \
            "mov x29, sp\nstr x8, [sp, 16]\nbl torch_c_" #function "\nldr x8, [sp, 16]\nstr x0, [x8]\n"                \
            "ldp x29, x30, [sp], 32\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\nret\n"                   \
            ".cfi_endproc\n.size " #symbol ", . - " #symbol "\n");
#endif
START(torch_start, torch_agent_begin)

/* PyTorch calls it for one of some hundred operators, at the cost of a decrement for the others. */
static void *torch_agent_poll(const void *function)
{
    follow_wanted();
    return NULL;
}
START(torch_poll, torch_agent_poll)

/* ---- The trial ------------------------------------------------------------------------------------------------- */

#define TRIAL_SEQUENCE 0x7461636865
static const char trial_name[] = "tacho: is this how operators look?";

/* From 1.12 on the name lies between the callbacks and the sequence number, as a std::string of either ABI; named
 * inputs came with 2.4. Before that, the operator's name, which is two such strings, lies before the scope. A row is
 * for version 1.minor; 12 stands for all later ones too. */
static const struct {
    uint32_t minor;
    struct torch_layout layout;
} layouts[] = {
#define LAYOUT(sequence, named_inputs)                                                                                 \
    { 12, { 0, 0, sequence, (sequence) + 8, 88, 96, (sequence) + 48 + (named_inputs),                                  \
            (sequence) + 56 + (named_inputs), 0 } }
#define OLDER(minor, state, name, sequence, scope)                                                                  \
    { minor, { state, name, sequence, (sequence) + 8, (scope) + 8, scope, (scope) + 16, (scope) + 24, 1 } }
    LAYOUT(200, 56),
    LAYOUT(176, 56),
    LAYOUT(200, 0),
    LAYOUT(176, 0),
    OLDER(8, 8, 184, 192, 248),
    OLDER(8, 8, 184, 192, 296),
    OLDER(9, 8, 184, 192, 288),
    OLDER(9, 8, 184, 192, 336),
    OLDER(10, 8, 184, 192, 288),
    OLDER(10, 8, 184, 192, 336),
    OLDER(11, 0, 216, 224, 320),
    OLDER(11, 0, 216, 248, 392),
#undef LAYOUT
#undef OLDER
};
enum { LAYOUTS = COUNT_OF(layouts) };

struct trial {
    const void *function; /* the operator that is tried */
    unsigned calls;       /* of the observer for it */
    uint64_t last_number;
    unsigned fits;        /* rows of layouts that fit, as bits */
};
static struct trial trial;

static int torch_agent_fits(const void *function, const struct torch_layout *tried)
{
    const void *fields = fields_of(function, tried);
    if (!fields || torch_word(fields, tried->sequence) != TRIAL_SEQUENCE ||
        torch_word(fields, tried->thread) != torch_agent_calls.thread() ||
        ((const unsigned char *)fields)[tried->scope] != generation->user_scope)
        return 0;
    uint64_t number = torch_word(fields, tried->number);
    const char *name = torch_agent_name_of(function, tried);
    return torch_word(fields, tried->inputs) == 0 && torch_word(fields, tried->inputs + 8u) == 0 &&
           torch_word(fields, tried->forward_thread) == 0 && number > trial.last_number && number < UINT32_MAX &&
           name && strcmp(name, trial_name) == 0;
}

static void *torch_agent_look(const void *function)
{
    unsigned found = 0;
    if (function != trial.function)
        return NULL;
    for (size_t i = 0; i < LAYOUTS; i++)
        if (layouts[i].minor == generation->minor)
            found |= (unsigned)torch_agent_fits(function, &layouts[i].layout) << i;
    trial.calls++;
    trial.fits &= found;
    if (found) {
        const struct torch_layout *first = &layouts[__builtin_ctz(found)].layout;
        trial.last_number = torch_word(fields_of(function, first), first->number);
    }
    return NULL;
}
START(torch_look, torch_agent_look)

static void run_trial(void)
{
    static _Alignas(64) unsigned char function[2048]; /* static: one thread tries, once */
    memset(function, 0, sizeof function);
    trial.function = function;
    if (torch_agent_calls.construct)
        torch_agent_calls.construct(function, USER_SCOPE);
    else
        torch_agent_calls.construct_older(function, generation->user_scope, 0);
    if (torch_agent_calls.before_text)
        torch_agent_calls.before_text(function, trial_name, TRIAL_SEQUENCE);
    else
        torch_agent_calls.before(function, (struct description){ .length = strlen(trial_name), .name = trial_name },
                                 TRIAL_SEQUENCE);
    torch_agent_calls.destroy(function);
    trial.function = NULL;
}

/* Runs the operator twice: the number of the second run must be larger. */
static int torch_agent_find_layout(struct callback callback)
{
    trial = (struct trial){ .fits = (1u << LAYOUTS) - 1 };
    callback.start = (void *)torch_look;
    callback.end = NULL;
    uint64_t handle = torch_agent_calls.add_callback(callback);
    run_trial();
    run_trial();
    torch_agent_calls.remove_callback(handle);
    if (trial.calls != 2 || !trial.fits)
        return -1;
    layout = layouts[__builtin_ctz(trial.fits)].layout;
    return 0;
}

/* ---- The version ----------------------------------------------------------------------------------------------- */

static uint32_t torch_agent_read_number(const char **at)
{
    uint32_t number = 0;
    for (; (unsigned char)(**at - '0') <= 9 && number < 10000; ++*at)
        number = number * 10 + (uint32_t)(**at - '0');
    return number;
}

/* Takes the text up to a quote or the end of the line. */
static void take_version(const char *text)
{
    size_t length = strcspn(text, "'\"\n");
    length = length < sizeof version.text ? length : sizeof version.text - 1;
    memcpy(version.text, text, length);
    version.text[length] = 0;
    const char *at = version.text;
    version.major = torch_agent_read_number(&at);
    if (*at == '.') {
        at++;
        version.minor = torch_agent_read_number(&at);
    }
}

/* Reads a file beside the folder of the library: version.py of the Python package, build-version of the C++ one. */
static int read_version(const char *library, const char *file, const char *mark)
{
    static char path[4096], text[2048]; /* static: one thread installs, once */
    size_t length = path_folder_length(library);
    if (length + strlen(file) >= sizeof path)
        return -1;
    memcpy(path, library, length);
    strcpy(path + length, file);
    int descriptor = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long bytes = descriptor < 0 ? -1 : sys_read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0)
        sys_close(descriptor);
    if (bytes <= 0)
        return -1;
    text[bytes] = 0;
    const char *found = strstr(text, mark);
    if (found)
        take_version(found + strlen(mark));
    return found ? 0 : -1;
}

static void find_version(const char *library)
{
    if (read_version(library, "../version.py", "__version__ = '") != 0)
        read_version(library, "../build-version", "");
}

/* ---- Installing ------------------------------------------------------------------------------------------------ */

static const char too_old[] = "Operators of PyTorch are not recorded: this version lacks the observers that releases "
                              "from 1.8 on have. Use torch.autograd.profiler.emit_nvtx, whose NVTX ranges are "
                              "recorded.";

static const char *torch_agent_look_up(const char *path)
{
    void *library = LIBC_REAL(dlopen)(path, RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        return "Operators of PyTorch are not recorded: the functions of libtorch_cpu.so cannot be found.";
    for (size_t i = 0; i < COUNT_OF(torch_agent_symbols); i++) {
        *torch_agent_symbols[i].function = loader.dlsym(library, torch_agent_symbols[i].symbol);
        if (!*torch_agent_symbols[i].function && !torch_agent_symbols[i].is_optional) {
            loader.dlerror(); /* the program must not see this error */
            return too_old;
        }
    }
    loader.dlerror();
    if (torch_agent_calls.construct_older && torch_agent_calls.before_text)
        return NULL;
    if (!torch_agent_calls.construct || !torch_agent_calls.name)
        return too_old;
    return torch_agent_calls.before_text || torch_agent_calls.before
               ? NULL
               : "Operators of PyTorch are not recorded: this PyTorch is newer than this version of Tacho.";
}

uint32_t torch_wanted_now(void)
{
    uint32_t details = WIRE_TORCH_SHAPES | WIRE_TORCH_STACKS | WIRE_TORCH_MODULES;
    return atomic_load_explicit(&torch_wanted, memory_order_relaxed) | (step_has_details() ? details : 0);
}

/* True if inputs are to be recorded, and can be. */
static int wants_inputs(void)
{
    static int known = -1;
    if (!(torch_wanted_now() & WIRE_TORCH_SHAPES))
        return 0;
    if (known < 0) {
        known = torch_inputs_prepare(&version, torch_agent_calls.undefined) == 0;
        if (!known)
            emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
                      "Shapes of PyTorch operators are not recorded: Tacho does not know this version of PyTorch.");
    }
    return known && !torch_inputs_are_refuted();
}

static int wants_stacks(void)
{
    static int told;
    if (!(torch_wanted_now() & WIRE_TORCH_STACKS))
        return 0;
    if (python_prepare() == 0)
        return 1;
    if (!told++)
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
                  "The Python frames of PyTorch operators are not recorded: Tacho does not know this version of "
                  "Python.");
    return 0;
}

/* False while steps are only timed: annotations mark them, all else would cost time. False in workers too: they are
 * slow or not, and their operators, often millions, say nothing about a step. */
static int wants_operators(void)
{
    if (!can_be_exchanged() || !agent_attached())
        return 1;
    if (torch_agent_is_left_out())
        return 0;
    return !steps_are_timed() || (agent_recording(WIRE_BIT(TORCH)) && !step_is_in_worker());
}

static void observe(struct callback callback)
{
    with_operators = wants_operators();
    if (!with_operators) {
        memset(callback.rest + generation->scopes, 0, generation->scope_count);
        callback.rest[generation->scopes + generation->user_scope] = 1;
    }
    with_stacks = wants_stacks();
    with_inputs = wants_inputs();
    callback.rest[generation->needs_inputs] = (unsigned char)(with_inputs || !can_be_exchanged());
    observer = torch_agent_calls.add_callback(callback);
}

static struct callback our_callback(void)
{
    static const double always = 1.0;
    struct callback callback = { .start = (void *)torch_start, .end = (void *)torch_agent_end };
    memcpy(callback.rest + generation->probability, &always, sizeof always);
    memset(callback.rest + generation->scopes, 1, generation->scope_count);
    callback.rest[generation->needs_numbers] = 1;
    return callback;
}

/* From 1.12 on all callbacks are alike. Before that, the version number says which they are, for releases alone:
 * "1.11.0a0" may be like 1.10. */
static const struct generation *find_generation(void)
{
    size_t release = strspn(version.text, "0123456789.");
    if (torch_agent_calls.construct && torch_agent_calls.name)
        return &generations[LAST_GENERATION];
    for (size_t i = 0; i < LAST_GENERATION; i++)
        if (version.major == generations[i].major && version.minor == generations[i].minor &&
            (!version.text[release] || version.text[release] == '+'))
            return &generations[i];
    return NULL;
}

static const char *install(const char *path)
{
    const char *failure = torch_agent_look_up(path);
    if (failure)
        return failure;
    find_version(path);
    generation = find_generation();
    if (!generation)
        return too_old;
    if (torch_agent_find_layout(our_callback()) != 0)
        return "Operators of PyTorch are not recorded: Tacho does not know their layout in this version of PyTorch. "
               "Use torch.autograd.profiler.emit_nvtx, whose NVTX ranges are recorded.";
    observe(our_callback());
    return NULL;
}

/* While the collector leaves operators out, nothing calls the agent in a program without annotations. So PyTorch
 * samples some. */
static void poll_if_left_out(void)
{
    static const double seldom = 1.0 / 256;
    int is_left_out = can_be_exchanged() && agent_attached() &&
                      (atomic_load_explicit(&agent.arena->left_out, memory_order_relaxed) & WIRE_BIT(TORCH)) &&
                      torch_agent_is_left_out();
    if (is_left_out == (poller != 0))
        return;
    if (is_left_out) {
        struct callback callback = { .start = (void *)torch_poll };
        memcpy(callback.rest + generation->probability, &seldom, sizeof seldom);
        memset(callback.rest + generation->scopes, 1, generation->scope_count);
        poller = torch_agent_calls.add_callback(callback);
    } else {
        torch_agent_calls.remove_callback(poller);
        poller = 0;
    }
}

/* Operators that are running keep the callback that they began with. */
static void torch_agent_follow(void)
{
    poll_if_left_out();
    if (atomic_load(&torch_wanted) & WIRE_TORCH_MEMORY)
        torch_reach_memory();
    with_stacks = wants_stacks();
    if (!can_be_exchanged())
        with_inputs = wants_inputs();
    if (wants_inputs() == with_inputs && wants_operators() == with_operators)
        return;
    torch_agent_calls.remove_callback(observer);
    observe(our_callback());
}

/* What is to be recorded has changed. One thread at a time follows; a thread that comes meanwhile leaves it to that
 * one, which checks again. */
static void follow_wanted(void)
{
    if (atomic_load(&state) != OBSERVED || atomic_fetch_add(&asked, 1) != 0)
        return;
    uint32_t done = 1;
    do
        torch_agent_follow();
    while (!atomic_compare_exchange_strong(&asked, &done, 0));
}

static void torch_agent_tell(void)
{
    if (atomic_load(&state) == OBSERVED)
        emit_note(WIRE_TORCH_LOADED, 0, NULL, 0, version.text);
    else if (atomic_load(&state) == REFUSED)
        emit_note(WIRE_TORCH_REFUSED, 0, NULL, 0, refusal);
}

static void choose_modules(void)
{
    unsigned modules = torch_wanted_now() & WIRE_TORCH_MODULES       ? TORCH_MODULES_ALL
                       : steps_are_advised() && step_needs_modules() ? TORCH_MODULES_OUTERMOST
                                                                     : TORCH_MODULES_NONE;
    __atomic_store_n(&torch_modules_wanted, modules, __ATOMIC_RELAXED);
}

/* The choice, or the phase of the steps, has changed. */
static void torch_agent_switched(void)
{
    choose_modules();
    follow_wanted();
}

uint32_t torch_choose(uint32_t flags)
{
    uint32_t before = atomic_exchange(&torch_wanted, flags);
    torch_agent_switched();
    return before;
}

/* PyTorch is loaded: observes its operators if the capture records them. */
static void found(void)
{
    uint32_t before = NOT_LOADED;
    if (!(agent.sources & WIRE_BIT(TORCH)) || !atomic_compare_exchange_strong(&state, &before, INSTALLING))
        return;
    int saved_errno = errno;
    refusal = install(library_path);
    atomic_store(&state, refusal ? REFUSED : OBSERVED);
    follow_wanted();
    torch_agent_tell();
    errno = saved_errno;
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static int torch_agent_attach(struct wire_header *arena, int descriptor, enum wire_origin origin)
{
    if (origin != WIRE_ORIGIN_FORK) /* a forked child keeps its parent's choice */
        atomic_store(&torch_wanted, wire_torch(arena)->flags);
    return 0;
}

/* Records in a new arena what the process has loaded. */
static void torch_agent_attached(enum wire_origin origin)
{
    uint32_t installing = INSTALLING;
    choose_modules();
    if (origin != WIRE_ORIGIN_FORK)
        return;
    atomic_store(&asked, 0); /* the thread that was working on it is not in this process */
    if (atomic_compare_exchange_strong(&state, &installing, REFUSED)) /* that thread may hold a lock of PyTorch */
        refusal = "Operators of PyTorch are not recorded in this process: it was forked while PyTorch was being "
                  "loaded.";
    if (!(agent.sources & WIRE_BIT(TORCH)))
        return;
    follow_wanted();
    torch_agent_tell();
}

static void object_loaded(const char *path)
{
    if (strncmp(path_base_name(path), "libtorch_cpu.so", 15) != 0 || strlen(path) >= sizeof library_path)
        return;
    strcpy(library_path, path);
    atomic_store(&met_by, (uintptr_t)&agent_self);
}

/* The thread that loads PyTorch installs the observer before its dlopen() returns, so that no operator is lost. Another
 * thread that comes meanwhile must not take that over. */
static void torch_agent_objects_changed(void)
{
    uintptr_t self = (uintptr_t)&agent_self;
    if (atomic_compare_exchange_strong(&met_by, &self, 0))
        found();
    else
        follow_wanted();
}

const struct agent_source agent_source_torch = {
    .attach = torch_agent_attach,
    .attached = torch_agent_attached,
    .switched = torch_agent_switched,
    .object_loaded = object_loaded,
    .objects_changed = torch_agent_objects_changed,
    .objects_unloaded = torch_memory_forget,
};
