/* One step of unwinding: see unwind_plan.h. Reads the copy of the stack and nothing else. */
#include "unwind_plan.h"

#include <string.h>

#include "symbols/cfi/cfi_expression.h"

#define ADDRESS_BITS_AARCH64 UINT64_C(0x0000ffffffffffff) /* the bits above hold the signature of a signed address */

/* Registers by DWARF's numbers. */
enum { X86_RBP = 6, X86_RSP = 7, X86_RIP = 16, ARM_FP = 29, ARM_LR = 30, ARM_SP = 31, ARM_PC = 32 };

void unwind_plan_begin(struct unwind_plan_scene *scene, uint16_t machine, const struct symbols_sample *sample)
{
    int is_arm = machine == EM_AARCH64;
    scene->machine = machine;
    scene->stack_register = is_arm ? ARM_SP : X86_RSP;
    scene->frame_register = is_arm ? ARM_FP : X86_RBP;
    scene->address_register = is_arm ? ARM_PC : X86_RIP;
    scene->registers = *sample->registers;
    scene->stack = sample->stack;
    scene->low = sample->registers->value[scene->stack_register];
    scene->bytes = sample->stack_bytes;
    if (scene->low + scene->bytes < scene->low)
        scene->bytes = 0;
    scene->is_return = scene->is_beyond = 0;
    scene->is_first = 1;
}

static int unwind_plan_read_stack(void *context, uint64_t address, unsigned bytes, uint64_t *value)
{
    struct unwind_plan_scene *scene = context;
    uint64_t offset = address - scene->low;
    if (offset >= scene->bytes || bytes > scene->bytes - offset) {
        scene->is_beyond |= address >= scene->low;
        return -1;
    }
    *value = 0;
    memcpy(value, scene->stack + offset, bytes);
    return 0;
}

static int lost(const struct unwind_plan_scene *scene)
{
    return scene->is_beyond ? PLAN_BEYOND : PLAN_LOST;
}

/* Moves to the caller. A frame that does not lie above the previous one would lead to a cycle; only a leaf may have no
 * frame. */
static int arrive(struct unwind_plan_scene *scene, uint64_t frame, uint64_t address, int is_signal, int is_signed)
{
    uint64_t *values = scene->registers.value;
    if (is_signed || (scene->machine == EM_AARCH64 && address > ADDRESS_BITS_AARCH64))
        address &= ADDRESS_BITS_AARCH64;
    if (address == 0)
        return PLAN_ENDS;
    if (!is_signal &&
        (frame < values[scene->stack_register] || (frame == values[scene->stack_register] && !scene->is_first)))
        return PLAN_LOST;
    if (!is_signal)
        values[scene->stack_register] = frame;
    values[scene->address_register] = address;
    scene->registers.known |= UINT64_C(1) << scene->address_register | UINT64_C(1) << scene->stack_register;
    scene->is_return = !is_signal;
    scene->is_first = is_signal; /* an interrupted function may be a leaf */
    return PLAN_STEPPED;
}

/* ---- Plans ----------------------------------------------------------------------------------------------------- */

static int add_saved(struct unwind_plan *plan, unsigned number, const struct cfi_rule *rule)
{
    int64_t words = rule->value / 8;
    if (rule->value % 8 || words > INT16_MAX || words < INT16_MIN || plan->saved_count == PLAN_SAVED_MAX)
        return -1;
    plan->saved[plan->saved_count].number = (uint8_t)number;
    plan->saved[plan->saved_count++].words = (int16_t)words;
    return 0;
}

static int unwind_plan_simplify(struct unwind_plan *plan, const struct cfi_row *row)
{
    if (row->frame.kind != CFI_IS_OFFSET || row->frame.value > INT32_MAX || row->frame.value < INT32_MIN ||
        row->is_signal)
        return -1;
    plan->frame_register = (uint8_t)row->frame_register;
    plan->frame_offset = (int32_t)row->frame.value;
    plan->return_register = (uint8_t)row->return_register;
    plan->flags = row->return_is_signed ? PLAN_RETURN_SIGNED : 0;
    for (unsigned number = 0; number < SYMBOLS_REGISTERS; number++) {
        const struct cfi_rule *rule = &row->rules[number];
        if (rule->kind == CFI_AT_OFFSET) {
            if (add_saved(plan, number, rule) != 0)
                return -1;
            if (number == row->return_register)
                plan->flags |= PLAN_RETURN_SAVED;
        } else if (rule->kind != CFI_SAME) {
            return -1;
        }
    }
    return 0;
}

