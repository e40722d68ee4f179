/* Chips and architectures. NVIDIA's published rates follow from the two tables, which
 * tests/unit/flops_peaks.c checks; a chip that is not in the first table has rates too, by its compute capability. */
#include "gpu_peaks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"

/* Operations of a multiprocessor in a cycle, a fused multiply-add being two; dense. From the tables "throughput of
 * native arithmetic instructions" of the CUDA programming guide, and from the white papers of the architectures. */
static const struct architecture {
    int64_t capability;
    int per_cycle[RATE_MEMORY];
} architectures[] = {
    /*       fp64, fp64 tensor, fp32, tf32, fp16, fp8, int8, fp4 */
    { 70, { 64, 0, 128, 0, 1024, 0, 0, 0 } },                    /* Volta V100 white paper */
    { 75, { 4, 0, 128, 0, 1024, 0, 2048, 0 } },                  /* Turing white paper */
    { 80, { 64, 128, 128, 1024, 2048, 0, 4096, 0 } },            /* A100 white paper */
    { 86, { 4, 0, 256, 512, 1024, 0, 2048, 0 } },                /* Ampere GA102 white paper 2.0 */
    { 89, { 4, 0, 256, 512, 1024, 2048, 2048, 0 } },             /* Ada white paper 2.1 */
    { 90, { 128, 256, 256, 2048, 4096, 8192, 8192, 0 } },        /* H100 white paper 1.04 */
    { 100, { 128, 128, 256, 4096, 8192, 16384, 16384, 32768 } }, /* HGX B200 data sheet */
    { 120, { 4, 0, 256, 512, 1024, 2048, 2048, 4096 } },         /* RTX Blackwell white paper 1.1 */
    { 121, { 4, 0, 256, 512, 1024, 2048, 2048, 4096 } },         /* the same in GB10 */
};

/* Chips by their name in CUDA; the first row that the GPU's name contains counts. MHz are boost clocks; where the two
 * differ, tensor cores but for fp64 have the second. GB/s is memory. Beside each row is the document of NVIDIA that
 * should have the product's rates; these documents were not read. The rates of most rows were found on pages of others,
 * or their multiprocessors, clock and memory; docs/flops.md lists the rows of which not all was found. Clocks of tensor
 * cores of H100 PCIe and NVL, H200 NVL, B100, B200 and GB200 are the ones at which the published rates come out. */
