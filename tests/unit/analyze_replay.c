/* The replay of small captures made by hand, with times that can be worked out on paper, in µs. */
#include "analyze/registry.h"
#include "analyze/replay/replay.h"
#include "hostile_report.h"
#include "made_cuda.h"
#include "rounds.h"

enum { OTHER = 2 };

static void context_switch(struct writer *writer, int64_t tid, int64_t time, int is_in)
{
    struct row_SCHED_EVENTS row = { 0 };

    ROW_SET(&row, SCHED_EVENTS, start, time * US);
    ROW_SET(&row, SCHED_EVENTS, isSchedIn, is_in);
    ROW_SET(&row, SCHED_EVENTS, globalTid, made_thread(1, tid));
    writer_append(writer, TABLE_SCHED_EVENTS, &row);
}

static void torch_event(struct writer *writer, int64_t tid, int64_t start, int64_t end, const char *category)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    ROW_SET(&row, TACHO_TORCH_OP, start, start * US);
    ROW_SET(&row, TACHO_TORCH_OP, end, end * US);
    ROW_SET(&row, TACHO_TORCH_OP, globalTid, made_thread(1, tid));
    ROW_SET(&row, TACHO_TORCH_OP, nameId, made_string(writer, "aten::add"));
    ROW_SET(&row, TACHO_TORCH_OP, category, made_string(writer, category));
    writer_append(writer, TABLE_TACHO_TORCH_OP, &row);
}

static void sample(struct writer *writer, int64_t tid, int64_t time)
{
    struct row_COMPOSITE_EVENTS row = { 0 };

    ROW_SET(&row, COMPOSITE_EVENTS, start, time * US);
    ROW_SET(&row, COMPOSITE_EVENTS, globalTid, made_thread(1, tid));
    writer_append(writer, TABLE_COMPOSITE_EVENTS, &row);
}

/* ---- replays --------------------------------------------------------------------------------------------------- */

static int read_replay(struct replay *replay, struct report *report, struct error *err)
{
    int code;

    *replay = (struct replay){ 0 };
    code = replay_events_read(&replay->events, report, err);
    return code != 0 ? code : replay_build(replay, report, err);
}

/* Builds the replay and checks that, unchanged, every point has its measured time. */
static void open_replay(struct replay *replay, struct writer *writer)
{
    struct report *report = finish(writer);
    struct replay_result result;
    struct error err;

    if (read_replay(replay, report, &err) != 0 || replay_run(replay, NULL, &result, &err) != 0)
        fail_msg("%s", err.text);
    report_close(report);
    for (size_t i = 0; i < replay->graph.points; i++)
        assert_int_equal(replay->times[i], replay->graph.measured[i]);
    assert_int_equal(result.replayed_ns, result.measured_ns);
}

static int all_calls(void *context, const struct replay_call *chosen)
{
    return 1;
}

static int all_work(void *context, const struct replay_work *work)
{
    return 1;
}

/* How long the changed program takes. Frees the edits. */
static int64_t replayed_us(struct replay *replay, struct replay_edits *edits)
{
    struct replay_result result;
    struct error err;
    int64_t on_path = 0;

    assert_int_equal(replay_run(replay, REPLAY_EDITS(edits), &result, &err), 0);
    for (int kind = 0; kind < REPLAY_KINDS; kind++)
        on_path += result.path_ns[kind];
    assert_int_equal(on_path + result.before_path_ns, result.replayed_ns);
    replay_edits_free(edits);
    return result.replayed_ns / US;
}

static int64_t without_waits_us(struct replay *replay)
{
    struct replay_edits edits = { 0 };
    struct error err;

    assert_int_equal(replay_drop_waits(replay, all_calls, NULL, &edits, &err), 0);
    return replayed_us(replay, &edits);
}

static int64_t with_half_work_us(struct replay *replay)
{
    struct replay_edits edits = { 0 };
    struct error err;

    assert_int_equal(replay_scale_work(replay, all_work, NULL, 0.5, &edits, &err), 0);
    return replayed_us(replay, &edits);
}

/* Cuts a share of the time of a thread, as far as it lies in a span. */
struct cut {
    const struct replay_events *events;
    int64_t tid, from_us, to_us, share;
};
static int64_t cut_time(void *context, uint32_t at, int64_t from_ns, int64_t to_ns)
{
    const struct cut *cut = context;

    if (cut->events->threads[cut->events->calls[at].thread].id != made_thread(1, cut->tid))
        return 0;
    from_ns = from_ns > cut->from_us * US ? from_ns : cut->from_us * US;
    to_ns = to_ns < cut->to_us * US ? to_ns : cut->to_us * US;
    return (to_ns - from_ns) * cut->share / 100;
}

static int64_t with_cut_us(struct replay *replay, struct cut *cut)
{
    struct replay_edits edits = { 0 };
    struct error err;

    cut->events = &replay->events;
    assert_int_equal(replay_cut_host(replay, cut_time, cut, &edits, &err), 0);
    return replayed_us(replay, &edits);
}

/* ---- streams --------------------------------------------------------------------------------------------------- */

static void work_of_a_stream_follows_on(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 110, 1, 7);
    launch(writer, 10, 111, 211, 2, 7);
    call(writer, MAIN, 20, 216, "cudaStreamSynchronize", 3);
    sync_record(writer, STREAM_SYNC, 7, 3, 0);
    open_replay(&replay, writer);
    assert_int_equal(with_half_work_us(&replay), 116); /* 10 to 60, 61 to 111, and 5 to return */
    assert_int_equal(without_waits_us(&replay), 211);  /* the work itself is not shorter */
    replay_free(&replay);
}

