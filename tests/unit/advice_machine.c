/* Rules on how a program uses the machine, its CPUs and its multiprocessors, on small captures made by hand, with
 * savings that can be worked out on paper, in µs. */
#include "made_advice.h"

enum { STEPS = 10, STEP = 500 };

/* ---- CPUs ------------------------------------------------------------------------------------------------------ */

enum { PREEMPTED = 6, WAITING = 7 }; /* ENUM_SAMPLING_THREAD_STATE */

static void context_switch(struct writer *writer, int64_t thread, int64_t time, int64_t cpu, int is_in, int64_t why)
{
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, time * US);
    ROW_SET(&row, SCHED_EVENTS, cpu, cpu);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, thread);
    if (!is_in)
        ROW_SET(&row, SCHED_EVENTS, threadState, why);
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

/* Steps of 500 µs with a kernel of 100. In each the thread that launches loses CPU 3 for 200 µs, and goes on on CPU 4.
 * Another thread takes CPU 3 after 1 µs if there is one, and gives it back after 100. */
static struct report *lose_the_cpu(struct adviser *adviser, int64_t taker, int64_t why)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = STEP * i;
        step(writer, at, at + STEP - 1, i);
        launch(writer, at, at + 5, at + 105, i + 1, 7);
        context_switch(writer, made_thread(1, MAIN), at + 450, 3, 1, 0);
        context_switch(writer, made_thread(1, MAIN), at + 200, 3, 0, why);
        context_switch(writer, made_thread(1, MAIN), at + 400, 4, 1, 0);
        context_switch(writer, made_thread(1, MAIN), at + 449, 4, 0, PREEMPTED);
        if (taker) {
            context_switch(writer, taker, at + 201, 3, 1, 0);
            context_switch(writer, taker, at + 301, 3, 0, WAITING);
        }
    }
    return advise(adviser, writer, &rule_preemption, WITH_STEPS);
}

/* Each step takes 200 µs less, and the last µs on CPU 4, for which nobody is seen, is less than 1 % of it. */
static void expect_lost_cpu(int64_t taker, int64_t why, const char *what)
{
    struct adviser adviser;
    struct report *report = lose_the_cpu(&adviser, taker, why);

    assert_int_equal(adviser.step_ns, STEP * US);
    assert_int_equal(adviser.count, what ? 1 : 0);
    if (what)
        expect(&adviser.causes[0], 200, 200, what, "");
    done(&adviser, report);
}

static void a_thread_of_the_process_takes_the_cpu(void **state)
{
    expect_lost_cpu(made_thread(1, 2), PREEMPTED,
                    "no CPU for 200 µs in each step: 1 thread of this process ran instead, 2; it ran on 2 CPUs");
}

static void another_process_takes_the_cpu(void **state)
{
    expect_lost_cpu(made_thread(8, 9), PREEMPTED,
                    "no CPU for 200 µs in each step: 1 thread of other processes ran instead, 9; it ran on 2 CPUs");
}

static void a_thread_that_waits_needs_no_cpu(void **state)
{
    expect_lost_cpu(made_thread(1, 2), WAITING, NULL);
}

/* Those 200 µs, and the µs on CPU 4. */
static void nobody_is_seen_to_take_the_cpu(void **state)
{
    struct adviser adviser;
    struct report *report = lose_the_cpu(&adviser, 0, PREEMPTED);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 201, 201,
           "no CPU for 201 µs in each step: an unrecorded program ran, or a CPU quota was used up; it ran on 2 CPUs",
           "");
    done(&adviser, report);
}

/* ---- multiprocessors ------------------------------------------------------------------------------------------- */

enum { MULTIPROCESSORS = 100, GRID_RUN = 200 };

/* A GPU with 100 multiprocessors, each with 64 warps, in 32 blocks at most. */
static void gpu(struct writer *writer)
{
    struct row_TARGET_INFO_GPU row = { 0 };

    ROW_SET(&row, TARGET_INFO_GPU, id, 0);
    ROW_SET(&row, TARGET_INFO_GPU, cuDevice, 0);
    ROW_SET(&row, TARGET_INFO_GPU, smCount, MULTIPROCESSORS);
    ROW_SET(&row, TARGET_INFO_GPU, computeMajor, 9);
    ROW_SET(&row, TARGET_INFO_GPU, computeMinor, 0);
    ROW_SET(&row, TARGET_INFO_GPU, maxWarpsPerSm, 64);
    ROW_SET(&row, TARGET_INFO_GPU, maxBlocksPerSm, 32);
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}

static void kernel_of_blocks(struct writer *writer, int64_t start, int64_t id, int64_t stream, const char *name,
                             int64_t blocks, int64_t run)
{
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, start, start * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, end, (start + run) * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, streamId, stream);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, made_string(writer, name));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, shortName, made_string(writer, name));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridX, blocks);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridY, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridZ, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, blockX, 1024);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, blockY, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, blockZ, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, registersPerThread, 32);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, staticSharedMemory, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, dynamicSharedMemory, 0);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
}

