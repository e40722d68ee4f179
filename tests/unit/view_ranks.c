/* The rows of a job of several ranks: which group each is in, in what order, and what groups are called. */
#include "made_mpi.h"

#include <stdio.h>

#include "report/reader/unite.h"
#include "view/load/rank_map.h"
#include "view/load/row_tree.h"
#include "view/load/view_state.h"
#include "view/timeline.h"

/* ---- making ---------------------------------------------------------------------------------------------------- */

static void add_process(struct writer *writer, int64_t pid, int64_t rank, const char *host)
{
    struct row_TACHO_PROCESS row = { 0 };

    ROW_SET(&row, TACHO_PROCESS, start, 0);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(pid, 0));
    ROW_SET(&row, TACHO_PROCESS, image, 0);
    ROW_SET(&row, TACHO_PROCESS, exe, made_string(writer, rank == NO_ID ? "/usr/bin/mpirun" : "/opt/solver"));
    ROW_SET(&row, TACHO_PROCESS, host, made_string(writer, host));
    if (rank != NO_ID)
        ROW_SET(&row, TACHO_PROCESS, rank, rank);
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static void add_range(struct writer *writer, int64_t pid)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, 10);
    ROW_SET(&row, NVTX_EVENTS, end, 20);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, made_thread(pid, pid));
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, "step"));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void add_clock(struct writer *writer, const char *host, const char *method, int64_t error_ns)
{
    struct row_TACHO_CLOCK_OFFSET row = { 0 };

    ROW_SET(&row, TACHO_CLOCK_OFFSET, file, made_string(writer, "rank.tacho"));
    ROW_SET(&row, TACHO_CLOCK_OFFSET, host, made_string(writer, host));
    ROW_SET(&row, TACHO_CLOCK_OFFSET, method, made_string(writer, method));
    ROW_SET(&row, TACHO_CLOCK_OFFSET, stretch, 0);
    ROW_SET(&row, TACHO_CLOCK_OFFSET, ownNs, 0);
    ROW_SET(&row, TACHO_CLOCK_OFFSET, offsetNs, 0);
    ROW_SET(&row, TACHO_CLOCK_OFFSET, driftPpm, 0);
    if (error_ns != NO_ID)
        ROW_SET(&row, TACHO_CLOCK_OFFSET, errorNs, error_ns);
    writer_append(writer, TABLE_TACHO_CLOCK_OFFSET, &row);
}

static struct report *report;
static struct view *view;

static void open_view(struct writer *writer)
{
    struct error err;

    report = finish(writer);
    if (view_open(report, &view, &err) != 0)
        fail_msg("%s", err.text);
}

static void close_view(void)
{
    view_close(view);
    report_close(report);
}

/* Labels and, behind a bar, details of groups of hosts and ranks; + before unfolded groups. */
static const char *tree(void)
{
    static struct text text;

    text_clear(&text);
    for (size_t i = 0; i < view->row_count; i++) {
        const struct view_row *row = &view->rows[i];
        for (int at = row->parent; at >= 0; at = view->rows[at].parent)
            text_add(&text, "  ");
        text_addf(&text, "%s%s", row->is_open ? "+" : "", row->label);
        if ((row->type == ROW_HOST || row->type == ROW_RANK) && *row->detail)
            text_addf(&text, " | %s", row->detail);
        text_add_char(&text, '\n');
    }
    return text_string(&text);
}

static const struct view_row *group_of(enum row_type type, int64_t rank)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == type && view->rows[i].rank == rank)
            return &view->rows[i];
    return NULL;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

/* Rank 10 comes behind rank 2 and not before it; the host of rank 0 comes first, whatever its name; the launcher, which
 * has no rank, comes behind the ranks of its host. */
static void ranks_stand_below_their_hosts_in_order(void **state)
{
    struct writer *writer = start();

    add_process(writer, 5, NO_ID, "zeta");
    add_process(writer, 7, 10, "alpha");
    add_process(writer, 8, 2, "alpha");
    add_process(writer, 9, 0, "zeta");
    for (int64_t pid = 5; pid <= 9; pid++)
        if (pid != 6)
            add_range(writer, pid);
    made_kernel(writer, (struct made_kernel){ 10, 20, 7, 1, 0, 7, "first", NULL, NULL });
    open_view(writer);
    assert_string_equal(tree(), "+zeta · 1 rank\n"
                                "  +rank 0 | solver (9)\n"
                                "    +solver (9)\n"
                                "      +Thread 9\n"
                                "        NVTX\n"
                                "  +mpirun (5)\n"
                                "    +Thread 5\n"
                                "      NVTX\n"
                                "+alpha · 2 ranks\n"
                                "  +rank 2 | solver (8)\n"
                                "    +solver (8)\n"
                                "      +Thread 8\n"
                                "        NVTX\n"
                                "  +rank 10 | solver (7)\n"
                                "    +GPU 0 · 100 % busy\n"
                                "      +Context 1\n"
                                "        Stream 7\n"
                                "    +solver (7)\n"
                                "      +Thread 7\n"
                                "        NVTX\n");
    close_view();
}

