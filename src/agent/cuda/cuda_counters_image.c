/* Images: CUPTI counts into files of the session's folder, which the collector evaluates when all is over. */
#include <fcntl.h>
#include <unistd.h>

#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "cuda_counters.h"

#define IMAGE_MOST_BYTES ((size_t)256 << 20)

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* The file of the next image. Its number is one that no process of the session has used: whoever creates the file has
 * it. Pids would not do, because processes may be in different namespaces. Negative: there is none. */
__attribute__((noinline)) static int new_file(void)
{
    enum { ATTEMPTS = 1000 };
    int file = -EEXIST;

    for (int i = 0; i < ATTEMPTS && file == -EEXIST; i++) {
        char path[COUNTERS_PATH_BYTES + 64] = "";
        uint64_t mixed = (sys_now_ns() ^ (uint64_t)agent.pid << 40) * UINT64_C(0x9e3779b97f4a7c15);
        counters.image_number = counters.image_number ? counters.image_number + 1 : (uint32_t)(mixed >> 32);
        small_text_add(path, sizeof path, counters.config.folder);
        small_text_add(path, sizeof path, "/" WIRE_COUNTERS_FILE "-");
        small_text_add_number(path, sizeof path, counters.image_number);
        file = (int)sys_call6(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, 0, 0);
        if (file == -EEXIST)
            counters.image_number = 0;
    }
    return file;
}

/* A file of this size, mapped. Its blocks are there: in a hole of a full disk a write would kill the program. */
static uint8_t *new_image(size_t bytes)
{
    int file = new_file();
    if (file < 0)
        return NULL;
    void *memory = sys_call6(SYS_fallocate, file, 0, 0, (long)bytes, 0, 0) == 0
                       ? sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                       : NULL;
    sys_close(file);
    return memory && !sys_failed(memory) ? memory : NULL;
}

/* Reserves bytes of the budget that all processes of the session share. Returns -1 if it is exceeded. The sum is a word
 * in a file that they map. */
static int take_bytes(size_t bytes)
{
    static _Atomic uint64_t own, *sum;

    if (!sum) {
        char path[COUNTERS_PATH_BYTES + 32] = "";
        small_text_add(path, sizeof path, counters.config.folder);
        small_text_add(path, sizeof path, "/" WIRE_COUNTERS_SUM_FILE);
        int file = sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
        void *shared = file < 0 ? NULL : sys_mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0)
            sys_close(file);
        sum = shared && !sys_failed(shared) ? shared : &own;
    }
    return atomic_fetch_add(sum, bytes) + bytes > counters.config.most_bytes ? -1 : 0;
}

/* ---- Images ---------------------------------------------------------------------------------------------------- */

/* Fewer ranges where the image would become too large. */
static int image_size(const struct counted_context *context, size_t *bytes)
{
    struct counters_config *config = &counters.config;
    int result;
    for (;; config->ranges /= 2) {
        struct cupti_range_data_size size = { .profiler = context->profiler,
                                              .names = config->metrics,
                                              .count = config->metric_count,
                                              .ranges = config->ranges,
                                              .nodes = config->ranges };
        result = COUNTERS_CALL(range_data_size, size);
        *bytes = size.bytes;
        if (result != CUPTI_RESULT_SUCCESS || size.bytes <= IMAGE_MOST_BYTES || config->ranges <= 1)
            return result;
    }
}

void counters_drop_old_images(struct counted_context *context)
{
    struct counters_image *images[] = { &context->old, &context->refused };

    for (size_t i = 0; i < COUNT_OF(images); i++) {
        if (images[i]->memory)
            sys_munmap(images[i]->memory, images[i]->bytes);
        images[i]->memory = NULL;
    }
}

static int refuse_image(const char *why)
{
    counters_refuse(why, 0);
    return COUNTERS_REFUSED;
}

int counters_begin_image(struct counted_context *context)
{
    const struct counters_config *with = &counters.config;
    size_t bytes = 0;
    int result = image_size(context, &bytes);

    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    if (take_bytes(bytes) != 0)
        return refuse_image("The counters take more space in /tmp than they may (--gpu-counters-max-size).");
    uint8_t *image = new_image(bytes);
    if (!image)
        return refuse_image("There is no space for them in /tmp.");
    struct cupti_range_data_initialize empty = { .profiler = context->profiler, .bytes = bytes, .data = image };
    struct cupti_range_config config = { .profiler = context->profiler,
                                         .config_bytes = with->image_bytes,
                                         .config = with->image,
                                         .data_bytes = bytes,
                                         .data = image,
                                         .range = CUPTI_RANGE_AUTO,
                                         .replay = with->replay,
                                         .ranges = with->ranges,
                                         .nesting_levels = 1,
                                         .nesting_least = 1 };
    result = COUNTERS_CALL(range_data_initialize, empty);
    if (result == CUPTI_RESULT_SUCCESS)
        result = COUNTERS_CALL(range_config, config);
    if (result != CUPTI_RESULT_SUCCESS) { /* it may still have the old one, or have this one already */
        context->refused = (struct counters_image){ image, bytes };
        return result;
    }
    counters_drop_old_images(context);
    counters.image = image;
    counters.image_bytes = bytes;
    counters.used = 0;
    counters.now = context;
    return CUPTI_RESULT_SUCCESS;
}

/* Stops, and reports to the collector how many ranges the image has. */
void counters_end_image(void)
{
    if (!counters.now)
        return;
    int result = counters_stop();
    struct cupti_range_decode decode = { .profiler = counters.now->profiler };
    struct cupti_range_data_info info = { .data = counters.image, .data_bytes = counters.image_bytes };
    if (result == CUPTI_RESULT_SUCCESS && counters.used)
        result = COUNTERS_CALL(range_decode, decode);
    if (result == CUPTI_RESULT_SUCCESS && counters.used)
        result = COUNTERS_CALL(range_data_info, info);
    uint64_t words[] = { (uint64_t)counters.image_number << 32 | counters.used,
                         (uint64_t)info.ranges << 32 | (uint32_t)decode.dropped };
    cuda_emit(&(struct cuda_note){
        .type = WIRE_CUDA_COUNTERS_IMAGE, .a = (uint16_t)result, .words = words, .word_count = 2 });
    counters.now->old = (struct counters_image){ counters.image, counters.image_bytes };
    counters.image = NULL;
    counters.now = NULL;
    if (result != CUPTI_RESULT_SUCCESS)
        counters_refuse("", result);
}
