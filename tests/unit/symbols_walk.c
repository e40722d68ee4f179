/* Walks up this program's own stacks, compared with what libgcc's unwinder (backtrace()) says of the same stack, and
 * with the names that functions leave behind as they are entered. */
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/registers.h"
#include "symbols/names/symbol_names.h"
#include "symbols/symbols.h"

#if defined(__clang__)
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa)) /* no clones of it under other names either */
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#define STACK_BYTES (48u << 10)
#define FRAMES_MAX 256

/* ---- A stack, taken where a test stands ------------------------------------------------------------------------ */

struct taken {
    struct symbols_registers registers;
    uint64_t stack[STACK_BYTES / 8];
    size_t stack_bytes;
    void *truth[FRAMES_MAX]; /* backtrace()'s */
    int truth_count;
    int line;                /* of the call that took it */
};
static struct taken taken;
static uint64_t stack_top;   /* where the stack of the thread ends, as far as we know */

/* What lies between variables is no one's to read, says a sanitizer. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void copy_stack(const uint64_t *from,
                                                                                      size_t words)
{
    for (size_t i = 0; i < words; i++)
        taken.stack[i] = ((const volatile uint64_t *)from)[i];
}

ALONE static void take(void)
{
    REGISTERS_TAKE(taken.registers.value);
    taken.registers.known = REGISTERS_TAKEN;
    uint64_t low = taken.registers.value[REGISTERS_STACK_POINTER];
    taken.stack_bytes = stack_top > low && stack_top - low < STACK_BYTES ? stack_top - low : STACK_BYTES;
    copy_stack((const uint64_t *)low, taken.stack_bytes / 8);
    taken.truth_count = backtrace(taken.truth, FRAMES_MAX);
#if defined(SANITIZED) /* its own function around backtrace() is among them */
    memmove(taken.truth, taken.truth + 1, (size_t)--taken.truth_count * sizeof *taken.truth);
#endif
}
#define TAKE() (taken.line = __LINE__, take())

static const char *entered[FRAMES_MAX];
static int entered_count;
#define ENTER() (entered[entered_count++] = __func__)
static volatile int sink;
#define LEAVE() sink++ /* so that the call before it is no jump */

/* ---- What was found -------------------------------------------------------------------------------------------- */

struct scene {
    struct symbols *symbols;
    struct symbols_process *process;
    struct symbols_walk walk;
};

static struct scene look(const struct symbols_sample *changes)
{
    struct scene scene = { .symbols = symbols_new(NULL) };
    struct symbols_sample sample = {
        .registers = &taken.registers,
        .stack = taken.stack,
        .stack_bytes = taken.stack_bytes,
    };
    assert_non_null(scene.symbols);
    scene.process = symbols_process_new(scene.symbols, getpid());
    assert_non_null(scene.process);
    scene.walk = symbols_unwind(scene.process, changes ? changes : &sample);
    return scene;
}

static uint64_t address_at(const struct scene *scene, uint32_t depth)
{
    uint32_t stack = scene->walk.stack;
    while (depth-- && stack)
        stack = symbols_stack(scene->symbols, stack).caller;
    return symbols_frame(scene->symbols, symbols_stack(scene->symbols, stack).frame).address;
}

/* The lines of a stack one by one; NULL behind the last. */
static const struct symbols_line *line_at(const struct scene *scene, uint32_t number)
{
    for (uint32_t stack = scene->walk.stack; stack; stack = symbols_stack(scene->symbols, stack).caller) {
        struct symbols_frame frame = symbols_frame(scene->symbols, symbols_stack(scene->symbols, stack).frame);
        if (number < frame.line_count)
            return symbols_line(scene->symbols, frame.first_line + number);
        number -= frame.line_count;
    }
    return NULL;
}

/* All frames but the innermost, which has gone on since its registers were taken. */
static void expect_truth(const struct scene *scene)
{
    assert_int_equal(scene->walk.end, SYMBOLS_WHOLE);
    assert_int_equal(scene->walk.frames, taken.truth_count);
    for (uint32_t i = 1; i < scene->walk.frames; i++)
        assert_ptr_equal((void *)address_at(scene, i), taken.truth[i]);
}

