/* straggler_sum on made ranks: one comes late in each step, for a reason that is in the rows, and is named with it. */
#include "analyze/registry.h"
#include "analyze/stragglers/chance.h"
#include "base/text.h"
#include "made_mpi.h"

#define US 1000
enum { RANKS = 4, STEPS = 20, STEP = 1000, LATE = 300, FAULT = 2 };

struct scene {
    struct writer *writer;
    int64_t ranks, every, late; /* the rank is late in each so many steps, by µs */
    int in_turn;                /* each rank is the late one in turn */
};

static int is_late(const struct scene *scene, int64_t rank, int64_t step)
{
    return step % scene->every == 0 && rank == (scene->in_turn ? step % scene->ranks : FAULT);
}

/* When a rank enters the allreduce of a step, and when all leave. */
static int64_t enter(const struct scene *scene, int64_t rank, int64_t step)
{
    return STEP * (step + 1) + rank + (is_late(scene, rank, step) ? scene->late : 0);
}
static int64_t leave(const struct scene *scene, int64_t step)
{
    int64_t last = 0;
    for (int64_t rank = 0; rank < scene->ranks; rank++)
        last = enter(scene, rank, step) > last ? enter(scene, rank, step) : last;
    return last + 20;
}

static void play(const struct scene *scene)
{
    for (int64_t rank = 0; rank < scene->ranks; rank++) {
        made_rank(scene->writer, rank);
        made_communicator(scene->writer, rank, 0, 10, scene->ranks == 4 ? "0,1,2,3" : "0,1", scene->ranks, "world");
        for (int64_t step = 0; step < STEPS; step++)
            made_collective(scene->writer,
                            (struct made_collective){ rank, enter(scene, rank, step) * US, leave(scene, step) * US,
                                                      "MPI_Allreduce", 10, 8, 0 });
    }
}

static struct table *finish_and_run(struct writer *writer, struct report **report)
{
    struct analysis_request request = { 0 };
    struct table *table = NULL;
    struct error err;
    *report = finish(writer);
    if (analysis_run(&analysis_straggler_sum, *report, &request, &table, &err) != 0)
        fail_msg("%s", err.text);
    return table;
}

enum { RANK, HOST, DEVICE, TIMES, WAIT, LATENESS, CAUSE, WHERE, GAIN, SHARED_BY };

static void expect_none(struct writer *writer)
{
    struct report *report;
    struct table *table = finish_and_run(writer, &report);
    if (table_row_count(table) != 0)
        fail_msg("rank %lld is named", (long long)table_row(table, 0)[RANK].integer);
    table_delete(table);
    report_close(report);
}

static void expect(struct writer *writer, int64_t rank, const char *cause)
{
    struct report *report;
    struct table *table = finish_and_run(writer, &report);
    const struct table_cell *row = table_row_count(table) ? table_row(table, 0) : NULL;
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(row[RANK].integer, rank);
    if (row[CAUSE].text.length != strlen(cause) || memcmp(row[CAUSE].text.bytes, cause, strlen(cause)) != 0)
        fail_msg("cause '%.*s', expected '%s'", (int)row[CAUSE].text.length, row[CAUSE].text.bytes, cause);
    table_delete(table);
    report_close(report);
}

/* ---- What ranks do --------------------------------------------------------------------------------------------- */

static void os_call(struct writer *writer, int64_t rank, int64_t from, int64_t to, const char *name)
{
    struct row_OSRT_API row = { 0 };
    ROW_SET(&row, OSRT_API, start, from * US);
    ROW_SET(&row, OSRT_API, end, to * US);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_rank_thread(rank));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, name));
    ROW_SET(&row, OSRT_API, nestingLevel, 0);
    writer_append(writer, TABLE_OSRT_API, &row);
}

static void collection(struct writer *writer, int64_t rank, int64_t from, int64_t to)
{
    struct row_TACHO_PYTHON_EVENT row = { 0 };
    ROW_SET(&row, TACHO_PYTHON_EVENT, start, from * US);
    ROW_SET(&row, TACHO_PYTHON_EVENT, end, to * US);
    ROW_SET(&row, TACHO_PYTHON_EVENT, globalTid, made_rank_thread(rank));
    ROW_SET(&row, TACHO_PYTHON_EVENT, kind, made_string(writer, "gc"));
    ROW_SET(&row, TACHO_PYTHON_EVENT, nameId, made_string(writer, "gc generation 2"));
    writer_append(writer, TABLE_TACHO_PYTHON_EVENT, &row);
}

