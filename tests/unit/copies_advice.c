/* The rules on copies to the GPU and on unified memory, on small captures made by hand, with savings that can be worked
 * out on paper, in µs. These captures do not say which GPU it is, so that pinned memory is copied at 12 GB/s. */
#include "made_advice.h"

enum { STEPS = 10, KERNEL = 100, TO_DEVICE = 1, PAGEABLE = 0, PINNED = 1, DEVICE = 2 };

static void copy(struct writer *writer, int64_t begin, int64_t end, int64_t id, int64_t bytes, int64_t memory)
{
    made_copy(writer, (struct made_memory){ begin * US, end * US, id, bytes, TO_DEVICE, memory, DEVICE });
}

/* Ten times a kernel of 100 µs, and an operator that copies 120 kB behind it, in 40 µs, and waits for that. */
static struct writer *copy_behind_kernels(int64_t memory)
{
    struct writer *writer = start();

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 200 * i;
        launch(writer, at, at + 5, at + 5 + KERNEL, 10 * i + 1, 7);
        operator(writer, at + 7, at + 160, "aten::to", "train.py(57): train");
        if (memory == PAGEABLE) {
            call(writer, MAIN, at + 10, at + 150, "cudaMemcpyAsync", 10 * i + 2);
        } else {
            call(writer, MAIN, at + 10, at + 13, "cudaMemcpyAsync", 10 * i + 2);
            call(writer, MAIN, at + 15, at + 150, "cudaStreamSynchronize", 10 * i + 3);
            sync_record(writer, STREAM_SYNC, 7, 10 * i + 3, 0);
        }
        copy(writer, at + 106, at + 146, 10 * i + 2, 120000, memory);
    }
    return writer;
}

enum { RUN = 9 * 200 + 150, WITHOUT_COPIES = 5 + 10 * KERNEL + 9 };

/* Without waits, kernels and copies follow each other with gaps of 1 µs. A copy of pinned memory takes 10 µs. */
static void a_copy_of_pageable_memory(void **state)
{
    enum { PINNED_RUN = 5 + 10 * (KERNEL + 10) + 19 };
    struct adviser adviser;
    struct report *report = advise(&adviser, copy_behind_kernels(PAGEABLE), &rule_copies, WITHOUT_STEPS);

    assert_int_equal(adviser.step_ns, RUN * US);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], RUN - WITHOUT_COPIES, RUN - PINNED_RUN,
           "a copy of pageable memory to the GPU is waited for (10 times)", "train.py:57 train");
    assert_int_equal(adviser.causes[0].confidence, ADVICE_MODELLED);
    assert_string_equal(text_string(&adviser.causes[0].rate), "pinned memory 12 GB/s (PCIe 3)");
    done(&adviser, report);
}

static void a_copy_of_pinned_memory_that_is_waited_for(void **state)
{
    enum { WITHOUT_WAITS = 5 + 10 * (KERNEL + 40) + 19 };
    struct adviser adviser;
    struct report *report = advise(&adviser, copy_behind_kernels(PINNED), &rule_copies, WITHOUT_STEPS);

    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], RUN - WITHOUT_COPIES, RUN - WITHOUT_WAITS, "a copy to the GPU is waited for (10 times)",
           "train.py:57 train");
    assert_int_equal(adviser.causes[0].confidence, ADVICE_MEASURED);
    done(&adviser, report);
}

/* Each cause belongs to one rule. */
static void a_wait_for_a_copy_is_no_wait_for_a_result(void **state)
{
    struct adviser adviser;
    struct report *report = advise(&adviser, copy_behind_kernels(PINNED), &rule_result_waits, WITHOUT_STEPS);

    assert_int_equal(adviser.count, 0);
    done(&adviser, report);
}

/* A step of 420 µs: ten copies of 5 kB, one every 30 µs, each in an operator of 20, and a kernel. The bound is the time
 * from the first operator to the end of the last, 290. In the estimate the first operator remains, and the CPU puts
 * 50 kB together in 10 µs. */
static void many_small_copies(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 420 * i;
        step(writer, at, at + 420, i);
        for (int64_t k = 0; k < 10; k++) {
            operator(writer, at + 30 * k, at + 30 * k + 20, "aten::to", "train.py(57): train");
            call(writer, MAIN, at + 30 * k + 5, at + 30 * k + 10, "cudaMemcpyAsync", 100 * i + k);
            copy(writer, at + 30 * k + 12, at + 30 * k + 14, 100 * i + k, 5000, PINNED);
        }
        launch(writer, at + 300, at + 310, at + 410, 100 * i + 50, 7);
    }
    struct report *report = advise(&adviser, writer, &rule_copies, WITH_STEPS);
    assert_int_equal(adviser.step_ns, 420 * US);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 290, 290 - 20 - 10, "small tensors are copied to the GPU one by one (10 in each step)",
           "train.py:57 train");
    assert_string_equal(text_string(&adviser.causes[0].rate), "pinned memory 12 GB/s (PCIe 3), put together at 5 GB/s");
    done(&adviser, report);
}

