/* nccl_coll_sum: kernels are found by the thread that launched them, shared by bytes, and give the bus bandwidth that
 * was worked out by hand. */
#include "analyze/registry.h"
#include "made_cuda.h"

static void comm(struct writer *writer, int64_t number, int64_t ranks)
{
    struct row_TACHO_NCCL_COMM row = { 0 };
    ROW_SET(&row, TACHO_NCCL_COMM, globalPid, made_thread(1, 0));
    ROW_SET(&row, TACHO_NCCL_COMM, commId, number);
    ROW_SET(&row, TACHO_NCCL_COMM, ranks, ranks);
    ROW_SET(&row, TACHO_NCCL_COMM, version, 6);
    writer_append(writer, TABLE_TACHO_NCCL_COMM, &row);
}

struct operation {
    int64_t tid, start, end, id, parent, comm;
    const char *kind, *function, *algorithm, *protocol;
    int64_t bytes;
};

static void operation(struct writer *writer, struct operation op)
{
    struct row_TACHO_NCCL_OP row = { 0 };
    ROW_SET(&row, TACHO_NCCL_OP, start, op.start * US);
    ROW_SET(&row, TACHO_NCCL_OP, end, op.end * US);
    ROW_SET(&row, TACHO_NCCL_OP, globalTid, made_thread(1, op.tid));
    ROW_SET(&row, TACHO_NCCL_OP, kind, made_string(writer, op.kind));
    ROW_SET(&row, TACHO_NCCL_OP, id, op.id);
    if (op.parent)
        ROW_SET(&row, TACHO_NCCL_OP, parentId, op.parent);
    if (op.comm)
        ROW_SET(&row, TACHO_NCCL_OP, commId, op.comm);
    if (op.function)
        ROW_SET(&row, TACHO_NCCL_OP, function, made_string(writer, op.function));
    if (op.algorithm)
        ROW_SET(&row, TACHO_NCCL_OP, algorithm, made_string(writer, op.algorithm));
    if (op.protocol)
        ROW_SET(&row, TACHO_NCCL_OP, protocol, made_string(writer, op.protocol));
    if (op.function)
        ROW_SET(&row, TACHO_NCCL_OP, bytes, op.bytes);
    writer_append(writer, TABLE_TACHO_NCCL_OP, &row);
}

static void nccl_kernel(struct writer *writer, int64_t tid, int64_t called, int64_t start, int64_t end, int64_t id)
{
    call(writer, tid, called, called + 5, "cuLaunchKernelEx", id);
    made_kernel(writer, (struct made_kernel){ start * US, end * US, 1, id, 0, 7, "ncclDevKernel_AllReduce_Sum_f32(x)",
                                              "ncclDevKernel_AllReduce_Sum_f32", NULL });
}

static struct table *run(struct report *report)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;
    if (analysis_nccl_coll_sum.run(report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

enum { SHARE, TIME, COUNT, TIMED, AVERAGE, TOTAL_BYTES, AVERAGE_BYTES, BUS, ENQUEUE, NAME, BY, WITH };

static void expect(const struct table_cell *row, const char *function, const char *algorithm, int64_t count,
                   int64_t timed)
{
    assert_memory_equal(row[NAME].text.bytes, function, strlen(function));
    if (algorithm)
        assert_memory_equal(row[BY].text.bytes, algorithm, strlen(algorithm));
    else
        assert_int_equal(row[BY].kind, CELL_NONE);
    assert_int_equal(row[COUNT].integer, count);
    assert_int_equal(row[TIMED].integer, timed);
}

static void kernels_are_found_and_shared(void **state)
{
    struct writer *writer = start();
    comm(writer, 1, 4);
    /* A launch that is no group's, and a kernel of the program. */
    nccl_kernel(writer, 1, 10, 20, 30, 1);
    launch(writer, 60, 70, 80, 2, 7);
    /* Two all-reduces in one kernel of 300 µs, by 1:2. */
    nccl_kernel(writer, 1, 100, 200, 500, 3);
    operation(writer, (struct operation){ 1, 106, 109, 1, 0, 1, "group", 0, 0, 0, 0 });
    operation(writer, (struct operation){ 1, 107, 109, 2, 1, 1, "collective", "AllReduce", "RING", "LL", 1000000 });
    operation(writer, (struct operation){ 1, 107, 109, 3, 1, 1, "collective", "AllReduce", "RING", "LL", 2000000 });
    /* Another thread at the same time: an all-gather of 1 MB a rank in 100 µs. */
    nccl_kernel(writer, 2, 100, 600, 700, 4);
    operation(writer, (struct operation){ 2, 106, 109, 4, 0, 1, "group", 0, 0, 0, 0 });
    operation(writer, (struct operation){ 2, 107, 109, 5, 4, 1, "collective", "AllGather", "TREE", "SIMPLE", 1000000 });
    /* A group behind which no launch is left: its kernel is unknown, not that of the group before. */
    operation(writer, (struct operation){ 2, 800, 820, 6, 0, 1, "group", 0, 0, 0, 0 });
    operation(writer, (struct operation){ 2, 801, 811, 7, 6, 1, "p2p", "Send", NULL, NULL, 8 });
    struct report *report = finish(writer);
    struct table *table = run(report);
    assert_int_equal(table_row_count(table), 3);
    expect(table_row(table, 0), "AllReduce", "RING", 2, 2);
    expect(table_row(table, 1), "AllGather", "TREE", 1, 1);
    expect(table_row(table, 2), "Send", NULL, 1, 0);
    assert_int_equal(table_row(table, 0)[TIME].integer, 300 * US);
    assert_float_equal(table_row(table, 0)[SHARE].real, 75.0, 1e-9);
    assert_float_equal(table_row(table, 0)[TOTAL_BYTES].real, 3.0, 1e-9);
    assert_float_equal(table_row(table, 0)[BUS].real, 3e6 * 2 * 3 / 4 / 300e3, 1e-9); /* 15 GB/s */
    assert_float_equal(table_row(table, 1)[BUS].real, 1e6 * 3 / 100e3, 1e-9);         /* 30 GB/s */
    assert_int_equal(table_row(table, 2)[BUS].kind, CELL_NONE);
    assert_int_equal(table_row(table, 2)[TIME].kind, CELL_NONE);
    assert_int_equal(table_row(table, 2)[ENQUEUE].integer, 10 * US);
    table_delete(table);
    report_close(report);
}

static void without_kernels_there_is_the_time_to_enqueue(void **state)
{
    struct writer *writer = start();
    operation(writer, (struct operation){ 1, 10, 12, 1, 0, 0, "ce collective", "AllGather", "CE", "MC", 5 });
    struct report *report = finish(writer);
    struct table *table = run(report);
    assert_int_equal(table_row_count(table), 1);
    expect(table_row(table, 0), "AllGather", "CE", 1, 0);
    assert_int_equal(table_row(table, 0)[ENQUEUE].integer, 2 * US);
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_found_and_shared),
        cmocka_unit_test(without_kernels_there_is_the_time_to_enqueue),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
