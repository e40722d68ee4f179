/* Inspects a program before it is executed: see exec_image.h.
 *
 * This runs between vfork and exec, on small stacks, and in processes that may have limited themselves. So it makes
 * only system calls that the program's loader makes too (access, openat, read, pread64, close), and fcntl, and
 * allocates nothing. It trusts no number in a file. */
#include "exec_image.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/models/model_links.h"
#include "abi/sanitizer_runtimes.h"
#include "agent/core/agent.h"
#include "agent/core/sys.h"

#define HEAD_BYTES 256      /* the kernel reads as much of a script's first line */
#define SCRIPT_DEPTH 5      /* the kernel follows four "#!" lines; the shell may add one */
#define PARTS_MAX 24        /* program headers to read, at most */
#define ENTRIES 4           /* entries of the dynamic section in one read */
#define ENTRY_READS_MAX 256 /* reads of the dynamic section, at most */
#define NAME_BYTES_MAX 255
#define PATH_BYTES_MAX 4095
#define DEFAULT_PATH "/bin:/usr/bin"
#define SHELL "/bin/sh"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

/* ---- Programs -------------------------------------------------------------------------------------------------- */

/* Headers are read one by one, because the stack may be small. */
struct exec_image_program {
    int file;
    size_t part_count;
    uint64_t parts; /* their offset in the file */
};

static int exec_image_read_part(const struct exec_image_program *program, size_t index, Elf64_Phdr *part)
{
    return sys_pread(program->file, part, sizeof *part, (int64_t)(program->parts + index * sizeof *part)) ==
           (long)sizeof *part;
}

/* The offset in the file of an address of the program; 0 if the file does not have it. */
static uint64_t file_offset(const struct exec_image_program *program, uint64_t address)
{
    Elf64_Phdr part;
    for (size_t i = 0; i < program->part_count && exec_image_read_part(program, i, &part); i++)
        if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
            return part.p_offset + (address - part.p_vaddr);
    return 0;
}

/* Calls visit for each entry of the dynamic section until it returns something other than 0, and returns that. */
typedef uint64_t entry_visitor(const struct exec_image_program *program, const Elf64_Dyn *entry, uint64_t strings,
                               struct image *image);

