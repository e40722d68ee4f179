/* The BPF program that asks the kernel for names: see kernel_lookup.h. The layouts and numbers are those of
 * linux/bpf.h, which is older than Linux 5.14 on some machines that build Tacho. */
#include "kernel_lookup.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAP_CREATE = 0, MAP_UPDATE_ELEM = 2, PROG_LOAD = 5, PROG_TEST_RUN = 10, MAP_FREEZE = 22 }; /* enum bpf_cmd */
enum { ARRAY = 2, RDONLY_PROG = 1 << 7, MMAPABLE = 1 << 10 };                                     /* of maps */
enum { SYSCALL_PROGRAM = 31, SLEEPABLE = 1 << 4, SNPRINTF = 165 };                                /* of programs */

/* The members of union bpf_attr that each command needs; the kernel takes the others for zero. */
struct map_create {
    uint32_t type, key_bytes, value_bytes, entries, flags;
};
struct map_element {
    uint32_t map, padding;
    uint64_t key, value, flags;
};
struct program_load {
    uint32_t type, count;
    uint64_t instructions, license;
    uint32_t log_level, log_bytes;
    uint64_t log;
    uint32_t kernel_version, flags;
};
struct program_run {
    uint32_t program, result, data_in_bytes, data_out_bytes;
    uint64_t data_in, data_out;
    uint32_t repeat, duration, context_in_bytes, context_out_bytes;
    uint64_t context_in, context_out;
};

struct instruction {
    uint8_t operation, registers; /* registers: destination, and source << 4 */
    int16_t offset;
    int32_t value;
};
enum { LOAD_64 = 0x18, MOVE = 0xb7, CALL = 0x85, EXIT = 0x95, MAP_VALUE = 2 << 4 /* in place of a source */ };

static int kernel_lookup_bpf(int command, void *attributes, size_t bytes)
{
    return (int)syscall(SYS_bpf, command, attributes, bytes);
}

static uint64_t kernel_lookup_number_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* The format is a constant if no program may write it and no process either. */
static int format_map(void)
{
    static const char format[4] = "%ps";
    static const uint32_t first;
    struct map_create create = { ARRAY, sizeof first, sizeof format, 1, RDONLY_PROG };
    int map = kernel_lookup_bpf(MAP_CREATE, &create, sizeof create);
    struct map_element element = { (uint32_t)map, 0, kernel_lookup_number_of(&first), kernel_lookup_number_of(format),
                                   0 };
    if (map >= 0 && (kernel_lookup_bpf(MAP_UPDATE_ELEM, &element, sizeof element) != 0 ||
                     kernel_lookup_bpf(MAP_FREEZE, &(uint32_t){ (uint32_t)map }, sizeof(uint32_t)) != 0)) {
        close(map);
        return -1;
    }
    return map;
}

static struct instruction *load_address(struct instruction *at, unsigned target, int map, size_t offset)
{
    *at++ = (struct instruction){ LOAD_64, (uint8_t)(target | MAP_VALUE), 0, map };
    *at++ = (struct instruction){ .value = (int32_t)offset };
    return at;
}

/* snprintf(slot->name, sizeof slot->name, "%ps", &slot->address, sizeof slot->address) for each slot. */
static int load_program(int slots, int format)
{
    enum { OF_A_SLOT = 9, AT_THE_END = 2 };
    struct instruction instructions[KERNEL_LOOKUP_MAX * OF_A_SLOT + AT_THE_END], *at = instructions;
    for (size_t i = 0; i < KERNEL_LOOKUP_MAX; i++) {
        size_t slot = i * sizeof(struct kernel_lookup_slot);
        at = load_address(at, 1, slots, slot + offsetof(struct kernel_lookup_slot, name));
        *at++ = (struct instruction){ MOVE, 2, 0, KERNEL_LOOKUP_ROOM };
        at = load_address(at, 3, format, 0);
        at = load_address(at, 4, slots, slot + offsetof(struct kernel_lookup_slot, address));
        *at++ = (struct instruction){ MOVE, 5, 0, sizeof(uint64_t) };
        *at++ = (struct instruction){ CALL, 0, 0, SNPRINTF };
    }
    *at++ = (struct instruction){ MOVE, 0, 0, 0 };
    *at++ = (struct instruction){ .operation = EXIT };
    struct program_load load = {
        .type = SYSCALL_PROGRAM,
        .count = (uint32_t)(at - instructions),
        .instructions = kernel_lookup_number_of(instructions),
        .license = kernel_lookup_number_of("Dual MIT/GPL"), /* of these instructions; snprintf() is for the GPL only */
        .flags = SLEEPABLE,
    };
    return kernel_lookup_bpf(PROG_LOAD, &load, sizeof load);
}

int kernel_lookup_open(struct kernel_lookup *lookup)
{
    enum { BYTES = KERNEL_LOOKUP_MAX * sizeof *lookup->slots };
    struct map_create create = { ARRAY, sizeof(uint32_t), BYTES, 1, MMAPABLE };
    int slots = kernel_lookup_bpf(MAP_CREATE, &create, sizeof create);
    int format = slots >= 0 ? format_map() : -1;
    void *memory = format >= 0 ? mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, slots, 0) : MAP_FAILED;
    *lookup = (struct kernel_lookup){ memory != MAP_FAILED ? memory : NULL, -1 };
    if (lookup->slots)
        lookup->program = load_program(slots, format);
    if (format >= 0) /* the program holds its maps */
        close(format);
    if (slots >= 0)
        close(slots);
    if (lookup->program < 0)
        kernel_lookup_close(lookup);
    return lookup->slots ? 0 : -1;
}

void kernel_lookup_close(struct kernel_lookup *lookup)
{
    if (lookup->slots) {
        munmap(lookup->slots, KERNEL_LOOKUP_MAX * sizeof *lookup->slots);
        if (lookup->program >= 0)
            close(lookup->program);
    }
    *lookup = (struct kernel_lookup){ 0 };
}

int kernel_lookup_ask(struct kernel_lookup *lookup, const uint64_t *addresses, size_t count)
{
    struct program_run run = { .program = (uint32_t)lookup->program };
    for (size_t i = 0; i < KERNEL_LOOKUP_MAX; i++) {
        lookup->slots[i].address = i < count ? addresses[i] : 0;
        lookup->slots[i].name[0] = 0;
    }
    if (kernel_lookup_bpf(PROG_TEST_RUN, &run, sizeof run) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        lookup->slots[i].name[KERNEL_LOOKUP_ROOM - 1] = 0;
        if (!lookup->slots[i].name[0])
            return -1;
    }
    return 0;
}
