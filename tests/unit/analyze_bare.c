/* The bare step of captures made by hand, with figures that can be worked out on paper, in µs. */
#include "analyze/advice/adviser.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/model/steps/bare_step.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"
#include "made_cuda.h"

static const char *mark = "Optimizer.step#SGD.step";

static void step(struct writer *writer, int64_t from, int64_t to, int64_t number, const char *phase)
{
    struct row_TACHO_STEP_TIME row = { 0 };

    ROW_SET(&row, TACHO_STEP_TIME, start, from * US);
    ROW_SET(&row, TACHO_STEP_TIME, end, to * US);
    ROW_SET(&row, TACHO_STEP_TIME, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_STEP_TIME, number, number);
    ROW_SET(&row, TACHO_STEP_TIME, phase, made_string(writer, phase));
    ROW_SET(&row, TACHO_STEP_TIME, nameId, made_string(writer, mark));
    writer_append(writer, TABLE_TACHO_STEP_TIME, &row);
}

/* Steps of this length, one behind the other. Returns the end of the last. */
static int64_t several(struct writer *writer, int64_t from, int count, int64_t length, const char *phase)
{
    for (int i = 0; i < count; i++)
        step(writer, from + i * length, from + (i + 1) * length, i, phase);
    return from + count * length;
}

static struct bare_step read_bare(struct report *report)
{
    struct bare_step bare;
    struct error err;

    if (bare_step_read(&bare, report, &err) != 0)
        fail_msg("%s", err.text);
    return bare;
}

/* 16 timed steps of 100 µs, 16 of 110, and 16 that hold an evaluation; between them four traced steps of 130 µs. */
static void means_leave_out_what_is_far_off(void **state)
{
    struct writer *writer = start();
    int64_t at = 0;

    for (int i = 0; i < 3; i++) {
        at = several(writer, at, 1, 500, "settling");
        at = several(writer, at, 2, 300, "detailed");
        at = several(writer, at, 1, 200, "settling");
        at = several(writer, at, 4, 130, "traced");
        at = several(writer, at, 2, 120, "settling");
        at = several(writer, at, 16, i == 0 ? 100 : i == 1 ? 110 : 1000, "timed");
    }
    struct report *report = finish(writer);
    struct bare_step bare = read_bare(report);
    assert_int_equal(bare.bare_ns, 105 * US);
    assert_int_equal(bare.slow_ns, 110 * US);
    assert_int_equal(bare.traced_ns, 130 * US);
    assert_int_equal(bare.timed, 48);
    assert_int_equal(bare.traced, 12);
    assert_int_equal(bare.detailed, 6);
    report_close(report);
}

/* Ranges of 80 µs that begin every 100 µs. */
static void time_between_ranges_counts(void **state)
{
    struct writer *writer = start();

    for (int i = 0; i < 6; i++)
        step(writer, 100 * i, 100 * i + 80, i, i ? "timed" : "settling");
    struct report *report = finish(writer);
    assert_int_equal(read_bare(report).bare_ns, 100 * US);
    report_close(report);
}

/* A program whose host takes so long for a step, and its GPU so long for the kernel that each step launches. */
struct program {
    int64_t timed_us, recorded_us, gpu_us; /* of the host in a timed step and in a recorded one; of the GPU */
    int waits;                             /* each step ends when the GPU is done */
    int ends_timed;                        /* the program ends before steps are recorded again */
};

/* Runs the program as --advise would: the time of a change lies between two steps, and the last step before timed ones
 * is not recorded either. */
static struct report *run(const struct program *program)
{
    static const char phases[] = "ssssDsTTTTsntttttttttttttttttsDsTTTTsnttttttttttttttttttttttts";
    static const char *const names[] = {
        ['s'] = "settling", ['n'] = "settling", ['D'] = "detailed", ['T'] = "traced", ['t'] = "timed"
    };
    enum { CHANGE_US = 300, UNTIL_LAUNCH_US = 200, LATENCY_US = 8 };
    struct writer *writer = start();
    int64_t at = 0, gpu_free = 0;

