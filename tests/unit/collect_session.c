/* The collector's socket, with connections that the test makes as agents do, and as no agent does. Each test makes the
 * rounds of reading itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "collect/capture/capture_new.h"
#include "collect/capture/drain.h"
#include "collect/capture/drain_rounds.h"
#include "collect/capture/session.h"
#include "collect/collect.h"
#include "wire/wire_chunks.h"
#include "wire/wire_cuda.h"
#include "wire/wire_osrt.h"

#define CHUNKS 64
#define PID 4242
#define SILENT 200
#define SILENT_MAX 24 /* of our own user: see session.c */
#define EXEC_TICKS 500000
#define EXEC_CPU_NS 700

struct scene {
    char path[64];
    struct collector *collector;
    struct collect_options options;
    struct collect_result result;
    struct process *process;
};

static void no_round(evutil_socket_t unused, short what, void *argument)
{
}

static void attach(struct process *process)
{
    struct wire_header *arena = mmap(NULL, wire_arena_bytes(CHUNKS, 0), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(arena, MAP_FAILED);
    arena->chunk_count = CHUNKS;
    atomic_store(&arena->free_chunks, WIRE_LIST_EMPTY);
    process_attach(process, arena, wire_arena_bytes(CHUNKS, 0), CHUNKS);
}

static int set_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct capture *capture = capture_new(&scene->options, &scene->result);
    struct collector *collector = scene->collector = &capture->collector;
    strcpy(scene->path, "/tmp/tacho-unit-XXXXXX");
    close(mkstemp(scene->path));
    collector->old_files.rlim_max = RLIM_INFINITY;
    struct writer_options how = { .overwrite = 1, .workers = 1 };
    assert_int_equal(writer_open(scene->path, &how, &collector->writer, NULL), 0);
    struct clock_pair first = { .ticks = 0, .monotonic_ns = 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    assert_int_equal(clock_map_init(&collector->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    SOURCES_CALL(begin, collector, 0);
    collector->base = event_base_new();
    capture->drain.timer = evtimer_new(collector->base, no_round, NULL);
    assert_int_equal(session_open(collector, NULL), 0);
    scene->process = process_add(collector, PID, 0, "launch");
    attach(scene->process);
    *state = scene;
    return 0;
}

static int strike_scene(void **state)
{
    struct scene *scene = *state;
    session_close(scene->collector);
    drain_finish(scene->process, 0);
    process_table_free(scene->collector);
    drain_rounds_free(scene->collector);
    event_base_free(scene->collector->base);
    writer_close(scene->collector->writer, NULL);
    clock_map_free(&scene->collector->clock);
    collect_result_free(&scene->result);
    unlink(scene->path);
    SOURCES_CALL(free, scene->collector);
    capture_free(capture_of(scene->collector));
    free(scene);
    return 0;
}

/* ---- The agent's part ------------------------------------------------------------------------------------------ */

static int connect_silently(const struct scene *scene)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t size = sizeof address;
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(getsockname(capture_of(scene->collector)->session.listener, (struct sockaddr *)&address, &size),
                     0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
    return client;
}

static void ask_for_flush(const struct scene *scene, int client)
{
    struct wire_hello hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = PID, .origin = WIRE_ORIGIN_KNOWN };
    memcpy(hello.token, capture_of(scene->collector)->session.token, sizeof hello.token);
    assert_int_equal(send(client, &hello, sizeof hello, 0), sizeof hello);
}

/* 1: a flush was answered with 0. 0: closed without an answer. -EAGAIN: still open. */
static int answer_to(int client)
{
    struct wire_welcome welcome;
    ssize_t got = recv(client, &welcome, sizeof welcome, 0);
    if (got == (ssize_t)sizeof welcome)
        assert_int_equal(welcome.status, 0);
    return got < 0 ? -errno : got > 0;
}

/* One thread, one chunk, and in it so many calls by now. */
static void record_calls(struct scene *scene, uint32_t count)
{
    struct wire_header *arena = scene->process->arena;
    struct wire_thread *slot = &wire_threads(arena)[0];
    struct wire_chunk *chunk = &wire_chunks(arena)[WIRE_NOTE_CHUNKS];
    const uint32_t words = WIRE_HEAD_WORDS + 2;
    if (!atomic_load(&arena->threads_taken)) {
        atomic_store(&chunk->next, WIRE_NONE);
        atomic_store(&slot->first_chunk[WIRE_LANE_THREAD], WIRE_NOTE_CHUNKS);
        atomic_store(&slot->first_chunk[WIRE_LANE_HANDLER], WIRE_NONE);
        atomic_store(&slot->state, WIRE_THREAD_LIVE);
        atomic_store(&arena->threads_taken, 1);
    }
    for (uint32_t i = 0; i < count; i++)
        *(struct wire_record *)(chunk->data + i * words * 8) = (struct wire_record){
            .type = WIRE_OSRT_CALL,
            .words = (uint16_t)words,
            .ticks = 2000 + i,
        };
    atomic_store(&chunk->committed, count * words * 8);
}

/* The collector takes note of all that has happened at its sockets: more than one turn, since it
 * accepts so many at a stretch. */
static void turn(const struct scene *scene)
{
    for (int i = 0; i < 20; i++)
        event_base_loop(scene->collector->base, EVLOOP_NONBLOCK);
}

static void read_all(struct scene *scene)
{
    while (drain_process(scene->process, SIZE_MAX) > 0)
        ;
    session_answer_flushes(scene->collector);
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static void silent_connections_keep_nobody_out(void **state)
{
    struct scene *scene = *state;
    int silent[SILENT], left = 0, client;
    for (int i = 0; i < SILENT; i++)
        silent[i] = connect_silently(scene);
    turn(scene);
    client = connect_silently(scene);
    ask_for_flush(scene, client);
    turn(scene);
    read_all(scene);
    assert_int_equal(answer_to(client), 1);
    for (int i = 0; i < SILENT; i++) {
        left += answer_to(silent[i]) == -EAGAIN;
        close(silent[i]);
    }
    assert_true(left <= SILENT_MAX);
    close(client);
}

static void one_that_speaks_before_it_gives_way_is_heard(void **state)
{
    struct scene *scene = *state;
    int slow = connect_silently(scene), silent[SILENT];
    turn(scene);
    for (int i = 0; i < SILENT; i++)
        silent[i] = connect_silently(scene);
    ask_for_flush(scene, slow);
    turn(scene);
    read_all(scene);
    assert_int_equal(answer_to(slow), 1);
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    close(slow);
}

static void a_stranger_without_the_token_is_turned_away(void **state)
{
    struct scene *scene = *state;
    int client = connect_silently(scene);
    capture_of(scene->collector)->session.token[0] ^= 1;
    ask_for_flush(scene, client);
    capture_of(scene->collector)->session.token[0] ^= 1;
    turn(scene);
    assert_int_equal(answer_to(client), 0);
    close(client);
}

/* Who asks while a flush is under way has the next one, and none waits for what was recorded after it asked. */
static void flushes_come_one_after_the_other(void **state)
{
    struct scene *scene = *state;
    int first = connect_silently(scene), second = connect_silently(scene);
    record_calls(scene, 1);
    ask_for_flush(scene, first);
    turn(scene);
    session_answer_flushes(scene->collector);
    assert_int_equal(answer_to(first), -EAGAIN);
    drain_process(scene->process, SIZE_MAX);
    record_calls(scene, 2);
    ask_for_flush(scene, second);
    turn(scene);
    session_answer_flushes(scene->collector);
    assert_int_equal(answer_to(first), 1);
    assert_int_equal(answer_to(second), -EAGAIN);
    read_all(scene);
    assert_int_equal(answer_to(second), 1);
    close(first);
    close(second);
}

/* The first has gone, or its time was over, before its records were read. */
static void a_flush_that_nobody_waits_for_holds_up_no_other(void **state)
{
    struct scene *scene = *state;
    int first = connect_silently(scene), second = connect_silently(scene);
    record_calls(scene, 1);
    ask_for_flush(scene, first);
    turn(scene);
    close(first);
    turn(scene);
    uint64_t goal = scene->process->readers[0].lanes[WIRE_LANE_THREAD].goal_bytes;
    record_calls(scene, 2);
    ask_for_flush(scene, second);
    turn(scene);
    assert_int_equal(scene->process->readers[0].lanes[WIRE_LANE_THREAD].goal_bytes, 2 * goal); /* that of the second */
    read_all(scene);
    assert_int_equal(answer_to(second), 1);
    close(second);
}

/* ---- A program that has left much to read ---------------------------------------------------------------------- */

/* Every chunk full of calls, in a row, and at the end the exec. */
static uint64_t fill(struct wire_header *arena)
{
    const uint32_t words = WIRE_HEAD_WORDS + 2, calls = WIRE_CHUNK_DATA / 8 / words;
    struct wire_chunk *chunks = wire_chunks(arena);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct wire_chunk *chunk = &chunks[WIRE_NOTE_CHUNKS + i];
        for (uint32_t j = 0; j < calls; j++)
            *(struct wire_record *)(chunk->data + j * words * 8) = (struct wire_record){
                .type = WIRE_OSRT_CALL,
                .words = (uint16_t)words,
                .ticks = 2000 + j,
            };
        atomic_store(&chunk->next, i + 1 < CHUNKS ? WIRE_NOTE_CHUNKS + i + 1 : WIRE_NONE);
        atomic_store(&chunk->committed, calls * words * 8);
    }
    struct wire_thread *slot = &wire_threads(arena)[0];
    struct wire_record *exec = (struct wire_record *)(chunks[WIRE_NOTE_CHUNKS + CHUNKS - 1].data +
                                                      (calls - 1) * words * 8);
    *exec = (struct wire_record){ .type = WIRE_EXEC, .words = (uint16_t)words, .ticks = EXEC_TICKS };
    exec->body[0] = EXEC_CPU_NS;
    atomic_store(&slot->first_chunk[WIRE_LANE_THREAD], WIRE_NOTE_CHUNKS);
    atomic_store(&slot->first_chunk[WIRE_LANE_HANDLER], WIRE_NONE);
    atomic_store(&slot->state, WIRE_THREAD_LIVE);
    atomic_store(&arena->threads_taken, 1);
    return (uint64_t)CHUNKS * calls - 1;
}

/* …before it became another one. That one is let in at once, and the rest is read in rounds. The end of it says when
 * exec was called: what came after, such as the work of the loader, belongs to the next program. */
static void the_next_program_in_a_process_does_not_wait(void **state)
{
    struct scene *scene = *state;
    struct collector *collector = scene->collector;
    struct process *first = process_add(collector, getpid(), 0, "launch"); /* as the kernel will name us */
    first->is_child = 1;
    process_detach(scene->process);
    attach(first);
    uint64_t calls = fill(first->arena);
    int client = connect_silently(scene);
    struct wire_hello hello = {
        .magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getpid(), .origin = WIRE_ORIGIN_EXEC
    };
    memcpy(hello.token, capture_of(collector)->session.token, sizeof hello.token);
    assert_int_equal(send(client, &hello, sizeof hello, 0), sizeof hello);
    turn(scene);
    assert_int_equal(answer_to(client), 1);
    struct process *next = process_find(collector, getpid());
    assert_ptr_not_equal(next, first);
    assert_true(next->image == 1 && next->is_child && process_has_agent(next));
    assert_int_equal(first->ending, PROCESS_RUNS); /* there is more of it than one round may take */
    int rounds = 0;
    for (; first->ending == PROCESS_RUNS; rounds++)
        drain_rounds_end_next(collector);
    assert_in_range(rounds, 1, 16);
    assert_int_equal(first->ending, PROCESS_EXECED);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_OSRT].recorded, calls);
    assert_ptr_equal(process_find(collector, getpid()), next);
    assert_int_equal(first->end_ns, clock_map_time(&collector->clock, EXEC_TICKS));
    assert_int_equal(next->start_ns, first->end_ns);
    assert_int_equal(first->cpu_ns, EXEC_CPU_NS);
    assert_int_equal(next->cpu_before_ns, EXEC_CPU_NS);
    close(client);
}