/* A folded rank shows the work of all its rows. */
static void many_ranks_are_folded(void **state)
{
    enum { RANKS = 9 };
    struct writer *writer = start();

    for (int64_t rank = 0; rank < RANKS; rank++) {
        add_process(writer, 100 + rank, rank, "node");
        add_range(writer, 100 + rank);
    }
    made_kernel(writer, (struct made_kernel){ 10, 20, 103, 1, 0, 7, "first", NULL, NULL });
    open_view(writer);
    assert_string_equal(view->rows[0].label, "node · 9 ranks");
    assert_true(view->rows[0].is_open);
    for (int64_t rank = 0; rank < RANKS; rank++) {
        const struct view_row *group = group_of(ROW_RANK, rank);
        assert_non_null(group);
        assert_false(group->is_open);
        assert_int_equal(group->busy, 1u << WORK_RANGE | (rank == 3 ? 1u << WORK_KERNEL : 0));
    }
    close_view();
}

static void hosts_tell_the_error_of_their_clocks(void **state)
{
    struct writer *writer = start();

    for (int64_t rank = 0; rank < 3; rank++) {
        add_process(writer, 100 + rank, rank, (const char *const[]){ "a", "b", "c" }[rank]);
        add_range(writer, 100 + rank);
    }
    add_clock(writer, "a", "reference", 0);
    add_clock(writer, "a", "counter", 463);
    add_clock(writer, "b", "collectives", 2500);
    add_clock(writer, "c", "utc", 90);
    add_clock(writer, "c", "none", NO_ID);
    open_view(writer);
    assert_string_equal(group_of(ROW_HOST, -1)->detail, "clock ±463 ns (counter and others)");
    assert_string_equal(view->rows[group_of(ROW_RANK, 1)->parent].detail, "clock ±2.50 µs (collectives)");
    assert_string_equal(view->rows[group_of(ROW_RANK, 2)->parent].detail, "clock error unknown (none and others)");
    close_view();
}

static void one_rank_has_no_groups(void **state)
{
    struct writer *writer = start();

    add_process(writer, 7, 3, "node");
    add_range(writer, 7);
    open_view(writer);
    assert_string_equal(tree(), "+solver (7)\n"
                                "  +Thread 7\n"
                                "    NVTX\n");
    close_view();
}

/* The busy time of a rank in the map, in ns. */
static double busy_ns(const struct view *map, int64_t rank)
{
    double sum = 0;

    for (size_t i = 0; i < map->row_count; i++) {
        const struct view_points *points = &map->rows[i].points;
        if (map->rows[i].type != ROW_RANK_MAP || map->rows[i].rank != rank)
            continue;
        for (uint32_t p = 0; p + 1 < points->count; p++)
            sum += points->value[p] / 100 * (double)(points->time_ns[p + 1] - points->time_ns[p]);
    }
    return sum;
}

/* Kernels that overlap, or are stored in another order than they ran, count once; a rank without kernels has a row,
 * too; what the launcher did is in none. */
