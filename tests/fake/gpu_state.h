/* The state of the model of the GPU: for libcuda's own files. Things are never freed while the program runs, so that
 * what is queued may name them; `lock` guards the streams' lists and the times at which they will be idle. */
#ifndef TACHO_FAKE_GPU_STATE_H
#define TACHO_FAKE_GPU_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "gpu.h"

enum { DEVICES_MAX = 8 };
enum {
    INVALID_VALUE = 1,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    NOT_FOUND = 500,
    NOT_READY = 600
};

struct gpu_graph {
    uint32_t id;
    size_t count;
    struct fake_work *works;
};

struct gpu_stream {
    struct gpu_context *context;
    uint32_t id;
    unsigned flags;
    int priority;
    uint64_t tail_ns;
    struct gpu_graph *capture;
    struct gpu_stream *next;
};

struct gpu_context {
    uint32_t id;
    int device;
    struct gpu_stream *null_stream, *streams;
};

struct gpu_event {
    uint32_t id;
    uint64_t done_ns, sync_id;
};

struct gpu_kernel {
    const char *name;
    uint32_t registers, static_shared, local_bytes;
};

struct gpu_state {
    pthread_mutex_t lock;
    int initialised;
    pid_t pid;
    uint32_t next_stream;
    _Atomic uint32_t contexts, events, graphs, modules;
    _Atomic uint64_t event_records, grids;
    struct gpu_context *primary[DEVICES_MAX];
};
extern struct gpu_state gpu;

struct gpu_context *context_create(int device);
void context_drain(void);                           /* waits for the calling thread's context */
struct gpu_kernel *kernel_create(const char *name); /* the name is kept as it is */

/* gpu_cubin.c: the image of a module with these kernels, texts one behind the other; the caller frees it. */
char *gpu_cubin(const char *names, size_t bytes, size_t *size);
/* The kernels of a real cubin, a line each, and its size; the caller frees them. NULL: it is not one. */
char *gpu_cubin_names(const char *image, size_t *size);

#endif
