/* Stacks of Python programs out of memory that the test has put together at literal offsets, or that nobody would put
 * together so; and tables of lines as CPython 3.9, 3.10, 3.11 and 3.13 made them of one function, with the lines that
 * they themselves say. What real interpreters have is compared in tests/trace/python_stacks.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "abi/python_layout.h"

#include "base/array.h"

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

#define BASE UINT64_C(0x10000)
enum { IMAGE_BYTES = 65536 };
static unsigned char image[IMAGE_BYTES];
static unsigned long reads;

static int read_image(void *context, uint64_t address, void *buffer, size_t size)
{
    reads++;
    if (address < BASE || address - BASE > IMAGE_BYTES || size > IMAGE_BYTES - (address - BASE))
        return -1;
    memcpy(buffer, image + (address - BASE), size);
    return 0;
}
static const struct python_memory memory = { read_image, NULL };

static void put(uint64_t address, uint64_t word)
{
    assert_true(address >= BASE && address + 8 <= BASE + IMAGE_BYTES);
    memcpy(image + (address - BASE), &word, sizeof word);
}

static void put_bytes(uint64_t address, const void *bytes, size_t size)
{
    assert_true(address >= BASE && address + size <= BASE + IMAGE_BYTES);
    memcpy(image + (address - BASE), bytes, size);
}

/* Where things are in it. */
enum {
    RUNTIME = BASE + 0x100,
    INTERPRETER = BASE + 0x1000,
    THREAD = BASE + 0x2000,
    SECOND_THREAD = BASE + 0x2400,
    CFRAME = BASE + 0x2800,
    FRAMES = BASE + 0x3000,
    CODE = BASE + 0x4000,
    OTHER_CODE = BASE + 0x4400,
    NAME = BASE + 0x5000,
    FILE_NAME = BASE + 0x5400,
    LINES = BASE + 0x5800,
    VERSION = BASE + 0x40,
    CODE_TYPE = BASE + 0x80,
    FRAME_STEP = 0x100,
};

static const uint64_t symbols_3_11[PYTHON_SYMBOL_COUNT] = {
    [PYTHON_SYMBOL_RUNTIME] = RUNTIME, [PYTHON_SYMBOL_CODE_TYPE] = CODE_TYPE, [PYTHON_SYMBOL_VERSION] = VERSION,
    [PYTHON_SYMBOL_SINCE_3_10] = 1,    [PYTHON_SYMBOL_SINCE_3_9] = 1,
};

/* A str: state says characters of one byte (4), compact (32), ASCII (64). */
static void put_ascii(uint64_t address, const char *text)
{
    put(address + 16, strlen(text));
    put(address + 32, 4 | 32 | 64);
    put_bytes(address + 48, text, strlen(text));
}

static void put_code(uint64_t address)
{
    put(address + 8, CODE_TYPE);
    put(address + 72, 10); /* the first line */
    put(address + 112, FILE_NAME);
    put(address + 128, NAME);
    put(address + 136, LINES);
}

static void put_frame(int number, uint64_t code, uint64_t instruction, uint64_t previous)
{
    uint64_t frame = FRAMES + (uint64_t)number * FRAME_STEP;
    put(frame + 32, code);
    put(frame + 48, previous);
    put(frame + 56, code + 184 + instruction);
}

/* A process with Python 3.11: one interpreter, two threads, and three frames in the second of them. */
static struct python_runtime set_up(void)
{
    struct python_runtime python;
    memset(image, 0, sizeof image);
    put(VERSION, 0x030b02f0);
    put(RUNTIME + 40, INTERPRETER);
    put(RUNTIME + 360 + 8, SECOND_THREAD); /* the holder of the GIL… */
    put(RUNTIME + 360 + 16, 1);            /* …and that it is held */
    put(INTERPRETER + 16, THREAD);
    put(THREAD + 8, SECOND_THREAD);
    put(THREAD + 16, INTERPRETER);
    put(THREAD + 152, 111);
    put(SECOND_THREAD + 16, INTERPRETER);
    put(SECOND_THREAD + 152, 222);
    put(SECOND_THREAD + 160, 4711);
    put(SECOND_THREAD + 56, CFRAME);
    put(CFRAME + 8, FRAMES);
    put_frame(0, CODE, 6, FRAMES + FRAME_STEP);
    put_frame(1, OTHER_CODE, 2, FRAMES + 2 * FRAME_STEP);
    put_frame(2, CODE, 0, 0);
    put_code(CODE);
    put_code(OTHER_CODE);
    put_ascii(NAME, "Class.method");
    put_ascii(FILE_NAME, "/a/b.py");
    put(LINES + 16, 2);
    put_bytes(LINES + 32, "\x80\x02", 2);
    assert_int_equal(python_open(&python, &memory, symbols_3_11), PYTHON_OK);
    assert_int_equal(python.minor, 11);
    return python;
}

