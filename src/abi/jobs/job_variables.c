/* Environment variables of launchers and libraries: see job_variables.h. */
#include "job_variables.h"

#include <string.h>

#include "base/array.h"

/* Names, or prefixes that end in '*'. The list must have nothing that could hold a secret: no tokens, keys, or paths of
 * credentials. */
/* clang-format off */
static const char *const kept[] = {
    "CUDA_*", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "NCCL_*", "CUBLAS_*",
    "CUDNN_*", "OMP_*", "GOMP_*", "KMP_*", "MKL_*", "OPENBLAS_NUM_THREADS", "NUMEXPR_*", "TORCH_*", "PYTORCH_*",
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TF_XLA_*", "TF_GPU_*", "TF_FORCE_*", "TF_CPP_*",
    "TF_ENABLE_*", "TF_NUM_*", "XLA_FLAGS", "MALLOC_*", "PYTHONHASHSEED", "PYTHONUNBUFFERED", "PYTHONMALLOC", "RANK",
    "LOCAL_RANK", "WORLD_SIZE",
    "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_JOB_NAME",
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NNODES", "SLURM_NODEID", "SLURM_STEP_ID",
    "SLURM_CPUS_PER_TASK", "SLURM_STEP_NUM_TASKS", "SLURM_GTIDS", "OMPI_COMM_WORLD_*", "OMPI_UNIVERSE_SIZE", "PMI_RANK",
    "PMI_SIZE", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_*",
    "MVP_COMM_WORLD_*", "PMIX_RANK", "PMIX_NAMESPACE", "JSM_NAMESPACE_*", "LSB_JOBID", "FLUX_JOB_ID", "FLUX_JOB_SIZE",
    "FLUX_JOB_NNODES", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "PALS_APID", "PALS_RANKID", "PALS_LOCAL_RANKID",
    "PALS_LOCAL_SIZE", "PALS_NODEID", "PBS_JOBID", "JOB_COMPLETION_INDEX", "UCX_*",
};
/* clang-format on */

int job_variable_is_kept(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        size_t known = strlen(kept[i]);
        int open = kept[i][known - 1] == '*';
        if (open ? length >= known - 1 && memcmp(name, kept[i], known - 1) == 0
                 : length == known && memcmp(name, kept[i], known) == 0)
            return 1;
    }
    return 0;
}
