/* Partial results: medians of many lists against a sort, and tables of a set of two reports that have results in their
 * tails. A false result in a tail shows whether it is used: where it must not be, the table is still the right one. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "made_report.h"
#include "rounds.h"

#include "analyze/engine/number_lists.h"
#include "analyze/engine/stored_partials.h"
#include "analyze/registry.h"
#include "cmd/keep_partials.h"
#include "cmd/print/print.h"
#include "report/reader/partial_chunks.h"
#include "report/reader/unite.h"
#include "report/writer/append_partials.h"

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- lists of numbers ------------------------------------------------------------------------------------------ */

enum { LISTS = 5, MOST_NUMBERS = 400 };

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of all sizes, of both signs, and often the same. */
static int64_t any_number(void)
{
    int64_t number = (int64_t)(next_random() >> next_random() % 64);

    return next_random() % 8 == 0 ? INT64_MIN + (number & 1) : next_random() % 3 ? number : -(number >> 1);
}

static void put_lists(struct text *texts, struct number_list *lists, int64_t *all, size_t count)
{
    for (size_t i = 0, first = 0; i < LISTS; i++) {
        size_t those = i + 1 < LISTS ? next_random() % (count - first + 1) : count - first;
        qsort(all + first, those, sizeof *all, compare_numbers);
        number_list_put(&texts[i], all + first, those);
        lists[i] = (struct number_list){ (const uint8_t *)text_string(&texts[i]), texts[i].length };
        first += those;
    }
}

static void ranks_of_many_lists_are_those_of_a_sort(void **state)
{
    for (int round = 0; round < 200; round += rounds_step(200)) {
        int64_t all[MOST_NUMBERS], found;
        size_t count = 1 + next_random() % MOST_NUMBERS;
        struct text texts[LISTS] = { 0 };
        struct number_list lists[LISTS];
        for (size_t i = 0; i < count; i++)
            all[i] = round % 2 ? any_number() : (int64_t)(next_random() % 50000);
        put_lists(texts, lists, all, count);
        qsort(all, count, sizeof *all, compare_numbers);
        for (size_t rank = 0; rank < count; rank++) {
            assert_int_equal(number_lists_select(lists, LISTS, rank, &found), 0);
            assert_int_equal(found, all[rank]);
        }
        assert_int_equal(number_lists_select(lists, LISTS, count, &found), ERR_CORRUPT);
        double median;
        assert_int_equal(number_lists_median(lists, LISTS, count, &median), 0);
        assert_true(median == ((double)all[(count - 1) / 2] + (double)all[count / 2]) / 2);
        for (size_t i = 0; i < LISTS; i++)
            text_free(&texts[i]);
    }
}

static void damaged_lists_are_harmless(void **state)
{
    int64_t numbers[MOST_NUMBERS], found;

    for (int round = 0; round < 2000; round += rounds_step(2000)) {
        struct text text = { 0 };
        for (size_t i = 0; i < MOST_NUMBERS; i++)
            numbers[i] = any_number();
        qsort(numbers, MOST_NUMBERS, sizeof *numbers, compare_numbers);
        number_list_put(&text, numbers, MOST_NUMBERS);
        for (int i = 0; i < 3; i++)
            text.bytes[next_random() % text.length] = (char)next_random();
        struct number_list list = { (const uint8_t *)text.bytes, next_random() % 4 ? text.length : text.length / 2 };
        int code = number_lists_select(&list, 1, next_random() % MOST_NUMBERS, &found);
        assert_true(code == 0 || code == ERR_CORRUPT);
        text_free(&text);
    }
}

/* ---- results in the tails of reports --------------------------------------------------------------------------- */

enum { PARTS = 2, KERNELS = 999 };

static char paths[PARTS][64];

/* Durations that differ between reports; one name that both have, and one each. */
static void write_part(int number)
{
    struct writer *writer = start();
    const char *own = number ? "second" : "first";

    for (int i = 0; i < KERNELS; i++) {
        int64_t begin = 1000 * i, end = begin + (number ? 100 + i % 97 : 300 + i);
        made_kernel(writer, (struct made_kernel){ begin, end, 7, i, 0, 1, i % 3 ? "both" : own, "b", "m" });
    }
    report_close(finish(writer));
    assert_int_equal(rename(path, paths[number]), 0);
    close(open(path, O_WRONLY | O_CREAT, 0600));
}

static int make_parts(void **state)
{
    for (int i = 0; i < PARTS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s.%d", path, i);
        write_part(i);
    }
    return 0;
}