static void a_stream_waits_for_an_event(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 110, 1, 7);
    call(writer, MAIN, 6, 7, "cudaEventRecord", 2);
    event_record(writer, 7, 2, 40);
    call(writer, MAIN, 8, 9, "cudaStreamWaitEvent", 3);
    sync_record(writer, STREAM_WAITS, 8, 3, 40);
    launch(writer, 10, 112, 162, 4, 8);
    open_replay(&replay, writer);
    assert_int_equal(with_half_work_us(&replay), 87); /* 10 to 60, 62 to 87 */
    replay_free(&replay);
}

/* Of many streams that it waits for, the one that is done last was recorded first. */
static void a_stream_waits_for_many_events(void **state)
{
    enum { STREAMS = 20 };
    struct writer *writer = start();
    struct replay replay;

    for (int64_t i = 0; i < STREAMS; i++) {
        launch(writer, 8 * i, 8 * i + 10, i ? 8 * i + 12 : 1000, i, 7 + i);
        call(writer, MAIN, 8 * i + 6, 8 * i + 7, "cudaEventRecord", 100 + i);
        event_record(writer, 7 + i, 100 + i, 40 + i);
    }
    for (int64_t i = 0; i < STREAMS; i++) {
        call(writer, MAIN, 200 + 2 * i, 201 + 2 * i, "cudaStreamWaitEvent", 200 + i);
        sync_record(writer, STREAM_WAITS, 50, 200 + i, 40 + i);
    }
    launch(writer, 300, 1002, 1012, 300, 50);
    open_replay(&replay, writer);
    assert_int_equal(with_half_work_us(&replay), 512); /* 10 to 505, 507 to 512 */
    replay_free(&replay);
}

/* Kernels of a graph on one stream: two side by side, the first one longer, and one behind both. */
static void a_stream_forks_and_joins(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    call(writer, MAIN, 0, 5, "cudaGraphLaunch", 1);
    kernel(writer, 10, 110, 1, 7);
    kernel(writer, 20, 40, 1, 7);
    kernel(writer, 111, 161, 1, 7);
    open_replay(&replay, writer);
    assert_int_equal(with_half_work_us(&replay), 86); /* 10 to 60, 20 to 30, 61 to 86 */
    replay_free(&replay);
}

/* A stream without work passes on what it waits for. */
static void an_event_passes_on_what_its_stream_waits_for(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 110, 1, 7);
    launch(writer, 6, 12, 14, 2, 8);
    call(writer, MAIN, 12, 13, "cudaEventRecord", 3);
    event_record(writer, 7, 3, 40);
    call(writer, MAIN, 14, 15, "cudaStreamWaitEvent", 4);
    sync_record(writer, STREAM_WAITS, 8, 4, 40);
    call(writer, MAIN, 16, 17, "cudaEventRecord", 5);
    event_record(writer, 8, 5, 41);
    call(writer, MAIN, 18, 19, "cudaStreamWaitEvent", 6);
    sync_record(writer, STREAM_WAITS, 9, 6, 41);
    launch(writer, 20, 150, 200, 7, 9); /* long behind the first kernel, so that nothing but the events tells */
    open_replay(&replay, writer);
    const struct replay_work *last = &replay.events.works[2];
    assert_int_not_equal(last->events, NO_LINK);
    const struct replay_link *link = &replay.events.links[last->events];
    assert_int_equal(link->work, 1);
    assert_int_not_equal(link->next, NO_LINK);
    assert_int_equal(replay.events.links[link->next].work, 0);
    replay_free(&replay);
}

static void a_call_waits_for_an_event(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 110, 1, 7);
    call(writer, MAIN, 6, 7, "cudaEventRecord", 2);
    event_record(writer, 7, 2, 40);
    launch(writer, 10, 111, 1000, 3, 7);
    call(writer, MAIN, 20, 113, "cudaEventSynchronize", 4);
    sync_record(writer, EVENT_SYNC, 7, 4, 40);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[3].waits_for, 0); /* the first kernel, not the last */
    replay_free(&replay);
}

/* Kernels of two streams that each fill the device: the second one started when the first left room. */
static void full_kernels_share_a_device(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 1010, 1, 7);
    launch(writer, 10, 810, 1210, 2, 8);
    launch(writer, 300, 1310, 1410, 3, 7);
    call(writer, MAIN, 305, 1415, "cudaDeviceSynchronize", 4);
    open_replay(&replay, writer);
    assert_int_equal(with_half_work_us(&replay), 765); /* 10 to 510, 410 to 610, 710 to 760, and 5 to return */
    replay_free(&replay);
}

static void see_gpu(struct writer *writer, int64_t pid, int64_t number, int64_t gpu)
{
    struct row_TARGET_INFO_CUDA_DEVICE row = { 0 };

    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, gpuId, gpu);
    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, cudaId, number);
    ROW_SET(&row, TARGET_INFO_CUDA_DEVICE, pid, pid);
    writer_append(writer, TABLE_TARGET_INFO_CUDA_DEVICE, &row);
}

/* Two processes, each with a kernel that fills its GPU, one behind the other. */
static int64_t with_half_work_of_processes_us(int64_t other_number, int64_t other_gpu)
{
    struct writer *writer = start();
    struct replay replay;

    see_gpu(writer, 1, 0, 0);
    see_gpu(writer, 2, other_number, other_gpu);
    launch(writer, 0, 10, 1010, 1, 7);
    made_kernel(writer, (struct made_kernel){ 1011 * US, 2011 * US, 2, 2, other_number, 7, "k", NULL, NULL });
    open_replay(&replay, writer);
    int64_t result = with_half_work_us(&replay);
    replay_free(&replay);
    return result;
}