static void loading(struct writer *writer, int64_t rank, int64_t from, int64_t to)
{
    struct row_TACHO_TORCH_OP row = { 0 };
    ROW_SET(&row, TACHO_TORCH_OP, start, from * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, to * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_rank_thread(rank));
    ROW_SET(&row, TACHO_TORCH_OP, nameId,
            made_string(writer, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "user_annotation"));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

enum { PREEMPTED = 6, WAITING = 7 };

static void switching_on(struct writer *writer, int64_t rank, int64_t cpu, int64_t at, int is_in, int64_t state)
{
    struct row_SCHED_EVENTS row = { 0 };
    ROW_SET(&row, SCHED_EVENTS, start, at * US);
    ROW_SET(&row, SCHED_EVENTS, cpu, cpu);
    ROW_SET(&row, SCHED_EVENTS, threadState, state);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, made_rank_thread(rank));
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void switching(struct writer *writer, int64_t rank, int64_t at, int is_in)
{
    switching_on(writer, rank, rank, at, is_in, is_in ? 1 : PREEMPTED);
}

/* A sample in the kernel, which was entered by a page fault. */
static void fault(struct writer *writer, int64_t rank, int64_t at)
{
    struct row_COMPOSITE_EVENTS sample = { 0 };
    ROW_SET(&sample, COMPOSITE_EVENTS, id, at);
    ROW_SET(&sample, COMPOSITE_EVENTS, start, at * US);
    ROW_SET(&sample, COMPOSITE_EVENTS, globalTid, made_rank_thread(rank));
    ROW_SET(&sample, COMPOSITE_EVENTS, cpuCycles, 1000000);
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &sample);
    static const char *const names[] = { "clear_page_erms", "asm_exc_page_fault" };
    for (int64_t depth = 0; depth < 2; depth++) {
        struct row_SAMPLING_CALLCHAINS frame = { 0 };
        ROW_SET(&frame, SAMPLING_CALLCHAINS, id, at);
        ROW_SET(&frame, SAMPLING_CALLCHAINS, symbol, made_string(writer, names[depth]));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, module, made_string(writer, "[kernel.kallsyms]"));
        ROW_SET(&frame, SAMPLING_CALLCHAINS, kernelMode, 1);
        ROW_SET(&frame, SAMPLING_CALLCHAINS, stackDepth, depth);
        writer_append(writer, TABLE_SAMPLING_CALLCHAINS, &frame);
    }
}

static void kernel(struct writer *writer, int64_t rank, int64_t from, int64_t to)
{
    made_kernel(writer, (struct made_kernel){ from * US, to * US, 100 + rank, NO_ID, rank, 7, "gemm", NULL, NULL });
}

static void kernel_of_blocks(struct writer *writer, int64_t rank, int64_t from, int64_t to, int64_t blocks)
{
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, start, from * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, end, to * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, deviceId, rank);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, streamId, 7);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, made_thread(100 + rank, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridX, blocks);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, shortName, made_string(writer, "gemm"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
}

static void copy_of_bytes(struct writer *writer, int64_t rank, int64_t from, int64_t to, int64_t bytes)
{
    struct row_CUPTI_ACTIVITY_KIND_MEMCPY row = { 0 };
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, start, from * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, end, to * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, deviceId, rank);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, streamId, 7);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, globalPid, made_thread(100 + rank, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, bytes);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, &row);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------ */

static struct scene scene_of(int64_t every)
{
    return (struct scene){ .writer = start(), .ranks = RANKS, .every = every, .late = LATE };
}

static void a_rank_is_late(void **state)
{
    struct scene scene = scene_of(1);
    struct report *report;
    play(&scene);
    struct table *table = finish_and_run(scene.writer, &report);
    assert_int_equal(table_row_count(table), 1);
    const struct table_cell *row = table_row(table, 0);
    assert_int_equal(row[RANK].integer, FAULT);
    assert_int_equal(row[TIMES].integer, STEPS - 1);      /* the first has no instance before it */
    assert_int_equal(row[WAIT].integer, (STEPS - 1) * (3 * (LATE + 2) - 0 - 1 - 3) * US);
    assert_int_equal(row[LATENESS].integer, (LATE + 1) * US);
    assert_int_equal(row[GAIN].integer, (LATE - 1) * US); /* the second-latest is the last rank */
    assert_int_equal(row[DEVICE].kind, CELL_NONE);
    assert_memory_equal(row[CAUSE].text.bytes, "outside of collectives", row[CAUSE].text.length);
    table_delete(table);
    report_close(report);
}

static void nobody_is_a_straggler(void **state)
{
    struct scene in_turn = { .writer = start(), .ranks = RANKS, .every = 1, .late = LATE, .in_turn = 1 };
    play(&in_turn);
    expect_none(in_turn.writer);
    struct scene twice = { .writer = start(), .ranks = RANKS, .every = 10, .late = LATE };
    play(&twice);
    expect_none(twice.writer);
    struct scene little = { .writer = start(), .ranks = RANKS, .every = 1, .late = 30 }; /* of steps of 1000 µs */
    play(&little);
    expect_none(little.writer);
    struct scene cheap = { .writer = start(), .ranks = RANKS, .every = 5, .late = 90 };  /* less than a fiftieth */
    play(&cheap);
    expect_none(cheap.writer);
}