static void map_has_the_work_of_each_rank(void **state)
{
    struct view *map = calloc(1, sizeof *map);
    struct writer *writer = start();
    struct error err;

    for (int64_t rank = 0; rank < 3; rank++)
        add_process(writer, 100 + rank, rank, "node");
    add_process(writer, 200, NO_ID, "node");
    made_kernel(writer, (struct made_kernel){ 0, 1024000, 200, 1, 0, 7, "launcher", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 500000, 700000, 100, 1, 0, 7, "later", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 100000, 300500, 100, 2, 0, 7, "first", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 200000, 400000, 100, 3, 0, 8, "beside", NULL, NULL });
    made_kernel(writer, (struct made_kernel){ 1000000, 1024000, 101, 4, 0, 7, "last", NULL, NULL });
    map->report = report = finish(writer);
    map->row_keys.width = KEY_PARTS;
    assert_int_equal(intern_add(&map->own_names, "", 0), 0);
    assert_int_equal(job_rows_read(&map->ranks, report, &err), 0);
    assert_false(rank_map_is_needed(map, 0));
    assert_true(rank_map_is_needed(map, 1));
    assert_int_equal(rank_map_read(map, &err), 0);
    assert_int_equal(tree_build(map, &err), 0);
    assert_int_equal(map->row_count, 1 + 2 * 3);
    assert_float_equal(busy_ns(map, 0), 500000, 500);
    assert_float_equal(busy_ns(map, 1), 24000, 500);
    assert_float_equal(busy_ns(map, 2), 0, 0);
    assert_int_equal(map->rows[0].type, ROW_HOST);
    for (size_t i = 1; i < map->row_count; i += 2) {
        assert_int_equal(map->rows[i].type, ROW_RANK);
        assert_int_equal(map->rows[i + 1].type, ROW_RANK_MAP);
    }
    double mean = 0;
    for (size_t i = 2; i < map->row_count; i += 2)
        mean += map->rows[i].points.value[300] / 3;
    assert_true(mean > 0);
    assert_float_equal(map->rows[0].points.value[300], mean, 1e-9);
    view_close(map);
    report_close(report);
}

/* ---- links between ranks --------------------------------------------------------------------------------------- */

static void add_p2p(struct writer *writer, int64_t rank, int64_t begin, int64_t end, int is_received)
{
    const char *name = is_received ? "MPI_Recv" : "MPI_Send";
    struct row_MPI_P2P_EVENTS call = { 0 };
    struct row_TACHO_MPI_MESSAGE row = { 0 };

    ROW_SET(&call, MPI_P2P_EVENTS, start, begin);
    ROW_SET(&call, MPI_P2P_EVENTS, end, end);
    ROW_SET(&call, MPI_P2P_EVENTS, globalTid, made_rank_thread(rank));
    ROW_SET(&call, MPI_P2P_EVENTS, textId, made_string(writer, name));
    writer_append(writer, TABLE_MPI_P2P_EVENTS, &call);
    ROW_SET(&row, TACHO_MPI_MESSAGE, start, begin);
    ROW_SET(&row, TACHO_MPI_MESSAGE, end, end);
    ROW_SET(&row, TACHO_MPI_MESSAGE, globalTid, made_rank_thread(rank));
    ROW_SET(&row, TACHO_MPI_MESSAGE, textId, made_string(writer, name));
    ROW_SET(&row, TACHO_MPI_MESSAGE, rank, rank);
    ROW_SET(&row, TACHO_MPI_MESSAGE, isReceived, is_received);
    ROW_SET(&row, TACHO_MPI_MESSAGE, peer, 1 - rank);
    ROW_SET(&row, TACHO_MPI_MESSAGE, tag, 5);
    ROW_SET(&row, TACHO_MPI_MESSAGE, size, 64);
    ROW_SET(&row, TACHO_MPI_MESSAGE, communicator, made_string(writer, "world"));
    writer_append(writer, TABLE_TACHO_MPI_MESSAGE, &row);
}

static void add_setup(struct writer *writer, int64_t rank)
{
    struct row_MPI_OTHER_EVENTS row = { 0 };

    ROW_SET(&row, MPI_OTHER_EVENTS, start, 0);
    ROW_SET(&row, MPI_OTHER_EVENTS, end, 10);
    ROW_SET(&row, MPI_OTHER_EVENTS, globalTid, made_rank_thread(rank));
    ROW_SET(&row, MPI_OTHER_EVENTS, textId, made_string(writer, "MPI_Init"));
    writer_append(writer, TABLE_MPI_OTHER_EVENTS, &row);
}

/* The row of a rank's calls of MPI, and the number of the call that starts then. */
static int mpi_row(int64_t rank)
{
    for (size_t i = 0; i < view->row_count; i++)
        if (view->rows[i].type == ROW_THREAD_OTHER && view->rows[i].rank == rank)
            return (int)i;
    fail_msg("rank %lld has no row of MPI", (long long)rank);
    return -1;
}

static uint32_t call_at(int64_t rank, int64_t start_ns)
{
    const struct view_events *events = &view->rows[mpi_row(rank)].events;

    for (uint32_t i = 0; i < events->count; i++)
        if (events->start_ns[i] == start_ns)
            return i;
    fail_msg("rank %lld has no call at %lld", (long long)rank, (long long)start_ns);
    return 0;
}

