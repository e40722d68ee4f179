/* The functions that read or write one character of a stream. Nearly all of these calls only touch the buffer and take
 * a few nanoseconds, less than reading a clock: they are counted as untimed. Calls that may go to the file are timed.
 *
 * Whether the buffer has room is read from glibc's FILE, as its own getc_unlocked does; with another libc every call is
 * timed. It is read without the stream's lock: a wrong guess costs a measurement, never correctness. */
#include "agent/core/libc_real.h"
#include "osrt_hooks.h"

extern const char *gnu_get_libc_version(void) __attribute__((weak));

static inline int has_input(const FILE *stream)
{
    return gnu_get_libc_version && stream->_IO_read_ptr < stream->_IO_read_end;
}

static inline int osrt_stream_has_room(const FILE *stream)
{
    return gnu_get_libc_version && stream->_IO_write_ptr < stream->_IO_write_end;
}

#define CHARACTER(symbol, parameters, arguments, stream_is, in_buffer, fails)                                        \
    int osrt_hook_##symbol parameters                                                                                \
    {                                                                                                                \
        stream_is                                                                                                    \
        struct agent_thread *thread = osrt_enter();                                                                 \
        if (unlikely(!thread))                                                                                       \
            return LIBC_REAL(symbol) arguments;                                                                      \
        if (likely(in_buffer(stream))) {                                                                             \
            agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);                                                     \
            return LIBC_REAL(symbol) arguments;                                                                      \
        }                                                                                                            \
        OS_TIMED(thread, int, symbol, arguments, fails)                                                              \
    }

CHARACTER(fgetc, (void *stream), (stream), , has_input, STREAM_EOF)
CHARACTER(getc, (void *stream), (stream), , has_input, STREAM_EOF)
CHARACTER(_IO_getc, (void *stream), (stream), , has_input, STREAM_EOF)
CHARACTER(getchar, (void), (), void *stream = stdin;, has_input, STREAM_EOF)
CHARACTER(fputc, (int character, void *stream), (character, stream), , osrt_stream_has_room, MINUS_ONE)
CHARACTER(putc, (int character, void *stream), (character, stream), , osrt_stream_has_room, MINUS_ONE)
CHARACTER(_IO_putc, (int character, void *stream), (character, stream), , osrt_stream_has_room, MINUS_ONE)
CHARACTER(putchar, (int character), (character), void *stream = stdout;, osrt_stream_has_room, MINUS_ONE)
