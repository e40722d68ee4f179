/* The adviser on small captures made by hand, with savings that can be worked out on paper, in µs. */
#include "analyze/advice/adviser.h"
#include "analyze/registry.h"
#include "made_cuda.h"

/* Runs one rule on a report. */
static void advise(struct adviser *adviser, struct writer *writer, const struct analysis *rule)
{
    struct report *report = finish(writer);
    struct error err;

    if (adviser_open(adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(adviser, rule, &err) != 0 || adviser_judge(adviser, &err) != 0)
        fail_msg("%s", err.text);
    report_close(report);
}

/* Twenty kernels of 10 µs, each launched in 5 µs, 40 µs behind the last. From the first call to the end of the last
 * kernel: 19 · 45 + 5 + 10. If launches take no time: a launch, and kernels, with gaps of 1 µs, which is what a gap is
 * taken to be if there is none. The bound is without these gaps. */
static void kernels_wait_for_their_launches(void **state)
{
    enum { KERNELS = 20, RUN = 19 * 45 + 15, WITHOUT_GAPS = 5 + 20 * 10, AT_ONCE = WITHOUT_GAPS + 19 };
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < KERNELS; i++)
        launch(writer, 45 * i, 45 * i + 5, 45 * i + 15, i + 1, 7);
    advise(&adviser, writer, &rule_launch_bound);
    assert_int_equal(adviser.count, 1);
    assert_int_equal(adviser.step_ns, RUN * US);
    assert_int_equal(adviser.causes[0].bound_ns, (RUN - WITHOUT_GAPS) * US);
    assert_int_equal(adviser.causes[0].estimate_ns, (RUN - AT_ONCE) * US);
    assert_int_equal(adviser.causes[0].count, KERNELS);
    assert_string_equal(text_string(&adviser.causes[0].what),
                        "launch-bound: 20 kernels of 10.0 µs, launched in 860 µs");
    adviser_free(&adviser);
}

/* The same launches, and kernels of 100 µs: only the first one waits for its launch. */
static void a_busy_gpu_does_not_wait(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 20; i++)
        launch(writer, 45 * i, 5 + 101 * i, 105 + 101 * i, i + 1, 7);
    advise(&adviser, writer, &rule_launch_bound);
    assert_int_equal(adviser.count, 0);
    adviser_free(&adviser);
}

/* Other code between the launches, 1 ms at a time, is in the bound, and not in the estimate. */
static void long_pauses_are_other_code(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 20; i++)
        launch(writer, 1005 * i, 1005 * i + 5, 1005 * i + 15, i + 1, 7);
    advise(&adviser, writer, &rule_launch_bound);
    assert_int_equal(adviser.count, 0); /* the estimate: 19 launches of 5 µs, less than 1 % of 19 ms */
    adviser_free(&adviser);
}

/* ---- general and special causes -------------------------------------------------------------------------------- */

enum { GAP = 40 };     /* µs between the launches below */
static int special_us; /* of that, what the special cause takes away */

static int find_special(struct adviser *adviser, struct error *err)
{
    const struct replay *replay = &adviser->replay;
    struct advice_cause cause = { .advice = "" };

    for (uint32_t call = 1; call < replay->events.call_count; call++) {
        uint32_t edge = replay_edge_to(replay, replay_call_start(call), REPLAY_HOST);
        assert_int_equal(replay_edit_cut(&cause.bound, edge, special_us * US), 0);
        assert_int_equal(replay_edit_cut(&cause.estimate, edge, special_us * US), 0);
    }
    return adviser_add(adviser, &cause, err);
}

static const struct analysis special_rule = {
    .name = "special", .rule = &(const struct adviser_rule){ .rule.is_replayed = 1, .find = find_special }.rule
};

