/* Tables for people: units, names, bars, and which columns a narrow terminal drops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/print/human_cell.h"
#include "cmd/print/print_human.h"
#include "cmd/print/short_name.h"

static void expect_number(enum table_unit unit, struct table_cell cell, const struct print_time_unit *time,
                          const char *expected)
{
    const struct table_column column = { "X", cell.kind, unit, 1 };
    struct text out = { 0 };

    human_cell_add(&out, &column, &cell, time);
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
}
#define WHOLE(value) ((struct table_cell){ .kind = CELL_INT, .integer = value })
#define REAL(value) ((struct table_cell){ .kind = CELL_REAL, .real = value })

static void test_times_have_four_digits_and_the_unit_that_suits_them(void **state)
{
    static const struct {
        double ns;
        const char *expected;
    } times[] = {
        { 0, "0 ns" },
        { 999, "999 ns" },
        { 999.4, "999 ns" },
        { 999.5, "1.000 µs" },
        { 9999, "9.999 µs" },
        { 9999.5, "10.00 µs" },
        { 436900, "436.9 µs" },
        { 999949, "999.9 µs" },
        { 999950, "1.000 ms" },
        { 999949999, "999.9 ms" },
        { 999950000, "1.000 s " },
        { 13457500000.0, "13.46 s " },
        { 999950000000.0, "1,000 s " },
        { 86400e9, "86,400 s " },
        { -1500, "-1.500 µs" },
    };

    for (size_t i = 0; i < COUNT_OF(times); i++)
        expect_number(UNIT_NS, REAL(times[i].ns), &time_unit_auto, times[i].expected);
    expect_number(UNIT_TIME, WHOLE(13457512499), &time_unit_auto, "13.457512 s");
    expect_number(UNIT_NS, WHOLE(999950), time_unit_find("usec"), "999.950");
    assert_ptr_equal(time_unit_find("auto"), &time_unit_auto);
    assert_ptr_equal(time_unit_find("a"), &time_unit_auto);
}

static void test_sizes_shares_counts_and_ids(void **state)
{
    expect_number(UNIT_BYTES, WHOLE(999), &time_unit_auto, "999 B ");
    expect_number(UNIT_BYTES, WHOLE(1000), &time_unit_auto, "1.000 kB");
    expect_number(UNIT_BYTES, WHOLE(-2300000), &time_unit_auto, "-2.300 MB");
    expect_number(UNIT_MEGABYTES, REAL(0.000004), &time_unit_auto, "4 B ");
    expect_number(UNIT_MEGABYTES, REAL(51380.224), &time_unit_auto, "51.38 GB");
    expect_number(UNIT_PERCENT, REAL(99.95), &time_unit_auto, "100.0 %");
    expect_number(UNIT_NONE, WHOLE(1234567), &time_unit_auto, "1,234,567");
    expect_number(UNIT_ID, WHOLE(1234567), &time_unit_auto, "1234567");
}

static void expect_name(const char *name, size_t columns, const char *expected)
{
    struct text out = { 0 };
    size_t taken = short_name_add(&out, name, strlen(name), columns);

    assert_string_equal(text_string(&out), expected);
    assert_true(taken <= columns);
    text_free(&out);
}

static void test_names_of_functions_lose_what_matters_least(void **state)
{
    static const char
        kernel[] = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, "
                   "at::native::MulFunctor<float>>, std::array<char *, 3>>(int, T2)";

    expect_name(kernel, 200, kernel);
    expect_name(kernel, 140,
                "at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float, "
                "at::native::MulFunctor<float>>, std::array<char *, 3>>");
    expect_name(kernel, 100,
                "vectorized_elementwise_kernel<(int)4, BinaryFunctor<float, MulFunctor<float>>, array<char *, 3>>");
    expect_name(kernel, 70, "vectorized_elementwise_kernel<(int)4, BinaryFunctor<…>, array<…>>");
    expect_name(kernel, 34, "vectorized_elementwise_kernel<(in…");
    expect_name("void <unnamed>::pool<float>(int)", 20, "pool<float>");
    expect_name("at::(anonymous namespace)::pool(int)", 20, "pool");
    expect_name("torch::autograd::ReadyQueue::pop()", 20, "ReadyQueue::pop");
    expect_name("std::ostream& std::operator<< <int>(std::ostream&)", 20, "operator<< <int>");
    expect_name("a::Big::operator()(int) const", 17, "Big::operator()");
    expect_name("a range that is (not) a function (1)", 21, "a range th…nction (1)");
    expect_name("sm90_xmma_fprop_tilesize64x64", 15, "sm90_xm…ze64x64");
    expect_name("日本語の名前です", 9, "日本…です");
    expect_name("abc", 1, "…");
}

static void test_functions_keep_their_names_and_lines(void **state)
{
    static const char
        function[] = "std::_Rb_tree<std::basic_string<char, std::char_traits<char> >, std::pair<int, int> >::"
                     "_M_lower_bound(std::_Rb_tree_node<int>*) (stl_tree.h:1950)";

    expect_name(function, 200, function);
    expect_name(function, 110,
                "_Rb_tree<basic_string<char, char_traits<char> >, pair<int, int> >::_M_lower_bound (stl_tree.h:1950)");
    expect_name(function, 80, "_Rb_tree<basic_string<…>, pair<…> >::_M_lower_bound (stl_tree.h:1950)");
    expect_name(function, 50, "_Rb_tree<…>::_M_lower_bound (stl_tree.h:1950)");
    expect_name(function, 41, "_Rb_tree<…>…lower_bound (stl_tree.h:1950)");
    expect_name("_ZN2at3addEv (add.cc:7)", 40, "at::add() (add.cc:7)");
    expect_name("do_job (queue.c:32)", 17, "do_job (…ue.c:32)");
    expect_name("a_long_name_of_a_function (queue.c:32)", 26, "a_long…nction (queue.c:32)");
    expect_name("a_long_name_of_a_function (a_file_of_a_long_name.c:32)", 26, "a_long…nction (…name.c:32)");
    expect_name("memcpy (libc.so.6)", 12, "memcpy…so.6)");
    expect_name("(:1)", 2, "(…");
}

static void test_names_that_would_look_equal_are_cut_where_they_differ(void **state)
{
    static const struct table_column column = { "Name", CELL_TEXT, UNIT_NAME, 0 };
    static const char *const names[] = { "apply_kernel<First<int>, Second<int>, Plus<int>>",
                                         "apply_kernel<First<int>, Second<int>, Times<int>>", "other<Some, Long, List>",
                                         "apply_kernel<First<int>, Second<int>, Plus<int>>" };
    const struct print_request request = { .time = &time_unit_auto, .terminal_columns = 24, .no_header = 1 };
    struct table *table = table_new(&column, 1);
    struct text out = { 0 };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        cell_set_text(table, table_add_row(table), names[i], strlen(names[i]));
    print_human.table(&out, table, &request);
    assert_string_equal(text_string(&out), "  apply_kerne…Plus<int>>\n"
                                           "  apply_kern…Times<int>>\n"
                                           "  other<Some, Long, Lis…\n"
                                           "  apply_kerne…Plus<int>>\n");
    table_delete(table);
    text_free(&out);
}

/* Each name is told from each other one, though heads and ends are equal, and inner arguments would be left out. */
static void test_names_that_differ_in_their_middle(void **state)
{
    static const struct table_column column = { "Name", CELL_TEXT, UNIT_NAME, 0 };
    static const struct {
        const char *name, *expected;
    } names[] = {
        { "sm90_xmma_wgrad_gemm_indexed_tilesize64x64x32_warpgroupsize1x1x1_kernel__5x_cudnn",
          "  sm90_xmm…tilesize64x64x32…\n" },
        { "sm90_xmma_wgrad_gemm_indexed_tilesize64x32x32_warpgroupsize1x1x1_kernel__5x_cudnn",
          "  sm90_xmm…tilesize64x32x32…\n" },
        { "void at::Kernel<at::Convolution<Shape<64, 128>, float, float, Layout<float>>>(at::T)",
          "  Kernel<Convolutio…float>>>\n" },
        { "void at::Kernel<at::Convolution<Shape<64, 64>, float, float, Layout<float>>>(at::T)",
          "  Kernel<C…64>, float, floa…\n" },
        { "void at::Kernel<at::Convolution<Shape<64, 128>, float, float, Layout<double>>>(at::T)",
          "  Kernel<Convoluti…double>>>\n" },
        { "void copy_all_the_elements(int *)", "  void copy_all_the_e…int *)\n" },
        { "void copy_all_the_elements(long *)", "  void copy_all_the_…long *)\n" },
    };
    const struct print_request request = { .time = &time_unit_auto, .terminal_columns = 28, .no_header = 1 };
    struct table *table = table_new(&column, 1);
    struct text out = { 0 }, expected = { 0 };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        cell_set_text(table, table_add_row(table), names[i].name, strlen(names[i].name));
        text_add(&expected, names[i].expected);
    }
    print_human.table(&out, table, &request);
    assert_string_equal(text_string(&out), text_string(&expected));
    table_delete(table);
    text_free(&out);
    text_free(&expected);
}

