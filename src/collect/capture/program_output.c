/* The hidden output of a program: see program_output.h. */
#include "program_output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"

static int open_stream(struct capture_stream *stream, const char *name)
{
    stream->descriptor = memfd_create(name, MFD_CLOEXEC);
    /* O_APPEND, so that processes that open the file again do not overwrite each other's output. */
    return stream->descriptor >= 0 && fcntl(stream->descriptor, F_SETFL, O_APPEND) == 0 ? 0 : -1;
}

int program_output_open(struct capture_streams *streams)
{
    return open_stream(&streams->out, "stdout") == 0 && open_stream(&streams->err, "stderr") == 0 ? 0 : -1;
}

static void read_stream(struct capture_stream *stream)
{
    struct stat status;
    char buffer[65536];
    if (stream->descriptor < 0 || fstat(stream->descriptor, &status) != 0)
        return;
    if (status.st_size < stream->offset) /* the program has truncated it */
        stream->offset = 0;
    int64_t start = stream->offset;
    while (stream->offset < status.st_size) {
        ssize_t got = pread(stream->descriptor, buffer, sizeof buffer, stream->offset);
        if (got <= 0)
            break;
        size_t room = STREAM_LIMIT - stream->content.length, keep = (size_t)got < room ? (size_t)got : room;
        text_add_bytes(&stream->content, buffer, keep);
        stream->dropped += (size_t)got - keep;
        stream->offset += got;
    }
    if (stream->offset > start)
        fallocate(stream->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, stream->offset - start);
}

void program_output_read(struct capture_streams *streams)
{
    read_stream(&streams->out);
    read_stream(&streams->err);
}

static void program_output_keep(struct collector *collector, struct capture_stream *stream, const char *name)
{
    char file_name[64];
    if (stream->descriptor < 0 || !collector->primary)
        return;
    snprintf(file_name, sizeof file_name, "pid_%d_%s.log", (int)collector->primary->pid, name);
    struct row_ProcessStreams row = { 0 };
    ROW_SET(&row, ProcessStreams, globalPid, collector->primary->global_pid);
    ROW_SET(&row, ProcessStreams, filenameId, collector_string(collector, file_name));
    ROW_SET(&row, ProcessStreams, contentId,
            writer_string(collector->writer, text_string(&stream->content), stream->content.length));
    writer_append(collector->writer, TABLE_ProcessStreams, &row);
    if (stream->dropped)
        collector_warn(collector, collector->primary->global_pid,
                       "The last %llu bytes of the program's %s are not in the report, which keeps %u MiB of it.",
                       (unsigned long long)stream->dropped, name, STREAM_LIMIT >> 20);
}

void program_output_store(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    program_output_read(&capture->streams);
    program_output_keep(collector, &capture->streams.out, "stdout");
    program_output_keep(collector, &capture->streams.err, "stderr");
}

void program_output_close(struct capture_streams *streams)
{
    struct capture_stream *all[] = { &streams->out, &streams->err };
    for (size_t i = 0; i < 2; i++) {
        if (all[i]->descriptor >= 0)
            close(all[i]->descriptor);
        all[i]->descriptor = -1;
        text_free(&all[i]->content);
    }
}
