/* The columns of dmon and pmon, and their lines. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compat/smi/monitor_table.h"

enum { MOST = 64 };

struct named {
    char letter;
    const char *name, *unit;
};

static const struct named dmon[] = {
#define DMON_COLUMN(letter, name, unit, scale, kind, reading) { letter, name, unit },
#define DMON_GPM(name, reading) { 0, name, "GPM:MiB/s" },
#include "compat/smi/dmon_columns.def"
};

static const struct named pmon[] = {
#define PMON_COLUMN(id, letter, name, unit, heading_width, width, scale) { letter, name, unit },
#include "compat/smi/pmon_columns.def"
};

/* The letters of `nvidia-smi dmon -h` and `pmon -h` of driver 580, and the columns of each. */
static void letters_have_their_columns(void **state)
{
    static const struct {
        const struct named *columns;
        size_t count;
        char letter;
        const char *names;
    } letters[] = {
        { dmon, COUNT_OF(dmon), 'p', "pwr gtemp mtemp " }, { dmon, COUNT_OF(dmon), 'u', "sm mem enc dec jpg ofa " },
        { dmon, COUNT_OF(dmon), 'c', "mclk pclk " },       { dmon, COUNT_OF(dmon), 'v', "pviol tviol " },
        { dmon, COUNT_OF(dmon), 'm', "fb bar1 ccpm " },    { dmon, COUNT_OF(dmon), 'e', "sbecc dbecc pci " },
        { dmon, COUNT_OF(dmon), 't', "rxpci txpci " },     { pmon, COUNT_OF(pmon), 'u', "sm mem enc dec jpg ofa " },
        { pmon, COUNT_OF(pmon), 'm', "fb ccpm " },
    };

    for (size_t i = 0; i < COUNT_OF(letters); i++) {
        char names[128] = "";
        for (size_t k = 0; k < letters[i].count; k++)
            if (letters[i].columns[k].letter == letters[i].letter)
                strcat(strcat(names, letters[i].columns[k].name), " ");
        assert_string_equal(names, letters[i].names);
    }
}

static void names_and_units_fit_their_columns(void **state)
{
    for (size_t i = 0; i < COUNT_OF(dmon); i++) {
        size_t width = dmon[i].letter ? 6 : 10;
        assert_true(strlen(dmon[i].name) <= width && strlen(dmon[i].unit) <= width);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(dmon[i].name, dmon[k].name);
    }
}

/* Each metric of GPM that tacho-gpu reads has a column. */
static void gpm_metrics_have_columns(void **state)
{
    static const int has_column[GPU_READINGS] = {
#define DMON_GPM(name, reading) [GPU_READING_##reading] = 1,
#include "compat/smi/dmon_columns.def"
    };
    static const int is_gpm[GPU_READINGS] = {
#define GPM_READING(id, number, name, unit) [GPU_READING_##id] = 1,
#include "wire/gpu_readings.def"
    };

    for (size_t i = 0; i < GPU_READINGS; i++)
        assert_int_equal(has_column[i], is_gpm[i]);
}

static const struct monitor_column columns[] = {
    { 'a', "one", "W", 6, 6, 1 },
    { 'b', "two", "MHz", 6, 6, 1e6 },
    { 'a', "three", "MB", 6, 6, 1048576 },
    { 0, "command", "name", -15, -15, 1 },
};

static void letters_are_taken_in_order_and_once(void **state)
{
    struct monitor_table table = { 0 };

    assert_null(monitor_table_select(&table, columns, 4, "bab"));
    assert_int_equal(table.count, 3);
    assert_ptr_equal(table.columns[0], &columns[1]);
    assert_ptr_equal(table.columns[1], &columns[0]);
    assert_ptr_equal(table.columns[2], &columns[2]);
    assert_string_equal(monitor_table_select(&table, columns, 4, "ax"), "x");
}

static const char *line(struct monitor_table *table, const struct monitor_cell *cells)
{
    static char got[1024];
    struct text out = { 0 };
    const struct gpu_device gpu = { .device = 3, .uuid = "GPU-\"3\"" };

    monitor_table_line(&out, table, &gpu, 1700000000123456789, cells);
    snprintf(got, sizeof got, "%s", text_string(&out));
    text_free(&out);
    return got;
}

static void a_line_has_three_forms(void **state)
{
    const struct monitor_cell cells[] = {
        { .value = 99.9 }, { .value = 1.98e9 }, { .value = NAN }, { .text = "a name of 20 letters" }
    };
    struct monitor_table table = { .columns = { &columns[0], &columns[1], &columns[2], &columns[3] }, .count = 4 };

    assert_string_equal(line(&table, cells), "# gpu    one    two  three    command \n"
                                             "# Idx      W    MHz     MB    name \n"
                                             "    3     99   1980      -    a name of 20 le\n");
    assert_string_equal(line(&table, cells), "    3     99   1980      -    a name of 20 le\n");
    table.is_csv = 1;
    assert_string_equal(line(&table, cells), " 3, 99, 1980, -, a name of 20 letters\n");
    table.is_json = 1;
    assert_string_equal(line(&table, cells), "{\"time\": \"2023-11-14T22:13:20.123456Z\", \"gpu\": 3, "
                                             "\"uuid\": \"GPU-\\\"3\\\"\", \"one\": 99.9, \"two\": 1980000000, "
                                             "\"three\": null, \"command\": \"a name of 20 letters\"}\n");
}

/* Values that were scaled to base units and back are the integers that NVML gave. */
static void integers_survive_their_scale(void **state)
{
    struct monitor_table table = { .columns = { &columns[1] }, .count = 1, .has_heading = 1 };

    for (int mhz = 1; mhz < 20000; mhz++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "    3 %6d \n", mhz);
        assert_string_equal(line(&table, &(struct monitor_cell){ .value = mhz * 1e6 }), wanted);
    }
    table.columns[0] = &columns[0];
    for (int watts = 1; watts < 2000; watts++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "    3 %6d \n", watts);
        assert_string_equal(line(&table, &(struct monitor_cell){ .value = watts * 1000 * 1e-3 }), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_have_their_columns), cmocka_unit_test(names_and_units_fit_their_columns),
        cmocka_unit_test(gpm_metrics_have_columns),   cmocka_unit_test(letters_are_taken_in_order_and_once),
        cmocka_unit_test(a_line_has_three_forms),     cmocka_unit_test(integers_survive_their_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
