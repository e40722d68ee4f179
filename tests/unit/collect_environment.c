/* What the program's environment becomes, which variables a report keeps, and ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/jobs/job_variables.h"
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
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        if (!job_variable_is_kept(yes[i], strlen(yes[i])))
            fail_msg("%s is not kept", yes[i]);
    for (size_t i = 0; i < COUNT_OF(no); i++)
        if (job_variable_is_kept(no[i], strlen(no[i])))
            fail_msg("%s is kept", no[i]);
}

static void expect_place(const char *block, size_t length, struct job_place expected)
{
    struct job_place found = machine_place(block, length);
    assert_string_equal(found.launcher ? found.launcher : "none", expected.launcher ? expected.launcher : "none");
    if (!expected.launcher)
        return;
    assert_int_equal(found.rank, expected.rank);
    assert_int_equal(found.local_rank, expected.local_rank);
    assert_int_equal(found.local_size, expected.local_size);
    assert_int_equal(found.world_size, expected.world_size);
    assert_string_equal(found.job, expected.job);
}
#define EXPECT_PLACE(block, launcher, rank, local, local_size, world, job)                                             \
    expect_place(block, sizeof block, (struct job_place){ launcher, rank, local, local_size, world, NULL, job, 0 })
#define EXPECT_NONE(block) EXPECT_PLACE(block, NULL, -1, -1, -1, -1, "")

/* Those of Open MPI 4.1 and MPICH 4.0 were read from their processes, the others are as they are documented. */
static void each_launcher_names_its_ranks(void **state)
{
    EXPECT_PLACE("A=b\0RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8\0LOCAL_WORLD_SIZE=2\0TORCHELASTIC_RUN_ID=42", "torchrun", 3,
                 1, 2, 8, "42");
    EXPECT_PLACE("RANK=3\0WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=none\0MASTER_ADDR=node1\0MASTER_PORT=29500", "torchrun", 3,
                 -1, -1, 8, "node1.29500");
    EXPECT_PLACE("OMPI_COMM_WORLD_SIZE=4\0OMPI_COMM_WORLD_RANK=2\0OMPI_COMM_WORLD_LOCAL_RANK=0\0"
                 "OMPI_COMM_WORLD_LOCAL_SIZE=2\0PMIX_RANK=2\0PMIX_NAMESPACE=387907585",
                 "Open MPI", 2, 0, 2, 4, "387907585");
    EXPECT_PLACE("MV2_COMM_WORLD_RANK=5\0MV2_COMM_WORLD_LOCAL_RANK=1\0MV2_COMM_WORLD_SIZE=6", "MVAPICH", 5, 1, -1, 6,
                 "");
    EXPECT_PLACE("MVP_COMM_WORLD_RANK=5\0MVP_COMM_WORLD_LOCAL_RANK=1\0MVP_COMM_WORLD_SIZE=6", "MVAPICH", 5, 1, -1, 6,
                 "");
    EXPECT_PLACE("PMI_RANK=1\0PMI_SIZE=2\0MPI_LOCALRANKID=1\0MPI_LOCALNRANKS=2", "MPICH", 1, 1, 2, 2, "");
    EXPECT_PLACE("PMI_RANK=1\0PMI_SIZE=2\0PMI_LOCAL_RANK=0\0PMI_LOCAL_SIZE=1", "MPICH", 1, 0, 1, 2, "");
    EXPECT_PLACE("JSM_NAMESPACE_RANK=9\0JSM_NAMESPACE_LOCAL_RANK=3\0JSM_NAMESPACE_SIZE=12\0LSB_JOBID=7", "jsrun", 9, 3,
                 -1, 12, "7");
    EXPECT_PLACE("FLUX_TASK_RANK=2\0FLUX_TASK_LOCAL_ID=0\0FLUX_JOB_SIZE=4\0FLUX_JOB_ID=f8", "Flux", 2, 0, -1, 4, "f8");
    EXPECT_PLACE("PALS_RANKID=6\0PALS_LOCAL_RANKID=2\0PALS_LOCAL_SIZE=4\0PMI_RANK=6\0PMI_SIZE=8\0PALS_APID=a-b", "PALS",
                 6, 2, 4, 8, "a-b");
    EXPECT_PLACE(
        "SLURM_PROCID=7\0SLURM_LOCALID=3\0SLURM_NTASKS=16\0SLURM_STEP_ID=0\0SLURM_JOB_ID=12\0SLURM_GTIDS=4,5,6,7",
        "Slurm", 7, 3, 4, 16, "12.0");
    EXPECT_PLACE("JOB_COMPLETION_INDEX=11", "Kubernetes", 11, -1, -1, -1, "");
    EXPECT_PLACE("PMIX_RANK=11\0PMIX_NAMESPACE=prterun-node1-77@1", "PMIx", 11, -1, -1, -1, "prterun-node1-77@1");
}

