/* Who called: the return addresses above a call into CUDA that took long (--cudabacktrace), by the chain of frame pointers.
 *
 * Code without frame pointers leaves anything in that register, so an address is followed only upwards and only inside the
 * mapping that the stack pointer lies in; where that ends is read from /proc/self/maps, once for each stack. Never reads
 * outside that mapping, never writes to the stack.                                                                      */
#include "cuda.h"
#include "sys.h"

#define FRAMES_MAX 128u
#define STACKS_KEPT 256u     /* their ends, by where the stack lies */
#define STACK_SHIFT 20       /* stacks lie at least this far apart, as a rule */
#define READ_BYTES 4096

struct stack { _Atomic uint64_t low, high; };
static struct stack stacks[STACKS_KEPT];

static uint64_t parse_hex(const char **text, const char *end)
{
    uint64_t value = 0;
    for (; *text < end; ++*text) {
        char c = **text;
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
        if (digit == 16)
            break;
        value = value << 4 | digit;
    }
    return value;
}

/* One line of /proc/self/maps: 1 if the address lies in it. */
static int line_holds(const char *line, const char *end, uint64_t address, uint64_t *low, uint64_t *high)
{
    *low = parse_hex(&line, end);
    line += line < end;
    *high = parse_hex(&line, end);
    return address >= *low && address < *high;
}

static int find_mapping(uint64_t address, uint64_t *low, uint64_t *high)
{
    int file = sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    char text[READ_BYTES];
    size_t kept = 0;
    int found = 0;
    for (long got; !found && (got = sys_read(file, text + kept, sizeof text - kept)) > 0;) {
        size_t filled = kept + (size_t)got;
        char *line = text, *newline;
        while (!found && (newline = memchr(line, '\n', (size_t)(text + filled - line))) != NULL) {
            found = line_holds(line, newline, address, low, high);
            line = newline + 1;
        }
        kept = (size_t)(text + filled - line);
        if (kept == sizeof text) /* a path that is longer than the page: the addresses have been read */
            kept = 0;
        memmove(text, line, kept);
    }
    sys_close(file);
    return found;
}

/* The end of the mapping that holds this stack pointer, or 0. */
static uint64_t stack_end(uint64_t pointer)
{
    struct stack *stack = &stacks[(pointer >> STACK_SHIFT) % STACKS_KEPT];
    uint64_t low = atomic_load_explicit(&stack->low, memory_order_acquire);
    uint64_t high = atomic_load_explicit(&stack->high, memory_order_relaxed);
    if (pointer >= low && pointer < high && atomic_load_explicit(&stack->low, memory_order_relaxed) == low)
        return high;
    if (!find_mapping(pointer, &low, &high))
        return 0;
    atomic_store_explicit(&stack->low, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&stack->high, high, memory_order_release);
    atomic_store_explicit(&stack->low, low, memory_order_release);
    return high;
}

static uint32_t follow(const uint64_t *frame, uint64_t end, uint64_t *addresses)
{
    uint32_t count = 0;
    while (count < FRAMES_MAX && (uint64_t)frame + 16 <= end && ((uint64_t)frame & 7) == 0) {
        if (frame[1] == 0)
            break;
        addresses[count++] = frame[1];
        const uint64_t *next = (const uint64_t *)frame[0];
        if (next <= frame)
            break;
        frame = next;
    }
    return count;
}

void cuda_chain_emit(struct agent_thread *thread, uint32_t domain, uint32_t correlation_id, const void *frame)
{
    uint64_t addresses[FRAMES_MAX];
    uint32_t count = follow(frame, stack_end((uint64_t)frame), addresses);
    if (count == 0)
        return;
    struct wire_record *record = emit_begin(thread, WIRE_SOURCE_CUDA, WIRE_CUDA_CHAIN, WIRE_HEAD_WORDS + 1 + count);
    if (!record)
        return;
    record->a = (uint16_t)domain;
    record->b = (uint16_t)count;
    record->ticks = agent_ticks();
    record->body[0] = correlation_id;
    memcpy(record->body + 1, addresses, count * sizeof *addresses);
    emit_commit(thread, record);
}