/* The functions that were entered, the last one first, behind `take`; others may lie between them. */
static void expect_names(struct scene *scene)
{
    assert_int_equal(symbols_resolve(scene->symbols, NULL), 0);
    assert_string_equal(line_at(scene, 0)->name, "take");
    uint32_t at = 1;
    for (int i = entered_count; i-- > 0;) {
        const struct symbols_line *line;
        while ((line = line_at(scene, at)) && strcmp(line->name, entered[i]) != 0)
            at++;
        if (!line)
            fail_msg("%s is not among the callers", entered[i]);
        at++;
    }
}

static void done(struct scene *scene)
{
    symbols_delete(scene->symbols);
}

static int fresh(void **state)
{
    entered_count = 0;
    return 0;
}
#define TEST(name) cmocka_unit_test_setup(name, fresh)

/* ---- Stacks of all kinds --------------------------------------------------------------------------------------- */

ALONE static void leaf(void)
{
    ENTER();
    TAKE();
    LEAVE();
}

ALONE static void with_variable_frame(size_t bytes)
{
    ENTER();
    char *room = __builtin_alloca(bytes);
    memset(room, 1, bytes);
    leaf();
    sink += room[bytes - 1];
}

/* A frame that is aligned anew has its address in an expression. */
ALONE static void with_aligned_frame(void)
{
    ENTER();
    _Alignas(64) volatile char room[256];
    room[1] = 1;
    with_variable_frame((size_t)sink % 7 + 300);
    sink += room[1];
}

ALONE static int recursive(int depth)
{
    ENTER();
    if (depth == 0)
        with_aligned_frame();
    else
        sink += recursive(depth - 1);
    LEAVE();
    return depth;
}

static void frames_of_all_shapes(void **state)
{
    recursive(5);
    struct scene scene = look(NULL);
    expect_truth(&scene);
    expect_names(&scene);
    done(&scene);
}

static int compare(const void *a, const void *b)
{
    if (!entered_count) {
        ENTER();
        leaf();
    }
    return *(const int *)a - *(const int *)b;
}

static void through_a_library(void **state)
{
    int numbers[] = { 3, 1, 2 };
    qsort(numbers, 3, sizeof *numbers, compare);
    struct scene scene = look(NULL);
    expect_truth(&scene);
    expect_names(&scene);
    done(&scene);
}

static void on_signal(int number)
{
    ENTER();
    leaf();
    LEAVE();
}

ALONE static void raises(void)
{
    ENTER();
    raise(SIGUSR1);
    LEAVE();
}

static void through_a_signal(void **state)
{
    signal(SIGUSR1, on_signal);
    raises();
    struct scene scene = look(NULL);
    expect_truth(&scene);
    expect_names(&scene);
    done(&scene);
}

static jmp_buf way_out;

ALONE __attribute__((noreturn)) static void leaves_for_good(void)
{
    ENTER();
    TAKE();
    longjmp(way_out, 1);
}

/* Its last instruction is the call: what it returns to is another function's. */
ALONE __attribute__((noreturn)) static void ends_with_a_call(void)
{
    ENTER();
    leaves_for_good();
}

static void a_call_that_never_returns(void **state)
{
    if (setjmp(way_out) == 0)
        ends_with_a_call();
    struct scene scene = look(NULL);
    expect_truth(&scene);
    expect_names(&scene);
    done(&scene);
}

ALONE static int jumps_on(int number);
ALONE static int last_one(int number)
{
    ENTER();
    TAKE();
    LEAVE();
    return number;
}

ALONE static int jumps_on(int number)
{
    return last_one(number + 1); /* with -O2 a jump: this frame is gone */
}

static void a_tail_call(void **state)
{
    sink += jumps_on(1);
    struct scene scene = look(NULL);
    expect_truth(&scene);
    expect_names(&scene);
    done(&scene);
}

static int inner_line, outer_line;

__attribute__((always_inline)) static inline void inlined(void)
{
    inner_line = __LINE__ + 1;
    TAKE();
    LEAVE();
}

ALONE static void has_inlined(void)
{
    outer_line = __LINE__ + 1;
    inlined();
    LEAVE();
}