/* A process that sees one GPU has the number 0 for it, whichever it is. */
static void processes_number_gpus_in_their_own_way(void **state)
{
    assert_int_equal(with_half_work_of_processes_us(0, 0), 1011); /* 10 to 510, 511 to 1011 */
    assert_int_equal(with_half_work_of_processes_us(1, 0), 1011);
    assert_int_equal(with_half_work_of_processes_us(0, 1), 1511); /* nothing ties the second kernel to the first */
}

/* ---- waits ----------------------------------------------------------------------------------------------------- */

static void a_wait_that_drains_the_queue_costs_time(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 60, 1, 7);
    call(writer, MAIN, 5, 65, "cudaStreamSynchronize", 2);
    sync_record(writer, STREAM_SYNC, 7, 2, 0);
    launch(writer, 100, 110, 160, 3, 7);
    call(writer, MAIN, 105, 165, "cudaStreamSynchronize", 4);
    sync_record(writer, STREAM_SYNC, 7, 4, 0);
    open_replay(&replay, writer);
    assert_int_equal(without_waits_us(&replay), 111); /* 10 to 60, and 1 later 61 to 111 */
    replay_free(&replay);
}

static void a_wait_while_the_gpu_is_busy_costs_nothing(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 1010, 1, 7);
    launch(writer, 10, 20, 40, 2, 8);
    call(writer, MAIN, 16, 39, "cudaStreamSynchronize", 3); /* the clocks differ by 1 */
    sync_record(writer, STREAM_SYNC, 8, 3, 0);
    launch(writer, 60, 1011, 1100, 4, 7);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[2].waits_for, 2);
    assert_int_equal(without_waits_us(&replay), 1100);
    replay_free(&replay);
}

/* The stream is empty when the thread gets to its wait. With less time on the CPU it would not be. */
static void a_wait_for_nothing_may_become_one(void **state)
{
    struct cut cut = { NULL, MAIN, 0, 200, 100 };
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 60, 1, 7);
    call(writer, MAIN, 100, 103, "cudaStreamSynchronize", 2);
    sync_record(writer, STREAM_SYNC, 7, 2, 0);
    launch(writer, 103, 113, 163, 3, 7);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[1].wait, REPLAY_READY);
    assert_int_equal(with_cut_us(&replay, &cut), 125); /* back at 65, and from there 10 and 50 */
    replay_free(&replay);
}

/* An asynchronous copy makes its call wait if its memory is pageable; a launch does not wait, however short its
 * kernel. */
static void copies_wait_if_memory_is_pageable(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    call(writer, MAIN, 0, 100, "cudaMemcpyAsync", 1);
    made_copy(writer, (struct made_memory){ 10 * US, 98 * US, 1, 1000, 2, 2, 0 });
    call(writer, MAIN, 200, 300, "cudaMemcpyAsync", 2);
    made_copy(writer, (struct made_memory){ 210 * US, 298 * US, 2, 1000, 2, 2, 1 });
    call(writer, MAIN, 400, 500, "cudaMemcpy", 3);
    made_copy(writer, (struct made_memory){ 410 * US, 530 * US, 3, 1000, 1, 0, 2 }); /* staged, then copied */
    call(writer, MAIN, 600, 700, "cudaLaunchKernel", 4);
    kernel(writer, 610, 620, 4, 7);
    open_replay(&replay, writer);
    const struct replay_call *calls = replay.events.calls;
    assert_int_equal(calls[0].waits_for, 0);
    assert_int_equal(calls[1].waits_for, NO_WORK);
    assert_int_equal(calls[2].waits_for, 2);
    assert_int_equal(calls[3].waits_for, NO_WORK);
    replay_free(&replay);
}

static int is_first_wait(void *context, const struct replay_call *chosen)
{
    return chosen->start_ns == 5 * US;
}

/* The time of two copies on two streams, of 100 µs each, without the wait between them. */
static int64_t two_copies_us(int64_t second_kind)
{
    enum { TO_DEVICE = 1, PINNED = 1, DEVICE = 2 };
    struct replay_edits edits = { 0 };
    struct writer *writer = start();
    struct replay replay;
    struct error err;

    call(writer, MAIN, 0, 5, "cudaMemcpyAsync", 1);
    made_copy(writer, (struct made_memory){ 10 * US, 110 * US, 1, 1000, TO_DEVICE, PINNED, DEVICE });
    call(writer, MAIN, 5, 115, "cudaStreamSynchronize", 2);
    sync_record(writer, STREAM_SYNC, 7, 2, 0);
    call(writer, MAIN, 115, 120, "cudaMemcpyAsync", 3);
    made_copy_on(writer, (struct made_memory){ 125 * US, 225 * US, 3, 1000, second_kind, PINNED, DEVICE }, 8);
    open_replay(&replay, writer);
    assert_int_equal(replay_drop_waits(&replay, is_first_wait, NULL, &edits, &err), 0);
    int64_t took_us = replayed_us(&replay, &edits);
    replay_free(&replay);
    return took_us;
}

/* Both ways at once: the second call comes at 8, because a wait takes 3, and its copy 10 later. One way: the second
 * copy comes 1 behind the first, which is what a gap is taken to be if there is none. */
