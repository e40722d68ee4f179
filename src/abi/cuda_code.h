/* Machine code of NVIDIA's GPUs, Volta and later: which kernels of a cubin have instructions of tensor cores, and for
 * operands of which types.
 *
 * A cubin is an ELF file in which the section .text.NAME has the code of the kernel NAME. The image is read in place,
 * once, with every offset checked: nothing is allocated and no lock is taken, since the agent does this where the
 * program loads the module. */
#ifndef TACHO_ABI_CUDA_CODE_H
#define TACHO_ABI_CUDA_CODE_H

#include <stddef.h>
#include <stdint.h>

/* The types of operands, as bits. OTHER: the instruction does not say (tcgen05 has it in a descriptor). */
#define CUDA_CODE_TYPES(X)                                                                                             \
    X(FP16, "fp16") X(BF16, "bf16") X(TF32, "tf32") X(FP64, "fp64") X(INT8, "int8") X(BINARY, "binary") X(FP8, "fp8")  \
    X(FP4, "fp4") X(OTHER, "other")
enum cuda_code_type_number {
#define CUDA_CODE_NUMBER(id, name) CUDA_CODE_NUMBER_##id,
    CUDA_CODE_TYPES(CUDA_CODE_NUMBER) CUDA_CODE_TYPE_COUNT
#undef CUDA_CODE_NUMBER
};
enum cuda_code_type {
#define CUDA_CODE_BIT(id, name) CUDA_CODE_##id = 1 << CUDA_CODE_NUMBER_##id,
    CUDA_CODE_TYPES(CUDA_CODE_BIT)
#undef CUDA_CODE_BIT
};

struct cuda_code {
    const unsigned char *image; /* of the caller */
    size_t size;
    unsigned sm;                /* 90 for sm_90 */
    uint64_t sections;          /* offset of the section headers */
    uint32_t section_count, next;
    uint64_t names, names_size; /* the section names, all of which end inside */
};

struct cuda_code_kernel {
    const char *name; /* mangled; inside the image */
    unsigned types;   /* enum cuda_code_type; 0: no instruction of tensor cores */
};

/* Opens an image: 0, or -1 if it is not a cubin whose instructions are known. */
int cuda_code_open(struct cuda_code *code, const void *image, size_t size);
/* The next kernel: 1, or 0 if there is none. */
int cuda_code_next(struct cuda_code *code, struct cuda_code_kernel *kernel);

/* True if all instructions of tensor cores are known for this architecture: then a kernel without any uses none. */
int cuda_code_is_complete(unsigned sm);

/* The parts of the image that line information needs, from its head to the symbols: enough to open it again elsewhere.
 * Returns their number; 0: it has no line information. */
#define CUDA_CODE_LINE_PARTS 8
struct cuda_code_part {
    uint64_t offset, size;
};
unsigned cuda_code_line_parts(const struct cuda_code *code, struct cuda_code_part parts[CUDA_CODE_LINE_PARTS]);

/* A section by its name: 0, or -1. */
struct cuda_code_section {
    const unsigned char *bytes;
    uint64_t size, entry_size;
};
int cuda_code_section(const struct cuda_code *code, const char *name, struct cuda_code_section *out);
/* The name of a section, or NULL. */
const char *cuda_code_section_name(const struct cuda_code *code, uint32_t index);

#endif
