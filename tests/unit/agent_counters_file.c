/* The file that says what is counted: its lines, any number of metrics, and files that are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/core/arena_window.h"
#include "agent/counters/launch_filter.h"
#include "agent/cuda/cuda_counters.h"

/* What the agent has in place of these. */
struct agent agent;
struct cuda_counters counters;
void *window_map(int descriptor, uint64_t offset, size_t bytes)
{
    (void)descriptor, (void)offset;
    return calloc(1, bytes);
}

static char folder[] = "/tmp/agent_counters_file.XXXXXX";

static int read_file(const char *text, size_t length)
{
    char path[64];
    snprintf(path, sizeof path, "%s/counters", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
    free(counters.config.metrics);
    counters.config = (struct counters_config){ 0 };
    launch_filter_reset();
    return counters_read_config();
}

static size_t add_metrics(char *text, size_t at, int count)
{
    for (int i = 0; i < count; i++)
        at += (size_t)sprintf(text + at, "metric=sm__counter_%d.sum\n", i);
    return at;
}

static void all_metrics_are_read(void **state)
{
    static char text[1 << 20];
    (void)state;
    for (int count = 1; count <= 20000; count *= 20) {
        size_t at = (size_t)sprintf(text, "chip=GH100\npasses=1\nranges=512\nreplay=application\nimage=4\nbytes=9\n");
        at = add_metrics(text, at, count);
        at += (size_t)sprintf(text + at, "count=3\n\nabcd");
        assert_int_equal(read_file(text, at), 0);
        assert_int_equal(counters.config.metric_count, count);
        char last[64];
        snprintf(last, sizeof last, "sm__counter_%d.sum", count - 1);
        assert_string_equal(counters.config.metrics[count - 1], last);
        assert_string_equal(counters.config.chip, "GH100");
        assert_int_equal(counters.config.ranges, 3);
        assert_memory_equal(counters.config.image, "abcd", 4);
    }
}

/* Cut off anywhere, it is refused or whole. */
static void a_cut_file_is_refused(void **state)
{
    static const char whole[] = "chip=GH100\npasses=1\nranges=512\nreplay=kernel\nimage=4\nbytes=9\nmetric=a\n\nabcd";
    (void)state;
    for (size_t length = 0; length < sizeof whole - 1; length++)
        assert_int_equal(read_file(whole, length), -1);
    assert_int_equal(read_file(whole, sizeof whole - 1), 0);
    assert_int_equal(read_file("no sign\n\n", 9), -1);
    assert_int_equal(read_file("\n", 1), -1);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(agent.session, sizeof agent.session, "1:%s/arena", folder);
    return 0;
}

static int remove_folder(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/counters", folder);
    free(counters.config.metrics);
    return unlink(path) || rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_metrics_are_read),
                                        cmocka_unit_test(a_cut_file_is_refused) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
