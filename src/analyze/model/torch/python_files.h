/* Whose code a Python file has, and how functions are called in texts for people. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_PYTHON_FILES_H
#define TACHO_ANALYZE_MODEL_TORCH_PYTHON_FILES_H

#include <stddef.h>

#include "base/text.h"

enum python_owner {
    PYTHON_PROGRAM, /* the user's */
    PYTHON_PACKAGE, /* an installed package other than PyTorch */
    PYTHON_LIBRARY, /* PyTorch and code that it generates, the standard library, Tacho's own package */
    PYTHON_BUILTIN, /* code without a file */
};

/* The owner of a file: a path, or one that torch.profiler has shortened ("torch/nn/modules/linear.py"). */
enum python_owner python_file_owner(const char *path, size_t length);

/* Whether a function is the one that returns the next batch of PyTorch's DataLoader. */
int python_is_loader(const char *file, const char *function);

/* The parts of a frame as torch.profiler writes it: "train.py(12): main". */
struct python_frame {
    const char *file, *function; /* in the text */
    size_t file_length, function_length;
    long line;                   /* 0: none */
    enum python_owner owner;
};
struct python_frame python_frame_read(const char *name, size_t length);

/* Appends the name of a function without addresses: "Tensor.item" for "<built-in method item of Tensor object at
 * 0x7f…>", the function of a frame with a file, other texts as they are. */
void python_function_name(struct text *out, const char *name, size_t length);

#endif
