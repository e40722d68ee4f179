/* The rule mpi_waits on made ranks: figures were worked out by hand. Times are in ms. */
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "base/text.h"
#include "cmd/print/print.h"
#include "made_mpi.h"

enum { CAPTURE = 1000, WORLD = 10, CHAIN = 5 };
#define MS(time) ((int64_t)(time)*INT64_C(1000000))
#define HEAD "Impact (ns),Rank,Waiting,Total Time (ns),Time (%),Count,Wait State,Name,Where,Ranks\n"

static struct writer *job(int64_t ranks)
{
    struct writer *writer = start();
    struct row_ANALYSIS_DETAILS row = { 0 };
    char members[64] = "";

    ROW_SET(&row, ANALYSIS_DETAILS, globalVid, 1);
    ROW_SET(&row, ANALYSIS_DETAILS, duration, MS(CAPTURE));
    ROW_SET(&row, ANALYSIS_DETAILS, startTime, 0);
    ROW_SET(&row, ANALYSIS_DETAILS, stopTime, MS(CAPTURE));
    writer_append(writer, TABLE_ANALYSIS_DETAILS, &row);
    for (int64_t rank = 0; rank < ranks; rank++)
        snprintf(members + strlen(members), sizeof members - strlen(members), rank ? ",%d" : "%d", (int)rank);
    for (int64_t rank = 0; rank < ranks; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, WORLD, members, ranks, "world");
    }
    return writer;
}

static void barrier(struct writer *writer, int64_t rank, int64_t from, int64_t to)
{
    made_collective(writer, (struct made_collective){ rank, MS(from), MS(to), "MPI_Barrier", WORLD, NO_ID, 0 });
}

static void called_from(struct writer *writer, const char *function, int64_t line)
{
    struct row_TACHO_MPI_CALLCHAINS row = { 0 };

    ROW_SET(&row, TACHO_MPI_CALLCHAINS, id, CHAIN);
    ROW_SET(&row, TACHO_MPI_CALLCHAINS, symbol, made_string(writer, function));
    ROW_SET(&row, TACHO_MPI_CALLCHAINS, module, made_string(writer, "/opt/ring"));
    ROW_SET(&row, TACHO_MPI_CALLCHAINS, stackDepth, 0);
    ROW_SET(&row, TACHO_MPI_CALLCHAINS, sourceFile, made_string(writer, "ring.c"));
    ROW_SET(&row, TACHO_MPI_CALLCHAINS, sourceLine, line);
    writer_append(writer, TABLE_TACHO_MPI_CALLCHAINS, &row);
}

/* A blocking call, and its half of the message. */
static void message(struct writer *writer, int64_t rank, int64_t peer, int is_received, int64_t from, int64_t to)
{
    struct row_MPI_P2P_EVENTS call = { 0 };
    struct row_TACHO_MPI_MESSAGE half = { 0 };
    int64_t name = made_string(writer, is_received ? "MPI_Recv" : "MPI_Send");

    ROW_SET(&call, MPI_P2P_EVENTS, start, MS(from));
    ROW_SET(&call, MPI_P2P_EVENTS, end, MS(to));
    ROW_SET(&call, MPI_P2P_EVENTS, globalTid, made_rank_thread(rank));
    ROW_SET(&call, MPI_P2P_EVENTS, textId, name);
    ROW_SET(&call, MPI_P2P_EVENTS, callchainId, CHAIN);
    writer_append(writer, TABLE_MPI_P2P_EVENTS, &call);
    ROW_SET(&half, TACHO_MPI_MESSAGE, start, MS(from));
    ROW_SET(&half, TACHO_MPI_MESSAGE, end, MS(to));
    ROW_SET(&half, TACHO_MPI_MESSAGE, globalTid, made_rank_thread(rank));
    ROW_SET(&half, TACHO_MPI_MESSAGE, textId, name);
    ROW_SET(&half, TACHO_MPI_MESSAGE, rank, rank);
    ROW_SET(&half, TACHO_MPI_MESSAGE, isReceived, is_received);
    ROW_SET(&half, TACHO_MPI_MESSAGE, peer, peer);
    ROW_SET(&half, TACHO_MPI_MESSAGE, tag, 3);
    ROW_SET(&half, TACHO_MPI_MESSAGE, size, 8);
    ROW_SET(&half, TACHO_MPI_MESSAGE, communicator, made_string(writer, "world"));
    writer_append(writer, TABLE_TACHO_MPI_MESSAGE, &half);
}

