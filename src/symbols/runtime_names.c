/* Asks the kernel for names, reads /proc/kallsyms where it refuses, and perf maps: see runtime_names.h. Both files are
 * lines of untrusted text. */
#include "runtime_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "proc_maps.h"
#include "symbols_state.h"

#define LINE_ROOM 65536u

/* Lines of a file that may be endless, and may have endless lines. */
struct runtime_names_lines {
    FILE *file;           /* NULL: none */
    uint64_t bytes_left;  /* limit of the bytes to read */
    char line[LINE_ROOM]; /* without its newline; longer lines are truncated */
};

/* The next line; NULL at the end. */
static const char *next_line(struct runtime_names_lines *lines)
{
    size_t length = 0;
    int c = EOF, some = 0;
    while (lines->file && lines->bytes_left && (c = getc_unlocked(lines->file)) != EOF) {
        lines->bytes_left--;
        some = 1;
        if (c == '\n')
            break;
        if (length < LINE_ROOM - 1)
            lines->line[length++] = (char)c;
    }
    lines->line[length] = 0;
    return some ? lines->line : NULL;
}

/* Parses hexadecimal digits and the blanks after them; 0 if there are none. sscanf() is too slow for a hundred thousand
 * lines. */
static int runtime_names_take_number(const char **at, uint64_t *number)
{
    char *end;
    *number = strtoull(*at, &end, 16);
    if (end == *at || *end != ' ')
        return 0;
    *at = end + strspn(end, " ");
    return 1;
}

/* Parses "ffffffff81000000 T name"; the addresses are 0 without the privilege to see them. */
static int take_function(const char *at, struct symbol_names_entry *entry)
{
    uint64_t address;
    if (!runtime_names_take_number(&at, &address) || address == 0 || !*at || !strchr("tTwW", *at) || at[1] != ' ')
        return 0;
    const char *name = at + 1 + strspn(at + 1, " ");
    *entry = (struct symbol_names_entry){
        .start = address,
        .text = name,
        .room = strcspn(name, "\n"),
        .rank = 1,
    };
    return 1;
}

static void runtime_names_forget(struct kernel_names *kept)
{
    text_free(&kept->lines);
    free(kept->functions);
    kept->functions = NULL;
    kept->count = kept->room = 0;
    kept->is_read = 0;
}

static void runtime_names_join(struct kernel_names *kept)
{
    if (kept->is_reading)
        pthread_join(kept->reader, NULL);
    kept->is_reading = 0;
}

void kernel_names_free(struct kernel_names *kept)
{
    runtime_names_join(kept);
    runtime_names_forget(kept);
    kernel_lookup_close(&kept->lookup);
}

/* Parses "ffffffff81000000 T ": the address of a function, or 0 for another line. strtoull() is too slow for all lines
 * of the kernel. */
static uint64_t function_address(const char *line, const char **name)
{
    static const signed char digits[256] = {
        ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
        ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    };
    uint64_t address = 0;
    int digit;
    while ((digit = digits[(unsigned char)*line]) != 0) {
        address = address << 4 | (uint64_t)(digit - 1);
        line++;
    }
    if (line[0] != ' ' || (line[1] != 't' && line[1] != 'T' && line[1] != 'w' && line[1] != 'W') || line[2] != ' ')
        return 0;
    *name = line + 3;
    return address;
}

/* Reads the list to where it stays: it is as long as a thousand pages. Returns 0, or -1. */
static int read_lines(struct text *lines)
{
    enum { USUAL_BYTES = 8 << 20, PART_BYTES = 65536 };
    int file = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    char *room = file >= 0 ? text_room(lines, USUAL_BYTES) : NULL;
    while (room && (got = read(file, room, PART_BYTES)) > 0) {
        text_commit(lines, room + got);
        room = text_room(lines, PART_BYTES);
    }
    if (file >= 0)
        close(file);
    return room && got == 0 ? 0 : -1;
}

static int runtime_names_by_start(const void *a, const void *b)
{
    const struct kernel_function *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->line > y->line) - (x->line < y->line);
}

/* The kernel lists its own functions by address, and those of modules after them. */
static void sort_functions(struct kernel_names *kept)
{
    size_t sorted = 1;
    while (sorted < kept->count && kept->functions[sorted - 1].start <= kept->functions[sorted].start)
        sorted++;
    if (sorted < kept->count)
        qsort(kept->functions, kept->count, sizeof *kept->functions, runtime_names_by_start);
}

/* Returns -1 when memory is short. */
static int keep_functions(struct kernel_names *kept)
{
    enum { USUAL_LINE = 40 };
    const char *text = text_string(&kept->lines), *text_end = text + kept->lines.length;
    if (array_reserve(&kept->functions, &kept->room, kept->lines.length / USUAL_LINE, sizeof *kept->functions) != 0)
        return -1;
    for (const char *line = text, *next; line < text_end; line = next) {
        const char *name = line;
        uint64_t address = function_address(line, &name);
        const char *end = memchr(name, '\n', (size_t)(text_end - name));
        next = end ? end + 1 : text_end;
        if (!address)
            continue;
        if (array_reserve(&kept->functions, &kept->room, kept->count + 1, sizeof *kept->functions) != 0)
            return -1;
        kept->functions[kept->count++] = (struct kernel_function){ address, (size_t)(line - text) };
        if (name[0] == '_' && text_begins_with(name, "_stext\n"))
            kept->start = address;
        else if (name[0] == '_' && text_begins_with(name, "_etext\n"))
            kept->end = address;
    }
    return 0;
}