static void copies_of_one_direction_queue(void **state)
{
    enum { TO_DEVICE = 1, FROM_DEVICE = 2 };

    assert_int_equal(two_copies_us(FROM_DEVICE), 8 + 10 + 100);
    assert_int_equal(two_copies_us(TO_DEVICE), 110 + 1 + 100);
}

/* Copies and fills on the GPU alone are like kernels: their calls return at once, even if it took a while. */
static void work_on_device_memory_does_not_hold_up_its_call(void **state)
{
    enum { DEVICE = 2, PINNED = 1, DEVICE_TO_DEVICE = 8, TO_DEVICE = 1 };
    struct writer *writer = start();
    struct replay replay;

    call(writer, MAIN, 0, 100, "cudaMemcpy", 1);
    made_copy(writer, (struct made_memory){ 10 * US, 98 * US, 1, 1000, DEVICE_TO_DEVICE, DEVICE, DEVICE });
    call(writer, MAIN, 200, 300, "cudaMemset", 2);
    made_fill(writer, (struct made_memory){ 210 * US, 298 * US, 2, 1000, DEVICE, 0, 0 });
    call(writer, MAIN, 400, 500, "cudaMemset", 3);
    made_fill(writer, (struct made_memory){ 410 * US, 498 * US, 3, 1000, PINNED, 0, 0 });
    call(writer, MAIN, 600, 700, "cudaMemcpy", 4); /* of pinned memory; nothing is staged */
    made_copy(writer, (struct made_memory){ 610 * US, 730 * US, 4, 1000, TO_DEVICE, PINNED, DEVICE });
    open_replay(&replay, writer);
    const struct replay_call *calls = replay.events.calls;
    assert_int_equal(calls[0].wait, REPLAY_NO_WAIT);
    assert_int_equal(calls[1].wait, REPLAY_NO_WAIT);
    assert_int_equal(calls[2].wait, REPLAY_WAITED);
    assert_int_equal(calls[3].wait, REPLAY_NO_WAIT);
    replay_free(&replay);
}

static int is_at_305(void *context, const struct replay_call *chosen)
{
    return chosen->start_ns == 305 * US;
}

/* Other calls return 5 µs after their work, so 85 of the 90 behind the fourth kernel are cudaFree's own. */
static void a_call_that_waits_keeps_its_own_work(void **state)
{
    struct replay_edits edits = { 0 };
    struct writer *writer = start();
    struct replay replay;
    struct error err;

    for (int64_t i = 0; i < 3; i++) {
        launch(writer, 100 * i, 100 * i + 10, 100 * i + 50, 2 * i, 7);
        call(writer, MAIN, 100 * i + 5, 100 * i + 55, "cudaDeviceSynchronize", 2 * i + 1);
    }
    launch(writer, 300, 310, 360, 10, 7);
    call(writer, MAIN, 305, 450, "cudaFree", 11);
    launch(writer, 450, 460, 510, 12, 7);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.return_ns, 5 * US);
    assert_int_equal(replay_drop_waits(&replay, is_at_305, NULL, &edits, &err), 0);
    assert_int_equal(replayed_us(&replay, &edits),
                     450); /* launched at 305 + 85 = 390; the kernel runs from 400 to 450 */
    replay_free(&replay);
}

/* A launch every 5 µs reaches the GPU after 7, so that kernels of 1 µs are 4 µs apart. Nobody waits in a queue: with
 * launches that take no time the kernels follow each other after the usual 1 µs, not after 4. */
static void a_pause_between_launches_is_no_gap(void **state)
{
    enum { LAUNCHES = 20 };
    struct replay_edits edits = { 0 };
    struct writer *writer = start();
    struct replay replay;

    for (int64_t i = 0; i < LAUNCHES; i++) {
        call(writer, MAIN, 5 * i, 5 * i + 4, "cudaLaunchKernel", i);
        kernel(writer, 5 * i + 7, 5 * i + 8, i, 7);
    }
    open_replay(&replay, writer);
    assert_int_equal(replay.typical_ns[TYPICAL_LAUNCH][REPLAY_KERNEL], 7 * US);
    assert_int_equal(replay.typical_ns[TYPICAL_GAP][REPLAY_KERNEL], 1 * US);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        replay_edit_cut(&edits, replay_edge_to(&replay, replay_call_end(i), REPLAY_CALL), 4 * US);
        replay_edit_cut(&edits, replay_edge_to(&replay, replay_call_start(i), REPLAY_HOST), 1 * US);
    }
    assert_int_equal(replayed_us(&replay, &edits), 7 + LAUNCHES + (LAUNCHES - 1));
    replay_free(&replay);
}

/* Kernels of 10 µs that are launched every 2: each follows the one before it after 3. */
static void queued_work_shows_the_gap(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    for (int64_t i = 0; i < 20; i++) {
        call(writer, MAIN, 2 * i, 2 * i + 1, "cudaLaunchKernel", i);
        kernel(writer, 7 + 13 * i, 17 + 13 * i, i, 7);
    }
    open_replay(&replay, writer);
    assert_int_equal(replay.typical_ns[TYPICAL_GAP][REPLAY_KERNEL], 3 * US);
    replay_free(&replay);
}

