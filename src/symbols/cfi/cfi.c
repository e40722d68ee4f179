/* Finds and runs call frame programs: see cfi.h. cfi_index.c finds the entries. */
#include "cfi.h"

#include <stdlib.h>

#include "cfi_index.h"
#include "symbols/elf/byte_cursor.h"

#define STATES_KEPT 16 /* of DW_CFA_remember_state; compilers nest it once or twice */
#define STEPS_MAX 100000u

/* DW_CFA_*: the upper two bits, or else the lower six. */
/* clang-format off */
enum {
    ADVANCE = 1, OFFSET = 2, RESTORE = 3, NOTHING = 0, SET_ADDRESS, ADVANCE_1, ADVANCE_2, ADVANCE_4, OFFSET_EXTENDED,
    RESTORE_EXTENDED, UNDEFINED, SAME_VALUE, REGISTER, REMEMBER, RECALL, FRAME, FRAME_REGISTER, FRAME_OFFSET,
    FRAME_EXPRESSION, EXPRESSION, OFFSET_EXTENDED_SIGNED, FRAME_SIGNED, FRAME_OFFSET_SIGNED, VALUE_OFFSET,
    VALUE_OFFSET_SIGNED, VALUE_EXPRESSION, NEGATE_RETURN_SIGNED = 0x2d, ARGUMENTS_SIZE = 0x2e, NEGATIVE_OFFSET = 0x2f,
};
/* clang-format on */

struct cfi_program {
    const struct cfi_section *section;
    const struct cfi_code *code;
    struct cfi_row *row;
    struct cfi_row *initial; /* after the program of the common entry */
    struct cfi_row *kept;
    unsigned kept_count;
    uint64_t address, wanted;
    struct byte_cursor cursor;
};

static void cfi_set(struct cfi_program *program, uint64_t number, enum cfi_kind kind, int64_t value)
{
    if (number < SYMBOLS_REGISTERS) /* other registers are not needed for unwinding */
        program->row->rules[number] = (struct cfi_rule){ .kind = kind, .value = value };
}

static void restore(struct cfi_program *program, uint64_t number)
{
    if (number < SYMBOLS_REGISTERS)
        program->row->rules[number] = program->initial->rules[number];
}

static void set_expression(struct cfi_program *program, struct cfi_rule *rule, enum cfi_kind kind)
{
    uint64_t bytes = cursor_uleb(&program->cursor);
    const unsigned char *start = program->cursor.at;
    cursor_skip(&program->cursor, bytes);
    struct cfi_rule unused;
    *(rule ? rule : &unused) = (struct cfi_rule){
        .kind = kind,
        .expression = start,
        .expression_bytes = (size_t)(program->cursor.at - start),
    };
}

static void set_frame(struct cfi_program *program, uint64_t number, int64_t offset)
{
    if (number >= SYMBOLS_REGISTERS) {
        program->cursor.failed = 1;
        return;
    }
    program->row->frame_register = (unsigned)number;
    program->row->frame = (struct cfi_rule){ .kind = CFI_IS_OFFSET, .value = offset };
}

/* Saves the rules, not the position in the program. */
static void cfi_remember(struct cfi_program *program)
{
    if (program->kept_count < STATES_KEPT)
        program->kept[program->kept_count++] = *program->row;
    else
        program->cursor.failed = 1;
}

static void recall(struct cfi_program *program)
{
    if (program->kept_count)
        *program->row = program->kept[--program->kept_count];
    else
        program->cursor.failed = 1;
}

static void cfi_advance(struct cfi_program *program, uint64_t count)
{
    program->address += count * program->code->code_unit;
}

static int64_t data_units(const struct cfi_program *program, int64_t count)
{
    return (int64_t)((uint64_t)count * (uint64_t)program->code->data_unit);
}

static void register_step(struct cfi_program *program, unsigned step)
{
    struct byte_cursor *cursor = &program->cursor;
    uint64_t number = cursor_uleb(cursor);
    struct cfi_rule *rule = number < SYMBOLS_REGISTERS ? &program->row->rules[number] : NULL;
    switch (step) {
    case OFFSET_EXTENDED:
        cfi_set(program, number, CFI_AT_OFFSET, data_units(program, (int64_t)cursor_uleb(cursor)));
        break;
    case OFFSET_EXTENDED_SIGNED:
        cfi_set(program, number, CFI_AT_OFFSET, data_units(program, cursor_sleb(cursor)));
        break;
    case NEGATIVE_OFFSET:
        cfi_set(program, number, CFI_AT_OFFSET, data_units(program, -(int64_t)cursor_uleb(cursor)));
        break;
    case VALUE_OFFSET:
        cfi_set(program, number, CFI_IS_OFFSET, data_units(program, (int64_t)cursor_uleb(cursor)));
        break;
    case VALUE_OFFSET_SIGNED: cfi_set(program, number, CFI_IS_OFFSET, data_units(program, cursor_sleb(cursor))); break;
    case REGISTER: cfi_set(program, number, CFI_IN_REGISTER, (int64_t)cursor_uleb(cursor)); break;
    case RESTORE_EXTENDED: restore(program, number); break;
    case UNDEFINED: cfi_set(program, number, CFI_UNDEFINED, 0); break;
    case SAME_VALUE: cfi_set(program, number, CFI_SAME, 0); break;
    case EXPRESSION: set_expression(program, rule, CFI_AT_EXPRESSION); break;
    case VALUE_EXPRESSION: set_expression(program, rule, CFI_IS_EXPRESSION); break;
    }
}

