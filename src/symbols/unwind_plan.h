/* From a frame to its caller: the registers that the caller had, from those of the frame and a copy of the stack. */
#ifndef TACHO_SYMBOLS_UNWIND_PLAN_H
#define TACHO_SYMBOLS_UNWIND_PLAN_H

#include "symbols_state.h"

struct plan_scene {
    uint16_t machine;
    unsigned stack_register, frame_register, address_register;
    struct symbols_registers registers; /* of the frame where the walk stands */
    const unsigned char *stack;         /* the copy, from `low` on */
    uint64_t low, bytes;
    int is_return;                      /* the address is one that a call returns to */
    int is_first;
    int is_beyond;                      /* something above the copy was wanted */
};

enum plan_result { PLAN_STEPPED = 0, PLAN_ENDS, PLAN_BEYOND, PLAN_LOST };

void unwind_plan_begin(struct plan_scene *scene, uint16_t machine, const struct symbols_sample *sample);
static inline uint64_t unwind_plan_address(const struct plan_scene *scene)
{
    return scene->registers.value[scene->address_register];
}

/* What call frame information says of an address in its file, as a plan; PLAN_NONE if it says nothing. */
void unwind_plan_make(struct plan *plan, const struct cfi *cfi, uint64_t inside);

/* Code that the kernel lets a signal's handler return to, and whose call frame information says nothing, or nothing
 * true: of aarch64's, known by its instructions. */
int unwind_plan_is_kernel_signal(const struct image *image, uint64_t inside);

/* Each makes one step: enum plan_result. */
int unwind_plan_follow(struct plan_scene *scene, const struct plan *plan);
int unwind_plan_work_out(struct plan_scene *scene, const struct cfi *cfi, uint64_t inside);
int unwind_plan_by_frame_pointer(struct plan_scene *scene);
int unwind_plan_leave_kernel_signal(struct plan_scene *scene);

/* The address that a leaf without a frame returns to, and the step there. */
int unwind_plan_return_of_leaf(struct plan_scene *scene, uint64_t *address);
int unwind_plan_leave_leaf(struct plan_scene *scene, uint64_t address);

#endif
