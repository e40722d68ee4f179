/* Finds the debug information of stripped files: see debug_file.h. The places are those that gdb searches, below the
 * folders that the user names and below /usr/lib/debug. */
#include "debug_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "symbols_state.h"

#define USUAL_FOLDER "/usr/lib/debug"

struct debug_file_search {
    const struct symbols_module *module;
    char id[2 * ELF_IMAGE_BUILD_ID_MAX + 1]; /* in hexadecimal */
    const char *folder, *base;               /* of the module's path; the folder without its last slash */
    int folder_length;
    struct elf_piece link;                   /* .gnu_debuglink: a name, padding, a checksum */
    struct elf_image *image;
};

static int has_sum(int file, uint32_t wanted)
{
    unsigned char bytes[65536];
    uLong sum = crc32(0, NULL, 0);
    for (ssize_t got; (got = read(file, bytes, sizeof bytes)) > 0;)
        sum = crc32(sum, bytes, (uInt)got);
    return sum == wanted;
}

/* Opens the file at a path. Returns 1 if it is from the same build. */
static int debug_file_take(const struct debug_file_search *search, const char *path)
{
    const struct symbols_module *module = search->module;
    unsigned char id[ELF_IMAGE_BUILD_ID_MAX];
    uint32_t sum;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || elf_image_open(search->image, file) != 0)
        return 0;
    size_t bytes = elf_image_build_id(search->image, id);
    int is_same;
    if (module->build_id_bytes) {
        is_same = bytes == module->build_id_bytes && memcmp(id, module->build_id, bytes) == 0;
    } else {
        memcpy(&sum, search->link.bytes + search->link.size - 4, sizeof sum);
        is_same = has_sum(search->image->file, sum);
    }
    if (!is_same ||
        (!elf_image_section(search->image, ".debug_info") && !elf_image_section(search->image, ".symtab"))) {
        elf_image_close(search->image);
        return 0;
    }
    return 1;
}

static int try_path(const struct debug_file_search *search, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int try_path(const struct debug_file_search *search, const char *format, ...)
{
    char path[PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return length > 0 && length < (int)sizeof path && strcmp(path, search->module->path) != 0 &&
           debug_file_take(search, path);
}

static int find_by_id(const struct debug_file_search *search, const char *root)
{
    if (search->module->build_id_bytes < 2)
        return 0;
    return try_path(search, "%s/.build-id/%.2s/%s.debug", root, search->id, search->id + 2) ||
           try_path(search, "%s/%.2s/%s.debug", root, search->id, search->id + 2);
}

static int find_by_link(const struct debug_file_search *search, const char *root)
{
    const char *name = search->link.bytes ? (const char *)search->link.bytes : NULL;
    if (!name)
        return 0;
    return try_path(search, "%s%.*s/%s", root, search->folder_length, search->folder, name) ||
           try_path(search, "%s%.*s/.debug/%s", root, search->folder_length, search->folder, name);
}

/* Searches a directory that the user names: laid out like the system's, or with files only; or a single file. */
static int find_in_named(const struct debug_file_search *search, const char *named)
{
    if (find_by_id(search, named) || find_by_link(search, named) || try_path(search, "%s", named))
        return 1;
    if (search->link.bytes && try_path(search, "%s/%s", named, (const char *)search->link.bytes))
        return 1;
    return search->module->build_id_bytes &&
           (try_path(search, "%s/%s", named, search->base) || try_path(search, "%s/%s.debug", named, search->base));
}

static void read_link(struct debug_file_search *search)
{
    const Elf64_Shdr *section = elf_image_section(&search->module->image, ".gnu_debuglink");
    if (!section || elf_image_section_piece(&search->module->image, section, &search->link) != 0)
        return;
    const char *name = (const char *)search->link.bytes;
    if (search->link.size < 8 || !memchr(name, 0, search->link.size - 4) || !*name || strchr(name, '/'))
        elf_piece_free(&search->link);
}

int debug_file_open(const struct symbols_settings *settings, const struct symbols_module *module,
                    struct elf_image *image)
{
    const char *slash = strrchr(module->path, '/');
    if (module->kind != MODULE_FILE || !slash)
        return -1;
    struct debug_file_search search = {
        .module = module,
        .folder = module->path,
        .folder_length = (int)(slash - module->path),
        .base = slash + 1,
        .image = image,
    };
    for (size_t i = 0; i < module->build_id_bytes; i++)
        sprintf(search.id + 2 * i, "%02x", module->build_id[i]);
    read_link(&search);
    if (!module->build_id_bytes && !search.link.bytes)
        return -1;
    int is_found = 0;
    for (const char *const *named = settings->debug_paths; !is_found && named && *named; named++)
        is_found = find_in_named(&search, *named);
    is_found = is_found || find_by_id(&search, USUAL_FOLDER) || find_by_link(&search, "") ||
               find_by_link(&search, USUAL_FOLDER);
    elf_piece_free(&search.link);
    return is_found ? 0 : -1;
}
