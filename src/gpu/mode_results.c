/* The values of metrics in a counter data image, range by range, as the range profiler in a program wrote it.
 *
 * Options: chip=NAME or device=N; metrics=LIST: names as CUPTI has them; data=PATH, or list=PATH: a file that has the
 * path of an image in each line. The first image that cannot be evaluated is the last. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/cupti.h"
#include "base/array.h"
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu_mode.h"

struct image {
    uint8_t *bytes; /* owned */
    size_t count, room;
    uint32_t number;
};

struct names {
    const char **list; /* owned */
    size_t count;
};

static int read_image(struct image *image, const char *path)
{
    enum { STEP = 1 << 20 };
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t got = -1;

    image->count = 0;
    if (file < 0)
        return -1;
    do {
        if (array_reserve(&image->bytes, &image->room, image->count + STEP, 1))
            break;
        got = read(file, image->bytes + image->count, STEP);
        image->count += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    close(file);
    return got == 0 ? 0 : -1;
}

/* Splits the list in place. */
static const char **split(char *list, size_t *count)
{
    const char **names = calloc(strlen(list) / 2 + 2, sizeof *names);

    *count = 0;
    while (names && *list) {
        size_t length = strcspn(list, ",");
        int is_last = !list[length];
        list[length] = 0;
        if (length)
            names[(*count)++] = list;
        list += length + !is_last;
    }
    return names;
}

/* Returns CUPTI's result. */
static int send_ranges(const struct counters_host *host, const struct image *image, const struct names *names)
{
    size_t count = names->count;
    struct cupti_range_data_info info = { .data = image->bytes, .data_bytes = image->count };
    size_t bytes = sizeof(struct gpu_results) + count * sizeof(double);
    struct gpu_results *frame = calloc(1, bytes);
    int result = frame ? cupti_profiler_call(&counters_cupti, CUPTI_CALL_range_data_info, &info)
                       : CUPTI_RESULT_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; result == CUPTI_RESULT_SUCCESS && i < info.ranges; i++) {
        struct cupti_host_evaluate evaluate = { .host = host->object,
                                                .data = image->bytes,
                                                .data_bytes = image->count,
                                                .range = i,
                                                .names = names->list,
                                                .count = count,
                                                .values = frame->values };
        frame->image = image->number;
        frame->range = (uint32_t)i;
        frame->count = (uint32_t)count;
        result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_host_evaluate, &evaluate);
        if (result == CUPTI_RESULT_SUCCESS)
            frames_add(GPU_FRAME_RESULTS, frame, bytes);
    }
    free(frame);
    return result;
}

static int send_image(const struct counters_host *host, struct image *image, const char *path,
                      const struct names *names)
{
    if (read_image(image, path)) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_FILE_UNREADABLE, path ? path : "(no file)",
                           strerror(errno));
        return GPU_MODE_REFUSED;
    }
    int result = names->list ? send_ranges(host, image, names) : CUPTI_RESULT_ERROR_INVALID_PARAMETER;
    image->number++;
    if (result == CUPTI_RESULT_SUCCESS)
        return 0;
    frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_RESULTS_REFUSED, path, counters_result_text(result));
    return GPU_MODE_REFUSED;
}

static int send_list(const struct counters_host *host, struct image *image, const char *path, const struct names *names)
{
    struct image list = { 0 };
    int status = 0;

    if (read_image(&list, path)) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, GPU_REFUSAL_FILE_UNREADABLE, path, strerror(errno));
        status = GPU_MODE_REFUSED;
    }
    char *line = (char *)list.bytes, *end = status ? line : line + list.count, *stop;
    for (; !status && line < end && (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
        *stop = 0;
        status = send_image(host, image, line, names);
    }
    free(list.bytes);
    return status;
}

int gpu_mode_results(char **options)
{
    struct counters_host host;
    struct image image = { 0 };
    struct names names = { 0 };
    const char *list = gpu_option(options, "list"), *metrics = gpu_option(options, "metrics");

    if (counters_begin(&host, gpu_option(options, "chip"), (unsigned)gpu_option_number(options, "device", 0), NULL))
        return GPU_MODE_REFUSED;
    names.list = metrics ? split((char *)metrics, &names.count) : NULL;
    int status = list ? send_list(&host, &image, list, &names)
                      : send_image(&host, &image, gpu_option(options, "data"), &names);
    free(image.bytes);
    free(names.list);
    counters_host_close(&host);
    return status;
}
