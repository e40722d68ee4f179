/* Reads the stacks of Python programs out of their memory: see python_layout.h. python_code.c has lines and texts. */
#include "python_layout.h"

#include <string.h>

#include "base/array.h"
#include "python_bytes.h"

enum { OLDEST = 9, FIRST_NUMBERED = 11, FIRST_DESCRIBED = 13, NEWEST = 14 };
enum { OWNED_BY_C = 3 }; /* frames with this owner or a higher one belong to the interpreter itself, since 3.12 */
enum { FREE_THREADED_AT = 16 };
#define FARTHEST 65536u                 /* the largest offset of a field, and the largest struct */
#define TAGS UINT64_C(3)                /* tag bits of a reference, since 3.14 */

const char *const python_symbols[PYTHON_SYMBOL_COUNT] = {
#define SYMBOL_NAME(id, name) [PYTHON_SYMBOL_##id] = name,
    PYTHON_SYMBOLS(SYMBOL_NAME)
#undef SYMBOL_NAME
};

const char *python_status_text(enum python_status status)
{
    static const char *const texts[] = {
        [PYTHON_OK] = "it can be read",
        [PYTHON_UNREADABLE] = "its memory cannot be read",
        [PYTHON_TORN] = "its interpreter is not initialized",
        [PYTHON_TOO_OLD] = "its Python is older than 3.9",
        [PYTHON_TOO_NEW] = "its Python is newer than 3.14, which this version of Tacho does not support",
        [PYTHON_FREE_THREADED] = "it is a free-threaded build of Python, which this version of Tacho does not support",
    };
    return texts[status];
}

/* ---- Versions -------------------------------------------------------------------------------------------------- */

struct python_layout_version {
    unsigned minor;
    int described;                   /* `at` has the places of the offsets in _Py_DebugOffsets, not the offsets */
    uint16_t at[PYTHON_FIELD_COUNT]; /* 0: this version lacks the field; else the offset plus 1 */
};

#define AT(field, offset) [PYTHON_##field] = (offset) + 1
#define PYTHON_LAYOUT(minor, ...) {minor, 0, {__VA_ARGS__}},
#define PYTHON_DESCRIBED(minor, ...) {minor, 1, {__VA_ARGS__}},
static const struct python_layout_version python_layout_versions[] = {
#include "python_layout.def"
};
#undef AT
#undef PYTHON_LAYOUT
#undef PYTHON_DESCRIBED
#define VERSION_COUNT COUNT_OF(python_layout_versions)

static int read_word(const struct python_memory *memory, uint64_t address, uint64_t *word)
{
    return python_read(memory, address, word, sizeof *word);
}

/* The minor version, or 0 if it cannot be read. Versions that export no version number are recognised by their newest
 * function. */
static unsigned find_minor(const struct python_memory *memory, const uint64_t symbols[PYTHON_SYMBOL_COUNT])
{
    uint64_t number;
    if (!symbols[PYTHON_SYMBOL_VERSION])
        return symbols[PYTHON_SYMBOL_SINCE_3_10] ? 10 : symbols[PYTHON_SYMBOL_SINCE_3_9] ? 9 : 8;
    if (read_word(memory, symbols[PYTHON_SYMBOL_VERSION], &number) != 0)
        return 0;
    return number >> 24 == 3 ? (unsigned)(number >> 16 & 0xff) : number >> 24 > 3 ? UINT16_MAX : OLDEST - 1;
}

