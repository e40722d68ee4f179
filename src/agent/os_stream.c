/* The functions that move one character of a stream. Nearly all of their calls touch the buffer alone and take a few
 * nanoseconds, less than reading a clock: those are counted as untimed. What is timed may go to the file.
 *
 * Whether the buffer has room is read from glibc's FILE, as its own getc_unlocked does; with another libc every call is
 * timed. It is read without the stream's lock: a wrong guess costs a measurement, never correctness.                  */
#include "os.h"

extern const char *gnu_get_libc_version(void) __attribute__((weak));

static inline int has_input(const FILE *stream)
{
    return gnu_get_libc_version && stream->_IO_read_ptr < stream->_IO_read_end;
}

static inline int has_room(const FILE *stream)
{
    return gnu_get_libc_version && stream->_IO_write_ptr < stream->_IO_write_end;
}

#define CHARACTER(symbol, parameters, arguments, in_buffer)                                                          \
    int os_hook_##symbol parameters                                                                                  \
    {                                                                                                                \
        struct agent_thread *thread = agent_enter(WIRE_BIT(OSRT));                                                   \
        if (unlikely(!thread))                                                                                       \
            return OS_REAL(symbol) arguments;                                                                        \
        if (likely(in_buffer)) {                                                                                     \
            agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);                                                     \
            return OS_REAL(symbol) arguments;                                                                        \
        }                                                                                                            \
        OS_TIMED(thread, int, symbol, arguments, STREAM_EOF)                                                         \
    }

CHARACTER(fgetc, (void *stream), (stream), has_input(stream))
CHARACTER(getc, (void *stream), (stream), has_input(stream))
CHARACTER(_IO_getc, (void *stream), (stream), has_input(stream))
CHARACTER(getchar, (void), (), has_input(stdin))
CHARACTER(fputc, (int character, void *stream), (character, stream), has_room(stream))
CHARACTER(putc, (int character, void *stream), (character, stream), has_room(stream))
CHARACTER(_IO_putc, (int character, void *stream), (character, stream), has_room(stream))
CHARACTER(putchar, (int character), (character), has_room(stdout))
