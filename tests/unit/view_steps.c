/* Strips of steps over reports whose work can be added up by hand: which part each moment counts for, where its bin is,
 * in which order the steps come, and which steps of two runs are the same. */
#include "made_report.h"

#include "base/cancel.h"
#include "view/timeline.h"

static struct report *reports[2];
static struct view *views[2];
static char paths[2][sizeof path];

static void add_step(struct writer *writer, int64_t begin, int64_t end, const char *text)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, begin);
    ROW_SET(&row, NVTX_EVENTS, end, end);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, made_thread(1, 1));
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    ROW_SET(&row, NVTX_EVENTS, text, made_string(writer, text));
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void add_kernel(struct writer *writer, int64_t begin, int64_t end, int64_t stream, const char *name)
{
    made_kernel(writer, (struct made_kernel){ begin, end, 1, NO_ID, 0, stream, name, NULL, NULL });
}

static void add_copy(struct writer *writer, int64_t begin, int64_t end)
{
    made_copy_on(writer, (struct made_memory){ begin, end, NO_ID, 64, 1, NO_ID, NO_ID }, 9);
}

static void add_message(struct writer *writer, int64_t begin, int64_t end, const char *name)
{
    struct row_MPI_P2P_EVENTS row = { 0 };

    ROW_SET(&row, MPI_P2P_EVENTS, start, begin);
    ROW_SET(&row, MPI_P2P_EVENTS, end, end);
    ROW_SET(&row, MPI_P2P_EVENTS, globalTid, made_thread(1, 1));
    ROW_SET(&row, MPI_P2P_EVENTS, textId, made_string(writer, name));
    writer_append(writer, TABLE_MPI_P2P_EVENTS, &row);
}

static void add_switch(struct writer *writer, int64_t at, int is_in)
{
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, at);
    ROW_SET(&row, SCHED_EVENTS, cpu, 0);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, made_thread(1, 1));
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void open_run(size_t run, struct writer *writer)
{
    struct error err;

    reports[run] = finish(writer);
    if (view_open(reports[run], &views[run], &err) != 0)
        fail_msg("%s", err.text);
    view_set_name(views[run], run ? "b.tacho" : "a.tacho");
}

static int make_new_path(void **state)
{
    strcpy(path, "/tmp/tacho-unit-XXXXXX");
    return make_path(state);
}

static int make_runs(void **state)
{
    for (size_t run = 0; run < 2; run++) {
        make_new_path(state);
        strcpy(paths[run], path);
        struct writer *writer = start();
        if (run == 0) {
            add_step(writer, 1000, 2000, "step 1");
            add_step(writer, 2000, 4000, "step 2");
            add_step(writer, 4000, 5000, "step 3");
            add_kernel(writer, 1100, 1300, 7, "gemm");
            add_kernel(writer, 1200, 1500, 8, "ncclDevKernel_AllReduce");
            add_copy(writer, 1450, 1600);
            add_kernel(writer, 1950, 2050, 7, "gemm");
        } else {
            add_step(writer, 500, 1000, "step 2");
            add_step(writer, 1000, 4000, "step 3");
            add_step(writer, 4000, 4500, "step 4");
            add_kernel(writer, 600, 700, 7, "gemm");
        }
        open_run(run, writer);
    }
    view_set_other(views[0], views[1]);
    return 0;
}

static int close_runs(void **state)
{
    strcpy(path, paths[1]);
    for (size_t run = 0; run < 2; run++) {
        view_close(views[run]);
        report_close(reports[run]);
        if (run == 0)
            unlink(paths[run]);
    }
    return remove_path(state);
}

static void expect_of(struct view *view, const char *request, const char *expected)
{
    struct text answer = { 0 };
    const char *type;
    struct error err = { 0 };

    view_answer(view, request, NULL, 0, &answer, &type, &err);
    const char *got = err.code ? err.text : text_string(&answer);
    if (!strstr(got, expected))
        fail_msg("%s: %s is not in %s", request, expected, got);
    text_free(&answer);
}

static void expect(const char *request, const char *expected)
{
    expect_of(views[0], request, expected);
}

static void each_moment_counts_once(void **state)
{
    expect("steps?bins=10", "\"by\":\"steps\",\"order\":\"time\",\"total\":3,\"first\":0,\"bin\":200,");
    expect("steps?bins=10", "{\"place\":0,\"items\":[{\"run\":0,");
    expect("steps?bins=10",
           "\"name\":\"step "
           "1\",\"from\":1000,\"to\":2000,\"compute\":250,\"communication\":200,\"copies\":100,\"idle\":450,"
           "\"bins\":[100,0,0,100,100,0,0,100,100,0,0,0,50,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]}");
    expect("steps?bins=10", "\"name\":\"step 2\",\"from\":2000,\"to\":4000,\"compute\":50,");
}

static void they_come_in_the_order_that_is_asked_for(void **state)
{
    expect("steps?bins=1&order=duration", "\"strips\":[{\"place\":1,");
    expect("steps?bins=1&first=2&count=1", "\"strips\":[{\"place\":2,");
    expect("steps?bins=1&first=9", "\"strips\":[]}");
    expect("steps?bins=1", "\"median\":{\"run\":0,\"row\":0,\"event\":2,");
    expect("steps?by=ranks&step=1", "\"total\":1,");
}

