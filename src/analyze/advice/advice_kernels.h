/* The kernels of a capture and what they are for: what rules on kernels share. Copies within the GPU's memory and fills
 * count as kernels, too.
 *
 * Each kernel has the operator that launched it and its source: the operator that the program called. The source of a
 * kernel of the backward pass is the operator of the forward pass whose gradient it computes, so that both have the
 * same line. Without operators the names of kernels say what they do. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_KERNELS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_KERNELS_H

#include "advice_groups.h"
#include "analyze/engine/name_classes.h"
#include "analyze/model/flops/gpu_peaks.h"
#include "analyze/model/flops/op_works.h"
#include "analyze/model/tensor/tensor_cores.h"

struct advice_kernel {
    uint32_t work;       /* of the replay */
    uint32_t edge;       /* of the replay: the one that lasts as long as it runs */
    int64_t run_ns;
    uint32_t op, source; /* indices into the operators, or NO_OPERATOR */
    uint32_t todo;       /* an index into works.list: what its operator does; NO_KEY: not known */
    uint32_t name;       /* an index into names */
    enum op_class class; /* of its operator, else by its name */
    unsigned char is_backward, is_optimizer;
};

/* What the name of a kernel says. */
struct advice_kernel_name {
    struct tensor_cores cores;
    enum op_class class;     /* if its operator was not recorded */
    enum data_type type;     /* likewise; fp64 and fp32 alone */
    unsigned char is_layout; /* it only converts between NCHW and NHWC */
};

struct advice_kernels {
    struct adviser *adviser;
    const struct operators *operators; /* of the adviser */
    uint32_t *sources;          /* owned, as all below; by operator: the one that the program called, or NO_OPERATOR */
    uint32_t *program;          /* the operators that the program called, by thread, then by start */
    size_t program_count;
    uint32_t *launched;         /* by operator of the program: the number of its kernels in the forward pass */
    unsigned char *is_backward; /* by operator */
    struct op_works works;
    struct gpu_peaks peaks;
    struct tensor_kernels cores;
    struct keys names;                /* of kernels: mangled, demangled */
    struct advice_kernel_name *named; /* by name */
    size_t named_room;
    struct name_classes op_names;     /* by text of the operators: enum op_class, and bits below */
    struct advice_kernel *list;       /* those that count, by stream, then by start */
    size_t count, room;
};

/* What the name of an operator says besides its class. */
enum { OP_NAME_CLASS = 0xf, OP_NAME_IS_ENGINE = 0x10, OP_NAME_IS_OPTIMIZER = 0x20, OP_NAME_IS_COPY = 0x40 };
_Static_assert(OP_CLASSES <= OP_NAME_CLASS + 1, "the class of an operator fits into the class of its name");

/* For rules: the kernels. The first call reads them. */
int adviser_kernels(struct adviser *adviser, struct advice_kernels **out, struct error *err);

/* The work of a kernel's operator; NULL: not known. */
static inline const struct op_work *advice_kernel_work(const struct advice_kernels *kernels,
                                                       const struct advice_kernel *kernel)
{
    return kernel->todo == NO_KEY ? NULL : &kernels->works.list[kernel->todo];
}

/* The type that a kernel works on: that of its operator's first tensor, or the one in its name, which can be fp64 or
 * fp32 alone. */
enum data_type advice_kernel_type(const struct advice_kernels *kernels, const struct advice_kernel *kernel);

/* The sizes of a product of matrices, from the shapes of its operator; bytes, of an element, is 0 if they are not
 * known. */
struct advice_product {
    double batch, rows, depth, columns;
    int bytes;
};
struct advice_product advice_product_of(const struct advice_kernels *kernels, const struct advice_kernel *kernel);

/* Whether two kernels run on the same stream, and in the same step. */
int advice_kernel_follows(const struct advice_kernels *kernels, const struct advice_kernel *first,
                          const struct advice_kernel *next);

/* The name of an operator; "" for NO_OPERATOR. */
struct intern_string advice_operator_name(const struct advice_kernels *kernels, uint32_t op);
/* What that name says: enum op_class and bits; 0 for NO_OPERATOR. */
static inline int advice_operator_says(const struct advice_kernels *kernels, uint32_t op)
{
    uint32_t name = op == NO_OPERATOR ? NO_TEXT : kernels->operators->list[op].name;

    return name == NO_TEXT ? 0 : name_class(&kernels->op_names, name);
}

/* The outermost operator around an operator, in its thread; for a gradient that is its node. Takes NO_OPERATOR too. */
uint32_t advice_operator_root(const struct advice_kernels *kernels, uint32_t op);

/* The line of the program that a kernel belongs to, or NO_PLACE. */
uint32_t advice_kernel_line(const struct advice_kernels *kernels, struct places *places,
                            const struct advice_kernel *kernel);
/* Notes a kernel in a group, at that line. ERR_NO_MEMORY or 0, as below. */
int advice_kernel_note(struct advice_groups *groups, uint32_t group, const struct advice_kernels *kernels,
                       const struct advice_kernel *kernel);

/* The kernel takes left_ns, which may be longer than now. */
int advice_kernel_take(struct replay_edits *edits, const struct advice_kernel *kernel, int64_t left_ns);
/* The kernel is not there: neither it, nor the gap before it, nor its launch. */
int advice_kernel_vanish(struct replay_edits *edits, const struct advice_kernels *kernels,
                         const struct advice_kernel *kernel);
/* An operator takes no time on the CPU, apart from its launches. Nothing for NO_OPERATOR. */
int advice_operator_vanish(struct replay_edits *edits, const struct advice_kernels *kernels, uint32_t op);

/* A rule on kernels: add() makes groups of them, and returns ERR_NO_MEMORY or 0; describe() is as for
 * advice_groups_add(). */
struct advice_kernel_rule {
    int (*add)(struct advice_groups *groups, struct advice_kernels *kernels);
    int (*describe)(struct advice_groups *groups, uint32_t group);
};
int advice_kernels_find(struct adviser *adviser, const struct advice_kernel_rule *rule, struct error *err);
/* For describe(): sets what the cause is, "BEFORE 12 BEHIND 3.45 ms", with its events and time per step, and where. */
void advice_group_say(struct advice_groups *groups, uint32_t group, const char *before, const char *behind);

/* How long work takes that computes and moves data at a share of the GPU's rates; 0: the rates are not known. */
struct advice_rates {
    double compute, memory; /* shares of the peaks */
};
extern const struct advice_rates advice_peak, advice_usual;
int64_t advice_work_ns(const struct gpu_peaks *peaks, const struct advice_rates *share, enum gpu_rate rate,
                       double flops, double bytes);

#endif
