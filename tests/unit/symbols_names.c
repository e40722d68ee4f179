/* Which name an address gets from the symbols of a file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "symbols/name_job.h"
#include "symbols/names/symbol_names.h"
#include "symbols/runtime_names.h"

static const uint64_t addresses[] = { 0x1000, 0x1010, 0x1017, 0x1020, 0x2000, 0x2005, 0x2010, 0x2020 };
enum { COUNT = COUNT_OF(addresses) };

static void expect(const struct symbol_names_entry *symbols, size_t count, const char *const expected[COUNT])
{
    struct symbol_names names;
    assert_int_equal(symbol_names_begin(&names, addresses, COUNT), 0);
    for (size_t i = 0; i < count; i++) {
        struct symbol_names_entry symbol = symbols[i];
        symbol.room = strlen(symbol.text);
        symbol_names_add(&names, &symbol);
    }
    symbol_names_settle(&names);
    for (size_t i = 0; i < COUNT; i++) {
        const char *name = symbol_names_get(&names, i);
        assert_string_equal(name ? name : "none", expected[i] ? expected[i] : "none");
    }
    symbol_names_free(&names);
}

/* As _init and _fini are: their sections are short, and entries of a linkage table without names follow. */
static void test_a_label_ends_with_its_section(void **state)
{
    static const struct symbol_names_entry symbols[] = {
        { .start = 0x1000, .end = 0x1017, .text = "_init", .rank = 8 },
        { .start = 0x2000, .size = 6, .end = 0x3000, .text = "main", .rank = 18 },
    };
    expect(symbols, 2, (const char *const[COUNT]){ "_init", "_init", NULL, NULL, "main", "main", NULL, NULL });
}

static void test_a_label_reaches_to_the_next_function(void **state)
{
    static const struct symbol_names_entry symbols[] = {
        { .start = 0x0fff, .text = "label", .rank = 8 },
        { .start = 0x2000, .size = 6, .text = "main", .rank = 18 },
        { .start = 0x2010, .text = "last", .rank = 8 },
    };
    expect(symbols, 3,
           (const char *const[COUNT]){ "label", "label", "label", "label", "main", "main", "last", "last" });
}

static void test_the_innermost_function_and_the_better_name(void **state)
{
    static const struct symbol_names_entry symbols[] = {
        { .start = 0x1000, .size = 0x2000, .text = "all", .rank = 18 },
        { .start = 0x2000, .size = 0x10, .text = "weak", .rank = 17 },
        { .start = 0x2000, .size = 0x10, .text = "strong", .rank = 18 },
    };
    expect(symbols, 3, (const char *const[COUNT]){ "all", "all", "all", "all", "strong", "strong", "all", "all" });
}

/* ---- Of files, without reading all of their texts -------------------------------------------------------------- */

enum { WANTED = 400, EVERY = 7 };

struct seen {
    uint64_t *addresses;
    size_t count, room, visited;
};

static void note_some(void *context, const struct symbol_names_entry *symbol)
{
    struct seen *seen = context;
    if (seen->visited++ % EVERY != 0 || seen->count + 2 > WANTED)
        return;
    seen->addresses[seen->count++] = symbol->start;
    seen->addresses[seen->count++] = symbol->start + symbol->size / 2; /* within it, or at a label */
}