static const struct chip {
    const char *name;
    int64_t capability, sm_count;
    int mhz, tensor_mhz, gb_s;
    int is_halved; /* tensor cores accumulate in fp32 at half the rate: GeForce; 2: int8 has half the rate too */
} chips[] = {
    { "V100-PCIE", 70, 80, 1380, 1380, 900, 0 },        /* V100 data sheet, 2020: 112 TFLOP/s */
    { "V100-SXM3", 70, 80, 1597, 1597, 981, 0 },        /* DGX-2 user guide */
    { "V100S", 70, 80, 1597, 1597, 1134, 0 },           /* V100 data sheet, 2020: 130 TFLOP/s */
    { "V100", 70, 80, 1530, 1530, 900, 0 },             /* V100 data sheet, 2020: 125 TFLOP/s */
    { "T4", 75, 40, 1590, 1590, 320, 0 },               /* T4 data sheet: 65 TFLOP/s */
    { "RTX 2070 SUPER", 75, 40, 1770, 1770, 448, 1 },   /* Turing white paper */
    { "RTX 2080 Ti", 75, 68, 1545, 1545, 616, 1 },      /* Turing white paper */
    { "A100-SXM4-80GB", 80, 108, 1410, 1410, 2039, 0 }, /* A100 data sheet, 2021: 312 TFLOP/s */
    { "A100 80GB PCIe", 80, 108, 1410, 1410, 1935, 0 }, /* A100 data sheet, 2021 */
    { "A100", 80, 108, 1410, 1410, 1555, 0 },           /* A100 data sheet, 2021: 40 GB */
    { "A30", 80, 56, 1440, 1440, 933, 0 },              /* A30 data sheet: 165 TFLOP/s */
    { "A40", 86, 84, 1740, 1740, 696, 0 },              /* A40 data sheet: 149.7 TFLOP/s */
    { "A10", 86, 72, 1695, 1695, 600, 0 },              /* A10 data sheet: 125 TFLOP/s */
    { "RTX A6000", 86, 84, 1800, 1800, 768, 0 },        /* Ampere GA102 white paper 2.0, appendix C */
    { "RTX 3090 Ti", 86, 84, 1860, 1860, 1008, 1 },     /* GeForce product page */
    { "RTX 3090", 86, 82, 1695, 1695, 936, 1 },         /* Ampere GA102 white paper 2.0, appendix A: 71 TFLOP/s */
    { "RTX 3080 Ti", 86, 80, 1665, 1665, 912, 1 },      /* GeForce product page */
    { "RTX 3080", 86, 68, 1710, 1710, 760, 1 },         /* Ampere GA102 white paper 2.0: 59.5 TFLOP/s */
    { "RTX 3070", 86, 46, 1725, 1725, 448, 1 },         /* Ampere GA102 white paper 2.0, appendix A: 40.6 TFLOP/s */
    { "RTX 3060", 86, 28, 1777, 1777, 360, 1 },         /* GeForce product page */
    { "L40S", 89, 142, 2520, 2520, 864, 0 },            /* L40S data sheet: 362 TFLOP/s */
    { "L40", 89, 142, 2490, 2490, 864, 2 },             /* L40 data sheet: 181 TFLOP/s */
    { "L4", 89, 58, 2040, 2040, 300, 0 },               /* L4 data sheet: 121 TFLOP/s */
    { "RTX 6000 Ada", 89, 142, 2505, 2505, 960, 0 },    /* RTX 6000 Ada data sheet: 91.1 TFLOP/s fp32 */
    { "RTX 4090", 89, 128, 2520, 2520, 1008, 1 },       /* Ada white paper 2.1, appendix A: 165.2 TFLOP/s */
    { "RTX 4080", 89, 76, 2505, 2505, 717, 1 },         /* Ada white paper 2.1, appendix A: 97.5 TFLOP/s */
    { "RTX 4070 Ti", 89, 60, 2610, 2610, 504, 1 },      /* Ada white paper 2.1, appendix A: 80.2 TFLOP/s */
    { "RTX 4070", 89, 46, 2475, 2475, 504, 1 },         /* GeForce product page */
    { "RTX 4060", 89, 24, 2460, 2460, 272, 1 },         /* GeForce product page */
    { "H100 PCIe", 90, 114, 1755, 1620, 2039, 0 },      /* H100 white paper 1.04: 756 TFLOP/s */
    { "H100 NVL", 90, 132, 1785, 1545, 3938, 0 },       /* H100 NVL data sheet: 835 TFLOP/s */
    { "H100", 90, 132, 1980, 1830, 3352, 0 },           /* H100 white paper 1.04: 989.4 TFLOP/s, SXM5 */
    { "GH200 144G", 90, 132, 1980, 1830, 4915, 0 },     /* GH200 data sheet: HBM3e */
    { "GH200", 90, 132, 1980, 1830, 4022, 0 },          /* GH200 data sheet: 990 TFLOP/s, HBM3 */
    { "H200 NVL", 90, 132, 1785, 1545, 4814, 0 },       /* H200 data sheet: 835 TFLOP/s */
    { "H200", 90, 132, 1980, 1830, 4814, 0 },           /* H200 data sheet: 989 TFLOP/s */
    { "GB200", 100, 148, 2112, 2062, 8000, 0 },         /* GB200 NVL72 data sheet: 2.5 PFLOP/s a GPU */
    { "B200", 100, 148, 1980, 1856, 7700, 0 },          /* HGX B200 data sheet: 2.25 PFLOP/s */
    { "B100", 100, 148, 1600, 1443, 7700, 0 },          /* HGX B100 data sheet: 1.75 PFLOP/s */
    { "RTX PRO 6000", 120, 188, 2617, 2617, 1792, 0 },  /* RTX PRO 6000 Blackwell data sheet: 126 TFLOP/s fp32 */
    { "RTX 5090", 120, 170, 2407, 2407, 1792, 1 },      /* RTX Blackwell white paper 1.1: 209.5 TFLOP/s */
    { "RTX 5080", 120, 84, 2617, 2617, 960, 1 },        /* RTX Blackwell white paper 1.1: 112.6 TFLOP/s */
    { "RTX 5070 Ti", 120, 70, 2452, 2452, 896, 1 },     /* RTX Blackwell white paper 1.1: 87.9 TFLOP/s */
    { "RTX 5070", 120, 48, 2512, 2512, 672, 1 },        /* RTX Blackwell white paper 1.1: 61.7 TFLOP/s */
};