/* A later run may have the same id, port or allocation, and a job that restarts keeps its name. */
static void few_names_are_of_one_run(void **state)
{
#define IS_OF_ONE_RUN(block) machine_place(block, sizeof block).is_of_one_run
    assert_false(IS_OF_ONE_RUN("RANK=3\0WORLD_SIZE=8\0TORCHELASTIC_RUN_ID=42"));
    assert_false(IS_OF_ONE_RUN("RANK=3\0WORLD_SIZE=8\0MASTER_ADDR=node1\0MASTER_PORT=29500"));
    assert_false(IS_OF_ONE_RUN("JSM_NAMESPACE_RANK=9\0JSM_NAMESPACE_SIZE=12\0LSB_JOBID=7"));
    assert_false(IS_OF_ONE_RUN("PMI_RANK=1\0PMI_SIZE=2"));
    assert_true(IS_OF_ONE_RUN("JSM_NAMESPACE_RANK=9\0JSM_NAMESPACE_SIZE=12\0PMIX_NAMESPACE=n\0LSB_JOBID=7"));
    assert_true(IS_OF_ONE_RUN("SLURM_PROCID=7\0SLURM_NTASKS=16\0SLURM_STEP_ID=0\0SLURM_JOB_ID=12"));
    assert_true(IS_OF_ONE_RUN("PALS_RANKID=6\0PMI_SIZE=8\0PALS_APID=a-b"));
}

static void launchers_inside_of_launchers(void **state)
{
#define STEP "SLURM_PROCID=1\0SLURM_LOCALID=0\0SLURM_NTASKS=2\0SLURM_STEP_ID=3\0SLURM_JOB_ID=12\0"
    EXPECT_PLACE(STEP "RANK=5\0LOCAL_RANK=1\0WORLD_SIZE=8", "torchrun", 5, 1, -1, 8, "");
    /* srun --mpi=pmix: what PMIx leaves open, Slurm knows */
    EXPECT_PLACE(STEP "PMIX_RANK=1\0PMIX_NAMESPACE=slurm.pmix.12.3", "PMIx", 1, 0, -1, 2, "slurm.pmix.12.3");
    EXPECT_PLACE(STEP "PMIX_RANK=6\0PMIX_NAMESPACE=n", "PMIx", 6, -1, -1, -1, "n"); /* not the same job */
}

/* A batch script and an interactive shell of Slurm are no ranks, though they have one. */
static void variables_that_mean_no_rank(void **state)
{
    EXPECT_NONE("RANK=captain\0HOME=/\0WORLD_SIZE=2");
    EXPECT_NONE("RANK=1\0HOME=/");
    EXPECT_NONE("RANK=-1\0WORLD_SIZE=2");
    EXPECT_NONE("RANK=1x\0WORLD_SIZE=2");
    EXPECT_NONE("RANK=99999999999999999999\0WORLD_SIZE=2");
    EXPECT_NONE("RANK=2\0WORLD_SIZE=2");
    EXPECT_NONE("RANKS=1\0WORLD_SIZE=2");
    EXPECT_NONE("JOB_COMPLETION_INDEX=");
    EXPECT_NONE("SLURM_PROCID=0\0SLURM_LOCALID=0\0SLURM_NTASKS=4\0SLURM_JOB_ID=200505\0SLURM_GTIDS=0");
    EXPECT_NONE("SLURM_PROCID=0\0SLURM_LOCALID=0\0SLURM_NTASKS=4\0SLURM_JOB_ID=2\0SLURM_STEP_ID=4294967290");
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
        cmocka_unit_test(few_names_are_of_one_run),
        cmocka_unit_test(launchers_inside_of_launchers),
        cmocka_unit_test(variables_that_mean_no_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
