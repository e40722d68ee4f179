/* One step from a frame to its caller: computes the caller's registers from those of the frame and a copy of the
 * stack. */
#ifndef TACHO_SYMBOLS_UNWIND_PLAN_H
#define TACHO_SYMBOLS_UNWIND_PLAN_H

#include "symbols_state.h"

struct unwind_plan_scene {
    uint16_t machine;
    unsigned stack_register, frame_register, address_register;
    struct symbols_registers registers; /* of the frame where the walk stands */
    const unsigned char *stack;         /* the copy, from `low` on */
    uint64_t low, bytes;
    int is_return;                      /* the address is one that a call returns to */
    int is_first;
    int is_beyond;                      /* something above the copy was wanted */
};

enum unwind_plan_result { PLAN_STEPPED = 0, PLAN_ENDS, PLAN_BEYOND, PLAN_LOST };

void unwind_plan_begin(struct unwind_plan_scene *scene, uint16_t machine, const struct symbols_sample *sample);
static inline uint64_t unwind_plan_address(const struct unwind_plan_scene *scene)
{
    return scene->registers.value[scene->address_register];
}

/* The call frame information of an address in its file, as a plan; PLAN_NONE if there is none. */
void unwind_plan_make(struct unwind_plan *plan, const struct cfi *cfi, uint64_t inside);

/* Whether this is code to which the kernel lets a signal handler return and whose call frame information is missing
 * or wrong: aarch64's, recognised by its instructions. */
int unwind_plan_is_kernel_signal(const struct elf_image *image, uint64_t inside);

/* Each makes one step: enum unwind_plan_result. */
int unwind_plan_follow(struct unwind_plan_scene *scene, const struct unwind_plan *plan);
int unwind_plan_work_out(struct unwind_plan_scene *scene, const struct cfi *cfi, uint64_t inside);
int unwind_plan_by_frame_pointer(struct unwind_plan_scene *scene);
int unwind_plan_leave_kernel_signal(struct unwind_plan_scene *scene);

/* The address that a leaf without a frame returns to, and the step there. */
int unwind_plan_return_of_leaf(struct unwind_plan_scene *scene, uint64_t *address);
int unwind_plan_leave_leaf(struct unwind_plan_scene *scene, uint64_t address);

#endif