static void test_mangled_names_and_versions_of_calls(void **state)
{
    expect_name("_ZN7cutlass7Kernel2I5shapeEEvNT_6ParamsE", 80, "void cutlass::Kernel2<shape>(shape::Params)");
    expect_name("_ZN7cutlass7Kernel2I5shapeEEvNT_6ParamsE", 20, "Kernel2<shape>");
    expect_name("_ZN2at4cuda5countEv@plt", 80, "at::cuda::count()@plt");
    expect_name("__device_stub__ZN2at3addEi(int)", 80, "at::add(int)");
    expect_name("_Znot_a_name", 80, "_Znot_a_name");
    expect_name("cudaMemcpyAsync_v3020", 80, "cudaMemcpyAsync");
    expect_name("cudaLaunchKernelExC_v11060", 80, "cudaLaunchKernelExC");
    expect_name("cuMemAlloc_v2", 80, "cuMemAlloc_v2");
    expect_name("my_call_v3020", 80, "my_call_v3020");
}

static void test_names_are_any_bytes(void **state)
{
    struct text out = { 0 };

    short_name_add(&out, "a\0b\033[1m", 7, 80);
    assert_string_equal(text_string(&out), "a\\x00b\\x1b[1m");
    text_clear(&out);
    short_name_add(&out, "_Z\xff\0", 4, 80);
    assert_string_equal(text_string(&out), "_Z\\xff\\x00");
    text_clear(&out);
    short_name_add(&out, "", 0, 1);
    assert_string_equal(text_string(&out), "");
    text_free(&out);
}