/* ---- What is there --------------------------------------------------------------------------------------------- */

static void a_thread_has_its_frames_and_the_gil(void **state)
{
    struct python_runtime python = set_up();
    struct python_interpreter interpreter;
    struct python_thread thread;
    struct python_frame frames[8];
    uint64_t next;
    assert_int_equal(python_interpreter_read(&python, &memory, python_first_interpreter(&python, &memory),
                                             &interpreter),
                     PYTHON_OK);
    assert_int_equal(interpreter.holder, SECOND_THREAD);
    assert_int_equal(interpreter.first_thread, THREAD);
    assert_int_equal(python_find_thread(&python, &memory, 222, &thread), PYTHON_OK);
    assert_int_equal(thread.address, SECOND_THREAD);
    assert_int_equal(thread.native, 4711);
    assert_int_equal(python_frames(&python, &memory, thread.frame, frames, 8, &next), 3);
    assert_int_equal(next, 0);
    assert_int_equal(frames[0].code, CODE);
    assert_int_equal(frames[0].instruction, 6);
    assert_int_equal(frames[1].code, OTHER_CODE);
    assert_int_equal(frames[2].instruction, 0);
    put(RUNTIME + 360 + 16, 0);
    assert_int_equal(python_interpreter_read(&python, &memory, INTERPRETER, &interpreter), PYTHON_OK);
    assert_int_equal(interpreter.holder, 0);
}

/* Nine numbers, and behind them whether a collection runs. */
static void a_collector_counts_and_says_that_it_runs(void **state)
{
    enum { COUNTS = INTERPRETER + 648 + 200 - 72 };
    struct python_runtime python = set_up();
    struct python_collector collector;
    for (uint64_t i = 0; i < 9; i++)
        put(COUNTS + 8 * i, 100 + i);
    put(COUNTS + 72, UINT64_C(0xdead00000001)); /* behind the flag lies something else */
    assert_int_equal(python_collector_read(&python, &memory, INTERPRETER, &collector), PYTHON_OK);
    assert_true(collector.is_collecting);
    for (int i = 0; i < PYTHON_GENERATIONS; i++) {
        assert_int_equal(collector.generations[i].collections, 100 + 3 * i);
        assert_int_equal(collector.generations[i].collected, 101 + 3 * i);
        assert_int_equal(collector.generations[i].uncollectable, 102 + 3 * i);
    }
    put(COUNTS + 72, 2);
    assert_int_equal(python_collector_read(&python, &memory, INTERPRETER, &collector), PYTHON_TORN);
    put(COUNTS + 72, 0);
    put(COUNTS, UINT64_MAX);
    assert_int_equal(python_collector_read(&python, &memory, INTERPRETER, &collector), PYTHON_TORN);
    assert_int_equal(python_collector_read(&python, &memory, BASE + IMAGE_BYTES, &collector), PYTHON_UNREADABLE);
}