/* A queue of 551 kernels of 10 µs is full: a launch of 1 µs takes 100, until one is done. */
static void a_launch_waits_for_a_full_queue(void **state)
{
    enum { LAUNCHES = 700 };
    struct replay_edits edits = { 0 };
    struct writer *writer = start();
    struct replay replay;
    struct replay_result result;
    struct error err;

    for (int64_t i = 0; i <= LAUNCHES; i++) {
        call(writer, MAIN, 2 * i, 2 * i + (i < LAUNCHES ? 1 : 100), "cudaLaunchKernel", i);
        kernel(writer, 10 + 10 * i, 20 + 10 * i, i, 7);
    }
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[LAUNCHES].waits_for, 148); /* it ended at 1500 */
    assert_int_equal(replay.events.calls[LAUNCHES].wait, REPLAY_QUEUED);
    assert_int_equal(replay_drop_waits(&replay, all_calls, NULL, &edits, &err), 0);
    assert_int_equal(replay_scale_work(&replay, all_work, NULL, 0.95, &edits, &err), 0);
    assert_int_equal(replay_run(&replay, REPLAY_EDITS(&edits), &result, &err), 0);
    assert_int_equal(replay_replayed(&replay, replay_call_end(LAUNCHES)),
                     1425500); /* 10 + 149 × 9.5; that is no wait */
    replay_edits_free(&edits);
    replay_free(&replay);
}

/* A kernel of 70 µs is launched all the time into a queue that holds 600 of them, so that nearly all launches wait.
 * With half of the time for each, the program takes half of the time: its launches are no bottleneck. */
static void launches_that_all_wait_for_room_are_no_bottleneck(void **state)
{
    enum { LAUNCHES = 3000, QUEUE = 600, RUN = 70 };
    struct replay_edits edits = { 0 };
    struct writer *writer = start();
    struct replay replay;
    struct error err;

    for (int64_t i = 0, at = 0; i < LAUNCHES; i++) {
        int64_t room = 10 + RUN * (i - QUEUE + 1) + 4, end = i >= QUEUE && room > at + 3 ? room : at + 3;
        call(writer, MAIN, at, end, "cudaLaunchKernel", i);
        kernel(writer, 10 + RUN * i, 10 + RUN * (i + 1), i, 7);
        at = end + 1;
    }
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[LAUNCHES - 1].wait, REPLAY_QUEUED);
    assert_int_equal(replay.events.call_ns[replay.events.calls[0].name], 3 * US);
    assert_int_equal(replay_scale_work(&replay, all_work, NULL, 0.5, &edits, &err), 0);
    assert_int_equal(replayed_us(&replay, &edits), 10 + LAUNCHES * RUN / 2);
    replay_free(&replay);
}

/* Launches that take long by themselves are none that wait, although as much work is queued: kernels end at any time
 * while one of them runs. */
static void long_launches_into_a_long_queue_take_their_time(void **state)
{
    enum { LAUNCHES = 3000, LAUNCH = 50, RUN = 70 };
    struct replay_edits edits = { 0 };
    struct writer *writer = start();
    struct replay replay;
    struct error err;

    for (int64_t i = 0; i < LAUNCHES; i++) {
        call(writer, MAIN, LAUNCH * i, LAUNCH * (i + 1), "cudaLaunchKernel", i);
        kernel(writer, LAUNCH + RUN * i, LAUNCH + RUN * (i + 1), i, 7);
    }
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[LAUNCHES - 1].wait, REPLAY_NO_WAIT);
    assert_int_equal(replay_scale_work(&replay, all_work, NULL, 0.5, &edits, &err), 0);
    assert_int_equal(replayed_us(&replay, &edits), LAUNCHES * LAUNCH); /* the last kernel ends with its launch */
    replay_free(&replay);
}

/* ---- threads and steps ----------------------------------------------------------------------------------------- */

static void os_wait_of_main(struct writer *writer)
{
    os_call(writer, MAIN, 420, 990, "pthread_cond_wait");
}

static void os_wait_of_other(struct writer *writer)
{
    os_call(writer, OTHER, 420, 990, "pthread_cond_wait");
}

static void short_os_call(struct writer *writer)
{
    os_call(writer, OTHER, 1, 2, "read");
}

static void os_wait_too_late(struct writer *writer)
{
    os_call(writer, MAIN, 600, 990, "pthread_cond_wait");
}

static void sleep_of_main(struct writer *writer)
{
    os_call(writer, MAIN, 100, 990, "clock_nanosleep");
}

static void switches_of_main(struct writer *writer)
{
    context_switch(writer, MAIN, 100, 0);
    context_switch(writer, MAIN, 990, 1);
}

static void switches_of_other(struct writer *writer)
{
    context_switch(writer, OTHER, 500, 0);
    context_switch(writer, OTHER, 990, 1);
}

static void operator_of_main(struct writer *writer)
{
    torch_event(writer, MAIN, 50, 950, "cpu_op");
}

static void annotation_of_main(struct writer *writer)
{
    torch_event(writer, MAIN, 50, 950, "user_annotation");
}

static void annotations_around(struct writer *writer)
{
    torch_event(writer, MAIN, 50, 350, "user_annotation");
    torch_event(writer, MAIN, 450, 950, "user_annotation");
}

static void samples_of_main(struct writer *writer)
{
    sample(writer, MAIN, 100);
    sample(writer, MAIN, 900);
}

static void sample_after(struct writer *writer)
{
    sample(writer, MAIN, 900);
}

/* The main thread launches, pauses while another thread launches twice, and goes on. How long does it take if the other
 * thread needs no time between its calls? That depends on what the main thread does in its pause, as far as records
 * tell. */
