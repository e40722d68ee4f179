/* GPU metrics as a source: power, clocks and activity of whole GPUs, which the program tacho-gpu reads.
 *
 * Where the user did not ask for them, they are read from the moment at which CUDA shows its GPUs to a process, and
 * only of these. Frames wait here for a while before they become rows: a capture range that has ended is known a little
 * later. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/core/collector.h"
#include "collect/gpu/gpu_probe.h"
#include "collect/gpu/gpu_rows.h"
#include "collect/gpu/gpu_target.h"
#include "collect/process/process.h"
#include "collect/sources/cuda/cuda_setup.h"
#include "gpu_sampler.h"

#define BEGIN_NS INT64_C(5000000000) /* the program waits at most this long for counters */
#define HOLD_NS 250000000 /* a switch of recording is read within this time */
enum { LONGEST_LIST = 4000 };
enum { READINGS, COUNTERS, STREAMS }; /* of NVML and GPM, and of CUPTI */
#define COUNTERS_ROUND_NS 100000000   /* tacho-gpu fetches samples of counters at this interval */

struct gpu_state {
    struct gpu_stream {
        struct gpu_sampler *sampler; /* NULL: nothing is read */
        struct text frames;          /* taken from the sampler, from `at` on not yet rows */
        size_t at;
    } streams[STREAMS];
    struct gpu_rows *rows;
    uint32_t of_cuda;       /* GPUs of CUDA that are read */
    struct gpu_span *spans; /* in which recording was on, for the frames that are left; the last may be open */
    size_t span_count, span_capacity;
    int64_t closing_ns, closing_sum_ns; /* of a span that is about to end: its start, and recorded_ns then */
    int is_closing;
};

static struct gpu_state *gpu_collect_state_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_GPU];
}

static struct cuda_gpus *gpu_collect_ids_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_CUDA];
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------ */

static int read_digits(const char *text, unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        text += *text == '-';
        if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) || sscanf(text, "%2x", &byte) != 1)
            return -1;
        bytes[i] = (unsigned char)byte;
        text += 2;
    }
    return 0;
}

/* The number of a GPU of NVML among those of CUDA. */
static uint32_t gpu_collect_find_gpu(void *context, const struct gpu_device *facts)
{
    unsigned char uuid[16] = { 0 };
    unsigned domain = 0, bus = 0, device = 0, function = 0;

    if (read_digits(gpu_target_uuid(facts), uuid, sizeof uuid) != 0)
        snprintf((char *)uuid, sizeof uuid, "%.15s", facts->uuid);
    sscanf(facts->bus_id, "%x:%x:%x.%x", &domain, &bus, &device, &function);
    return cuda_gpus_find(gpu_collect_ids_of(context), uuid,
                          (uint64_t)domain << 32 | bus << 16 | device << 8 | function, 0);
}

/* A GPU that CUDA does not show to the program gets its row from NVML. */
static void write_gpus(struct collector *collector)
{
    const struct gpu_device *facts;
    uint32_t gpu;

    for (size_t i = 0; (facts = gpu_rows_device(gpu_collect_state_of(collector)->rows, i, &gpu)); i++)
        if (gpu < CUDA_GPUS_MAX && !gpu_collect_ids_of(collector)->list[gpu].is_of_cuda)
            gpu_target_row(collector->writer, COLLECTOR_VM_ID, facts, gpu);
}

/* ---- Spans ----------------------------------------------------------------------------------------------------- */

static void gpu_collect_add_span(struct gpu_state *state, int64_t start_ns, int64_t end_ns)
{
    if (array_reserve(&state->spans, &state->span_capacity, state->span_count + 1, sizeof *state->spans) == 0)
        state->spans[state->span_count++] = (struct gpu_span){ start_ns, end_ns };
}

/* The collector adds the length of a span to recorded_ns once it has ended. */
static void close_span(struct collector *collector)
{
    struct gpu_state *state = gpu_collect_state_of(collector);

    if (state->is_closing)
        gpu_collect_add_span(state, state->closing_ns,
                             state->closing_ns + collector->recorded_ns - state->closing_sum_ns);
    state->is_closing = 0;
}

static void gpu_collect_switching(struct collector *collector, int on)
{
    struct gpu_state *state = gpu_collect_state_of(collector);

    close_span(collector);
    state->is_closing = !on && collector->is_recording;
    state->closing_ns = collector->recording_since_ns;
    state->closing_sum_ns = collector->recorded_ns;
}