static void inlined_functions_and_lines(void **state)
{
    has_inlined();
    struct scene scene = look(NULL);
    expect_truth(&scene);
    assert_int_equal(symbols_resolve(scene.symbols, NULL), 0);
    const struct symbols_line *inner = line_at(&scene, 1), *outer = line_at(&scene, 2);
    assert_string_equal(inner->name, "inlined");
    assert_int_equal(inner->flags, SYMBOLS_INLINED);
    assert_string_equal(strrchr(inner->file, '/'), "/symbols_walk.c");
    assert_int_equal(inner->line, inner_line);
    assert_string_equal(outer->name, "has_inlined");
    assert_int_equal(outer->flags, 0);
    assert_int_equal(outer->line, outer_line);
    done(&scene);
}

/* ---- Stacks that are not whole --------------------------------------------------------------------------------- */

static void what_lies_above_the_copy_is_cut(void **state)
{
    recursive(20);
    struct symbols_sample half = { .registers = &taken.registers, .stack = taken.stack, .stack_bytes = 2048 };
    struct scene scene = look(&half);
    assert_int_equal(scene.walk.end, SYMBOLS_CUT);
    assert_in_range(scene.walk.frames, 3, (uintmax_t)taken.truth_count - 1);
    for (uint32_t i = 1; i < scene.walk.frames; i++)
        assert_ptr_equal((void *)address_at(&scene, i), taken.truth[i]);
    assert_int_equal(symbols_counts(scene.symbols)->by_end[SYMBOLS_CUT], 1);
    done(&scene);
}

static void no_deeper_than_asked(void **state)
{
    recursive(20);
    struct symbols_sample sample = {
        .registers = &taken.registers, .stack = taken.stack, .stack_bytes = taken.stack_bytes, .depth_max = 7
    };
    struct scene scene = look(&sample);
    assert_int_equal(scene.walk.end, SYMBOLS_TOO_DEEP);
    assert_int_equal(scene.walk.frames, 7);
    done(&scene);
}

static void equal_stacks_are_one(void **state)
{
    recursive(3);
    struct scene scene = look(NULL);
    uint32_t stacks = symbols_stack_count(scene.symbols), frames = symbols_frame_count(scene.symbols);
    struct symbols_sample sample = {
        .registers = &taken.registers,
        .stack = taken.stack,
        .stack_bytes = taken.stack_bytes,
    };
    assert_int_equal(symbols_unwind(scene.process, &sample).stack, scene.walk.stack);
    assert_int_equal(symbols_stack_count(scene.symbols), stacks);
    assert_int_equal(symbols_frame_count(scene.symbols), frames);
    done(&scene);
}

static void own_frames_are_left_out(void **state)
{
    static const char *const files[] = { "unit_symbols_walk", NULL };
    int numbers[] = { 3, 1, 2 };
    qsort(numbers, 3, sizeof *numbers, compare);
    struct symbols_sample sample = {
        .registers = &taken.registers, .stack = taken.stack, .stack_bytes = taken.stack_bytes, .skip_files = files
    };
    struct scene scene = look(&sample);
    assert_int_equal(symbols_resolve(scene.symbols, NULL), 0);
    /* the C library's, or a sanitizer's before it */
    assert_null(strstr(line_at(&scene, 0)->module, "unit_symbols_walk"));
    done(&scene);
}

/* ---- Code that is no function of a file's ---------------------------------------------------------------------- */

#if defined(__x86_64__)
/* The same stack as if the innermost function had just called what lies at an address: one
 * word more, and no frame yet. */
static struct scene look_from(uint64_t address)
{
    static struct taken called;
    called = taken;
    memmove(called.stack + 1, called.stack, STACK_BYTES - 8);
    called.stack[0] = taken.registers.value[16];
    called.registers.value[16] = address;
    called.registers.value[REGISTERS_STACK_POINTER] -= 8;
    struct symbols_sample sample = {
        .registers = &called.registers,
        .stack = called.stack,
        .stack_bytes = taken.stack_bytes,
    };
    return look(&sample);
}

static void expect_one_more(struct scene *scene, const char *ending)
{
    assert_int_equal(scene->walk.end, SYMBOLS_WHOLE);
    assert_int_equal(scene->walk.frames, taken.truth_count + 1);
    for (int i = 1; i < taken.truth_count; i++)
        assert_ptr_equal((void *)address_at(scene, (uint32_t)i + 1), taken.truth[i]);
    assert_int_equal(symbols_resolve(scene->symbols, NULL), 0);
    const char *name = line_at(scene, 0)->name;
    if (strlen(name) < strlen(ending) || strcmp(name + strlen(name) - strlen(ending), ending) != 0)
        fail_msg("%s does not end with %s", name, ending);
}