    for (int i = 0; i < (int)sizeof phases - 1 - program->ends_timed; i++) {
        int is_recorded = phases[i] != 't' && phases[i] != 'n';
        at += phases[i] == 'n' || (is_recorded && i && phases[i - 1] == 't') ? CHANGE_US : 0;
        int64_t called = at + UNTIL_LAUNCH_US, from = called + LATENCY_US > gpu_free ? called + LATENCY_US : gpu_free;
        int64_t end = at + (is_recorded ? program->recorded_us : program->timed_us);
        gpu_free = from + program->gpu_us;
        if (program->waits && end < gpu_free)
            end = gpu_free;
        step(writer, at, end, i, names[(int)phases[i]]);
        if (is_recorded)
            launch(writer, called, from, gpu_free, i + 1, 7);
        at = end;
    }
    return finish(writer);
}

/* Marks of the host tell a step only where the host sets the pace. */
static void the_slower_of_host_and_gpu_sets_the_pace(void **state)
{
    static const struct {
        struct program program;
        int64_t bare_us, traced_us;
    } cases[] = {
        { { 1000, 1400, 14000, 0, 0 }, 14000, 14000 }, /* the GPU: marks run ahead of it in all phases */
        { { 1000, 1400, 14000, 0, 1 }, 14000, 14000 }, /* the same, and the program ends in timed steps */
        { { 8000, 11000, 3000, 0, 0 }, 8000, 11000 },  /* the host */
        { { 8000, 11000, 3000, 0, 1 }, 8000, 11000 },
        { { 4500, 6800, 5000, 0, 0 }, 5000, 6800 },    /* the GPU, but the host in recorded steps */
        { { 1000, 1400, 5000, 1, 0 }, 5208, 5208 },    /* the host waits for the GPU in each step */
        { { 6000, 6900, 5000, 1, 0 }, 6000, 6900 },    /* it waits, but the GPU is done by then */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct report *report = run(&cases[i].program);
        struct bare_step bare = read_bare(report);
        if (llabs(bare.bare_ns - cases[i].bare_us * US) * 100 > cases[i].bare_us * US ||
            llabs(bare.traced_ns - cases[i].traced_us * US) * 100 > cases[i].traced_us * US)
            fail_msg("case %zu: bare %lld, not %lld µs; traced %lld, not %lld µs", i, (long long)bare.bare_ns / US,
                     (long long)cases[i].bare_us, (long long)bare.traced_ns / US, (long long)cases[i].traced_us);
        report_close(report);
    }
}

static void no_steps(void **state)
{
    struct writer *writer = start();

    launch(writer, 0, 5, 10, 1, 7);
    struct report *report = finish(writer);
    assert_int_equal(read_bare(report).timed, 0);
    assert_int_equal(read_bare(report).bare_ns, 0);
    report_close(report);
}

static void traced_steps_are_the_steps(void **state)
{
    struct writer *writer = start();
    struct steps steps;
    struct error err;
    size_t chosen = 0;

    int64_t at = several(writer, 0, 3, 200, "settling");
    at = several(writer, at, 4, 130, "traced");
    several(writer, at, 20, 100, "timed");
    struct report *report = finish(writer);
    assert_int_equal(steps_read(&steps, report, &(struct steps_request){ 0 }, &err), 0);
    assert_int_equal(steps.count, 7);
    for (size_t i = 0; i < steps.count; i++) {
        assert_int_equal(steps.list[i].is_chosen, i >= 3);
        assert_int_equal(steps.list[i].is_warm_up, i < 3);
        chosen += (size_t)steps.list[i].is_chosen;
    }
    assert_int_equal(chosen, 4);
    steps_free(&steps);
    report_close(report);
}

