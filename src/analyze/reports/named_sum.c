/* Summaries of events that only have a name: debug ranges of graphics programs, calls of Vulkan and of the video
 * library. */
#include <string.h>

#include "analyze/registry.h"
#include "base/text.h"
#include "event_sum.h"

enum { TYPE_KHR_PUSHPOP = 62, TYPE_KHR_GPU_PUSHPOP = 63 }; /* KHR_DEBUG_EVENTS.eventClass, from ENUM_NSYS_EVENT_TYPE */
enum { KHR_TEXT, KHR_ID };
enum { SOURCE_ENCODER, SOURCE_DECODER, SOURCE_JPEG };

static void label_video(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    static const char *const types[] = {
        [SOURCE_ENCODER] = "NVENC", [SOURCE_DECODER] = "NVDEC", [SOURCE_JPEG] = "nvJPEG"
    };
    const char *type = types[event_kind(group)];

    texts[0] = (struct summary_text){ type, strlen(type) };
    texts[1].bytes = report_string(context, group->key.part[KEY_NAME], &texts[1].length);
}

struct khr_labels {
    struct report *report;
    struct text number;
};

/* Ranges without a text differ by their ids. */
static void label_khr(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    struct khr_labels *labels = context;

    if (event_kind(group) == KHR_TEXT) {
        event_label_name(labels->report, group, texts);
        return;
    }
    text_clear(&labels->number);
    text_addf(&labels->number, "%lld", (long long)group->key.part[KEY_NAME]);
    texts[0] = (struct summary_text){ text_string(&labels->number), labels->number.length };
}

static const struct summary_shape ranges_shape = { "Instances", { "Range" }, event_label_name, 0, NULL };
static const struct summary_shape khr_shape = { "Instances", { "Range" }, label_khr, 0, NULL };
static const struct summary_shape calls_shape = { "Num Calls", { "Name" }, event_label_name, 0, NULL };
static const struct summary_shape video_shape = { "Num Calls", { "Event Type", "Name" }, label_video, 0, NULL };

static int summarize_khr(struct report *report, const struct analysis_request *request, int64_t type,
                         struct table **out, struct error *err)
{
    const struct event_source source = {
        .table = "KHR_DEBUG_EVENTS",
        .kind = KHR_TEXT,
        .name = "textId",
        .number_or = "id",
        .number_kind = KHR_ID,
        .class_column = "eventClass",
        .class_value = type,
        .open_to_last = 1,
    };
    struct khr_labels labels = { .report = report };
    struct event_summary summary = { .sources = &source, .source_count = 1, .shape = &khr_shape, .context = &labels };
    int code = event_summarize(report, request, &summary, out, err);

    text_free(&labels.number);
    return code;
}

static int opengl_khr_range_sum(struct report *report, const struct analysis_request *request, struct table **out,
                                struct error *err)
{
    return summarize_khr(report, request, TYPE_KHR_PUSHPOP, out, err);
}

static int opengl_khr_gpu_range_sum(struct report *report, const struct analysis_request *request, struct table **out,
                                    struct error *err)
{
    return summarize_khr(report, request, TYPE_KHR_GPU_PUSHPOP, out, err);
}

static const char *const khr_tables[] = { "KHR_DEBUG_EVENTS", NULL };

const struct analysis analysis_opengl_khr_range_sum = {
    .name = "opengl_khr_range_sum",
    .title = "OpenGL KHR_debug Range Summary",
    .help = "CPU time in OpenGL KHR_debug groups, by name.",
    .needs = { { "KHR Extension (KHR_DEBUG) data", khr_tables } },
    .by_default = 8,
    .overlap = "ranges contain each other",
    .run = opengl_khr_range_sum,
    .divides = &khr_shape,
};

const struct analysis analysis_opengl_khr_gpu_range_sum = {
    .name = "opengl_khr_gpu_range_sum",
    .title = "OpenGL KHR_debug GPU Range Summary",
    .help = "GPU time in OpenGL KHR_debug groups, by name.",
    .needs = { { "GPU KHR Extension (KHR_DEBUG) data", khr_tables } },
    .by_default = 9,
    .overlap = "ranges contain each other",
    .run = opengl_khr_gpu_range_sum,
    .divides = &khr_shape,
};

