/* Reads the Python frames of the calling thread: see python_agent.h.
 *
 * The thread reads its own frames, which do not change meanwhile, whichever thread has the GIL. The number of a stack
 * is a hash of its frames. The text of a stack is recorded when its thread first meets it, so later ones cost only the
 * walk. Each thread records its own stacks, because the collector may read those of another thread later. If a stack
 * loses its place in the table to another one, it is recorded again, which does no harm.
 *
 * Inside a PyTorch operator the frames are certainly mapped. But a libc call may come at any moment: from a thread
 * whose state the end of the interpreter has freed meanwhile (a daemon thread), or from a signal handler. For calls the
 * kernel reads the memory, because it knows what is mapped. */
#include "python_agent.h"

#include <pthread.h>

#include "abi/python_layout.h"
#include "agent/core/agent.h"
#include "agent/core/libc_loader.h"
#include "agent/core/libc_real.h"
#include "agent/core/modules.h"
#include "agent/core/small_text.h"
#include "agent/core/source.h"
#include "agent/core/sys.h"
#include "wire/wire_torch.h"

#define FRAMES_MAX 128
#define TOLD_MAX 16384u

enum { NOT_FOUND, OPENING, READABLE, REFUSED };
enum python_use { PYTHON_OF_OPERATOR, PYTHON_OF_CALL };

static struct {
    struct python_runtime python;
    void *(*this_thread)(void);      /* PyGILState_GetThisThreadState(): only reads thread-local storage */
    _Atomic int state;
    _Atomic uint64_t told[TOLD_MAX]; /* hashes of number and thread of stacks that were recorded */
} stacks;

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static int python_agent_read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    if (!address)
        return -1;
    memcpy(buffer, (const void *)address, size);
    return 0;
}
static const struct python_memory own_memory = { .read_at = python_agent_read_own };

/* The last read through the kernel. A caller's frame lies before that of its callee, so one read has most of them. */
struct python_agent_window {
    long pid;
    uint64_t address;
    size_t bytes;
    unsigned char copy[1024];
};

static int ask_kernel(const struct python_agent_window *window, uint64_t address, void *buffer, size_t size)
{
    struct iovec to = { buffer, size }, from = { (void *)address, size };
    return sys_process_vm_readv((int)window->pid, &to, 1, &from, 1) == (long)size ? 0 : -1;
}

static int read_through_kernel(void *context, uint64_t address, void *buffer, size_t size)
{
    struct python_agent_window *window = context;
    uint64_t first = address + size - sizeof window->copy;
    if (size > sizeof window->copy / 2 || first > address)
        return ask_kernel(window, address, buffer, size);
    if (address - window->address > window->bytes - size || window->bytes < size) {
        window->bytes = 0;
        if (ask_kernel(window, first, window->copy, sizeof window->copy) != 0)
            return ask_kernel(window, address, buffer, size);
        window->address = first;
        window->bytes = sizeof window->copy;
    }
    memcpy(buffer, window->copy + (address - window->address), size);
    return 0;
}

/* ---- The interpreter ------------------------------------------------------------------------------------------- */