static struct table *run(struct report *report)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;

    if (analysis_run(&rule_mpi_waits, report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

static void expect(struct writer *writer, const char *rows, const char *finding)
{
    struct report *report = finish(writer);
    struct table *table = run(report);
    struct text out = { 0 };

    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(text_string(&out), rows);
    text_clear(&out);
    if (finding) {
        rule_finding(&out, &rule_mpi_waits, table, 0);
        assert_string_equal(text_string(&out), finding);
    }
    text_free(&out);
    table_delete(table);
    report_close(report);
}

/* Rank 2 comes later than the three others to so many barriers. */
static struct writer *late_at_barriers(int64_t barriers, int64_t late)
{
    struct writer *writer = job(4);

    for (int64_t i = 0; i < barriers; i++)
        for (int64_t rank = 0; rank < 4; rank++)
            barrier(writer, rank, 100 * i + (rank == 2 ? 10 + late : 10), 100 * i + 10 + late + 1);
    return writer;
}

/* Three ranks wait 120 ms each. The work of 120 ms too much, spread over four ranks, is 30 ms for each: 90 less. */
static void a_rank_that_is_late_at_barriers(void **state)
{
    expect(
        late_at_barriers(2, 60), HEAD "90000000,2,\"0,1,3\",360000000,12.0,6,Wait at Barrier,MPI_Barrier,,4\n",
        "MPI rank 2 is waited for: ranks 0,1,3 waited 360 ms (12.0 % of the time), most of it in MPI_Barrier; with its "
        "work spread over the 4 ranks the job takes about 90.0 ms less");
}

/* Two times may be chance. */
static void a_straggler_is_another_rules(void **state)
{
    expect(late_at_barriers(9, 60), HEAD, NULL);
}

/* Nobody has more to do than the others. */
static void ranks_that_are_late_in_turn(void **state)
{
    struct writer *writer = job(2);

    for (int64_t i = 0; i < 4; i++)
        for (int64_t rank = 0; rank < 2; rank++)
            barrier(writer, rank, 100 * i + (rank == i % 2 ? 80 : 10), 100 * i + 81);
    expect(writer, HEAD, NULL);
}

/* Rank 1 waits 100 ms for rank 0, and rank 2 for rank 1, which waits itself. */
static void a_rank_at_the_head_of_a_chain(void **state)
{
    struct writer *writer = job(3);

    called_from(writer, "main", 9);
    message(writer, 0, 1, 0, 200, 201);
    message(writer, 1, 0, 1, 100, 202);
    message(writer, 1, 2, 0, 203, 204);
    message(writer, 2, 1, 1, 103, 205);
    expect(writer, HEAD "66666666,0,\"1,2\",200000000,10.0,2,Late Sender,MPI_Recv,main (ring.c:9),3\n",
           "MPI rank 0 is waited for: ranks 1,2 waited 200 ms (10.0 % of the time), most of it in MPI_Recv, called by "
           "main "
           "(ring.c:9); with its work spread over the 3 ranks the job takes about 66.7 ms less");
}

static void ranks_that_start_late_do_not_count(void **state)
{
    struct writer *writer = job(2);

    for (int64_t rank = 0; rank < 2; rank++) {
        struct row_MPI_OTHER_EVENTS row = { 0 };
        ROW_SET(&row, MPI_OTHER_EVENTS, start, MS(rank ? 300 : 10));
        ROW_SET(&row, MPI_OTHER_EVENTS, end, MS(310));
        ROW_SET(&row, MPI_OTHER_EVENTS, globalTid, made_rank_thread(rank));
        ROW_SET(&row, MPI_OTHER_EVENTS, textId, made_string(writer, "MPI_Init"));
        writer_append(writer, TABLE_MPI_OTHER_EVENTS, &row);
        barrier(writer, rank, 400, 401);
    }
    expect(writer, HEAD, NULL);
}

static void of_one_rank(struct writer *writer, int64_t world_size)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(100, 0));
    ROW_SET(&row, TACHO_PROCESS, worldSize, world_size);
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

/* The report of rank 0 alone: its receive takes 200 ms. If rank 1 had half of that work more to do, it were 100. */
static void the_report_of_one_rank(void **state)
{
    struct writer *writer = job(1);

    of_one_rank(writer, 2);
    called_from(writer, "main", 9);
    message(writer, 0, 1, 1, 100, 300);
    message(writer, 0, 1, 0, 301, 302);
    barrier(writer, 0, 400, 450);
    expect(
        writer, HEAD "100000000,1,0,200000000,20.0,1,,MPI_Recv,main (ring.c:9),\n",
        "MPI rank 0 spent 200 ms (20.0 % of the time) in MPI_Recv, called by main (ring.c:9), on messages from rank 1; "
        "the reports of all ranks say who was late");
}

static void the_barriers_of_one_rank(void **state)
{
    struct writer *writer = job(1);

    of_one_rank(writer, 4);
    barrier(writer, 0, 400, 600);
    expect(writer, HEAD "150000000,,0,200000000,20.0,1,,MPI_Barrier,,\n",
           "MPI rank 0 spent 200 ms (20.0 % of the time) in MPI_Barrier; the reports of all ranks say who was late");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_is_late_at_barriers), cmocka_unit_test(a_straggler_is_another_rules),
        cmocka_unit_test(ranks_that_are_late_in_turn),     cmocka_unit_test(a_rank_at_the_head_of_a_chain),
        cmocka_unit_test(the_report_of_one_rank),          cmocka_unit_test(ranks_that_start_late_do_not_count),
        cmocka_unit_test(the_barriers_of_one_rank),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