/* The span that a time lies in; NULL: recording was off. */
static const struct gpu_span *gpu_collect_span_at(const struct gpu_state *state, const struct gpu_span *open,
                                                  int64_t time_ns)
{
    for (size_t i = 0; i < state->span_count; i++)
        if (time_ns >= state->spans[i].start_ns && time_ns <= state->spans[i].end_ns)
            return &state->spans[i];
    return open && time_ns >= open->start_ns ? open : NULL;
}

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

/* Forgets the frames that are rows. */
static void forget_frames(struct gpu_stream *stream)
{
    if (stream->at)
        memmove(stream->frames.bytes, stream->frames.bytes + stream->at, stream->frames.length - stream->at);
    stream->frames.length -= stream->at;
    stream->at = 0;
}

static void forget_spans(struct gpu_state *state, int64_t until_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < state->span_count; i++)
        if (state->spans[i].end_ns > until_ns)
            state->spans[kept++] = state->spans[i];
    state->span_count = kept;
}

/* A frame of samples may reach over several spans. */
static void take_frame(struct gpu_state *state, const struct gpu_frame *frame, const void *payload,
                       const struct gpu_span *open)
{
    int64_t time_ns = gpu_rows_time(state->rows, frame, payload);

    if (frame->type != GPU_FRAME_SAMPLES) {
        gpu_rows_take(state->rows, frame, payload, gpu_collect_span_at(state, open, time_ns));
        return;
    }
    for (size_t i = 0; i < state->span_count; i++)
        gpu_rows_take(state->rows, frame, payload, &state->spans[i]);
    if (open)
        gpu_rows_take(state->rows, frame, payload, open);
}

/* Makes rows of the frames up to this time. */
static void write_stream(struct collector *collector, struct gpu_stream *stream, int64_t until_ns)
{
    struct gpu_state *state = gpu_collect_state_of(collector);
    struct gpu_span open = { collector->recording_since_ns, INT64_MAX };

    gpu_rows_lose(state->rows, gpu_sampler_take(stream->sampler, &stream->frames));
    while (stream->at + sizeof(struct gpu_frame) <= stream->frames.length) {
        struct gpu_frame frame;
        memcpy(&frame, stream->frames.bytes + stream->at, sizeof frame);
        const void *payload = stream->frames.bytes + stream->at + sizeof frame;
        if (stream->at + sizeof frame + frame.bytes > stream->frames.length ||
            gpu_rows_time(state->rows, &frame, payload) > until_ns)
            break;
        take_frame(state, &frame, payload, collector->is_recording ? &open : NULL);
        stream->at += sizeof frame + frame.bytes;
    }
    forget_frames(stream);
}

static void gpu_collect_write_rows(struct collector *collector, int64_t until_ns)
{
    struct gpu_state *state = gpu_collect_state_of(collector);

    close_span(collector);
    for (size_t i = 0; i < STREAMS; i++)
        if (state->streams[i].sampler)
            write_stream(collector, &state->streams[i], until_ns);
    forget_spans(state, until_ns);
}

static void gpu_collect_tick(struct collector *collector)
{
    if (gpu_collect_state_of(collector)->rows)
        gpu_collect_write_rows(collector, collector_now(collector) - HOLD_NS);
}

/* ---- Start and end --------------------------------------------------------------------------------------------- */

/* A source that was asked for and is not used. */
static void gpu_collect_refuse(struct collector *collector, const char *text)
{
    gpu_rows_refuse(gpu_collect_state_of(collector)->rows, GPU_ORIGIN_NVML, GPU_ALL, text);
}

static struct gpu_sampler *start_readings(const struct collect_gpu_options *options, const char *devices)
{
    struct gpu_sampler_setup setup = { .mode = "monitor",
                                       .interval_ns = 1000000000 / options->frequency_hz,
                                       .devices = devices,
                                       .is_asked = options->is_asked };

    gpu_metrics_option(options->metrics, setup.options[0]);
    snprintf(setup.options[1], sizeof *setup.options, "interval_us=%u", 1000000 / options->frequency_hz);
    return gpu_sampler_start(&setup);
}

static struct gpu_sampler *start_counters(const struct collect_gpu_options *options, const char *devices)
{
    struct gpu_sampler_setup setup = {
        .mode = "sample", .interval_ns = COUNTERS_ROUND_NS, .has_rest = 1, .devices = devices, .is_asked = 1
    };