/* A child that says hello, does not wait for an answer, and ends; it was found before. */
static void a_late_hello_of_a_process_that_has_ended_is_not_another_one(void **state)
{
    struct scene *scene = *state;
    struct collector *collector = scene->collector;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct wire_hello hello = {
            .magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getpid(), .origin = WIRE_ORIGIN_FORK
        };
        memcpy(hello.token, capture_of(collector)->session.token, sizeof hello.token);
        _exit(send(connect_silently(scene), &hello, sizeof hello, 0) != (ssize_t)sizeof hello);
    }
    struct process *found = process_add(collector, child, getpid(), "found");
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    turn(scene);
    assert_ptr_equal(process_find(collector, child), found);
    assert_int_equal(collector->processes->count, 2);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_scene, strike_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(silent_connections_keep_nobody_out),
        SCENE_TEST(one_that_speaks_before_it_gives_way_is_heard),
        SCENE_TEST(a_stranger_without_the_token_is_turned_away),
        SCENE_TEST(flushes_come_one_after_the_other),
        SCENE_TEST(a_flush_that_nobody_waits_for_holds_up_no_other),
        SCENE_TEST(the_next_program_in_a_process_does_not_wait),
        SCENE_TEST(a_late_hello_of_a_process_that_has_ended_is_not_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