static void steps_of_the_same_name_are_pairs(void **state)
{
    expect("about", "\"other\":\"b.tacho\"");
    expect("about?run=1", "\"name\":\"b.tacho\"");
    expect("steps?by=runs&bins=1", "\"total\":4,");
    expect("steps?by=runs&bins=1", "\"bins\":[250,200,100]}]},{\"place\":1,");  /* step 1 has no partner */
    expect("steps?by=runs&bins=1", "{\"run\":1,\"row\":0,\"event\":0,\"name\":\"step 2\",\"from\":500,\"to\":1000,");
    expect("steps?by=runs&bins=1", "{\"place\":3,\"items\":[{\"run\":1,\"row\":0,\"event\":2,\"name\":\"step 4\"");
    expect("steps?by=runs&bins=1&order=duration", "\"strips\":[{\"place\":2,"); /* step 3 became longer */
}

static void differences_are_those_of_both_runs(void **state)
{
    expect("diff?report=cuda_gpu_kern_sum", "[300,100,-200,-66.6");
    expect("diff?report=cuda_gpu_kern_sum", "\"ncclDevKernel_AllReduce\"");
    expect("diff", "\"report\":\"run_sum\"");
}

/* Three steps of a thread: it computes and receives; a call lies in another one; it does nothing but wait in a call. */
static struct writer *start_cpu_job(void)
{
    struct writer *writer = start();

    add_step(writer, 1000, 2000, "step 1");
    add_step(writer, 2000, 3000, "step 2");
    add_step(writer, 3000, 4000, "step 3");
    add_message(writer, 1500, 1700, "MPI_Recv");
    add_message(writer, 2200, 2600, "MPI_Waitall");
    add_message(writer, 2300, 2400, "MPI_Wait");
    add_message(writer, 2900, 4000, "MPI_Recv");
    return writer;
}

static void expect_of_cpu_job(struct writer *writer, const char *const expected[3])
{
    struct error err;
    struct report *report = finish(writer);
    struct view *view;

    if (view_open(report, &view, &err) != 0)
        fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++)
        expect_of(view, "steps?bins=5", expected[i]);
    view_close(view);
    report_close(report);
}

static void threads_compute_and_communicate_without_a_gpu(void **state)
{
    struct writer *writer = start_cpu_job();

    add_switch(writer, 1000, 1); /* a thread that waits in MPI spins */
    add_switch(writer, 1800, 0);
    add_switch(writer, 2100, 1);
    add_switch(writer, 4000, 0);
    expect_of_cpu_job(
        writer, (const char *const[3]){
                    "1\",\"from\":1000,\"to\":2000,\"compute\":600,\"communication\":200,\"copies\":0,\"idle\":200,"
                    "\"bins\":[200,0,0,200,0,0,100,100,0,100,100,0,0,0,0]",
                    "2\",\"from\":2000,\"to\":3000,\"compute\":400,\"communication\":500,\"copies\":0,\"idle\":100,"
                    "\"bins\":[100,0,0,0,200,0,0,200,0,200,0,0,100,100,0]",
                    "3\",\"from\":3000,\"to\":4000,\"compute\":0,\"communication\":1000,\"copies\":0,\"idle\":0,",
                });
}

static void a_thread_computes_between_its_calls_if_its_states_are_not_known(void **state)
{
    expect_of_cpu_job(start_cpu_job(), (const char *const[3]){
                                           "\"compute\":800,\"communication\":200,\"copies\":0,\"idle\":0,",
                                           "\"compute\":500,\"communication\":500,\"copies\":0,\"idle\":0,",
                                           "\"compute\":0,\"communication\":1000,\"copies\":0,\"idle\":0,",
                                       });
}

static void wrong_arguments_are_told(void **state)
{
    expect("steps?by=color", "by is steps, ranks or runs");
    expect("steps?order=size", "order is time or duration");
    expect("steps?bins=0", "bins");
    expect("steps?row=1", "row 1");
    expect("steps?by=ranks&step=7", "has no steps");
    expect("diff?report=nothing", "no report named nothing");
    expect("steps?run=1&by=runs", "one run is shown");
    expect("diff?run=1", "one run is shown");
    expect("rows?run=2", "run");
}

static void cancelling(void **state)
{
    static const _Atomic int flag = 1;

    cancel_watch(&flag);
    expect("steps?bins=10", "cancelled");
    cancel_watch(NULL);
    expect("steps?bins=10", "\"total\":3,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moment_counts_once),
        cmocka_unit_test(they_come_in_the_order_that_is_asked_for),
        cmocka_unit_test(steps_of_the_same_name_are_pairs),
        cmocka_unit_test(differences_are_those_of_both_runs),
        cmocka_unit_test(wrong_arguments_are_told),
        cmocka_unit_test(cancelling),
        cmocka_unit_test_setup_teardown(threads_compute_and_communicate_without_a_gpu, make_new_path, remove_path),
        cmocka_unit_test_setup_teardown(a_thread_computes_between_its_calls_if_its_states_are_not_known, make_new_path,
                                        remove_path),
    };

    return cmocka_run_group_tests(tests, make_runs, close_runs);
}
