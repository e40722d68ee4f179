/* Layouts of CUPTI's records: which row a version gets, what is read from records made by hand, and sizes that
 * cannot be. The numbers here are not the table's: sizes are what the libraries themselves step by, offsets
 * were counted in the headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "abi/cuda_calls.h"
#include "abi/cupti_layout.h"
#include "base/array.h"

static void expect_bytes(uint32_t version, uint32_t kind, uint32_t bytes)
{
    const struct cupti_layout *layout = cupti_layout(version, kind);

    if (!layout)
        fail_msg("version %u has no kind %u", version, kind);
    if (layout->bytes != bytes)
        fail_msg("version %u, kind %u: %u bytes, not %u", version, kind, layout->bytes, bytes);
}

static void put(unsigned char *record, uint32_t offset, uint64_t value, uint32_t bytes)
{
    memcpy(record + offset, &value, bytes);
}

static void every_version_has_its_sizes(void **state)
{
    static const struct {
        uint32_t version, kernel, copy, fill, sync, event, graph, overhead, memory, device;
    } versions[] = {
        { 18, 200, 88, 88, 40, 24, 48, 40, 120, 176 },     { 19, 208, 88, 88, 40, 24, 48, 40, 120, 176 },
        { 20, 208, 88, 88, 40, 24, 48, 40, 120, 184 },     { 21, 208, 88, 88, 40, 24, 56, 48, 120, 184 },
        { 22, 208, 88, 88, 40, 24, 56, 56, 120, 184 },     { 23, 208, 88, 88, 40, 24, 56, 56, 120, 184 },
        { 24, 208, 88, 88, 40, 24, 56, 56, 128, 184 },     { 26, 208, 96, 88, 56, 56, 56, 56, 128, 184 },
        { 28, 208, 96, 88, 56, 56, 56, 56, 128, 184 },     { 130001, 216, 96, 88, 56, 56, 56, 56, 128, 184 },
        { 130101, 224, 96, 88, 56, 56, 56, 56, 128, 184 },
    };

    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        expect_bytes(versions[i].version, CUPTI_KIND_KERNEL, versions[i].kernel);
        expect_bytes(versions[i].version, CUPTI_KIND_CONCURRENT_KERNEL, versions[i].kernel);
        expect_bytes(versions[i].version, CUPTI_KIND_MEMCPY, versions[i].copy);
        expect_bytes(versions[i].version, CUPTI_KIND_MEMSET, versions[i].fill);
        expect_bytes(versions[i].version, CUPTI_KIND_SYNCHRONIZATION, versions[i].sync);
        expect_bytes(versions[i].version, CUPTI_KIND_CUDA_EVENT, versions[i].event);
        expect_bytes(versions[i].version, CUPTI_KIND_GRAPH_TRACE, versions[i].graph);
        expect_bytes(versions[i].version, CUPTI_KIND_OVERHEAD, versions[i].overhead);
        expect_bytes(versions[i].version, CUPTI_KIND_MEMORY2, versions[i].memory);
        expect_bytes(versions[i].version, CUPTI_KIND_DEVICE, versions[i].device);
        expect_bytes(versions[i].version, CUPTI_KIND_RUNTIME, 40);
        expect_bytes(versions[i].version, CUPTI_KIND_DRIVER, 40);
        expect_bytes(versions[i].version, CUPTI_KIND_INTERNAL_LAUNCH_API, 40);
    }
}

static void releases_between_and_beyond_take_the_nearest_older_row(void **state)
{
    assert_ptr_equal(cupti_layout(27, CUPTI_KIND_KERNEL), cupti_layout(26, CUPTI_KIND_KERNEL));
    assert_ptr_equal(cupti_layout(130000, CUPTI_KIND_KERNEL), cupti_layout(130001, CUPTI_KIND_KERNEL));
    assert_ptr_equal(cupti_layout(130199, CUPTI_KIND_KERNEL), cupti_layout(130100, CUPTI_KIND_KERNEL));
    assert_ptr_equal(cupti_layout(UINT32_MAX, CUPTI_KIND_KERNEL), cupti_layout(130401, CUPTI_KIND_KERNEL));
    expect_bytes(140000, CUPTI_KIND_KERNEL, 248);
    assert_null(cupti_layout(17, CUPTI_KIND_KERNEL));
    assert_null(cupti_layout(0, CUPTI_KIND_KERNEL));
}

static void versions_that_call_themselves_the_same_are_told_apart(void **state)
{
    assert_int_equal(cupti_version_told_apart(18, 0), 18);
    assert_int_equal(cupti_version_told_apart(18, 1), 19);
    assert_int_equal(cupti_version_told_apart(20, 1), 20);
    assert_int_equal(cupti_version_told_apart(130001, 1), 130001);
    expect_bytes(cupti_version_told_apart(18, 0), CUPTI_KIND_KERNEL, 200);
    expect_bytes(cupti_version_told_apart(18, 1), CUPTI_KIND_KERNEL, 208);
}

static void kinds_that_a_version_lacks_are_unknown(void **state)
{
    struct cupti_layouts layouts;

    assert_null(cupti_layout(28, CUPTI_KIND_GRAPH_HOST_NODE));
    assert_non_null(cupti_layout(130100, CUPTI_KIND_GRAPH_HOST_NODE));
    assert_null(cupti_layout(28, 0));
    assert_null(cupti_layout(28, CUPTI_KIND_COUNT));
    assert_null(cupti_layout(28, UINT32_MAX));
    cupti_layouts_init(&layouts, 28);
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_GRAPH_HOST_NODE), 0);
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_LIMIT), 0);
    assert_int_equal(cupti_record_bytes(&layouts, UINT32_MAX), 0);
    /* no field of it is read, but it can be passed */
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_MARKER), 56);
}