/* Of two ranks, rank 1 is late in each step, by 300 µs. In the second half of the run rank 0 is late too, by as much in
 * an allreduce of its own: for a while it loses as much, but it is not late in every step. */
static void one_of_two_is_late_all_the_time(void **state)
{
    struct writer *writer = start();
    struct report *report;
    for (int64_t rank = 0; rank < 2; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1", 2, "world");
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1), other = step * 2 >= STEPS ? LATE : 0;
            made_collective(writer, (struct made_collective){ rank, (at + (rank == 1 ? LATE : 0)) * US,
                                                              (at + LATE + 20) * US, "MPI_Allreduce", 10, 8, 0 });
            at += 400;
            made_collective(writer, (struct made_collective){ rank, (at + (rank == 0 ? other : 0)) * US,
                                                              (at + other + 20) * US, "MPI_Allreduce", 10, 16, 0 });
        }
    }
    struct table *table = finish_and_run(writer, &report);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(table_row(table, 0)[RANK].integer, 1);
    assert_int_equal(table_row(table, 0)[GAIN].integer, LATE * US);
    table_delete(table);
    report_close(report);
}

/* What the late rank does in the time that the others wait: a function that adds rows for a step. */
typedef void doing(struct writer *writer, int64_t from, int64_t to);

static void sleeps(struct writer *writer, int64_t from, int64_t to)
{
    os_call(writer, FAULT, from, to, "clock_nanosleep");
}
static void reads(struct writer *writer, int64_t from, int64_t to)
{
    os_call(writer, FAULT, from, to, "read");
}
/* Calls in which it waited for the others in the instance before: no cause of its own. */
static void slept_before(struct writer *writer, int64_t from, int64_t to)
{
    os_call(writer, FAULT, from - STEP + LATE, to, "clock_nanosleep");
}
static void read_before(struct writer *writer, int64_t from, int64_t to)
{
    os_call(writer, FAULT, from - STEP + LATE, to, "read");
}
static void computes(struct writer *writer, int64_t from, int64_t to)
{
    os_call(writer, FAULT, from, from + 5, "read");
}
static void collects(struct writer *writer, int64_t from, int64_t to)
{
    collection(writer, FAULT, from, to);
}
static void loads(struct writer *writer, int64_t from, int64_t to)
{
    loading(writer, FAULT, from, to);
    os_call(writer, FAULT, from, to, "clock_nanosleep");
}
static void is_preempted(struct writer *writer, int64_t from, int64_t to)
{
    switching(writer, FAULT, from, 0);
    switching(writer, FAULT, to, 1);
}
static void faults(struct writer *writer, int64_t from, int64_t to)
{
    fault(writer, FAULT, (from + to) / 2);
}
static void runs_longer(struct writer *writer, int64_t from, int64_t to)
{
    kernel(writer, FAULT, from - 100, to);
}
static void runs_larger(struct writer *writer, int64_t from, int64_t to)
{
    kernel_of_blocks(writer, FAULT, from - 100, to, 64); /* those of the others have one block */
}
static void copies(struct writer *writer, int64_t from, int64_t to, int64_t bytes)
{
    for (int64_t rank = 0; rank < RANKS; rank++)
        copy_of_bytes(writer, rank, from - 10, rank == FAULT ? to : from, rank == FAULT ? bytes : 1000);
}
static void copies_longer(struct writer *writer, int64_t from, int64_t to)
{
    copies(writer, from, to, 1000);
}
static void copies_larger(struct writer *writer, int64_t from, int64_t to)
{
    copies(writer, from, to, 30000);
}
static void copies_more(struct writer *writer, int64_t from, int64_t to)
{
    copies(writer, from, (from + to) / 2, 1000);
    copy_of_bytes(writer, FAULT, (from + to) / 2, to, 1000);
}
static void torch_op(struct writer *writer, int64_t thread, int64_t from, int64_t to, const char *name)
{
    struct row_TACHO_TORCH_OP row = { 0 };
    ROW_SET(&row, TACHO_TORCH_OP, start, from * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, to * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, thread);
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, name));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, "user_annotation"));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void calls_operators(struct writer *writer, int64_t from, int64_t to)
{
    computes(writer, from, to);
    for (int64_t rank = 0; rank < RANKS; rank++)
        for (int64_t at = from - 100; at < (rank == FAULT ? to : from); at += 20)
            torch_op(writer, made_rank_thread(rank), at, at + 10, "aten::mm");
}
static void calls_slow_operators(struct writer *writer, int64_t from, int64_t to)
{
    computes(writer, from, to);
    for (int64_t rank = 0; rank < RANKS; rank++)
        for (int64_t i = 0, length = (rank == FAULT ? to - from + 100 : 100) / 5; i < 5; i++)
            torch_op(writer, made_rank_thread(rank), from - 100 + i * length, from - 95 + i * length, "aten::mm");
}
static void runs_more(struct writer *writer, int64_t from, int64_t to)
{
    for (int64_t at = from - 100; at + 100 <= to; at += 100)
        kernel(writer, FAULT, at, at + 100);
}

