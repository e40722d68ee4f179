/* A small stack machine: see cfi_expression.h. Operators that call frame information does not use end the
 * evaluation. */
#include "cfi_expression.h"

#include "symbols/elf/byte_cursor.h"

#define STACK_MAX 64
#define STEPS_MAX 10000

/* DW_OP_* */
/* clang-format off */
enum {
    ADDRESS = 0x03, DEREFERENCE = 0x06, CONST_1U = 0x08, CONST_1S, CONST_2U, CONST_2S, CONST_4U, CONST_4S, CONST_8U,
    CONST_8S, CONST_U, CONST_S, DUPLICATE, DROP, OVER, PICK, SWAP, ROTATE, ABSOLUTE = 0x19, AND, DIVIDE, MINUS, MODULO,
    TIMES, NEGATE, NOT, OR, PLUS, PLUS_CONST, SHIFT_LEFT, SHIFT_RIGHT, SHIFT_RIGHT_SIGNED, XOR, BRANCH, EQUAL,
    GREATER_EQUAL, GREATER, LESS_EQUAL, LESS, NOT_EQUAL, SKIP, LITERAL_0 = 0x30, REGISTER_0 = 0x50, BASE_0 = 0x70,
    BASE_X = 0x92, DEREFERENCE_SIZE = 0x94, NOTHING = 0x96,
};
/* clang-format on */

struct cfi_expression_machine {
    const struct cfi_expression_scene *scene;
    struct byte_cursor cursor;
    const unsigned char *start;
    uint64_t stack[STACK_MAX];
    unsigned depth;
    int failed;
};

static void cfi_expression_push(struct cfi_expression_machine *machine, uint64_t value)
{
    if (machine->depth < STACK_MAX)
        machine->stack[machine->depth++] = value;
    else
        machine->failed = 1;
}

static uint64_t cfi_expression_pop(struct cfi_expression_machine *machine)
{
    if (machine->depth)
        return machine->stack[--machine->depth];
    machine->failed = 1;
    return 0;
}

static void push_register(struct cfi_expression_machine *machine, uint64_t number, int64_t offset)
{
    const struct symbols_registers *registers = machine->scene->registers;
    if (number < SYMBOLS_REGISTERS && registers->known >> number & 1)
        cfi_expression_push(machine, registers->value[number] + (uint64_t)offset);
    else
        machine->failed = 1;
}

static void dereference(struct cfi_expression_machine *machine, unsigned bytes)
{
    uint64_t value = 0;
    if (bytes == 0 || bytes > 8 ||
        machine->scene->read(machine->scene->context, cfi_expression_pop(machine), bytes, &value) != 0)
        machine->failed = 1;
    cfi_expression_push(machine, value);
}

static void pick(struct cfi_expression_machine *machine, uint64_t depth)
{
    if (depth < machine->depth)
        cfi_expression_push(machine, machine->stack[machine->depth - 1 - depth]);
    else
        machine->failed = 1;
}

static void cfi_expression_swap(struct cfi_expression_machine *machine)
{
    uint64_t top = cfi_expression_pop(machine), second = cfi_expression_pop(machine);
    cfi_expression_push(machine, top);
    cfi_expression_push(machine, second);
}

static void rotate(struct cfi_expression_machine *machine)
{
    uint64_t top = cfi_expression_pop(machine), second = cfi_expression_pop(machine),
             third = cfi_expression_pop(machine);
    cfi_expression_push(machine, top);
    cfi_expression_push(machine, third);
    cfi_expression_push(machine, second);
}

static void cfi_expression_jump(struct cfi_expression_machine *machine, int is_taken)
{
    struct byte_cursor *cursor = &machine->cursor;
    int64_t distance = cursor_signed(cursor, 2);
    if (!is_taken)
        return;
    if (distance < machine->start - cursor->at || distance > cursor->end - cursor->at)
        machine->failed = 1;
    else
        cursor->at += distance;
}

static int64_t cfi_expression_divide(struct cfi_expression_machine *machine, int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        machine->failed = 1;
        return 0;
    }
    return a / b;
}