static void fields_are_read_where_they_lie(void **state)
{
    const struct cupti_layout *layout = cupti_layout(130101, CUPTI_KIND_CONCURRENT_KERNEL);
    const char *name = "_Z4stepPf";
    unsigned char record[224];

    memset(record, 0xa5, sizeof record);
    put(record, 0, CUPTI_KIND_CONCURRENT_KERNEL, 4);
    put(record, 4, 0x21, 1);              /* cacheConfig */
    put(record, 6, 255, 2);               /* registersPerThread */
    put(record, 16, 1000000000123u, 8);
    put(record, 24, UINT64_MAX >> 1, 8);
    put(record, 52, 2147483647, 4);       /* gridX */
    put(record, 72, 7, 4);                /* blockZ */
    put(record, 92, 4000000000u, 4);      /* correlationId: more than an int32 holds */
    put(record, 96, (uint64_t)-3, 8);     /* gridId, signed */
    memcpy(record + 104, &name, sizeof name);
    put(record, 136, 1, 1);               /* launchType */
    put(record, 144, 0xffff00000001u, 8); /* graphNodeId */
    put(record, 176, 2, 4);               /* clusterX */
    put(record, 208, 0, 1);               /* isDeviceLaunched */
    put(record, 216, (uint64_t)-5, 4);    /* priority, signed */

    assert_int_equal(cupti_kind_of(record), CUPTI_KIND_CONCURRENT_KERNEL);
    assert_int_equal(cupti_field(layout, record, CUPTI_KERNEL_cacheConfig), 0x21);
    assert_int_equal(cupti_field(layout, record, CUPTI_KERNEL_registersPerThread), 255);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_start) == 1000000000123);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_end) == INT64_MAX);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_gridX) == 2147483647);
    assert_int_equal(cupti_field(layout, record, CUPTI_KERNEL_blockZ), 7);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_correlationId) == 4000000000);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_gridId) == -3);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_name) == (int64_t)(intptr_t)name);
    assert_int_equal(cupti_field(layout, record, CUPTI_KERNEL_launchType), 1);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_graphNodeId) == 0xffff00000001);
    assert_int_equal(cupti_field(layout, record, CUPTI_KERNEL_clusterX), 2);
    assert_int_equal(cupti_field(layout, record, CUPTI_KERNEL_isDeviceLaunched), 0);
    assert_true(cupti_field(layout, record, CUPTI_KERNEL_priority) == -5);
    assert_int_equal(layout->text_count, 1);
    assert_ptr_equal(cupti_text(layout, record, 0), name);
}

static void a_field_that_came_later_is_no_field(void **state)
{
    const struct cupti_layout *layout = cupti_layout(28, CUPTI_KIND_KERNEL);
    unsigned char record[208] = { CUPTI_KIND_KERNEL };

    assert_true(cupti_field(layout, record, CUPTI_KERNEL_priority) == CUPTI_NO_FIELD);
    assert_false(layout->at[CUPTI_KERNEL_priority].present);
    assert_true(layout->at[CUPTI_KERNEL_maxActiveClusters].present);
    assert_false(cupti_layout(18, CUPTI_KIND_KERNEL)->at[CUPTI_KERNEL_maxActiveClusters].present);
    assert_int_equal(cupti_layout(28, CUPTI_KIND_MEMORY2)->text_count, 2); /* name, and where it was asked for */
    assert_int_equal(cupti_layout(23, CUPTI_KIND_MEMORY2)->text_count, 1);
    assert_int_equal(cupti_layout(28, CUPTI_KIND_RUNTIME)->text_count, 0);
}