static void causes(void **state)
{
    static const struct {
        doing *adds;
        const char *cause;
        int has_switches, has_kernels;
        int64_t every;
    } cases[] = {
        { sleeps, "sleeping", 0, 0, 1 },
        { reads, "I/O", 0, 0, 1 },
        { slept_before, "compute", 0, 0, 1 },
        { read_before, "compute", 0, 0, 1 },
        { computes, "compute", 0, 0, 1 },
        { computes, "compute", 1, 0, 1 },
        { calls_operators, "compute: more operators", 1, 0, 1 },
        { calls_slow_operators, "compute", 1, 0, 1 },
        { collects, "garbage collection", 0, 0, 5 },
        { loads, "data loader", 0, 0, 1 },
        { is_preempted, "off CPU: others run there", 1, 0, 1 },
        { faults, "page faults", 1, 0, 1 },
        { runs_longer, "slower kernels", 0, 1, 1 },
        { runs_larger, "larger kernels", 0, 1, 1 },
        { runs_more, "more kernels", 0, 1, 1 },
        { copies_longer, "slower GPU copies", 0, 1, 1 },
        { copies_larger, "larger GPU copies", 0, 1, 1 },
        { copies_more, "more GPU copies", 0, 1, 1 },
        { sleeps, "GPU idle: sleeping", 0, 1, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene scene = scene_of(cases[i].every);
        play(&scene);
        for (int64_t rank = 0; rank < RANKS && cases[i].has_switches; rank++)
            switching(scene.writer, rank, 0, 1);
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1);
            if (is_late(&scene, FAULT, step))
                cases[i].adds(scene.writer, at, at + LATE);
            int has_own = cases[i].adds == runs_longer || cases[i].adds == runs_larger || cases[i].adds == runs_more;
            for (int64_t rank = 0; rank < RANKS && cases[i].has_kernels; rank++)
                if (rank != FAULT || !has_own)
                    kernel(scene.writer, rank, at - 100, at);
        }
        for (int64_t rank = 0; rank < RANKS && cases[i].has_switches; rank++)
            switching(scene.writer, rank, STEP * (STEPS + 2), 0);
        expect(scene.writer, FAULT, cases[i].cause);
    }
}

/* The late rank is ready to run, or waits, while another program or another rank runs on its CPU. If another rank took
 * it, that is nobody's fault. */
static void ranks_that_share_a_cpu(void **state)
{
    for (int is_rank = 0; is_rank < 2; is_rank++)
        for (int is_waiting = 0; is_waiting < 2; is_waiting++) {
            struct scene scene = scene_of(1);
            play(&scene);
            for (int64_t rank = 0; rank < RANKS; rank++)
                switching_on(scene.writer, rank, rank == FAULT ? 7 : rank, 0, 1, 1);
            for (int64_t step = 0; step < STEPS; step++) {
                int64_t from = STEP * (step + 1), to = from + LATE;
                switching_on(scene.writer, FAULT, 7, from, 0, is_waiting ? WAITING : PREEMPTED);
                switching_on(scene.writer, FAULT, 7, to, 1, 1);
                switching_on(scene.writer, 1, 1, from, 0, PREEMPTED);
                switching_on(scene.writer, 1, is_rank ? 7 : 6, from, 1, 1);
                switching_on(scene.writer, 1, is_rank ? 7 : 6, to, 0, PREEMPTED);
                switching_on(scene.writer, 1, 1, to, 1, 1);
            }
            for (int64_t rank = 0; rank < RANKS; rank++)
                switching_on(scene.writer, rank, rank == FAULT ? 7 : rank, STEP * (STEPS + 2), 0, PREEMPTED);
            if (is_rank && !is_waiting)
                expect_none(scene.writer);
            else
                expect(scene.writer, FAULT, "off CPU: others run there");
        }
}

static void run_all_the_time(struct writer *writer)
{
    for (int64_t rank = 0; rank < RANKS; rank++) {
        switching(writer, rank, 0, 1);
        switching(writer, rank, STEP * (STEPS + 2), 0);
    }
}

/* Another program takes the CPU of a rank in each fourth step: in five of the ten stretches of the run. */
static void others_disturb_a_rank_now_and_then(void **state)
{
    struct scene scene = scene_of(4);
    play(&scene);
    run_all_the_time(scene.writer);
    for (int64_t step = 0; step < STEPS; step += scene.every)
        is_preempted(scene.writer, STEP * (step + 1), STEP * (step + 1) + LATE);
    expect_none(scene.writer);
}

/* Another program takes the CPU of rank 2 in each step. If rank 1 runs there too at the end of each step, it is by
 * chance that rank 2 was there when the program was: it is not named. */
