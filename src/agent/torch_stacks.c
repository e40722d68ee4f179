/* The Python frames that an operator of PyTorch is called from.
 *
 * The thread itself reads them, while it is in the operator: its own frames do not change meanwhile, whoever has the GIL. Stacks are
 * numbered by a hash of their frames; the text of one is put together and told when it is first met, so that later ones cost the walk
 * alone. A number whose place in the table another one took is told again, which does no harm.                               */
#include <string.h>

#include "../wire/python_layout.h"
#include "core.h"
#include "torch.h"

#define FRAMES_MAX 64
#define TOLD_MAX 16384u

static struct {
    struct python_runtime python;
    void *(*this_thread)(void); /* PyGILState_GetThisThreadState(): looks at thread-local storage alone */
    int is_known;               /* 1: can be read; -1: cannot */
    _Atomic uint64_t told[TOLD_MAX];
    _Atomic uint32_t writing;   /* text is somebody's */
    char text[WIRE_TEXT_MAX];
} stacks;

static int read_own(void *context, uint64_t address, void *buffer, size_t size)
{
    if (!address)
        return -1;
    memcpy(buffer, (const void *)address, size);
    return 0;
}
static const struct python_memory own_memory = { .read_at = read_own };

int torch_stacks_prepare(void)
{
    uint64_t symbols[PYTHON_SYMBOL_COUNT];
    if (stacks.is_known)
        return stacks.is_known > 0 ? 0 : -1;
    for (int i = 0; i < PYTHON_SYMBOL_COUNT; i++)
        symbols[i] = (uint64_t)dlsym(RTLD_DEFAULT, python_symbols[i]);
    *(void **)&stacks.this_thread = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    dlerror(); /* not the program's to see */
    int is_open = stacks.this_thread && python_open(&stacks.python, &own_memory, symbols) == PYTHON_OK;
    stacks.is_known = is_open ? 1 : -1;
    return is_open ? 0 : -1;
}

void torch_stacks_forget(void)
{
    for (uint32_t i = 0; i < TOLD_MAX; i++)
        atomic_store_explicit(&stacks.told[i], 0, memory_order_relaxed);
    atomic_store(&stacks.writing, 0);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Of a code object with what tells it from one that lay there before. */
static uint64_t number_of(const struct python_frame *frames, int count)
{
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        struct python_code_mark mark = { 0 };
        python_code_mark(&stacks.python, &own_memory, frames[i].code, &mark);
        hash = mix(mix(mix(hash, frames[i].code), (uint64_t)frames[i].instruction), mark.name ^ (uint64_t)mark.first_line);
    }
    return hash ? hash : 1;
}

static size_t add_text(size_t used, const char *text)
{
    size_t length = strlen(text), room = sizeof stacks.text - 1 - used;
    length = length < room ? length : room;
    memcpy(stacks.text + used, text, length);
    return used + length;
}

static size_t add_number(size_t used, uint32_t number)
{
    char digits[12], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    return add_text(used, at);
}

/* "file(line): function", as torch has it: without the class. Frames are parted by semicolons, so that none may be within. */
static size_t add_frame(size_t used, const struct python_frame *frame)
{
    struct python_code code;
    if (python_code_read(&stacks.python, &own_memory, frame->code, &code) != PYTHON_OK)
        return used;
    int32_t line = python_line(&stacks.python, code.first_line, (const unsigned char *)code.lines, code.lines_bytes, frame->instruction);
    const char *dot = strrchr(code.name, '.');
    for (char *at = code.file; (at = strchr(at, ';'));)
        *at = '_';
    used = add_text(add_text(used, used ? ";" : ""), code.file);
    used = add_text(add_number(add_text(used, "("), line > 0 ? (uint32_t)line : 0), "): ");
    return add_text(used, dot && dot[1] ? dot + 1 : code.name);
}

static int tell(struct agent_thread *thread, uint64_t number, const struct python_frame *frames, int count)
{
    if (atomic_exchange(&stacks.writing, 1))
        return 0;
    size_t length = 0;
    for (int i = 0; i < count; i++)
        length = add_frame(length, &frames[i]);
    enum wire_fate fate;
    struct wire_record *record = emit_reserve(thread, WIRE_TORCH_STACK, WIRE_HEAD_WORDS + 1 + emit_text_words(length), &fate);
    if (record) {
        record->ticks = agent_ticks();
        record->body[0] = number;
        emit_text(record->body + 1, stacks.text, length);
        emit_commit(thread, record);
    }
    atomic_store(&stacks.writing, 0);
    return record != NULL;
}

uint64_t torch_stack(struct agent_thread *thread)
{
    struct python_frame frames[FRAMES_MAX];
    struct python_thread state;
    uint64_t rest, self = (uint64_t)stacks.this_thread();
    if (!self || python_thread_read(&stacks.python, &own_memory, self, &state) != PYTHON_OK || !state.frame)
        return 0;
    int count = python_frames(&stacks.python, &own_memory, state.frame, frames, FRAMES_MAX, &rest);
    if (count <= 0)
        return 0;
    uint64_t number = number_of(frames, count);
    _Atomic uint64_t *told = &stacks.told[number % TOLD_MAX];
    if (atomic_load_explicit(told, memory_order_relaxed) == number)
        return number;
    if (!tell(thread, number, frames, count))
        return 0;
    atomic_store_explicit(told, number, memory_order_relaxed);
    return number;
}
