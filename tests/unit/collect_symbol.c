/* Names of functions: nsys's names of real kernels, whole and short, the other shapes a C++ name can have, and hostile
 * ones: thousands that are mutated from the real ones, the same every time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "../fuzz/fuzz_symbol.c"

#define MUTATIONS 20000
#define MAX_NAMES 512

static struct kernel {
    char *mangled, *short_name, *nsys_demangled; /* parts of one line */
} kernels[MAX_NAMES];
static size_t kernel_count;

static int load_kernels(void **state)
{
    (void)state;
    const char *source = getenv("SOURCE");
    char path[4096], *line = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "%s/tests/golden/names/kernels.tsv", source ? source : ".");
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (getline(&line, &capacity, file) > 0 && kernel_count < MAX_NAMES) {
        char *rest = strdup(line);
        struct kernel *kernel = &kernels[kernel_count++];
        kernel->mangled = strsep(&rest, "\t");
        kernel->short_name = strsep(&rest, "\t");
        kernel->nsys_demangled = strsep(&rest, "\n");
    }
    free(line);
    fclose(file);
    return 0;
}

static int free_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++)
        free(kernels[i].mangled);
    return 0;
}

static void kernels_are_as_short_as_in_nsys(void **state)
{
    (void)state;
    assert_true(kernel_count > 100);
    for (size_t i = 0; i < kernel_count; i++) {
        struct text demangled = { 0 }, ours = { 0 }, of_theirs = { 0 };
        int is_mangled = strncmp(kernels[i].mangled, "_Z", 2) == 0;
        assert_int_equal(symbol_demangle(kernels[i].mangled, &demangled), is_mangled);
        symbol_short(text_string(&demangled), &ours);
        symbol_short(kernels[i].nsys_demangled, &of_theirs);
        assert_string_equal(text_string(&ours), kernels[i].short_name);
        assert_string_equal(text_string(&of_theirs), kernels[i].short_name);
        text_free(&demangled);
        text_free(&ours);
        text_free(&of_theirs);
    }
}

static void kernels_are_named_as_in_nsys(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        struct text demangled = { 0 };
        symbol_demangle_kernel(kernels[i].mangled, &demangled);
        assert_string_equal(text_string(&demangled), kernels[i].nsys_demangled);
        text_free(&demangled);
    }
}