static void others_disturb_a_rank_on_any_cpu(void **state)
{
    for (int is_any = 0; is_any < 2; is_any++) {
        struct scene scene = scene_of(1);
        play(&scene);
        for (int64_t rank = 0; rank < RANKS; rank++)
            switching(scene.writer, rank, 0, 1);
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1);
            is_preempted(scene.writer, at, at + LATE);
            switching_on(scene.writer, 1, 1, at + 500, 0, WAITING);
            switching_on(scene.writer, 1, is_any ? FAULT : 5, at + 500, 1, 1);
            switching_on(scene.writer, 1, is_any ? FAULT : 5, at + 700, 0, WAITING);
            switching_on(scene.writer, 1, 1, at + 700, 1, 1);
        }
        for (int64_t rank = 0; rank < RANKS; rank++)
            switching(scene.writer, rank, STEP * (STEPS + 2), 0);
        if (is_any)
            expect_none(scene.writer);
        else
            expect(scene.writer, FAULT, "off CPU: others run there");
    }
}

/* Of some 26 samples of the rank five are left, and two of these are in page faults. */
static void page_faults_are_found_in_few_samples(void **state)
{
    struct scene scene = scene_of(1);
    play(&scene);
    run_all_the_time(scene.writer);
    for (int64_t step = 3; step <= 11; step += 4) {
        struct row_COMPOSITE_EVENTS sample = { 0 };
        ROW_SET(&sample, COMPOSITE_EVENTS, id, step);
        ROW_SET(&sample, COMPOSITE_EVENTS, start, (STEP * step - STEP / 4) * US);
        ROW_SET(&sample, COMPOSITE_EVENTS, globalTid, made_rank_thread(FAULT));
        ROW_SET(&sample, COMPOSITE_EVENTS, cpuCycles, 1000000);
        writer_append(scene.writer, TABLE_COMPOSITE_EVENTS, &sample);
    }
    fault(scene.writer, FAULT, STEP * 5 + LATE / 2);
    fault(scene.writer, FAULT, STEP * 9 + LATE / 2);
    expect(scene.writer, FAULT, "page faults");
}

static void launch_at(struct writer *writer, int64_t rank, int64_t at, int64_t id)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, (at - 5) * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, at * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_rank_thread(rank));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaLaunchKernel"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

/* Four ranks have one GPU, and enter the allreduce when their kernel on it has ended. They launch it at the same time.
 * In turn: it runs them one after the other, each for 100 µs and that of rank 2 last, which is nobody's fault. Sliced:
 * it divides its time between them, so that each is said to take 400 µs, and rank 2 has another one of 300 µs. On GPUs
 * of their own: rank 2 starts its kernel 300 µs after the others, which is its own doing. */
static void ranks_that_share_a_gpu(void **state)
{
    enum { IN_TURN, SLICED, OWN_GPUS, KINDS };
    static const int64_t turns[RANKS] = { 0, 1, 3, 2 };
    for (int kind = 0; kind < KINDS; kind++) {
        struct writer *writer = start();
        struct report *report;
        for (int64_t rank = 0; rank < RANKS; rank++) {
            made_rank(writer, rank);
            made_communicator(writer, rank, 0, 10, "0,1,2,3", RANKS, "world");
            for (int64_t step = 0; step < STEPS; step++) {
                int64_t at = STEP * (step + 1), id = 2 * step + 1, device = kind == OWN_GPUS ? rank : 0;
                int64_t begin = at + (kind == SLICED ? 0 : 100 * turns[rank]);
                int64_t end = begin + (kind == SLICED ? 400 : 100);
                launch_at(writer, rank, at, id);
                made_kernel(writer, (struct made_kernel){ begin * US, end * US, 100 + rank, id, device, 7, "gemm", NULL,
                                                          NULL });
                if (kind == SLICED && rank == FAULT) {
                    launch_at(writer, rank, at, id + 1);
                    made_kernel(writer, (struct made_kernel){ end * US, (end + LATE) * US, 100 + rank, id + 1, device,
                                                              7, "gemm", NULL, NULL });
                    end += LATE;
                }
                made_collective(writer, (struct made_collective){ rank, (end + rank) * US, (at + 720) * US,
                                                                  "MPI_Allreduce", 10, 8, 0 });
            }
        }
        struct table *table = finish_and_run(writer, &report);
        assert_int_equal(table_row_count(table), kind == IN_TURN ? 0 : 1);
        if (table_row_count(table)) {
            const struct table_cell *row = table_row(table, 0);
            assert_int_equal(row[RANK].integer, kind == SLICED ? FAULT : 2);
            assert_int_equal(row[SHARED_BY].kind, kind == SLICED ? CELL_INT : CELL_NONE);
        }
        if (kind == SLICED) {
            const struct table_cell *row = table_row(table, 0);
            assert_int_equal(row[SHARED_BY].integer, RANKS);
            assert_memory_equal(row[CAUSE].text.bytes, "more kernels", row[CAUSE].text.length);
        }
        table_delete(table);
        report_close(report);
    }
}