/* 3.11 says it; later ones have a frame of the interpreter's own behind it, which is left out. */
static void frames_that_c_code_called_are_marked(void **state)
{
    struct python_runtime python = set_up();
    struct python_frame frames[8];
    uint64_t next;
    image[FRAMES - BASE + FRAME_STEP + 68] = 1;
    assert_int_equal(python_frames(&python, &memory, FRAMES, frames, 8, &next), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(frames[i].is_entry, i == 1);
    python.minor = 12;
    python.at[PYTHON_FRAME_ENTRY] = PYTHON_NO_FIELD;
    image[FRAMES - BASE + FRAME_STEP + 69] = 3;
    assert_int_equal(python_frames(&python, &memory, FRAMES, frames, 8, &next), 2);
    assert_int_equal(frames[0].is_entry, 1);
    assert_int_equal(frames[1].is_entry, 0);
    python.minor = 10;
    image[FRAMES - BASE + FRAME_STEP + 69] = 0;
    assert_int_equal(python_frames(&python, &memory, FRAMES, frames, 8, &next), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(frames[i].is_entry, 1);
}

static void a_code_object_has_names_and_lines(void **state)
{
    struct python_runtime python = set_up();
    struct python_code code;
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_OK);
    assert_string_equal(code.name, "Class.method");
    assert_string_equal(code.file, "/a/b.py");
    assert_int_equal(code.first_line, 10);
    assert_int_equal(code.lines, LINES + 32);
    assert_int_equal(code.lines_bytes, 2);
}

/* Characters of one, two and four bytes, and one that would move a terminal's cursor. */
static void texts_become_utf8(void **state)
{
    const struct {
        unsigned width;
        const void *characters;
        size_t count;
        const char *text;
    } texts[] = {
        { 1,
          "gr\xf6\xdf"
          "e",
          5, "größe" },
        { 2, (const uint16_t[]){ 0x540d, 0x524d, 'x' }, 3, "名前x" },
        { 4, (const uint32_t[]){ 0x1f600, 'y' }, 2, "\U0001f600y" },
        { 1, "a\x1b[2J", 5, "a?[2J" },
        { 2, (const uint16_t[]){ 0xd800, 'z' }, 2, "?z" },
        { 4, (const uint32_t[]){ 0x110000, 'w' }, 2, "?w" },
    };
    struct python_runtime python = set_up();
    struct python_code code;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        put(NAME + 16, texts[i].count);
        put(NAME + 32, texts[i].width << 2 | 32);
        put_bytes(NAME + 72, texts[i].characters, texts[i].count * texts[i].width);
        assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_OK);
        assert_string_equal(code.name, texts[i].text);
    }
}

static void a_long_text_is_cut_between_characters(void **state)
{
    struct python_runtime python = set_up();
    struct python_code code;
    uint16_t characters[1000];
    for (size_t i = 0; i < 1000; i++)
        characters[i] = 0x540d; /* three bytes of UTF-8 */
    put(NAME + 16, 1000);
    put(NAME + 32, 2 << 2 | 32);
    put_bytes(NAME + 72, characters, 900);
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_OK);
    assert_int_equal(strlen(code.name) % 3, 0);
    assert_true(strlen(code.name) < PYTHON_TEXT_MAX);
}

/* ---- Versions -------------------------------------------------------------------------------------------------- */

static void versions_are_told_apart(void **state)
{
    struct python_runtime python;
    uint64_t symbols[PYTHON_SYMBOL_COUNT] = { [PYTHON_SYMBOL_RUNTIME] = RUNTIME };
    set_up();
    assert_int_equal(python_open(&python, &memory, symbols), PYTHON_TOO_OLD);
    symbols[PYTHON_SYMBOL_SINCE_3_9] = 1;
    assert_int_equal(python_open(&python, &memory, symbols), PYTHON_OK);
    assert_int_equal(python.minor, 9);
    symbols[PYTHON_SYMBOL_SINCE_3_10] = 1;
    assert_int_equal(python_open(&python, &memory, symbols), PYTHON_OK);
    assert_int_equal(python.minor, 10);
    symbols[PYTHON_SYMBOL_VERSION] = VERSION;
    put(VERSION, 0x030f00a1);
    assert_int_equal(python_open(&python, &memory, symbols), PYTHON_TOO_NEW);
    put(VERSION, 0x04000000);
    assert_int_equal(python_open(&python, &memory, symbols), PYTHON_TOO_NEW);
    symbols[PYTHON_SYMBOL_VERSION] = 8;
    assert_int_equal(python_open(&python, &memory, symbols), PYTHON_UNREADABLE);
}