/* CPython 3.13 and later describe their own layout. */
static enum python_status take_description(struct python_runtime *python, const struct python_memory *memory,
                                           const struct python_layout_version *version)
{
    uint64_t cookie, is_free_threaded, offset;
    if (read_word(memory, python->address, &cookie) != 0 ||
        read_word(memory, python->address + FREE_THREADED_AT, &is_free_threaded) != 0)
        return PYTHON_UNREADABLE;
    if (memcmp(&cookie, "xdebugpy", sizeof cookie) != 0)
        return PYTHON_TORN;
    if (is_free_threaded)
        return PYTHON_FREE_THREADED;
    for (size_t i = 0; i < PYTHON_FIELD_COUNT; i++) {
        if (!version->at[i])
            continue;
        if (read_word(memory, python->address + version->at[i] - 1, &offset) != 0)
            return PYTHON_UNREADABLE;
        if (offset >= PYTHON_NO_FIELD)
            return PYTHON_TORN;
        python->at[i] = (uint16_t)offset;
    }
    if (python->at[PYTHON_GIL_HOLDER] < python->at[PYTHON_INTERPRETER_OWN_GIL] ||
        python->at[PYTHON_GIL_LOCKED] < python->at[PYTHON_INTERPRETER_OWN_GIL])
        return PYTHON_TORN;
    /* The GIL may belong to another interpreter, so the offsets of its fields must count from the GIL itself. */
    python->at[PYTHON_GIL_HOLDER] -= python->at[PYTHON_INTERPRETER_OWN_GIL];
    python->at[PYTHON_GIL_LOCKED] -= python->at[PYTHON_INTERPRETER_OWN_GIL];
    /* Between the two lie the cached UTF-8 and its length. */
    python->at[PYTHON_TEXT_WIDE] = python->at[PYTHON_TEXT_ASCII] + 2 * sizeof(uint64_t);
    return PYTHON_OK;
}

enum python_status python_open(struct python_runtime *python, const struct python_memory *memory,
                               const uint64_t symbols[PYTHON_SYMBOL_COUNT])
{
    unsigned minor = find_minor(memory, symbols);
    if (!minor)
        return PYTHON_UNREADABLE;
    if (minor < OLDEST || minor > NEWEST)
        return minor < OLDEST ? PYTHON_TOO_OLD : PYTHON_TOO_NEW;
    *python = (struct python_runtime){
        .address = symbols[PYTHON_SYMBOL_RUNTIME],
        .code_type = symbols[PYTHON_SYMBOL_CODE_TYPE],
        .minor = minor,
    };
    const struct python_layout_version *version = python_layout_versions;
    while (version->minor != minor)
        version++;
    for (size_t i = 0; i < PYTHON_FIELD_COUNT; i++)
        python->at[i] = version->at[i] && !version->described ? (uint16_t)(version->at[i] - 1) : PYTHON_NO_FIELD;
    return version->described ? take_description(python, memory, version) : PYTHON_OK;
}
_Static_assert(VERSION_COUNT == NEWEST - OLDEST + 1, "every version from the oldest to the newest has its row");

/* ---- Structs --------------------------------------------------------------------------------------------------- */

/* Reads several fields of one struct at once: from the first to the end of the last. */
struct python_layout_span {
    uint64_t address;
    uint32_t from, to;
    unsigned char bytes[512];
};

static int read_span(const struct python_runtime *python, const struct python_memory *memory,
                     struct python_layout_span *span, uint64_t address, const enum python_field *fields, size_t count)
{
    span->address = address;
    span->from = UINT32_MAX;
    span->to = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = python->at[fields[i]];
        if (at == PYTHON_NO_FIELD)
            continue;
        span->from = at < span->from ? at : span->from;
        span->to = at + 8 > span->to ? at + 8 : span->to;
    }
    if (span->from > span->to || span->to - span->from > sizeof span->bytes || address % 8 != 0 ||
        address > UINT64_MAX - FARTHEST)
        return -1;
    return python_read(memory, address + span->from, span->bytes, span->to - span->from);
}

static uint64_t field_of(const struct python_runtime *python, const struct python_layout_span *span,
                         enum python_field field)
{
    uint32_t at = python->at[field];
    return at == PYTHON_NO_FIELD ? 0 : python_word(span->bytes + at - span->from);
}

uint64_t python_first_interpreter(const struct python_runtime *python, const struct python_memory *memory)
{
    uint64_t first;
    return read_word(memory, python->address + python->at[PYTHON_RUNTIME_INTERPRETERS], &first) == 0 ? first : 0;
}

/* The holder is written when the lock is taken, and stays there when it is released. */
static void python_layout_read_gil(const struct python_runtime *python, const struct python_memory *memory,
                                   struct python_interpreter *interpreter)
{
    static const enum python_field fields[] = { PYTHON_GIL_HOLDER, PYTHON_GIL_LOCKED };
    uint64_t gil = python->address + python->at[PYTHON_RUNTIME_GIL];
    struct python_layout_span span;
    if (python->at[PYTHON_RUNTIME_GIL] == PYTHON_NO_FIELD &&
        python_read(memory, interpreter->address + python->at[PYTHON_INTERPRETER_GIL], &gil, sizeof gil) != 0)
        return;
    if (read_span(python, memory, &span, gil, fields, COUNT_OF(fields)) != 0)
        return;
    interpreter->gil = gil;
    interpreter->holder = (int32_t)field_of(python, &span, PYTHON_GIL_LOCKED) > 0
                              ? field_of(python, &span, PYTHON_GIL_HOLDER)
                              : 0;
}

