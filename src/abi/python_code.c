/* Code objects of Python programs: their names, and the line of an instruction. See python_layout.h. Every length
 * and offset comes from memory that may have changed, so it is checked before it is used. */
#include "python_layout.h"

#include <string.h>

#include "base/array.h"
#include "python_bytes.h"

#define CHARACTERS_MAX 65536 /* a longer text is neither a name nor part of a code object */

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

static size_t put_utf8(char *out, size_t room, uint32_t character)
{
    unsigned char bytes[4];
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    if (length > room)
        return 0;
    for (size_t i = length; i-- > 1; character >>= 6)
        bytes[i] = 0x80 | (character & 0x3f);
    bytes[0] = (unsigned char)(heads[length] | character);
    memcpy(out, bytes, length);
    return length;
}

/* Appends characters of 1, 2 or 4 bytes as UTF-8 at out + used; returns the new length. Control characters and
 * invalid code points become '?', because terminals show these names. */
static size_t put_characters(char *out, size_t size, size_t used, const unsigned char *characters, size_t count,
                             unsigned width)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t character = 0;
        memcpy(&character, characters + i * width, width);
        if (character < 0x20 || character == 0x7f || character > 0x10ffff ||
            (character >= 0xd800 && character < 0xe000))
            character = '?';
        size_t length = put_utf8(out + used, size - 1 - used, character);
        if (!length)
            break;
        used += length;
    }
    return used;
}

/* state: two bits that do not matter here, three bits of width, then COMPACT and ASCII. */
enum python_status python_text_read(const struct python_runtime *python, const struct python_memory *memory,
                                    uint64_t address, char *out, size_t size)
{
    enum { WIDTH_SHIFT = 2, WIDTH_MASK = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };
    unsigned char piece[256], head[64]; /* in pieces: the whole text would be too much for small stacks in the agent */
    size_t length_at = python->at[PYTHON_TEXT_LENGTH], state_at = python->at[PYTHON_TEXT_STATE];
    size_t head_bytes = (length_at > state_at ? length_at : state_at) + 8;
    if (head_bytes > sizeof head || python_read(memory, address, head, head_bytes) != 0)
        return PYTHON_UNREADABLE;
    uint64_t length = python_word(head + length_at);
    uint32_t state = (uint32_t)python_word(head + state_at);
    unsigned width = state >> WIDTH_SHIFT & WIDTH_MASK;
    if (!(state & COMPACT) || (width != 1 && width != 2 && width != 4) || length > CHARACTERS_MAX ||
        ((state & ASCII) && width != 1))
        return PYTHON_TORN;
    size_t left = length < PYTHON_TEXT_MAX / width ? (size_t)length : PYTHON_TEXT_MAX / width, used = 0;
    uint64_t data = address + python->at[state & ASCII ? PYTHON_TEXT_ASCII : PYTHON_TEXT_WIDE];
    for (size_t count; left; left -= count, data += count * width) {
        count = left < sizeof piece / width ? left : sizeof piece / width;
        if (python_read(memory, data, piece, count * width) != 0)
            return PYTHON_UNREADABLE;
        used = put_characters(out, size, used, piece, count, width);
    }
    out[used] = 0;
    return PYTHON_OK;
}

/* ---- Code objects ---------------------------------------------------------------------------------------------- */

enum python_status python_code_mark(const struct python_runtime *python, const struct python_memory *memory,
                                    uint64_t address, struct python_code_mark *mark)
{
    unsigned char bytes[256];
    enum python_field name = python->at[PYTHON_CODE_QUALNAME] == PYTHON_NO_FIELD ? PYTHON_CODE_NAME
                                                                                 : PYTHON_CODE_QUALNAME;
    const enum python_field fields[] = { name, PYTHON_CODE_FILENAME, PYTHON_CODE_LINES, PYTHON_CODE_FIRST_LINE,
                                         PYTHON_OBJECT_TYPE };
    size_t size = 0;
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        size = python->at[fields[i]] + 8u > size ? python->at[fields[i]] + 8u : size;
    if (size > sizeof bytes || address % 8 != 0)
        return PYTHON_TORN;
    if (python_read(memory, address, bytes, size) != 0)
        return PYTHON_UNREADABLE;
    if (python->code_type && python_word(bytes + python->at[PYTHON_OBJECT_TYPE]) != python->code_type)
        return PYTHON_TORN;
    *mark = (struct python_code_mark){
        .name = python_word(bytes + python->at[name]),
        .file = python_word(bytes + python->at[PYTHON_CODE_FILENAME]),
        .lines = python_word(bytes + python->at[PYTHON_CODE_LINES]),
        .first_line = (int32_t)python_word(bytes + python->at[PYTHON_CODE_FIRST_LINE]),
    };
    return PYTHON_OK;
}

