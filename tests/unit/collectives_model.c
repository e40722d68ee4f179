/* Instances of collectives over ranks: calls are matched by communicator and order, and the waits of an instance are
 * those that were made. */
#include "analyze/model/ranks/collectives.h"
#include "analyze/model/ranks/rank_lists.h"
#include "made_mpi.h"

static void kinds_by_name(void **state)
{
    static const struct {
        const char *name;
        enum collective_kind kind;
        int synchronises;
    } known[] = {
        { "MPI_Allreduce", COLLECTIVE_ALLREDUCE, 1 },
        { "MPI_Iallreduce_c", COLLECTIVE_ALLREDUCE, 1 },
        { "MPI_Reduce_scatter_block", COLLECTIVE_REDUCE_SCATTER, 1 },
        { "MPI_Barrier", COLLECTIVE_BARRIER, 1 },
        { "MPI_Ibarrier", COLLECTIVE_BARRIER, 1 },
        { "MPI_Bcast", COLLECTIVE_BROADCAST, 0 },
        { "MPI_Igatherv", COLLECTIVE_GATHER, 0 },
        { "MPI_Reduce", COLLECTIVE_REDUCE, 0 },
        { "MPI_Scan", COLLECTIVE_SCAN, 0 },
        { "MPI_Neighbor_alltoall", COLLECTIVE_OTHER, 0 },
        { "MPI_Allreduce_init", COLLECTIVE_OTHER, 0 },
        { "AllGather", COLLECTIVE_ALLGATHER, 1 },
        { "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", COLLECTIVE_ALLREDUCE, 1 },
        { "ncclKernel_ReduceScatter_RING_LL_Sum_half", COLLECTIVE_REDUCE_SCATTER, 1 },
        { "ncclDevKernel_SendRecv(x)", COLLECTIVE_OTHER, 0 },
        { "gloo:all_reduce", COLLECTIVE_ALLREDUCE, 1 },
        { "nccl:_all_gather_base", COLLECTIVE_ALLGATHER, 1 },
        { "c10d::allreduce_", COLLECTIVE_ALLREDUCE, 1 },
        { "", COLLECTIVE_OTHER, 0 },
        { "a name that is longer than any of the operations is, and is none", COLLECTIVE_OTHER, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        enum collective_kind kind = collective_kind_of(known[i].name);
        if (kind != known[i].kind || collective_synchronises(kind) != known[i].synchronises)
            fail_msg("%s: kind %d", known[i].name, (int)kind);
    }
}

static void lists_of_ranks(void **state)
{
    static const struct {
        const char *text, *shown;
        size_t count;
    } lists[] = { { "0,1,2,3", "0-3", 4 }, { "0,2,4", "0,2,4", 3 }, { "5", "5", 1 },  { "0,1,5,6,7", "0,1,5-7", 5 },
                  { "", "", 0 },           { "-1", "", 0 },         { "0,x", "", 0 }, { "3,2", "3,2", 2 } };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        int64_t ranks[8];
        struct text out = { 0 };
        size_t count = rank_list_read(lists[i].text, ranks, 8);
        assert_int_equal(count, lists[i].count);
        rank_list_add(&out, ranks, count, 0);
        assert_string_equal(text_string(&out), lists[i].shown);
        text_free(&out);
    }
}

static void read_all(struct collectives *all, struct report *report)
{
    struct error err;
    if (collectives_read(all, report, NULL, &err) != 0)
        fail_msg("%s", err.text);
}

/* Three ranks, the world, and a pair {0, 2}, whose handle is used again for another pair of the same ranks. Rows are
 * not in order. */
static void made_job(struct writer *writer, int has_names)
{
    for (int64_t rank = 0; rank < 3; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2", 3, has_names ? "world" : NULL);
        if (rank != 1) {
            made_communicator(writer, rank, 1000 + rank, 20, "0,2", 2, has_names ? "pair" : NULL);
            made_communicator(writer, rank, 5000 + rank, 20, "0,2", 2, has_names ? "pair.1" : NULL);
        }
    }
    for (int64_t rank = 2; rank >= 0; rank--) {
        made_collective(writer, (struct made_collective){ rank, 8000, 9000 + rank, "MPI_Barrier", 10, NO_ID, 0 });
        if (rank != 1) {
            made_collective(writer, (struct made_collective){ rank, 6000, 6500, "MPI_Allreduce", 20, 16, 0 });
            made_collective(writer, (struct made_collective){ rank, 2000 + rank, 2500, "MPI_Bcast", 20, 8, 0 });
        }
        made_collective(writer, (struct made_collective){ rank, 100 + 100 * rank, 400, "MPI_Allreduce", 10, 4, 0 });
    }
}

