/* The levels of --cost-limit, on made series of CPU time. A program has sources that cost so much at each level; its
 * looks are a tenth of a second apart, as in a capture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/core/cost_control.h"

#define LOOK_NS INT64_C(100000000)
enum { SECOND = 10, MOST_CHANGES = 256 };

/* Costs as a share of the program's own CPU time, by level. */
struct made_source {
    int source, lowest, windows;
    double shares[COST_LEVELS_MAX];
};

struct made_run {
    struct cost_control control;
    struct cost_look now;
    struct made_source sources[4];
    int source_count;
    double own_share;       /* of a CPU; 0: the program waits */
    double cost_ns, cpu_ns; /* of all looks */
    struct {
        int64_t ns;
        int source, level;
    } changes[MOST_CHANGES];
    int change_count;
};

static void made_run_begin(struct made_run *run, double limit)
{
    run->control.limit = limit;
    run->own_share = 1;
    for (int i = 0; i < run->source_count; i++) {
        struct cost_control_source *source = &run->control.sources[run->sources[i].source];
        source->lowest = run->sources[i].lowest;
        source->windows = run->sources[i].windows;
    }
    cost_control_look(&run->control, &run->now);
}

static double made_share(const struct made_run *run, const struct made_source *made)
{
    int level = run->control.sources[made->source].level;
    int is_in_window = run->now.now_ns / COST_WINDOW_NS % COST_WINDOWS == 0;
    return level && level == made->windows ? is_in_window * made->shares[0] : made->shares[level];
}

static void made_run_go(struct made_run *run, int looks)
{
    for (int look = 0; look < looks; look++) {
        double own_ns = run->own_share * (double)LOOK_NS;
        run->now.now_ns += LOOK_NS;
        run->now.cpu_ns += own_ns;
        run->cpu_ns += own_ns;
        for (int i = 0; i < run->source_count; i++) {
            const struct made_source *made = &run->sources[i];
            double cost_ns = own_ns * made_share(run, made);
            run->now.cost_ns[made->source] += cost_ns;
            run->now.cpu_ns += cost_ns;
            run->cost_ns += cost_ns;
        }
        int source = cost_control_look(&run->control, &run->now);
        if (source < 0)
            continue;
        assert_true(run->change_count < MOST_CHANGES);
        run->changes[run->change_count].ns = run->now.now_ns;
        run->changes[run->change_count].source = source;
        run->changes[run->change_count++].level = run->control.sources[source].level;
    }
}

/* Cost as a share since the last call. */
static double made_run_share(struct made_run *run)
{
    double share = run->cost_ns / run->cpu_ns;
    run->cost_ns = run->cpu_ns = 0;
    return share;
}

static int level_of(const struct made_run *run, int source)
{
    return run->control.sources[source].level;
}

static void a_storm_is_lowered_within_a_second(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.5, 0.4, 0.3, 0.03, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_OSRT), 3);
    assert_int_equal(run.change_count, 3);
    made_run_share(&run);
    made_run_go(&run, 60 * SECOND);
    assert_true(made_run_share(&run) <= 0.05);
    assert_int_equal(run.control.is_exceeded, 0);
}

static void below_the_limit_nothing_changes(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.02 } }, { WIRE_SOURCE_TORCH, 2, 1, { 0.025 } } },
                            .source_count = 2 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, 600 * SECOND);
    assert_int_equal(run.change_count, 0);
}

static void the_source_that_costs_most_is_lowered(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.03, 0.03, 0.03, 0.01, 0 } },
                                         { WIRE_SOURCE_TORCH, 2, 1, { 0.2, 0, 0.005 } } },
                            .source_count = 2 };
    made_run_begin(&run, 0.1);
    made_run_go(&run, 10 * SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_TORCH), 1);
    assert_int_equal(level_of(&run, WIRE_SOURCE_OSRT), 0);
}

static void windows_that_cost_too_much_end(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_TORCH, 2, 1, { 0.8, 0, 0.005 } } }, .source_count = 1 };
    made_run_begin(&run, 0.05); /* an eighth of 80 % is 10 % */
    made_run_go(&run, 5 * SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_TORCH), 2);
    made_run_share(&run);
    made_run_go(&run, 600 * SECOND);
    assert_true(made_run_share(&run) <= 0.05);
}

static void windows_within_the_limit_stay(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_TORCH, 2, 1, { 0.3, 0, 0.005 } } }, .source_count = 1 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, 120 * SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_TORCH), 1);
    assert_int_equal(run.change_count, 1);
}