static int remove_parts(void **state)
{
    for (int i = 0; i < PARTS; i++)
        unlink(paths[i]);
    return 0;
}

static const struct report_part separate[PARTS] = {
    { .name = "a", .rank = 0, .system = 1 },
    { .name = "b", .rank = 1, .system = 1 },
};

/* The table of both as text; the caller frees it. */
static char *table_of(const struct report_part *abouts, const struct analysis_request *request)
{
    struct report *parts[PARTS], *set;
    struct table *table;
    struct text out = { 0 };
    struct error err = { 0 };
    const struct print_request plain = { .time = time_unit_find("nanoseconds") };

    for (int i = 0; i < PARTS; i++)
        assert_int_equal(report_open_part(paths[i], 1, &parts[i], &err), 0);
    assert_int_equal(report_use_threads(parts[0], &err), 0);
    assert_int_equal(report_unite(parts, abouts, PARTS, &set, &err), 0);
    if (analysis_run(&analysis_cuda_gpu_kern_sum, set, request, &table, &err) != 0)
        fail_msg("%s", err.text);
    print_csv.table(&out, table, &plain);
    table_delete(table);
    report_close(set);
    return text_take(&out);
}

static const struct analysis_request nothing_special;

/* Gives a report the result of another under a key. */
static void keep_of(int number, int other, uint64_t key)
{
    struct report *from, *to;
    struct text bytes = { 0 };
    struct error err = { 0 };

    assert_int_equal(report_open(paths[other], &from, &err), 0);
    assert_int_equal(report_open(paths[number], &to, &err), 0);
    assert_int_equal(stored_partial_make(&analysis_cuda_gpu_kern_sum, from, &nothing_special, &bytes, &err), 0);
    const struct kept_partial kept = { key, text_string(&bytes), bytes.length };
    assert_int_equal(report_append_partials(paths[number], to, &kept, 1, &err), 0);
    report_close(from);
    report_close(to);
    text_free(&bytes);
}

static uint64_t right_key(void)
{
    return stored_partial_key(&analysis_cuda_gpu_kern_sum, &nothing_special);
}

static void expect_same(const char *what, char *expected, char *got)
{
    if (strcmp(expected, got) != 0)
        fail_msg("%s:\n%s\ninstead of\n%s", what, got, expected);
    free(expected);
    free(got);
}

static void right_results_make_the_same_table(void **state)
{
    struct error err = { 0 };

    char *expected = table_of(separate, &nothing_special);
    for (int i = 0; i < PARTS; i++) { /* twice: they are replaced */
        struct report *report;
        for (int again = 0; again < 2; again++) {
            assert_int_equal(report_open(paths[i], &report, &err), 0);
            assert_int_equal(keep_partials(paths[i], report, &err), 0);
            report_close(report);
        }
        assert_int_equal(report_open(paths[i], &report, &err), 0);
        assert_true(report_has_partial(report, right_key()));
        report_check(report);
        assert_true(report_health(report).complete && !report_health(report).damaged_chunks);
        report_close(report);
    }
    char *one = table_of(separate, &nothing_special);
    write_part(0); /* one of them without */
    char *other = table_of(separate, &nothing_special);
    assert_string_equal(other, expected);
    free(other);
    expect_same("results of both", expected, one);
}

static void a_false_result_shows_that_it_is_used(void **state)
{
    char *expected = table_of(separate, &nothing_special);
    keep_of(0, 1, right_key());
    char *got = table_of(separate, &nothing_special);

    assert_string_not_equal(expected, got);
    free(expected);
    free(got);
}

/* What is asked for, and of what, with a false result and without any. */
static void expect_unused(const char *what, const struct report_part *abouts, const struct analysis_request *request,
                          uint64_t key)
{
    write_part(0);
    char *expected = table_of(abouts, request);
    keep_of(0, 1, key);
    expect_same(what, expected, table_of(abouts, request));
    write_part(0);
}

static void a_result_of_another_version_is_not_used(void **state)
{
    expect_unused("another key", separate, &nothing_special, right_key() + 1);
}

static void a_result_is_not_used_for_a_part_of_the_rows(void **state)
{
    const struct report_span span = { 5000, 600000 };
    const struct analysis_filter filter = { .only = ONLY_STREAM, .stream = 1 };
    const struct analysis_option option = { "base", NULL };

    expect_unused("a span", separate, &(struct analysis_request){ .span = &span }, right_key());
    expect_unused("a filter", separate, &(struct analysis_request){ .filter = &filter }, right_key());
    expect_unused("an option", separate, &(struct analysis_request){ .options = &option, .option_count = 1 },
                  right_key());
}