static int take_base(struct dl_phdr_info *info, size_t size, void *context)
{
    *(uint64_t *)context = info->dlpi_addr;
    return 1; /* the first is the program */
}

static void from_an_entry_of_the_linkage_table(void **state)
{
    struct elf_image image;
    uint64_t base = 0;
    FILE *file = fopen("/proc/self/exe", "r");
    assert_int_equal(elf_image_open(&image, dup(fileno(file))), 0);
    fclose(file);
    const Elf64_Shdr *table = elf_image_section(&image, ".plt.sec");
    uint64_t head = table ? 0 : 16;
    if (!table)
        table = elf_image_section(&image, ".plt");
    dl_iterate_phdr(take_base, &base);
    if (!table || table->sh_size < 64) {
        elf_image_close(&image);
        print_message("skipped: this test was linked without a procedure linkage table\n");
        skip();
    }
    leaf();
    struct scene scene = look_from(base + table->sh_addr + head + 16);
    expect_one_more(&scene, "@plt");
    done(&scene);
    elf_image_close(&image);
}

static void find_clock(void *address, const struct symbol_names_entry *symbol)
{
    if (strncmp(symbol->text, "__vdso_clock_gettime", symbol->room) == 0)
        *(uint64_t *)address = symbol->start;
}

static void from_the_vdso(void **state)
{
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base) {
        print_message("skipped: the kernel gives no vDSO\n");
        skip();
    }
    struct elf_image image;
    uint64_t address = 0;
    assert_int_equal(elf_image_open_memory(&image, (const void *)base, 4096 * 2), 0);
    symbol_names_visit_image(&image, find_clock, &address);
    elf_image_close(&image);
    assert_int_not_equal(address, 0);
    leaf();
    struct scene scene = look_from(base + address);
    expect_one_more(&scene, "clock_gettime");
    assert_string_equal(line_at(&scene, 0)->module, "[vdso]");
    done(&scene);
}
#endif

/* A call through a null pointer, in a process that nothing is known of yet, and in one whose other addresses are known.
 */
static void from_nowhere(void **state)
{
    leaf();
    struct symbols_registers registers = taken.registers;
#if defined(__x86_64__)
    static uint64_t stack[STACK_BYTES / 8];
    memcpy(stack + 1, taken.stack, STACK_BYTES - 8);
    stack[0] = registers.value[16];
    registers.value[16] = 0;
    registers.value[REGISTERS_STACK_POINTER] -= 8;
#else
    const uint64_t *stack = taken.stack;
    registers.value[30] = registers.value[32];
    registers.value[32] = 0;
#endif
    struct symbols_sample sample = { .registers = &registers, .stack = stack, .stack_bytes = taken.stack_bytes };
    struct scene scene = look(&sample);
    for (int walks = 0; walks < 2; walks++) {
        assert_int_equal(scene.walk.end, SYMBOLS_WHOLE);
        assert_int_equal(scene.walk.frames, taken.truth_count);
        for (int i = 1; i < taken.truth_count; i++)
            assert_ptr_equal((void *)address_at(&scene, (uint32_t)i), taken.truth[i]);
        scene.walk = symbols_unwind(scene.process, &sample);
    }
    done(&scene);
}

int main(int argument_count, char **arguments)
{
    stack_top = (uint64_t)(uintptr_t)arguments; /* above all frames of the main thread */
    const struct CMUnitTest tests[] = {
        TEST(frames_of_all_shapes),
        TEST(through_a_library),
        TEST(through_a_signal),
        TEST(a_call_that_never_returns),
        TEST(a_tail_call),
        TEST(inlined_functions_and_lines),
        TEST(what_lies_above_the_copy_is_cut),
        TEST(no_deeper_than_asked),
        TEST(equal_stacks_are_one),
        TEST(own_frames_are_left_out),
#if defined(__x86_64__)
        TEST(from_an_entry_of_the_linkage_table),
        TEST(from_the_vdso),
#endif
        TEST(from_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
