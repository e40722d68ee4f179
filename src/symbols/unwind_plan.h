/* One step from a frame to its caller: computes the caller's registers from those of the frame and a copy of the
 * stack. */
#ifndef TACHO_SYMBOLS_UNWIND_PLAN_H
#define TACHO_SYMBOLS_UNWIND_PLAN_H

#include "symbols.h"
#include "symbols/cfi/cfi.h"
#include "symbols/elf/elf_image.h"

/* The step from a frame to its caller, where it is simple: the frame's address is a register plus an offset, and saved
 * registers lie at whole words from there. Any other step is computed anew each time (PLAN_COMPLEX). */
#define PLAN_SAVED_MAX 14
struct unwind_plan {
    uint8_t kind, method, frame_register, return_register;
    int32_t frame_offset;
    uint8_t flags, saved_count;
    struct {
        uint8_t number;
        int8_t unused;
        int16_t words;
    } saved[PLAN_SAVED_MAX];
    uint8_t fill[2];
};
enum unwind_plan_kind { PLAN_SIMPLE, PLAN_COMPLEX, PLAN_NONE, PLAN_OUTERMOST, PLAN_KERNEL_SIGNAL };
enum unwind_plan_flag { PLAN_RETURN_SIGNED = 1, PLAN_RETURN_SAVED = 2, PLAN_IS_SIGNAL = 4 };

struct unwind_plan_scene {
    uint16_t machine;
    unsigned stack_register, frame_register, address_register;
    struct symbols_registers registers; /* of the current frame */
    const unsigned char *stack;         /* the copy, which begins at address `low` */
    uint64_t low, bytes;
    int is_return;                      /* the address is a return address */
    int is_first;
    int is_beyond;                      /* data above the copy was needed */
};

enum unwind_plan_result { PLAN_STEPPED = 0, PLAN_ENDS, PLAN_BEYOND, PLAN_LOST };

void unwind_plan_begin(struct unwind_plan_scene *scene, uint16_t machine, const struct symbols_sample *sample);
static inline uint64_t unwind_plan_address(const struct unwind_plan_scene *scene)
{
    return scene->registers.value[scene->address_register];
}

/* Makes a plan from the call frame information of an address in its file; PLAN_NONE if there is none. */
void unwind_plan_make(struct unwind_plan *plan, const struct cfi *cfi, uint64_t inside);

/* Is this the code that a signal handler returns to, with missing or wrong call frame information? Only aarch64's vDSO
 * has such code, which is recognised by its instructions. */
int unwind_plan_is_kernel_signal(const struct elf_image *image, uint64_t inside);

/* Each of these makes one step and returns an enum unwind_plan_result. */
int unwind_plan_follow(struct unwind_plan_scene *scene, const struct unwind_plan *plan);
int unwind_plan_work_out(struct unwind_plan_scene *scene, const struct cfi *cfi, uint64_t inside);
int unwind_plan_by_frame_pointer(struct unwind_plan_scene *scene);
int unwind_plan_leave_kernel_signal(struct unwind_plan_scene *scene);

/* The return address of a leaf without a frame, and the step there. */
int unwind_plan_return_of_leaf(struct unwind_plan_scene *scene, uint64_t *address);
int unwind_plan_leave_leaf(struct unwind_plan_scene *scene, uint64_t address);

#endif
