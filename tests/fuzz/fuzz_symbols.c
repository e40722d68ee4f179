/* The fuzzer's way into ELF and DWARF: any bytes are taken for a file, its frames for a program's, its names are looked
 * up. Nothing may crash, hang, or take more than its size allows. scripts/fuzz links it with libFuzzer;
 * tests/unit/symbols_fuzz.c has it too.
 *
 * libdw runs in a child (src/symbols/names/debug_child.c): what it does to a file is nobody's business but the child's,
 * and is not fuzzed here, but what the child tells is. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/cfi/cfi.h"
#include "symbols/cfi/cfi_expression.h"
#include "symbols/names/symbol_names.h"
#include "symbols/unwind_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { ADDRESSES_MAX = 64, STEPS_MAX = 64 };

/* Walks as far as it goes, each frame at an address that the file itself holds. */
static void walk(const struct elf_image *image, const struct cfi *cfi, const uint64_t *addresses, size_t count)
{
    uint64_t stack[256];
    struct symbols_registers registers = { .known = (UINT64_C(1) << SYMBOLS_REGISTERS) - 1 };
    for (size_t i = 0; i < 256; i++)
        stack[i] = i % 3 ? 0x7000 + 8 * i : addresses[i % count];
    for (size_t i = 0; i < SYMBOLS_REGISTERS; i++)
        registers.value[i] = 0x7000 + 16 * i;
    struct symbols_sample sample = { .registers = &registers, .stack = stack, .stack_bytes = sizeof stack };
    struct unwind_plan_scene scene;
    unwind_plan_begin(&scene, image->machine, &sample);
    for (size_t i = 0; i < STEPS_MAX; i++) {
        struct unwind_plan plan = { .kind = PLAN_NONE };
        uint64_t inside = addresses[i % count];
        unwind_plan_make(&plan, cfi, inside);
        unwind_plan_is_kernel_signal(image, inside);
        int result = plan.kind == PLAN_SIMPLE    ? unwind_plan_follow(&scene, &plan)
                     : plan.kind == PLAN_COMPLEX ? unwind_plan_work_out(&scene, cfi, inside)
                                                 : unwind_plan_by_frame_pointer(&scene);
        if (result != PLAN_STEPPED)
            unwind_plan_begin(&scene, image->machine, &sample);
    }
}

struct picked {
    uint64_t addresses[ADDRESSES_MAX];
    size_t count;
};

static void pick(void *context, const struct symbol_names_entry *symbol)
{
    struct picked *picked = context;
    if (strnlen(symbol->text, symbol->room) && picked->count < ADDRESSES_MAX)
        picked->addresses[picked->count++] = symbol->start + symbol->size / 2;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void look(const uint8_t *bytes, size_t size)
{
    struct elf_image image;
    if (elf_image_open_memory(&image, bytes, size) != 0)
        return;
    unsigned char id[ELF_IMAGE_BUILD_ID_MAX];
    struct picked picked = { .addresses = { elf_image_first_address(&image) }, .count = 1 };
    uint64_t inside;
    struct symbol_names names;
    struct cfi cfi;
    elf_image_build_id(&image, id);
    if (elf_image_address_of(&image, size / 2, &inside) == 0)
        picked.addresses[picked.count++] = inside;
    cfi_open(&cfi, &image);
    symbol_names_visit_image(&image, pick, &picked);
    qsort(picked.addresses, picked.count, sizeof *picked.addresses, by_number);
    if (symbol_names_begin(&names, picked.addresses, picked.count) != 0)
        abort();
    symbol_names_add_image(&names, &image);
    symbol_names_settle(&names);
    for (size_t i = 0; i < picked.count; i++)
        if (symbol_names_get(&names, i) && strlen(symbol_names_get(&names, i)) > size + sizeof "@plt")
            abort();
    walk(&image, &cfi, picked.addresses, picked.count);
    symbol_names_free(&names);
    cfi_close(&cfi);
    elf_image_close(&image);
}

static int read_nothing(void *context, uint64_t address, unsigned bytes, uint64_t *value)
{
    *value = address * bytes;
    return address % 5 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct symbols_registers registers = { .known = 0xffff };
    struct cfi_expression_scene scene = { &registers, read_nothing, NULL };
    uint64_t value, first = 16;
    look(bytes, size);
    cfi_expression_value(&scene, bytes, size < 256 ? size : 256, &first, &value);
    return 0;
}
