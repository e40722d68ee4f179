/* The types of rows, and the place of each in the tree that row_tree.c builds: one line for each type. */
#ifndef TACHO_VIEW_LOAD_ROW_TYPES_H
#define TACHO_VIEW_LOAD_ROW_TYPES_H

enum row_kind { KIND_GROUP, KIND_SLICES, KIND_TICKS, KIND_STATES, KIND_COUNTER, ROW_KINDS }; /* numbers as in a tile */

/* The parent of a row, and the numbers that its key begins with: none at the TOP; device and process for GPU; device,
 * process and context for CONTEXT; the process, the thread, or the CPU; host and rank for RANK. */
enum row_place { PLACE_TOP, PLACE_GPU, PLACE_CONTEXT, PLACE_PROCESS, PLACE_THREAD, PLACE_CPU, PLACE_RANK };

/* X(id, name in answers, kind, place, label): in the order in which rows stand below the same parent. A label of NULL
 * is made in row_labels.c from the numbers of the key that follow those of the place. */
#define ROW_TYPES(X)                                                                                          \
    X(RANK_MAP, "map", KIND_COUNTER, PLACE_RANK, NULL)                                                         \
    X(STEPS, "steps", KIND_SLICES, PLACE_TOP, "Steps")                                                         \
    X(IDLE, "idle", KIND_STATES, PLACE_GPU, "Why idle")                                                        \
    X(STREAM, "stream", KIND_SLICES, PLACE_CONTEXT, NULL)                                                      \
    X(GPU_NVTX, "gpu-nvtx", KIND_SLICES, PLACE_CONTEXT, NULL)                                                  \
    X(GPU_TORCH, "gpu-nvtx", KIND_SLICES, PLACE_GPU, NULL)                                                     \
    X(GPU_SYNC, "other", KIND_SLICES, PLACE_GPU, "Waits")                                                     \
    X(GPU_FAULTS, "memory", KIND_SLICES, PLACE_GPU, "Page faults")                                             \
    X(GPU_MEMORY, "memory", KIND_COUNTER, PLACE_GPU, NULL)                                                     \
    X(GPU_METRIC, "counter", KIND_COUNTER, PLACE_GPU, NULL)                                                    \
    X(GPU_OTHER, "other", KIND_SLICES, PLACE_GPU, NULL)                                                        \
    X(STATE, "state", KIND_STATES, PLACE_THREAD, "State")                                                      \
    X(SAMPLES, "samples", KIND_TICKS, PLACE_THREAD, "CPU samples")                                             \
    X(OSRT, "osrt", KIND_SLICES, PLACE_THREAD, "OS calls")                                                     \
    X(CUDA_API, "cuda-api", KIND_SLICES, PLACE_THREAD, "CUDA API")                                             \
    X(LIBRARY, "library", KIND_SLICES, PLACE_THREAD, NULL)                                                     \
    X(NVTX, "nvtx", KIND_SLICES, PLACE_THREAD, NULL)                                                           \
    X(TORCH, "torch", KIND_SLICES, PLACE_THREAD, "PyTorch")                                                    \
    X(PYTHON, "python", KIND_SLICES, PLACE_THREAD, "Python")                                                   \
    X(PYTHON_SAMPLES, "python-samples", KIND_TICKS, PLACE_THREAD, "Python samples")                            \
    X(GIL, "gil", KIND_STATES, PLACE_THREAD, "GIL")                                                            \
    X(THREAD_OTHER, "other", KIND_SLICES, PLACE_THREAD, NULL)                                                  \
    X(PROCESS_MEMORY, "memory", KIND_COUNTER, PLACE_PROCESS, NULL)                                             \
    X(PROCESS_COUNTER, "counter", KIND_COUNTER, PLACE_PROCESS, NULL)                                           \
    X(PROCESS_OTHER, "other", KIND_SLICES, PLACE_PROCESS, NULL)                                                \
    X(CPU_THREADS, "cpu", KIND_SLICES, PLACE_CPU, NULL)                                                        \
    X(COUNTER, "counter", KIND_COUNTER, PLACE_TOP, NULL)                                                       \
    X(OTHER, "other", KIND_SLICES, PLACE_TOP, NULL)                                                            \
    X(HOST, "host", KIND_GROUP, PLACE_TOP, NULL)                                                               \
    X(RANK, "rank", KIND_GROUP, PLACE_TOP, NULL)                                                               \
    X(GPU, "gpu", KIND_GROUP, PLACE_TOP, NULL)                                                                 \
    X(CONTEXT, "context", KIND_GROUP, PLACE_GPU, NULL)                                                         \
    X(PROCESS, "process", KIND_GROUP, PLACE_TOP, NULL)                                                         \
    X(THREAD, "thread", KIND_GROUP, PLACE_PROCESS, NULL)                                                       \
    X(CPUS, "cpus", KIND_GROUP, PLACE_TOP, NULL)

enum row_type {
#define ROW_TYPE_ID(id, name, kind, place, label) ROW_##id,
    ROW_TYPES(ROW_TYPE_ID) ROW_TYPE_COUNT
#undef ROW_TYPE_ID
};

struct row_type_info {
    const char *name;
    enum row_kind kind;
    enum row_place place;
    const char *label;
};
extern const struct row_type_info row_types[ROW_TYPE_COUNT];

#endif