static void check_job(struct report *report)
{
    struct collectives all;
    read_all(&all, report);
    assert_int_equal(all.communicator_count, 3);
    assert_int_equal(all.call_count, 10);
    assert_int_equal(all.instance_count, 4);
    size_t worlds = 0, pairs = 0;
    for (size_t i = 0; i < all.instance_count; i++) {
        const struct collective_instance *at = &all.instances[i];
        const struct collective_communicator *comm = &all.communicators[at->communicator];
        assert_int_equal((int64_t)at->count, comm->size);
        for (size_t c = 0; c < at->count; c++)
            assert_int_equal(all.calls[at->first + c].rank, comm->members[c]);
        if (strcmp(comm->label, "ranks 0-2") == 0) {
            assert_int_equal(at->sequence, worlds);
            assert_int_equal(at->kind, worlds ? COLLECTIVE_BARRIER : COLLECTIVE_ALLREDUCE);
            worlds++;
        } else {
            assert_string_equal(comm->label, pairs ? "ranks 0,2 (2)" : "ranks 0,2");
            assert_int_equal(at->sequence, 0);
            assert_int_equal(at->bytes, pairs ? 16 : 8);
            pairs++;
        }
    }
    assert_int_equal(worlds, 2);
    assert_int_equal(pairs, 2);
    collectives_free(&all);
}

static void calls_become_instances(void **state)
{
    for (int has_names = 0; has_names < 2; has_names++) {
        struct writer *writer = start();
        made_job(writer, has_names);
        struct report *report = finish(writer);
        check_job(report);
        report_close(report);
    }
}

/* The last to enter is rank 2. Rank 0 is preempted on its way out, which is no wait: one report has one clock. */
static void waits_of_an_instance(void **state)
{
    static const int64_t enter[] = { 1000, 4000, 9000 }, leave[] = { 90000, 9500, 9400 };
    struct writer *writer = start();
    for (int64_t rank = 0; rank < 3; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2", 3, "world");
        made_collective(writer,
                        (struct made_collective){ rank, enter[rank], leave[rank], "MPI_Barrier", 10, NO_ID, 0 });
        made_collective(writer,
                        (struct made_collective){ rank, 100000, 100001, "MPI_Ibarrier", 10, NO_ID, 200000 + rank });
        made_collective(writer, (struct made_collective){ rank, 300000 + rank, 400000,
                                                          rank ? "MPI_Bcast" : "MPI_Reduce", 10, 4 + rank, 0 });
        made_collective(writer,
                        (struct made_collective){ rank, 500000, rank ? 500100 : 0, "MPI_Barrier", 10, NO_ID, 0 });
    }
    struct report *report = finish(writer);
    struct collectives all;
    int64_t waits[3], error_ns;
    read_all(&all, report);
    assert_int_equal(all.instance_count, 4);
    assert_true(collective_is_timed(&all.instances[0]));
    assert_int_equal(collective_waits(&all, &all.instances[0], waits, &error_ns), 2);
    assert_int_equal(waits[0], 8000);
    assert_int_equal(waits[1], 5000);
    assert_int_equal(waits[2], 0);
    assert_int_equal(error_ns, 0);
    assert_true(all.instances[1].is_nonblocking && !collective_is_timed(&all.instances[1]));
    assert_int_equal(all.calls[all.instances[1].first + 2].leave_ns, 200002);
    assert_true(all.instances[2].has_several && !collective_is_timed(&all.instances[2]));
    assert_string_equal(report_string(report, all.instances[2].operation, NULL), "MPI_Bcast");
    assert_true(all.instances[3].is_open && !collective_is_timed(&all.instances[3]));
    assert_int_equal(all.calls[all.instances[3].first].leave_ns, COLLECTIVE_NEVER_LEFT);
    collectives_free(&all);
    report_close(report);
}

/* ---- NCCL and gloo --------------------------------------------------------------------------------------------- */