static void expect_answer(const char *request, const char *expected)
{
    struct text answer = { 0 };
    const char *type;
    struct error err = { 0 };

    view_answer(view, request, NULL, 0, &answer, &type, &err);
    const char *got = err.code ? err.text : text_string(&answer);
    if (!strstr(got, expected))
        fail_msg("%s: %s is not in %s", request, expected, got);
    text_free(&answer);
}

/* Asks for a call of a rank, and expects a text in the answer. */
static void expect(int64_t rank, int64_t start_ns, const char *expected, int is_there)
{
    struct text answer = { 0 };
    const char *type;
    struct error err;
    char request[64];

    snprintf(request, sizeof request, "event?row=%d&event=%u", mpi_row(rank), call_at(rank, start_ns));
    if (view_answer(view, request, NULL, 0, &answer, &type, &err) != 0)
        fail_msg("%s", err.text);
    if ((strstr(text_string(&answer), expected) != NULL) != is_there)
        fail_msg("%s is %sin %s", expected, is_there ? "not " : "", text_string(&answer));
    text_free(&answer);
}

static void expect_link(int64_t rank, int64_t start_ns, const char *kind, int64_t to_rank, int64_t to_start_ns)
{
    char words[160];
    struct text link = { 0 };

    snprintf(words, sizeof words, "\"row\":%d,\"event\":%u,", mpi_row(to_rank), call_at(to_rank, to_start_ns));
    text_addf(&link, "{\"kind\":\"%s\",\"label\":\"%s\",%s", kind,
              strcmp(kind, "collective") == 0   ? "the same collective on another rank"
              : strcmp(kind, "message-to") == 0 ? "message received here"
                                                : "message sent here",
              words);
    expect(rank, start_ns, text_string(&link), 1);
    text_free(&link);
}

/* In the second of two allreduces rank 1 comes last, by 300 µs; the message between them leads from the send to the
 * receive. */
static void collectives_and_messages_lead_to_other_ranks(void **state)
{
    enum { US = 1000 };
    struct writer *writer = start();

    for (int64_t rank = 0; rank < 2; rank++) {
        add_process(writer, 100 + rank, rank, "node");
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1", 2, "world");
        add_setup(writer, rank);
        made_collective(writer, (struct made_collective){ rank, 100 * US + rank, 200 * US, "MPI_Allreduce", 10, 8, 0 });
        made_collective(writer,
                        (struct made_collective){ rank, (500 + 300 * rank) * US, 900 * US, "MPI_Allreduce", 10, 8, 0 });
    }
    add_p2p(writer, 0, 300 * US, 310 * US, 0);
    add_p2p(writer, 1, 250 * US, 320 * US, 1);
    open_view(writer);
    expect_link(0, 500 * US, "collective", 1, 800 * US);
    expect_link(1, 800 * US, "collective", 0, 500 * US);
    expect_link(0, 100 * US, "collective", 1, 100 * US + 1);
    expect(0, 500 * US, "\"collective\":{\"ranks\":2,\"last\":{\"rank\":1,\"lateness\":300000,", 1);
    expect_link(0, 300 * US, "message-to", 1, 250 * US);
    expect_link(1, 250 * US, "message-from", 0, 300 * US);
    expect(0, 300 * US, "\"collective\":null", 1);
    expect(0, 500 * US, "\"message", 0);
    expect_answer("matrix", "{\"ranks\":2,\"row\":0,\"column\":0,\"side\":2,\"group\":1,\"all\":{\"messages\":1,");
    expect_answer("matrix?cells=1", "\"group\":2,");
    expect_answer("matrix?row=1&column=0&side=1", "\"cells\":[]}");
    expect_answer("matrix?from=0&to=1000", "\"cells\":[]}");
    expect_answer("matrix?cells=300", "cells");
    expect_answer("table?report=mpi_message_trace&options=rank=0:peer=1", "\"total\":1,");
    expect_answer("table?report=mpi_message_trace&options=peer=0", "\"total\":0,");
    expect_answer("table?report=mpi_message_trace&options=rank=x", "rank");
    close_view();
}

/* ---- some ranks of a map --------------------------------------------------------------------------------------- */

enum { JOB_RANKS = 12 };

/* A set of one report of twelve ranks, as a map. Rank r computes from r ms on, for 1 ms. */
static struct report *open_job(void)
{
    struct report_rank ranks[JOB_RANKS];
    struct report_part about = { .name = "job", .rank = -1, .ranks = ranks, .rank_count = JOB_RANKS, .system = -1 };
    struct writer *writer = start();
    struct report *set;
    struct error err;

