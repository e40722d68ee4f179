/* Demangling by libiberty, on a stack that is large enough for it; see demangle.h.
 *
 * libiberty's demangler is the one that the C++ runtime has as __cxa_demangle. But the runtime's refuses names of
 * more than 1023 characters, and kernels made of templates have longer ones. Without that limit the demangler
 * recurses as deep as the name says, and has arrays on its stack whose sizes come from the name. So the stack that a
 * name may need is computed first. */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "demangle_print.h"

/* The stack that a demangler needs. Each character adds at most one level of recursion and two of its 32-byte
 * components. Every reference and every template list, each counted twice, adds 16 bytes in one array. */
#define STACK_PER_CHARACTER 1024 /* the worst case seen is 216 */
#define STACK_PER_PAIR 64
#define STACK_ALWAYS (256u << 10)
#define STACK_AT_HAND (1u << 20) /* at least this much is free on any thread that calls us */
#define STACK_LARGEST (64u << 20)

struct demangling {
    const char *mangled;
    int is_kernel;
    struct text *out;
    size_t start; /* of the demangled name in out */
    int done;
    jmp_buf too_long;
};

static void demangle_take_piece(const char *piece, size_t length, void *context)
{
    struct demangling *demangling = context;
    if (demangling->out->length - demangling->start + length > SYMBOL_LONGEST_DEMANGLED)
        longjmp(demangling->too_long, 1); /* the only way out; the demangler holds nothing but its stack */
    text_add_bytes(demangling->out, piece, length);
}

/* Removes what was added: a part of a name is not a name. */
static void start_again(struct demangling *demangling)
{
    struct text *out = demangling->out;
    if (out->bytes) {
        out->length = demangling->start;
        out->bytes[out->length] = 0;
    }
}

/* Rust's own names begin with _R; older versions use C++'s form, whose last part is h and 16 hexadecimal digits. */
static int is_rust(const char *mangled)
{
    size_t length = strlen(mangled);
    if (strncmp(mangled, "_R", 2) == 0)
        return 1;
    return length > 23 && strncmp(mangled, "_ZN", 3) == 0 && mangled[length - 1] == 'E' &&
           strncmp(mangled + length - 20, "17h", 3) == 0 && strspn(mangled + length - 17, "0123456789abcdef") == 16;
}

static void *demangle(void *context)
{
    struct demangling *demangling = context;
    if (demangling->is_kernel) {
        demangling->done = symbol_print(demangling->mangled, SYMBOL_LONGEST_DEMANGLED, demangling->out);
        if (demangling->done)
            return NULL;
        start_again(demangling);
    }
    if (setjmp(demangling->too_long) == 0)
        demangling->done = is_rust(demangling->mangled)
                               ? rust_demangle_callback(demangling->mangled, DMGL_PARAMS, demangle_take_piece,
                                                        demangling)
                               : cplus_demangle_v3_callback(demangling->mangled, DMGL_PARAMS | DMGL_NO_RECURSE_LIMIT,
                                                            demangle_take_piece, demangling);
    return NULL;
}

static size_t stack_needed(const char *mangled, size_t length)
{
    size_t lists = 1, references = 1;
    for (const char *c = mangled; *c; c++) {
        lists += *c == 'I' || *c == 'J';
        references += *c == 'R' || *c == 'O';
    }
    return STACK_ALWAYS + length * STACK_PER_CHARACTER + lists * references * STACK_PER_PAIR;
}

static void demangle_on_own_stack(struct demangling *demangling, size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return;
    if (pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
        pthread_create(&thread, &attributes, demangle, demangling) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static int demangle_any(const char *mangled, int is_kernel, struct text *out)
{
    struct demangling demangling = { .mangled = mangled, .is_kernel = is_kernel, .out = out, .start = out->length };
    size_t length = strlen(mangled);
    if ((strncmp(mangled, "_Z", 2) == 0 || strncmp(mangled, "_R", 2) == 0) && length <= SYMBOL_LONGEST_MANGLED) {
        size_t stack = stack_needed(mangled, length);
        if (stack <= STACK_AT_HAND)
            demangle(&demangling);
        else if (stack <= STACK_LARGEST)
            demangle_on_own_stack(&demangling, (stack + 0xffff) & ~(size_t)0xffff);
    }
    if (demangling.done)
        return 1;
    start_again(&demangling);
    text_add_bytes(out, mangled, length);
    return 0;
}

int symbol_demangle(const char *mangled, struct text *out)
{
    return demangle_any(mangled, 0, out);
}

int symbol_demangle_kernel(const char *mangled, struct text *out)
{
    return demangle_any(mangled, 1, out);
}