/* The name of the first cause of 20 kernels that wait for their launches, for two reasons. */
static const char *first_of_both(int us)
{
    struct writer *writer = start();
    struct adviser adviser;
    struct error err;

    for (int i = 0; i < 20; i++)
        launch(writer, (GAP + 5) * i, (GAP + 5) * i + 5, (GAP + 5) * i + 15, i + 1, 7);
    special_us = us;
    struct report *report = finish(writer);
    if (adviser_open(&adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(&adviser, &rule_launch_bound, &err) != 0 || adviser_find(&adviser, &special_rule, &err) != 0 ||
        adviser_judge(&adviser, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(adviser.count, 2);
    const char *name = adviser.causes[0].rule->name;
    adviser_free(&adviser);
    report_close(report);
    return name;
}

/* Launches alone cost more, so that launch_bound saves most. But where something else accounts for most of the time
 * between them, that is what to change. */
static void a_special_cause_comes_before_a_general_one_that_it_explains(void **state)
{
    assert_string_equal(first_of_both(30), "special");
    assert_string_equal(first_of_both(5), "launch_bound");
}

/* The pause before the last launch is gone. */
static int find_pause(struct adviser *adviser, struct error *err)
{
    const struct replay *replay = &adviser->replay;
    struct advice_cause cause = { .advice = "" };
    uint32_t edge = replay_edge_to(replay, replay_call_start(replay->events.call_count - 1), REPLAY_HOST);

    assert_int_equal(replay_edit_cut(&cause.bound, edge, special_us * US), 0);
    assert_int_equal(replay_edit_cut(&cause.estimate, edge, special_us * US), 0);
    return adviser_add(adviser, &cause, err);
}

/* The name of the first cause of 20 kernels that wait for their launches, and of one after a pause of 2 ms. */
static const char *first_with_pause(enum advice_order order, int us)
{
    const struct adviser_rule rule = { .rule.is_replayed = 1, .find = find_pause, .order = order };
    const struct analysis pause = { .name = "pause", .rule = &rule.rule };
    struct writer *writer = start();
    struct adviser adviser;
    struct error err;

    for (int i = 0; i < 20; i++)
        launch(writer, 45 * i, 45 * i + 5, 45 * i + 15, i + 1, 7);
    launch(writer, 3000, 3005, 3015, 21, 7);
    special_us = us;
    struct report *report = finish(writer);
    if (adviser_open(&adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(&adviser, &rule_launch_bound, &err) != 0 || adviser_find(&adviser, &pause, &err) != 0 ||
        adviser_judge(&adviser, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(adviser.count, 2);
    const char *name = adviser.causes[0].rule->name;
    adviser_free(&adviser);
    report_close(report);
    return name;
}

/* A graph would save 19 · 45 µs or a little less, the other cause what it is said to save, or up to 1.8 times as much.
 */
static void what_is_done_first_comes_first_if_it_may_save_as_much(void **state)
{
    assert_string_equal(first_with_pause(ADVICE_FIRST, 700), "pause");
    assert_string_equal(first_with_pause(ADVICE_SPECIAL, 700), "launch_bound");
    assert_string_equal(first_with_pause(ADVICE_FIRST, 300), "launch_bound");
}

/* ---- the window ------------------------------------------------------------------------------------------------ */

/* A window of the last steps, most of which are of a long warm-up. */
static void a_window_is_named_by_the_steps_that_count(void **state)
{
    struct step list[6];
    struct steps steps = { .list = list, .count = COUNT_OF(list), .source = "steps by marks" };
    struct adviser adviser = { .window = (struct report *)list, .steps = &steps, .steps_of_run = 70 };
    struct text text = { 0 };

    for (int i = 0; i < (int)COUNT_OF(list); i++)
        list[i] = (struct step){ .number = 60 + i, .is_warm_up = i < 4 };
    adviser_add_steps(&text, &adviser);
    assert_string_equal(text_string(&text), "from steps 64 to 65 of 70 by marks");
    text_free(&text);
}

/* ---- causes that are one change -------------------------------------------------------------------------------- */

/* Two causes, "waits: 2 for 60.0 µs" and "waits: 3 for 90.0 µs", with the same edits. */
static const char *places_of_both[2], *words_of_both[2];

static int find_both(struct adviser *adviser, struct error *err)
{
    const struct replay *replay = &adviser->replay;

    for (int i = 0; i < 2; i++) {
        struct advice_cause cause = {
            .advice = "", .count = 2 + i, .total_ns = (60 + 30 * i) * US, .start_ns = i, .duration_ns = (30 + i) * US
        };
        for (uint32_t call = 1; call < replay->events.call_count; call++) {
            uint32_t edge = replay_edge_to(replay, replay_call_start(call), REPLAY_HOST);
            assert_int_equal(replay_edit_cut(&cause.bound, edge, GAP * US), 0);
            assert_int_equal(replay_edit_cut(&cause.estimate, edge, GAP * US), 0);
        }
        text_add(&cause.what, words_of_both[i]);
        advice_cause_figure(&cause, FIGURE_COUNT);
        text_add(&cause.what, " for ");
        advice_cause_figure(&cause, FIGURE_TIME);
        text_add(&cause.where, places_of_both[i]);
        if (adviser_add(adviser, &cause, err) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static const struct analysis rule_of_both = {
    .name = "both", .rule = &(const struct adviser_rule){ .rule.is_replayed = 1, .find = find_both }.rule
};

/* What the first cause says, and how many there are. */
static void expect_causes(size_t count, const char *what)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 20; i++)
        launch(writer, (GAP + 5) * i, (GAP + 5) * i + 5, (GAP + 5) * i + 15, i + 1, 7);
    advise(&adviser, writer, &rule_of_both);
    assert_int_equal(adviser.count, count);
    assert_string_equal(text_string(&adviser.causes[0].what), what);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(adviser.causes[i].estimate_ns, 19 * (GAP + 5 - 11) * US); /* 10 µs and a gap each */
    assert_int_equal(adviser.causes[0].start_ns, count == 1);
    adviser_free(&adviser);
}

/* One place and the same words: the events add up, and what both remove is removed once. */
static void causes_that_are_one_change_are_one(void **state)
{
    places_of_both[0] = places_of_both[1] = "train.py:12 forward";
    words_of_both[0] = words_of_both[1] = "waits: ";
    expect_causes(1, "waits: 5 for 150 µs");
    places_of_both[1] = "train.py:30 train";
    expect_causes(2, "waits: 2 for 60.0 µs");
    places_of_both[0] = places_of_both[1] = ""; /* not known */
    expect_causes(2, "waits: 2 for 60.0 µs");
    places_of_both[0] = places_of_both[1] = "train.py:12 forward";
    words_of_both[1] = "copies: ";
    expect_causes(2, "waits: 2 for 60.0 µs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_wait_for_their_launches),
        cmocka_unit_test(a_busy_gpu_does_not_wait),
        cmocka_unit_test(long_pauses_are_other_code),
        cmocka_unit_test(a_special_cause_comes_before_a_general_one_that_it_explains),
        cmocka_unit_test(what_is_done_first_comes_first_if_it_may_save_as_much),
        cmocka_unit_test(a_window_is_named_by_the_steps_that_count),
        cmocka_unit_test(causes_that_are_one_change_are_one),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