    about.clock = "reference";
    for (int64_t rank = 0; rank < JOB_RANKS; rank++) {
        ranks[rank] = (struct report_rank){ .process = made_thread(100 + rank, 0), .rank = rank };
        add_process(writer, 100 + rank, rank, "node");
        made_kernel(writer, (struct made_kernel){ rank * 1000000, (rank + 1) * 1000000, 100 + rank, 1, 0, 7, "work",
                                                  NULL, NULL });
    }
    report = finish(writer);
    report_ranks_sort(ranks, JOB_RANKS);
    if (report_unite(&report, &about, 1, &set, &err) != 0 ||
        view_open_as(set, &(struct view_options){ .as_map = 1 }, &view, &err) != 0)
        fail_msg("%s", err.text);
    return set;
}

/* More than are kept open at a time, and the first of them again. Times are those of the whole job. */
static void ranks_of_a_map_are_opened_when_asked_for(void **state)
{
    struct report *set = open_job();
    char request[64], expected[128];

    expect_answer("about", "\"to\":12000000,");
    expect_answer("about", "\"map\":true,");
    for (int64_t turn = 0; turn <= JOB_RANKS; turn++) {
        int64_t rank = turn % JOB_RANKS;
        snprintf(request, sizeof request, "rows?ranks=%lld", (long long)rank);
        snprintf(expected, sizeof expected, "\"events\":1,\"from\":%lld,\"to\":%lld,", (long long)rank * 1000000,
                 (long long)(rank + 1) * 1000000);
        expect_answer(request, expected);
        assert_int_equal(view_lane(request), VIEW_LANE_RANKS);
    }
    expect_answer("about?ranks=3,5-6", "\"events\":3,");
    expect_answer("about?ranks=3,5-6", "\"map\":false,");
    expect_answer("about?ranks=3,5-6", "\"to\":12000000,");
    expect_answer("table?report=cuda_gpu_kern_sum&ranks=4", "\"total\":1,");
    expect_answer("about?ranks=12", "the job has no rank of 12");
    expect_answer("about?ranks=x", "'x' is no list of ranks");
    assert_int_equal(view_lane("tile?rows=1&ranks=4"), VIEW_LANE_NOW);
    view_close(view);
    report_close(set);
}

static void a_plain_report_has_no_ranks_to_open(void **state)
{
    struct writer *writer = start();

    add_process(writer, 7, 0, "node");
    add_range(writer, 7);
    open_view(writer);
    expect_answer("about?ranks=0", "the report is not one of several ranks");
    expect_answer("about", "\"map\":false,");
    close_view();
}

/* In each of ten steps of 1 ms, rank 1 comes 300 µs later than the others, or none does. */
static void the_summary_has_the_late_rank(void **state)
{
    enum { US = 1000, RANKS = 3, STEPS = 10 };

    for (int64_t late = 0; late <= 300; late += 300) {
        struct writer *writer = start();
        for (int64_t rank = 0; rank < RANKS; rank++) {
            add_process(writer, 100 + rank, rank, "node");
            made_rank(writer, rank);
            made_communicator(writer, rank, 0, 10, "0,1,2", RANKS, "world");
            for (int64_t step = 1; step <= STEPS + 1; step++)
                made_collective(writer,
                                (struct made_collective){ rank, (step * 1000 + (rank == 1 ? late : 0)) * US,
                                                          (step * 1000 + late + 20) * US, "MPI_Allreduce", 10, 8, 0 });
        }
        open_view(writer);
        expect_answer("summary", late
                                     ? "{\"late\":\"rank 1 on node is late: 300 µs in each of 10 steps; outside of "
                                       "collectives; without it a step of the job takes about 300 µs less of 1.00 ms\","
                                     : "{\"late\":\"\",");
        close_view();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_stand_below_their_hosts_in_order),
        cmocka_unit_test(many_ranks_are_folded),
        cmocka_unit_test(hosts_tell_the_error_of_their_clocks),
        cmocka_unit_test(one_rank_has_no_groups),
        cmocka_unit_test(map_has_the_work_of_each_rank),
        cmocka_unit_test(collectives_and_messages_lead_to_other_ranks),
        cmocka_unit_test(the_summary_has_the_late_rank),
        cmocka_unit_test(ranks_of_a_map_are_opened_when_asked_for),
        cmocka_unit_test(a_plain_report_has_no_ranks_to_open),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
