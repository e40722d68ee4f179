/* The fuzzer's way into the memory of a Python program: the input is that memory, over and over through the whole
 * address space, so that most pointers lead somewhere. The first bytes choose the version. All that is read of a
 * process is read. scripts/fuzz links it with libFuzzer; tests/unit/python_hostile.c has it too. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/python_layout.h"
#include "abi/python_thread_name.h"
#include "collect/sources/python/python_find.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEAD = 8, THREADS = 8, FRAMES = 64 };

struct memory {
    const uint8_t *bytes;
    size_t size;
};

/* What lies in the highest sixteenth of addresses cannot be read. */
static int read_round(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct memory *memory = context;
    if (address >> 60 == 15 || size > 1 << 20)
        return -1;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)buffer)[i] = memory->bytes[(address + i) % memory->size];
    return 0;
}

static void read_stack(const struct python_runtime *python, const struct python_memory *memory, uint64_t frame)
{
    static unsigned char lines[PYTHON_LINES_MAX];
    struct python_frame frames[FRAMES];
    struct python_code code;
    uint64_t next;
    int count = python_frames(python, memory, frame, frames, FRAMES, &next);
    for (int i = 0; i < count; i++) {
        if (python_code_read(python, memory, frames[i].code, &code) != PYTHON_OK)
            continue;
        if (memory->read_at(memory->context, code.lines, lines, code.lines_bytes) == 0)
            python_line(python, code.first_line, lines, code.lines_bytes, frames[i].instruction);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < HEAD + 64)
        return 0;
    struct memory image = { bytes + HEAD, size - HEAD };
    struct python_memory memory = { read_round, &image };
    uint64_t symbols[PYTHON_SYMBOL_COUNT] = {
        [PYTHON_SYMBOL_RUNTIME] = 8u * bytes[1],
        [PYTHON_SYMBOL_CODE_TYPE] = bytes[2] & 1 ? 8u * bytes[2] : 0,
        [PYTHON_SYMBOL_VERSION] = bytes[0] & 1 ? 8u * bytes[3] : 0,
        [PYTHON_SYMBOL_SINCE_3_10] = bytes[0] & 2,
        [PYTHON_SYMBOL_SINCE_3_9] = bytes[0] & 4,
    };
    uint64_t addresses[PYTHON_SYMBOL_COUNT];
    struct python_runtime python;
    struct python_interpreter interpreter;
    struct python_thread thread;
    unsigned count = 0;
    python_find_symbols(&memory, 8u * bytes[4], python_symbols, PYTHON_SYMBOL_COUNT, addresses);
    if (python_open(&python, &memory, symbols) != PYTHON_OK)
        return 0;
    for (uint64_t at = python_first_interpreter(&python, &memory); at && count++ < 2; at = interpreter.next) {
        if (python_interpreter_read(&python, &memory, at, &interpreter) != PYTHON_OK)
            break;
        unsigned threads = 0;
        for (uint64_t next = interpreter.first_thread; next && threads++ < THREADS; next = thread.next) {
            if (python_thread_read(&python, &memory, next, &thread) != PYTHON_OK)
                break;
            read_stack(&python, &memory, thread.frame);
        }
    }
    read_stack(&python, &memory, 8u * bytes[5]);
    char name[PYTHON_THREAD_NAME_MAX];
    python_thread_object_name(&python, &memory, 8u * bytes[6], name);
    return 0;
}