enum python_status python_code_read(const struct python_runtime *python, const struct python_memory *memory,
                                    uint64_t address, struct python_code *code)
{
    struct python_code_mark mark;
    uint64_t size = 0;
    enum python_status status = python_code_mark(python, memory, address, &mark);
    if (status == PYTHON_OK)
        status = python_text_read(python, memory, mark.name, code->name, sizeof code->name);
    if (status == PYTHON_OK)
        status = python_text_read(python, memory, mark.file, code->file, sizeof code->file);
    if (status != PYTHON_OK)
        return status;
    if (!mark.lines || python_read(memory, mark.lines + python->at[PYTHON_BYTES_SIZE], &size, sizeof size) != 0)
        return PYTHON_UNREADABLE;
    code->address = address;
    code->first_line = mark.first_line;
    code->lines = mark.lines + python->at[PYTHON_BYTES_DATA];
    code->lines_bytes = size <= PYTHON_LINES_MAX ? (uint32_t)size : 0;
    return PYTHON_OK;
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* 3.9: pairs of steps in bytes and in lines. A step in lines takes effect at the instruction that the steps in bytes
 * have reached. */
static int32_t line_3_9(int64_t line, const unsigned char *table, size_t bytes, int64_t instruction)
{
    int64_t reached = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        reached += table[i];
        if (reached > instruction)
            break;
        line += (signed char)table[i + 1];
    }
    return (int32_t)line;
}

/* 3.10: each entry is a run of bytes and the difference between its line and that of the run before; -128: no line. */
static int32_t line_3_10(int64_t line, const unsigned char *table, size_t bytes, int64_t instruction)
{
    enum { NO_LINE = -128 };
    int64_t end = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        signed char step = (signed char)table[i + 1];
        end += table[i];
        line += step == NO_LINE ? 0 : step;
        if (instruction < end)
            return step == NO_LINE ? 0 : (int32_t)line;
    }
    return 0;
}

/* Reads a number in groups of six bits, the lowest first; bit 6 says that more follow. The lowest bit of the number
 * is its sign. */
static int64_t signed_number(const unsigned char *table, size_t bytes, size_t at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    for (; at < bytes && shift < 36; at++, shift += 6) {
        value |= (uint64_t)(table[at] & 0x3f) << shift;
        if (!(table[at] & 0x40))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* 3.11: entries begin with a byte whose high bit is set: four bits of form, three bits of
 * length in units of two bytes. */
static int32_t line_3_11(int64_t line, const unsigned char *table, size_t bytes, int64_t instruction)
{
    enum { SHORT_FORMS_END = 10, ONE_LINE_END = 13, NUMBERED_END = 15 };
    int64_t end = 0;
    for (size_t i = 0; i < bytes;) {
        unsigned form = table[i] >> 3 & 15;
        end += 2 * ((table[i] & 7) + 1);
        if (form >= ONE_LINE_END && form < NUMBERED_END)
            line += signed_number(table, bytes, i + 1);
        else if (form >= SHORT_FORMS_END && form < ONE_LINE_END)
            line += form - SHORT_FORMS_END;
        if (instruction < end)
            return form == NUMBERED_END ? 0 : (int32_t)line;
        do
            i++;
        while (i < bytes && !(table[i] & 0x80));
    }
    return 0;
}

int32_t python_line(const struct python_runtime *python, int32_t first_line, const unsigned char *table, size_t bytes,
                    int64_t instruction)
{
    if (instruction < 0 || !bytes)
        return first_line;
    int32_t (*find)(int64_t, const unsigned char *, size_t, int64_t) = python->minor < 10   ? line_3_9
                                                                       : python->minor < 11 ? line_3_10
                                                                                            : line_3_11;
    return find(first_line, table, bytes, instruction);
}