/* Calls of a module are steps of 10 µs until an optimizer comes. One of its traced steps takes three times as long. */
static void steps_of_a_replaced_mark_do_not_count(void **state)
{
    struct writer *writer = start();
    struct steps steps;
    struct error err;
    const char *optimizer = mark;

    mark = "Sequential_";
    int64_t at = several(writer, 0, 4, 13, "traced");
    at = several(writer, at, 8, 10, "timed");
    mark = optimizer;
    at = several(writer, at, 1, 200, "settling");
    at = several(writer, at, 3, 130, "traced");
    at = several(writer, at, 1, 390, "traced");
    several(writer, at, 8, 100, "timed");
    struct report *report = finish(writer);
    assert_int_equal(read_bare(report).bare_ns, 100 * US);
    assert_int_equal(read_bare(report).traced, 3);
    assert_int_equal(steps_read(&steps, report, &(struct steps_request){ 0 }, &err), 0);
    assert_int_equal(steps.count, 5);
    for (size_t i = 0; i < steps.count; i++)
        assert_int_equal(steps.list[i].is_chosen, i >= 1 && i < 4);
    steps_free(&steps);
    report_close(report);
}

/* Rounds of four marks: 1000 µs with `launches` launches, then three of 20 with one each; a fifth longer while they are
 * recorded. The first round settles; timed marks begin and end within one. */
static void rounds(struct writer *writer, int count, int timed_from, int timed_to, int launches)
{
    int64_t at = 0, id = 1;

    for (int i = 0; i < 4 * count; i++) {
        int is_timed = i >= timed_from && i < timed_to, is_long = i % 4 == 0;
        int64_t length = (is_long ? 1000 : 20) * (is_timed ? 5 : 6) / 5;
        step(writer, at, at + length, i, i < 4 ? "settling" : is_timed ? "timed" : "traced");
        for (int k = 0; !is_timed && k < (is_long ? launches : 1); k++, id++)
            launch(writer, at + 6 + 8 * k, at + 12 + 8 * k, at + 14 + 8 * k, id, 7);
        at += length;
    }
}

/* Marks 18 to 27 of 48 are timed: rounds 5 and 6, and parts of 4 and 7. A round takes 1060 µs, and 1272 recorded. */
static void rounds_of_several_marks_are_the_steps(void **state)
{
    struct writer *writer = start();
    struct steps steps;
    struct error err;

    rounds(writer, 12, 18, 30, 100);
    struct report *report = finish(writer);
    struct bare_step bare = read_bare(report);
    assert_int_equal(bare.bare_ns, 1060 * US);
    assert_int_equal(bare.timed, 2);
    assert_int_equal(bare.traced_ns, 1272 * US);
    assert_int_equal(bare.traced, 7);
    assert_int_equal(steps_read(&steps, report, &(struct steps_request){ .may_guess = 1 }, &err), 0);
    assert_string_equal(steps.source, "steps by 4 calls of Optimizer.step");
    assert_int_equal(steps.count, 10); /* all but the two that were only timed */
    for (size_t i = 0; i < steps.count; i++)
        assert_int_equal(steps.list[i].is_chosen, i > 0 && steps.list[i].number != 4 && steps.list[i].number != 7);
    assert_int_equal(steps.list[1].end_ns - steps.list[1].start_ns, 1272 * US);
    steps_free(&steps);
    report_close(report);
}

/* The same times, but the long marks launch as much as the others: they wait, and a step is a mark. */
static void a_wait_in_every_fourth_step_is_no_rhythm(void **state)
{
    struct writer *writer = start();
    struct steps steps;
    struct error err;

    rounds(writer, 12, 18, 30, 1);
    struct report *report = finish(writer);
    assert_int_equal(steps_read(&steps, report, &(struct steps_request){ .may_guess = 1 }, &err), 0);
    assert_string_equal(steps.source, "steps by Optimizer.step");
    assert_int_equal(steps.count, 36);
    steps_free(&steps);
    report_close(report);
}

