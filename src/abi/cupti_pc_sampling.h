/* CUPTI's PC sampling interface, without its headers: calls that each take one struct. All versions from 12.6 to 13.4
 * have the same layouts; tests/house/cupti_abi.py compares them with the headers. */
#ifndef TACHO_ABI_CUPTI_PC_SAMPLING_H
#define TACHO_ABI_CUPTI_PC_SAMPLING_H

#include <stddef.h>
#include <stdint.h>

#define CUPTI_PC_OLDEST 24u /* cuptiGetVersion() of 12.6: records of older versions lack members */

enum cupti_pc_mode { CUPTI_PC_CONTINUOUS = 1, CUPTI_PC_SERIALIZED = 2 };
enum { CUPTI_PC_PARSED = 1 };
enum { CUPTI_PC_PERIOD_LEAST = 5, CUPTI_PC_PERIOD_MOST = 31 }; /* as powers of two, in cycles */
enum { CUPTI_STALL_NAME_BYTES = 128 };

enum cupti_pc_attribute {
    CUPTI_PC_ATTRIBUTE_PERIOD = 1,
    CUPTI_PC_ATTRIBUTE_REASONS = 2,
    CUPTI_PC_ATTRIBUTE_HARDWARE_BYTES = 4,
    CUPTI_PC_ATTRIBUTE_MODE = 5,
    CUPTI_PC_ATTRIBUTE_START_STOP = 6,
    CUPTI_PC_ATTRIBUTE_FORMAT = 7,
    CUPTI_PC_ATTRIBUTE_BUFFER = 8,
};

struct cupti_stall_samples {
    uint32_t reason, samples;
};

/* What was sampled at one instruction. */
struct cupti_pc {
    size_t bytes;         /* of this struct; set by the caller, as the next two are before each call */
    uint64_t cubin_crc;
    uint64_t offset;      /* of the instruction in the function */
    uint32_t function_index, padding;
    char *function;       /* belongs to CUPTI's records, which share it */
    size_t stall_count;   /* before the call: the room in `stalls` */
    struct cupti_stall_samples *stalls;
    uint32_t correlation; /* 0 in continuous mode */
};

struct cupti_pc_data {
    size_t bytes;
    size_t room;              /* number of struct cupti_pc at `pcs`; these two are set by the caller */
    uint64_t total_samples;   /* including dropped ones, and those of kernels that are not the program's */
    uint64_t dropped_samples;
    size_t count;             /* of `pcs` that were filled in */
    size_t remaining;         /* further ones that CUPTI has */
    uint64_t range;
    struct cupti_pc *pcs;
    uint64_t foreign_samples; /* of kernels that are not the program's: they have no PCs */
    uint8_t is_hardware_full;
};

struct cupti_pc_setting {
    uint32_t attribute;  /* enum cupti_pc_attribute */
    int status;          /* set by CUPTI */
    union {
        uint32_t number; /* period, mode, start and stop, format */
        size_t size;     /* bytes of the hardware buffer */
        void *buffer;    /* struct cupti_pc_data */
        struct {
            size_t count;
            uint32_t *indexes;
        } reasons;
        uint64_t room[3];
    };
};

#define CUPTI_PC_HEAD                                                                                                  \
    size_t bytes;                                                                                                      \
    void *reserved;                                                                                                    \
    void *context
struct cupti_pc_context {
    CUPTI_PC_HEAD;
};
struct cupti_pc_settings {
    CUPTI_PC_HEAD;
    size_t count;
    struct cupti_pc_setting *settings;
};
struct cupti_pc_get {
    CUPTI_PC_HEAD;
    void *data; /* struct cupti_pc_data */
};
struct cupti_stall_count {
    CUPTI_PC_HEAD;
    size_t *count;
};
struct cupti_stall_names {
    CUPTI_PC_HEAD;
    size_t count;
    uint32_t *indexes;
    char **names;
};
struct cupti_cubin_crc {
    size_t bytes, cubin_bytes;
    const void *cubin;
    uint64_t crc;
};
_Static_assert(sizeof(struct cupti_pc) == 64 && sizeof(struct cupti_pc_data) == 80, "as CUPTI has it");
_Static_assert(sizeof(struct cupti_pc_setting) == 32, "as CUPTI has it");

/* X(name, struct): the function cuptiNAME(struct *); all return a CUptiResult. */
#define CUPTI_PC_FUNCTIONS(X)                                                                                          \
    X(PCSamplingEnable, cupti_pc_context)                                                                              \
    X(PCSamplingDisable, cupti_pc_context)                                                                             \
    X(PCSamplingStart, cupti_pc_context)                                                                               \
    X(PCSamplingStop, cupti_pc_context)                                                                                \
    X(PCSamplingGetNumStallReasons, cupti_stall_count)                                                                 \
    X(PCSamplingGetStallReasons, cupti_stall_names)                                                                    \
    X(PCSamplingSetConfigurationAttribute, cupti_pc_settings)                                                          \
    X(PCSamplingGetData, cupti_pc_get)                                                                                 \
    X(GetCubinCrc, cupti_cubin_crc)

struct cupti_pc_functions {
#define CUPTI_PC_FUNCTION(name, type) int (*name)(struct type *);
    CUPTI_PC_FUNCTIONS(CUPTI_PC_FUNCTION)
#undef CUPTI_PC_FUNCTION
};

#endif