/* An allreduce has rounds. In every other one, all enter at the same time, and another program takes the CPU of rank 2
 * before its second round, in which rank 1 needs it: both leave 300 µs later than the others, and come late to the next
 * one, rank 1 last. */
static void a_rank_is_kept_off_inside(void **state)
{
    enum { HALF = STEP / 2, INSIDE = 20, LOST = 300 };
    struct writer *writer = start();
    struct report *report;
    for (int64_t rank = 0; rank < RANKS; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2,3", RANKS, "world");
        switching(writer, rank, 0, 1);
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1), next = at + HALF, is_kept = rank == 1 || rank == FAULT;
            made_collective(writer, (struct made_collective){ rank, at * US, (at + INSIDE + (is_kept ? LOST : 0)) * US,
                                                              "MPI_Allreduce", 10, 8, 0 });
            made_collective(writer, (struct made_collective){ rank, (next + (is_kept ? LOST : 0) + (rank == 1)) * US,
                                                              (next + LOST + INSIDE) * US, "MPI_Allreduce", 10, 8, 0 });
            if (rank == FAULT) {
                switching(writer, rank, at + 5, 0);
                switching(writer, rank, at + INSIDE + LOST - 1, 1);
            }
        }
        switching(writer, rank, STEP * (STEPS + 2), 0);
    }
    struct table *table = finish_and_run(writer, &report);
    assert_int_equal(table_row_count(table), 1);
    const struct table_cell *row = table_row(table, 0);
    assert_int_equal(row[RANK].integer, FAULT);
    assert_int_equal(row[LATENESS].integer, (LOST + 1) * US);
    assert_int_equal(row[GAIN].integer, (LOST + 1) * US); /* a step has two collectives */
    assert_memory_equal(row[CAUSE].text.bytes, "off CPU: others run there", row[CAUSE].text.length);
    table_delete(table);
    report_close(report);
}

static void chances(void **state)
{
    static const int64_t same[] = { 5, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0 }, equal[] = { 3, 3, 3, 3, 3, 3 };
    static const int64_t once[] = { 9, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1 };
    assert_float_equal(chance_of_rank(same, 3, 4, 0), 1.0 / 64, 1e-9);
    assert_float_equal(chance_of_rank(same, 3, 4, 1), 1, 1e-9);
    assert_float_equal(chance_of_rank(equal, 3, 2, 1), 1, 1e-9);
    /* The 9, one time in four, and a 1 in each of the two others, one time in two. */
    assert_float_equal(chance_of_rank(once, 3, 4, 0), 1.0 / 4 / 2 / 2, 1e-9);
}

/* The rule says it in words, and nothing if nobody is late. */
static void the_rule_says_it(void **state)
{
    for (int late = 0; late <= LATE; late += LATE) {
        struct scene scene = { .writer = start(), .ranks = RANKS, .every = 1, .late = late };
        struct analysis_request request = { 0 };
        struct table *table = NULL;
        struct text said = { 0 };
        struct error err;
        play(&scene);
        for (int64_t step = 0; step < STEPS; step++)
            sleeps(scene.writer, STEP * (step + 1), STEP * (step + 1) + late);
        struct report *report = finish(scene.writer);
        if (analysis_run(&rule_straggler, report, &request, &table, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(table_row_count(table), late != 0);
        if (late)
            rule_straggler.rule->finding(&said, table, 0);
        assert_string_equal(text_string(&said),
                            late ? "rank 2 is late: 301 µs in each of 19 steps; sleeping; without it a step of the job "
                                   "takes about 299 µs less of 1.00 ms"
                                 : "");
        text_free(&said);
        table_delete(table);
        report_close(report);
    }
}

/* Rank 2 comes last because it waits for rank 1 in a barrier of the two. */
static void a_late_rank_waited_for_another(void **state)
{
    static const int64_t enters[RANKS] = { 0, 297, 310, 0 };
    struct writer *writer = start();
    for (int64_t rank = 0; rank < RANKS; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2,3", RANKS, "world");
        if (rank == 1 || rank == 2)
            made_communicator(writer, rank, 0, 20, "1,2", 2, "pair");
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1);
            made_collective(writer, (struct made_collective){ rank, (at + enters[rank]) * US, (at + 330) * US,
                                                              "MPI_Allreduce", 10, 8, 0 });
            if (rank == 1 || rank == 2)
                made_collective(writer, (struct made_collective){ rank, (at + (rank == 1 ? 290 : 0)) * US,
                                                                  (at + 295) * US, "MPI_Barrier", 20, NO_ID, 0 });
        }
    }
    os_call(writer, 1, 10, 20, "read");
    expect(writer, 1, "compute");
}