/* From 3.13 on the process says where things are: here, at places of our own. */
static void a_described_layout_is_taken_from_the_process(void **state)
{
    struct python_runtime python;
    set_up();
    put(VERSION, 0x030d00f0);
    assert_int_equal(python_open(&python, &memory, symbols_3_11), PYTHON_TORN); /* not set up yet */
    memset(image + (RUNTIME - BASE), 0, 1024);
    put_bytes(RUNTIME, "xdebugpy", 8);
    put(RUNTIME + 40, 1000);                                                    /* interpreters_head */
    put(RUNTIME + 184, 64);                                                     /* current_frame */
    put(RUNTIME + 120, 200); /* where an interpreter has its own lock, and in that… */
    put(RUNTIME + 136, 216); /* …locked */
    put(RUNTIME + 144, 208); /* …and the holder */
    assert_int_equal(python_open(&python, &memory, symbols_3_11), PYTHON_OK);
    assert_int_equal(python.at[PYTHON_RUNTIME_INTERPRETERS], 1000);
    assert_int_equal(python.at[PYTHON_THREAD_FRAME], 64);
    assert_int_equal(python.at[PYTHON_GIL_LOCKED], 16);
    assert_int_equal(python.at[PYTHON_GIL_HOLDER], 8);
    put(RUNTIME + 184, UINT64_MAX);
    assert_int_equal(python_open(&python, &memory, symbols_3_11), PYTHON_TORN);
    put(RUNTIME + 184, 64);
    put(RUNTIME + 16, 1);
    assert_int_equal(python_open(&python, &memory, symbols_3_11), PYTHON_FREE_THREADED);
}

/* ---- What changes while it is read ----------------------------------------------------------------------------- */

static void frames_that_go_round_in_circles_end(void **state)
{
    struct python_runtime python = set_up();
    struct python_frame frames[100];
    uint64_t next;
    put_frame(2, CODE, 0, FRAMES);
    assert_int_equal(python_frames(&python, &memory, FRAMES, frames, 100, &next), 100);
    assert_int_not_equal(next, 0);
    for (int i = 0; i < 3; i++) /* all of them the interpreter's own: none counts, and none ends it */
        image[FRAMES - BASE + (uint64_t)i * FRAME_STEP + 69] = 3;
    assert_true(python_frames(&python, &memory, FRAMES, frames, 100, &next) < 0);
}

static void bad_frames_are_refused(void **state)
{
    struct python_runtime python = set_up();
    struct python_frame frames[8];
    uint64_t next;
    assert_true(python_frames(&python, &memory, FRAMES + 1, frames, 8, &next) < 0);
    assert_true(python_frames(&python, &memory, 8, frames, 8, &next) < 0);
    assert_true(python_frames(&python, &memory, UINT64_MAX - 7, frames, 8, &next) < 0);
    put_frame(1, 0, 0, 0);
    put(FRAMES + FRAME_STEP + 32, 0);
    assert_true(python_frames(&python, &memory, FRAMES, frames, 8, &next) < 0);
    put_frame(1, OTHER_CODE, 0, BASE + IMAGE_BYTES - 16);
    assert_true(python_frames(&python, &memory, FRAMES, frames, 8, &next) < 0);
}

static void threads_that_go_round_in_circles_end(void **state)
{
    struct python_runtime python = set_up();
    struct python_thread thread;
    put(SECOND_THREAD + 8, THREAD);
    put(INTERPRETER + 0, INTERPRETER);
    reads = 0;
    assert_int_equal(python_find_thread(&python, &memory, 333, &thread), PYTHON_TORN);
    assert_true(reads < 400000);
}

static void bad_code_objects_are_refused(void **state)
{
    struct python_runtime python = set_up();
    struct python_code code;
    put(CODE + 8, CODE_TYPE + 8);
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_TORN);
    put(CODE + 8, CODE_TYPE);
    assert_int_equal(python_code_read(&python, &memory, CODE + 4, &code), PYTHON_TORN);
    assert_int_equal(python_code_read(&python, &memory, BASE + IMAGE_BYTES - 8, &code), PYTHON_UNREADABLE);
    put(NAME + 16, UINT64_MAX);
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_TORN);
    put_ascii(NAME, "f");
    put(NAME + 32, 3 << 2 | 32); /* characters of three bytes */
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_TORN);
    put_ascii(NAME, "f");
    put(CODE + 112, 0);
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_UNREADABLE);
    put(CODE + 112, FILE_NAME);
    put(LINES + 16, UINT64_MAX);
    assert_int_equal(python_code_read(&python, &memory, CODE, &code), PYTHON_OK);
    assert_int_equal(code.lines_bytes, 0);
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* from this offset on; the last one is the end of the code */
struct run {
    int64_t offset;
    int32_t line;
};

