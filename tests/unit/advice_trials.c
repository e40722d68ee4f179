/* Replays of one graph at the same time. The times can be worked out on paper, in µs. */
#include "analyze/advice/advice_trials.h"

#include "made_cuda.h"

/* A launch, and a kernel from 10 to 110. Each trial cuts the kernel by another time, and more of them than run at once;
 * the second round finds what the first one left. */
static void trials_do_not_disturb_each_other(void **state)
{
    enum { TRIALS = 100, ROUNDS = 2 };
    struct writer *writer = start();
    struct replay_edits edits[TRIALS] = { 0 };
    int64_t step_ns[TRIALS], unchanged_ns;
    struct adviser adviser;
    struct error err;

    launch(writer, 0, 10, 110, 1, 7);
    struct report *report = finish(writer);
    assert_int_equal(adviser_open(&adviser, report, &(struct analysis_request){ 0 }, &err), 0);
    uint32_t run = replay_edge_to(&adviser.replay, replay_work_end(&adviser.replay, 0), REPLAY_RUN);
    struct advice_trials trials = { .adviser = &adviser };
    for (int i = 0; i < TRIALS; i++)
        assert_int_equal(replay_edit_cut(&edits[i], run, i * US), 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < TRIALS; i++)
            assert_int_equal(advice_trial_add(&trials, REPLAY_EDITS(&edits[i]), &step_ns[i]), 0);
        assert_int_equal(advice_trials_run(&trials, &err), 0);
        for (int i = 0; i < TRIALS; i++)
            assert_int_equal(step_ns[i], (110 - i) * US);
    }
    advice_trials_free(&trials);
    assert_int_equal(adviser_replay(&adviser, &(struct replay_edits){ 0 }, &unchanged_ns, &err), 0);
    assert_int_equal(unchanged_ns, 110 * US);
    for (int i = 0; i < TRIALS; i++)
        replay_edits_free(&edits[i]);
    adviser_free(&adviser);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_do_not_disturb_each_other),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
