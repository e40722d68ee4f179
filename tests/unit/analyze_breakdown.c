/* The parts of steps, on captures made by hand and by chance: they add up to the step, to the nanosecond. */
#include "analyze/registry.h"
#include "made_cuda.h"

enum { TIME = 1, COMPUTE, COMMUNICATION, COPIES, LAST_PART = 20, ALL_COMMUNICATION };

static void step(struct writer *writer, int64_t start, int64_t end, int64_t number)
{
    struct row_TACHO_TORCH_STEP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_STEP, start, start * US);
    ROW_SET(&row, TACHO_TORCH_STEP, end, end * US);
    ROW_SET(&row, TACHO_TORCH_STEP, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_TORCH_STEP, number, number);
    writer_append(writer, TABLE_TACHO_TORCH_STEP, &row);
}

static void communication(struct writer *writer, int64_t start, int64_t end, int64_t id)
{
    made_kernel(writer,
                (struct made_kernel){ start * US, end * US, 1, id, 0, 8, "ncclDevKernel_AllReduce", NULL, NULL });
}

static void copy(struct writer *writer, int64_t start, int64_t end, int64_t id)
{
    made_copy_on(writer, (struct made_memory){ start * US, end * US, id, 1000, 1, NO_ID, NO_ID }, 9);
}

static struct table *run(struct report *report, const struct analysis *analysis)
{
    struct table *table;
    struct error err;

