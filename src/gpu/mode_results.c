/* The values of metrics in counter data images, range by range, as the range profiler in a program wrote them.
 *
 * Options: chip=NAME or device=N; list=PATH: a file whose first line has the metrics, under CUPTI's names and with
 * commas between them, and each other line the path of an image. Thousands of names are too long for an option. The
 * first image that cannot be evaluated is the last. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/cupti.h"
#include "base/text.h"
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu/frames/word_list.h"
#include "gpu_mode.h"

struct mode_results_names {
    const char **list; /* owned; the names are the file's */
    size_t count;
};

static int mode_results_refuse(enum gpu_refusal_id why, const char *path, const char *reason)
{
    frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, why, path, reason);
    return GPU_MODE_REFUSED;
}

/* Splits the line in place: 0, or -1 when memory is short. */
static int mode_results_split(char *line, struct mode_results_names *names)
{
    const char *rest = line, *word;
    size_t length;

    names->list = calloc(strlen(line) / 2 + 2, sizeof *names->list);
    while (names->list && word_list_next(&rest, &word, &length)) {
        line[word - line + (ptrdiff_t)length] = 0;
        if (length)
            names->list[names->count++] = word;
    }
    return names->list ? 0 : -1;
}

/* Returns CUPTI's result. */
static int send_ranges(const struct counters_host *host, const struct text *image, uint32_t number,
                       const struct mode_results_names *names)
{
    size_t bytes = sizeof(struct gpu_results) + names->count * sizeof(double);
    const uint8_t *data = (const uint8_t *)text_string(image);
    struct cupti_range_data_info info = { .data = data, .data_bytes = image->length };
    struct gpu_results *frame = calloc(1, bytes);
    int result = frame ? cupti_profiler_call(&counters_cupti, CUPTI_CALL_range_data_info, &info)
                       : CUPTI_RESULT_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; result == CUPTI_RESULT_SUCCESS && i < info.ranges; i++) {
        struct cupti_host_evaluate evaluate = { .host = host->object,
                                                .data = data,
                                                .data_bytes = image->length,
                                                .range = i,
                                                .names = names->list,
                                                .count = names->count,
                                                .values = frame->values };
        frame->image = number;
        frame->range = (uint32_t)i;
        frame->count = (uint32_t)names->count;
        result = cupti_profiler_call(&counters_cupti, CUPTI_CALL_host_evaluate, &evaluate);
        if (result == CUPTI_RESULT_SUCCESS)
            frames_add(GPU_FRAME_RESULTS, frame, bytes);
    }
    free(frame);
    return result;
}

static int send_image(const struct counters_host *host, const char *path, uint32_t number,
                      const struct mode_results_names *names)
{
    struct text image = { 0 };
    int status = 0, result = CUPTI_RESULT_ERROR_OUT_OF_MEMORY;

    if (text_add_file(&image, path) != 0) {
        status = mode_results_refuse(GPU_REFUSAL_FILE_UNREADABLE, path, strerror(errno));
        goto free_image;
    }
    if (!text_failed(&image))
        result = send_ranges(host, &image, number, names);
    if (result != CUPTI_RESULT_SUCCESS)
        status = mode_results_refuse(GPU_REFUSAL_RESULTS_REFUSED, path, counters_result_text(result));
free_image:
    text_free(&image);
    return status;
}

/* The end of the line, which becomes the end of a text; NULL: there is no line here. */
static char *mode_results_end_line(char *line)
{
    char *end = line ? strchr(line, '\n') : NULL;

    if (end)
        *end = 0;
    return end;
}

static int send_list(const struct counters_host *host, const char *path)
{
    struct text list = { 0 };
    struct mode_results_names names = { 0 };
    int status = 0;

    if (text_add_file(&list, path) != 0) {
        status = mode_results_refuse(GPU_REFUSAL_FILE_UNREADABLE, path, strerror(errno));
        goto free_list;
    }
    char *line = list.bytes, *end = mode_results_end_line(line);
    if (text_failed(&list) || !end || mode_results_split(line, &names) != 0) {
        status = mode_results_refuse(GPU_REFUSAL_FILE_UNREADABLE, path,
                                     end ? strerror(ENOMEM) : "it has no line of metrics");
        goto free_list;
    }
    for (uint32_t number = 0; !status && (end = mode_results_end_line(line = end + 1)); number++)
        status = send_image(host, line, number, &names);
free_list:
    free(names.list);
    text_free(&list);
    return status;
}

int gpu_mode_results(char **options)
{
    struct counters_host host;
    const char *list = gpu_option(options, "list");

    if (counters_begin(&host, gpu_option(options, "chip"), (unsigned)gpu_option_number(options, "device", 0), NULL))
        return GPU_MODE_REFUSED;
    int status = send_list(&host, list ? list : "");
    counters_host_close(&host);
    return status;
}