void unwind_plan_make(struct unwind_plan *plan, const struct cfi *cfi, uint64_t inside)
{
    struct cfi_row row;
    if (cfi_find(cfi, inside, &row) != 0)
        return;
    struct unwind_plan made = { .kind = PLAN_SIMPLE, .method = (uint8_t)row.method };
    if (row.rules[row.return_register].kind == CFI_UNDEFINED)
        made.kind = PLAN_OUTERMOST;
    else if (unwind_plan_simplify(&made, &row) != 0)
        made = (struct unwind_plan){
            .kind = PLAN_COMPLEX,
            .method = (uint8_t)row.method,
            .flags = row.is_signal ? PLAN_IS_SIGNAL : 0,
        };
    *plan = made;
}

int unwind_plan_follow(struct unwind_plan_scene *scene, const struct unwind_plan *plan)
{
    struct symbols_registers *registers = &scene->registers;
    if (!(registers->known >> plan->frame_register & 1))
        return lost(scene);
    uint64_t frame = registers->value[plan->frame_register] + (uint64_t)(int64_t)plan->frame_offset, address = 0;
    for (unsigned i = 0; i < plan->saved_count; i++) {
        unsigned number = plan->saved[i].number;
        uint64_t value, bit = UINT64_C(1) << number;
        if (unwind_plan_read_stack(scene, frame + (uint64_t)(8 * (int64_t)plan->saved[i].words), 8, &value) != 0) {
            if (number == plan->return_register)
                return lost(scene);
            registers->known &= ~bit;
            continue;
        }
        registers->value[number] = value;
        registers->known |= bit;
        if (number == plan->return_register)
            address = value;
    }
    if (!(plan->flags & PLAN_RETURN_SAVED)) {
        if (scene->machine != EM_AARCH64 || !(registers->known >> plan->return_register & 1))
            return lost(scene);
        address = registers->value[plan->return_register];
    }
    return arrive(scene, frame, address, 0, plan->flags & PLAN_RETURN_SIGNED);
}

/* ---- Steps that plans cannot describe -------------------------------------------------------------------------- */

static int rule_value(struct unwind_plan_scene *scene, const struct cfi_rule *rule, unsigned number, uint64_t frame,
                      uint64_t *value)
{
    const struct symbols_registers *registers = &scene->registers;
    struct cfi_expression_scene expression = { registers, unwind_plan_read_stack, scene };
    uint64_t from = rule->kind == CFI_IN_REGISTER ? (uint64_t)rule->value : number, address;
    switch (rule->kind) {
    case CFI_SAME:
    case CFI_IN_REGISTER:
        *value = from < SYMBOLS_REGISTERS ? registers->value[from] : 0;
        return from < SYMBOLS_REGISTERS && registers->known >> from & 1 ? 0 : -1;
    case CFI_AT_OFFSET: return unwind_plan_read_stack(scene, frame + (uint64_t)rule->value, 8, value);
    case CFI_IS_OFFSET: *value = frame + (uint64_t)rule->value; return 0;
    case CFI_AT_EXPRESSION:
        return cfi_expression_value(&expression, rule->expression, rule->expression_bytes, &frame, &address) == 0
                   ? unwind_plan_read_stack(scene, address, 8, value)
                   : -1;
    case CFI_IS_EXPRESSION:
        return cfi_expression_value(&expression, rule->expression, rule->expression_bytes, &frame, value);
    case CFI_UNDEFINED: break;
    }
    return -1;
}

static int frame_address(struct unwind_plan_scene *scene, const struct cfi_row *row, uint64_t *frame)
{
    const struct symbols_registers *registers = &scene->registers;
    if (row->frame.kind == CFI_IS_EXPRESSION) {
        struct cfi_expression_scene expression = { registers, unwind_plan_read_stack, scene };
        return cfi_expression_value(&expression, row->frame.expression, row->frame.expression_bytes, NULL, frame);
    }
    *frame = registers->value[row->frame_register] + (uint64_t)row->frame.value;
    return registers->known >> row->frame_register & 1 ? 0 : -1;
}

int unwind_plan_work_out(struct unwind_plan_scene *scene, const struct cfi *cfi, uint64_t inside)
{
    struct cfi_row row;
    uint64_t frame, address;
    if (cfi_find(cfi, inside, &row) != 0 || frame_address(scene, &row, &frame) != 0)
        return lost(scene);
    struct symbols_registers caller = { 0 };
    for (unsigned number = 0; number < SYMBOLS_REGISTERS; number++)
        if (rule_value(scene, &row.rules[number], number, frame, &caller.value[number]) == 0)
            caller.known |= UINT64_C(1) << number;
    if (!(caller.known >> row.return_register & 1))
        return lost(scene);
    address = caller.value[row.return_register];
    /* The caller's stack pointer is the frame's address, unless the frame has a rule for it, as a signal frame does. */
    unsigned stack = scene->stack_register;
    uint64_t before = scene->registers.value[stack];
    if (row.rules[stack].kind != CFI_SAME)
        frame = caller.value[stack];
    caller.value[stack] = row.is_signal ? frame : before;
    caller.known |= UINT64_C(1) << stack;
    if (row.is_signal && frame - scene->low >= scene->bytes)
        scene->is_beyond = 1; /* the handler has a stack of its own */
    else if (row.is_signal && frame <= before)
        return PLAN_LOST;
    scene->registers = caller;
    return arrive(scene, frame, address, row.is_signal, row.return_is_signed);
}