static void process(struct writer *writer, int64_t rank)
{
    struct row_TACHO_PROCESS row = { 0 };
    ROW_SET(&row, TACHO_PROCESS, start, 0);
    ROW_SET(&row, TACHO_PROCESS, globalPid, made_thread(100 + rank, 0));
    ROW_SET(&row, TACHO_PROCESS, image, 0);
    ROW_SET(&row, TACHO_PROCESS, rank, rank);
    writer_append(writer, TABLE_TACHO_PROCESS, &row);
}

static void nccl_kernel(struct writer *writer, int64_t rank, int64_t begin, int64_t end, int64_t id, int64_t stream,
                        const char *name, const char *args)
{
    struct row_TACHO_TORCH_LINK row = { 0 };
    made_kernel(writer, (struct made_kernel){ begin, end, 100 + rank, id, rank, stream, name, NULL, NULL });
    if (!args)
        return;
    ROW_SET(&row, TACHO_TORCH_LINK, start, begin);
    ROW_SET(&row, TACHO_TORCH_LINK, globalPid, made_thread(100 + rank, 0));
    ROW_SET(&row, TACHO_TORCH_LINK, correlationId, id);
    ROW_SET(&row, TACHO_TORCH_LINK, category, made_string(writer, "kernel"));
    ROW_SET(&row, TACHO_TORCH_LINK, argsId, made_string(writer, args));
    writer_append(writer, TABLE_TACHO_TORCH_LINK, &row);
}

/* Streams have other numbers on each rank. Kernels of the program do not count. */
static void kernels_of_nccl_by_stream(void **state)
{
    struct writer *writer = start();
    for (int64_t rank = 0; rank < 2; rank++) {
        process(writer, rank);
        nccl_kernel(writer, rank, 50, 60, 1, 7, "gemm", NULL);
        for (int64_t i = 0; i < 3; i++) {
            nccl_kernel(writer, rank, 1000 * i + 100 + 50 * rank, 1000 * i + 200, 10 + i, 20 + rank,
                        "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL);
            nccl_kernel(writer, rank, 1000 * i + 300, 1000 * i + 400, 20 + i, 30 - rank, "ncclKernel_AllGather_RING_LL",
                        NULL);
        }
    }
    struct report *report = finish(writer);
    struct collectives all;
    int64_t waits[2], error_ns;
    read_all(&all, report);
    assert_int_equal(all.communicator_count, 2);
    assert_int_equal(all.instance_count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct collective_instance *at = &all.instances[i];
        const struct collective_communicator *comm = &all.communicators[at->communicator];
        int is_first = strcmp(comm->label, "NCCL stream 1") == 0;
        assert_true(comm->is_guessed && comm->size == 2);
        assert_int_equal(at->count, 2);
        assert_int_equal(at->kind, is_first ? COLLECTIVE_ALLREDUCE : COLLECTIVE_ALLGATHER);
        assert_int_equal(collective_waits(&all, at, waits, &error_ns), is_first ? 1 : 0);
        assert_int_equal(waits[0], is_first ? 50 : 0);
    }
    collectives_free(&all);
    report_close(report);
}

/* PyTorch's traces name the group and the size: two groups share a stream. */
static void kernels_of_nccl_by_group(void **state)
{
    static const char *const groups[] = {
        "\"Collective name\": \"allreduce\", \"In msg nelems\": 1000, \"Out msg nelems\": 1000, \"Group size\": 2, "
        "\"dtype\": \"BFloat16\", \"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1]\"",
        "\"Collective name\": \"_allgather_base\", \"In msg nelems\": 10, \"Out msg nelems\": 20, \"Group size\": 2, "
        "\"dtype\": \"Float\", \"Process Group Name\": \"7\", \"Process Group Ranks\": \"[0, 1]\"",
    };
    struct writer *writer = start();
    for (int64_t rank = 0; rank < 2; rank++) {
        process(writer, rank);
        for (int64_t i = 0; i < 4; i++) /* the order of the groups differs between the ranks */
            nccl_kernel(writer, rank, 1000 * i, 1000 * i + 3000, 10 + i, 7, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                        groups[(i + rank) % 2]);
    }
    struct report *report = finish(writer);
    struct collectives all;
    read_all(&all, report);
    assert_int_equal(all.communicator_count, 2);
    assert_int_equal(all.instance_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct collective_communicator *comm = &all.communicators[all.instances[i].communicator];
        int is_first = strcmp(comm->label, "process group 0") == 0;
        if (!is_first)
            assert_string_equal(comm->label, "process group 7");
        assert_false(comm->is_guessed);
        assert_int_equal(all.instances[i].count, 2);
        assert_int_equal(all.instances[i].bytes, is_first ? 2000 : 80);
    }
    collectives_free(&all);
    report_close(report);
}

static void thread(struct writer *writer, int64_t rank, int64_t tid)
{
    struct row_TACHO_THREAD row = { 0 };
    ROW_SET(&row, TACHO_THREAD, start, 0);
    ROW_SET(&row, TACHO_THREAD, globalTid, made_thread(100 + rank, tid));
    writer_append(writer, TABLE_TACHO_THREAD, &row);
}

/* end 0: it was running when its process was killed, as the agent marks it. */
static void gloo(struct writer *writer, int64_t rank, int64_t tid, int64_t begin, int64_t end, const char *name)
{
    struct row_TACHO_TORCH_OP row = { 0 };
    ROW_SET(&row, TACHO_TORCH_OP, start, begin);
    ROW_SET(&row, TACHO_TORCH_OP, end, end ? end : begin + 1000000);
    if (!end)
        ROW_SET(&row, TACHO_TORCH_OP, argsId, made_string(writer, "\"unfinished\": true"));
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(100 + rank, tid));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "user_annotation"));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