const struct analysis analysis_vulkan_marker_sum = {
    .name = "vulkan_marker_sum",
    .title = "Vulkan Range Summary",
    .help = "CPU time in Vulkan debug ranges, by name.",
    .needs = { { "Vulkan Debug Extension (Vulkan Debug Util) data", TABLES("VULKAN_DEBUG_API") } },
    .by_default = 10,
    .overlap = "ranges contain each other",
    EVENT_SUM(&ranges_shape, { .table = "VULKAN_DEBUG_API", .name = "textId", .named_only = 1 }),
};

const struct analysis analysis_vulkan_gpu_marker_sum = {
    .name = "vulkan_gpu_marker_sum",
    .title = "Vulkan GPU Range Summary",
    .help = "GPU time in Vulkan debug ranges, by name.",
    .needs = { { "GPU Vulkan Debug Extension (GPU Vulkan Debug markers) data", TABLES("VULKAN_WORKLOAD") } },
    .by_default = 11,
    .overlap = "ranges contain each other",
    EVENT_SUM(&ranges_shape, { .table = "VULKAN_WORKLOAD", .name = "textId", .named_only = 1 }),
};

const struct analysis analysis_vulkan_api_sum = {
    .name = "vulkan_api_sum",
    .title = "Vulkan API Summary",
    .help = "Vulkan API time by function.",
    .needs = { { "Vulkan API data", TABLES("VULKAN_API") } },
    EVENT_SUM(&calls_shape, { .table = "VULKAN_API", .name = "nameId" }),
};

const struct analysis analysis_nvvideo_api_sum = {
    .name = "nvvideo_api_sum",
    .title = "NvVideo API Summary",
    .help = "Time in API calls of the video encoder, the video decoder and the JPEG decoder, by function.",
    .needs = { { "NvVideo API data", TABLES("NVVIDEO_ENCODER_API", "NVVIDEO_DECODER_API", "NVVIDEO_JPEG_API") } },
    EVENT_SUM(&video_shape, { .table = "NVVIDEO_ENCODER_API", .name = "nameId", .kind = SOURCE_ENCODER },
              { .table = "NVVIDEO_DECODER_API", .name = "nameId", .kind = SOURCE_DECODER },
              { .table = "NVVIDEO_JPEG_API", .name = "nameId", .kind = SOURCE_JPEG }),
};

const struct analysis analysis_dx11_pix_sum = {
    .name = "dx11_pix_sum",
    .title = "DX11 PIX Range Summary",
    .help = "Windows: CPU time in PIX ranges of Direct3D 11, by name.",
    .needs = { { "DX11 CPU debug markers", TABLES("D3D11_PIX_DEBUG_API") } },
    .by_default = 12,
    .overlap = "ranges contain each other",
    EVENT_SUM(&ranges_shape, { .table = "D3D11_PIX_DEBUG_API", .name = "textId", .named_only = 1 }),
};

const struct analysis analysis_dx12_gpu_marker_sum = {
    .name = "dx12_gpu_marker_sum",
    .title = "DX12 GPU Command List PIX Ranges Summary",
    .help = "Windows: GPU time in PIX ranges of Direct3D 12 command lists, by name.",
    .needs = { { "DX12 GPU debug markers", TABLES("DX12_WORKLOAD") } },
    .by_default = 13,
    .overlap = "ranges contain each other",
    EVENT_SUM(&ranges_shape, { .table = "DX12_WORKLOAD", .name = "textId", .named_only = 1 }),
};

const struct analysis analysis_dx12_pix_sum = {
    .name = "dx12_pix_sum",
    .title = "DX12 PIX Range Summary",
    .help = "Windows: CPU time in PIX ranges of Direct3D 12, by name.",
    .needs = { { "DX12 CPU debug markers", TABLES("D3D12_PIX_DEBUG_API") } },
    .by_default = 14,
    .overlap = "ranges contain each other",
    EVENT_SUM(&ranges_shape, { .table = "D3D12_PIX_DEBUG_API", .name = "textId", .named_only = 1 }),
};