static int gpu_peaks_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Whether a name has these words: "RTX 4090" is not in "RTX 4090 Laptop GPU", nor "A10" in "A100". */
static int has_words(const char *name, const char *words)
{
    static const char *const variants[] = { " Ti", " SUPER", " D", " Laptop", " Blackwell Max-Q", " MaxQ" };
    size_t length = strlen(words);

    for (const char *at = name; (at = strstr(at, words)) != NULL; at++) {
        const char *behind = at + length;
        int is_variant = 0;
        for (size_t i = 0; i < COUNT_OF(variants); i++) {
            size_t more = strlen(variants[i]);
            is_variant |= strncmp(behind, variants[i], more) == 0 && !gpu_peaks_is_word(behind[more]);
        }
        if (!is_variant && !gpu_peaks_is_word(*behind) && (at == name || !gpu_peaks_is_word(at[-1])))
            return 1;
    }
    return 0;
}

static const struct chip *find_chip(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(chips); i++)
        if (has_words(name, chips[i].name))
            return &chips[i];
    return NULL;
}

static const struct architecture *find_architecture(int64_t capability)
{
    for (size_t i = 0; i < COUNT_OF(architectures); i++)
        if (architectures[i].capability == capability)
            return &architectures[i];
    return NULL;
}

struct gpu_peaks gpu_peaks_of(const struct gpu_facts *facts)
{
    struct gpu_peaks out = { 0 };
    const struct chip *chip = find_chip(facts->name);
    int is_plausible = facts->compute_major > 0 && facts->compute_major < 100 && facts->compute_minor >= 0 &&
                       facts->compute_minor < 10;
    int64_t reported = is_plausible ? facts->compute_major * 10 + facts->compute_minor : 0;
    const struct architecture *architecture = find_architecture(chip ? chip->capability : reported);
    double sm_count = (double)(facts->sm_count > 0 ? facts->sm_count : chip ? chip->sm_count : 0);
    double clock = chip ? chip->mhz * 1e6 : (double)facts->clock_hz;
    double tensor_clock = chip ? chip->tensor_mhz * 1e6 : clock;
    int is_halved = chip ? chip->is_halved : facts->name && strstr(facts->name, "GeForce") != NULL;

    for (int rate = 0; architecture && rate < RATE_MEMORY; rate++) {
        double cycles = rate < RATE_TF32 ? clock : tensor_clock;
        out.rate[rate] = sm_count * cycles * architecture->per_cycle[rate];
        if (is_halved &&
            (rate == RATE_TF32 || rate == RATE_FP16 || rate == RATE_FP8 || (is_halved == 2 && rate == RATE_INT8)))
            out.rate[rate] /= 2;
    }
    out.rate[RATE_MEMORY] = facts->memory_bytes_s > 0 ? (double)facts->memory_bytes_s : chip ? chip->gb_s * 1e9 : 0;
    return out;
}

/* ---- rates that the user gives --------------------------------------------------------------------------------- */