static void a_result_is_not_used_if_the_set_changes_durations(void **state)
{
    const struct report_knot drift = { 0, 5, 30e-6 }, two[] = { { 0, 5, 0 }, { 500000, 900, 0 } };
    struct report_part parts[PARTS] = { separate[0], separate[1] };

    parts[0].knots = &drift;
    parts[0].knot_count = 1;
    expect_unused("a drift", parts, &nothing_special, right_key());
    parts[0].knots = two;
    parts[0].knot_count = 2;
    expect_unused("a step of the clock", parts, &nothing_special, right_key());
}

static void a_result_is_not_used_if_a_process_may_be_in_both(void **state)
{
    struct report_part parts[PARTS] = { separate[0], separate[1] };

    parts[1].rank = 0;
    expect_unused("the same rank", parts, &nothing_special, right_key());
    parts[0].rank = parts[1].rank = -1;
    expect_unused("no rank", parts, &nothing_special, right_key());
}

static void a_part_of_which_no_row_is_asked_for_does_not_hide_the_others(void **state)
{
    const struct report_rank rank = { made_thread(7, 0), 3, NULL };
    const int64_t other_rank = 5;
    struct report_part parts[PARTS] = { separate[0], separate[1] };

    parts[0].rank = -1;
    parts[0].system = 2;
    parts[0].ranks = &rank;
    parts[0].rank_count = 1;
    parts[0].kept_ranks = &other_rank;
    parts[0].kept_rank_count = 1;
    char *expected = table_of(parts, &nothing_special);
    assert_null(strstr(expected, "first"));
    keep_of(1, 1, right_key());
    expect_same("no rows of one", expected, table_of(parts, &nothing_special));
}

static void a_damaged_result_is_not_used(void **state)
{
    static const char chunk[] = "TCHK\5";
    char *expected = table_of(separate, &nothing_special), *at;
    struct text bytes = { 0 };

    keep_of(0, 1, right_key());
    assert_int_equal(text_add_file(&bytes, paths[0]), 0);
    at = memmem(bytes.bytes, bytes.length, chunk, sizeof chunk - 1);
    assert_non_null(at);
    at[60] ^= 0x10;
    assert_int_equal(text_write_file(&bytes, paths[0]), 0);
    text_free(&bytes);
    expect_same("damage", expected, table_of(separate, &nothing_special));
}

/* ---- writers that are stopped ---------------------------------------------------------------------------------- */

enum { FEW_KERNELS = 40, ROWS_EVERY = 17 };

/* A small report, so that it can be opened once for each byte of its tail. Returns its size. */
static off_t write_small(void)
{
    struct writer *writer = start();
    struct stat file;

    for (int i = 0; i < FEW_KERNELS; i++)
        made_kernel(writer, (struct made_kernel){ 100 * i, 100 * i + 7 + i, 7, i, 0, 1, i % 3 ? "a" : "c", "b", "m" });
    report_close(finish(writer));
    assert_int_equal(stat(path, &file), 0);
    return file.st_size;
}

static void keep_results(int expected)
{
    struct report *report;
    struct error err = { 0 };

    assert_int_equal(report_open(path, &report, &err), 0);
    assert_int_equal(keep_partials(path, report, &err), expected);
    report_close(report);
}

static char *table_of_one(struct report *report)
{
    const struct print_request plain = { .time = time_unit_find("nanoseconds") };
    struct text out = { 0 };
    struct table *table;
    struct error err = { 0 };

    if (analysis_run(&analysis_cuda_gpu_kern_sum, report, &nothing_special, &table, &err) != 0)
        fail_msg("%s", err.text);
    print_csv.table(&out, table, &plain);
    table_delete(table);
    return text_take(&out);
}

/* The file as it is: complete, undamaged, and with all rows. */
static void expect_complete(const char *rows, off_t size)
{
    struct report *report;
    struct error err = { 0 };

    if (report_open_part(path, 1, &report, &err) != 0)
        fail_msg("%lld bytes: %s", (long long)size, err.text);
    struct report_health health = report_health(report);
    if (!health.complete || health.damaged_chunks || health.recovered)
        fail_msg("%lld bytes: complete %d, %llu damaged", (long long)size, health.complete,
                 (unsigned long long)health.damaged_chunks);
    if (rows) {
        char *got = table_of_one(report);
        assert_string_equal(got, rows);
        free(got);
    }
    report_close(report);
}