static void test_bars_are_made_of_eighths(void **state)
{
    static const struct {
        double fraction;
        const char *expected;
    } bars[] = { { 0, "    " }, { 1, "████" }, { 2, "████" }, { 0.5, "██  " }, { 0.001, "▏   " }, { 0.28, "█▏  " } };

    for (size_t i = 0; i < COUNT_OF(bars); i++) {
        struct text out = { 0 };
        human_bar_add(&out, bars[i].fraction, 4);
        assert_string_equal(text_string(&out), bars[i].expected);
        text_free(&out);
    }
}

enum { TIME, TOTAL, CALLS, AVG, MED, MIN, MAX, STDDEV, NAME, MODULE, COLUMNS };
static struct table *summary(const double *shares, size_t count)
{
    static const struct table_column columns[COLUMNS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 },  { "Total Time", CELL_INT, UNIT_NS, 0 },
        { "Num Calls", CELL_INT, UNIT_NONE, 0 }, { "Avg", CELL_REAL, UNIT_NS, 1 },
        { "Med", CELL_REAL, UNIT_NS, 1 },        { "Min", CELL_INT, UNIT_NS, 0 },
        { "Max", CELL_INT, UNIT_NS, 0 },         { "StdDev", CELL_REAL, UNIT_NS, 1 },
        { "Name", CELL_TEXT, UNIT_NAME, 0 },     { "Module", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, COLUMNS);