/* Ten kernels of 200 µs, one directly behind the other in a stream; with `streams` of 2, all of them twice. Two blocks
 * of 1024 threads fit on a multiprocessor. */
static struct report *run_grids(struct adviser *adviser, const char *name, int64_t blocks, int streams)
{
    struct writer *writer = start();

    gpu(writer);
    for (int i = 0; i < STEPS; i++)
        for (int stream = 0; stream < streams; stream++) {
            int64_t id = 2 * i + stream + 1;
            call(writer, MAIN, 10 * id, 10 * id + 5, "cudaLaunchKernel", id);
            kernel_of_blocks(writer, 40 + GRID_RUN * i, id, 7 + stream, name, blocks, GRID_RUN);
        }
    return advise(adviser, writer, &rule_small_grids, WITHOUT_STEPS);
}

static size_t grids_found(const char *name, int64_t blocks, int streams)
{
    struct adviser adviser;
    struct report *report = run_grids(&adviser, name, blocks, streams);
    size_t count = adviser.count;

    done(&adviser, report);
    return count;
}

static void expect_grids(const char *name, int64_t blocks, int64_t bound, int64_t estimate, const char *what)
{
    struct adviser adviser;
    struct report *report = run_grids(&adviser, name, blocks, 1);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], STEPS * bound, STEPS * estimate, what, "");
    assert_int_equal(adviser.causes[0].confidence, ADVICE_MODELLED);
    done(&adviser, report);
}

/* 50 blocks for 100 multiprocessors, which have room for 200: a half and a quarter of the time remain. */
static void fewer_blocks_than_multiprocessors(void **state)
{
    expect_grids("scan", 50, 150, 100, "fewer blocks than multiprocessors: 10 × scan in 2.00 ms");
    assert_int_equal(grids_found("scan", 80, 1), 0);
}

/* Ten kernels of 10 blocks, launched at once: a tenth of the time would remain, but no kernel takes less than 5 µs. */
static int64_t saved_of_short_kernels(int64_t run)
{
    struct writer *writer = start();
    struct adviser adviser;

    gpu(writer);
    for (int i = 0; i < STEPS; i++) {
        call(writer, MAIN, 6 * i, 6 * i + 5, "cudaLaunchKernel", i + 1);
        kernel_of_blocks(writer, 100 + run * i, i + 1, 7, i % 2 ? "scan" : "sum", 10, run);
    }
    struct report *report = advise(&adviser, writer, &rule_small_grids, WITHOUT_STEPS);
    int64_t saved_ns = 0;
    for (size_t i = 0; i < adviser.count; i++)
        saved_ns += adviser.causes[i].estimate_ns;
    done(&adviser, report);
    return saved_ns;
}

static void short_kernels_count_if_much_of_them_goes(void **state)
{
    assert_int_equal(saved_of_short_kernels(30), STEPS * (30 - 5) * US);
    assert_int_equal(saved_of_short_kernels(15), 0);
}

/* 120 blocks: some multiprocessors have two, most have one. They could do it in 0.6 of the time. */
static void the_last_round_of_a_product(void **state)
{
    static const char gemm[] = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8";

    expect_grids(
        gemm, 120, 80, 80,
        "the last round of blocks is nearly empty: 10 × sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8 "
        "in 2.00 ms");
    assert_int_equal(grids_found(gemm, 190, 1), 0);
    assert_int_equal(grids_found("scan", 120, 1), 0);
}

static void kernels_that_run_beside_others_share_the_gpu(void **state)
{
    assert_int_equal(grids_found("scan", 50, 2), 0);
}