/* Keeps a library loaded: the program may have loaded it by name, and could unload it. */
static void keep_loaded(const char *path)
{
    if (*path)
        LIBC_REAL(dlopen)(path, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    loader.dlerror(); /* the program must not see an error of this */
}

int python_prepare(void)
{
    uint64_t symbols[PYTHON_SYMBOL_COUNT];
    int before = NOT_FOUND;
    struct agent_symbol this_thread = agent_find_symbol("", "PyGILState_GetThisThreadState");
    *(void **)&stacks.this_thread = this_thread.address;
    if (stacks.this_thread && atomic_compare_exchange_strong(&stacks.state, &before, OPENING)) {
        for (int i = 0; i < PYTHON_SYMBOL_COUNT; i++)
            symbols[i] = (uint64_t)agent_find_symbol("", python_symbols[i]).address;
        keep_loaded(this_thread.path);
        atomic_store(&stacks.state,
                     python_open(&stacks.python, &own_memory, symbols) == PYTHON_OK ? READABLE : REFUSED);
    }
    return atomic_load(&stacks.state) == READABLE ? 0 : -1;
}

/* Python may be among the libraries that were loaded. */
static void python_agent_objects_changed(void)
{
    if (!wire_python(agent.arena)->flags || atomic_load_explicit(&stacks.state, memory_order_relaxed) != NOT_FOUND)
        return;
    if (python_prepare() != 0 && atomic_load(&stacks.state) == REFUSED &&
        !(wire_python(agent.arena)->flags & WIRE_PYTHON_SILENT))
        emit_note(WIRE_DIAGNOSTIC, 2, NULL, 0,
                  "Calls and samples have no Python frames: Tacho does not support this Python, only CPython 3.9 to "
                  "3.14 with a GIL.");
}

/* A new arena has no stacks yet. */
static void python_agent_forget(void)
{
    int opening = OPENING; /* the thread that was opening is not in this process: the next one opens it */
    atomic_compare_exchange_strong(&stacks.state, &opening, NOT_FOUND);
    /* Most forked children return here and touch no page. */
    if (atomic_load_explicit(&stacks.state, memory_order_relaxed) != READABLE)
        return;
    for (uint32_t i = 0; i < TOLD_MAX; i++)
        atomic_store_explicit(&stacks.told[i], 0, memory_order_relaxed);
}

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

static uint64_t python_agent_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t python_agent_word_at(const char *object, size_t offset)
{
    uint64_t word;
    memcpy(&word, object + offset, sizeof word);
    return word;
}

/* Mixes in the end of a text, where file names differ, to distinguish texts that lay at the same address in turn. */
static uint64_t mix_text(uint64_t hash, uint64_t text)
{
    enum { CHARACTERS = 32, ASCII = 1 << 6 };
    const char *object = (const char *)text;
    if (!object)
        return hash;
    uint64_t length = python_agent_word_at(object, stacks.python.at[PYTHON_TEXT_LENGTH]), word = 0;
    int is_ascii = (python_agent_word_at(object, stacks.python.at[PYTHON_TEXT_STATE]) & ASCII) != 0;
    const char *characters = object + stacks.python.at[is_ascii ? PYTHON_TEXT_ASCII : PYTHON_TEXT_WIDE];
    uint64_t first = length > CHARACTERS ? length - CHARACTERS : 0;
    hash = python_agent_mix(hash, length);
    /* Wide characters have more bytes than `length`: this reads to the end of the first half or quarter. */
    for (uint64_t at = first; at < length; at += 8, word = 0) {
        memcpy(&word, characters + at, length - at < 8 ? length - at : 8);
        hash = python_agent_mix(hash, word);
    }
    return hash;
}

/* A stack that is being read and recorded, in the thread's scratch memory. */
struct python_agent_stack {
    enum python_use use;
    struct python_memory memory;
    struct python_agent_window window;
    struct python_frame frames[FRAMES_MAX];
    int count;
    struct python_code code; /* of the frame that is being written */
};
_Static_assert(sizeof(struct python_agent_stack) <= AGENT_SCRATCH_BYTES, "there is room for it");

/* The hash has the address of each code object, and what distinguishes it from an earlier one at the same address:
 * generated code often has the same name, and its texts at the same addresses. To read those texts through the kernel
 * would cost more than all the rest. So the numbers of calls differ from second to second instead, and a stale one is
 * soon forgotten. */
static uint64_t python_agent_number_of(const struct python_agent_stack *stack)
{
    enum { SECOND_SHIFT = 31 }; /* about a second, for a counter's ticks and for ns */
    int is_call = stack->use == PYTHON_OF_CALL;
    uint64_t hash = python_agent_mix((uint64_t)stack->count, is_call ? agent_ticks() >> SECOND_SHIFT << 1 | 1 : 0);
    for (int i = 0; i < stack->count; i++) {
        const struct python_frame *frame = &stack->frames[i];
        struct python_code_mark mark = { 0 };
        python_code_mark(&stacks.python, &stack->memory, frame->code, &mark);
        hash = python_agent_mix(python_agent_mix(hash, frame->code),
                                (uint64_t)frame->instruction << 1 | frame->is_entry);
        hash = python_agent_mix(python_agent_mix(python_agent_mix(hash, mark.name), mark.file),
                                mark.lines ^ (uint64_t)mark.first_line);
        if (!is_call)
            hash = mix_text(mix_text(hash, mark.name), mark.file);
    }
    return hash ? hash : 1;
}

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

/* The text is built in the record itself. */
struct python_agent_output {
    char *bytes;
    size_t used;
};

static void python_agent_add_text(struct python_agent_output *out, const char *text)
{
    size_t length = strlen(text), room = WIRE_TEXT_MAX - 1 - out->used;
    length = length < room ? length : room;
    memcpy(out->bytes + out->used, text, length);
    out->used += length;
}

static void python_agent_add_number(struct python_agent_output *out, uint32_t number)
{
    struct small_digits digits;
    python_agent_add_text(out, small_digits(&digits, number));
}

/* The table of lines is copied after the text, where the record has room. */
static uint32_t python_agent_line_of(const struct python_agent_stack *stack, const struct python_agent_output *out,
                                     const struct python_code *code, int64_t instruction)
{
    const unsigned char *table = (const unsigned char *)code->lines;
    if (stack->use == PYTHON_OF_CALL) {
        table = (unsigned char *)out->bytes + out->used;
        if (code->lines_bytes > WIRE_TEXT_MAX - out->used ||
            stack->memory.read_at(stack->memory.context, code->lines, out->bytes + out->used, code->lines_bytes) != 0)
            return 0;
    }
    int32_t line = python_line(&stacks.python, code->first_line, table, code->lines_bytes, instruction);
    return line > 0 ? (uint32_t)line : 0;
}

/* "file(line): function", as PyTorch writes it: without the class. Semicolons separate frames, so none may be
 * within. */
static void add_operator_frame(struct python_agent_output *out, struct python_code *code, uint32_t line)
{
    const char *dot = strrchr(code->name, '.');
    for (char *at = code->file; (at = strchr(at, ';'));)
        *at = '_';
    python_agent_add_text(out, out->used ? ";" : "");
    python_agent_add_text(out, code->file);
    python_agent_add_text(out, "(");
    python_agent_add_number(out, line);
    python_agent_add_text(out, "): ");
    python_agent_add_text(out, dot && dot[1] ? dot + 1 : code->name);
}

/* As in WIRE_PYTHON_STACK. Names contain no control characters (python_code_read()). */
static void add_call_frame(struct python_agent_output *out, const struct python_code *code, uint32_t line, int is_entry)
{
    python_agent_add_text(out, out->used ? "\n" : "");
    python_agent_add_text(out, is_entry ? "*" : "");
    python_agent_add_number(out, line);
    python_agent_add_text(out, "\t");
    python_agent_add_text(out, code->file);
    python_agent_add_text(out, "\t");
    python_agent_add_text(out, code->name);
}

static void python_agent_add_frame(struct python_agent_output *out, struct python_agent_stack *stack,
                                   const struct python_frame *frame)
{
    struct python_code *code = &stack->code;
    if (python_code_read(&stacks.python, &stack->memory, frame->code, code) != PYTHON_OK)
        return;
    uint32_t line = python_agent_line_of(stack, out, code, frame->instruction);
    if (stack->use == PYTHON_OF_CALL)
        add_call_frame(out, code, line, frame->is_entry != 0);
    else
        add_operator_frame(out, code, line);
}

/* Records the stack. 0: there was no room; the stack of an operator then counts as lost. */
static int python_agent_tell(struct agent_thread *thread, uint64_t number, struct python_agent_stack *stack)
{
    uint32_t most = WIRE_HEAD_WORDS + 1 + emit_text_words(WIRE_TEXT_MAX);
    enum wire_fate fate;
    struct agent_lane *lane;
    struct wire_record *record = stack->use == PYTHON_OF_CALL
                                     ? emit_reserve(thread, &lane, WIRE_PYTHON_STACK, most, &fate)
                                     : emit_begin(thread, &lane, WIRE_SOURCE_TORCH, WIRE_TORCH_STACK, most);
    if (!record)
        return 0;
    struct python_agent_output out = { (char *)(record->body + 1), 0 };
    record->ticks = agent_ticks();
    record->body[0] = number;
    for (int i = 0; i < stack->count; i++)
        python_agent_add_frame(&out, stack, &stack->frames[i]);
    memset(out.bytes + out.used, 0, emit_text_words(out.used) * 8 - out.used);
    record->words = (uint16_t)(WIRE_HEAD_WORDS + 1 + emit_text_words(out.used));
    emit_commit(lane, record);
    return 1;
}

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

/* A state that does not name this thread was freed, and belongs to another thread or to nobody by now. */
static int python_agent_read_stack(struct python_agent_stack *stack)
{
    struct python_thread state;
    uint64_t rest, self = (uint64_t)stacks.this_thread();
    if (!self || python_thread_read(&stacks.python, &stack->memory, self, &state) != PYTHON_OK || !state.frame ||
        state.pthread != (uint64_t)pthread_self())
        return 0;
    stack->count = python_frames(&stacks.python, &stack->memory, state.frame, stack->frames, FRAMES_MAX, &rest);
    return stack->count > 0;
}

static uint64_t number_and_tell(struct agent_thread *thread, struct python_agent_stack *stack)
{
    if (!python_agent_read_stack(stack))
        return 0;
    uint64_t number = python_agent_number_of(stack), own = python_agent_mix(number, (uint64_t)thread);
    _Atomic uint64_t *told = &stacks.told[own % TOLD_MAX];
    if (atomic_load_explicit(told, memory_order_relaxed) == own)
        return number;
    if (!python_agent_tell(thread, number, stack))
        return 0;
    atomic_store_explicit(told, own, memory_order_relaxed);
    return number;
}

static __attribute__((noinline)) uint64_t number_of_stack(struct agent_thread *thread, enum python_use use,
                                                          enum agent_scratch_use scratch)
{
    struct python_agent_stack *stack = agent_scratch_take(thread, scratch);
    if (!stack)
        return 0;
    stack->use = use;
    stack->memory = use == PYTHON_OF_CALL ? (struct python_memory){ read_through_kernel, &stack->window } : own_memory;
    stack->window.pid = sys_getpid();
    stack->window.bytes = 0;
    uint64_t number = number_and_tell(thread, stack);
    agent_scratch_give(thread, scratch);
    return number;
}

uint64_t python_stack_of_operator(struct agent_thread *thread)
{
    return number_of_stack(thread, PYTHON_OF_OPERATOR, AGENT_SCRATCH_OF_HOOK);
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static uint64_t frames(struct agent_thread *thread, enum agent_stack_use use)
{
    static const uint32_t wanted[] = { [AGENT_STACK_OF_CALL] = WIRE_PYTHON_CALLS,
                                       [AGENT_STACK_OF_SAMPLE] = WIRE_PYTHON_SAMPLES,
                                       [AGENT_STACK_OF_BLOCK] = WIRE_PYTHON_BLOCKS };
    if (!(wire_python(agent.arena)->flags & wanted[use]) ||
        atomic_load_explicit(&stacks.state, memory_order_acquire) != READABLE)
        return 0;
    return number_of_stack(thread, PYTHON_OF_CALL,
                           use == AGENT_STACK_OF_SAMPLE ? AGENT_SCRATCH_OF_SAMPLE : AGENT_SCRATCH_OF_HOOK);
}

static void python_agent_attached(enum wire_origin origin)
{
    if (origin == WIRE_ORIGIN_FORK)
        python_agent_forget();
}

const struct agent_source agent_source_python = {
    .attached = python_agent_attached,
    .objects_changed = python_agent_objects_changed,
    .frames = frames,
};
