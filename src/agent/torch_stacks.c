/* The Python frames that an operator of PyTorch is called from.
 *
 * The thread itself reads them, while it is in the operator: its own frames do not change meanwhile, whoever has the GIL. Stacks are
 * numbered by a hash of their frames; the text of one is put together and told when its thread first meets it, so that later ones cost
 * the walk alone. Each thread tells its own: what another told may be read after it. A number whose place in the table another one took
 * is told again, which does no harm. */
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
    _Atomic uint64_t told[TOLD_MAX]; /* number and thread, mixed */
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
    if (stacks.is_known <= 0) /* most forked children: not a page is touched */
        return;
    for (uint32_t i = 0; i < TOLD_MAX; i++)
        atomic_store_explicit(&stacks.told[i], 0, memory_order_relaxed);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The end of a text, where names of files differ: for another one that lies where it lay. */
static uint64_t mix_text(uint64_t hash, uint64_t text)
{
    enum { CHARACTERS = 32, ASCII = 1 << 6 };
    const char *object = (const char *)text;
    if (!object)
        return hash;
    uint64_t length = torch_word(object, stacks.python.at[PYTHON_TEXT_LENGTH]), word = 0;
    int is_ascii = (torch_word(object, stacks.python.at[PYTHON_TEXT_STATE]) & ASCII) != 0;
    const char *characters = object + stacks.python.at[is_ascii ? PYTHON_TEXT_ASCII : PYTHON_TEXT_WIDE];
    uint64_t first = length > CHARACTERS ? length - CHARACTERS : 0;
    hash = mix(hash, length);
    for (uint64_t at = first; at < length; at += 8, word = 0) { /* of wide ones the first half or quarter: each has so many bytes at least */
        memcpy(&word, characters + at, length - at < 8 ? length - at : 8);
        hash = mix(hash, word);
    }
    return hash;
}

/* Of a code object with what tells it from one that lay there before: code that is made on the fly often has the same name, and its
 * texts lie where those of the one before lay. */
static uint64_t number_of(const struct python_frame *frames, int count)
{
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++) {
        struct python_code_mark mark = { 0 };
        python_code_mark(&stacks.python, &own_memory, frames[i].code, &mark);
        hash = mix(mix(hash, frames[i].code), (uint64_t)frames[i].instruction);
        hash = mix(mix(mix(hash, mark.name), mark.file), mark.lines ^ (uint64_t)mark.first_line);
        hash = mix_text(mix_text(hash, mark.name), mark.file);
    }
    return hash ? hash : 1;
}

/* Where a text is put together: in the record itself. */
struct output { char *bytes; size_t used; };

static void add_text(struct output *out, const char *text)
{
    size_t length = strlen(text), room = WIRE_TEXT_MAX - 1 - out->used;
    length = length < room ? length : room;
    memcpy(out->bytes + out->used, text, length);
    out->used += length;
}

static void add_number(struct output *out, uint32_t number)
{
    char digits[12], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    add_text(out, at);
}

/* "file(line): function", as torch has it: without the class. Frames are parted by semicolons, so that none may be within. */
static void add_frame(struct output *out, const struct python_frame *frame)
{
    struct python_code code;
    if (python_code_read(&stacks.python, &own_memory, frame->code, &code) != PYTHON_OK)
        return;
    int32_t line = python_line(&stacks.python, code.first_line, (const unsigned char *)code.lines, code.lines_bytes, frame->instruction);
    const char *dot = strrchr(code.name, '.');
    for (char *at = code.file; (at = strchr(at, ';'));)
        *at = '_';
    add_text(out, out->used ? ";" : "");
    add_text(out, code.file);
    add_text(out, "(");
    add_number(out, line > 0 ? (uint32_t)line : 0);
    add_text(out, "): ");
    add_text(out, dot && dot[1] ? dot + 1 : code.name);
}

/* 0: it had no room, and is counted as lost. */
static int tell(struct agent_thread *thread, uint64_t number, const struct python_frame *frames, int count)
{
    uint32_t most = WIRE_HEAD_WORDS + 1 + emit_text_words(WIRE_TEXT_MAX);
    struct wire_record *record = emit_begin(thread, WIRE_SOURCE_TORCH, WIRE_TORCH_STACK, most);
    if (!record)
        return 0;
    struct output out = { (char *)(record->body + 1), 0 };
    record->ticks = agent_ticks();
    record->body[0] = number;
    for (int i = 0; i < count; i++)
        add_frame(&out, &frames[i]);
    memset(out.bytes + out.used, 0, emit_text_words(out.used) * 8 - out.used);
    record->words = (uint16_t)(WIRE_HEAD_WORDS + 1 + emit_text_words(out.used));
    emit_commit(thread, record);
    return 1;
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
    uint64_t number = number_of(frames, count), own = mix(number, (uint64_t)thread);
    _Atomic uint64_t *told = &stacks.told[own % TOLD_MAX];
    if (atomic_load_explicit(told, memory_order_relaxed) == own)
        return number;
    if (!tell(thread, number, frames, count))
        return 0;
    atomic_store_explicit(told, own, memory_order_relaxed);
    return number;
}
