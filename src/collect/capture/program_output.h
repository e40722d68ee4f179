/* The hidden output of a program (-w false): collected in memory files and stored in the report.
 *
 * They are files and not pipes, so that a program that outlives the collector never gets SIGPIPE. Holes are punched
 * where the data has been read, and data beyond STREAM_LIMIT is only counted, so memory stays bounded while the
 * collector lives. */
#ifndef TACHO_COLLECT_CAPTURE_PROGRAM_OUTPUT_H
#define TACHO_COLLECT_CAPTURE_PROGRAM_OUTPUT_H

#define STREAM_LIMIT (16u << 20)

struct collector;
struct capture_streams;

int program_output_open(struct capture_streams *streams);
void program_output_read(struct capture_streams *streams);
void program_output_store(struct collector *collector);
void program_output_close(struct capture_streams *streams);

#endif
