/* The fuzzer's way into the names of functions: any bytes are demangled and shortened, and both promises are checked:
 * there is always a name, and a short one is a part of it. scripts/fuzz links it with libFuzzer;
 * tests/unit/collect_symbol.c has it too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void shorten(const char *name)
{
    struct text out = { 0 };
    symbol_short(name, &out);
    if (!strstr(name, text_string(&out)) || (*name && out.length == 0))
        abort();
    text_free(&out);
}

static void demangle(const char *mangled, int (*demangler)(const char *mangled, struct text *out))
{
    struct text out = { 0 };
    int demangled = demangler(mangled, &out);
    if (demangled ? out.length > SYMBOL_LONGEST_DEMANGLED : strcmp(text_string(&out), mangled) != 0)
        abort();
    shorten(text_string(&out));
    text_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct text name = { 0 };
    text_add_bytes(&name, bytes, size);
    demangle(text_string(&name), symbol_demangle);
    demangle(text_string(&name), symbol_demangle_kernel);
    shorten(text_string(&name));
    text_free(&name);
    return 0;
}
