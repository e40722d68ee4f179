/* Small files of the system, such as those of /proc and /sys. */
#ifndef TACHO_CMD_DOCTOR_SYSTEM_FILE_H
#define TACHO_CMD_DOCTOR_SYSTEM_FILE_H

/* Reads a file's first line without its newline; "" if it cannot be read. root is "" except in tests, where a
 * directory stands for "/". */
void system_file_read_line(const char *root, const char *path, char *out, int size);

#endif