static void add_all(void *names, const struct symbol_names_entry *symbol)
{
    symbol_names_add(names, symbol);
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* This program's names, found by the pass that skips texts, and by the one that adds every symbol. */
static void test_skipped_texts_change_no_name(void **state)
{
    uint64_t addresses_here[WANTED];
    struct seen seen = { .addresses = addresses_here };
    struct symbol_names fast, slow;
    struct elf_image image;
    size_t named = 0;
    assert_int_equal(elf_image_open(&image, open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 0);
    symbol_names_visit_image(&image, note_some, &seen);
    assert_in_range(seen.count, 100, WANTED);
    qsort(seen.addresses, seen.count, sizeof *seen.addresses, by_address);
    assert_int_equal(symbol_names_begin(&fast, seen.addresses, seen.count), 0);
    assert_int_equal(symbol_names_begin(&slow, seen.addresses, seen.count), 0);
    symbol_names_add_image(&fast, &image);
    symbol_names_visit_image(&image, add_all, &slow);
    symbol_names_settle(&fast);
    symbol_names_settle(&slow);
    for (size_t i = 0; i < seen.count; i++) {
        const char *one = symbol_names_get(&fast, i), *other = symbol_names_get(&slow, i);
        assert_string_equal(one ? one : "none", other ? other : "none");
        named += one != NULL;
    }
    assert_in_range(named, seen.count / 2, seen.count);
    symbol_names_free(&fast);
    symbol_names_free(&slow);
    elf_image_close(&image);
}

enum { KERNEL_FUNCTIONS = 50 };
struct kernel_list {
    uint64_t wanted[KERNEL_FUNCTIONS];
    char expected[KERNEL_FUNCTIONS][128];
    size_t count;
};

/* A plain reading of the kernel's list: some functions, each by the first name of its address. */
static void read_kernel_list(struct kernel_list *list)
{
    enum { APART = 997 };
    static char line[4096];
    unsigned long long address, last = 0;
    size_t lines = 0;
    char type;
    FILE *file = fopen("/proc/kallsyms", "re");
    *list = (struct kernel_list){ 0 };
    while (file && list->count < KERNEL_FUNCTIONS && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%llx %c %127s", &address, &type, list->expected[list->count]) != 3)
            continue;
        if ((type == 't' || type == 'T') && address > last && lines++ % APART == 0)
            list->wanted[list->count++] = address;
        last = address > last ? address : last;
    }
    if (file)
        fclose(file);
    if (!list->count) {
        print_message("skipped: /proc/kallsyms shows no addresses\n");
        skip();
    }
}

static void assert_kernel_names(const struct kernel_list *list, struct kernel_names *kept)
{
    struct symbol_names names;
    assert_int_equal(symbol_names_begin(&names, list->wanted, list->count), 0);
    names_add_kernel(&names, kept);
    symbol_names_settle(&names);
    for (size_t i = 0; i < list->count; i++) {
        const char *name = symbol_names_get(&names, i);
        assert_non_null(name);
        assert_true(strncmp(name, list->expected[i], strlen(list->expected[i])) == 0);
    }
    symbol_names_free(&names);
}

static void test_names_of_the_kernel(void **state)
{
    struct kernel_list list;
    read_kernel_list(&list);
    for (int reads_list = 0; reads_list < 2; reads_list++) {
        struct kernel_names kept = { .reads_list = reads_list };
        kernel_names_begin(&kept);
        assert_kernel_names(&list, &kept);
        assert_true(!reads_list || kept.is_read);
        kernel_names_free(&kept);
    }
}

/* A kernel that stops answering, as when the privileges are gone, has its list read. */
static void test_the_list_is_read_when_the_kernel_stops_answering(void **state)
{
    struct kernel_list list;
    struct kernel_names kept = { 0 };
    read_kernel_list(&list);
    if (kernel_lookup_open(&kept.lookup) != 0) {
        print_message("skipped: the kernel refuses the program that asks for names\n");
        skip();
    }
    assert_kernel_names(&list, &kept);
    assert_false(kept.is_read);
    close(kept.lookup.program);
    kept.lookup.program = -1;
    assert_kernel_names(&list, &kept);
    assert_true(kept.is_read);
    kernel_names_free(&kept);
}

/* The kernel answers for user space and for addresses of nothing, too. */
static void test_no_name_of_the_kernel_for_what_it_does_not_know(void **state)
{
    const uint64_t foreign[] = { 0x1000, (uint64_t)(uintptr_t)&addresses };
    struct kernel_names kept = { 0 };
    struct symbol_names names;
    if (kernel_lookup_open(&kept.lookup) != 0) {
        print_message("skipped: the kernel refuses the program that asks for names\n");
        skip();
    }
    assert_int_equal(symbol_names_begin(&names, foreign, COUNT_OF(foreign)), 0);
    names_add_kernel(&names, &kept);
    symbol_names_settle(&names);
    assert_null(symbol_names_get(&names, 0));
    assert_null(symbol_names_get(&names, 1));
    symbol_names_free(&names);
    kernel_names_free(&kept);
}

/* ---- Lines that would take too long ---------------------------------------------------------------------------- */

static struct name_job name_this_function(struct symbols_module *module, const struct symbols_settings *settings,
                                          int64_t limit_ns, int may_wait, uint64_t *place)
{
    struct name_job job = { .settings = settings, .module = module, .lines_limit_ns = limit_ns, .may_wait = may_wait };
    job.places = malloc(sizeof *job.places);
    job.answers = calloc(1, sizeof *job.answers);
    assert_non_null(job.places);
    job.places[0] = *place;
    job.place_count = job.frame_count = 1;
    name_job_do(&job);
    assert_false(job.failed);
    return job;
}

static void find_main(void *place, const struct symbol_names_entry *symbol)
{
    if (strncmp(symbol->text, "main", symbol->room) == 0)
        *(uint64_t *)place = symbol->start;
}

/* They wait if a later round may find them worth it; else the name alone is given. */
static void test_lines_wait_until_they_are_worth_it(void **state)
{
    const struct symbols_settings settings = { 0 };
    struct symbols_module module = { .kind = MODULE_FILE, .state = MODULE_OPEN, .path = "self" };
    uint64_t place = 0;
    const Elf64_Shdr *information;
    assert_int_equal(elf_image_open(&module.image, open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 0);
    symbol_names_visit_image(&module.image, find_main, &place);
    assert_int_not_equal(place, 0);
    information = elf_image_section(&module.image, ".debug_info");
    assert_non_null(information);
    int64_t soon_ns = (int64_t)information->sh_size * 4; /* half of what it takes */
    struct name_job job = name_this_function(&module, &settings, soon_ns, 1, &place);
    assert_true(job.is_postponed);
    assert_null(job.answers[0].lines);
    name_job_free(&job);
    job = name_this_function(&module, &settings, soon_ns, 0, &place);
    assert_true(job.is_without_lines);
    assert_string_equal(job.answers[0].lines[0].name, "main");
    assert_null(job.answers[0].lines[0].file);
    name_job_free(&job);
    job = name_this_function(&module, &settings, INT64_MAX, 0, &place);
    assert_false(job.is_postponed || job.is_without_lines);
    assert_string_equal(job.answers[0].lines[0].name, "main");
    assert_non_null(job.answers[0].lines[0].file);
    assert_non_null(strstr(job.answers[0].lines[0].file, "symbols_names.c"));
    assert_true(job.child_ns > 0);
    name_job_free(&job);
    elf_image_close(&module.image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skipped_texts_change_no_name),
        cmocka_unit_test(test_names_of_the_kernel),
        cmocka_unit_test(test_the_list_is_read_when_the_kernel_stops_answering),
        cmocka_unit_test(test_no_name_of_the_kernel_for_what_it_does_not_know),
        cmocka_unit_test(test_lines_wait_until_they_are_worth_it),
        cmocka_unit_test(test_a_label_ends_with_its_section),
        cmocka_unit_test(test_a_label_reaches_to_the_next_function),
        cmocka_unit_test(test_the_innermost_function_and_the_better_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
