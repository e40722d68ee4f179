/* The memory limit of a control group, in trees of files as both versions of cgroups have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/core/machine.h"

static char root[64];

/* A file below the root, with the folders that lead to it. */
static void put(const char *path, const char *content)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static int make_root(void **state)
{
    strcpy(root, "/tmp/tacho-unit-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void the_lowest_of_a_group_and_those_above_it(void **state)
{
    put("memory.max", "max\n");
    put("a/memory.max", "1000000\n");
    put("a/b/memory.max", "2000000\n");
    assert_int_equal(machine_group_limit("0::/a/b\n", root), 1000000);
    assert_int_equal(machine_group_limit("0::/\n", root), 0);
}

/* Slurm limits the job; the step and the task below it have no limit of their own. */
static void a_job_above_the_own_group_in_version_1(void **state)
{
    put("memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/slurm/uid_0/job_1/memory.limit_in_bytes", "500000\n");
    put("memory/slurm/uid_0/job_1/step_0/task_0/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(machine_group_limit("12:cpuset:/\n8:cpu,memory:/slurm/uid_0/job_1/step_0/task_0\n0::/user.slice\n",
                                         root),
                     500000);
    assert_int_equal(machine_group_limit("8:memory:/slurm\n", root), 0);
    assert_int_equal(machine_group_limit("8:memory_of_another_name:/slurm/uid_0/job_1\n", root), 0);
}

/* In a container the path is that of the host; what is mounted is the group itself. */
static void the_root_of_the_hierarchy_in_a_container(void **state)
{
    put("memory/memory.limit_in_bytes", "700000\n");
    assert_int_equal(machine_group_limit("4:memory:/docker/0123\n", root), 700000);
}

static void no_groups_and_odd_lines(void **state)
{
    assert_int_equal(machine_group_limit("", root), 0);
    assert_int_equal(machine_group_limit("nonsense\n:\n::\n\n", root), 0);
}

#define ROOT_TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST(the_lowest_of_a_group_and_those_above_it),
        ROOT_TEST(a_job_above_the_own_group_in_version_1),
        ROOT_TEST(the_root_of_the_hierarchy_in_a_container),
        ROOT_TEST(no_groups_and_odd_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
