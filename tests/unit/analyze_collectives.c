/* collective_sum, collective_trace and hang_sum on made ranks: figures were worked out by hand. */
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/registry.h"
#include "made_mpi.h"

#define US 1000

static struct table *run(const struct analysis *analysis, struct report *report)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;
    if (analysis_run(analysis, report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

static const struct table_cell *cell(const struct table *table, size_t row, const char *column)
{
    size_t index = table_find_column(table, column);
    if (index == TABLE_NO_COLUMN)
        fail_msg("no column %s", column);
    return &table_row(table, row)[index];
}

static void expect_int(const struct table *table, size_t row, const char *column, int64_t expected)
{
    const struct table_cell *at = cell(table, row, column);
    if (at->kind != CELL_INT || at->integer != expected)
        fail_msg("%s of row %zu: %lld, expected %lld", column, row, at->kind == CELL_INT ? (long long)at->integer : -1,
                 (long long)expected);
}

static void expect_real(const struct table *table, size_t row, const char *column, double expected)
{
    const struct table_cell *at = cell(table, row, column);
    if (at->kind != CELL_REAL || at->real < expected - 1e-6 || at->real > expected + 1e-6)
        fail_msg("%s of row %zu: %f, expected %f", column, row, at->kind == CELL_REAL ? at->real : -1, expected);
}

/* "": the cell is empty. */
static void expect_text(const struct table *table, size_t row, const char *column, const char *expected)
{
    const struct table_cell *at = cell(table, row, column);
    size_t length = at->kind == CELL_TEXT ? at->text.length : 0;
    if ((at->kind == CELL_NONE) != !*expected || length != strlen(expected) ||
        (length && memcmp(at->text.bytes, expected, length) != 0))
        fail_msg("%s of row %zu: '%.*s', expected '%s'", column, row, (int)length, length ? at->text.bytes : "",
                 expected);
}

static void world(struct writer *writer, int64_t ranks)
{
    char members[64] = "";
    for (int64_t rank = 0; rank < ranks; rank++)
        snprintf(members + strlen(members), sizeof members - strlen(members), rank ? ",%d" : "%d", (int)rank);
    for (int64_t rank = 0; rank < ranks; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, members, ranks, "world");
    }
}

static void add(struct writer *writer, int64_t rank, int64_t start, int64_t end, const char *name, int64_t bytes)
{
    made_collective(writer, (struct made_collective){ rank, start * US, end * US, name, 10, bytes, 0 });
}

/* Two allreduces of 1 MB over 4 ranks, in which rank 3 and then rank 1 come last, by 300 and 100 µs; they stay 100 and
 * 200 µs: 2 MB in 300 µs are 6.667 GB/s, and 1.5 times as much on the bus. A barrier in which all come together. A
 * broadcast, whose waits are not known. */
static void sums_and_traces(void **state)
{
    struct writer *writer = start();
    world(writer, 4);
    for (int64_t rank = 0; rank < 4; rank++) {
        add(writer, rank, rank == 3 ? 400 : 100, 500, "MPI_Allreduce", 1000000);
        add(writer, rank, rank == 1 ? 1100 : 1000, 1300, "MPI_Allreduce", 1000000);
        add(writer, rank, 2000, 2050, "MPI_Barrier", NO_ID);
        add(writer, rank, 3000 + rank, 3100, "MPI_Bcast", 4000);
    }
    struct report *report = finish(writer);
    struct table *sum = run(&analysis_collective_sum, report), *trace = run(&analysis_collective_trace, report);
    assert_int_equal(table_row_count(sum), 3);
    expect_text(sum, 0, "Operation", "MPI_Allreduce");
    expect_text(sum, 0, "Communicator", "ranks 0-3");
    expect_int(sum, 0, "Total Time", (3 * 400 + 100 + 3 * 300 + 200) * US);
    expect_int(sum, 0, "Instances", 2);
    expect_int(sum, 0, "Ranks", 4);
    expect_real(sum, 0, "Data", 2);
    expect_real(sum, 0, "Alg (GB/s)", 20. / 3);
    expect_real(sum, 0, "Bus (GB/s)", 10);
    expect_int(sum, 0, "Wait Time", (3 * 300 + 3 * 100) * US);
    expect_real(sum, 0, "Wait", 50);
    expect_int(sum, 0, "Last Rank", 1);
    expect_int(sum, 0, "Times Last", 1);
    expect_text(sum, 1, "Operation", "MPI_Bcast");
    assert_int_equal(cell(sum, 1, "Wait Time")->kind, CELL_NONE);
    expect_text(sum, 2, "Operation", "MPI_Barrier");
    expect_int(sum, 2, "Wait Time", 0);
    assert_int_equal(cell(sum, 2, "Last Rank")->kind, CELL_NONE);
    assert_int_equal(table_row_count(trace), 4);
    expect_int(trace, 0, "Start", 100 * US);
    expect_int(trace, 0, "Duration", 400 * US);
    expect_int(trace, 0, "First Rank", 0);
    expect_int(trace, 0, "Last Rank", 3);
    expect_int(trace, 0, "Lateness", 300 * US);
    expect_real(trace, 0, "Alg (GB/s)", 10);
    expect_real(trace, 0, "Bus (GB/s)", 15);
    expect_int(trace, 1, "Last Rank", 1);
    expect_real(trace, 1, "Alg (GB/s)", 5);
    expect_int(trace, 2, "Lateness", 0);
    assert_int_equal(cell(trace, 2, "Last Rank")->kind, CELL_NONE);
    expect_int(trace, 3, "Bytes", 4000);
    assert_int_equal(cell(trace, 3, "Lateness")->kind, CELL_NONE);
    table_delete(sum);
    table_delete(trace);
    report_close(report);
}

/* Each communicator has its own sums, by operation, whatever the order of the calls: as many as a program makes that
 * splits one in each step. */
static void many_communicators(void **state)
{
    enum { COMMUNICATORS = 400, ROUNDS = 3 };
    struct writer *writer = start();
    for (int64_t rank = 0; rank < 2; rank++) {
        made_rank(writer, rank);
        for (int64_t c = 0; c < COMMUNICATORS; c++) {
            char name[16];
            snprintf(name, sizeof name, "split%d", (int)c);
            made_communicator(writer, rank, 0, 10 + c, "0,1", 2, name);
        }
        for (int64_t i = 0; i < COMMUNICATORS * ROUNDS; i++) {
            int64_t c = i % COMMUNICATORS, at = 10000 * (i + 1);
            const char *name = i < COMMUNICATORS ? "MPI_Barrier" : "MPI_Allreduce";
            made_collective(writer, (struct made_collective){ rank, at * US, (at + 100 + c) * US, name, 10 + c, 8, 0 });
        }
    }
    struct report *report = finish(writer);
    struct table *sum = run(&analysis_collective_sum, report);
    assert_int_equal(table_row_count(sum), 2 * COMMUNICATORS);
    int64_t seen[ROUNDS] = { 0 }, total_ns = 0;
    for (size_t row = 0; row < 2 * COMMUNICATORS; row++) {
        const struct table_cell *name = cell(sum, row, "Operation");
        int instances = name->text.length == strlen("MPI_Barrier") ? 1 : ROUNDS - 1;
        expect_int(sum, row, "Instances", instances);
        seen[instances]++;
        total_ns += cell(sum, row, "Total Time")->integer;
    }
    assert_int_equal(seen[1], COMMUNICATORS);
    assert_int_equal(seen[ROUNDS - 1], COMMUNICATORS);
    assert_int_equal(total_ns, 2 * ROUNDS * (COMMUNICATORS * 100 + COMMUNICATORS * (COMMUNICATORS - 1) / 2) * US);
    table_delete(sum);
    report_close(report);
}

static void receive(struct writer *writer, int64_t rank, int64_t start)
{
    struct row_MPI_P2P_EVENTS row = { 0 };
    ROW_SET(&row, MPI_P2P_EVENTS, start, start * US);
    ROW_SET(&row, MPI_P2P_EVENTS, globalTid, made_rank_thread(rank));
    ROW_SET(&row, MPI_P2P_EVENTS, textId, made_string(writer, "MPI_Recv"));
    ROW_SET(&row, MPI_P2P_EVENTS, incomplete, 1);
    writer_append(writer, TABLE_MPI_P2P_EVENTS, &row);
}

static void a_rank_never_comes(void **state)
{
    for (int is_receiving = 0; is_receiving < 2; is_receiving++) {
        struct writer *writer = start();
        world(writer, 4);
        for (int64_t rank = 0; rank < 4; rank++) {
            add(writer, rank, 100, 200, "MPI_Barrier", NO_ID);
            if (rank != 2)
                add(writer, rank, 300 + rank, 0, "MPI_Allreduce", 8);
        }
        if (is_receiving)
            receive(writer, 2, 310);
        struct report *report = finish(writer);
        struct table *table = run(&analysis_hang_sum, report);
        assert_int_equal(table_row_count(table), 1);
        expect_text(table, 0, "State", "hang");
        expect_text(table, 0, "Never Came", "2");
        expect_text(table, 0, "Inside", "0,1,3");
        expect_text(table, 0, "Left", "");
        expect_text(table, 0, "Brought Another", "");
        expect_text(table, 0, "Absent Are In", is_receiving ? "rank 2: MPI_Recv" : "rank 2: no call of MPI");
        expect_int(table, 0, "Since", 300 * US);
        expect_int(table, 0, "Number", 1);
        expect_text(table, 0, "Operation", "MPI_Allreduce");
        table_delete(table);
        report_close(report);
    }
}

static void ranks_bring_another(void **state)
{
    struct writer *writer = start();
    world(writer, 3);
    for (int64_t rank = 0; rank < 3; rank++) {
        made_communicator(writer, rank, 0, 20, "0,1,2", 3, "second");
        add(writer, rank, 300 + rank, 0, rank == 1 ? "MPI_Bcast" : "MPI_Allreduce", 8);
        made_collective(writer,
                        (struct made_collective){ rank, 100 * US, 200 * US, "MPI_Allreduce", 20, rank ? 64 : 32, 0 });
    }
    struct report *report = finish(writer);
    struct table *table = run(&analysis_hang_sum, report);
    assert_int_equal(table_row_count(table), 2);
    expect_text(table, 0, "State", "mismatch");
    expect_text(table, 0, "Brought Another", "rank 0: 32 B");
    expect_text(table, 0, "Left", "0-2");
    expect_text(table, 1, "State", "mismatch");
    expect_text(table, 1, "Brought Another", "rank 1: MPI_Bcast");
    expect_text(table, 1, "Inside", "0-2");
    table_delete(table);
    report_close(report);
}

/* Rank 1 was not recorded; in a job that ended well there is nothing to tell. */
static void ranks_that_are_not_there(void **state)
{
    struct writer *writer = start();
    for (int64_t rank = 0; rank < 3; rank += 2) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2", 3, "world");
        made_communicator(writer, rank, 0, 30, "0,2", 2, "pair");
        add(writer, rank, 100, 200, "MPI_Barrier", NO_ID);
        made_collective(writer, (struct made_collective){ rank, 300 * US, 400 * US, "MPI_Barrier", 30, NO_ID, 0 });
    }
    struct report *report = finish(writer);
    struct table *table = run(&analysis_hang_sum, report);
    expect_text(table, 0, "State", "unknown");
    expect_text(table, 0, "Unknown", "1");
    expect_text(table, 1, "State", "complete");
    expect_text(table, 1, "Left", "0,2");
    table_delete(table);
    report_close(report);
}

/* All that is there was left by all; but the report was not finished, so that the call behind it may be missing. */
static void ranks_whose_report_ends_too_early(void **state)
{
    struct writer *writer = start();
    struct stat file;
    struct report *report;
    struct error err;
    world(writer, 2);
    for (int64_t rank = 0; rank < 2; rank++)
        add(writer, rank, 100, 200, "MPI_Barrier", NO_ID);
    report_close(finish(writer));
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(truncate(path, file.st_size - 8), 0); /* the end of its index */
    assert_int_equal(report_open(path, &report, &err), 0);
    struct table *table = run(&analysis_hang_sum, report);
    expect_text(table, 0, "State", "unknown");
    expect_text(table, 0, "Left", "0,1");
    expect_text(table, 0, "Unknown", "0,1");
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_traces),          cmocka_unit_test(many_communicators),
        cmocka_unit_test(a_rank_never_comes),       cmocka_unit_test(ranks_bring_another),
        cmocka_unit_test(ranks_that_are_not_there), cmocka_unit_test(ranks_whose_report_ends_too_early),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