static const unsigned char table_3_9[] = {
    0, 2,  6, 1, 2, 255, 6, 3, 4,   1, 2, 1, 6, 255, 4,   2, 4, 1,  10,  1, 14,
    1, 26, 2, 2, 1, 2,   1, 2, 254, 8, 1, 2, 1, 2,   254, 6, 3, 14, 127, 0, 74,
};
static const struct run runs_3_9[] = {
    { 0, 3 },   { 6, 4 },   { 8, 3 },    { 14, 6 },   { 18, 7 },   { 20, 8 },    { 26, 7 },
    { 30, 9 },  { 34, 10 }, { 44, 11 },  { 58, 12 },  { 84, 14 },  { 86, 15 },   { 88, 16 },
    { 90, 14 }, { 98, 15 }, { 100, 16 }, { 102, 14 }, { 108, 17 }, { 122, 218 }, { 126, -1 },
};
static const unsigned char table_3_10[] = {
    6, 2,   2, 1,   6, 255, 4, 3, 2, 1, 6, 1,   4, 255, 4, 2, 10, 1,   14, 1, 2, 1,   8, 128,
    2, 255, 2, 255, 2, 4,   2, 1, 2, 1, 8, 254, 2, 1,   2, 1, 6,  254, 16, 3, 0, 127, 4, 74,
};
static const struct run runs_3_10[] = {
    { 0, 3 },   { 6, 4 },   { 8, 3 },   { 14, 6 },  { 18, 7 },  { 20, 8 },  { 26, 7 },    { 30, 9 },
    { 34, 10 }, { 44, 11 }, { 58, 12 }, { 60, 0 },  { 68, 11 }, { 70, 10 }, { 72, 14 },   { 74, 15 },
    { 76, 16 }, { 78, 14 }, { 86, 15 }, { 88, 16 }, { 90, 14 }, { 96, 17 }, { 112, 218 }, { 116, -1 },
};
static const unsigned char table_3_11[] = {
    128, 0,   240, 4,   1,   9,   21,  240, 0,   1,   9,   21,  216, 18,  19,  240, 3,   1,   9,   21,  241, 0,
    1,   9,   21,  244, 0,   1,   9,   21,  128, 65,  240, 6,   0,   8,   9,   240, 0,   2,   5,   22,  216, 16,
    17,  216, 16,  17,  144, 33,  148, 4,   241, 3,   1,   17,  21,  240, 0,   1,   9,   22,  240, 4,   7,   5,
    15,  216, 8,   9,   136, 1,   137, 3,   140, 3,   136, 3,   136, 3,   248, 221, 11,  21,  240, 0,   1,   5,
    14,  240, 0,   1,   5,   14,  240, 0,   1,   5,   14,  216, 8,   13,  248, 248, 248, 248, 240, 3,   1,   5,
    14,  248, 248, 248, 240, 3,   0,   9,   12,  245, 8,   0,   9,   14,  216, 12,  13,  216, 12,  13,  241, 5,
    2,   9,   15,  244, 0,   2,   9,   15,  240, 0,   2,   9,   15,  240, 0,   2,   9,   15,  248, 141, 5,   216,
    12,  13,  216, 12,  13,  241, 5,   2,   9,   15,  244, 0,   2,   9,   15,  240, 0,   2,   9,   15,  240, 0,
    2,   9,   15,  248, 248, 248, 240, 6,   0,   11,  12,  208, 4,   20,  136, 81,  143, 85,  138, 85,  137, 87,
    140, 87,  136, 87,  136, 33,  208, 4,   20,  240, 82,  6,   0,   12,  13,  136, 49,
};
static const struct run runs_3_11[] = {
    { 0, 1 },    { 2, 3 },    { 6, 4 },    { 8, 3 },    { 26, 6 },    { 30, 7 },   { 32, 8 },   { 46, 7 },
    { 52, 9 },   { 54, 10 },  { 76, 0 },   { 78, 11 },  { 96, 12 },   { 98, 0 },   { 106, 11 }, { 108, 0 },
    { 114, 10 }, { 116, 14 }, { 128, 15 }, { 130, 16 }, { 132, 14 },  { 150, 0 },  { 152, 14 }, { 164, 15 },
    { 166, 16 }, { 168, 14 }, { 186, 0 },  { 192, 17 }, { 240, 218 }, { 244, -1 },
};
static const unsigned char table_3_13[] = {
    128, 0,   241, 6,   0,   19,  20,  243, 3,   1,   9,   21,  217, 18,  19, 136, 81,  243, 3,   0,  10,  11,
    217, 18,  19,  240, 3,   0,   5,   6,   240, 0,   1,   9,   21,  246, 6,  0,   8,   9,   216, 16, 17,  216,
    16,  17,  144, 33,  145, 4,   241, 3,   1,   17,  21,  240, 0,   1,   9,  22,  240, 4,   7,   5,  15,  217,
    8,   9,   141, 3,   244, 8,   0,   9,   14,  216, 12,  13,  216, 12,  13, 244, 5,   2,   9,   15, 246, 6,
    0,   11,  12,  136, 81,  143, 85,  137, 85,  140, 87,  143, 33,  136, 33, 240, 82,  6,   0,   12, 13,  249,
    242, 111, 6,   1,   9,   21,  248, 244, 16,  0,   12,  22,  243, 0,   1,  5,   14,  216, 8,   13, 251, 240,
    3,   1,   5,   14,  251, 244, 6,   0,   9,   14,  216, 12,  13,  216, 12, 13,  245, 5,   2,   9,  15,  250,
};
static const struct run runs_3_13[] = {
    { 0, 1 },     { 2, 4 },    { 6, 3 },    { 14, 4 },   { 20, 3 },   { 28, 4 },   { 32, 3 },  { 36, 6 },   { 50, 7 },
    { 52, 8 },    { 60, 7 },   { 66, 9 },   { 68, 10 },  { 84, 14 },  { 94, 15 },  { 96, 16 }, { 98, 14 },  { 108, 17 },
    { 172, 218 }, { 174, 0 },  { 178, 3 },  { 184, 0 },  { 186, 11 }, { 204, 12 }, { 206, 0 }, { 214, 11 }, { 216, 0 },
    { 224, 14 },  { 234, 15 }, { 236, 16 }, { 238, 14 }, { 250, 0 },  { 256, -1 },
};
static const struct {
    unsigned minor;
    const unsigned char *table;
    size_t bytes;
    const struct run *runs;
    size_t run_count;
} tables[] = {
#define TABLE_OF(minor) \
    {minor, table_3_##minor, sizeof table_3_##minor, runs_3_##minor, COUNT_OF(runs_3_##minor)}
    TABLE_OF(9),
    TABLE_OF(10),
    TABLE_OF(11),
    TABLE_OF(13),
};

static void lines_are_what_python_says(void **state)
{
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        struct python_runtime python = { .minor = tables[i].minor };
        assert_int_equal(python_line(&python, 1, tables[i].table, tables[i].bytes, -2), 1);
        for (size_t run = 0; run + 1 < tables[i].run_count; run++)
            for (int64_t at = tables[i].runs[run].offset; at < tables[i].runs[run + 1].offset; at += 2) {
                int32_t line = python_line(&python, 1, tables[i].table, tables[i].bytes, at);
                if (line != tables[i].runs[run].line)
                    fail_msg("3.%u, instruction %d: line %d, not %d", python.minor, (int)at, line,
                             tables[i].runs[run].line);
            }
    }
}