static uint64_t visit_entries(const struct exec_image_program *program, const Elf64_Phdr *dynamic, entry_visitor *visit,
                              uint64_t strings, struct image *image)
{
    Elf64_Dyn entries[ENTRIES];
    uint64_t left = dynamic->p_filesz, offset = dynamic->p_offset;
    for (int i = 0; i < ENTRY_READS_MAX && left >= sizeof *entries; i++) {
        long got = sys_pread(program->file, entries, left < sizeof entries ? left : sizeof entries, (int64_t)offset);
        for (size_t j = 0; got > 0 && j < (size_t)got / sizeof *entries; j++) {
            uint64_t answer = visit(program, &entries[j], strings, image);
            if (answer)
                return answer;
        }
        if (got <= 0)
            return 0;
        left -= (uint64_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static uint64_t find_strings(const struct exec_image_program *program, const Elf64_Dyn *entry, uint64_t unused,
                             struct image *unused_too)
{
    return entry->d_tag == DT_STRTAB ? file_offset(program, entry->d_un.d_ptr) : 0;
}

static uint64_t look_at_library(const struct exec_image_program *program, const Elf64_Dyn *entry, uint64_t strings,
                                struct image *image)
{
    char name[sizeof image->runtime];
    if (entry->d_tag != DT_NEEDED)
        return 0;
    long got = sys_pread(program->file, name, sizeof name - 1, (int64_t)(strings + entry->d_un.d_val));
    name[got > 0 ? got : 0] = 0;
    image->models |= model_links(name);
    if (!image->runtime[0] && wire_is_sanitizer(name, strlen(name)))
        strcpy(image->runtime, name);
    return 0;
}

static void look_at_program(struct image *image, int file, const Elf64_Ehdr *header)
{
    struct exec_image_program program = {
        .file = file,
        .parts = header->e_phoff,
        .part_count = header->e_phnum < PARTS_MAX ? header->e_phnum : PARTS_MAX,
    };
    Elf64_Phdr part;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE) {
        image->is_foreign = 1;
        return;
    }
    if (header->e_phentsize != sizeof part)
        return;
    image->is_static = 1;
    for (size_t i = 0; i < program.part_count && exec_image_read_part(&program, i, &part); i++) {
        image->is_static &= part.p_type != PT_INTERP;
        if (part.p_type != PT_DYNAMIC)
            continue;
        uint64_t strings = visit_entries(&program, &part, find_strings, 0, NULL);
        if (strings)
            visit_entries(&program, &part, look_at_library, strings, image);
    }
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* O_NONBLOCK: a pipe that is passed as a program must not block the open. */
static int exec_image_open_file(int folder, const char *path)
{
    return sys_openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* Opens the file if execvp() would run it: it is executable and not a directory. -ENOENT: execvp() would look further.
 * -EACCES: it would run this file, which cannot be read. */
static int open_executable(const char *path)
{
    char byte;
    if (sys_access(path, X_OK) < 0)
        return -ENOENT;
    int file = exec_image_open_file(AT_FDCWD, path);
    if (file < 0 || sys_pread(file, &byte, sizeof byte, 0) != -EISDIR)
        return file;
    sys_close(file);
    return -ENOENT;
}

static size_t longest_folder(const char *path)
{
    size_t longest = 0;
    for (const char *at = path; *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        longest = length > longest ? length : longest;
        at += length;
    }
    return longest;
}

static int open_along_path(const char *name)
{
    const char *path = getenv("PATH");
    if (!path)
        path = DEFAULT_PATH;
    size_t name_length = strnlen(name, NAME_BYTES_MAX + 1), longest = longest_folder(path);
    if (name_length == 0 || name_length > NAME_BYTES_MAX || longest > PATH_BYTES_MAX)
        return -ENOENT;
    char full[longest + 1 + name_length + 1];
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, ":");
        memcpy(full, at, length);
        if (length)
            full[length] = '/';
        memcpy(full + length + !!length, name, name_length + 1);
        int file = open_executable(full);
        at += length;
        if (file != -ENOENT || !*at)
            return file;
    }
}

/* Cuts the interpreter's path out of a script's first line; NULL if there is none. */
static char *interpreter_of(char *head)
{
    if (head[0] != '#' || head[1] != '!')
        return NULL;
    char *path = head + 2 + strspn(head + 2, " \t");
    path[strcspn(path, " \t\n")] = 0;
    return *path ? path : NULL;
}

/* Opens the interpreter of a file that is not an ELF program; -1 if there is none. This is a function of its own so
 * that its buffer is not on the stack while a program is inspected. */
static __attribute__((noinline)) int open_interpreter(int file, int searched)
{
    char line[HEAD_BYTES + 1];
    long got = sys_pread(file, line, HEAD_BYTES, 0);
    line[got > 0 ? got : 0] = 0;
    const char *path = interpreter_of(line);
    if (!path && searched && got >= 0)
        path = SHELL;
    return path ? exec_image_open_file(AT_FDCWD, path) : -1;
}

static void look_at_file(struct image *image, int file, int is_ours, int searched)
{
    Elf64_Ehdr header;
    for (int depth = 0; depth < SCRIPT_DEPTH && file >= 0; depth++) {
        int next = -1;
        if (sys_pread(file, &header, sizeof header, 0) == (long)sizeof header &&
            memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
            look_at_program(image, file, &header);
        else
            next = open_interpreter(file, searched && depth == 0);
        if (is_ours)
            sys_close(file);
        is_ours = 1;
        file = next;
    }
    if (file >= 0 && is_ours)
        sys_close(file);
}

/* True if exec will close a descriptor. */
static int frees_descriptor(void)
{
    for (int file = 0, flags; (flags = sys_fcntl(file, F_GETFD)) >= 0; file++)
        if (flags & FD_CLOEXEC)
            return 1;
    return 0;
}

void exec_image_look(struct image *image, int folder, const char *path, int searched)
{
    memset(image, 0, sizeof *image);
    int file = !path                            ? folder
               : searched && !strchr(path, '/') ? open_along_path(path)
                                                : exec_image_open_file(folder, path);
    image->is_out_of_descriptors = file == -EMFILE && !frees_descriptor();
    look_at_file(image, file, path != NULL, searched);
}