/* A group of three ranks on the threads 10 and 11 (and 20 above on rank 1), and one of the first two on 13 and 15. */
static void groups_of_gloo(void **state)
{
    for (int is_torn = 0; is_torn < 2; is_torn++) {
        struct writer *writer = start();
        for (int64_t rank = 0; rank < 3; rank++) {
            int64_t more = rank == 1 ? 20 : 0;
            process(writer, rank);
            for (int64_t tid = 1; tid < 16; tid++)
                if (tid != 14) /* of another process */
                    thread(writer, rank, tid + more);
            for (int64_t i = 0; i < 10; i++) {
                gloo(writer, rank, 10 + i % 2 + more, 1000 * i, 1000 * i + 500,
                     i % 3 ? "gloo:all_reduce" : "gloo:barrier");
                if (rank < 2)
                    gloo(writer, rank, (i % 2 ? 13 : 15) + more, 1000 * i + 600 + (is_torn && rank ? 200 : 0),
                         1000 * i + (is_torn && !rank ? 700 : 900), "gloo:all_reduce");
            }
        }
        struct report *report = finish(writer);
        struct collectives all;
        size_t pairs = 0;
        read_all(&all, report);
        assert_int_equal(all.communicator_count, 2);
        for (size_t i = 0; i < all.instance_count; i++) {
            const struct collective_communicator *comm = &all.communicators[all.instances[i].communicator];
            int is_pair = strcmp(comm->label, "gloo group 2") == 0;
            assert_int_equal(all.instances[i].count, is_pair ? 2 : 3);
            assert_false(all.instances[i].has_several);
            pairs += (size_t)is_pair;
        }
        assert_int_equal(pairs, is_torn ? 0 : 10); /* what two ranks never did together is no group */
        assert_int_equal(all.instance_count, is_torn ? 10 : 20);
        collectives_free(&all);
        report_close(report);
    }
}

static void gloo_hangs(void **state)
{
    struct writer *writer = start();
    for (int64_t rank = 0; rank < 3; rank++) {
        process(writer, rank);
        gloo(writer, rank, 10, 1000, 2000, "gloo:all_reduce");
        if (rank != 1)
            gloo(writer, rank, 11, 3000 + rank, 0, "gloo:all_reduce");
    }
    struct report *report = finish(writer);
    struct collectives all;
    read_all(&all, report);
    assert_int_equal(all.instance_count, 2);
    assert_int_equal(all.communicators[0].size, 3); /* those that ever came */
    assert_int_equal(all.instances[1].count, 2);
    assert_true(all.instances[1].is_open);
    assert_int_equal(all.calls[all.instances[1].first].leave_ns, COLLECTIVE_NEVER_LEFT);
    collectives_free(&all);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_by_name),
        cmocka_unit_test(lists_of_ranks),
        cmocka_unit_test(calls_become_instances),
        cmocka_unit_test(waits_of_an_instance),
        cmocka_unit_test(kernels_of_nccl_by_stream),
        cmocka_unit_test(kernels_of_nccl_by_group),
        cmocka_unit_test(groups_of_gloo),
        cmocka_unit_test(gloo_hangs),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