static void a_grid_that_the_library_fixes(void **state)
{
    assert_int_equal(grids_found("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 24, 1), 0);
}

/* A program that launches `count` kernels of 25 blocks, whose names take turns; `waits` is whether each launch comes
 * after the end of the kernel before it. Four of them fit side by side on 100 multiprocessors, eight on all places. */
struct grid_row {
    int count, names, waits;
};

static struct report *run_row(struct adviser *adviser, struct grid_row row)
{
    static const char *const names[] = { "filter", "scan" };
    struct writer *writer = start();

    gpu(writer);
    for (int i = 0; i < row.count; i++) {
        int64_t at = row.waits ? (GRID_RUN + 10) * i : 10 * i, begin = row.waits ? at + 10 : 10 + GRID_RUN * i;
        call(writer, MAIN, at, at + 5, "cudaLaunchKernel", i + 1);
        kernel_of_blocks(writer, begin, i + 1, 7, names[i % row.names], 25, GRID_RUN);
    }
    return advise(adviser, writer, &rule_small_grids, WITHOUT_STEPS);
}

/* As one kernel of 250 blocks they take a quarter of the time, or an eighth. */
static void kernels_of_few_blocks_in_a_row_are_one(void **state)
{
    struct adviser adviser;
    struct report *report = run_row(&adviser, (struct grid_row){ 10, 1, 0 });

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 2000 - 250, 2000 - 500, "launches of few blocks in a row: 10 × filter in 2.00 ms", "");
    assert_string_equal(text_string(&adviser.causes[0].rate),
                        "if they do not depend on each other: as many blocks on each of 100 multiprocessors");
    done(&adviser, report);
}

/* Too few of them, others between, or the host waits for each: then kernels have few blocks, and nothing more is known.
 */
static void other_kernels_of_few_blocks_remain(void **state)
{
    static const struct grid_row rows[] = { { 7, 1, 0 }, { 10, 2, 0 }, { 10, 1, 1 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct adviser adviser;
        struct report *report = run_row(&adviser, rows[i]);
        assert_true(adviser.count);
        for (size_t c = 0; c < adviser.count; c++)
            assert_memory_equal(text_string(&adviser.causes[c].what), "fewer blocks", strlen("fewer blocks"));
        done(&adviser, report);
    }
}

/* ---- tuning ---------------------------------------------------------------------------------------------------- */

enum { TRIED = 4, TUNED_STEP = 200 };

/* Steps of 200 µs: in so many of them a convolution launches four kernels of 20 µs, and waits for each and its time,
 * 40 µs for each; in the others it launches one. */
static struct report *tune(struct adviser *adviser, int tuned, const char *const *names)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = TUNED_STEP * i;
        int tries = i >= STEPS - 1 - tuned && i < STEPS - 1 ? TRIED : 1;
        step(writer, at, at + TUNED_STEP - 1, i);
        operator(writer, at, at + 40 * tries, "aten::cudnn_convolution", "train.py(41): forward");
        for (int k = 0; k < tries; k++, at += 40) {
            int64_t id = 100 * i + 10 * k + 1;
            call(writer, MAIN, at, at + 5, "cudaLaunchKernel", id);
            made_kernel(writer,
                        (struct made_kernel){ (at + 5) * US, (at + 25) * US, 1, id, 0, 7, names[k], NULL, NULL });
            if (tries == 1)
                continue;
            call(writer, MAIN, at + 10, at + 30, "cudaEventSynchronize", id + 1);
            sync_record(writer, STREAM_SYNC, 7, id + 1, 0);
            call(writer, MAIN, at + 31, at + 33, "cudaEventElapsedTime", id + 2);
        }
    }
    return advise(adviser, writer, &rule_autotuning, WITH_STEPS);
}

static size_t tuning_found(int tuned, const char *const *names)
{
    struct adviser adviser;
    struct report *report = tune(&adviser, tuned, names);
    size_t count = adviser.count;

    done(&adviser, report);
    return count;
}

/* In each of eight steps the 160 µs of the operator are gone; the last kernel fits into the other 40. The mean is of
 * the nine times from one step to the next. */
static void a_convolution_is_tuned_in_the_loop(void **state)
{
    static const char *const names[TRIED] = { "first", "second", "third", "fourth" };
    const int64_t left_ns = ((STEPS - 1) * TUNED_STEP - 8 * 160) * US / (STEPS - 1);
    struct adviser adviser;
    struct report *report = tune(&adviser, 8, names);

    assert_int_equal(adviser.step_ns, TUNED_STEP * US);
    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].where), "train.py:41 forward");
    assert_int_equal(adviser.causes[0].bound_ns, TUNED_STEP * US - left_ns);
    assert_int_equal(adviser.causes[0].estimate_ns, adviser.causes[0].bound_ns);
    done(&adviser, report);
}

static void a_shape_is_tuned_once(void **state)
{
    static const char *const names[TRIED] = { "first", "second", "third", "fourth" };

    assert_int_equal(tuning_found(1, names), 0);
}

/* A program may time its own kernels. */
static void the_same_kernel_is_timed(void **state)
{
    static const char *const names[TRIED] = { "k", "k", "k", "k" };

    assert_int_equal(tuning_found(8, names), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_of_the_process_takes_the_cpu),
        cmocka_unit_test(another_process_takes_the_cpu),
        cmocka_unit_test(a_thread_that_waits_needs_no_cpu),
        cmocka_unit_test(nobody_is_seen_to_take_the_cpu),
        cmocka_unit_test(fewer_blocks_than_multiprocessors),
        cmocka_unit_test(short_kernels_count_if_much_of_them_goes),
        cmocka_unit_test(kernels_of_few_blocks_in_a_row_are_one),
        cmocka_unit_test(other_kernels_of_few_blocks_remain),
        cmocka_unit_test(the_last_round_of_a_product),
        cmocka_unit_test(kernels_that_run_beside_others_share_the_gpu),
        cmocka_unit_test(a_grid_that_the_library_fixes),
        cmocka_unit_test(a_convolution_is_tuned_in_the_loop),
        cmocka_unit_test(a_shape_is_tuned_once),
        cmocka_unit_test(the_same_kernel_is_timed),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