static void after_a_storm_all_is_raised_again(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.5, 0.4, 0.3, 0.03, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, 5 * SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_OSRT), 3);
    for (int i = 0; i < COST_LEVELS_MAX; i++)
        run.sources[0].shares[i] = 0.001;
    made_run_go(&run, 60 * SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_OSRT), 0);
}

/* The program does nothing else for ten minutes: tries become rare, and in all the limit holds. */
static void a_storm_that_goes_on_is_tried_ever_more_rarely(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.5, 0.4, 0.3, 0.02, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, 600 * SECOND);
    assert_true(made_run_share(&run) <= 0.05);
    int64_t last_raise_ns = 0;
    int raises = 0;
    for (int i = 1; i < run.change_count; i++)
        if (run.changes[i].level < run.changes[i - 1].level) {
            assert_true(run.changes[i].ns - last_raise_ns >= 3 * SECOND * LOOK_NS);
            last_raise_ns = run.changes[i].ns;
            raises++;
        }
    assert_in_range(raises, 2, 10);
}

/* What was left out was counted: it would cost 20 %. */
static void what_is_counted_is_not_tried_again(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.5, 0.4, 0.3, 0.02, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, 2 * SECOND);
    assert_int_equal(run.change_count, 3);
    for (int i = 0; i < 600 * SECOND; i++) {
        run.now.saved_ns[WIRE_SOURCE_OSRT] += 0.2 * (double)LOOK_NS;
        made_run_go(&run, 1);
    }
    assert_int_equal(run.change_count, 3);
    made_run_go(&run, 60 * SECOND); /* no more such calls */
    assert_true(run.change_count > 3);
}

/* Short calls are timed at each threshold: a higher one saves nothing. */
static void what_makes_no_record_is_only_counted_at_once(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.5, 0.5, 0.5, 0.03, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    run.control.sources[WIRE_SOURCE_OSRT].counted = 3;
    for (int i = 0; i < SECOND; i++) {
        run.now.kept_ns[WIRE_SOURCE_OSRT] += run.change_count ? 0 : 0.4 * (double)LOOK_NS;
        made_run_go(&run, 1);
    }
    assert_int_equal(run.change_count, 1);
    assert_int_equal(run.changes[0].level, 3);
}

static void a_source_that_is_never_lowered_exceeds_the_limit(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_NVTX, 0, 0, { 0.6 } },
                                         { WIRE_SOURCE_OSRT, 4, 0, { 0.001, 0.001, 0.001, 0.001, 0.001 } } },
                            .source_count = 2 };
    made_run_begin(&run, 0.05);
    made_run_go(&run, 10 * SECOND);
    assert_int_equal(run.control.is_exceeded, 1);
    assert_int_equal(run.change_count, 0); /* OS calls cost next to nothing: to lower them would help nobody */
}

static void a_program_that_waits_changes_nothing(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.5, 0.4, 0.3, 0.03, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    run.own_share = 0.0001;
    made_run_go(&run, 100 * SECOND);
    assert_int_equal(run.change_count, 0);
    run.own_share = 1;
    made_run_go(&run, SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_OSRT), 3);
}

/* Totals that fall, as when a process ends unseen, must not break anything. */
static void totals_that_fall_do_no_harm(void **state)
{
    struct made_run run = { .sources = { { WIRE_SOURCE_OSRT, 4, 0, { 0.01, 0.01, 0.01, 0.01, 0.01 } } },
                            .source_count = 1 };
    made_run_begin(&run, 0.05);
    for (int i = 0; i < 100; i++) {
        made_run_go(&run, 3);
        run.now.cpu_ns -= 2.5 * (double)LOOK_NS;
    }
    made_run_go(&run, 60 * SECOND);
    assert_int_equal(level_of(&run, WIRE_SOURCE_OSRT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_storm_is_lowered_within_a_second),
        cmocka_unit_test(below_the_limit_nothing_changes),
        cmocka_unit_test(the_source_that_costs_most_is_lowered),
        cmocka_unit_test(windows_that_cost_too_much_end),
        cmocka_unit_test(windows_within_the_limit_stay),
        cmocka_unit_test(after_a_storm_all_is_raised_again),
        cmocka_unit_test(a_storm_that_goes_on_is_tried_ever_more_rarely),
        cmocka_unit_test(what_is_counted_is_not_tried_again),
        cmocka_unit_test(what_makes_no_record_is_only_counted_at_once),
        cmocka_unit_test(a_source_that_is_never_lowered_exceeds_the_limit),
        cmocka_unit_test(a_program_that_waits_changes_nothing),
        cmocka_unit_test(totals_that_fall_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