    snprintf(setup.options[0], sizeof *setup.options, "wanted=%s", options->counters);
    snprintf(setup.options[1], sizeof *setup.options, "interval_ns=%u", 1000000000 / options->counters_hz);
    return gpu_sampler_start(&setup);
}

static void gpu_collect_start(struct collector *collector, const char *devices)
{
    const struct collect_gpu_options *options = &collector->options->gpu;
    struct gpu_state *state = gpu_collect_state_of(collector);
    struct gpu_rows_setup setup = {
        .writer = collector->writer,
        .vm_id = COLLECTOR_VM_ID,
        .origin_ns = collector->clock.origin_ns,
        .metrics = options->metrics,
        .frequency_hz = options->frequency_hz,
        .counters_hz = options->counters_hz,
        .find_gpu = gpu_collect_find_gpu,
        .context = collector,
    };

    if (!(state->rows = gpu_rows_new(&setup)))
        return;
    if (!gpu_probe_has_driver()) {
        gpu_collect_refuse(collector, "There is no NVIDIA driver on this machine: /dev/nvidiactl is missing.");
        return;
    }
    int has_counters = options->counters_hz != 0;
    if (has_counters && strlen(options->counters) + sizeof "wanted=" > GPU_SAMPLER_OPTION_BYTES) {
        gpu_rows_refuse(state->rows, GPU_ORIGIN_COUNTERS, GPU_ALL,
                        "The list of counters is longer than 4,000 characters: sample fewer of them.");
        has_counters = 0;
    }
    state->streams[READINGS].sampler = start_readings(options, devices);
    if (has_counters)
        state->streams[COUNTERS].sampler = start_counters(options, devices);
    if (!state->streams[READINGS].sampler || (has_counters && !state->streams[COUNTERS].sampler))
        gpu_collect_refuse(collector, "Out of memory for a thread.");
}

/* A program that is about to start has not called exec yet. CUPTI takes about a second to begin; whoever asks for
 * counters of GPUs wants those of its first kernels too. */
static void gpu_collect_begin(struct collector *collector, pid_t pid)
{
    const struct collect_gpu_options *options = &collector->options->gpu;
    struct gpu_state *state = gpu_collect_state_of(collector);

    if (options->devices == COLLECT_GPU_ALL || options->devices == COLLECT_GPU_LIST)
        gpu_collect_start(collector, options->devices == COLLECT_GPU_LIST ? options->list : NULL);
    if (pid && state->streams[COUNTERS].sampler)
        gpu_sampler_await(state->streams[COUNTERS].sampler, BEGIN_NS);
}

static void list_gpus(const struct cuda_gpus *gpus, char out[LONGEST_LIST])
{
    const char *before = "";
    size_t at = 0;

    for (uint32_t i = 0; i < gpus->count && at < LONGEST_LIST; i++) {
        uint64_t pci = gpus->list[i].pci;
        if (!gpus->list[i].is_of_cuda)
            continue;
        at += (size_t)snprintf(out + at, LONGEST_LIST - at, "%s%04x:%02x:%02x.%x", before, (unsigned)(pci >> 32),
                               (unsigned)(pci >> 16 & 0xffff), (unsigned)(pci >> 8 & 0xff), (unsigned)(pci & 0xff));
        before = ",";
    }
}

/* Called often. CUDA has shown GPUs to a process: from now on they are read. */
static size_t gpu_collect_round_end(struct process *process, size_t budget, int is_all_read)
{
    struct collector *collector = process->collector;
    struct gpu_state *state = gpu_collect_state_of(collector);
    char list[LONGEST_LIST] = "";

    if (collector->options->gpu.devices != COLLECT_GPU_VISIBLE ||
        gpu_collect_ids_of(collector)->of_cuda == state->of_cuda)
        return 0;
    state->of_cuda = gpu_collect_ids_of(collector)->of_cuda;
    if (!collector->options->gpu.is_asked && !gpu_probe_has_driver())
        return 0;
    list_gpus(gpu_collect_ids_of(collector), list);
    for (size_t i = 0; i < STREAMS; i++)
        if (state->streams[i].sampler)
            gpu_sampler_set_devices(state->streams[i].sampler, list);
    if (!state->rows)
        gpu_collect_start(collector, list);
    return 0;
}

static void gpu_collect_end(struct collector *collector)
{
    for (size_t i = 0; i < STREAMS; i++)
        if (gpu_collect_state_of(collector)->streams[i].sampler)
            gpu_sampler_stop(gpu_collect_state_of(collector)->streams[i].sampler);
}