    for (size_t i = 0; i < count; i++) {
        struct table_cell *row = table_add_row(table);
        cell_set_real(&row[TIME], shares[i]);
        cell_set_int(&row[TOTAL], (int64_t)(shares[i] * 1e6));
        cell_set_int(&row[CALLS], 1234 + (int64_t)i);
        for (size_t c = AVG; c <= STDDEV; c++)
            if (table_columns(table)[c].kind == CELL_INT)
                cell_set_int(&row[c], 436900 + (int64_t)i);
            else
                cell_set_real(&row[c], 436900 + (double)i);
        cell_set_text(table, &row[NAME], i ? "pthread_cond_wait1" : "pthread_mutex_lock", 18);
        cell_set_text(table, &row[MODULE], i ? "/usr/lib/libm.so.6" : "/usr/lib/libc.so.6", 18);
    }
    return table;
}

static void expect_table(size_t width, const char *expected)
{
    static const double shares[] = { 75, 25 };
    struct table *table = summary(shares, 2);
    struct text out = { 0 };

    print_human.table(&out, table, &(struct print_request){ .time = &time_unit_auto, .terminal_columns = width });
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

static void test_the_least_important_columns_go_first(void **state)
{
    expect_table(
        200,
        "  Name                  Time               Total  Calls       Avg       Med       Min       Max    StdDev  "
        "Module\n"
        "  pthread_mutex_lock  75.0 %  ████████  75.00 ms  1,234  436.9 µs  436.9 µs  436.9 µs  436.9 µs  436.9 µs  "
        "libc.so.6\n"
        "  pthread_cond_wait1  25.0 %  ██▋       25.00 ms  1,235  436.9 µs  436.9 µs  436.9 µs  436.9 µs  436.9 µs  "
        "libm.so.6\n");
    expect_table(80, "  Name                  Time               Total  Calls       Avg  Module\n"
                     "  pthread_mutex_lock  75.0 %  ████████  75.00 ms  1,234  436.9 µs  libc.so.6\n"
                     "  pthread_cond_wait1  25.0 %  ██▋       25.00 ms  1,235  436.9 µs  libm.so.6\n");
    expect_table(50, "  Name                  Time     Total  Calls\n"
                     "  pthread_mutex_lock  75.0 %  75.00 ms  1,234\n"
                     "  pthread_cond_wait1  25.0 %  25.00 ms  1,235\n");
    expect_table(30, "  Name                  Time\n"
                     "  pthread_mutex_lock  75.0 %\n"
                     "  pthread_cond_wait1  25.0 %\n");
    expect_table(10, "  Name\n  pthr…ock\n  pthr…it1\n");
    expect_table(1, "  …\n  …\n  …\n");
}

/* A column that is the same in all rows goes first, and one that alone tells two rows apart stays. */
static void test_columns_that_tell_rows_apart_stay(void **state)
{
    static const struct table_column columns[] = {
        { "Waited For", CELL_TEXT, UNIT_NAME, 0 }, { "Time", CELL_REAL, UNIT_PERCENT, 1 },
        { "Count", CELL_INT, UNIT_NONE, 0 },       { "Threads", CELL_INT, UNIT_NONE, 0 },
        { "PID", CELL_INT, UNIT_ID, 0 },           { "TID", CELL_INT, UNIT_ID, 0 },
    };
    struct table *table = table_new(columns, 6);
    struct text out = { 0 };

    for (int i = 0; i < 2; i++) {
        struct table_cell *row = table_add_row(table);
        cell_set_text(table, &row[0], "read", 4);
        cell_set_real(&row[1], 50 + i);
        cell_set_int(&row[2], 7 + i);
        cell_set_int(&row[3], 1);
        cell_set_int(&row[4], 10);
        cell_set_int(&row[5], 10 + i);
    }
    print_human.table(&out, table, &(struct print_request){ .time = &time_unit_auto, .terminal_columns = 44 });
    assert_string_equal(text_string(&out), "  Waited For    Time            Count  TID\n"
                                           "  read        50.0 %  ███████▉      7   10\n"
                                           "  read        51.0 %  ████████      8   11\n");
    text_clear(&out);
    print_human.table(&out, table, &(struct print_request){ .time = &time_unit_auto, .terminal_columns = 26 });
    assert_string_equal(text_string(&out), "  Waited For    Time  TID\n"
                                           "  read        50.0 %   10\n"
                                           "  read        51.0 %   11\n");
    text_free(&out);
    table_delete(table);
}

static void test_headings_differ(void **state)
{
    static const struct table_column columns[] = {
        { "Name", CELL_TEXT, UNIT_NAME, 0 },    { "Running", CELL_REAL, UNIT_PERCENT, 1 },
        { "Running", CELL_INT, UNIT_NS, 0 },    { "Total", CELL_REAL, UNIT_PERCENT, 1 },
        { "Total Time", CELL_INT, UNIT_NS, 0 },
    };
    struct table *table = table_new(columns, 5);
    struct text out = { 0 };

    print_human.table(&out, table, &(struct print_request){ .time = &time_unit_auto, .terminal_columns = 80 });
    assert_string_equal(text_string(&out), "  Name  Running (%)  Running  Total  Total Time\n");
    text_free(&out);
    table_delete(table);
}

static void test_rows_of_0_percent_at_the_end_do_not_count(void **state)
{
    static const struct {
        double shares[4];
        size_t expected;
    } cases[] = { { { 90, 0.01, 9.9, 0.04 }, 3 }, { { 99, 0.05, 0.04, 0 }, 2 }, { { 0.04, 0.04, 0.04, 0.04 }, 4 } };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct table *table = summary(cases[i].shares, 4);
        assert_int_equal(print_human_rows(table), cases[i].expected);
        table_delete(table);
    }
}

