/* The file `counters` of the session's folder: metrics, CUPTI's configuration for them, the filter of launches. */
#include <fcntl.h>
#include <unistd.h>

#include "agent/core/arena_window.h"
#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "agent/counters/launch_filter.h"
#include "cuda_counters.h"

#define CONFIG (&counters.config)

static int counters_file_find_folder(void)
{
    const char *path = strchr(agent.session, '/');
    const char *end = path ? strrchr(path, '/') : NULL;
    if (!end || (size_t)(end - path) >= sizeof CONFIG->folder)
        return -1;
    memcpy(CONFIG->folder, path, (size_t)(end - path));
    return 0;
}

/* Private memory with the file in it, which may be changed; NULL: there is none. */
static char *map_file(const char *path, size_t *bytes)
{
    int file = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = file < 0 ? -1 : sys_call3(SYS_lseek, file, 0, SEEK_END);
    void *memory = length <= 0 ? NULL : sys_mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (file >= 0)
        sys_close(file);
    *bytes = length > 0 ? (size_t)length : 0;
    return memory && !sys_failed(memory) ? memory : NULL;
}

static void counters_file_take_line(const char *key, const char *value)
{
    if (strcmp(key, "chip") == 0)
        CONFIG->chip = value;
    else if (strcmp(key, "passes") == 0)
        CONFIG->passes = (uint32_t)small_number(value);
    else if (strcmp(key, "ranges") == 0)
        CONFIG->ranges = (uint32_t)small_number(value);
    else if (strcmp(key, "replay") == 0)
        CONFIG->replay = strcmp(value, "application") == 0 ? CUPTI_REPLAY_APPLICATION : CUPTI_REPLAY_KERNEL;
    else if (strcmp(key, "image") == 0)
        CONFIG->image_bytes = small_number(value);
    else if (strcmp(key, "ns") == 0)
        CONFIG->until_ns = sys_now_ns() + small_number(value);
    else if (strcmp(key, "bytes") == 0)
        CONFIG->most_bytes = small_number(value);
    else if (strcmp(key, "metric") == 0)
        CONFIG->metrics[CONFIG->metric_count++] = value;
    else
        launch_filter_add(key, value);
}

/* How many lines there are up to an empty one: no more metrics than that. */
static size_t counters_file_count_lines(const char *at, const char *end)
{
    size_t count = 0;

    for (const char *stop; at < end && *at != '\n' && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
        count++;
    return count;
}

/* Lines up to an empty one, then CUPTI's configuration. */
int counters_read_config(void)
{
    char path[COUNTERS_PATH_BYTES + 16] = "";
    size_t bytes = 0;

    if (counters_file_find_folder() != 0)
        return -1;
    small_text_add(path, sizeof path, CONFIG->folder);
    small_text_add(path, sizeof path, "/" WIRE_COUNTERS_FILE);
    char *at = map_file(path, &bytes);
    if (!at)
        return -1;
    const char *end = at + bytes;
    CONFIG->metrics = window_map(-1, 0, (counters_file_count_lines(at, end) + 1) * sizeof *CONFIG->metrics);
    if (!CONFIG->metrics)
        return -1;
    for (char *stop; at < end && *at != '\n'; at = stop + 1) {
        char *sign = memchr(at, '=', (size_t)(end - at));
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop || !sign || sign > stop)
            return -1;
        *sign = *stop = 0;
        counters_file_take_line(at, sign + 1);
    }
    if (launch_filter_most() && launch_filter_most() < CONFIG->ranges)
        CONFIG->ranges = (uint32_t)launch_filter_most();
    CONFIG->image = (const uint8_t *)at + 1;
    return at < end && CONFIG->image_bytes && CONFIG->image_bytes <= (size_t)(end - at) - 1 && CONFIG->chip &&
                   CONFIG->metric_count && CONFIG->ranges
               ? 0
               : -1;
}