static uint64_t cfi_expression_combine(struct cfi_expression_machine *machine, unsigned step, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (step) {
    case AND: return a & b;
    case DIVIDE: return (uint64_t)cfi_expression_divide(machine, x, y);
    case MINUS: return a - b;
    case MODULO: return b ? a % b : (uint64_t)cfi_expression_divide(machine, x, y);
    case TIMES: return a * b;
    case OR: return a | b;
    case PLUS: return a + b;
    case SHIFT_LEFT: return b < 64 ? a << b : 0;
    case SHIFT_RIGHT: return b < 64 ? a >> b : 0;
    case SHIFT_RIGHT_SIGNED: return (uint64_t)(x >> (b < 64 ? b : 63));
    case XOR: return a ^ b;
    case EQUAL: return x == y;
    case GREATER_EQUAL: return x >= y;
    case GREATER: return x > y;
    case LESS_EQUAL: return x <= y;
    case LESS: return x < y;
    case NOT_EQUAL: return x != y;
    }
    machine->failed = 1;
    return 0;
}

static void cfi_expression_constant(struct cfi_expression_machine *machine, unsigned step)
{
    struct byte_cursor *cursor = &machine->cursor;
    if (step == CONST_U)
        cfi_expression_push(machine, cursor_uleb(cursor));
    else if (step == CONST_S)
        cfi_expression_push(machine, (uint64_t)cursor_sleb(cursor));
    else if ((step - CONST_1U) & 1)
        cfi_expression_push(machine, (uint64_t)cursor_signed(cursor, 1u << (step - CONST_1U) / 2));
    else
        cfi_expression_push(machine, cursor_number(cursor, 1u << (step - CONST_1U) / 2));
}

static void stack_step(struct cfi_expression_machine *machine, unsigned step)
{
    struct byte_cursor *cursor = &machine->cursor;
    uint64_t top;
    switch (step) {
    case ADDRESS: cfi_expression_push(machine, cursor_number(cursor, 8)); break;
    case DEREFERENCE: dereference(machine, 8); break;
    case DEREFERENCE_SIZE: dereference(machine, (unsigned)cursor_number(cursor, 1)); break;
    case DUPLICATE: pick(machine, 0); break;
    case DROP: cfi_expression_pop(machine); break;
    case OVER: pick(machine, 1); break;
    case PICK: pick(machine, cursor_number(cursor, 1)); break;
    case SWAP: cfi_expression_swap(machine); break;
    case ROTATE: rotate(machine); break;
    case ABSOLUTE:
        top = cfi_expression_pop(machine);
        cfi_expression_push(machine, (int64_t)top < 0 ? 0 - top : top);
        break;
    case NEGATE: cfi_expression_push(machine, 0 - cfi_expression_pop(machine)); break;
    case NOT: cfi_expression_push(machine, ~cfi_expression_pop(machine)); break;
    case PLUS_CONST: cfi_expression_push(machine, cfi_expression_pop(machine) + cursor_uleb(cursor)); break;
    case BRANCH: cfi_expression_jump(machine, cfi_expression_pop(machine) != 0); break;
    case SKIP: cfi_expression_jump(machine, 1); break;
    case BASE_X:
        top = cursor_uleb(cursor);
        push_register(machine, top, cursor_sleb(cursor));
        break;
    case NOTHING: break;
    default:
        top = cfi_expression_pop(machine);
        cfi_expression_push(machine, cfi_expression_combine(machine, step, cfi_expression_pop(machine), top));
    }
}

int cfi_expression_value(const struct cfi_expression_scene *scene, const unsigned char *code, size_t bytes,
                         const uint64_t *first, uint64_t *value)
{
    struct cfi_expression_machine machine;
    machine.scene = scene;
    machine.cursor = (struct byte_cursor){ code, code + bytes, 0 };
    machine.start = code;
    machine.depth = 0;
    machine.failed = 0;
    if (first)
        cfi_expression_push(&machine, *first);
    for (unsigned steps = 0; machine.cursor.at < machine.cursor.end && !machine.failed; steps++) {
        unsigned step = (unsigned)cursor_number(&machine.cursor, 1);
        if (step >= LITERAL_0 && step < REGISTER_0)
            cfi_expression_push(&machine, step - LITERAL_0);
        else if (step >= BASE_0 && step < BASE_0 + 32)
            push_register(&machine, step - BASE_0, cursor_sleb(&machine.cursor));
        else if (step >= CONST_1U && step <= CONST_S)
            cfi_expression_constant(&machine, step);
        else
            stack_step(&machine, step);
        if (machine.cursor.failed || steps > STEPS_MAX)
            return -1;
    }
    if (machine.failed || machine.depth == 0)
        return -1;
    *value = machine.stack[machine.depth - 1];
    return 0;
}
