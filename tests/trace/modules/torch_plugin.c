/* A library whose constructor, which runs under the loader's lock, allocates through the stand-in of libc10. */
#include "torch_standin.h"

extern _Atomic int plugin_is_loading; /* the program's */

__attribute__((constructor)) static void construct(void)
{
    plugin_is_loading = 1;
    standin_free(standin_allocate(64), 64);
}