static int64_t with_fast_thread_us(void (*record)(struct writer *writer))
{
    struct cut cut = { NULL, OTHER, 0, 2000, 100 };
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 30, 1, 7);
    call(writer, OTHER, 300, 305, "cudaLaunchKernel", 2);
    kernel(writer, 310, 330, 2, 7);
    call(writer, OTHER, 400, 405, "cudaLaunchKernel", 3);
    kernel(writer, 410, 430, 3, 7);
    launch(writer, 1000, 1010, 1030, 4, 7);
    if (record)
        record(writer);
    open_replay(&replay, writer);
    int64_t result = with_cut_us(&replay, &cut);
    replay_free(&replay);
    return result;
}

static void threads_hand_over(void **state)
{
    assert_int_equal(with_fast_thread_us(NULL), 640);               /* 295 and 95 earlier */
    assert_int_equal(with_fast_thread_us(os_wait_of_main), 640);
    assert_int_equal(with_fast_thread_us(switches_of_main), 640);
    assert_int_equal(with_fast_thread_us(annotation_of_main), 675); /* it ran from 5 to 50, and then for 595 */
    assert_int_equal(with_fast_thread_us(sample_after), 640);       /* it may have waited before */
}

static void a_thread_that_did_not_wait_was_not_handed_over_to(void **state)
{
    assert_int_equal(with_fast_thread_us(os_wait_of_other), 1030);
    assert_int_equal(with_fast_thread_us(short_os_call), 1030); /* a wait would have been recorded */
    assert_int_equal(with_fast_thread_us(os_wait_too_late), 1030);
    assert_int_equal(with_fast_thread_us(sleep_of_main), 1030);
    assert_int_equal(with_fast_thread_us(switches_of_other), 1030);
    assert_int_equal(with_fast_thread_us(operator_of_main), 1030);
    assert_int_equal(with_fast_thread_us(annotations_around), 1030);
    assert_int_equal(with_fast_thread_us(samples_of_main), 1030);
}

/* The main thread computes from 5 to 300 and waits until 1000. The other thread is done at 405, or in no time. */
static void own_time_of_a_thread_remains(void **state)
{
    struct cut cut = { NULL, OTHER, 0, 2000, 100 };
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 30, 1, 7);
    call(writer, OTHER, 100, 105, "cudaLaunchKernel", 2);
    call(writer, OTHER, 900, 905, "cudaLaunchKernel", 3);
    os_call(writer, MAIN, 300, 990, "pthread_cond_wait");
    launch(writer, 1000, 1010, 1030, 4, 7);
    open_replay(&replay, writer);
    assert_int_equal(with_cut_us(&replay, &cut), 340); /* 5 + 295 + 10, and 30 to the end of the kernel */
    replay_free(&replay);
}

/* The first call of a thread comes after whatever another thread did, but not because of it. */
static void a_new_thread_is_not_tied_to_a_busy_one(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 30, 1, 7);
    launch(writer, 20, 40, 60, 2, 7);
    call(writer, OTHER, 30, 31, "cudaEventQuery", 3);
    launch(writer, 40, 70, 90, 4, 7);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.threads[1].id, made_thread(1, OTHER));
    assert_int_equal(replay.events.calls[replay.events.threads[1].first].handover, NO_HANDOVER);
    replay_free(&replay);
}

static void only_the_span_of_a_thread_is_changed(void **state)
{
    struct cut cut = { NULL, MAIN, 50, 70, 50 };
    struct writer *writer = start();
    struct replay replay;

    launch(writer, 0, 10, 30, 1, 7);
    launch(writer, 100, 110, 130, 2, 7);
    open_replay(&replay, writer);
    assert_int_equal(with_cut_us(&replay, &cut), 120);
    replay_free(&replay);
}

/* Three steps; the work of each ends after it. */
static void steps_end_with_their_work(void **state)
{
    struct step list[] = { { made_thread(1, 0), 0, 100 * US, .number = 0, .name = -1 },
                           { made_thread(1, 0), 100 * US, 200 * US, .number = 1, .name = -1 },
                           { made_thread(1, 0), 200 * US, 300 * US, .number = 2, .name = -1 } };
    struct step_process own = { made_thread(1, 0), 0, 3 };
    struct steps steps = { .list = list, .count = 3, .processes = &own, .process_count = 1, .own_count = 1 };
    struct replay_step_times times;
    struct writer *writer = start();
    struct replay replay;
    struct error err;

    launch(writer, 0, 10, 110, 1, 7);
    launch(writer, 100, 111, 211, 2, 7);
    launch(writer, 200, 212, 312, 3, 7);
    open_replay(&replay, writer);
    assert_int_equal(replay_steps(&replay, &steps, &times, &err), 0);
    assert_int_equal(times.steps, 3);
    assert_int_equal(times.measured_ns, 101 * US); /* (312 − 110) / 2 */
    assert_int_equal(times.replayed_ns, 101 * US);
    list[0].is_warm_up = list[1].is_warm_up = 1;
    assert_int_equal(replay_steps(&replay, &steps, &times, &err), 0);
    assert_int_equal(times.steps, 1);
    assert_int_equal(times.measured_ns, 101 * US); /* 312 − 211 */
    list[0].is_warm_up = list[1].is_warm_up = 0;
    with_half_work_us(&replay);
    assert_int_equal(replay_steps(&replay, &steps, &times, &err), 0);
    assert_int_equal(times.replayed_ns, 100 * US); /* the CPU takes as long as before: 100, 200, 300 */
    replay_free(&replay);
}

/* Two threads: the later of their last calls moves the end of a step, and a step without calls ends with the one before
 * it. */