/* No round was only timed: the bare step is not known. */
static void a_part_of_a_round_says_nothing(void **state)
{
    struct writer *writer = start();

    rounds(writer, 12, 17, 23, 100);
    struct report *report = finish(writer);
    assert_int_equal(read_bare(report).bare_ns, 0);
    assert_int_equal(read_bare(report).traced, 9);
    report_close(report);
}

static void graph(struct writer *writer, int64_t called, int64_t from, int64_t to, int64_t id)
{
    struct row_CUPTI_ACTIVITY_KIND_GRAPH_TRACE row = { 0 };

    call(writer, MAIN, called, called + 5, "cudaGraphLaunch", id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, start, from * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, end, to * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, streamId, 7);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, graphId, 2);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_GRAPH_TRACE, &row);
}

/* Two marks and a loop of kernels, of 40 µs in all; then eight graphs of 100 µs, all launched at once. */
static void a_warm_up_has_no_steps(void **state)
{
    struct writer *writer = start();
    struct steps steps;
    struct error err;

    several(writer, 0, 2, 500, "settling");
    for (int i = 0; i < 40; i++)
        made_kernel(writer, (struct made_kernel){ (25 * i + 10) * US, (25 * i + 11) * US, 1, i + 1, 0, 7,
                                                  i % 2 ? "a" : "b", NULL, NULL });
    for (int i = 0; i < 40; i++)
        call(writer, MAIN, 25 * i, 25 * i + 5, "cudaLaunchKernel", i + 1);
    for (int i = 0; i < 8; i++)
        graph(writer, 1000 + 10 * i, 1100 + 100 * i, 1200 + 100 * i, 100 + i);
    struct report *report = finish(writer);
    assert_int_equal(steps_read(&steps, report, &(struct steps_request){ .may_guess = 1 }, &err), 0);
    assert_string_equal(steps.source, "steps by launches of a graph");
    assert_int_equal(steps.count, 8);
    assert_int_equal(steps.list[0].start_ns, 1000 * US);
    assert_int_equal(steps.list[0].end_ns, 1010 * US);
    steps_free(&steps);
    report_close(report);
}

/* Ten launches a step, each of 5 µs behind 20 µs on the CPU, with kernels of 2 µs: 250 µs a step. */
static void launching_steps(struct writer *writer, int count)
{
    for (int i = 0; i < 10 * count; i++)
        launch(writer, 25 * i + 20, 25 * i + 25, 25 * i + 27, i + 1, 7);
}

static void open_adviser(struct adviser *adviser, struct writer *writer)
{
    struct report *report = finish(writer);
    struct error err;

    if (adviser_open(adviser, report, &(struct analysis_request){ 0 }, &err) != 0)
        fail_msg("%s", err.text);
    report_close(report);
}

/* A bare step takes 200 µs: calls cost 5 µs each, less than usual. */
static void replayed_steps_are_bare(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    several(writer, 0, 1, 250, "settling");
    several(writer, 250, 8, 250, "traced");
    several(writer, 2250, 1, 250, "settling");
    launching_steps(writer, 10);
    several(writer, 10000, 1, 200, "settling");
    several(writer, 10200, 16, 200, "timed");
    open_adviser(&adviser, writer);
    assert_int_equal(adviser.recorded_ns, 250 * US);
    assert_in_range(adviser.step_ns, 199 * US, 201 * US);
    adviser_free(&adviser);
}

/* Ten steps of ten launches, as above, after two fills of 5 µs: 300 µs a step. */
static struct writer *filled_steps(void)
{
    struct writer *writer = start();

    for (int i = 0; i < 120; i++) {
        int64_t at = 25 * i + 20, length = i % 12 ? 24 : 4096;
        if (i % 12 > 1) {
            launch(writer, at, at + 5, at + 7, i + 1, 7);
            continue;
        }
        call(writer, MAIN, at, at + 5, "cudaMemsetAsync", i + 1);
        made_fill(writer, (struct made_memory){ (at + 5) * US, (at + 7) * US, i + 1, length, NO_ID, NO_ID, NO_ID });
    }
    return writer;
}