static void no_layout_reads_beyond_its_record(void **state)
{
    static const uint32_t versions[] = { 18, 19, 20, 21, 22, 23, 24, 26, 28, 130001, 130101, 130202, 130301, 130401 };

    for (size_t v = 0; v < COUNT_OF(versions); v++)
        for (uint32_t kind = 0; kind < CUPTI_KIND_COUNT; kind++) {
            const struct cupti_layout *layout = cupti_layout(versions[v], kind);

            for (uint32_t i = 0; layout && i < CUPTI_FIELDS_MAX; i++)
                assert_true(layout->at[i].word + 8u <= layout->bytes);
            for (uint32_t i = 0; layout && i < layout->text_count; i++)
                assert_true(layout->texts[i] + 8u <= layout->bytes);
            assert_true(!layout || layout->bytes % 8 == 0);
        }
}

static void learned_sizes_choose_the_layout(void **state)
{
    struct cupti_layouts layouts;
    const struct cupti_layout *before;

    cupti_layouts_init(&layouts, 130001);
    before = layouts.of[CUPTI_KIND_KERNEL];
    assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_KERNEL, 216), 0);
    assert_ptr_equal(layouts.of[CUPTI_KIND_KERNEL], before);
    /* It is another version's after all. */
    assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_KERNEL, 208), 0);
    assert_ptr_equal(layouts.of[CUPTI_KIND_KERNEL], cupti_layout(28, CUPTI_KIND_KERNEL));
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_KERNEL), 208);
    /* Longer than any that we know: what we know of it stays. */
    assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_RUNTIME, 48), 0);
    assert_ptr_equal(layouts.of[CUPTI_KIND_RUNTIME], cupti_layout(130001, CUPTI_KIND_RUNTIME));
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_RUNTIME), 48);
    /* Shorter: nothing of it can be read. */
    assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_DRIVER, 32), 0);
    assert_null(layouts.of[CUPTI_KIND_DRIVER]);
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_DRIVER), 32);
    /* A kind that came after this build. */
    assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_COUNT + 3, 64), 0);
    assert_null(layouts.of[CUPTI_KIND_COUNT + 3]);
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_COUNT + 3), 64);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    static const uint64_t sizes[] = { 0, 4, 7, 12, 4104, 65544, UINT32_MAX, UINT64_MAX, (uint64_t)1 << 32 | 40 };
    struct cupti_layouts layouts;

    cupti_layouts_init(&layouts, 28);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_RUNTIME, sizes[i]), -1);
    assert_int_equal(cupti_layouts_learn(&layouts, 0, 40), -1);
    assert_int_equal(cupti_layouts_learn(&layouts, CUPTI_KIND_LIMIT, 40), -1);
    assert_int_equal(cupti_layouts_learn(&layouts, UINT32_MAX, 40), -1);
    assert_int_equal(cupti_record_bytes(&layouts, CUPTI_KIND_RUNTIME), 40);
    assert_ptr_equal(layouts.of[CUPTI_KIND_RUNTIME], cupti_layout(28, CUPTI_KIND_RUNTIME));
}

/* A CUPTI whose records of kind 5 have 48 bytes, and which knows no other. */
static int step_48(uint8_t *buffer, size_t valid_bytes, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + 48 : buffer;

    if (cupti_kind_of(next) != 5 || next + 48 > buffer + valid_bytes)
        return CUPTI_RESULT_ERROR_INVALID_KIND;
    *record = next;
    return CUPTI_RESULT_SUCCESS;
}

static int size_of_72(uint32_t kind, uint32_t version, size_t *bytes)
{
    *bytes = kind == 7 ? 1u << 20 : 72;
    return kind == 6 ? CUPTI_RESULT_ERROR_INVALID_KIND : CUPTI_RESULT_SUCCESS;
}

static void cupti_is_asked_for_sizes(void **state)
{
    struct cupti_functions cupti = { .cuptiActivityGetNextRecord = step_48 };

    assert_int_equal(cupti_bytes_told(&cupti, 5), 48);
    assert_int_equal(cupti_bytes_told(&cupti, 6), 0);
    cupti.cuptiActivityGetStructSize = size_of_72;
    assert_int_equal(cupti_bytes_told(&cupti, 5), 72);
    assert_int_equal(cupti_bytes_told(&cupti, 6), 0);
    assert_int_equal(cupti_bytes_told(&cupti, 7), 0); /* a record as large as a buffer: not believed */
}

static void expect_call(enum cuda_domain domain, const char *name, const char *row)
{
    const struct cuda_call *call = cuda_call_find(domain, name);

    if (!row && call)
        fail_msg("%s is traced, as %s", name, call->name);
    if (row && !call)
        fail_msg("%s is not traced", name);
    if (row)
        assert_string_equal(call->name, row);
}