static void steps_end_with_the_last_of_their_threads(void **state)
{
    struct step list[] = { { .process = made_thread(1, 0), .start_ns = 0, .end_ns = 100 * US },
                           { .process = made_thread(1, 0), .start_ns = 100 * US, .end_ns = 200 * US },
                           { .process = made_thread(1, 0), .start_ns = 200 * US, .end_ns = 300 * US } };
    struct step_process own = { made_thread(1, 0), 0, 3 };
    struct steps steps = { .list = list, .count = 3, .processes = &own, .process_count = 1, .own_count = 1 };
    struct cut cut = { NULL, MAIN, 50, 70, 100 };
    struct replay_step_times times;
    struct writer *writer = start();
    struct replay replay;
    struct error err;

    call(writer, OTHER, 20, 30, "cudaEventQuery", 1);
    call(writer, MAIN, 40, 50, "cudaEventQuery", 2);
    call(writer, OTHER, 60, 65, "cudaEventQuery", 3);
    call(writer, MAIN, 90, 100, "cudaEventQuery",
         4); /* ends with the first step, and begins 20 earlier without 50 to 70 */
    call(writer, OTHER, 110, 120, "cudaEventQuery", 5); /* the last of the second step; nothing moves it */
    open_replay(&replay, writer);
    with_cut_us(&replay, &cut);
    assert_int_equal(replay_steps(&replay, &steps, &times, &err), 0);
    assert_int_equal(times.measured_ns, 100 * US);
    assert_int_equal(times.replayed_ns, 110 * US); /* complete at 80, 200 and 300 */
    replay_free(&replay);
}

/* Edits of one edge are made one after the other, and leave no trace. */
static void edits_are_made_in_order(void **state)
{
    struct replay_edits half = { 0 }, less = { 0 };
    struct writer *writer = start();
    struct replay replay;
    struct replay_result result;
    struct error err;

    launch(writer, 0, 10, 110, 1, 7);
    open_replay(&replay, writer);
    assert_int_equal(replay_scale_work(&replay, all_work, NULL, 0.5, &half, &err), 0);
    assert_int_equal(replay_edit_cut(&less, replay_edge_to(&replay, replay_work_end(&replay, 0), REPLAY_RUN), 20 * US),
                     0);
    assert_int_equal(replay_run(&replay, REPLAY_EDITS(&half, &half, &less), &result, &err), 0);
    assert_int_equal(result.replayed_ns, 15 * US); /* 10, and 100 / 2 / 2 − 20 */
    assert_int_equal(replay_run(&replay, REPLAY_EDITS(&less, &half), &result, &err), 0);
    assert_int_equal(result.replayed_ns, 50 * US); /* 10, and (100 − 20) / 2 */
    assert_int_equal(replay_run(&replay, NULL, &result, &err), 0);
    assert_int_equal(result.replayed_ns, 110 * US);
    replay_edits_free(&half);
    replay_edits_free(&less);
    replay_free(&replay);
}

/* ---- odd captures ---------------------------------------------------------------------------------------------- */

/* Driver calls inside of runtime calls, the same call twice, and calls that overlap by rounding. */
static void only_outermost_calls_count(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    call(writer, MAIN, 1, 4, "cuLaunchKernel", 2);
    call(writer, MAIN, 0, 5, "cudaLaunchKernel", 1);
    call(writer, MAIN, 10, 14, "cuLaunchKernel", 4);
    call(writer, MAIN, 10, 15, "cudaLaunchKernel", 3);
    call(writer, MAIN, 10, 15, "cudaLaunchKernel", 3);
    call(writer, MAIN, 14, 20, "cudaLaunchKernel", 5);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.call_count, 3);
    assert_int_equal(replay.events.calls[1].end_ns, 15 * US);
    assert_int_equal(replay.events.calls[2].start_ns, 15 * US);
    replay_free(&replay);
}

/* A kernel takes longer while pages move; the moves have no call, and nothing waits for them. */
static void migrations_are_no_work(void **state)
{
    enum { UNIFIED_TO_DEVICE = 11, HOST_TO_DEVICE = 1 };
    struct writer *writer = start();
    struct replay replay;

    made_copy(writer, (struct made_memory){ 10 * US, 20 * US, NO_ID, 1, UNIFIED_TO_DEVICE, NO_ID, NO_ID });
    made_copy(writer, (struct made_memory){ 30 * US, 40 * US, NO_ID, 1, HOST_TO_DEVICE, NO_ID, NO_ID });
    open_replay(&replay, writer);
    assert_int_equal(replay.events.work_count, 1);
    assert_int_equal(replay.events.works[0].start_ns, 30 * US);
    replay_free(&replay);
}

/* The calls that launched the first kernels may not have been recorded. */
static void work_without_a_call_is_waited_for(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    kernel(writer, 10, 60, 1, 7);
    kernel(writer, 200, 260, 2, 7);
    call(writer, MAIN, 20, 65, "cudaDeviceSynchronize", 3);
    open_replay(&replay, writer);
    assert_int_equal(replay.events.calls[0].wait, REPLAY_WAITED);
    assert_int_equal(replay.events.calls[0].waits_for, 0);
    replay_free(&replay);
}

/* All at one time: only the edges tell what comes first. */
static void events_without_length(void **state)
{
    struct writer *writer = start();
    struct replay replay;

    for (int64_t i = 0; i < 20; i++) {
        call(writer, i % 2 ? MAIN : OTHER, 7, 7, i % 3 ? "cudaLaunchKernel" : "cudaStreamSynchronize", i);
        kernel(writer, 7, 7, 19 - i, 7 + i % 3);
    }
    open_replay(&replay, writer);
    replay_free(&replay);
}