static void read_kernel(struct kernel_names *kept)
{
    runtime_names_forget(kept);
    if (read_lines(&kept->lines) != 0 || keep_functions(kept) != 0) {
        runtime_names_forget(kept);
        return;
    }
    sort_functions(kept);
    kept->is_read = 1;
}

static void *read_aside(void *argument)
{
    struct kernel_names *kept = argument;
    if (kept->reads_list || kernel_lookup_open(&kept->lookup) != 0)
        read_kernel(kept);
    return NULL;
}

void kernel_names_begin(struct kernel_names *kept)
{
    kept->is_reading = pthread_create(&kept->reader, NULL, read_aside, kept) == 0;
}

/* Only the function that begins last before an address can contain it. Of several names the first one is taken, as the
 * kernel itself does. */
static void runtime_names_add_nearest(struct symbol_names *names, const struct kernel_names *kept, uint64_t address)
{
    size_t end = BISECT(0, kept->count, i, kept->functions[i].start <= address);
    struct symbol_names_entry entry;
    size_t first = end;
    while (first && kept->functions[first - 1].start == kept->functions[end - 1].start)
        first--;
    for (; first < end; first++)
        if (take_function(text_string(&kept->lines) + kept->functions[first].line, &entry))
            symbol_names_add(names, &entry);
}

/* Adds the name that the kernel gave an address: "name" or "name [module]". */
static void runtime_names_add_answer(struct symbol_names *names, struct kernel_lookup_slot *slot)
{
    char *blank = strchr(slot->name, ' ');
    if (blank)
        *blank = '\t';
    if (!text_begins_with(slot->name, "0x"))
        symbol_names_add(names, &(struct symbol_names_entry){ .start = slot->address,
                                                              .size = 1,
                                                              .text = slot->name,
                                                              .room = strlen(slot->name),
                                                              .rank = 1 });
}

/* Returns -1 if the kernel does not answer. */
static int runtime_names_ask(struct symbol_names *names, struct kernel_names *kept)
{
    for (size_t i = 0; i < names->count; i += KERNEL_LOOKUP_MAX) {
        size_t count = names->count - i < KERNEL_LOOKUP_MAX ? names->count - i : KERNEL_LOOKUP_MAX;
        if (!kept->lookup.slots || kernel_lookup_ask(&kept->lookup, names->addresses + i, count) != 0)
            return -1;
        for (size_t k = 0; k < count; k++)
            runtime_names_add_answer(names, &kept->lookup.slots[k]);
    }
    return 0;
}

void names_add_kernel(struct symbol_names *names, struct kernel_names *kept)
{
    runtime_names_join(kept);
    if (runtime_names_ask(names, kept) == 0)
        return;
    int is_stale = !kept->is_read;
    for (size_t i = 0; i < names->count && kept->count; i++)
        is_stale |= names->addresses[i] < kept->start || names->addresses[i] >= kept->end;
    if (is_stale)
        read_kernel(kept);
    for (size_t i = 0; i < names->count; i++)
        runtime_names_add_nearest(names, kept, names->addresses[i]);
}

/* The file's name has the pid in the process's own namespace, and it is in the process's own /tmp. Anyone can create
 * such a file there. As in perf, only files of root, of us and of the process's own user are trusted. */
static int is_trusted(const struct symbols_process *process, const struct stat *status)
{
    return S_ISREG(status->st_mode) &&
           (status->st_uid == 0 || status->st_uid == geteuid() || status->st_uid == process->user);
}

/* Returns a descriptor, or -1. */
static int open_made(const struct symbols_process *process, uint64_t *bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)process->inner_pid);
    int descriptor = proc_maps_open(process, path, O_NOFOLLOW);
    struct stat status;
    *bytes = 0;
    if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !is_trusted(process, &status))) {
        close(descriptor);
        return -1;
    }
    if (descriptor >= 0)
        *bytes = (uint64_t)status.st_size;
    return descriptor;
}

uint64_t names_made_bytes(const struct symbols_process *process)
{
    uint64_t bytes;
    int descriptor = open_made(process, &bytes);
    if (descriptor >= 0)
        close(descriptor);
    return bytes;
}

int names_add_made(struct symbol_names *names, const struct symbols_process *process, uint64_t *bytes)
{
    int descriptor = open_made(process, bytes);
    struct runtime_names_lines lines = {
        .file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL,
        .bytes_left = NAMES_BYTES_MAX,
    };
    uint32_t number = 0;
    if (!lines.file && descriptor >= 0)
        close(descriptor);
    names->last_wins = 1;
    for (const char *at; (at = next_line(&lines)) != NULL;) {
        uint64_t start, size;
        number++; /* memory is reused: the last line of an address is valid */
        if (runtime_names_take_number(&at, &start) && runtime_names_take_number(&at, &size) && size && *at)
            symbol_names_add(names, &(struct symbol_names_entry){
                                        .start = start, .size = size, .text = at, .room = strlen(at), .rank = number });
    }
    int is_cut = lines.file && !lines.bytes_left;
    if (lines.file)
        fclose(lines.file);
    return is_cut;
}