/* A kernel that is launched again and again is no step, and two fills of one length would come twice in a round. */
static void fills_of_other_lengths_tell_steps(void **state)
{
    struct report *report = finish(filled_steps());
    struct steps steps;
    struct error err;

    assert_int_equal(steps_read(&steps, report, &(struct steps_request){ .may_guess = 1 }, &err), 0);
    assert_string_equal(steps.source, "steps by a sequence of 10 kernels that repeats");
    assert_int_equal(steps.count, 10);
    assert_int_equal(steps.list[1].end_ns - steps.list[1].start_ns, 300 * US);
    steps_free(&steps);
    report_close(report);
}

/* No step was only timed. Twelve calls take 1.4 µs each less than they were recorded, if Tacho recorded them. */
static void loops_without_marks_are_cut_by_the_least_cost(void **state)
{
    struct row_TACHO_COST row = { 0 };
    struct writer *writer = filled_steps();
    struct adviser adviser;

    open_adviser(&adviser, writer);
    assert_int_equal(adviser.step_ns, adviser.recorded_ns);
    adviser_free(&adviser);
    writer = filled_steps();
    ROW_SET(&row, TACHO_COST, source, made_string(writer, "cuda"));
    ROW_SET(&row, TACHO_COST, ns, 1);
    writer_append(writer, TABLE_TACHO_COST, &row);
    open_adviser(&adviser, writer);
    assert_in_range(adviser.recorded_ns - adviser.step_ns, 12 * 1400 - 200, 12 * 1400 + 200);
    adviser_free(&adviser);
}

/* A step: 100 µs without calls, a launch, a kernel of 200 µs, ten more launches behind it, 15 µs each, of kernels of 2
 * µs with gaps of 1, and a wait until 5 µs behind the last: 340 µs. */
static void waiting_step(struct writer *writer, int64_t at, int64_t id)
{
    launch(writer, at + 100, at + 105, at + 305, id, 7);
    for (int k = 0; k < 10; k++)
        launch(writer, at + 115 + 15 * k, at + 306 + 3 * k, at + 308 + 3 * k, id + 1 + k, 7);
    call(writer, MAIN, at + 260, at + 340, "cudaStreamSynchronize", id + 20);
    sync_record(writer, STREAM_SYNC, 7, id + 20, 0);
}

/* The only cause in ten such steps; of 20 timed steps, four take slow µs and the others so long that the mean is 340.
 */
static struct advice_cause waits_for_results(int64_t slow, int64_t *step_ns)
{
    struct writer *writer = start();
    struct adviser adviser;
    struct error err;

