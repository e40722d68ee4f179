/* make_corpus FOLDER: writes the small reports from which fuzzing starts, one per thing that a file can contain. */
#include <stdio.h>
#include <stdlib.h>

#include "../../src/report/writer.h"

static uint64_t state = 42;

static int64_t noise(unsigned bits)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state >> (64 - bits));
}

static void add_event(struct writer *writer, int64_t i)
{
    struct row_NVTX_EVENTS row = {0};
    ROW_SET(&row, NVTX_EVENTS, start, i * 700 + noise(9));
    if (i % 5)
        ROW_SET(&row, NVTX_EVENTS, end, row.start + noise(12));
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, globalTid, INT64_C(0x1000000000000) * (i / 40 % 3) + 77);
    ROW_SET(&row, NVTX_EVENTS, textId, i % 4);
    ROW_SET(&row, NVTX_EVENTS, uint64Value, noise(64));
    if (i % 2)
        ROW_SET(&row, NVTX_EVENTS, doubleValue, (double)i / 3);
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

static void nothing(struct writer *writer) { (void)writer; }

static void events(struct writer *writer)
{
    writer_string(writer, "range", 5);
    for (int64_t i = 0; i < 300; i++)
        add_event(writer, i);
}

static void many_flushes(struct writer *writer)
{
    for (int64_t i = 0; i < 12; i++) {
        char name[32];
        writer_string(writer, name, (size_t)snprintf(name, sizeof name, "name %d", (int)i));
        add_event(writer, i);
        writer_flush(writer, NULL);
    }
}

static void strings(struct writer *writer)
{
    char text[400];
    for (int i = 0; i < 120; i++)
        writer_string(writer, text, (size_t)snprintf(text, sizeof text, "at::native::kernel<%*d>", 1 + i % 90, i * 31));
}

static void calls(struct writer *writer)
{
    for (int64_t i = 0; i < 200; i++) {
        struct row_OSRT_API row = {0};
        ROW_SET(&row, OSRT_API, start, i * 1000);
        ROW_SET(&row, OSRT_API, end, i * 1000 + noise(20));
        ROW_SET(&row, OSRT_API, globalTid, i % 2 ? INT64_MIN : INT64_MAX);
        ROW_SET(&row, OSRT_API, returnValue, i % 9 ? 1 : -1);
        writer_append(writer, TABLE_OSRT_API, &row);
    }
}

static const struct {
    const char *name;
    void (*fill)(struct writer *writer);
} seeds[] = {{"empty", nothing}, {"events", events}, {"many_flushes", many_flushes}, {"strings", strings}, {"calls", calls}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof seeds / sizeof *seeds; i++) {
        char path[4096];
        struct writer *writer;
        struct error err;
        snprintf(path, sizeof path, "%s/%s", argv[1], seeds[i].name);
        if (writer_open(path, &(struct writer_options){.overwrite = 1, .workers = 1}, &writer, &err)) {
            fprintf(stderr, "make_corpus: %s\n", err.text);
            return 1;
        }
        seeds[i].fill(writer);
        if (writer_close(writer, &err))
            return 1;
    }
    return argc != 2;
}
