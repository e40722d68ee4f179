/* Inside the stand-in of CUPTI: what its files share. Numbers and layouts are written down here a second time on
 * purpose, from the vendor's headers and not from ours, so that an error in ours is found. */
#ifndef TACHO_FAKE_CUPTI_H
#define TACHO_FAKE_CUPTI_H

#include "gpu.h"

/* FAKE_CUPTI is the version that this build stands for: 1108 for 11.8, 1300 for 13.0. */
enum {
    OK = 0,
    INVALID_PARAMETER = 1,
    MAX_LIMIT_REACHED = 12,
    NOT_READY_YET = 13,
    NOT_INITIALIZED_YET = 15,
    INVALID_KIND = 21,
    MULTIPLE_SUBSCRIBERS = 39,
};
enum {
    DOMAIN_DRIVER = 1,
    DOMAIN_RUNTIME,
    DOMAIN_RESOURCE,
    DOMAIN_SYNCHRONIZE,
    DOMAIN_NVTX,
    DOMAIN_STATE,
    DOMAIN_COUNT
};
enum { CALLS_MAX = 1024 };

struct callback_data {
    int site; /* 0 enter, 1 exit */
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};

struct resource_data {
    void *context;
    void *handle;
    void *descriptor;
};

typedef void (*subscriber_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*buffer_request)(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void (*buffer_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

/* cupti_records.c: where the fields lie in the version that this build stands for. */
size_t record_bytes(uint32_t kind); /* 0: there is no such kind */
void record_write(unsigned char *to, const struct fake_work *work);

/* cupti_activity.c */
void activity_start(void);       /* the tool has been attached */
void activity_call(struct fake_call *call, int leaves);
void activity_context(void);     /* one has been made */
void activity_work(const struct fake_work *work);
void activity_deliver_all(void); /* everything that has ended */
uint64_t activity_now(void);

/* cupti_clock.c: the GPU's clock in terms of the one that the records are in. */
void clock_pair(uint64_t (*now)(void));
uint64_t clock_convert(uint64_t gpu_time);

/* cupti_pc.c */
struct fake_module {
    uint32_t id;
    size_t bytes;
    const char *image;
};
void pc_module(const struct fake_module *module);
void pc_work(const struct fake_work *work);
void pc_context_destroyed(void *context); /* the subscriber has been told */

/* cupti_ranges.c: a call of the driver has ended. */
void ranges_call(const struct fake_call *call);

/* cupti.c */
void tool_attach(void);
int forked(void); /* 1: this process has only inherited us */

#endif