static void test_sentences_stand_below_their_row(void **state)
{
    static const struct table_column columns[] = { { "Impact", CELL_INT, UNIT_NS, 0 },
                                                   { "Rule", CELL_TEXT, UNIT_NONE, 0 },
                                                   { "Finding", CELL_TEXT, UNIT_NONE, 0 } };
    static const char finding[] = "lock\n 0x1 of averyveryverylongname held";
    struct table *table = table_new(columns, 3);
    struct table_cell *row = table_add_row(table);
    struct text out = { 0 };

    cell_set_int(&row[0], 756000000);
    cell_set_text(table, &row[1], "lock_wait", 9);
    cell_set_text(table, &row[2], finding, sizeof finding - 1);
    print_human.table(&out, table,
                      &(struct print_request){ .time = &time_unit_auto, .terminal_columns = 22, .colour = 1 });
    assert_string_equal(text_string(&out), "\033[2m  Rule         Impact\n\033[0m"
                                           "  lock_wait  756.0 ms\n"
                                           "    lock\\n 0x1 of\n"
                                           "    averyveryverylongn\n"
                                           "    ame held\n");
    text_free(&out);
    table_delete(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_have_four_digits_and_the_unit_that_suits_them),
        cmocka_unit_test(test_sizes_shares_counts_and_ids),
        cmocka_unit_test(test_names_of_functions_lose_what_matters_least),
        cmocka_unit_test(test_functions_keep_their_names_and_lines),
        cmocka_unit_test(test_names_that_would_look_equal_are_cut_where_they_differ),
        cmocka_unit_test(test_names_that_differ_in_their_middle),
        cmocka_unit_test(test_mangled_names_and_versions_of_calls),
        cmocka_unit_test(test_names_are_any_bytes),
        cmocka_unit_test(test_bars_are_made_of_eighths),
        cmocka_unit_test(test_the_least_important_columns_go_first),
        cmocka_unit_test(test_columns_that_tell_rows_apart_stay),
        cmocka_unit_test(test_headings_differ),
        cmocka_unit_test(test_rows_of_0_percent_at_the_end_do_not_count),
        cmocka_unit_test(test_sentences_stand_below_their_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
