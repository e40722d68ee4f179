/* TensorBoard's events file: TFRecords of the message Event. A record is its length, a checksum of that, the message
 * and a checksum of it. The fields that scalars need:
 *
 *     Event: 1 double wall_time, 2 int64 step, 3 string file_version, 5 Summary
 *     Summary: 1 Value, repeated
 *     Value: 1 string tag, 2 float simple_value */
#include <stdint.h>
#include <string.h>

#include "dlprof_write.h"
#include "export/protobuf.h"

/* ---- records --------------------------------------------------------------------------------------------------- */

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

static void dlprof_events_add_record(struct text *out, const struct text *message)
{
    size_t begin = out->length;

    text_add_little_endian(out, message->length, 8);
    if (text_failed(out))
        return;
    text_add_little_endian(out, checksum(out->bytes + begin, 8), 4);
    text_add_bytes(out, text_string(message), message->length);
    text_add_little_endian(out, checksum(text_string(message), message->length), 4);
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

static void dlprof_events_add_value(struct text *summary, const char *tag, double value)
{
    float real = (float)value;
    uint32_t bits;
    struct text message = { 0 };

    memcpy(&bits, &real, sizeof bits);
    protobuf_bytes(&message, 1, tag, strlen(tag));
    text_add_varint(&message, 2 << 3 | WIRE_FIXED32);
    text_add_little_endian(&message, bits, 4);
    protobuf_message(summary, 1, &message);
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

    dlprof_events_add_value(&summary, "dlprof/Iteration Time (ns)", (double)usage->wall_ns);
    dlprof_events_add_value(&summary, "dlprof/GPU Utilization %", usage->gpu);
    dlprof_events_add_value(&summary, "dlprof/Tensor Core Kernel Utilization %", usage->tensor_cores);
    for (int use = 0; use < USES; use++)
        dlprof_events_add_value(&summary, use_tags[use], usage->percent[use]);
    protobuf_double(&event, 1, time_s);
    protobuf_varint(&event, 2, iteration);
    protobuf_message(&event, 5, &summary);
    dlprof_events_add_record(out, &event);
    text_free(&event);
    text_free(&summary);
}

int dlprof_add_events(struct text *out, const struct dlprof *dlprof, double start_s, struct error *err)
{
    static const char version[] = "brain.Event:2";
    struct text event = { 0 };

    protobuf_double(&event, 1, start_s);
    protobuf_bytes(&event, 3, version, sizeof version - 1);
    dlprof_events_add_record(out, &event);
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
