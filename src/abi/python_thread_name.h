/* The name of a Python thread, threading.Thread(name=…), read out of the memory of its program. */
#ifndef TACHO_ABI_PYTHON_THREAD_NAME_H
#define TACHO_ABI_PYTHON_THREAD_NAME_H

#include "python_layout.h"

#define PYTHON_THREAD_NAME_MAX 64 /* bytes, with the zero at the end; longer names are truncated */

/* outermost: the outermost frame of a thread. PYTHON_TORN if the thread does not come from the module threading, as
 * the main thread, or if the version is 3.14, which gives its threads names that the kernel knows. */
enum python_status python_thread_name(const struct python_runtime *python, const struct python_memory *memory,
                                      const struct python_frame *outermost, char name[PYTHON_THREAD_NAME_MAX]);

/* The same of the Thread object. */
enum python_status python_thread_object_name(const struct python_runtime *python, const struct python_memory *memory,
                                             uint64_t object, char name[PYTHON_THREAD_NAME_MAX]);

#endif