enum python_status python_interpreter_read(const struct python_runtime *python, const struct python_memory *memory,
                                           uint64_t address, struct python_interpreter *interpreter)
{
    static const enum python_field fields[] = { PYTHON_INTERPRETER_NEXT, PYTHON_INTERPRETER_ID,
                                                PYTHON_INTERPRETER_THREADS };
    uint64_t words[3];
    for (size_t i = 0; i < COUNT_OF(fields); i++) /* too far apart for one read in some versions */
        if (read_word(memory, address + python->at[fields[i]], &words[i]) != 0)
            return PYTHON_UNREADABLE;
    *interpreter = (struct python_interpreter){
        .address = address, .next = words[0], .id = (int64_t)words[1], .first_thread = words[2]
    };
    python_layout_read_gil(python, memory, interpreter);
    return PYTHON_OK;
}

/* From 3.9 to 3.14 the numbers of the generations lie right before the flag: one read has both. */
enum python_status python_collector_read(const struct python_runtime *python, const struct python_memory *memory,
                                         uint64_t interpreter, struct python_collector *collector)
{
    struct {
        int64_t generations[PYTHON_GENERATIONS][3];
        int32_t is_collecting;
    } read;
    uint64_t flag = interpreter + python->at[PYTHON_INTERPRETER_GC] + python->at[PYTHON_GC_COLLECTING];
    *collector = (struct python_collector){ 0 };
    if (python_read(memory, flag - sizeof read.generations, &read, sizeof read.generations + sizeof(int32_t)) != 0)
        return PYTHON_UNREADABLE;
    if (read.is_collecting != 0 && read.is_collecting != 1)
        return PYTHON_TORN;
    for (int i = 0; i < PYTHON_GENERATIONS; i++) {
        for (int k = 0; k < 3; k++)
            if (read.generations[i][k] < 0)
                return PYTHON_TORN;
        collector->generations[i].collections = read.generations[i][0];
        collector->generations[i].collected = read.generations[i][1];
        collector->generations[i].uncollectable = read.generations[i][2];
    }
    collector->is_collecting = read.is_collecting;
    return PYTHON_OK;
}

enum python_status python_thread_read(const struct python_runtime *python, const struct python_memory *memory,
                                      uint64_t address, struct python_thread *thread)
{
    static const enum python_field fields[] = { PYTHON_THREAD_NEXT,   PYTHON_THREAD_INTERPRETER, PYTHON_THREAD_PTHREAD,
                                                PYTHON_THREAD_NATIVE, PYTHON_THREAD_FRAME,       PYTHON_THREAD_CFRAME };
    struct python_layout_span span;
    if (read_span(python, memory, &span, address, fields, COUNT_OF(fields)) != 0)
        return PYTHON_UNREADABLE;
    *thread = (struct python_thread){
        .address = address,
        .next = field_of(python, &span, PYTHON_THREAD_NEXT),
        .interpreter = field_of(python, &span, PYTHON_THREAD_INTERPRETER),
        .pthread = field_of(python, &span, PYTHON_THREAD_PTHREAD),
        .native = field_of(python, &span, PYTHON_THREAD_NATIVE),
        .frame = field_of(python, &span, PYTHON_THREAD_FRAME),
    };
    uint64_t cframe = field_of(python, &span, PYTHON_THREAD_CFRAME);
    if (cframe && read_word(memory, cframe + python->at[PYTHON_CFRAME_FRAME], &thread->frame) != 0)
        return PYTHON_UNREADABLE;
    return PYTHON_OK;
}