/* The same copies, behind an operator that splits a tensor into so many parts: nobody has to put ten of them together.
 * The bound has no part of the split. */
static void expect_parts(int parts, int64_t estimate, const char *what)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 440 * i;
        step(writer, at, at + 440, i);
        operator(writer, at + 5, at + 15, "aten::unbind", "train.py(56): train");
        for (int k = 0; k < parts; k++)
            operator(writer, at + 6, at + 7, "aten::as_strided", "train.py(56): train");
        for (int64_t k = 0; k < 10; k++) {
            operator(writer, at + 30 * k + 20, at + 30 * k + 40, "aten::to", "train.py(57): train");
            call(writer, MAIN, at + 30 * k + 25, at + 30 * k + 30, "cudaMemcpyAsync", 100 * i + k);
            copy(writer, at + 30 * k + 32, at + 30 * k + 34, 100 * i + k, 5000, PINNED);
        }
        launch(writer, at + 320, at + 330, at + 430, 100 * i + 50, 7);
    }
    struct report *report = advise(&adviser, writer, &rule_copies, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 290, estimate, what, "train.py:57 train");
    done(&adviser, report);
}

static void parts_of_a_tensor(void **state)
{
    expect_parts(10, 290 - 20, "parts of a tensor are copied to the GPU one by one (10 in each step)");
    expect_parts(3, 290 - 20 - 10, "small tensors are copied to the GPU one by one (10 in each step)");
}

/* Ten copies of 250 kB take 390 µs. To put them together would take 500. */
static void copies_too_large_to_be_put_together(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 520 * i;
        step(writer, at, at + 520, i);
        for (int64_t k = 0; k < 10; k++) {
            operator(writer, at + 40 * k, at + 40 * k + 30, "aten::to", "train.py(57): train");
            call(writer, MAIN, at + 40 * k + 2, at + 40 * k + 28, "cudaMemcpyAsync", 100 * i + k);
            copy(writer, at + 40 * k + 4, at + 40 * k + 27, 100 * i + k, 250000, PAGEABLE);
        }
        launch(writer, at + 400, at + 410, at + 510, 100 * i + 50, 7);
    }
    struct report *report = advise(&adviser, writer, &rule_copies, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    assert_string_equal(text_string(&adviser.causes[0].what),
                        "a copy of pageable memory to the GPU is waited for (10 in each step)");
    done(&adviser, report);
}

/* A step of 210 µs: noise is made in 100 µs and moved in 35, of which the call takes 20 and would take 3 if it did not
 * wait. In the estimate the operator that moved it makes it. */
static void a_tensor_made_on_the_cpu(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 210 * i;
        step(writer, at, at + 210, i);
        operator(writer, at, at + 100, "aten::randn", "train.py(57): train");
        operator(writer, at + 10, at + 90, "aten::normal_", "train.py(57): train");
        operator(writer, at + 105, at + 140, "aten::to", "train.py(57): train");
        call(writer, MAIN, at + 110, at + 130, "cudaMemcpyAsync", 10 * i + 1);
        copy(writer, at + 112, at + 128, 10 * i + 1, 100000, PAGEABLE);
        launch(writer, at + 150, at + 160, at + 200, 10 * i + 2, 7);
    }
    struct report *report = advise(&adviser, writer, &rule_copies, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], 140, 105 + 17, "a tensor is made on the CPU and then moved to the GPU",
           "train.py:57 train");
    done(&adviser, report);
}

static void gpu_fault(struct writer *writer, int64_t start, int64_t end)
{
    struct row_CUDA_UM_GPU_PAGE_FAULT_EVENTS row = { 0 };

    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, start, start * US);
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, end, end * US);
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUDA_UM_GPU_PAGE_FAULT_EVENTS, deviceId, 0);
    writer_append(writer, TABLE_CUDA_UM_GPU_PAGE_FAULT_EVENTS, &row);
}

/* Steps of ten small copies, in a program with operators of PyTorch or without. */
static const char *advice_on_small_copies(int has_torch)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 420 * i;
        step(writer, at, at + 420, i);
        for (int64_t k = 0; k < 10; k++) {
            if (has_torch)
                operator(writer, at + 30 * k, at + 30 * k + 20, "aten::to", NULL);
            call(writer, MAIN, at + 30 * k + 5, at + 30 * k + 10, "cudaMemcpyAsync", 100 * i + k);
            copy(writer, at + 30 * k + 12, at + 30 * k + 14, 100 * i + k, 5000, PINNED);
        }
        launch(writer, at + 300, at + 310, at + 410, 100 * i + 50, 7);
    }
    struct report *report = advise(&adviser, writer, &rule_copies, WITH_STEPS);
    assert_int_equal(adviser.count, 1);
    const char *advice = adviser.causes[0].advice;
    done(&adviser, report);
    return advice;
}

