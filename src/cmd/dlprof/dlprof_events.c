/* TensorBoard's events file: TFRecords of the message Event. A record is its length, a checksum of that, the message
 * and a checksum of it. The few fields that scalars need are written by hand:
 *
 *     Event: 1 double wall_time, 2 int64 step, 3 string file_version, 5 Summary
 *     Summary: 1 Value, repeated
 *     Value: 1 string tag, 2 float simple_value */
#include <stdint.h>
#include <string.h>

#include "dlprof_write.h"

/* ---- records -------------------------------------------------------------------------------------------------------
 */

/* CRC-32C, as TFRecords mask it. */
static uint32_t checksum(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8);
}

static void add_number(struct text *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        text_add_char(out, (char)(number >> 8 * i & 0xff));
}

static void add_record(struct text *out, const struct text *message)
{
    size_t begin = out->length;

    add_number(out, message->length, 8);
    if (text_failed(out))
        return;
    add_number(out, checksum(out->bytes + begin, 8), 4);
    text_add_bytes(out, text_string(message), message->length);
    add_number(out, checksum(text_string(message), message->length), 4);
}

/* ---- messages ------------------------------------------------------------------------------------------------------
 */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static void add_varint(struct text *out, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        text_add_char(out, (char)((number & 0x7f) | 0x80));
    text_add_char(out, (char)number);
}

static void add_key(struct text *out, unsigned field, unsigned wire)
{
    add_varint(out, field << 3 | wire);
}

static void add_bytes(struct text *out, unsigned field, const char *bytes, size_t length)
{
    add_key(out, field, WIRE_BYTES);
    add_varint(out, length);
    text_add_bytes(out, bytes, length);
}

static void add_wall_time(struct text *out, double time_s)
{
    uint64_t bits;

    memcpy(&bits, &time_s, sizeof bits);
    add_key(out, 1, WIRE_64);
    add_number(out, bits, 8);
}

static void add_value(struct text *summary, const char *tag, double value)
{
    float real = (float)value;
    uint32_t bits;
    struct text message = { 0 };

    memcpy(&bits, &real, sizeof bits);
    add_bytes(&message, 1, tag, strlen(tag));
    add_key(&message, 2, WIRE_32);
    add_number(&message, bits, 4);
    add_bytes(summary, 1, text_string(&message), message.length);
    text_free(&message);
}

/* ---- scalars -------------------------------------------------------------------------------------------------------
 */

static const char *const use_tags[USES] = {
    [USE_TENSOR_CORES] = "dlprof/Tensor Core Kernel Duration %",
    [USE_OTHER_KERNELS] = "dlprof/Non-Tensor Core Kernel Duration %",
    [USE_MEMORY] = "dlprof/Memory Duration %",
    [USE_LOADING] = "dlprof/Dataloader Duration %",
    [USE_IO] = "dlprof/IO Duration %",
    [USE_CPU] = "dlprof/CPU Duration %",
    [USE_OTHER] = "dlprof/Other Duration %",
};

static void add_iteration(struct text *out, const struct dlprof_usage *usage, size_t iteration, double time_s)
{
    struct text summary = { 0 }, event = { 0 };

    add_value(&summary, "dlprof/Iteration Time (ns)", (double)usage->wall_ns);
    add_value(&summary, "dlprof/GPU Utilization %", usage->gpu);
    add_value(&summary, "dlprof/Tensor Core Kernel Utilization %", usage->tensor_cores);
    for (int use = 0; use < USES; use++)
        add_value(&summary, use_tags[use], usage->percent[use]);
    add_wall_time(&event, time_s);
    add_key(&event, 2, WIRE_VARINT);
    add_varint(&event, iteration);
    add_bytes(&event, 5, text_string(&summary), summary.length);
    add_record(out, &event);
    text_free(&event);
    text_free(&summary);
}

int dlprof_add_events(struct text *out, const struct dlprof *dlprof, double start_s, struct error *err)
{
    static const char version[] = "brain.Event:2";
    struct text event = { 0 };

    add_wall_time(&event, start_s);
    add_bytes(&event, 3, version, sizeof version - 1);
    add_record(out, &event);
    text_free(&event);
    for (size_t i = dlprof->first; i <= dlprof->last; i++) {
        struct dlprof_usage usage;
        int code = dlprof_usage_read(&usage, dlprof, i, i, err);
        if (code != 0)
            return code;
        add_iteration(out, &usage, i, start_s + (double)dlprof->ends[i] / 1e9);
    }
    return 0;
}