static void nothing_to_replay(void **state)
{
    struct replay replay;

    open_replay(&replay, start());
    assert_int_equal(without_waits_us(&replay), 0);
    replay_free(&replay);
}

/* Whatever calls and work a capture holds, its unchanged replay has the measured times. */
static void any_capture_replays_to_itself(void **state)
{
    static const char *const names[] = { "cudaLaunchKernel", "cudaStreamSynchronize", "cudaMemcpyAsync", "cudaFree",
                                         "cudaEventRecord",  "cudaStreamWaitEvent",   "cudaMemcpy" };

    for (uint16_t seed = 0; seed < 200; seed += (uint16_t)rounds_step(200)) {
        struct hostile chance = hostile_of((const uint8_t *)&seed, sizeof seed);
        struct writer *writer = start();
        struct replay replay;
        for (int64_t id = 0; id < 100; id++) {
            int64_t at = (int64_t)hostile_below(&chance, 3000), end = at + (int64_t)hostile_below(&chance, 60);
            int64_t begun = at + (int64_t)hostile_below(&chance, 300) - 20, stream = (int64_t)hostile_below(&chance, 3);
            call(writer, (int64_t)hostile_below(&chance, 3), at, end, names[hostile_below(&chance, 7)], id);
            if (hostile_below(&chance, 3))
                kernel(writer, begun, begun + (int64_t)hostile_below(&chance, 200), id, stream);
            else
                made_copy(writer, (struct made_memory){ begun * US, (begun + 40) * US, id, 1, 1, id % 3, 2 });
            sync_record(writer, (int64_t)hostile_below(&chance, 5), stream, id, (int64_t)hostile_below(&chance, 9));
            event_record(writer, stream, id, (int64_t)hostile_below(&chance, 9));
        }
        open_replay(&replay, writer);
        replay_free(&replay);
    }
}

static void hostile_reports_are_harmless(void **state)
{
    for (uint16_t seed = 0; seed < 300; seed += (uint16_t)rounds_step(300)) {
        struct hostile hostile = hostile_of((const uint8_t *)&seed, sizeof seed);
        struct writer *writer = start();
        struct replay replay;
        struct replay_edits edits = { 0 };
        struct replay_result result;
        struct table *table;
        struct error err;
        hostile_fill(&hostile, writer, 60);
        struct report *report = finish(writer);
        assert_int_equal(read_replay(&replay, report, &err), 0);
        assert_int_equal(replay_run(&replay, NULL, &result, &err), 0);
        assert_int_equal(replay_drop_waits(&replay, all_calls, NULL, &edits, &err), 0);
        assert_int_equal(replay_scale_work(&replay, all_work, NULL, 1e300, &edits, &err), 0);
        assert_int_equal(replay_run(&replay, REPLAY_EDITS(&edits), &result, &err), 0);
        replay_edits_free(&edits);
        replay_free(&replay);
        if (analysis_run(&analysis_advice_sum, report, &(struct analysis_request){ 0 }, &table, &err) == 0)
            table_delete(table);
        report_close(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_a_stream_follows_on),
        cmocka_unit_test(a_stream_waits_for_an_event),
        cmocka_unit_test(a_stream_waits_for_many_events),
        cmocka_unit_test(a_stream_forks_and_joins),
        cmocka_unit_test(an_event_passes_on_what_its_stream_waits_for),
        cmocka_unit_test(a_call_waits_for_an_event),
        cmocka_unit_test(full_kernels_share_a_device),
        cmocka_unit_test(processes_number_gpus_in_their_own_way),
        cmocka_unit_test(a_wait_that_drains_the_queue_costs_time),
        cmocka_unit_test(a_wait_while_the_gpu_is_busy_costs_nothing),
        cmocka_unit_test(a_wait_for_nothing_may_become_one),
        cmocka_unit_test(copies_wait_if_memory_is_pageable),
        cmocka_unit_test(copies_of_one_direction_queue),
        cmocka_unit_test(work_on_device_memory_does_not_hold_up_its_call),
        cmocka_unit_test(a_call_that_waits_keeps_its_own_work),
        cmocka_unit_test(a_pause_between_launches_is_no_gap),
        cmocka_unit_test(queued_work_shows_the_gap),
        cmocka_unit_test(a_launch_waits_for_a_full_queue),
        cmocka_unit_test(launches_that_all_wait_for_room_are_no_bottleneck),
        cmocka_unit_test(long_launches_into_a_long_queue_take_their_time),
        cmocka_unit_test(threads_hand_over),
        cmocka_unit_test(a_thread_that_did_not_wait_was_not_handed_over_to),
        cmocka_unit_test(own_time_of_a_thread_remains),
        cmocka_unit_test(a_new_thread_is_not_tied_to_a_busy_one),
        cmocka_unit_test(only_the_span_of_a_thread_is_changed),
        cmocka_unit_test(steps_end_with_their_work),
        cmocka_unit_test(steps_end_with_the_last_of_their_threads),
        cmocka_unit_test(edits_are_made_in_order),
        cmocka_unit_test(only_outermost_calls_count),
        cmocka_unit_test(migrations_are_no_work),
        cmocka_unit_test(work_without_a_call_is_waited_for),
        cmocka_unit_test(events_without_length),
        cmocka_unit_test(nothing_to_replay),
        cmocka_unit_test(any_capture_replays_to_itself),
        cmocka_unit_test(hostile_reports_are_harmless),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