/* nsys's way, carried on, where it has all that a name is made of; else no part of the name is in it. */
static void kernels_of_shapes_that_no_capture_has(void **state)
{
    static const struct {
        const char *mangled, *demangled;
    } cases[] = {
        { "_Z4callIiEvPFvT_E", "void call<int>(void (*)(int))" },
        { "_Z1fIiEvRA3_T_", "void f<int>(int (&) [3])" },
        { "_Z1fIZ1gIiEPiT_iEUlvE_EvT_", "void f<g<int>(int, int)::{lambda()#1}>(g<int>(int, int)::{lambda()#1})" },
        { "_Z1fIZ1gIiE1aT_iEUlvE_EvT_", "void f<g<int>(int, int)::{lambda()#1}>(g<int>(int, int)::{lambda()#1})" },
        { "_Z1fIZ1gIiEifEUlvE_EvT_", "void f<int g<int>(float)::[lambda() (instance 1)]>(T1)" },
        { "_Z1fILin1EEvv", "void f<(int)-1>()" },
        { "_Z1fIJifEEvDpT_", "void f<int, float>(T1...)" },
        { "_Z1fIKcEvPKPT_", "void f<const char>(T1 *const *)" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text demangled = { 0 };
        symbol_demangle_kernel(cases[i].mangled, &demangled);
        assert_string_equal(text_string(&demangled), cases[i].demangled);
        text_free(&demangled);
    }
}

static void a_name_of_each_shape(void **state)
{
    static const struct {
        const char *mangled, *demangled, *short_name;
    } cases[] = {
        { "main", "main", "main" },
        { "i", "i", "i" }, /* a type's code, but no name */
        { "", "", "" },
        { "foo.cold", "foo.cold", "foo.cold" },
        { "_Z", "_Z", "_Z" },
        { "_Znot", "_Znot", "_Znot" },
        { "_Z3addii", "add(int, int)", "add" },
        { "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()", "foo" },
        { "_ZN1A3barERKS_.isra.0", "A::bar(A const&) [clone .isra.0]", "bar" },
        { "_ZNK1AcvbEv", "A::operator bool() const", "operator bool" },
        { "_ZN1AclEi", "A::operator()(int)", "operator()" },
        { "_ZN1AixEi", "A::operator[](int)", "operator[]" },
        { "_ZltIiEbRK1AIT_ES4_", "bool operator< <int>(A<int> const&, A<int> const&)", "operator<" },
        { "_ZlsIiERSoS0_RK1AIT_E", "std::ostream& operator<< <int>(std::ostream&, A<int> const&)", "operator<<" },
        { "_ZN1AptEv", "A::operator->()", "operator->" },
        { "_ZN1AnaEm", "A::operator new[](unsigned long)", "operator new[]" },
        { "_ZN1AD1Ev", "A::~A()", "~A" },
        { "_ZN1AIiEC2Ev", "A<int>::A()", "A" },
        { "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", "operator()" },
        { "_ZZNK1A1fEiENKUliE0_clEi", "A::f(int) const::{lambda(int)#2}::operator()(int) const", "operator()" },
        { "_ZN1A4workIXgtLi3ELi2EEEEvv", "void A::work<((3)>(2))>()", "work" },
        { "_Z3getIiEPFvcET_", "void (*get<int>(int))(char)", "get" },
        { "_Z3fooB5cxx11v", "foo[abi:cxx11]()", "foo" },
        { "_Z1fIiEDTcl1gfp_EET_", "decltype (g({parm#1})) f<int>(int)", "f" },
        { "_ZTV1A", "vtable for A", "A" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text demangled = { 0 }, out = { 0 };
        assert_int_equal(symbol_demangle(cases[i].mangled, &demangled),
                         strcmp(cases[i].mangled, cases[i].demangled) != 0);
        assert_string_equal(text_string(&demangled), cases[i].demangled);
        symbol_short(cases[i].demangled, &out);
        assert_string_equal(text_string(&out), cases[i].short_name);
        text_free(&demangled);
        text_free(&out);
    }
}

static void what_was_there_before_stays(void **state)
{
    struct text out = { 0 };

    (void)state;
    text_add(&out, "1: ");
    symbol_demangle("_Z1fv", &out);
    text_add(&out, ", 2: ");
    symbol_demangle("_Z1fP", &out);
    assert_string_equal(text_string(&out), "1: f(), 2: _Z1fP");
    text_free(&out);
}

/* head, then as often as fits into length: unit; then tail. The caller frees it. */
static char *repeated(const char *head, const char *unit, const char *tail, size_t length)
{
    struct text text = { 0 };
    text_add(&text, head);
    while (text.length + strlen(unit) + strlen(tail) <= length)
        text_add(&text, unit);
    text_add(&text, tail);
    return text_take(&text);
}

static void deep_long_and_growing_names_do_no_harm(void **state)
{
    static const struct {
        const char *head, *unit, *tail;
    } shapes[] = {
        { "_Z1f", "P", "i" },
        { "_Z1f", "F", "" },
        { "_Z1f", "PFv", "" },
        { "_Z1f", "M1a", "i" },
        { "_Z1f", "A1_", "i" },
        { "_Z1f", "1aI", "" },
        { "_Z1f", "1aIiE", "" },
        { "_Z1f", "N1aI", "" },
        { "_Z1f", "X", "" },
        { "_Z1fIXng", "ng", "Li1EEEvv" },
        { "_Z", "Z", "" },
        { "_ZN", "1a", "E" },
        { "_Z1fI", "iRT_", "EvT_" },
        { "_Z1fIi", "J", "" },
        { "_Z1fIiEv", "R1aIT_E", "" },
        { "_Z1fIiEv", "RT_1aIiE", "" },
        { "_Z1f", "DpDT", "" },
        { "_Z", "N", "" },
        { "_Z", "cv", "" },
        { "_Z1fUl", "UlvE_", "" },
        { "_Z1f1aIiiE", "1aIS0_S0_E", "" },
        { "_Z1fI1aIiiE", "S_IS_S_E", "EvT_" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        for (size_t length = 64; length <= 2 * SYMBOL_LONGEST_MANGLED; length *= 2) {
            char *name = repeated(shapes[i].head, shapes[i].unit, shapes[i].tail, length);
            LLVMFuzzerTestOneInput((const uint8_t *)name, strlen(name));
            free(name);
        }
    }
}

/* Each parameter is a template of twice the one before: the name doubles with every few characters. */
static int demangle_doubled(int times)
{
    struct text name = { 0 }, out = { 0 };
    text_add(&name, "_Z1f1aIiiES_IS0_S0_E");
    for (int i = 1; i <= times; i++)
        text_addf(&name, "S_IS%c_S%c_E", (i < 10 ? '0' : 'A' - 10) + i, (i < 10 ? '0' : 'A' - 10) + i);
    int demangled = symbol_demangle(text_string(&name), &out);
    if (!demangled)
        assert_string_equal(text_string(&out), text_string(&name));
    text_free(&name);
    text_free(&out);
    return demangled;
}

static void a_name_that_would_fill_the_memory_stays_mangled(void **state)
{
    (void)state;
    assert_int_equal(demangle_doubled(10), 1);
    assert_int_equal(demangle_doubled(30), 0);
}

static uint64_t random_state = 11;
static size_t random_below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)((random_state >> 16) % limit);
}

static const char *random_kernel(int demangled)
{
    const struct kernel *kernel = &kernels[random_below(kernel_count)];
    return demangled ? kernel->nsys_demangled : kernel->mangled;
}

static void mutate(struct text *name, int demangled)
{
    static const char codes[] = "_ZNSTIEJLXPRKFMADvUlcldpt0123456789(){}<>[]:: ,*&-operator";
    const char *other = random_kernel(demangled);
    size_t at = random_below(name->length), room = name->length - at, other_at = random_below(strlen(other));
    switch (random_below(4)) {
    case 0: name->bytes[at] = codes[random_below(sizeof codes - 1)]; break;
    case 1: /* leave something out */
        room = room < 4 ? room : 1 + random_below(4);
        memmove(name->bytes + at, name->bytes + at + room, name->length - at - room + 1);
        name->length -= room;
        break;
    case 2: /* the end of another name */
        name->length = at;
        text_add(name, other + other_at);
        break;
    default: memcpy(name->bytes + at, other + other_at, strnlen(other + other_at, room < 12 ? room : 12));
    }
}

static void mutated_names_do_no_harm(void **state)
{
    (void)state;
    for (int i = 0; i < MUTATIONS; i++) {
        struct text name = { 0 };
        int demangled = i % 4 == 0;
        text_add(&name, random_kernel(demangled));
        for (size_t left = 1 + random_below(4); left > 0 && name.length > 0; left--)
            mutate(&name, demangled);
        LLVMFuzzerTestOneInput((const uint8_t *)text_string(&name), name.length);
        text_free(&name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_as_short_as_in_nsys),
        cmocka_unit_test(kernels_are_named_as_in_nsys),
        cmocka_unit_test(kernels_of_shapes_that_no_capture_has),
        cmocka_unit_test(a_name_of_each_shape),
        cmocka_unit_test(what_was_there_before_stays),
        cmocka_unit_test(deep_long_and_growing_names_do_no_harm),
        cmocka_unit_test(a_name_that_would_fill_the_memory_stays_mangled),
        cmocka_unit_test(mutated_names_do_no_harm),
    };

    return cmocka_run_group_tests(tests, load_kernels, free_kernels);
}
