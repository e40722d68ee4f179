/* FLOPs and bytes of operators, one or more of each class, worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/model/flops/op_work.h"
#include "base/array.h"

static struct intern_string text(const char *bytes)
{
    return (struct intern_string){ bytes ? bytes : "", bytes ? strlen(bytes) : 0 };
}

static const struct example {
    const char *name, *shapes, *types, *values, *strides;
    double flops, bytes; /* or NOT_KNOWN */
    enum op_class class;
    double recomputed;
} examples[] = {
    /* ---- matrix multiplications: 2 m n k; (m k + k n + m n) × 4 bytes */
    { "aten::mm", "[[16, 1000], [1000, 512]]", "[\"float\", \"float\"]", "[\"\", \"\"]", NULL, 2. * 16 * 512 * 1000,
      4. * (16 * 1000 + 1000 * 512 + 16 * 512), OP_MATMUL, 0 },
    { "aten::addmm", "[[1000], [16, 512], [512, 1000], [], []]",
      "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"]",
      "[\"\", \"\", \"\", \"1\", \"1\"]", NULL, 2. * 16 * 1000 * 512, 2. * (1000 + 16 * 512 + 512 * 1000 + 16 * 1000),
      OP_MATMUL, 0 },
    { "aten::bmm", "[[8, 64, 32], [8, 32, 128]]", "[\"c10::Half\", \"c10::Half\"]", NULL, NULL, 2. * 8 * 64 * 128 * 32,
      2. * 8 * (64 * 32 + 32 * 128 + 64 * 128), OP_MATMUL, 0 },
    { "aten::baddbmm", "[[8, 64, 128], [8, 64, 32], [8, 32, 128], [], []]",
      "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]", NULL, NULL, 2. * 8 * 64 * 128 * 32,
      4. * 8 * (2 * 64 * 128 + 64 * 32 + 32 * 128), OP_MATMUL, 0 },
    { "aten::linear", "[[4, 10, 512], [100, 512], [100]]", "[\"float\", \"float\", \"float\"]", NULL, NULL,
      2. * 40 * 512 * 100, 4. * (40 * 512 + 100 * 512 + 100 + 40 * 100), OP_MATMUL, 0 },
    { "aten::mv", "[[30, 20], [20]]", "[\"double\", \"double\"]", NULL, NULL, 2. * 30 * 20, 8. * (600 + 20 + 30),
      OP_MATMUL, 0 },
    { "aten::dot", "[[20], [20]]", "[\"float\", \"float\"]", NULL, NULL, 40, 4. * 41, OP_MATMUL, 0 },
    { "aten::_scaled_mm", "[[64, 32], [32, 16], [], []]",
      "[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", \"float\", \"float\"]", NULL, NULL, 2. * 64 * 32 * 16,
      64 * 32 + 32 * 16 + 64 * 16, OP_MATMUL, 0 },
    /* a matrix that one row is repeated in: read once */
    { "aten::mm", "[[16, 1000], [1000, 512]]", "[\"float\", \"float\"]", NULL, "[[0, 1], [512, 1]]",
      2. * 16 * 512 * 1000, 4. * (1000 + 1000 * 512 + 16 * 512), OP_MATMUL, 0 },
    /* ranges of emit_nvtx: shapes without types */
    { "aten::mm", "[[16, 1000], [1000, 512]]", NULL, NULL, NULL, 2. * 16 * 512 * 1000, NOT_KNOWN, OP_MATMUL, 0 },
    { "aten::mm", NULL, NULL, NULL, NULL, NOT_KNOWN, NOT_KNOWN, OP_MATMUL, 0 },

    /* ---- convolutions: 2 × images × points of the output × weights. 224 + 2 × 3 - 7 = 223, / 2 + 1 = 112 */
    { "aten::cudnn_convolution", "[[16, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
      "[\"float\", \"float\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", \"Scalar\", \"Scalar\", "
      "\"Scalar\"]",
      "[\"\", \"\", \"[3, 3]\", \"[2, 2]\", \"[1, 1]\", \"1\", \"False\", \"False\", \"True\"]", NULL,
      2. * 16 * 112 * 112 * 64 * 3 * 49, 4. * (16 * 3 * 224 * 224 + 64 * 3 * 49 + 16 * 64 * 112 * 112), OP_CONVOLUTION,
      0 },
    /* groups are in the shape of the weights; dilation 2 makes 3 points 5 long: 28 - 5 + 1 = 24 */
    { "aten::conv2d", "[[2, 32, 28, 28], [64, 8, 3, 3], [], [], [], [], []]",
      "[\"float\", \"float\", \"\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"]",
      "[\"\", \"\", \"\", \"[1, 1]\", \"[0, 0]\", \"[2, 2]\", \"4\"]", NULL, 2. * 2 * 24 * 24 * 64 * 8 * 9,
      4. * (2 * 32 * 784 + 64 * 8 * 9 + 2 * 64 * 576), OP_CONVOLUTION, 0 },
    { "aten::conv1d", "[[2, 4, 10], [6, 4, 3], [], [], [], [], []]",
      "[\"float\", \"float\", \"\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"]",
      "[\"\", \"\", \"\", \"[1]\", \"[1]\", \"[1]\", \"1\"]", NULL, 2. * 2 * 10 * 6 * 4 * 3, 4. * (80 + 72 + 120),
      OP_CONVOLUTION, 0 },
    /* transposed: each point of the input meets all weights */
    { "aten::convolution", "[[2, 8, 5, 5], [8, 6, 3, 3], [], [], [], [], [], [], []]",
      "[\"float\", \"float\", \"\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", \"ScalarList\", "
      "\"Scalar\"]",
      "[\"\", \"\", \"\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"True\", \"[0, 0]\", \"1\"]", NULL,
      2. * 2 * 25 * 8 * 6 * 9, NOT_KNOWN, OP_CONVOLUTION, 0 },
    /* both gradients, then that of the weights alone */
    { "aten::convolution_backward",
      "[[16, 512, 7, 7], [16, 512, 7, 7], [512, 512, 3, 3], [], [], [], [], [], [], [], []]",
      "[\"float\", \"float\", \"float\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", "
      "\"ScalarList\", \"Scalar\", \"ScalarList\"]",
      "[\"\", \"\", \"\", \"[0]\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", \"1\", \"[True, True, "
      "False]\"]",
      NULL, 2 * 2. * 16 * 49 * 512 * 512 * 9, 4. * (4 * 16 * 512 * 49 + 2 * 512 * 512 * 9), OP_CONVOLUTION, 0 },
    { "aten::convolution_backward",
      "[[16, 64, 112, 112], [16, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], [], []]",
      "[\"float\", \"float\", \"float\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", "
      "\"ScalarList\", \"Scalar\", \"ScalarList\"]",
      "[\"\", \"\", \"\", \"[0]\", \"[2, 2]\", \"[3, 3]\", \"[1, 1]\", \"False\", \"[0, 0]\", \"1\", \"[False, True, "
      "False]\"]",
      NULL, 2. * 16 * 112 * 112 * 64 * 3 * 49, 4. * (16 * 64 * 112 * 112 + 16 * 3 * 224 * 224 + 64 * 3 * 49),
      OP_CONVOLUTION, 0 },

    /* ---- attention: query × key and score × value, 2 × 64 operations for each pair. 2 × 4 heads, 128 × 128 pairs */
    { "aten::_scaled_dot_product_flash_attention",
      "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [], [], [], []]",
      "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\", \"Scalar\", \"\"]",
      "[\"\", \"\", \"\", \"0.\", \"False\", \"False\", \"\"]", NULL, 4. * 8 * 128 * 128 * 64, 2. * 4 * 8 * 128 * 64,
      OP_ATTENTION, 0 },
    /* causal: 128 × 129 / 2 pairs */
    { "aten::_scaled_dot_product_flash_attention",
      "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [], [], [], []]",
      "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\", \"Scalar\", \"\"]",
      "[\"\", \"\", \"\", \"0.\", \"True\", \"False\", \"\"]", NULL, 4. * 8 * 64 * 129 * 64, 2. * 4 * 8 * 128 * 64,
      OP_ATTENTION, 0 },
    /* the same tensors with heads behind the sequence, 2 queries for 5 keys, the last query sees all: 4 + 5 pairs */
    { "aten::_flash_attention_forward", "[[1, 2, 3, 16], [1, 5, 3, 16], [1, 5, 3, 16], [], [], [], [], [], [], []]",
      "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"\", \"\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", "
      "\"Scalar\"]",
      "[\"\", \"\", \"\", \"\", \"\", \"2\", \"5\", \"0.\", \"True\", \"False\"]", NULL, 4. * 3 * 9 * 16,
      2. * (2 * 2 * 3 * 16 + 2 * 5 * 3 * 16), OP_ATTENTION, 0 },
    /* memory-efficient, mask of type 1: the first query sees the first key, 1 + 2 pairs */
    { "aten::_efficient_attention_forward", "[[1, 2, 3, 16], [1, 5, 3, 16], [1, 5, 3, 8], [], [], [], [], [], [], []]",
      "[\"float\", \"float\", \"float\", \"\", \"\", \"\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]",
      "[\"\", \"\", \"\", \"\", \"\", \"\", \"2\", \"5\", \"0.\", \"1\"]", NULL, 2. * 3 * 3 * (16 + 8),
      4. * (2 * 3 * 16 + 5 * 3 * 16 + 5 * 3 * 8 + 2 * 3 * 8), OP_ATTENTION, 0 },
    /* backward: five products instead of two, one of which computes the scores again */
    { "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
      "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128], [], [], [], "
      "[]]",
      "[\"float\", \"float\", \"float\", \"float\", \"float\", \"float\", \"Scalar\", \"Scalar\", \"\", \"\"]",
      "[\"\", \"\", \"\", \"\", \"\", \"\", \"0.\", \"False\", \"\", \"\"]", NULL, 10. * 8 * 128 * 128 * 64,
      2. * 4 * 4 * 8 * 128 * 64, OP_ATTENTION, 2. * 8 * 128 * 128 * 64 },
    /* sequences of several lengths in one tensor */
    { "aten::_flash_attention_forward", "[[300, 3, 16], [300, 3, 16], [300, 3, 16], [4], [4], [], [], [], [], []]",
      "[\"c10::Half\", \"c10::Half\", \"c10::Half\", \"int\", \"int\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", "
      "\"Scalar\"]",
      "[\"\", \"\", \"\", \"\", \"\", \"100\", \"100\", \"0.\", \"True\", \"False\"]", NULL, NOT_KNOWN, NOT_KNOWN,
      OP_ATTENTION, 0 },

    /* ---- norms: 8 operations for each number, 4 if the statistics are given; 13 backward */
    { "aten::cudnn_batch_norm", "[[2, 64, 8, 8], [64], [64], [64], [64], [], [], []]",
      "[\"float\", \"float\", \"float\", \"float\", \"float\", \"Scalar\", \"Scalar\", \"Scalar\"]",
      "[\"\", \"\", \"\", \"\", \"\", \"True\", \"0.1\", \"1e-05\"]", NULL, 8. * 8192, 4. * (2 * 8192 + 256), OP_NORM,
      0 },
    { "aten::cudnn_batch_norm", "[[2, 64, 8, 8], [64], [64], [64], [64], [], [], []]",
      "[\"float\", \"float\", \"float\", \"float\", \"float\", \"Scalar\", \"Scalar\", \"Scalar\"]",
      "[\"\", \"\", \"\", \"\", \"\", \"False\", \"0.1\", \"1e-05\"]", NULL, 4. * 8192, 4. * (2 * 8192 + 256), OP_NORM,
      0 },
    { "aten::native_layer_norm", "[[32, 100], [], [100], [100], []]",
      "[\"float\", \"ScalarList\", \"float\", \"float\", \"Scalar\"]", "[\"\", \"[100]\", \"\", \"\", \"1e-05\"]", NULL,
      8. * 3200, 4. * (6400 + 200), OP_NORM, 0 },
    { "aten::native_layer_norm_backward", "[[32, 100], [32, 100], [], [32, 1], [32, 1], [100], [100], []]",
      "[\"float\", \"float\", \"ScalarList\", \"float\", \"float\", \"float\", \"float\", \"ScalarList\"]", NULL, NULL,
      13. * 3200, 4. * (9600 + 64 + 200), OP_NORM, 0 },
    { "aten::native_group_norm", "[[2, 64, 8, 8], [64], [64], [], [], [], [], []]",
      "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\", \"Scalar\"]", NULL, NULL,
      8. * 8192, 4. * (2 * 8192 + 128), OP_NORM, 0 },
    { "aten::_fused_rms_norm", "[[32, 100], [], [100], []]",
      "[\"c10::BFloat16\", \"ScalarList\", \"c10::BFloat16\", \"\"]", NULL, NULL, 4. * 3200, 2. * (6400 + 100), OP_NORM,
      0 },

    /* ---- softmax */
    { "aten::_softmax", "[[8, 128], [], []]", "[\"float\", \"Scalar\", \"Scalar\"]", NULL, NULL, 5. * 1024, 8. * 1024,
      OP_SOFTMAX, 0 },
    { "aten::_log_softmax_backward_data", "[[8, 128], [8, 128], [], []]",
      "[\"float\", \"float\", \"Scalar\", \"Scalar\"]", NULL, NULL, 4. * 1024, 12. * 1024, OP_SOFTMAX, 0 },

    /* ---- pooling: 112 + 2 - 3 = 111, / 2 + 1 = 56; 9 comparisons for each point; the indices have 8 bytes */
    { "aten::max_pool2d_with_indices", "[[16, 64, 112, 112], [], [], [], [], []]",
      "[\"float\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\"]",
      "[\"\", \"[3, 3]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"False\"]", NULL, 9. * 16 * 64 * 56 * 56,
      4. * 16 * 64 * 112 * 112 + 12. * 16 * 64 * 56 * 56, OP_POOLING, 0 },
    { "aten::avg_pool2d", "[[1, 4, 8, 8], [], [], [], [], [], []]",
      "[\"float\", \"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", \"Scalar\", \"\"]",
      "[\"\", \"[2, 2]\", \"[]\", \"[0, 0]\", \"False\", \"True\", \"\"]", NULL, 4. * 4 * 16, 4. * (256 + 64),
      OP_POOLING, 0 },
    { "aten::_adaptive_avg_pool2d", "[[1, 4, 8, 8], []]", "[\"float\", \"ScalarList\"]", "[\"\", \"[1, 1]\"]", NULL,
      256, 4. * (256 + 4), OP_POOLING, 0 },

    /* ---- elementwise: the shapes are broadcast; a comparison writes bytes */
    { "aten::add_", "[[16, 64, 56, 56], [16, 64, 56, 56], []]", "[\"float\", \"float\", \"Scalar\"]",
      "[\"\", \"\", \"1\"]", NULL, 3211264, 12. * 3211264, OP_ELEMENTWISE, 0 },
    { "aten::mul", "[[8, 1, 4], [3, 1]]", "[\"c10::Half\", \"c10::Half\"]", NULL, NULL, 96, 2. * (32 + 3 + 96),
      OP_ELEMENTWISE, 0 },
    { "aten::div", "[[16, 512, 7, 7], []]", "[\"float\", \"Scalar\"]", "[\"\", \"49\"]", "[[512, 1, 0, 0], []]", 401408,
      4. * (8192 + 401408), OP_ELEMENTWISE, 0 },
    { "aten::gt", "[[100], []]", "[\"float\", \"Scalar\"]", NULL, NULL, 100, 500, OP_ELEMENTWISE, 0 },
    { "aten::gelu", "[[10, 10], []]", "[\"float\", \"\"]", NULL, NULL, 500, 800, OP_ELEMENTWISE, 0 },
    { "aten::addcmul_", "[[10], [10], [10], []]", "[\"float\", \"float\", \"float\", \"Scalar\"]", NULL, NULL, 30, 160,
      OP_ELEMENTWISE, 0 },
    { "aten::mul", "[[], []]", "[\"float\", \"Scalar\"]", NULL, NULL, 1, 8, OP_ELEMENTWISE, 0 },
    { "aten::mul", "[[8, 4], []]", "[\"c10::Half\", \"double\"]", NULL, NULL, 32, 2. * 64 + 8, OP_ELEMENTWISE, 0 },

    /* ---- reductions */
    { "aten::sum", "[[16, 1000], [], [], []]", "[\"float\", \"ScalarList\", \"Scalar\", \"\"]",
      "[\"\", \"[0]\", \"True\", \"\"]", NULL, 16000, 4. * (16000 + 1000), OP_REDUCTION, 0 },
    { "aten::mean", "[[16, 512, 7, 7], [], [], []]", "[\"float\", \"ScalarList\", \"Scalar\", \"\"]",
      "[\"\", \"[-1, -2]\", \"True\", \"\"]", NULL, 401408, 4. * (401408 + 8192), OP_REDUCTION, 0 },
    { "aten::sum", "[[16, 1000], []]", "[\"double\", \"\"]", "[\"\", \"\"]", NULL, 16000, 8. * 16001, OP_REDUCTION, 0 },

    /* ---- embeddings: 24 rows of 64 numbers are read and written; backward the whole table is written */
    { "aten::index_select", "[[1000, 64], [], [24]]", "[\"float\", \"Scalar\", \"long int\"]", "[\"\", \"0\", \"\"]",
      NULL, 0, 2. * 24 * 64 * 4 + 24 * 8, OP_EMBEDDING, 0 },
    { "aten::embedding_dense_backward", "[[2, 12, 64], [2, 12], [], [], []]",
      "[\"float\", \"long int\", \"Scalar\", \"Scalar\", \"Scalar\"]", "[\"\", \"\", \"1000\", \"-1\", \"False\"]",
      NULL, 1536, 4. * 1536 + 8 * 24 + 4. * 64000, OP_EMBEDDING, 0 },

    /* ---- optimizers: lists of tensors, 1000 + 30 parameters; a list that was too long is empty */
    { "aten::_fused_adamw_",
      "[[[10, 100], [30]], [[10, 100], [30]], [[10, 100], [30]], [[10, 100], [30]], [], [[], []]]",
      "[\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\"]", NULL,
      "[[[100, 1], [1]], [[100, 1], [1]], [[100, 1], [1]], [[100, 1], [1]], [], [[], []]]", 15. * 1030, NOT_KNOWN,
      OP_OPTIMIZER, 0 },
    { "aten::_foreach_lerp_", "[[[10, 100], [30]], [[10, 100], [30]], []]",
      "[\"TensorList\", \"TensorList\", \"Scalar\"]", NULL, NULL, 3. * 1030, NOT_KNOWN, OP_OPTIMIZER, 0 },
    { "aten::_foreach_add_", "[[], [], []]", "[\"TensorList\", \"float\", \"Scalar\"]", NULL, NULL, NOT_KNOWN,
      NOT_KNOWN, OP_OPTIMIZER, 0 },

    /* ---- copies and communication: bytes alone */
    { "aten::copy_", "[[100], [100], []]", "[\"float\", \"c10::Half\", \"Scalar\"]", NULL, NULL, 0, 600, OP_COPY, 0 },
    { "aten::fill_", "[[16, 1000], []]", "[\"float\", \"Scalar\"]", NULL, NULL, 0, 64000, OP_COPY, 0 },
    { "c10d::_allgather_base_", "[[8, 100], [100], [], [], [], []]",
      "[\"float\", \"float\", \"\", \"Scalar\", \"Scalar\", \"\"]", NULL, NULL, 0, 3200, OP_COMMUNICATION, 0 },

    /* ---- kernels of torch.compile: add 1, layer norm 8 and relu 1 for each of 3200 numbers */
    { "triton_per_fused_add_native_layer_norm_relu_3", "[[32, 100], [100], [32, 100], [], []]",
      "[\"float\", \"float\", \"float\", \"Scalar\", \"Scalar\"]", NULL, NULL, 10. * 3200, 4. * (6400 + 100), OP_FUSED,
      0 },
    { "triton_poi_fused__to_copy_mul_0", "[[32, 100], [32, 100], []]", "[\"c10::BFloat16\", \"float\", \"Scalar\"]",
      NULL, NULL, 3200, 6. * 3200, OP_FUSED, 0 },
    /* the bias of a convolution, and relu */
    { "triton_poi_fused_convolution_relu_12", "[[2, 4, 8, 8], [4], []]", "[\"float\", \"float\", \"Scalar\"]", NULL,
      NULL, 1024, 4. * (512 + 4), OP_FUSED, 0 },
    { "triton_tem_fused_addmm_relu_1", "[[16, 512], [512, 100], [16, 100], [100]]",
      "[\"float\", \"float\", \"float\", \"float\"]", NULL, NULL, 2. * 16 * 512 * 100, 4. * (16 * 512 + 51200 + 1600),
      OP_MATMUL, 0 },
    /* an operator that is not known: the bytes are, the FLOPs are not 0 */
    { "triton_poi_fused_add_frobnicate_0", "[[10], [10]]", "[\"float\", \"float\"]", NULL, NULL, NOT_KNOWN, 80,
      OP_FUSED, 0 },
    { "triton_poi_fused_add_0", NULL, NULL, NULL, NULL, NOT_KNOWN, NOT_KNOWN, OP_FUSED, 0 },
    { "my::op", "[[10], [10]]", "[\"float\", \"float\"]", NULL, NULL, NOT_KNOWN, NOT_KNOWN, OP_UNKNOWN, 0 },
};

