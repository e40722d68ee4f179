/* Inspects the program file: see program_file.h. It reads headers only and trusts none of their numbers. */
#include "program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "abi/models/model_links.h"
#include "abi/sanitizer_runtimes.h"
#include "base/array.h"
#include "symbols/elf/elf_image.h"

#define DEFAULT_SEARCH_PATH "/usr/local/bin:/usr/bin:/bin"
#define SCRIPT_DEPTH 4   /* the kernel follows "#!" this deep */
#define HEADERS_MAX 256  /* program headers */
#define DYNAMIC_MAX 1024 /* entries of the dynamic section */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

/* ---- Search ---------------------------------------------------------------------------------------------------- */

static const char *const builtins[] = {
    ".",       "alias",    "bg",      "bind",   "builtin", "caller",  "cd",     "compgen", "complete",
    "declare", "dirs",     "disown",  "enable", "eval",    "exec",    "exit",   "export",  "fg",
    "hash",    "help",     "history", "jobs",   "let",     "local",   "logout", "mapfile", "popd",
    "pushd",   "readonly", "return",  "set",    "shift",   "shopt",   "source", "suspend", "times",
    "trap",    "type",     "typeset", "ulimit", "umask",   "unalias", "unset",
};

static int is_builtin(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(builtins); i++)
        if (strcmp(name, builtins[i]) == 0)
            return 1;
    return 0;
}

/* 0 if it can be executed, else the errno that execve() would return. */
static int check_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static int cannot_run(const char *name, int error, int *exit_status, struct error *err)
{
    *exit_status = error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG ? 127 : 126;
    if (error == EISDIR)
        return error_set(err, ERR_DENIED, "cannot run %s: it is a directory", name);
    if (*exit_status == 126)
        return error_set(err, ERR_DENIED, "cannot run %s: %s", name,
                         error == EACCES ? "it is not executable; run chmod +x on it" : strerror(error));
    return error_set(err, ERR_NOT_FOUND, "cannot run %s: no such program", name);
}

static int find_along(struct program_file *program, const char *name, const char *search_path)
{
    int worst = ENOENT;
    for (const char *at = search_path;; at++) {
        size_t length = strcspn(at, ":");
        int written = length ? snprintf(program->path, sizeof program->path, "%.*s/%s", (int)length, at, name)
                             : snprintf(program->path, sizeof program->path, "./%s", name);
        int error = written < (int)sizeof program->path ? check_executable(program->path) : ENAMETOOLONG;
        if (error == 0)
            return 0;
        /* The file exists; the directory is not merely unreadable. */
        if (error == EACCES && faccessat(AT_FDCWD, program->path, F_OK, AT_EACCESS) == 0)
            worst = EACCES;
        at += length;
        if (!*at)
            return worst;
    }
}

int program_file_find(struct program_file *program, const char *name, const char *search_path, int *exit_status,
                      struct error *err)
{
    memset(program, 0, sizeof *program);
    int error;
    if (!*name)
        return cannot_run("''", ENOENT, exit_status, err);
    if (strchr(name, '/')) {
        if (strlen(name) >= sizeof program->path)
            return cannot_run(name, ENAMETOOLONG, exit_status, err);
        strcpy(program->path, name);
        error = check_executable(name);
    } else {
        error = find_along(program, name, search_path ? search_path : DEFAULT_SEARCH_PATH);
    }
    if (error == ENOENT && is_builtin(name)) {
        *exit_status = 127;
        return error_set(err, ERR_NOT_FOUND, "cannot run %s: it is a shell builtin, not a program; try sh -c '%s …'",
                         name, name);
    }
    return error ? cannot_run(name, error, exit_status, err) : 0;
}

/* ---- Inspection ------------------------------------------------------------------------------------------------ */

static int program_file_read_at(int file, void *to, size_t bytes, uint64_t offset)
{
    return pread(file, to, bytes, (off_t)offset) == (ssize_t)bytes ? 0 : -1;
}

static void program_file_warn(struct program_file *program, const char *what, const char *effect)
{
    if (!program->warning[0])
        snprintf(program->warning, sizeof program->warning, "%.256s is %s: %s.", program->path, what, effect);
}

struct image {
    int file;
    Elf64_Ehdr header;
    Elf64_Phdr parts[HEADERS_MAX];
    size_t part_count;
};

static const Elf64_Phdr *find_part(const struct image *image, uint32_t type)
{
    for (size_t i = 0; i < image->part_count; i++)
        if (image->parts[i].p_type == type)
            return &image->parts[i];
    return NULL;
}

/* The file offset of an address of the image; 0 if it is not in the file. */
static uint64_t file_offset(const struct image *image, uint64_t address)
{
    for (size_t i = 0; i < image->part_count; i++) {
        const Elf64_Phdr *part = &image->parts[i];
        if (part->p_type == PT_LOAD && address >= part->p_vaddr && address - part->p_vaddr < part->p_filesz)
            return part->p_offset + (address - part->p_vaddr);
    }
    return 0;
}

static void look_at_libraries(struct program_file *program, const struct image *image)
{
    const Elf64_Phdr *dynamic = find_part(image, PT_DYNAMIC);
    if (!dynamic)
        return;
    Elf64_Dyn entries[DYNAMIC_MAX];
    size_t count = dynamic->p_filesz / sizeof *entries < DYNAMIC_MAX ? dynamic->p_filesz / sizeof *entries
                                                                     : DYNAMIC_MAX;
    if (program_file_read_at(image->file, entries, count * sizeof *entries, dynamic->p_offset) != 0)
        return;
    uint64_t strings = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].d_tag == DT_STRTAB)
            strings = file_offset(image, entries[i].d_un.d_ptr);
    for (size_t i = 0; strings && i < count; i++) {
        char name[sizeof program->first_library] = "";
        if (entries[i].d_tag != DT_NEEDED ||
            pread(image->file, name, sizeof name - 1, (off_t)(strings + entries[i].d_un.d_val)) <= 0)
            continue;
        program->models |= model_links(name);
        if (wire_is_sanitizer(name, strlen(name)))
            strcpy(program->first_library, name);
    }
}

