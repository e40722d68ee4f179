/* Looking at a program before it is executed: see image.h.
 *
 * Runs between vfork and exec, on small stacks, and in processes that may have limited themselves: system calls that the
 * program's loader makes as well (access, openat, read, pread64, close), no allocation. Trusts no number in a file.              */
#include "image.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "../wire/sanitizer.h"
#include "agent.h"
#include "sys.h"

#define HEAD_BYTES 256    /* as much as the kernel reads of a script's first line */
#define SCRIPT_DEPTH 5    /* the kernel follows four "#!"; one more is a shell's */
#define PARTS_MAX 24      /* program headers */
#define ENTRIES 32        /* of the dynamic section, read at once … */
#define ENTRY_READS_MAX 32 /* … and so often */
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

struct program {
    int file;
    size_t part_count;
    Elf64_Phdr parts[PARTS_MAX];
};

/* Where an address of the program lies in the file; 0 if nowhere. */
static uint64_t file_offset(const struct program *program, uint64_t address)
{
    for (size_t i = 0; i < program->part_count; i++) {
        const Elf64_Phdr *part = &program->parts[i];
        if (part->p_type == PT_LOAD && address - part->p_vaddr < part->p_filesz)
            return part->p_offset + (address - part->p_vaddr);
    }
    return 0;
}

/* Calls visit for each entry of the dynamic section until it answers something other than 0, and returns that. */
typedef uint64_t entry_visitor(const struct program *program, const Elf64_Dyn *entry, uint64_t strings, char *runtime);

static uint64_t visit_entries(const struct program *program, const Elf64_Phdr *dynamic, entry_visitor *visit, uint64_t strings, char *runtime)
{
    Elf64_Dyn entries[ENTRIES];
    uint64_t left = dynamic->p_filesz, offset = dynamic->p_offset;
    for (int i = 0; i < ENTRY_READS_MAX && left >= sizeof *entries; i++) {
        long got = sys_pread(program->file, entries, left < sizeof entries ? left : sizeof entries, (int64_t)offset);
        for (size_t j = 0; got > 0 && j < (size_t)got / sizeof *entries; j++) {
            uint64_t answer = visit(program, &entries[j], strings, runtime);
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

static uint64_t find_strings(const struct program *program, const Elf64_Dyn *entry, uint64_t unused, char *unused_too)
{
    return entry->d_tag == DT_STRTAB ? file_offset(program, entry->d_un.d_ptr) : 0;
}

static uint64_t find_runtime(const struct program *program, const Elf64_Dyn *entry, uint64_t strings, char *runtime)
{
    char name[sizeof((struct image *)0)->runtime];
    if (entry->d_tag != DT_NEEDED)
        return 0;
    long got = sys_pread(program->file, name, sizeof name - 1, (int64_t)(strings + entry->d_un.d_val));
    name[got > 0 ? got : 0] = 0;
    if (!wire_is_sanitizer(name, strlen(name)))
        return 0;
    strcpy(runtime, name);
    return 1;
}

static void look_at_program(struct image *image, int file, const Elf64_Ehdr *header)
{
    struct program program = { .file = file };
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE) {
        image->is_foreign = 1;
        return;
    }
    size_t count = header->e_phnum < PARTS_MAX ? header->e_phnum : PARTS_MAX;
    if (header->e_phentsize != sizeof *program.parts ||
        sys_pread(file, program.parts, count * sizeof *program.parts, (int64_t)header->e_phoff) != (long)(count * sizeof *program.parts))
        return;
    program.part_count = count;
    for (size_t i = 0; i < count; i++) {
        if (program.parts[i].p_type != PT_DYNAMIC)
            continue;
        uint64_t strings = visit_entries(&program, &program.parts[i], find_strings, 0, NULL);
        if (strings)
            visit_entries(&program, &program.parts[i], find_runtime, strings, image->runtime);
    }
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* A pipe that is given as a program must not be waited for. */
static int open_file(int folder, const char *path)
{
    return sys_openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* What execvp() would run: executable, and no folder. -ENOENT: it would look further. -EACCES: this one, which cannot be read. */
static int open_executable(const char *path)
{
    char byte;
    if (sys_access(path, X_OK) < 0)
        return -ENOENT;
    int file = open_file(AT_FDCWD, path);
    if (file < 0 || sys_pread(file, &byte, sizeof byte, 0) != -EISDIR)
        return file;
    sys_close(file);
    return -ENOENT;
}

static int open_along_path(const char *name)
{
    const char *path = getenv("PATH");
    if (!path)
        path = DEFAULT_PATH;
    size_t name_length = strnlen(name, NAME_BYTES_MAX + 1), path_length = strnlen(path, PATH_BYTES_MAX);
    if (name_length == 0 || name_length > NAME_BYTES_MAX)
        return -ENOENT;
    char full[path_length + 1 + name_length + 1];
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, ":");
        if (length > path_length)
            return -ENOENT;
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

static void look_at_file(struct image *image, int file, int is_ours, int searched)
{
    union { Elf64_Ehdr header; char text[HEAD_BYTES + 1]; } head;
    for (int depth = 0; depth < SCRIPT_DEPTH && file >= 0; depth++) {
        const char *next;
        long got = sys_pread(file, head.text, HEAD_BYTES, 0);
        if (got >= (long)sizeof head.header && memcmp(head.text, ELFMAG, SELFMAG) == 0) {
            look_at_program(image, file, &head.header);
            next = NULL;
        } else {
            head.text[got > 0 ? got : 0] = 0;
            next = interpreter_of(head.text);
            if (!next && searched && got >= 0 && depth == 0)
                next = SHELL;
        }
        if (is_ours)
            sys_close(file);
        is_ours = 1;
        file = next ? open_file(AT_FDCWD, next) : -1;
    }
    if (file >= 0 && is_ours)
        sys_close(file);
}

struct image image_look(int folder, const char *path, int searched)
{
    struct image image = { 0 };
    int file = !path ? folder : searched && !strchr(path, '/') ? open_along_path(path) : open_file(folder, path);
    look_at_file(&image, file, path != NULL, searched);
    return image;
}