int unwind_plan_by_frame_pointer(struct unwind_plan_scene *scene)
{
    struct symbols_registers *registers = &scene->registers;
    uint64_t frame = registers->value[scene->frame_register], next, address;
    if (!(registers->known >> scene->frame_register & 1))
        return lost(scene);
    if (frame == 0) /* thread starts set it to 0 */
        return PLAN_ENDS;
    if (frame < registers->value[scene->stack_register] || frame % 8)
        return PLAN_LOST;
    if (unwind_plan_read_stack(scene, frame, 8, &next) != 0 ||
        unwind_plan_read_stack(scene, frame + 8, 8, &address) != 0)
        return lost(scene);
    registers->value[scene->frame_register] = next;
    return arrive(scene, frame + 16, address, 0, 0);
}

/* Recognises: mov x8, 139 (rt_sigreturn); svc 0. */
int unwind_plan_is_kernel_signal(const struct elf_image *image, uint64_t inside)
{
    static const unsigned char code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };
    struct elf_piece piece;
    uint64_t offset, following;
    if (image->machine != EM_AARCH64 || elf_image_offset_of(image, inside, &offset, &following) != 0 ||
        following < sizeof code || elf_image_piece(image, offset, sizeof code, &piece) != 0)
        return 0;
    int is_same = memcmp(piece.bytes, code, sizeof code) == 0;
    elf_piece_free(&piece);
    return is_same;
}

/* The stack pointer is at a siginfo. The ucontext after it has x0 to x30, sp and pc, in this order. */
int unwind_plan_leave_kernel_signal(struct unwind_plan_scene *scene)
{
    enum { REGISTERS_AT = 128 + 176 + 8 };
    struct symbols_registers caller = { 0 };
    uint64_t before = scene->registers.value[ARM_SP];
    for (unsigned number = 0; number <= ARM_PC; number++) {
        if (unwind_plan_read_stack(scene, before + REGISTERS_AT + 8 * number, 8, &caller.value[number]) != 0)
            return lost(scene);
        caller.known |= UINT64_C(1) << number;
    }
    if (caller.value[ARM_SP] - scene->low >= scene->bytes)
        scene->is_beyond = 1; /* the handler has a stack of its own */
    else if (caller.value[ARM_SP] <= before)
        return PLAN_LOST;
    scene->registers = caller;
    return arrive(scene, caller.value[ARM_SP], caller.value[ARM_PC], 1, 0);
}

int unwind_plan_return_of_leaf(struct unwind_plan_scene *scene, uint64_t *address)
{
    const struct symbols_registers *registers = &scene->registers;
    if (scene->machine == EM_AARCH64) {
        *address = registers->value[ARM_LR] & ADDRESS_BITS_AARCH64;
        return registers->known >> ARM_LR & 1 ? 0 : -1;
    }
    return unwind_plan_read_stack(scene, registers->value[X86_RSP], 8, address);
}

int unwind_plan_leave_leaf(struct unwind_plan_scene *scene, uint64_t address)
{
    uint64_t pushed = scene->machine == EM_AARCH64 ? 0 : 8;
    return arrive(scene, scene->registers.value[scene->stack_register] + pushed, address, 0, 0);
}

/* ---- perf's registers ------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* By perf's numbers: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8 to r15. */
static const int8_t numbers[] = {
    0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14, 15
};
#else
static const int8_t numbers[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                  17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#endif

uint64_t symbols_perf_mask(void)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof numbers; i++)
        if (numbers[i] >= 0)
            mask |= UINT64_C(1) << i;
    return mask;
}

void symbols_registers_from_perf(struct symbols_registers *registers, uint64_t mask, const uint64_t *values)
{
    registers->known = 0;
    for (unsigned i = 0; mask; i++, mask >>= 1) {
        if (!(mask & 1))
            continue;
        if (i < sizeof numbers && numbers[i] >= 0) {
            registers->value[numbers[i]] = *values;
            registers->known |= UINT64_C(1) << numbers[i];
        }
        values++;
    }
}