/* The weight of a refusal for the user; 0: not worth a word. GPM has nothing that counters have not. */
static int gpu_collect_weight(const struct collect_gpu_options *options, enum gpu_origin origin, int is_loss)
{
    if (is_loss)
        return 4;
    if (!options->is_asked || (origin == GPU_ORIGIN_GPM && options->counters_hz))
        return 0;
    return origin == GPU_ORIGIN_COUNTERS ? 3 : origin == GPU_ORIGIN_NVML ? 2 : 1;
}

/* What is recorded in place of counters. */
static const char *instead(const struct collector *collector)
{
    const struct gpu_rows *rows = gpu_collect_state_of(collector)->rows;
    int has_gpm = (collector->options->gpu.metrics & gpu_metrics_of_origin(GPU_ORIGIN_GPM)) != 0, is_loss;
    enum gpu_origin origin;

    for (size_t i = 0; gpu_rows_refusal(rows, i, &origin, &is_loss); i++)
        has_gpm &= origin != GPU_ORIGIN_GPM;
    return !gpu_rows_samples(rows) ? ""
           : has_gpm               ? " GPM and NVML are recorded instead."
                                   : " NVML is recorded instead.";
}

/* One sentence for the user: what broke, else the weightiest of what is missing. */
static void gpu_collect_warn(struct collector *collector, const char *failure)
{
    const struct gpu_rows *rows = gpu_collect_state_of(collector)->rows;
    enum gpu_origin origin;
    const char *text, *others = "";
    int is_loss, heaviest = 0;

    for (size_t i = 0; (text = gpu_rows_refusal(rows, i, &origin, &is_loss)) && !(failure && !heaviest); i++) {
        int own = gpu_collect_weight(&collector->options->gpu, origin, is_loss);
        if (own > heaviest) {
            heaviest = own;
            failure = text;
            others = origin == GPU_ORIGIN_COUNTERS && !is_loss ? instead(collector) : "";
        }
    }
    if (failure)
        collector_warn(collector, 0, "GPU metrics are incomplete. %s%s", failure, others);
}

/* The failure of a stream, as a sentence; "": there was none. */
static void gpu_collect_tell_failure(struct collector *collector, size_t stream, char sentence[400])
{
    static const enum gpu_origin origins[STREAMS] = { GPU_ORIGIN_NVML, GPU_ORIGIN_COUNTERS };
    struct gpu_sampler *sampler = gpu_collect_state_of(collector)->streams[stream].sampler;
    const char *failure = sampler ? gpu_sampler_failure(sampler) : NULL;

    if (!failure)
        return;
    snprintf(sentence, 400, "%c%s.", failure[0] == 'c' ? 'C' : failure[0], failure + 1);
    gpu_rows_refuse(gpu_collect_state_of(collector)->rows, origins[stream], GPU_ALL, sentence);
}

static void gpu_collect_finish(struct collector *collector)
{
    struct gpu_state *state = gpu_collect_state_of(collector);
    char failure[400] = "";

    if (!state->rows)
        return;
    for (size_t i = 0; i < STREAMS; i++)
        if (state->streams[i].sampler)
            gpu_sampler_join(state->streams[i].sampler);
    gpu_collect_write_rows(collector, INT64_MAX);
    for (size_t i = 0; i < STREAMS; i++)
        gpu_collect_tell_failure(collector, i, failure);
    write_gpus(collector);
    gpu_rows_finish(state->rows, collector_now(collector));
    gpu_collect_warn(collector, *failure ? failure : NULL);
    if (collector->primary)
        process_count_row(collector->primary, "gpu metrics", "recorded", "",
                          (int64_t)writer_rows(collector->writer, TABLE_GPU_METRICS));
}

static void gpu_collect_free_state(struct collector *collector)
{
    struct gpu_state *state = gpu_collect_state_of(collector);

    for (size_t i = 0; i < STREAMS; i++) {
        gpu_sampler_free(state->streams[i].sampler);
        text_free(&state->streams[i].frames);
    }
    gpu_rows_free(state->rows);
    free(state->spans);
}

const struct collect_source collect_source_gpu = {
    .state_bytes = sizeof(struct gpu_state),
    .begin = gpu_collect_begin,
    .switching = gpu_collect_switching,
    .tick = gpu_collect_tick,
    .end = gpu_collect_end,
    .finish = gpu_collect_finish,
    .free = gpu_collect_free_state,
    .round_end = gpu_collect_round_end,
};