/* Searches this interpreter: 1 if it has the thread, with frames; 0 if it does not, or the thread has none. */
static int python_layout_find_in(const struct python_runtime *python, const struct python_memory *memory,
                                 uint64_t first, uint64_t pthread, struct python_thread *found, unsigned *steps)
{
    struct python_thread thread;
    for (uint64_t at = first; at && (*steps)++ < PYTHON_THREADS_MAX; at = thread.next) {
        if (python_thread_read(python, memory, at, &thread) != PYTHON_OK)
            return 0;
        if (thread.pthread != pthread)
            continue;
        *found = thread;
        if (thread.frame)
            return 1;
    }
    return 0;
}

enum python_status python_find_thread(const struct python_runtime *python, const struct python_memory *memory,
                                      uint64_t pthread, struct python_thread *thread)
{
    struct python_interpreter interpreter;
    unsigned count = 0, steps = 0; /* over all interpreters: a damaged list may be circular */
    thread->address = 0;
    for (uint64_t at = python_first_interpreter(python, memory); at && count++ < PYTHON_INTERPRETERS_MAX;
         at = interpreter.next) {
        if (python_interpreter_read(python, memory, at, &interpreter) != PYTHON_OK)
            return PYTHON_UNREADABLE;
        if (python_layout_find_in(python, memory, interpreter.first_thread, pthread, thread, &steps))
            break;
    }
    return thread->address ? PYTHON_OK : PYTHON_TORN;
}

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

static const enum python_field frame_fields[] = { PYTHON_FRAME_PREVIOUS, PYTHON_FRAME_CODE, PYTHON_FRAME_INSTRUCTION };
#define FRAME_FIELDS COUNT_OF(frame_fields)

size_t python_frame_bytes(const struct python_runtime *python)
{
    size_t bytes = 0;
    for (size_t i = 0; i < FRAME_FIELDS; i++)
        bytes = python->at[frame_fields[i]] + 8u > bytes ? python->at[frame_fields[i]] + 8u : bytes;
    uint32_t owner = python->at[PYTHON_FRAME_OWNER]; /* lies behind is_entry, where that exists */
    return owner != PYTHON_NO_FIELD && owner + 1 > bytes ? owner + 1 : bytes;
}

/* The frame's position in its code, in bytes. */
static int64_t instruction_of(const struct python_runtime *python, uint64_t code, uint64_t value)
{
    if (python->at[PYTHON_CODE_INSTRUCTIONS] != PYTHON_NO_FIELD)
        return (int64_t)(value - code - python->at[PYTHON_CODE_INSTRUCTIONS]);
    int32_t last = (int32_t)value;
    return python->minor < 10 || last < 0 ? last : 2 * (int64_t)last;
}

/* True if an invocation of the interpreter's loop began with this frame. Up to 3.10 each frame begins one, 3.11 stores
 * it, and later versions have a frame of the interpreter itself behind it. */
static uint64_t begins_loop(const struct python_runtime *python, const unsigned char *bytes)
{
    uint16_t says = python->at[PYTHON_FRAME_ENTRY];
    return says == PYTHON_NO_FIELD ? python->minor < 11 : bytes[says] != 0;
}

int python_frames(const struct python_runtime *python, const struct python_memory *memory, uint64_t frame,
                  struct python_frame *frames, int max, uint64_t *next)
{
    unsigned char bytes[256];
    size_t size = python_frame_bytes(python);
    int count = 0, own = 0;
    if (size > sizeof bytes)
        return -PYTHON_TORN;
    while (frame && count < max) {
        if (frame % 8 != 0 || own > max + 1)
            return -PYTHON_TORN;
        if (python_read(memory, frame, bytes, size) != 0)
            return -PYTHON_UNREADABLE;
        uint64_t code = python_word(bytes + python->at[PYTHON_FRAME_CODE]) & ~TAGS;
        int owner = python->at[PYTHON_FRAME_OWNER] == PYTHON_NO_FIELD ? 0 : bytes[python->at[PYTHON_FRAME_OWNER]];
        if (owner >= OWNED_BY_C) {
            own++;
            if (count)
                frames[count - 1].is_entry = 1;
        } else {
            if (!code)
                return -PYTHON_TORN;
            frames[count++] = (struct python_frame){
                frame, code, instruction_of(python, code, python_word(bytes + python->at[PYTHON_FRAME_INSTRUCTION])),
                begins_loop(python, bytes)
            };
        }
        frame = python_word(bytes + python->at[PYTHON_FRAME_PREVIOUS]);
    }
    *next = frame;
    return count;
}
