/* The part of NVML that Tacho uses: constants and layouts of libnvidia-ml.so.1, which are stable across drivers.
 * Functions are looked up by name (gpu/nvml/nvml_calls.def); one that a driver lacks makes its readings unavailable. */
#ifndef TACHO_ABI_NVML_H
#define TACHO_ABI_NVML_H

#include <stdint.h>

typedef struct nvml_device_handle *nvml_device;
typedef struct nvml_sample_handle *nvml_gpm_sample;

enum nvml_result {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_LIB_RM_VERSION_MISMATCH = 18,
    NVML_UNKNOWN = 999,
};

enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };
enum { NVML_POLICY_POWER = 0, NVML_POLICY_THERMAL = 1 };
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 };
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };
enum { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 };
enum {
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_NVLINK_DATA_TX = 138, /* KiB since the driver was loaded */
    NVML_FIELD_NVLINK_DATA_RX = 139,
    NVML_FIELD_POWER_INSTANT = 186,
};
enum { NVML_ALL_LINKS = 0xffffffffu }; /* the scope of a field of NVLink */

/* Of nvmlDeviceGetTopologyCommonAncestor. */
enum nvml_topology_level {
    NVML_TOPOLOGY_INTERNAL = 0,
    NVML_TOPOLOGY_SINGLE = 10,
    NVML_TOPOLOGY_MULTIPLE = 20,
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40,
    NVML_TOPOLOGY_SYSTEM = 50,
};

/* Of nvmlDeviceGetP2PStatus. */
enum nvml_peer_status {
    NVML_PEER_OK,
    NVML_PEER_CHIPSET_NOT_SUPPORTED,
    NVML_PEER_GPU_NOT_SUPPORTED,
    NVML_PEER_TOPOLOGY_NOT_SUPPORTED,
    NVML_PEER_DISABLED_BY_REGKEY,
    NVML_PEER_NOT_SUPPORTED,
    NVML_PEER_UNKNOWN,
};

enum { NVML_AFFINITY_NODE = 0 };
enum { NVML_NVLINKS_MOST = 36 };
enum { NVML_NVLINK_TO_GPU = 0x00, NVML_NVLINK_TO_NPU = 0x01, NVML_NVLINK_TO_SWITCH = 0x02 };

enum nvml_clock_reason {
    NVML_CLOCK_GPU_IDLE = 0x1,
    NVML_CLOCK_APPLICATION_SETTING = 0x2,
    NVML_CLOCK_SW_POWER_CAP = 0x4,
    NVML_CLOCK_HW_SLOWDOWN = 0x8,
    NVML_CLOCK_SYNC_BOOST = 0x10,
    NVML_CLOCK_SW_THERMAL = 0x20,
    NVML_CLOCK_HW_THERMAL = 0x40,
    NVML_CLOCK_HW_POWER_BRAKE = 0x80,
    NVML_CLOCK_DISPLAY_SETTING = 0x100,
};

struct nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
};

struct nvml_utilization {
    uint32_t gpu, memory;
};

struct nvml_memory {
    uint64_t total, free, used;
};

struct nvml_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 (sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_bar1_memory {
    uint64_t total, free, used;
};

struct nvml_violation {
    uint64_t reference_us, violation_ns;
};

enum nvml_value_type { NVML_DOUBLE, NVML_UINT, NVML_ULONG, NVML_ULONGLONG, NVML_LONGLONG, NVML_INT, NVML_USHORT };

struct nvml_field {
    uint32_t field, scope;
    int64_t time_us, latency_us;
    uint32_t type, result; /* enum nvml_value_type, enum nvml_result */
    union {
        double real;
        uint32_t uint;
        uint64_t ulong;
        int64_t longlong;
        int32_t integer;
        uint16_t ushort;
    } value;
};

/* Of nvmlDeviceGet{Compute,Graphics,MPSCompute}RunningProcesses_v3. */
struct nvml_process {
    uint32_t pid;
    uint64_t memory_bytes;
    uint32_t gpu_instance, compute_instance;
};

/* Of nvmlDeviceGetProcessUtilization. */
struct nvml_process_sample {
    uint32_t pid;
    uint64_t time_us;
    uint32_t sm, memory, encoder, decoder;
};

/* Of nvmlDeviceGetProcessesUtilizationInfo, drivers from 550. */
struct nvml_process_info {
    uint64_t time_us;
    uint32_t pid, sm, memory, encoder, decoder, jpeg, ofa;
};

struct nvml_processes_info {
    uint32_t version, count;
    uint64_t last_seen_us;
    struct nvml_process_info *processes;
};
#define NVML_PROCESSES_INFO_V1 (sizeof(struct nvml_processes_info) | 1u << 24)

struct nvml_gpm_support {
    uint32_t version, is_supported;
};

struct nvml_gpm_metric {
    uint32_t metric, result;
    double value;
    const char *short_name, *long_name, *unit;
};

struct nvml_gpm_metrics {
    uint32_t version, count;
    nvml_gpm_sample before, after;
    struct nvml_gpm_metric metrics[];
};
enum { NVML_GPM_V1 = 1 };

_Static_assert(sizeof(struct nvml_pci) == 68, "layout of nvmlPciInfo_t");
_Static_assert(NVML_MEMORY_V2 == 0x02000028, "version of nvmlMemory_v2_t");
_Static_assert(sizeof(struct nvml_field) == 40, "layout of nvmlFieldValue_t");
_Static_assert(sizeof(struct nvml_process) == 24, "layout of nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nvml_gpm_metric) == 40, "layout of nvmlGpmMetric_t");

#endif