    several(writer, 0, 1, 340, "settling");
    several(writer, 340, 8, 340, "traced");
    several(writer, 9 * 340, 1, 340, "settling");
    for (int i = 0; i < 10; i++)
        waiting_step(writer, 340 * i, 100 * i);
    int64_t at = several(writer, 10000, 1, 340, "settling");
    at = several(writer, at, 16, (20 * 340 - 4 * slow) / 16, "timed");
    several(writer, at, 4, slow, "timed");
    struct report *report = finish(writer);
    if (adviser_open(&adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(&adviser, &rule_result_waits, &err) != 0 || adviser_judge(&adviser, &err) != 0)
        fail_msg("%s", err.text);
    *step_ns = adviser.step_ns;
    assert_int_equal(adviser.count, 1);
    struct advice_cause cause = { .bound_ns = adviser.causes[0].bound_ns,
                                  .estimate_ns = adviser.causes[0].estimate_ns };
    adviser_free(&adviser);
    report_close(report);
    return cause;
}

/* Recording did not make the step longer, because the GPU hides the launches. As recorded, a step without the wait
 * takes as long as the host does: 263 µs. Without the usual cost of its 12 calls, 84 µs, the GPU takes longer: 231. */
static void a_wait_hides_what_recording_costs(void **state)
{
    int64_t step_ns;
    struct advice_cause cause = waits_for_results(340, &step_ns);

    assert_in_range(step_ns, 334 * US, 340 * US); /* known to 2 % */
    assert_in_range(cause.estimate_ns, (334 - 231) * US, (340 - 231) * US);
    assert_true(cause.bound_ns >= cause.estimate_ns);
}

/* One of five steps takes 400 µs instead of 340: a run of such steps may save as much more. */
static void a_bound_is_of_a_slow_step(void **state)
{
    int64_t step_ns;
    struct advice_cause usual = waits_for_results(340, &step_ns), slow = waits_for_results(400, &step_ns);

    assert_int_equal(slow.estimate_ns, usual.estimate_ns);
    assert_in_range(slow.bound_ns, usual.bound_ns * 400 / 340 - 1, usual.bound_ns * 400 / 340 + 1);
}

/* The GPU is busy all the time: whatever the calls cost, a step takes as long. */
static void busy_gpu_keeps_its_step(void **state)
{
    struct writer *writer = start();
    struct adviser adviser;

    for (int i = 0; i < 40; i++)
        launch(writer, 10 * i, 10 + 100 * i, 110 + 100 * i, i + 1, 7);
    for (int i = 0; i < 10; i++)
        step(writer, 40 * i, 40 * i + 40, i, i == 0 ? "settling" : "traced");
    several(writer, 10000, 1, 395, "settling");
    several(writer, 10395, 8, 395, "timed");
    open_adviser(&adviser, writer);
    assert_in_range(adviser.step_ns, 399 * US, 400 * US);
    adviser_free(&adviser);
}

static void operator_at(struct writer *writer, int64_t start)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, start * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, start * US + 100);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, MAIN));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, "aten::add"));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "cpu_op"));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

/* Ten launches a step, every 25 µs while they are recorded and every 20 µs while they are not, of kernels of this
 * length, each after so many operators. Returns the number of causes that the rule launch_bound finds. */
static size_t launch_bound_causes(int64_t kernel, int operators)
{
    struct writer *writer = start();
    struct adviser adviser;
    struct error err;

    several(writer, 0, 1, 250, "settling");
    several(writer, 250, 8, 250, "traced");
    several(writer, 2250, 1, 250, "settling");
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < operators; k++)
            operator_at(writer, 25 * i + 2 + k);
        launch(writer, 25 * i + 20, 25 * i + 25, 25 * i + 25 + kernel, i + 1, 7);
    }
    several(writer, 10000, 1, 200, "settling");
    several(writer, 10200, 16, 200, "timed");
    struct report *report = finish(writer);
    if (adviser_open(&adviser, report, &(struct analysis_request){ 0 }, &err) != 0 ||
        adviser_find(&adviser, &rule_launch_bound, &err) != 0 || adviser_judge(&adviser, &err) != 0)
        fail_msg("%s", err.text);
    size_t count = adviser.count;
    adviser_free(&adviser);
    report_close(report);
    return count;
}

/* Kernels of 10 µs wait for launches that take 20, whatever recording cost. Those of 18 µs do so for 2 µs each; if
 * recording cost 9 µs a call instead of 5, launches take 16, and the kernels do not wait. */
static void what_recording_may_have_cost_is_no_finding(void **state)
{
    assert_int_equal(launch_bound_causes(10, 0), 1);
    assert_int_equal(launch_bound_causes(18, 0), 0);
}

/* 16 operators before each launch usually cost 23 µs with it, and here cost 5. Were it 14 µs more, kernels of 10 µs
 * would not wait for launches that take 6. But then the step would take half of what the timed steps took. */
