/* A program can write over everything in its arena: whatever is there, the collector goes on, and
 * says what it could not use. */
#include "cuda_scene.h"

#include "../fuzz/fuzz_cupti.c"
#include "wire/wire_cuda.h"

#define CALLS "CUPTI_ACTIVITY_KIND_RUNTIME"
#define KERNELS "CUPTI_ACTIVITY_KIND_KERNEL"

static void put_calls(unsigned char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put_call(bytes + 40 * i, 5, 1, i, 2000, 2001, 1, 0);
}

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

static void a_size_beyond_the_buffer_is_not_believed(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    uint32_t index = scene_lend(scene);
    put_calls(scene_bytes(scene, index), 2);
    scene_deliver(scene, index, WIRE_CUDA_BUFFER_BYTES + 8);
    scene_read(scene);
    assert_int_equal(scene_lend(scene), index); /* it goes back all the same, as zeros */
    assert_int_equal(scene_bytes(scene, index)[0], 0);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 0);
    assert_int_equal(scene->counts.damaged, 1);
    scene_end(scene);
}

static void an_unknown_kind_ends_the_walk_and_is_told(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char bytes[3 * 40] = { 0 };
    put_calls(bytes, 3);
    put32(bytes + 40, 0, 127);
    scene_send(scene, bytes, sizeof bytes);
    put32(bytes + 40, 0, UINT32_MAX);
    scene_send(scene, bytes, sizeof bytes);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 2);
    assert_int_equal(scene->counts.unknown_kind, 2);
    assert_int_equal(scene->counts.recorded, 2);
    scene_end(scene);
}

static void a_kind_whose_size_was_learned_is_stepped_over(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char bytes[40 + 64 + 40] = { 0 };
    put_calls(bytes, 1);
    put32(bytes + 40, 0, 101);
    put_call(bytes + 104, 5, 1, 7, 3000, 3001, 1, 0);
    scene_text(scene, WIRE_CUDA_NAME_RECORD_BYTES, UINT64_C(101) << 32 | 64, "");
    scene_send(scene, bytes, sizeof bytes);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 2);
    assert_int_equal(scene->counts.unknown_kind, 0);
    scene_end(scene);
}

/* A CUPTI that is newer than our table: kernels have grown, and the agent has learned it. */
static void records_that_have_grown_are_read_as_far_as_they_are_known(void **state)
{
    struct scene *scene = scene_begin(140000, 0);
    unsigned char bytes[2 * 280] = { 0 };
    put_kernel(bytes, 1, 5000, 5900, 0x1000);
    put_kernel(bytes + 280, 2, 6000, 6900, 0x1000);
    scene_text(scene, WIRE_CUDA_NAME_RECORD_BYTES, UINT64_C(10) << 32 | 280, "");
    scene_send(scene, bytes, sizeof bytes);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, KERNELS), 2);
    assert_int_equal(scene_cell(scene, KERNELS, "start", 1), 5000);
    scene_end(scene);
}

static void a_record_that_is_cut_off_is_damage(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char bytes[80] = { 0 };
    put_calls(bytes, 2);
    static const uint32_t lengths[] = { 79, 48, 44, 41 };
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        scene_send(scene, bytes, lengths[i]);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 4);
    assert_int_equal(scene->counts.damaged, 4);
    scene_end(scene);
}

static void zeros_before_the_end_are_damage(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char bytes[120] = { 0 };
    put_calls(bytes, 1);
    scene_send(scene, bytes, sizeof bytes);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 1);
    assert_int_equal(scene->counts.damaged, 1);
    scene_end(scene);
}

static void counts_of_buffers_are_not_believed(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char bytes[40] = { 0 };
    put_calls(bytes, 1);
    scene_send(scene, bytes, sizeof bytes);
    atomic_store(&wire_cuda(scene->arena)->buffers_taken, UINT32_MAX);
    wire_cuda(scene->arena)->settings.buffer_count = UINT32_MAX;
    scene->arena->chunk_count = UINT32_MAX;
    scene_read(scene);
    cuda_trim(scene->cuda);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 1);
    scene_end(scene);
}

static void the_version_may_be_written_over_later(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char kernel[208] = { 0 };
    put_kernel(kernel, 1, 5000, 5900, 0x1000);
    scene_send(scene, kernel, sizeof kernel);
    atomic_store(&wire_cuda(scene->arena)->cupti_version, 130001);
    scene_send(scene, kernel, sizeof kernel);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, KERNELS), 2);
    scene_end(scene);
}

static void a_buffer_without_a_version_cannot_be_read(void **state)
{
    struct scene *scene = scene_begin(0, 0);
    unsigned char bytes[40] = { 0 };
    put_calls(bytes, 1);
    scene_send(scene, bytes, sizeof bytes);
    scene_finish(scene);
    assert_int_equal(scene->counts.damaged, 1);
    assert_int_equal(scene->counts.recorded, 0);
    scene_end(scene);
}

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

static struct wire_cuda_text *next_text(struct scene *scene)
{
    return (struct wire_cuda_text *)(wire_cuda_names(scene->arena, SCENE_CHUNKS, SCENE_BUFFERS) + scene->texts);
}

