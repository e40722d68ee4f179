/* Standard input and output are one socket: the other side never writes, and a hang-up of it ends this program, even if
 * the other side was killed. */
#include "frames_out.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

enum { SEND_BYTES = 1 << 16, LONGEST_REFUSAL = 1024 };

static struct text pending;
static int is_over;

void frames_begin(void)
{
    uint64_t magic = GPU_HELLO_MAGIC;

    frames_add(GPU_FRAME_HELLO, &magic, sizeof magic);
}

void frames_add(enum gpu_frame_type type, const void *payload, size_t bytes)
{
    size_t padded = (bytes + 7) & ~(size_t)7;
    struct gpu_frame frame = { (uint32_t)type, (uint32_t)padded };

    text_add_bytes(&pending, &frame, sizeof frame);
    text_add_bytes(&pending, payload, bytes);
    text_add_repeat(&pending, 0, padded - bytes);
    if (pending.length >= SEND_BYTES)
        frames_send();
}

int refusal_set(struct refusal *refusal, enum gpu_refusal_id id, const char *first, const char *second)
{
    refusal->id = id;
    snprintf(refusal->texts[0], sizeof refusal->texts[0], "%s", first ? first : "");
    snprintf(refusal->texts[1], sizeof refusal->texts[1], "%s", second ? second : "");
    return -1;
}

void frames_refuse(enum gpu_origin origin, uint32_t device, const struct refusal *refusal)
{
    const char *const texts[] = { refusal->texts[0], refusal->texts[1] };
    struct {
        struct gpu_refusal head;
        char text[LONGEST_REFUSAL];
    } frame = { { .device = device, .origin = (uint32_t)origin, .why = (uint32_t)refusal->id }, { 0 } };

    gpu_refusal_write(frame.text, sizeof frame.text, refusal->id, device, texts);
    frames_add(GPU_FRAME_REFUSAL, &frame, sizeof frame.head + strlen(frame.text) + 1);
}

void frames_add_trial(uint32_t device, enum gpu_trial_source source, const struct refusal *why)
{
    const char *const texts[] = { why->texts[0], why->texts[1] };
    struct {
        struct gpu_trial head;
        char text[LONGEST_REFUSAL];
    } frame = { { .device = device, .source = (uint32_t)source, .why = (uint32_t)why->id }, { 0 } };

    gpu_refusal_write(frame.text, sizeof frame.text, why->id, device, texts);
    frames_add(GPU_FRAME_TRIAL, &frame, sizeof frame.head + strlen(frame.text) + 1);
}

void frames_add_refusal(enum gpu_origin origin, uint32_t device, enum gpu_refusal_id id, const char *first,
                        const char *second)
{
    struct refusal refusal;

    refusal_set(&refusal, id, first, second);
    frames_refuse(origin, device, &refusal);
}

int frames_send(void)
{
    size_t sent = 0;

    while (!is_over && sent < pending.length) {
        ssize_t wrote = write(STDOUT_FILENO, pending.bytes + sent, pending.length - sent);
        if (wrote > 0)
            sent += (size_t)wrote;
        else if (errno != EINTR)
            is_over = 1;
    }
    is_over |= text_failed(&pending);
    text_clear(&pending);
    return is_over ? -1 : 0;
}

void frames_end(void)
{
    frames_send();
    shutdown(STDOUT_FILENO, SHUT_WR);
    is_over = 1;
}

int frames_wait_until(int64_t time_ns)
{
    struct pollfd other = { .fd = STDIN_FILENO, .events = POLLIN };

    for (;;) {
        int64_t left_ns = time_ns - clock_monotonic_ns();
        int64_t wait_ns = left_ns > 0 ? left_ns : 0; /* one that is late must hear of the end too */
        struct timespec wait = { wait_ns / 1000000000, wait_ns % 1000000000 };
        if (ppoll(&other, 1, &wait, NULL) > 0)
            return -1;
        if (left_ns <= 0)
            return 0;
    }
}