static void broadcast(struct writer *writer, int64_t rank, int64_t from, int64_t to)
{
    struct row_MPI_COLLECTIVES_EVENTS row = { 0 };
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, start, from * US);
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, end, to * US);
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, globalTid, made_rank_thread(rank));
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, textId, made_string(writer, "MPI_Bcast"));
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, commHandle, 20);
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, rootRank, 0);
    ROW_SET(&row, MPI_COLLECTIVES_EVENTS, size, 8);
    writer_append(writer, TABLE_MPI_COLLECTIVES_EVENTS, &row);
}

static void probe(struct writer *writer)
{
    struct row_MPI_P2P_EVENTS row = { 0 };
    ROW_SET(&row, MPI_P2P_EVENTS, start, 1 * US);
    ROW_SET(&row, MPI_P2P_EVENTS, end, 2 * US);
    ROW_SET(&row, MPI_P2P_EVENTS, globalTid, made_rank_thread(0));
    ROW_SET(&row, MPI_P2P_EVENTS, textId, made_string(writer, "MPI_Iprobe"));
    writer_append(writer, TABLE_MPI_P2P_EVENTS, &row);
}

/* Of two ranks, rank 1 comes last since rank 0 kept it waiting in a broadcast. Nobody is left who had nothing to do
 * with it: without that wait rank 1 would have come 290 µs earlier, and so all would have been done. */
static void both_ranks_are_in_the_chain(void **state)
{
    struct writer *writer = start();
    struct report *report;
    probe(writer);
    for (int64_t rank = 0; rank < 2; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1", 2, "world");
        made_communicator(writer, rank, 0, 20, "0,1", 2, "pair");
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1);
            broadcast(writer, rank, at + (rank ? 0 : 290), at + 295);
            made_collective(writer, (struct made_collective){ rank, (at + (rank ? 320 : 298)) * US, (at + 330) * US,
                                                              "MPI_Allreduce", 10, 8, 0 });
        }
    }
    struct table *table = finish_and_run(writer, &report);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(table_row(table, 0)[RANK].integer, 0);
    assert_in_range(table_row(table, 0)[GAIN].integer, 290 * US, 322 * US);
    table_delete(table);
    report_close(report);
}

/* Rank 2 keeps ranks 1 and 3 waiting in a barrier of the three, so that these come as late as it does. Without it rank
 * 1 would come 285 µs earlier (it left that barrier 290 µs after it came, and its own part of that is 5 µs): all would.
 */
static void neighbours_come_late_with_it(void **state)
{
    static const int64_t enters[RANKS] = { 0, 298, 300, 299 };
    struct writer *writer = start();
    struct report *report;
    for (int64_t rank = 0; rank < RANKS; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2,3", RANKS, "world");
        if (rank)
            made_communicator(writer, rank, 0, 20, "1,2,3", 3, "neighbours");
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1);
            made_collective(writer, (struct made_collective){ rank, (at + enters[rank]) * US, (at + 320) * US,
                                                              "MPI_Allreduce", 10, 8, 0 });
            if (rank)
                made_collective(writer, (struct made_collective){ rank, (at + (rank == 2 ? 290 : 5)) * US,
                                                                  (at + 295) * US, "MPI_Barrier", 20, NO_ID, 0 });
        }
    }
    os_call(writer, 2, 10, 20, "read");
    struct table *table = finish_and_run(writer, &report);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(table_row(table, 0)[RANK].integer, 2);
    assert_in_range(table_row(table, 0)[GAIN].integer, 250 * US, 2 * 286 * US);
    table_delete(table);
    report_close(report);
}

/* ---- Steps of several collectives ------------------------------------------------------------------------------ */

enum { LAYERS = 12, LONG_STEP = 2000, INSIDE = 15, BETWEEN = 5 };

/* Twelve allreduces of one size in a row, then a pause. Rank 2 comes late to the first `late_layers` of them. */
static struct writer *layers(int64_t late_layers, int64_t late)
{
    struct writer *writer = start();
    for (int64_t rank = 0; rank < RANKS; rank++) {
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2,3", RANKS, "world");
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = LONG_STEP * (step + 1);
            for (int64_t layer = 0; layer < LAYERS; layer++) {
                int64_t end = at + (layer < late_layers ? late : 0) + INSIDE;
                made_collective(writer, (struct made_collective){
                                            rank, (rank == FAULT ? end - INSIDE : at - (rank == 3 ? 0 : 1)) * US,
                                            end * US, "MPI_Allreduce", 10, 8, 0 });
                at = end + BETWEEN;
            }
        }
    }
    return writer;
}

/* The second-latest is rank 3, which comes with the others or 1 µs later: all would be done `late` earlier in each
 * layer. A twentieth of the step is 100 µs: twelve delays of 30 µs are more. */
