/* What the program's environment becomes, which variables a report keeps, and ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/job_variables.h"
#include "collect/capture/environment.h"
#include "collect/core/machine.h"

static const char *value_in(char **environment, const char *name)
{
    const char *found = NULL;
    for (char **entry = environment; *entry; entry++)
        if (strncmp(*entry, name, strlen(name)) == 0 && (*entry)[strlen(name)] == '=') {
            assert_null(found); /* a name stands there once */
            found = *entry + strlen(name) + 1;
        }
    return found;
}

static void the_agent_comes_before_the_users_libraries(void **state)
{
    struct collect_variable own[] = { { "LD_PRELOAD", "/a.so:/b.so" }, { "X", "1" }, { "X", "2" } };
    struct collect_options options = { .environment = own, .environment_count = 3 };
    struct program_file program = { 0 };
    char **environment = environment_build(&options, &program, "/lib/agent.so", "token:name");
    assert_string_equal(value_in(environment, "LD_PRELOAD"), "/lib/agent.so:/a.so:/b.so");
    assert_string_equal(value_in(environment, "NVTX_INJECTION64_PATH"), "/lib/agent.so");
    assert_string_equal(value_in(environment, "TACHO_SESSION"), "token:name");
    assert_string_equal(value_in(environment, "X"), "2");
    assert_string_equal(value_in(environment, "PATH"), getenv("PATH"));
    environment_free(environment);
}

static void a_sanitizer_comes_before_the_agent(void **state)
{
    struct collect_options options = { .clean_environment = 1 };
    struct program_file program = { .first_library = "libasan.so.8" };
    char **environment = environment_build(&options, &program, "/lib/agent.so", "s");
    assert_string_equal(value_in(environment, "LD_PRELOAD"), "libasan.so.8::/lib/agent.so");
    environment_free(environment);
}

static void so_does_one_that_the_user_preloads(void **state)
{
    struct collect_variable own[] = { { "LD_PRELOAD", "/a.so /usr/lib/libasan.so.8:/b.so" } };
    struct collect_options options = { .environment = own, .environment_count = 1, .clean_environment = 1 };
    struct program_file program = { .first_library = "libasan.so.8" };
    char **environment = environment_build(&options, &program, "/lib/agent.so", "s");
    assert_string_equal(value_in(environment, "LD_PRELOAD"), "/usr/lib/libasan.so.8:/lib/agent.so:/a.so:/b.so");
    environment_free(environment);
}

static void cuda_loads_the_agent_where_it_is_recorded(void **state)
{
    struct collect_variable own[] = { { "CUDA_INJECTION64_PATH", "/opt/other/libtool.so" } };
    struct collect_options options = {
        .environment = own, .environment_count = 1, .clean_environment = 1, .sources = WIRE_BIT(CUDA)
    };
    struct program_file program = { 0 };
    char **environment = environment_build(&options, &program, "/lib/agent.so", "s");
    assert_string_equal(value_in(environment, "CUDA_INJECTION64_PATH"), "/lib/agent.so");
    environment_free(environment);
    options.sources = WIRE_BIT(NVTX); /* else another tool may have it */
    environment = environment_build(&options, &program, "/lib/agent.so", "s");
    assert_string_equal(value_in(environment, "CUDA_INJECTION64_PATH"), "/opt/other/libtool.so");
    environment_free(environment);
}

static void a_clean_environment_has_only_what_was_asked_for(void **state)
{
    struct collect_variable own[] = { { "A", "" } };
    struct collect_options options = {
        .environment = own, .environment_count = 1, .clean_environment = 1, .no_preload = 1
    };
    struct program_file program = { 0 };
    char **environment = environment_build(&options, &program, "/lib/agent.so", "s");
    assert_string_equal(value_in(environment, "A"), "");
    assert_null(value_in(environment, "PATH"));
    assert_null(value_in(environment, "LD_PRELOAD"));
    assert_non_null(value_in(environment, "NVTX_INJECTION64_PATH"));
    environment_free(environment);
}

static void few_variables_are_kept(void **state)
{
    static const char *const yes[] = { "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG",          "OMP_NUM_THREADS", "RANK",
                                       "SLURM_PROCID",         "OMPI_COMM_WORLD_RANK" };
    static const char *const no[] = { "HOME",     "AWS_SECRET_ACCESS_KEY", "RANKX", "NVIDIA_API_KEY",
                                      "HF_TOKEN", "WANDB_API_KEY",         "CUDA",  "TF_VAR_password" };
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!job_variable_is_kept(yes[i], strlen(yes[i])))
            fail_msg("%s is not kept", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (job_variable_is_kept(no[i], strlen(no[i])))
            fail_msg("%s is kept", no[i]);
}

static void expect_rank(const char *block, size_t length, const char *source, int64_t rank, int64_t local,
                        int64_t world)
{
    struct machine_rank found = machine_rank(block, length);
    if (!source) {
        assert_null(found.source);
        return;
    }
    assert_non_null(found.source);
    assert_string_equal(found.source, source);
    assert_int_equal(found.rank, rank);
    assert_int_equal(found.local_rank, local);
    assert_int_equal(found.world_size, world);
}
#define EXPECT_RANK(block, ...) expect_rank(block, sizeof block, __VA_ARGS__)

static void each_launcher_names_its_ranks(void **state)
{
    EXPECT_RANK("A=b\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8", "torchrun", 3, 1, 8);
    EXPECT_RANK("OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_LOCAL_RANK=0", "Open MPI", 2, 0, 4);
    EXPECT_RANK("MV2_COMM_WORLD_RANK=5\0MV2_COMM_WORLD_LOCAL_RANK=1\0MV2_COMM_WORLD_SIZE=6", "MVAPICH", 5, 1, 6);
    EXPECT_RANK("PMI_RANK=1\0PMI_SIZE=2", "MPICH", 1, -1, 2);
    EXPECT_RANK("SLURM_PROCID=7\0SLURM_LOCALID=3\0SLURM_NTASKS=16", "Slurm", 7, 3, 16);
    EXPECT_RANK("SLURM_PROCID=0\0SLURM_LOCALID=0\0SLURM_NTASKS=1\0RANK=4\0WORLD_SIZE=9", "torchrun", 4, -1, 9);
    EXPECT_RANK("RANK=captain\0HOME=/", NULL, 0, 0, 0);
    EXPECT_RANK("RANKS=1", NULL, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuda_loads_the_agent_where_it_is_recorded),
        cmocka_unit_test(the_agent_comes_before_the_users_libraries),
        cmocka_unit_test(a_sanitizer_comes_before_the_agent),
        cmocka_unit_test(so_does_one_that_the_user_preloads),
        cmocka_unit_test(a_clean_environment_has_only_what_was_asked_for),
        cmocka_unit_test(few_variables_are_kept),
        cmocka_unit_test(each_launcher_names_its_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
