/* cpu_event_sum, over readings whose sums are known. */
#include "made_report.h"

#include "analyze/engine/table.h"
#include "analyze/registry.h"

static void request(struct writer *writer, int64_t id, const char *name)
{
    struct row_PMU_EVENT_REQUESTS row = { 0 };

    ROW_SET(&row, PMU_EVENT_REQUESTS, id, id);
    ROW_SET(&row, PMU_EVENT_REQUESTS, source, 0);
    ROW_SET(&row, PMU_EVENT_REQUESTS, unit_type, 1);
    ROW_SET(&row, PMU_EVENT_REQUESTS, event_name, made_string(writer, name));
    writer_append(writer, TABLE_PMU_EVENT_REQUESTS, &row);
}

/* A reading of 100 ns of one CPU, of two counters. */
static void reading(struct writer *writer, int64_t id, int64_t start_ns, int64_t cpu, int64_t cycles,
                    int64_t instructions)
{
    const int64_t values[] = { cycles, instructions };
    struct row_PMU_EVENTS row = { 0 };

    ROW_SET(&row, PMU_EVENTS, start, start_ns);
    ROW_SET(&row, PMU_EVENTS, end, start_ns + 100);
    ROW_SET(&row, PMU_EVENTS, globalVm, 1);
    ROW_SET(&row, PMU_EVENTS, cpu, cpu);
    ROW_SET(&row, PMU_EVENTS, counter_id, id);
    writer_append(writer, TABLE_PMU_EVENTS, &row);
    for (int64_t i = 0; i < 2; i++) {
        struct row_PMU_EVENT_COUNTERS value = { 0 };
        ROW_SET(&value, PMU_EVENT_COUNTERS, id, id);
        ROW_SET(&value, PMU_EVENT_COUNTERS, idx, 9 + i);
        ROW_SET(&value, PMU_EVENT_COUNTERS, value, values[i]);
        writer_append(writer, TABLE_PMU_EVENT_COUNTERS, &value);
    }
}

static void check(const struct table *table, size_t number, const char *name, int64_t total, double rate, double most,
                  double ratio)
{
    const struct table_cell *row = table_row(table, number);

    assert_int_equal(row[4].text.length, strlen(name));
    assert_memory_equal(row[4].text.bytes, name, strlen(name));
    assert_int_equal(row[0].kind == CELL_NONE ? 0 : row[0].integer, total);
    assert_true((row[1].kind == CELL_NONE ? 0 : row[1].real) == rate);
    assert_true((row[2].kind == CELL_NONE ? 0 : row[2].real) == most);
    assert_true((row[3].kind == CELL_NONE ? 0 : row[3].real) == ratio);
}

/* Two CPUs that are read at once, three times; nothing in between on the second. */
static void sums_rates_and_quotients(void **state)
{
    struct writer *writer = start();
    struct table *table = NULL;
    struct report_span span = { 110, 190 };
    struct error err;

    request(writer, 9, "cycles");
    request(writer, 10, "instructions");
    reading(writer, 1, 0, 0, 10, 20);
    reading(writer, 2, 0, 1, 30, 60);
    reading(writer, 3, 100, 0, 20, 10);
    reading(writer, 4, 200, 0, 5, 5);
    reading(writer, 5, 200, 1, 15, 5);
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(analysis_find("cpu_event_sum"), report, &(struct analysis_request){ 0 }, &table,
                                  &err),
                     0);
    assert_int_equal(table_row_count(table), 3);
    check(table, 0, "cycles", 80, 80 * 1e9 / 300, 40 * 1e9 / 100, 0);
    check(table, 1, "instructions", 100, 100 * 1e9 / 300, 80 * 1e9 / 100, 0);
    check(table, 2, "ipc", 0, 0, 0, 100.0 / 80);
    table_delete(table);
    assert_int_equal(analysis_run(analysis_find("cpu_event_sum"), report, &(struct analysis_request){ .span = &span },
                                  &table, &err),
                     0);
    check(table, 0, "cycles", 20, 20 * 1e9 / 80, 20 * 1e9 / 100, 0);
    table_delete(table);
    report_close(report);
}

/* A file may have two readings of one id: those after them keep their own times. */
static void readings_of_one_id(void **state)
{
    struct writer *writer = start();
    struct table *table = NULL;
    struct report_span span = { 210, 290 };
    struct error err;

    request(writer, 9, "cycles");
    request(writer, 10, "instructions");
    reading(writer, 1, 0, 0, 10, 20);
    reading(writer, 1, 100, 0, 30, 60);
    reading(writer, 2, 200, 0, 7, 14);
    struct report *report = finish(writer);
    assert_int_equal(analysis_run(analysis_find("cpu_event_sum"), report, &(struct analysis_request){ .span = &span },
                                  &table, &err),
                     0);
    check(table, 0, "cycles", 7, 7 * 1e9 / 80, 7 * 1e9 / 100, 0);
    check(table, 1, "instructions", 14, 14 * 1e9 / 80, 14 * 1e9 / 100, 0);
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(sums_rates_and_quotients),
                                        cmocka_unit_test(readings_of_one_id) };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