static void steps_of_many_collectives(void **state)
{
    static const struct {
        int64_t late_layers, late;
    } cases[] = { { 1, 300 }, { LAYERS, 30 }, { 1, 90 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t each = cases[i].late, gain = cases[i].late_layers * each;
        struct report *report;
        struct table *table = finish_and_run(layers(cases[i].late_layers, each), &report);
        assert_int_equal(table_row_count(table), gain > LONG_STEP / 20);
        if (table_row_count(table)) {
            const struct table_cell *row = table_row(table, 0);
            assert_int_equal(row[RANK].integer, FAULT);
            assert_int_equal(row[TIMES].integer, cases[i].late_layers * (STEPS - 1));
            assert_int_equal(row[LATENESS].integer, cases[i].late_layers * (each + 1) * US);
            assert_int_equal(row[GAIN].integer, gain * US);
        }
        table_delete(table);
        report_close(report);
    }
}

/* Ranks that take turns on CPUs come at once to some collectives, and one after the other to others. The pauses are
 * twice as long then, but each collective is a step all the same. */
static void pauses_of_several_lengths(void **state)
{
    static const int64_t pauses[] = { 400, 400, 900, 950, 1000, 920, 940, 930 };
    enum { INSTANCES = 5 * COUNT_OF(pauses) };
    struct writer *writer = start();
    struct report *report;
    for (int64_t rank = 0; rank < RANKS; rank++) {
        int64_t at = STEP;
        made_rank(writer, rank);
        made_communicator(writer, rank, 0, 10, "0,1,2,3", RANKS, "world");
        for (int64_t i = 0; i < INSTANCES; i++) {
            int64_t end = at + LATE + INSIDE;
            made_collective(writer, (struct made_collective){ rank, (at + (rank == FAULT ? LATE : 0)) * US, end * US,
                                                              "MPI_Allreduce", 10, 8, 0 });
            at = end + pauses[(size_t)i % COUNT_OF(pauses)];
        }
    }
    struct table *table = finish_and_run(writer, &report);
    assert_int_equal(table_row_count(table), 1);
    assert_int_equal(table_row(table, 0)[RANK].integer, FAULT);
    assert_int_equal(table_row(table, 0)[GAIN].integer, LATE * US);
    table_delete(table);
    report_close(report);
}

static void stream_wait(struct writer *writer, int64_t thread, int64_t from, int64_t to)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, from * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, to * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, thread);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, "cudaStreamSynchronize"));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

/* All ranks call gloo's allreduce at the same time, after they launched kernels. Rank 2 launched three more, of 100 µs:
 * inside of the operation it waits for them. A step, which the profiler of PyTorch marks, has a second allreduce. */
static void gloo_waits_for_its_own_gpu(void **state)
{
    struct writer *writer = start();
    struct report *report;
    for (int64_t rank = 0; rank < RANKS; rank++) {
        int64_t thread = made_thread(100 + rank, 900);
        made_rank(writer, rank);
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t at = STEP * (step + 1), ready = at + 100 + rank + (rank == FAULT ? LATE : 0);
            struct text name = { 0 };
            text_addf(&name, "ProfilerStep#%lld", (long long)step);
            torch_op(writer, made_rank_thread(rank), at - 10, at + STEP - 20, text_string(&name));
            text_free(&name);
            for (int64_t begin = at; begin + 100 <= ready; begin += 100)
                kernel(writer, rank, begin, begin + 100);
            torch_op(writer, thread, at, at + 100 + FAULT + LATE + 20, "gloo:all_reduce");
            stream_wait(writer, thread, at + 1, ready);
            torch_op(writer, thread, at + 500, at + 520, "gloo:all_reduce");
        }
    }
    struct table *table = finish_and_run(writer, &report);
    assert_int_equal(table_row_count(table), 1);
    const struct table_cell *row = table_row(table, 0);
    assert_int_equal(row[RANK].integer, FAULT);
    assert_int_equal(row[GAIN].integer, (LATE - 1) * US); /* rank 3 is the second-latest */
    assert_memory_equal(row[CAUSE].text.bytes, "more kernels", row[CAUSE].text.length);
    table_delete(table);
    report_close(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_late),
        cmocka_unit_test(nobody_is_a_straggler),
        cmocka_unit_test(one_of_two_is_late_all_the_time),
        cmocka_unit_test(causes),
        cmocka_unit_test(ranks_that_share_a_cpu),
        cmocka_unit_test(others_disturb_a_rank_now_and_then),
        cmocka_unit_test(others_disturb_a_rank_on_any_cpu),
        cmocka_unit_test(page_faults_are_found_in_few_samples),
        cmocka_unit_test(ranks_that_share_a_gpu),
        cmocka_unit_test(a_rank_is_kept_off_inside),
        cmocka_unit_test(chances),
        cmocka_unit_test(the_rule_says_it),
        cmocka_unit_test(a_late_rank_waited_for_another),
        cmocka_unit_test(both_ranks_are_in_the_chain),
        cmocka_unit_test(neighbours_come_late_with_it),
        cmocka_unit_test(steps_of_many_collectives),
        cmocka_unit_test(pauses_of_several_lengths),
        cmocka_unit_test(gloo_waits_for_its_own_gpu),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