/* Every beginning of every table, and every byte of it turned over: no read beyond its end (sanitizers see to that). */
static void damaged_tables_are_read_within_their_bounds(void **state)
{
    unsigned char copy[512];
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        struct python_runtime python = { .minor = tables[i].minor };
        for (size_t bytes = 0; bytes <= tables[i].bytes; bytes++) {
            memcpy(copy, tables[i].table, tables[i].bytes);
            python_line(&python, 1, copy, bytes, INT64_MAX);
            if (bytes < tables[i].bytes)
                copy[bytes] = (unsigned char)~copy[bytes];
            python_line(&python, 1, copy, tables[i].bytes, INT64_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_has_its_frames_and_the_gil),
        cmocka_unit_test(a_collector_counts_and_says_that_it_runs),
        cmocka_unit_test(a_code_object_has_names_and_lines),
        cmocka_unit_test(frames_that_c_code_called_are_marked),
        cmocka_unit_test(texts_become_utf8),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(versions_are_told_apart),
        cmocka_unit_test(a_described_layout_is_taken_from_the_process),
        cmocka_unit_test(frames_that_go_round_in_circles_end),
        cmocka_unit_test(bad_frames_are_refused),
        cmocka_unit_test(threads_that_go_round_in_circles_end),
        cmocka_unit_test(bad_code_objects_are_refused),
        cmocka_unit_test(lines_are_what_python_says),
        cmocka_unit_test(damaged_tables_are_read_within_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