static const char *const gpu_peaks_names[GPU_RATES] = {
    [RATE_FP64] = "fp64",     [RATE_FP64_TENSOR] = "fp64_tensor",
    [RATE_FP32] = "fp32",     [RATE_TF32] = "tf32",
    [RATE_FP16] = "bf16",     [RATE_FP8] = "fp8",
    [RATE_INT8] = "int8",     [RATE_FP4] = "fp4",
    [RATE_MEMORY] = "memory",
};

const char *gpu_rate_name(enum gpu_rate rate)
{
    return gpu_peaks_names[rate];
}

static int find_rate(const char *text, size_t length)
{
    if (length == 4 && memcmp(text, "fp16", 4) == 0)
        return RATE_FP16;
    for (int rate = 0; rate < GPU_RATES; rate++)
        if (strlen(gpu_peaks_names[rate]) == length && memcmp(text, gpu_peaks_names[rate], length) == 0)
            return rate;
    return -1;
}

int gpu_peaks_set(struct gpu_peaks *peaks, const char *list, struct error *err)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, "=");
        int rate = find_rate(at, length);
        char *end = NULL;
        double value = at[length] ? strtod(at + length + 1, &end) : 0;
        if (rate < 0 || !end || (*end && !strchr(",+", *end)) || !(value > 0) || value > 1e9)
            return error_set(err, ERR_BAD_ARGUMENT,
                             "invalid peak '%s': use TYPE=TFLOP/s or memory=GB/s, such as bf16=989,memory=4800; types "
                             "are fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp8, int8 and fp4",
                             at);
        peaks->rate[rate] = value * (rate == RATE_MEMORY ? 1e9 : 1e12);
        at = *end ? end + 1 : end;
    }
    return 0;
}

/* ---- the GPU of a report --------------------------------------------------------------------------------------- */

/* The GPU of the first kernel; -1 if there are none. */
static int first_gpu(struct report *report, int64_t *out, struct error *err)
{
    struct gpu_ops kernels;
    struct gpu_devices devices = { 0 };
    int code;

    *out = -1;
    if ((code = gpu_read(&kernels, report, GPU_KERNEL, (const char *const[]){ NULL }, err)) != 0)
        return code;
    if (!kernels.count || (code = gpu_devices_read(&devices, report, err)) != 0)
        goto free_kernels;
    *out = gpu_device_of(&devices, kernels.process[0], kernels.device[0]);
    gpu_devices_free(&devices);
free_kernels:
    gpu_free(&kernels);
    return code;
}

int gpu_peaks_read(struct gpu_peaks *peaks, struct report *report, const char *list, struct error *err)
{
    enum { ID, NAME, MAJOR, MINOR, SM_COUNT, CLOCK, MEMORY };
    static const char *const columns[] = { "id",      "name",      "computeMajor",    "computeMinor",
                                           "smCount", "clockRate", "memoryBandwidth", NULL };
    struct row_cursor rows;
    int64_t gpu;
    int code;

    *peaks = (struct gpu_peaks){ 0 };
    if ((code = first_gpu(report, &gpu, err)) != 0 ||
        (code = row_cursor_open(&rows, report, "TARGET_INFO_GPU", columns, err)) != 0)
        return code;
    for (int is_found = 0; !is_found && row_cursor_next(&rows);) { /* of a number that no GPU has: the last */
        is_found = gpu < 0 || row_int(&rows, ID) == gpu;
        *peaks = gpu_peaks_of(&(struct gpu_facts){
            .name = row_is_null(&rows, NAME) ? NULL : report_string(report, row_int(&rows, NAME), NULL),
            .compute_major = row_int_or(&rows, MAJOR, 0),
            .compute_minor = row_int_or(&rows, MINOR, 0),
            .sm_count = row_int_or(&rows, SM_COUNT, 0),
            .clock_hz = row_int_or(&rows, CLOCK, 0),
            .memory_bytes_s = row_int_or(&rows, MEMORY, 0),
        });
    }
    row_cursor_close(&rows);
    return list ? gpu_peaks_set(peaks, list, err) : 0;
}