    if (analysis_run(analysis, report, &(struct analysis_request){ 0 }, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

/* A part in µs, by the name of its column. */
static int64_t part(const struct table *table, size_t row, const char *name)
{
    return table_row(table, row)[table_find_column(table, name)].integer / US;
}

static void expect_sum(const struct table *table, size_t row)
{
    const struct table_cell *cells = table_row(table, row);
    int64_t sum = 0;

    assert_string_equal(table_columns(table)[LAST_PART].name, "Unknown");
    for (int i = COMPUTE; i <= LAST_PART; i++)
        sum += cells[i].integer;
    assert_int_equal(sum, cells[TIME].integer);
}

/* step_sum and step_breakdown agree on what is communication. */
static void communication_is_the_same_in_all_tables(void **state)
{
    static const char *const kernels[] = { "void ncclKernel_AllReduce<int>(ncclWorkElem)", "nvshmemi_barrier_kernel",
                                           "void count_nccl_bytes(float*)" };
    struct writer *writer = start();

    step(writer, 0, 1000, 1);
    for (int i = 0; i < 3; i++) {
        call(writer, MAIN, 10 * i, 10 * i + 5, "cudaLaunchKernel", i + 1);
        made_kernel(writer, (struct made_kernel){ (100 + 200 * i) * US, (200 + 200 * i) * US, 1, i + 1, 0, 8,
                                                  kernels[i], NULL, NULL });
    }
    struct report *report = finish(writer);
    struct table *breakdown = run(report, &analysis_step_breakdown), *sum = run(report, &analysis_step_sum);
    assert_int_equal(part(breakdown, 0, "Communication"), 200);
    assert_int_equal(part(breakdown, 0, "Compute"), 100);
    assert_int_equal(part(sum, 0, "Communication"), 200);
    table_delete(breakdown);
    table_delete(sum);
    report_close(report);
}

static void parts_of_two_steps(void **state)
{
    struct writer *writer = start();

    step(writer, 0, 1000, 1);
    step(writer, 1000, 2000, 2);
    launch(writer, 100, 110, 300, 1, 7);
    call(writer, MAIN, 200, 205, "cudaLaunchKernel", 2);
    communication(writer, 250, 500, 2);
    call(writer, MAIN, 210, 215, "cudaMemcpyAsync", 3);
    copy(writer, 450, 600, 3);
    launch(writer, 900, 950, 1100, 4, 7);
    struct report *report = finish(writer);
    struct table *table = run(report, &analysis_step_breakdown);
    assert_int_equal(table_row_count(table), 2);
    assert_int_equal(part(table, 0, "Time"), 1000);
    assert_int_equal(part(table, 0, "Compute"), 190 + 50);          /* 110 to 300, 950 to 1000 */
    assert_int_equal(part(table, 0, "Exposed Communication"), 200); /* 300 to 500 */
    assert_int_equal(part(table, 0, "Exposed Copies"), 100);        /* 500 to 600 */
    assert_int_equal(part(table, 0, "CPU Code"), 100 + 300);        /* 0 to 100, 600 to 900 */
    assert_int_equal(part(table, 0, "Launch"), 5 + 5);
    assert_int_equal(part(table, 0, "Launch Latency"), 5 + 45);
    assert_int_equal(part(table, 0, "Communication"), 250);
    assert_int_equal(part(table, 1, "Compute"), 100);
    assert_int_equal(part(table, 1, "Unknown"), 900); /* nothing is launched any more */
    expect_sum(table, 0);
    expect_sum(table, 1);
    table_delete(table);
    report_close(report);
}

/* Three launches of stream 7, and one of stream 8. The first two are called before any work begins. */
static void queues_of_streams(void **state)
{
    struct writer *writer = start();

    launch(writer, 100, 120, 150, 1, 7); /* a delay of 15 */
    launch(writer, 110, 155, 160, 2, 7); /* 40; idle for 5, and queued: between kernels */
    launch(writer, 200, 204, 206, 3, 7); /* 0, as it begins before the call returns; idle for 44: the host is late */
    launch(writer, 210, 300, 301, 4, 8); /* 85 */
    struct report *report = finish(writer);
    struct table *table = run(report, &analysis_cuda_queue_sum);
    assert_int_equal(table_row_count(table), 2);
    assert_int_equal(table_row(table, 0)[table_find_column(table, "Launches")].integer, 3);
    assert_int_equal(table_row(table, 0)[table_find_column(table, "Delay Avg")].real * 3, 55 * US);
    assert_int_equal(table_row(table, 0)[table_find_column(table, "Delay Med")].real, 15 * US);
    assert_int_equal(part(table, 0, "Delay Max"), 40);
    assert_int_equal(part(table, 0, "Host Wait"), 44);
    assert_int_equal(part(table, 0, "Kernel Wait"), 5);
    assert_int_equal(part(table, 0, "Other Wait"), 0);
    assert_int_equal(table_row(table, 0)[table_find_column(table, "Shorter than Call")].integer, 1);
    /* the depth goes 1, 2, 1, 0, 1, 0 */
    assert_int_equal(table_row(table, 0)[table_find_column(table, "Queue Max")].integer, 2);
    assert_int_equal(table_row(table, 0)[table_find_column(table, "Queue Avg")].real * 6 + 0.5, 5);
    assert_int_equal(part(table, 1, "Delay Max"), 85);
    table_delete(table);
    report_close(report);
}

static void named(struct writer *writer, int64_t start, int64_t stream, const char *name)
{
    made_kernel(writer, (struct made_kernel){ start * US, (start + 10) * US, 1, NO_ID, 0, stream, name, NULL, NULL });
}

/* a, b, c, a, b, c on one stream, with one of another between them: a > b > c twice, and no other twice. */
static void sequences_of_kernels(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < 2; i++) {
        named(writer, 100 * i, 7, "a");
        named(writer, 100 * i + 15, 7, "b");
        named(writer, 100 * i + 18, 8, "x");
        named(writer, 100 * i + 40, 7, "c");
    }
    struct report *report = finish(writer);
    struct table *table = run(report, &analysis_cuda_kern_seq_sum);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(table_row(table, 0)[0].integer, 60 * US);
    assert_int_equal(table_row(table, 0)[1].integer, 2);
    assert_int_equal(table_row(table, 0)[2].real, 50 * US);
    assert_int_equal(table_row(table, 0)[3].real, 20 * US);
    assert_memory_equal(table_row(table, 0)[4].text.bytes, "a > b > c", 9);
    table_delete(table);
    report_close(report);
}

/* ---- by chance ------------------------------------------------------------------------------------------------- */

enum { END = 20000, WORKS = 150, STEPS = 7 };

/* The kinds of work in each µs, as bits. */
struct moments {
    unsigned char kinds[END];
};

static void fill(struct moments *moments, unsigned char kind, int64_t from, int64_t to)
{
    for (int64_t at = from; at < to && at < END; at++)
        moments->kinds[at] |= kind;
}

static int64_t count(const struct moments *moments, unsigned char mask, unsigned char kind, int64_t from, int64_t to)
{
    int64_t found = 0;

    for (int64_t at = from; at < to; at++)
        found += (moments->kinds[at] & mask) == kind;
    return found;
}

/* Work on three streams at any time, with launches before it: compares each kind with a count of moments. */
static void parts_of_anything(void **state)
{
    enum { IS_COMPUTE = 1, IS_COMMUNICATION = 2, IS_COPY = 4 };
    static struct moments moments;
    struct writer *writer = start();
    int64_t bounds[STEPS + 1] = { 500, 1200, 5000, 5001, 9000, 9700, 15000, 19990 };

    srand(15);
    for (int i = 0; i < STEPS; i++)
        step(writer, bounds[i], bounds[i + 1], i);
    for (int i = 0; i < WORKS; i++) {
        int64_t at = 40 + rand() % (END - 400), end = at + 1 + rand() % 150, called = at - rand() % 40;
        int kind = rand() % 3;
        call(writer, MAIN + rand() % 2, called, called + rand() % 20,
             kind == 2 ? "cudaMemcpyAsync" : "cudaLaunchKernel", i + 1);
        if (kind == 0)
            kernel(writer, at, end, i + 1, 7);
        else if (kind == 1)
            communication(writer, at, end, i + 1);
        else
            copy(writer, at, end, i + 1);
        fill(&moments, (unsigned char)(1 << kind), at, end);
    }
    struct report *report = finish(writer);
    struct table *table = run(report, &analysis_step_breakdown);
    assert_int_equal(table_row_count(table), STEPS);
    for (size_t i = 0; i < STEPS; i++) {
        int64_t from = bounds[i], to = bounds[i + 1];
        expect_sum(table, i);
        assert_int_equal(part(table, i, "Compute"), count(&moments, IS_COMPUTE, IS_COMPUTE, from, to));
        assert_int_equal(part(table, i, "Exposed Communication"),
                         count(&moments, IS_COMPUTE | IS_COMMUNICATION, IS_COMMUNICATION, from, to));
        assert_int_equal(part(table, i, "Exposed Copies"),
                         count(&moments, IS_COMPUTE | IS_COMMUNICATION | IS_COPY, IS_COPY, from, to));
        assert_int_equal(part(table, i, "Communication"),
                         count(&moments, IS_COMMUNICATION, IS_COMMUNICATION, from, to));
    }
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_two_steps),   cmocka_unit_test(communication_is_the_same_in_all_tables),
        cmocka_unit_test(parts_of_anything),    cmocka_unit_test(queues_of_streams),
        cmocka_unit_test(sequences_of_kernels),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