static void a_text_without_an_end_ends_with_its_entry(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    unsigned char call[40] = { 0 };
    struct wire_cuda_text *entry = next_text(scene);
    entry->what = WIRE_CUDA_NAME_RUNTIME;
    entry->key = 1;
    memset(entry->text, 'x', 100); /* beyond its two words */
    atomic_store(&entry->words, 4);
    put_calls(call, 1);
    scene_send(scene, call, sizeof call);
    scene_finish(scene);
    assert_string_equal(scene_cell_text(scene, CALLS, "nameId", 0), "xxxxxxxxxxxxxxxx");
    scene_end(scene);
}

static void sizes_of_texts_that_cannot_be_end_them(void **state)
{
    static const uint32_t sizes[] = { 1, UINT32_MAX, WIRE_CUDA_NAMES_BYTES / 8 + 1 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct scene *scene = scene_begin(22, 0);
        scene_text(scene, WIRE_CUDA_NAME_RUNTIME, 1, "cudaMalloc_v3020");
        atomic_store(&next_text(scene)->words, sizes[i]);
        unsigned char call[40] = { 0 };
        put_calls(call, 1);
        scene_send(scene, call, sizeof call);
        scene_finish(scene);
        assert_string_equal(scene_cell_text(scene, CALLS, "nameId", 0), "cudaMalloc_v3020");
        assert_int_equal(scene->counts.damaged, 1);
        scene_end(scene);
    }
}

static void strange_keys_do_no_harm(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    scene_text(scene, WIRE_CUDA_NAME_RUNTIME, UINT64_MAX, "a");
    scene_text(scene, WIRE_CUDA_NAME_DRIVER, 4096, "b");
    scene_text(scene, WIRE_CUDA_NAME_POINTER, 0, "c");
    scene_text(scene, WIRE_CUDA_NAME_RECORD_BYTES, UINT64_MAX, "");
    scene_text(scene, WIRE_CUDA_NAME_RECORD_BYTES, UINT64_C(10) << 32, "");     /* no size at all */
    scene_text(scene, WIRE_CUDA_NAME_RECORD_BYTES, UINT64_C(5) << 32 | 12, ""); /* no whole words */
    scene_text(scene, 77, 1, "of a kind that there is not");
    unsigned char call[40] = { 0 };
    put_calls(call, 1);
    put32(call, 4, UINT32_MAX); /* and a call that has no place in the table */
    scene_send(scene, call, sizeof call);
    scene_finish(scene);
    assert_int_equal(scene_rows(scene, CALLS), 1);
    scene_end(scene);
}

/* ---- Records of the agent -------------------------------------------------------------------------------------- */

static void short_records_are_damage(void **state)
{
    struct scene *scene = scene_begin(22, 0);
    static const unsigned types[] = { WIRE_CUDA_DEVICE, WIRE_CUDA_STREAM, WIRE_CUDA_WAIT, WIRE_CUDA_CALL,
                                      WIRE_CUDA_CODE };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        scene_tell(scene, types[i], 1, 60000, 2000, (uint64_t[]){ 1 }, 1, NULL);
    scene_tell(scene, WIRE_CUDA_WAIT, 99, 0, 2000, (uint64_t[]){ 1, 2, 3 }, 3, NULL); /* of no kind */
    scene_finish(scene);
    assert_int_equal(scene->counts.damaged, 6);
    scene_end(scene);
}

/* ---- Anything -------------------------------------------------------------------------------------------------- */

static uint64_t random_number(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Kinds that exist, with anything behind them. */
static void random_bytes_do_no_harm(void **state)
{
    uint64_t seed = 88172645463325252u;
    unsigned char *bytes = malloc(4096);
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < 4096; i += 8) {
            put64(bytes, i, random_number(&seed));
            if (random_number(&seed) % 8 == 0)
                put32(bytes, i, (uint32_t)(random_number(&seed) % 60));
        }
        assert_int_equal(LLVMFuzzerTestOneInput(bytes, random_number(&seed) % 4096), 0);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_beyond_the_buffer_is_not_believed),
        cmocka_unit_test(an_unknown_kind_ends_the_walk_and_is_told),
        cmocka_unit_test(a_kind_whose_size_was_learned_is_stepped_over),
        cmocka_unit_test(records_that_have_grown_are_read_as_far_as_they_are_known),
        cmocka_unit_test(a_record_that_is_cut_off_is_damage),
        cmocka_unit_test(zeros_before_the_end_are_damage),
        cmocka_unit_test(counts_of_buffers_are_not_believed),
        cmocka_unit_test(the_version_may_be_written_over_later),
        cmocka_unit_test(a_buffer_without_a_version_cannot_be_read),
        cmocka_unit_test(a_text_without_an_end_ends_with_its_entry),
        cmocka_unit_test(sizes_of_texts_that_cannot_be_end_them),
        cmocka_unit_test(strange_keys_do_no_harm),
        cmocka_unit_test(short_records_are_damage),
        cmocka_unit_test(random_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
