/* The profiling interface of OpenACC, as its specification (chapter 5) defines it and as the runtimes of GCC and NVIDIA
 * implement it: the events, and the structs that a callback gets.
 *
 * A runtime says in valid_bytes how much of a struct it has filled: read no field beyond. */
#ifndef TACHO_ABI_MODELS_OPENACC_H
#define TACHO_ABI_MODELS_OPENACC_H

#include <stddef.h>
#include <stdint.h>

/* Events of the runtime by number. SPAN(number, name): it begins with this number and ends with the next one.
 * POINT(number, name): a moment. */
#define OPENACC_EVENTS(SPAN, POINT)                                                                                    \
    SPAN(1, DEVICE_INIT)                                                                                               \
    SPAN(3, DEVICE_SHUTDOWN)                                                                                           \
    POINT(5, RUNTIME_SHUTDOWN)                                                                                         \
    POINT(6, CREATE)                                                                                                   \
    POINT(7, DELETE)                                                                                                   \
    POINT(8, ALLOC)                                                                                                    \
    POINT(9, FREE)                                                                                                     \
    SPAN(10, ENTER_DATA)                                                                                               \
    SPAN(12, EXIT_DATA)                                                                                                \
    SPAN(14, UPDATE)                                                                                                   \
    SPAN(16, COMPUTE_CONSTRUCT)                                                                                        \
    SPAN(18, ENQUEUE_LAUNCH)                                                                                           \
    SPAN(20, ENQUEUE_UPLOAD)                                                                                           \
    SPAN(22, ENQUEUE_DOWNLOAD)                                                                                         \
    SPAN(24, WAIT)

enum openacc_event {
#define OPENACC_EVENT_ID(number, name) OPENACC_##name = number,
    OPENACC_EVENTS(OPENACC_EVENT_ID, OPENACC_EVENT_ID) OPENACC_EVENT_COUNT = 26
#undef OPENACC_EVENT_ID
};

struct openacc_info { /* acc_prof_info */
    int32_t event, valid_bytes, version, device_type, device_number, thread_id;
    intptr_t async, async_queue;
    const char *source_file, *function_name;
    int32_t line, end_line, function_line, function_end_line;
};

struct openacc_event_info { /* acc_event_info, a union: `of` depends on the event */
    int32_t event, valid_bytes, parent_construct, is_implicit;
    void *tool_info;
    union {
        struct {
            const char *variable_name;
            size_t bytes;
            const void *host_address, *device_address;
        } data; /* CREATE to FREE, ENQUEUE_UPLOAD, ENQUEUE_DOWNLOAD */
        struct {
            const char *kernel_name;
            size_t gangs, workers, vector_length;
        } launch; /* ENQUEUE_LAUNCH */
    } of;
};

struct openacc_api_info { /* acc_api_info */
    int32_t device_api, valid_bytes, device_type, vendor;
    const void *device, *context, *async;
};

_Static_assert(offsetof(struct openacc_info, line) == 56 && sizeof(struct openacc_info) == 72, "as GCC has it");
_Static_assert(offsetof(struct openacc_event_info, of) == 24, "as GCC has it");
_Static_assert(sizeof(struct openacc_api_info) == 40, "as GCC has it");

typedef void openacc_callback(const struct openacc_info *info, const struct openacc_event_info *event,
                              const struct openacc_api_info *api);
enum openacc_register { OPENACC_REGISTER }; /* acc_reg */
typedef void openacc_register_function(int event, openacc_callback *callback, int how);

/* The numbers of device types are those of NVIDIA in nsys's tables. GCC has others. */
enum { OPENACC_GCC_NOT_HOST = 4, OPENACC_GCC_NVIDIA = 5, OPENACC_GCC_RADEON = 8 };
enum { OPENACC_NOT_HOST = 3, OPENACC_NVIDIA = 4, OPENACC_RADEON = 5 };

#endif