static void a_program_of_cuda_has_no_tensors(void **state)
{
    assert_non_null(strstr(advice_on_small_copies(1), "torch.stack"));
    assert_null(strstr(advice_on_small_copies(0), "torch"));
}

/* A copy that nobody waits for reads its source later than the line after it runs. */
static void the_source_of_a_copy_stays_until_it_is_done(void **state)
{
    for (int64_t memory = PAGEABLE; memory <= PINNED; memory++) {
        struct adviser adviser;
        struct report *report = advise(&adviser, copy_behind_kernels(memory), &rule_copies, WITHOUT_STEPS);

        assert_int_equal(adviser.count, 1);
        assert_non_null(strstr(adviser.causes[0].advice, "Write to it again only when the copy is done."));
        done(&adviser, report);
    }
}

/* Pages that a prefetch moves while a kernel runs are pages that it need not wait for. */
static void a_prefetch_is_no_wait_for_pages(void **state)
{
    enum { UNIFIED_TO_DEVICE = 11, BY_PREFETCH = 1, BY_FAULT = 2 };

    for (int cause = BY_PREFETCH; cause <= BY_FAULT; cause++) {
        struct writer *writer = start();
        struct adviser adviser;
        for (int i = 0; i < STEPS; i++) {
            struct row_CUPTI_ACTIVITY_KIND_MEMCPY row = { 0 };
            call(writer, MAIN, 5 * i, 5 * i + 2, "cudaLaunchKernel", i + 1);
            kernel(writer, 100 + 150 * i, 200 + 150 * i, i + 1, 7);
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, start, (120 + 150 * i) * US);
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, end, (160 + 150 * i) * US);
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, deviceId, 0);
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, globalPid, made_thread(1, 0));
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, 120000);
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, copyKind, UNIFIED_TO_DEVICE);
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, migrationCause, cause);
            writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, &row);
        }
        struct report *report = advise(&adviser, writer, &rule_unified_memory, WITHOUT_STEPS);
        assert_int_equal(adviser.count, cause == BY_FAULT);
        done(&adviser, report);
    }
}

/* Kernels of 100 µs follow each other. In each, faults and a migration of 120 kB take 60 µs together, from 20 to 80;
 * another migration, of 20 µs, lies between two kernels. Copied before, 120 kB take 10 µs. */
static void kernels_wait_for_pages(void **state)
{
    enum { UNIFIED_TO_DEVICE = 11 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < STEPS; i++) {
        int64_t at = 150 * i;
        call(writer, MAIN, 5 * i, 5 * i + 2, "cudaLaunchKernel", i + 1);
        kernel(writer, 100 + at, 100 + at + KERNEL, i + 1, 7);
        gpu_fault(writer, 100 + at + 20, 100 + at + 60);
        made_copy(writer, (struct made_memory){ (100 + at + 40) * US, (100 + at + 80) * US, NO_ID, 120000,
                                                UNIFIED_TO_DEVICE, NO_ID, NO_ID });
        made_copy(writer, (struct made_memory){ (100 + at + 110) * US, (100 + at + 130) * US, NO_ID, 4096,
                                                UNIFIED_TO_DEVICE, NO_ID, NO_ID });
    }
    struct report *report = advise(&adviser, writer, &rule_unified_memory, WITHOUT_STEPS);
    assert_int_equal(adviser.count, 1);
    expect(&adviser.causes[0], STEPS * 60, STEPS * 50, "kernels wait for pages of unified memory (10 times)", "");
    assert_int_equal(adviser.causes[0].confidence, ADVICE_MODELLED);
    done(&adviser, report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_of_pageable_memory),
        cmocka_unit_test(a_copy_of_pinned_memory_that_is_waited_for),
        cmocka_unit_test(a_wait_for_a_copy_is_no_wait_for_a_result),
        cmocka_unit_test(many_small_copies),
        cmocka_unit_test(parts_of_a_tensor),
        cmocka_unit_test(copies_too_large_to_be_put_together),
        cmocka_unit_test(a_tensor_made_on_the_cpu),
        cmocka_unit_test(kernels_wait_for_pages),
        cmocka_unit_test(a_program_of_cuda_has_no_tensors),
        cmocka_unit_test(the_source_of_a_copy_stays_until_it_is_done),
        cmocka_unit_test(a_prefetch_is_no_wait_for_pages),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