static void inspect_interpreter(struct program_file *program, const struct image *image)
{
    if (find_part(image, PT_INTERP))
        return;
    program->cause = WIRE_CAUSE_STATIC;
    program_file_warn(
        program, "a static program",
        "it cannot load the agent. CPU samples are recorded, and dynamic programs that it starts; its calls and "
        "ranges are not");
}

static int program_file_read_parts(struct image *image)
{
    image->part_count = image->header.e_phnum < HEADERS_MAX ? image->header.e_phnum : HEADERS_MAX;
    return image->header.e_phentsize != sizeof *image->parts
               ? -1
               : program_file_read_at(image->file, image->parts, image->part_count * sizeof *image->parts,
                                      image->header.e_phoff);
}

int program_file_is_static(const char *path)
{
    struct image image = { .file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (image.file < 0)
        return 0;
    int is_static = program_file_read_at(image.file, &image.header, sizeof image.header, 0) == 0 &&
                    memcmp(image.header.e_ident, ELFMAG, SELFMAG) == 0 &&
                    image.header.e_ident[EI_CLASS] == ELFCLASS64 && program_file_read_parts(&image) == 0 &&
                    !find_part(&image, PT_INTERP);
    close(image.file);
    return is_static;
}

int program_file_has_gpu_code(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct elf_image image;
    if (file < 0 || elf_image_open(&image, file) != 0)
        return 0;
    int has_code = elf_image_section(&image, ".nv_fatbin") != NULL;
    elf_image_close(&image);
    return has_code;
}

static void inspect_elf(struct program_file *program, int file)
{
    struct image image = { .file = file };
    if (program_file_read_at(file, &image.header, sizeof image.header, 0) != 0)
        return;
    if (image.header.e_ident[EI_CLASS] != ELFCLASS64) {
        program->cause = WIRE_CAUSE_FOREIGN;
        program_file_warn(program, "a 32-bit program",
                          "it cannot load the 64-bit agent. Only its start, end and CPU time are "
                          "recorded");
        program->no_preload = 1; /* the loader would complain about the agent on stderr */
        return;
    }
    if (image.header.e_machine != OWN_MACHINE) {
        program->cause = WIRE_CAUSE_FOREIGN;
        program_file_warn(program, "built for another architecture",
                          "it cannot load the agent. Only its start, end and CPU time are recorded");
        program->no_preload = 1;
        return;
    }
    if (program_file_read_parts(&image) != 0)
        return;
    inspect_interpreter(program, &image);
    look_at_libraries(program, &image);
}

/* The loader ignores LD_PRELOAD for programs that gain privileges over their caller. */
static void inspect_rights(struct program_file *program, int file)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return;
    int gains = ((status.st_mode & S_ISUID) && status.st_uid != getuid()) ||
                ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getgid()) ||
                (getuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) > 0);
    if (!gains)
        return;
    program->cause = WIRE_CAUSE_NOT_ATTACHED;
    program_file_warn(
        program, "a setuid program (set-user-ID, set-group-ID or file capabilities)",
        "the loader ignores LD_PRELOAD for it, so its calls and ranges are not recorded. Run tacho as that user to "
        "record them");
}

/* Finds the program after "#!": the first word, or the command that env is to run. 0 if there is one. */
static int read_shebang(int file, const char *search_path, char *path, size_t size)
{
    char line[512] = "", word[256] = "", next[256] = "";
    if (pread(file, line, sizeof line - 1, 0) <= 2 || line[0] != '#' || line[1] != '!')
        return -1;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line + 2, " %255s %255s", word, next) < 1)
        return -1;
    size_t length = strlen(word);
    struct program_file behind;
    int exit_status;
    if (length >= 4 && strcmp(word + length - 4, "/env") == 0 && next[0] && next[0] != '-' &&
        program_file_find(&behind, next, search_path, &exit_status, NULL) == 0)
        return snprintf(path, size, "%s", behind.path) < (int)size ? 0 : -1;
    return snprintf(path, size, "%s", word) < (int)size ? 0 : -1;
}

/* Would a shell read this file as a script? It does so unless the first line has a zero byte. */
static int is_script(int file)
{
    char line[256];
    ssize_t length = pread(file, line, sizeof line, 0);
    const char *end = length > 0 ? memchr(line, '\n', (size_t)length) : NULL;
    return length == 0 || (length > 0 && !memchr(line, 0, end ? (size_t)(end - line) : (size_t)length));
}

void program_file_inspect(struct program_file *program, const char *search_path)
{
    char path[PROGRAM_PATH_MAX];
    strcpy(path, program->path);
    for (int depth = 0; depth <= SCRIPT_DEPTH; depth++) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        char magic[SELFMAG];
        if (file < 0) /* executable but not readable: cannot be inspected */
            return;
        int is_elf = program_file_read_at(file, magic, sizeof magic, 0) == 0 && memcmp(magic, ELFMAG, SELFMAG) == 0;
        if (is_elf) {
            inspect_rights(program, file);
            inspect_elf(program, file);
        }
        if (depth == 0)
            program->is_script = !is_elf && is_script(file);
        int script = is_elf ? -1 : read_shebang(file, search_path, path, sizeof path);
        close(file);
        if (script != 0)
            return;
    }
}
