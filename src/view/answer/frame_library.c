/* Whose code a frame is: see frame_library.h. For Python, the advice engine decides (python_files.h), so that both name
 * the same line; for native code, the module's path does. */
#include "frame_library.h"

#include <string.h>

#include "analyze/model/torch/python_files.h"
#include "base/path.h"
#include "base/text.h"

static const char python[] = "Python";

static const char *named(const char *name, size_t *length)
{
    *length = strlen(name);
    return name;
}

/* The part after the folder of installed packages, or NULL. */
static const char *package_in(const char *path, size_t length)
{
    const char *site = path_after(path, length, "site-packages/");

    return site ?: path_after(path, length, "dist-packages/");
}

/* The first part of a path: a package, or a file of the standard library. */
static const char *library_of_python(const char *file, size_t file_length, size_t *length)
{
    const char *package = package_in(file, file_length);

    if (python_file_owner(file, file_length) == PYTHON_PROGRAM)
        return NULL;
    package = package ? package : file;
    const char *slash = memchr(package, '/', (size_t)(file + file_length - package));
    if (!slash || slash == package)
        return named(python, length);
    *length = (size_t)(slash - package);
    return package;
}

static const char *library_of_module(const char *path, size_t path_length, size_t *length)
{
    static const char *const folders[] = { "/lib", "/usr/", "/opt/" };
    const char *slash = memrchr(path, '/', path_length), *base = slash ? slash + 1 : path;
    size_t base_length = (size_t)(path + path_length - base);
    const char *end = memmem(base, base_length, ".so", 3);
    int is_installed = package_in(path, path_length) != NULL || path_after(path, path_length, "/libtacho-") != NULL;

    if (text_bytes_begin_with(base, base_length, "python"))
        return named(python, length);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        is_installed |= text_bytes_begin_with(path, path_length, folders[i]);
    if (path_length && *path == '[') {
        *length = path_length;
        return path;
    }
    if (!end || !is_installed)
        return NULL;
    *length = (size_t)(end - base);
    return base;
}

const char *frame_library(const struct frame_origin *frame, size_t *length)
{
    if (strcmp(frame->kind, "kernel") == 0)
        return named("kernel", length);
    if (strcmp(frame->kind, "python") == 0)
        return frame->file_length ? library_of_python(frame->file, frame->file_length, length) : named(python, length);
    return library_of_module(frame->module, frame->module_length, length);
}
