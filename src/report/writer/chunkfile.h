/* A report file under construction: appends whole chunks, remembers their offsets, and writes the index at the end.
 * Shared by the writer and by recovery; knows nothing of rows. One thread at a time. */
#ifndef TACHO_REPORT_WRITER_CHUNKFILE_H
#define TACHO_REPORT_WRITER_CHUNKFILE_H

#include "append_file.h"
#include "report/format/encode.h"

struct chunkfile_entry {
    uint64_t offset;
    struct chunk_header header;
};

struct chunkfile {
    struct append_file output;
    struct chunkfile_entry *chunks;
    size_t count, capacity;
    int recovered;    /* noted in the end chunk */
    int failed;       /* 0 or the ERR_ code of the last chunk, */
    int failed_errno; /* and its errno */
};

/* Creates the file and writes its header. If that fails, no file is left. */
int chunkfile_open(struct chunkfile *file, const char *path, int overwrite, struct error *err);

/* Appends a chunk. Its payload lies in bytes, after CHUNK_HEADER_SIZE bytes for the header. Leaves keep bytes of
 * space. */
int chunkfile_put(struct chunkfile *file, const struct encoded_chunk *encoded, uint64_t keep);

/* Space that the index and the end will need. */
uint64_t chunkfile_index_room(const struct chunkfile *file);

/* Writes the index and the end chunk. */
int chunkfile_finish(struct chunkfile *file, struct encoder *encoder);

/* Closes the file as it is and frees the memory. */
int chunkfile_close(struct chunkfile *file);

/* The same, and removes the file. */
void chunkfile_discard(struct chunkfile *file, const char *path);

#endif
