/* What the names of events say: which are communication, and how long the name of an operator is. The names are those
 * that NCCL, NVSHMEM, MPI and PyTorch give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/model/names/communication.h"
#include "analyze/model/names/operator_text.h"
#include "base/array.h"

static void kernels_of_communication(void **state)
{
    static const struct {
        const char *name;
        enum communication library;
    } kernels[] = {
        { "ncclDevKernel_AllReduce_Sum_f32_RING_LL", COMMUNICATION_NCCL },
        { "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", COMMUNICATION_NCCL },
        { "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", COMMUNICATION_NCCL },
        { "void ncclKernel_Broadcast<int>(ncclWorkElem)", COMMUNICATION_NCCL },
        { "ncclSymDevKernel_AllGather_LL", COMMUNICATION_NCCL },
        { "nvshmemi_barrier_kernel", COMMUNICATION_NVSHMEM },
        { "void nvshmemi_transfer<8>(int)", COMMUNICATION_NVSHMEM },
        { "void count_nccl_bytes(float*)", COMMUNICATION_NONE },
        { "sgemm_128x64_nn", COMMUNICATION_NONE },
        { "nc", COMMUNICATION_NONE },
        { "void ", COMMUNICATION_NONE },
        { "", COMMUNICATION_NONE },
    };

    for (size_t i = 0; i < COUNT_OF(kernels); i++)
        if (communication_of_kernel(kernels[i].name) != kernels[i].library)
            fail_msg("%s: %d, not %d", kernels[i].name, communication_of_kernel(kernels[i].name), kernels[i].library);
}

static void ranges_of_communication(void **state)
{
    static const struct {
        const char *name;
        int is_range, is_mark;
    } ranges[] = {
        { "nccl:all_reduce", 1, 1 },
        { "gloo:barrier", 1, 1 },
        { "mpi:all_reduce", 1, 1 },
        { "ucc:all_gather", 1, 1 },
        { "ncclAllReduce", 1, 0 },
        { "MPI_Allreduce", 1, 0 },
        { "c10d::allreduce_", 1, 0 },
        { "nvshmem_quiet", 1, 0 },
        { "record_param_comms", 1, 0 },
        { "aten::add", 0, 0 },
        { "forward", 0, 0 },
        { "compare gloo:barrier", 0, 0 },
        { "DataParallel.forward", 0, 0 },
        { "", 0, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(ranges); i++)
        if (communication_is_range(ranges[i].name) != ranges[i].is_range ||
            communication_is_mark(ranges[i].name) != ranges[i].is_mark)
            fail_msg("%s: range %d, mark %d", ranges[i].name, communication_is_range(ranges[i].name),
                     communication_is_mark(ranges[i].name));
}

static void names_of_operators(void **state)
{
    static const struct {
        const char *text, *name;
    } texts[] = {
        { "aten::add, seq = 12", "aten::add" },
        { "aten::add, seq = 12, op_id = 34", "aten::add" },
        { "aten::add, op_id = 34, sizes = [[2, 3], []]", "aten::add" },
        { "aten::add, seq = 1, op_id = 2, sizes = [], input_op_ids = [(1,0)]", "aten::add" },
        { "autograd::engine::evaluate_function: AddmmBackward0, op_id = 9",
          "autograd::engine::evaluate_function: AddmmBackward0" },
        { "aten::add", "aten::add" },
        { "iteration 10", "iteration 10" },
        { "list [1, 2]", "list [1, 2]" },
        { "", "" },
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        size_t length = operator_name_length(texts[i].text, strlen(texts[i].text));
        if (length != strlen(texts[i].name) || memcmp(texts[i].text, texts[i].name, length) != 0)
            fail_msg("%s: %zu bytes, not '%s'", texts[i].text, length, texts[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_communication),
        cmocka_unit_test(ranges_of_communication),
        cmocka_unit_test(names_of_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
