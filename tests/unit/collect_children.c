/* Processes that others tell of: what is told may come late, early, and in any order. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/capture/capture_new.h"
#include "collect/capture/process_end.h"
#include "collect/capture/process_watch.h"
#include "collect/collect.h"

/* Pids that the kernel never gives. */
#define PARENT 0x7fff0001
#define CHILD 0x7fff0002
#define GRANDCHILD 0x7fff0003
#define DAEMON 0x7fff0004

struct scene {
    char path[64];
    struct collector *collector;
    struct collect_options options;
    struct collect_result result;
    struct process *parent;
};

static int set_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    strcpy(scene->path, "/tmp/tacho-unit-XXXXXX");
    close(mkstemp(scene->path));
    struct capture *capture = capture_new(&scene->options, &scene->result);
    struct collector *collector = scene->collector = &capture->collector;
    scene->options.trace_fork_before_exec = 1;
    struct writer_options how = { .overwrite = 1, .workers = 1 };
    assert_int_equal(writer_open(scene->path, &how, &collector->writer, NULL), 0);
    struct clock_pair first = { .ticks = 0, .monotonic_ns = 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    assert_int_equal(clock_map_init(&collector->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    scene->parent = process_add(collector, PARENT, 0, "launch");
    scene->parent->own_pid = PARENT;
    scene->parent->is_recorded = 1;
    strcpy(scene->parent->name, "parent");
    *state = scene;
    return 0;
}

static int strike_scene(void **state)
{
    struct scene *scene = *state;
    process_table_free(scene->collector);
    children_free(scene->collector);
    writer_close(scene->collector->writer, NULL);
    clock_map_free(&scene->collector->clock);
    collect_result_free(&scene->result);
    unlink(scene->path);
    SOURCES_CALL(free, scene->collector);
    capture_free(capture_of(scene->collector));
    free(scene);
    return 0;
}

static void tell(struct scene *scene, pid_t pid, int64_t time_ns, enum wire_child what, const char *name)
{
    children_add_from_agent(scene->parent,
                            &(struct children_news){ .pid = pid, .time_ns = time_ns, .what = what, .name = name });
}

static void hear(struct scene *scene, pid_t pid, pid_t parent, int64_t time_ns, enum wire_child what)
{
    children_add(scene->collector, &(struct children_news){
                                       .pid = pid,
                                       .parent_pid = parent,
                                       .time_ns = time_ns,
                                       .what = what,
                                       .name = what == WIRE_CHILD_EXECS ? "program" : NULL,
                                   });
}

static unsigned long count_after_all(struct scene *scene)
{
    children_settle(scene->collector, 1, process_begun_at_end);
    return (unsigned long)scene->collector->processes->count;
}

static void test_late_word_on_a_recorded_child(void **state)
{
    struct scene *scene = *state;
    struct process *child = process_add(scene->collector, CHILD, PARENT, "exec");
    child->is_recorded = 1;
    process_end(child, PROCESS_LOST, 0, 150);
    tell(scene, CHILD, 100, WIRE_CHILD_EXECS, "true"); /* read at 200; the spawn began at 100 */
    children_end_from_agent(scene->parent, CHILD, 210, 3 << 8, 0);
    assert_int_equal(count_after_all(scene), 2);
    assert_int_equal(child->ending, PROCESS_EXITED);
    assert_int_equal(child->status, 3);
}

static void test_another_child_in_the_same_pid(void **state)
{
    struct scene *scene = *state;
    process_end(process_add(scene->collector, CHILD, PARENT, "exec"), PROCESS_LOST, 0, 150);
    tell(scene, CHILD, 160, WIRE_CHILD_EXECS, "true");
    assert_int_equal(count_after_all(scene), 3);
}

static void test_no_end_before_the_start(void **state)
{
    struct scene *scene = *state;
    hear(scene, CHILD, PARENT, 100, WIRE_CHILD_FORKED);
    tell(scene, CHILD, 100, WIRE_CHILD_EXECS, "true");
    children_end(scene->collector, CHILD, 90); /* by another clock */
    assert_int_equal(count_after_all(scene), 2);
    const struct process *child = process_find(scene->collector, CHILD);
    assert_true(child->start_ns == 100 && child->end_ns == 100);
}

static void test_exec_is_heard_before_the_fork(void **state)
{
    struct scene *scene = *state;
    for (int system_wide = 0; system_wide < 2; system_wide++) {
        pid_t pid = CHILD + system_wide;
        scene->collector->hears_of_strangers = system_wide;
        hear(scene, pid, 0, 110, WIRE_CHILD_EXECS);
        hear(scene, pid, PARENT, 100, WIRE_CHILD_FORKED);
        assert_int_equal(count_after_all(scene), 2 + system_wide);
        const struct process *child = process_find(scene->collector, pid);
        assert_int_equal(child->parent_pid, PARENT);
        assert_string_equal(child->name, "program");
        assert_true(child->start_ns == 100);
    }
}

static void test_grandchild_is_heard_of_before_the_child(void **state)
{
    struct scene *scene = *state;
    scene->collector->hears_of_strangers = 1;
    hear(scene, GRANDCHILD, 0, 130, WIRE_CHILD_EXECS);
    hear(scene, GRANDCHILD, CHILD, 120, WIRE_CHILD_FORKED);
    hear(scene, CHILD, 0, 110, WIRE_CHILD_EXECS);
    hear(scene, CHILD, PARENT, 100, WIRE_CHILD_FORKED);
    assert_int_equal(count_after_all(scene), 3);
}

static void test_processes_of_others(void **state)
{
    struct scene *scene = *state;
    scene->collector->hears_of_strangers = 1;
    hear(scene, CHILD, DAEMON, 100, WIRE_CHILD_FORKED);
    hear(scene, CHILD, 0, 110, WIRE_CHILD_EXECS);
    hear(scene, GRANDCHILD, CHILD, 120, WIRE_CHILD_FORKED);
    hear(scene, GRANDCHILD, 0, 130, WIRE_CHILD_EXECS);
    hear(scene, DAEMON, GRANDCHILD, 140, WIRE_CHILD_FORKED); /* pids come again: a circle */
    assert_int_equal(count_after_all(scene), 1);
}

/* The parents of a process that a daemon has started are none of the tree: here this program's own, up to init. */
static void test_parents_outside_of_the_tree(void **state)
{
    struct scene *scene = *state;
    children_add_parents(scene->collector, getppid());
    assert_int_equal(count_after_all(scene), 1);
}

static void test_parents_that_lead_to_the_tree(void **state)
{
    struct scene *scene = *state;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    children_add_parents(scene->collector, child); /* we stand for the collector */
    assert_int_equal(count_after_all(scene), 2);
    assert_int_equal(process_find(scene->collector, child)->parent_pid, getpid());
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Python tries each folder of PATH. */
static void test_exec_that_fails(void **state)
{
    struct scene *scene = *state;
    tell(scene, CHILD, 100, WIRE_CHILD_EXECS, "missing");
    tell(scene, CHILD, 110, WIRE_CHILD_STAYS, NULL);
    tell(scene, CHILD, 120, WIRE_CHILD_BORROWED, NULL);
    assert_int_equal(count_after_all(scene), 2);
    assert_string_equal(process_find(scene->collector, CHILD)->name, "parent");
    children_count_unrecorded(scene->collector);
    assert_int_equal(scene->result.unrecorded, 0);
}

/* The same of one that is known already: what its parent said of the program that it did not become holds no more. */
static void test_exec_that_fails_in_a_known_process(void **state)
{
    struct scene *scene = *state;
    struct process *child = process_add(scene->collector, CHILD, PARENT, "found");
    child->start_ns = 50;
    children_add_from_agent(scene->parent, &(struct children_news){
                                               .pid = CHILD,
                                               .time_ns = 100,
                                               .what = WIRE_CHILD_EXECS,
                                               .cause = WIRE_CAUSE_FILTERED,
                                               .name = "missing",
                                           });
    assert_int_equal(child->cause, WIRE_CAUSE_FILTERED);
    tell(scene, CHILD, 110, WIRE_CHILD_STAYS, NULL);
    assert_int_equal(child->cause, WIRE_CAUSE_UNKNOWN);
}

/* It had used 200 ns of CPU time when it called exec, and 900 ns at its end. */
static void test_cpu_time_of_a_program_that_never_attached(void **state)
{
    struct scene *scene = *state;
    struct process *first = scene->parent;
    first->exec_ns = 100;
    first->exec_cpu_ns = 200;
    first->cpu_ns = 900;
    process_end(first, PROCESS_EXITED, 0, 500);
    const struct process *next = process_find(scene->collector, PARENT);
    assert_ptr_not_equal(next, first);
    assert_int_equal(first->ending, PROCESS_EXECED);
    assert_true(first->end_ns == 100 && next->start_ns == 100 && next->end_ns == 500);
    assert_int_equal(first->cpu_ns - first->cpu_before_ns, 200);
    assert_int_equal(next->cpu_ns - next->cpu_before_ns, 700);
}

/* In a pid namespace of their own: each is found by what it calls itself, among a few. */
static void test_thousands_of_children_by_their_own_numbers(void **state)
{
    enum { CHILDREN = 20000 };
    struct scene *scene = *state;
    scene->parent->own_pid = 1;
    for (int i = 0; i < CHILDREN; i++)
        process_set_own_pid(process_add(scene->collector, CHILD + i, PARENT, "exec"), (uint32_t)(2 + i));
    const struct process_own_pid_map *map = &scene->collector->processes->by_own_pid;
    size_t longest = 0;
    for (size_t i = 0, length = 0; i < map->slot_count; i++) {
        length = map->slots[i].newest ? length + 1 : 0;
        longest = length > longest ? length : longest;
    }
    assert_in_range(longest, 1, 40);
    for (int i = 0; i < CHILDREN; i++)
        children_end_from_agent(scene->parent, 2 + i, 1000, (i % 100) << 8, 0);
    for (int i = 0; i < CHILDREN; i++) {
        const struct process *child = process_find(scene->collector, CHILD + i);
        assert_true(child->parent_said && child->wait_status == (i % 100) << 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_scene, strike_scene)
        TEST(test_late_word_on_a_recorded_child),
        TEST(test_another_child_in_the_same_pid),
        TEST(test_no_end_before_the_start),
        TEST(test_exec_is_heard_before_the_fork),
        TEST(test_grandchild_is_heard_of_before_the_child),
        TEST(test_processes_of_others),
        TEST(test_parents_outside_of_the_tree),
        TEST(test_parents_that_lead_to_the_tree),
        TEST(test_exec_that_fails),
        TEST(test_exec_that_fails_in_a_known_process),
        TEST(test_cpu_time_of_a_program_that_never_attached),
        TEST(test_thousands_of_children_by_their_own_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