static void calls_are_found_in_all_their_forms(void **state)
{
    expect_call(CUDA_RUNTIME, "cudaLaunchKernel_v7000", "cudaLaunchKernel");
    expect_call(CUDA_RUNTIME, "cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel");
    expect_call(CUDA_RUNTIME, "cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC");
    expect_call(CUDA_RUNTIME, "cudaMemcpy_ptds_v7000", "cudaMemcpy");
    expect_call(CUDA_RUNTIME, "cudaGraphInstantiate_v12000", "cudaGraphInstantiate");
    expect_call(CUDA_DRIVER, "cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync");
    expect_call(CUDA_DRIVER, "cuMemsetD2D8Async_ptsz", "cuMemsetD2D8Async");
    expect_call(CUDA_DRIVER, "cuLaunchKernel", "cuLaunchKernel");
    expect_call(CUDA_DRIVER, "cuStreamWaitValue32_v2_ptsz", "cuStreamWaitValue32");
    expect_call(CUDA_DRIVER, "cuCtxSynchronize_v2", "cuCtxSynchronize");
    /* A name alone does not make a call: it belongs to one of the two. */
    expect_call(CUDA_DRIVER, "cudaLaunchKernel_v7000", NULL);
    expect_call(CUDA_RUNTIME, "cuLaunchKernel", NULL);
    /* Those that only ask or switch. */
    expect_call(CUDA_RUNTIME, "cudaGetDevice_v3020", NULL);
    expect_call(CUDA_RUNTIME, "cudaStreamIsCapturing_v10000", NULL);
    expect_call(CUDA_RUNTIME, "cudaPeekAtLastError_v3020", NULL);
    expect_call(CUDA_DRIVER, "cuKernelGetName", NULL);
    expect_call(CUDA_DRIVER, "cuGetProcAddress_v2", NULL);
    expect_call(CUDA_RUNTIME, "", NULL);
    expect_call(CUDA_RUNTIME, "_v7000", NULL);
    expect_call(CUDA_RUNTIME, "_ptsz", NULL);
    expect_call(CUDA_RUNTIME, "cudaLaunchKernel_v", NULL);
}

static void calls_have_group_work_and_wait(void **state)
{
    const struct cuda_call *call = cuda_call_find(CUDA_RUNTIME, "cudaGraphLaunch_ptsz_v10000");

    assert_int_equal(call->group, CUDA_KERNEL);
    assert_int_equal(call->work, CUDA_LAUNCH);
    assert_int_equal(call->wait, 0);
    call = cuda_call_find(CUDA_DRIVER, "cuMemcpyDtoH_v2");
    assert_int_equal(call->group, CUDA_MEMORY);
    assert_int_equal(call->work, CUDA_NONE);
    call = cuda_call_find(CUDA_RUNTIME, "cudaStreamWaitEvent_ptsz_v7000");
    assert_int_equal(call->group, CUDA_SYNC);
    assert_int_equal(call->work, CUDA_NONE);
    assert_int_equal(call->wait, CUDA_WAIT_STREAM_FOR_EVENT);
    assert_int_equal(cuda_call_find(CUDA_DRIVER, "cuEventRecordWithFlags_ptsz")->wait, CUDA_WAIT_EVENT_RECORD);
    assert_true(cuda_call_per_thread("cudaStreamWaitEvent_ptsz_v7000"));
    assert_false(cuda_call_per_thread("cudaStreamWaitEvent_v3020"));
}

static void no_call_is_listed_twice(void **state)
{
    uint32_t count;
    const struct cuda_call *calls = cuda_calls(&count);

    assert_true(count > 300);
    for (uint32_t i = 0; i < count; i++)
        assert_ptr_equal(cuda_call_find(calls[i].domain, calls[i].name), &calls[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_has_its_sizes),
        cmocka_unit_test(releases_between_and_beyond_take_the_nearest_older_row),
        cmocka_unit_test(versions_that_call_themselves_the_same_are_told_apart),
        cmocka_unit_test(kinds_that_a_version_lacks_are_unknown),
        cmocka_unit_test(fields_are_read_where_they_lie),
        cmocka_unit_test(a_field_that_came_later_is_no_field),
        cmocka_unit_test(no_layout_reads_beyond_its_record),
        cmocka_unit_test(learned_sizes_choose_the_layout),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(cupti_is_asked_for_sizes),
        cmocka_unit_test(calls_are_found_in_all_their_forms),
        cmocka_unit_test(calls_have_group_work_and_wait),
        cmocka_unit_test(no_call_is_listed_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
