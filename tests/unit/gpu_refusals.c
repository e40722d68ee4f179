/* The sentences of refusals: numbers and texts in their places, whatever their length, and every row in the form that
 * its readers need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "abi/gpu_refusals.h"

static const char *write(enum gpu_refusal_id id, uint32_t gpu, const char *first, const char *second)
{
    static char sentence[1024];

    memset(sentence, 'x', sizeof sentence);
    gpu_refusal_write(sentence, sizeof sentence, id, gpu, (const char *const[]){ first, second });
    return sentence;
}

static void texts_are_in_their_places(void **state)
{
    assert_string_equal(write(GPU_REFUSAL_GPM_MISSING, 13, "Tesla {} V100 #1", NULL),
                        "GPU 13 (Tesla {} V100 #1) has no GPM, which needs Hopper or later and driver 520 or later.");
    assert_string_equal(write(GPU_REFUSAL_SAMPLING_REFUSED, 0, "cuptiPmSamplingStart", "It is busy."),
                        "GPU 0 cannot be sampled (cuptiPmSamplingStart): It is busy.");
    assert_string_equal(write(GPU_REFUSAL_COUNTERS_TAKEN, 2, NULL, NULL),
                        "GPU 2: another profiler uses its counters. End it; if it is DCGM: dcgmi profile --pause.");
    assert_string_equal(write(GPU_REFUSAL_NONE, 0, "a", "b"), "");
    assert_string_equal(write(GPU_REFUSALS, 0, "a", "b"), "");
}

static void a_sentence_is_cut_to_its_room(void **state)
{
    char room[] = "0123456789abcdef";

    gpu_refusal_write(room, 10, GPU_REFUSAL_FILE_UNWRITABLE, 0, (const char *const[]){ "/a/long/path", "no" });
    assert_string_equal(room, "Cannot wr");
    assert_int_equal(room[10], 'a');
    gpu_refusal_write(room, 16, GPU_REFUSAL_FILE_UNWRITABLE, 0, (const char *const[]){ "/a/long/path", "no" });
    assert_string_equal(room, "Cannot write /a");
}

static void rows_are_sentences_and_lines(void **state)
{
    for (enum gpu_refusal_id id = GPU_REFUSAL_NONE + 1; id < GPU_REFUSALS; id++) {
        const char *sentence = write(id, 0, "First.", "Second."), *allow = gpu_refusal_allow(id);
        assert_true(strlen(sentence) > 5);
        assert_null(strpbrk(sentence, "{}#\n"));
        assert_int_equal(sentence[strlen(sentence) - 1], '.');
        assert_true(!*allow || allow[strlen(allow) - 1] == '\n');
    }
}

static void results_of_cupti_have_their_rows(void **state)
{
    assert_int_equal(gpu_refusal_of_cupti(35), GPU_REFUSAL_COUNTERS_FOR_ADMINS);
    assert_int_equal(gpu_refusal_of_cupti(7), GPU_REFUSAL_COUNTERS_TAKEN);
    assert_int_equal(gpu_refusal_of_cupti(26), GPU_REFUSAL_COUNTERS_TAKEN);
    assert_int_equal(gpu_refusal_of_cupti(40), GPU_REFUSAL_COUNTERS_VIRTUAL);
    assert_int_equal(gpu_refusal_of_cupti(41), GPU_REFUSAL_COUNTERS_CONFIDENTIAL);
    assert_int_equal(gpu_refusal_of_cupti(0), GPU_REFUSAL_NONE);
    assert_int_equal(gpu_refusal_of_cupti(999), GPU_REFUSAL_NONE);
    const char *allow = gpu_refusal_allow(GPU_REFUSAL_COUNTERS_FOR_ADMINS);
    assert_non_null(strstr(allow, "NVreg_RestrictProfilingToAdminUsers=0"));
    assert_non_null(strstr(allow, "SYS_ADMIN"));
    assert_non_null(strstr(allow, "as root"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_in_their_places),
        cmocka_unit_test(a_sentence_is_cut_to_its_room),
        cmocka_unit_test(rows_are_sentences_and_lines),
        cmocka_unit_test(results_of_cupti_have_their_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