static void frame_step(struct cfi_program *program, unsigned step)
{
    struct byte_cursor *cursor = &program->cursor;
    uint64_t number = program->row->frame_register;
    int64_t offset = program->row->frame.value;
    if (step == FRAME || step == FRAME_SIGNED || step == FRAME_REGISTER)
        number = cursor_uleb(cursor);
    if (step == FRAME || step == FRAME_OFFSET)
        offset = (int64_t)cursor_uleb(cursor);
    else if (step == FRAME_SIGNED || step == FRAME_OFFSET_SIGNED)
        offset = data_units(program, cursor_sleb(cursor));
    set_frame(program, number, offset);
}

static void other_step(struct cfi_program *program, unsigned step)
{
    struct byte_cursor *cursor = &program->cursor;
    switch (step) {
    case NOTHING: break;
    case SET_ADDRESS: program->address = cfi_pointer(program->section, program->code->encoding, cursor); break;
    case ADVANCE_1: cfi_advance(program, cursor_number(cursor, 1)); break;
    case ADVANCE_2: cfi_advance(program, cursor_number(cursor, 2)); break;
    case ADVANCE_4: cfi_advance(program, cursor_number(cursor, 4)); break;
    case REMEMBER: cfi_remember(program); break;
    case RECALL: recall(program); break;
    case FRAME_EXPRESSION: set_expression(program, &program->row->frame, CFI_IS_EXPRESSION); break;
    case NEGATE_RETURN_SIGNED: program->row->return_is_signed = !program->row->return_is_signed; break;
    case ARGUMENTS_SIZE: cursor_uleb(cursor); break;
    case FRAME:
    case FRAME_REGISTER:
    case FRAME_OFFSET:
    case FRAME_SIGNED:
    case FRAME_OFFSET_SIGNED: frame_step(program, step); break;
    case OFFSET_EXTENDED:
    case OFFSET_EXTENDED_SIGNED:
    case NEGATIVE_OFFSET:
    case VALUE_OFFSET:
    case VALUE_OFFSET_SIGNED:
    case REGISTER:
    case RESTORE_EXTENDED:
    case UNDEFINED:
    case SAME_VALUE:
    case EXPRESSION:
    case VALUE_EXPRESSION: register_step(program, step); break;
    default: cursor->failed = 1; /* the length of its operands is unknown */
    }
}

static int cfi_run(struct cfi_program *program, const unsigned char *from, const unsigned char *to)
{
    struct byte_cursor *cursor = &program->cursor;
    *cursor = (struct byte_cursor){ from, to, 0 };
    for (unsigned steps = 0; cursor->at < cursor->end && program->address <= program->wanted; steps++) {
        unsigned char byte = (unsigned char)cursor_number(cursor, 1);
        unsigned number = byte & 0x3f;
        switch (byte >> 6) {
        case ADVANCE: cfi_advance(program, number); break;
        case OFFSET: cfi_set(program, number, CFI_AT_OFFSET, data_units(program, (int64_t)cursor_uleb(cursor))); break;
        case RESTORE: restore(program, number); break;
        default: other_step(program, number);
        }
        if (cursor->failed || steps > STEPS_MAX)
            return -1;
    }
    return 0;
}

static int cfi_find_in(const struct cfi *cfi, const struct cfi_section *section, uint64_t address, struct cfi_row *row)
{
    struct cfi_code code;
    if (cfi_index_find(section, address, &code) != 0 || code.return_register >= SYMBOLS_REGISTERS)
        return -1;
    struct cfi_row initial = { 0 }, kept[STATES_KEPT];
    struct cfi_program program = {
        .section = section, .code = &code, .row = row, .initial = &initial, .kept = kept, .wanted = UINT64_MAX
    };
    *row = (struct cfi_row){
        .return_register = (unsigned)code.return_register,
        .is_signal = code.is_signal,
        .start = code.start,
        .end = code.start + code.size,
        .frame = { .kind = CFI_UNDEFINED },
        .method = section->is_debug_frame ? SYMBOLS_BY_DEBUG_FRAME : SYMBOLS_BY_EH_FRAME,
    };
    if (cfi->machine == EM_X86_64)
        /* The CPU pushes the return address on the stack, so a rule must say where it is. */
        row->rules[code.return_register].kind = CFI_UNDEFINED;
    if (cfi_run(&program, code.initial, code.initial_end) != 0)
        return -1;
    initial = *row;
    program.address = code.start;
    program.wanted = address;
    if (cfi_run(&program, code.program, code.program_end) != 0)
        return -1;
    return row->frame.kind == CFI_UNDEFINED ? -1 : 0;
}

int cfi_find(const struct cfi *cfi, uint64_t address, struct cfi_row *row)
{
    for (size_t i = 0; i < 2; i++)
        if (cfi->sections[i].piece.bytes && cfi_find_in(cfi, &cfi->sections[i], address, row) == 0)
            return 0;
    return -1;
}