static void every_class_is_counted(void **state)
{
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        const struct example *example = &examples[i];
        struct op_texts texts = { text(example->shapes), text(example->types), text(example->strides),
                                  text(example->values) };
        struct op_work work = op_work_of(example->name, &texts);
        if (work.flops == example->flops && work.bytes == example->bytes && work.class == example->class &&
            work.recomputed == example->recomputed)
            continue;
        print_error("%s %s: expected %s, %.0f FLOPs, %.0f of them recomputed, %.0f bytes; got %s, %.0f, %.0f, %.0f\n",
                    example->name, example->shapes ? example->shapes : "", op_class_name(example->class),
                    example->flops, example->recomputed, example->bytes, op_class_name(work.class), work.flops,
                    work.recomputed, work.bytes);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* Whatever the texts hold, reading them ends and stays within them. */
static void hostile_texts_do_no_harm(void **state)
{
    static const char *const wrong[] = {
        "[",
        "[[",
        "[[[",
        "]",
        "[[1, 2",
        "[[[1], [2",
        "[[99999999999999999999999999, 3]]",
        "[[1,2,3,4,5,6,7,8,9,10,11]]",
        "[[-5, 3], [3, -2]]",
        "[[], [], [], []]",
        "[[0, 0], [0, 0]]",
        "[\"",
        "[\"float",
        "[\"float\", ",
        "\"[1, 1\"",
    };
    enum { COUNT = COUNT_OF(wrong) };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        for (size_t a = 0; a < COUNT; a++)
            for (size_t b = 0; b < COUNT; b++) {
                struct op_texts texts = { text(wrong[a]), text(a % 2 ? examples[i].types : wrong[b]), text(wrong[b]),
                                          text(b % 2 ? examples[i].values : wrong[a]) };
                struct op_work work = op_work_of(examples[i].name, &texts);
                assert_true(isfinite(work.flops) && isfinite(work.bytes));
                assert_true(work.flops >= NOT_KNOWN && work.bytes >= NOT_KNOWN);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_is_counted),
        cmocka_unit_test(hostile_texts_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