static void timed_steps_limit_what_recording_may_have_cost(void **state)
{
    assert_int_equal(launch_bound_causes(10, 16), 1);
    assert_int_equal(launch_bound_causes(18, 16), 0);
}

/* Kernels of 10 µs, the first half every 20 µs and the second half 1000 µs later: nothing was recorded in between. */
static void pauses_are_no_idle_time(void **state)
{
    struct writer *writer = start();
    struct gpu_busy busy;
    struct error err;

    for (int i = 0; i < 20; i++) {
        int64_t at = 20 * i + (i < 10 ? 0 : 1000);
        launch(writer, at, at + 5, at + 15, i + 1, 7);
    }
    several(writer, 0, 2, 100, "traced");
    several(writer, 200, 9, 100, "timed");
    several(writer, 1100, 2, 100, "traced");
    struct report *report = finish(writer);
    assert_int_equal(gpu_busy_read(&busy, report, &(struct analysis_request){ 0 }, 3, &err), 0);
    assert_int_equal(busy.devices[0].busy_ns, 200 * US);
    assert_int_equal(busy.devices[0].paused_ns, 1010 * US);
    assert_int_equal(gpu_busy_span(&busy.devices[0]), 380 * US); /* 18 gaps of 10 µs */
    assert_int_equal(busy.devices[0].largest.length_ns, 10 * US);
    gpu_busy_free(&busy);
    report_close(report);
}

static size_t rows_of(const struct analysis *rule, struct report *report)
{
    struct table *table;
    struct error err;

    if (analysis_run_unchecked(rule, report, &(struct analysis_request){ 0 }, &table, &err) != 0)
        fail_msg("%s", err.text);
    size_t rows = table_row_count(table);
    table_delete(table);
    return rows;
}

/* A kernel of 0.8 s, a second of timed steps, a kernel of 0.8 s; the second time without the steps. */
static void pauses_are_no_finding(void **state)
{
    for (int has_steps = 1; has_steps >= 0; has_steps--) {
        struct writer *writer = start();
        launch(writer, 0, 5, 800000, 1, 7);
        if (has_steps) {
            several(writer, 800000, 1, 10, "settling");
            several(writer, 800010, 10, 100000, "timed");
        }
        launch(writer, 1800010, 1800015, 2600000, 2, 7);
        struct report *report = finish(writer);
        assert_int_equal(rows_of(&rule_gpu_gaps, report), !has_steps);
        assert_int_equal(rows_of(&rule_gpu_time_util, report), !has_steps);
        report_close(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_leave_out_what_is_far_off),
        cmocka_unit_test(time_between_ranges_counts),
        cmocka_unit_test(the_slower_of_host_and_gpu_sets_the_pace),
        cmocka_unit_test(no_steps),
        cmocka_unit_test(traced_steps_are_the_steps),
        cmocka_unit_test(steps_of_a_replaced_mark_do_not_count),
        cmocka_unit_test(rounds_of_several_marks_are_the_steps),
        cmocka_unit_test(a_wait_in_every_fourth_step_is_no_rhythm),
        cmocka_unit_test(a_part_of_a_round_says_nothing),
        cmocka_unit_test(a_warm_up_has_no_steps),
        cmocka_unit_test(replayed_steps_are_bare),
        cmocka_unit_test(fills_of_other_lengths_tell_steps),
        cmocka_unit_test(loops_without_marks_are_cut_by_the_least_cost),
        cmocka_unit_test(a_wait_hides_what_recording_costs),
        cmocka_unit_test(a_bound_is_of_a_slow_step),
        cmocka_unit_test(busy_gpu_keeps_its_step),
        cmocka_unit_test(what_recording_may_have_cost_is_no_finding),
        cmocka_unit_test(timed_steps_limit_what_recording_may_have_cost),
        cmocka_unit_test(pauses_are_no_idle_time),
        cmocka_unit_test(pauses_are_no_finding),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