static char *rows_of_path(void)
{
    struct report *report;
    struct error err = { 0 };

    assert_int_equal(report_open(path, &report, &err), 0);
    char *rows = table_of_one(report);
    report_close(report);
    return rows;
}

static void a_report_whose_tail_is_cut_anywhere_is_complete(void **state)
{
    off_t old = write_small();
    char *rows = rows_of_path();
    struct stat file;

    keep_results(0);
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size > old + 100);
    for (off_t size = file.st_size; size >= old; size--) {
        assert_int_equal(truncate(path, size), 0);
        expect_complete(size % ROWS_EVERY && size != old ? NULL : rows, size);
    }
    free(rows);
}

/* After a crash of the machine a file can have its new size, but not all bytes. */
static void a_report_whose_tail_is_zero_is_complete(void **state)
{
    off_t old = write_small();
    char *rows = rows_of_path();
    struct stat file;

    keep_results(0);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(truncate(path, old), 0);
    assert_int_equal(truncate(path, file.st_size), 0);
    expect_complete(rows, file.st_size);
    free(rows);
}

static void a_tail_that_does_not_fit_leaves_the_report_as_it_was(void **state)
{
    off_t old = write_small();
    struct rlimit before, limit;
    struct text bytes = { 0 }, after = { 0 };

    assert_int_equal(text_add_file(&bytes, path), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){ (rlim_t)old + 100, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    keep_results(ERR_NO_SPACE);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(text_add_file(&after, path), 0);
    assert_int_equal(after.length, bytes.length);
    assert_memory_equal(after.bytes, bytes.bytes, bytes.length);
    text_free(&bytes);
    text_free(&after);
}

/* A report that stops before its end is not complete, whatever lies behind its last rows. */
static void a_report_without_its_end_is_not_complete(void **state)
{
    off_t old = write_small();
    struct report *report;
    struct error err = { 0 };

    for (off_t size = old - 1; size > old - 60; size--) {
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(report_open_part(path, 1, &report, &err), 0);
        assert_false(report_health(report).complete);
        report_close(report);
    }
}

/* A few bytes may become many megabytes. A writer keeps no such result. */
static void a_result_that_is_too_long_is_not_read(void **state)
{
    enum { LENGTH = (64 << 10) + 1 };
    static const char zeros[LENGTH];
    struct report *report;
    struct report_partial found;
    struct error err = { 0 };

    for (size_t length = LENGTH - 1; length <= LENGTH; length++) {
        const struct kept_partial kept = { 5, zeros, length };
        write_small();
        assert_int_equal(report_open(path, &report, &err), 0);
        assert_int_equal(report_append_partials(path, report, &kept, 1, &err), 0);
        report_close(report);
        assert_int_equal(report_open(path, &report, &err), 0);
        assert_true(report_has_partial(report, 5));
        assert_int_equal(report_read_partial(report, 5, &found), length == LENGTH ? ERR_CORRUPT : 0);
        free(found.memory);
        report_close(report);
    }
}

int main(void)
{
#define WITH_PARTS(test) cmocka_unit_test_setup_teardown(test, make_parts, remove_parts)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_many_lists_are_those_of_a_sort),
        cmocka_unit_test(damaged_lists_are_harmless),
        WITH_PARTS(right_results_make_the_same_table),
        WITH_PARTS(a_false_result_shows_that_it_is_used),
        WITH_PARTS(a_result_of_another_version_is_not_used),
        WITH_PARTS(a_result_is_not_used_for_a_part_of_the_rows),
        WITH_PARTS(a_result_is_not_used_if_the_set_changes_durations),
        WITH_PARTS(a_result_is_not_used_if_a_process_may_be_in_both),
        WITH_PARTS(a_part_of_which_no_row_is_asked_for_does_not_hide_the_others),
        WITH_PARTS(a_damaged_result_is_not_used),
        cmocka_unit_test(a_report_whose_tail_is_cut_anywhere_is_complete),
        cmocka_unit_test(a_report_whose_tail_is_zero_is_complete),
        cmocka_unit_test(a_tail_that_does_not_fit_leaves_the_report_as_it_was),
        cmocka_unit_test(a_report_without_its_end_is_not_complete),
        cmocka_unit_test(a_result_that_is_too_long_is_not_read),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
