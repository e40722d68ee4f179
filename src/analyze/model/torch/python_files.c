/* Recognises files of libraries by their paths: see python_files.h. */
#include "python_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

static int is_one_of(const char *path, size_t length, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_bytes_begin_with(path, length, prefixes[i]))
            return 1;
    return 0;
}
#define IS_ONE_OF(path, length, list) is_one_of(path, length, list, COUNT_OF(list))

/* Begins of paths below sys.path, as torch.profiler shortens them, and below site-packages. */
static const char *const own_packages[] = { "torch/", "tacho/", "functorch/", "torchgen/", "triton/" };
static const char *const packages[] = {
    "torchvision/",
    "torchaudio/",
    "torchtext/",
    "transformers/",
    "diffusers/",
    "accelerate/",
    "lightning/",
    "timm/",
    "deepspeed/",
    "megatron/",
    "apex/",
    "numpy/",
    "scipy/",
    "pandas/",
    "sklearn/",
    "PIL/",
    "tqdm/",
    "einops/",
    "fastai/",
    "ignite/",
    "datasets/",
    "tensorboard/",
    "transformer_engine/",
    "pytorch_lightning/",
    "lightning_fabric/",
    "flash_attn/",
    "sympy/",
    "cv2/",
};
static const char *const standard[] = {
    "abc.py",        "argparse.py",    "ast.py",        "asyncio/",      "bisect.py",   "codecs.py",
    "collections/",  "concurrent/",    "contextlib.py", "copy.py",       "copyreg.py",  "csv.py",
    "ctypes/",       "dataclasses.py", "datetime.py",   "decimal.py",    "enum.py",     "fractions.py",
    "functools.py",  "genericpath.py", "gzip.py",       "hashlib.py",    "heapq.py",    "importlib/",
    "inspect.py",    "io.py",          "json/",         "linecache.py",  "logging/",    "multiprocessing/",
    "numbers.py",    "operator.py",    "os.py",         "pathlib.py",    "pathlib/",    "pickle.py",
    "posixpath.py",  "queue.py",       "random.py",     "re.py",         "re/",         "runpy.py",
    "selectors.py",  "shutil.py",      "socket.py",     "statistics.py", "string.py",   "struct.py",
    "subprocess.py", "tempfile.py",    "textwrap.py",   "threading.py",  "tokenize.py", "traceback.py",
    "types.py",      "typing.py",      "uuid.py",       "warnings.py",   "weakref.py",  "zipfile.py",
    "zipfile/",
};

/* "<stdin>" and the cells of notebooks are the user's. Generated code, too, is a "<string>". */
static enum python_owner owner_without_file(const char *path, size_t length)
{
    static const char *const own[] = { "<stdin>", "<ipython", "<cell" };

    return IS_ONE_OF(path, length, own) ? PYTHON_PROGRAM : PYTHON_BUILTIN;
}

/* Code that torch.compile wrote, in whatever folder its cache is: ".../ub/cubkcdqx…fwxh.py". The name is a hash in base
 * 32, and the folder has its second and third character. */
static int is_generated(const char *path, size_t length)
{
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567", suffix[] = ".py";
    enum { HASH = 52, FOLDER = 2, SUFFIX = sizeof suffix - 1, TAIL = 1 + FOLDER + 1 + HASH + SUFFIX };

    if (length < TAIL)
        return 0;
    const char *folder = path + length - TAIL + 1, *hash = folder + FOLDER + 1;
    return folder[-1] == '/' && hash[-1] == '/' && *hash == 'c' && memcmp(hash + 1, folder, FOLDER) == 0 &&
           memcmp(hash + HASH, suffix, SUFFIX) == 0 && strspn(hash, digits) == HASH;
}

enum python_owner python_file_owner(const char *path, size_t length)
{
    static const char *const folders[] = { "site-packages/", "dist-packages/" };
    static const char *const installed[] = { "/lib/python3.", "/lib64/python3." };

    if (!length || *path == '<')
        return owner_without_file(path, length);
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        const char *package = path_after(path, length, folders[i]);
        if (package)
            return IS_ONE_OF(package, (size_t)(path + length - package), own_packages) ? PYTHON_LIBRARY
                                                                                       : PYTHON_PACKAGE;
    }
    for (size_t i = 0; i < COUNT_OF(installed); i++)
        if (path_after(path, length, installed[i]))
            return PYTHON_LIBRARY;
    if (path_after(path, length, "/tacho/_modules.py") || path_after(path, length, "/tacho/_marks.py") ||
        IS_ONE_OF(path, length, own_packages) || IS_ONE_OF(path, length, standard) || is_generated(path, length))
        return PYTHON_LIBRARY;
    return IS_ONE_OF(path, length, packages) ? PYTHON_PACKAGE : PYTHON_PROGRAM;
}

int python_is_loader(const char *file, const char *function)
{
    return strstr(file, "torch/utils/data/dataloader.py") && strstr(function, "__next__");
}

/* ---- frames of torch.profiler ---------------------------------------------------------------------------------- */

struct python_frame python_frame_read(const char *name, size_t length)
{
    struct python_frame frame = { .function = name, .function_length = length, .owner = PYTHON_BUILTIN };
    const char *close = memmem(name, length, "): ", 3),
               *open = close ? memrchr(name, '(', (size_t)(close - name)) : NULL;

    if (!open)
        return frame;
    frame.file = name;
    frame.file_length = (size_t)(open - name);
    frame.line = strtol(open + 1, NULL, 10);
    frame.function = close + 3;
    frame.function_length = (size_t)(name + length - frame.function);
    frame.owner = python_file_owner(frame.file, frame.file_length);
    return frame;
}

/* "item of Tensor object at 0x7f…>" is "Tensor.item"; functions of modules and types have only their own name. */
static void add_method(struct text *out, const char *name, size_t length)
{
    static const char of[] = " of ", object[] = " object at 0x";
    const char *owner = path_after(name, length, of), *end = memmem(name, length, object, sizeof object - 1);

    if (!owner || !end || end < owner) {
        text_add_bytes(out, name, length && name[length - 1] == '>' ? length - 1 : length);
        return;
    }
    size_t owner_length = (size_t)(end - owner);
    int is_plain = (owner_length == 4 && memcmp(owner, "type", 4) == 0) ||
                   text_bytes_begin_with(owner, owner_length, "pybind11_") ||
                   text_bytes_begin_with(owner, owner_length, "module");
    if (!is_plain) {
        const char *dot = memrchr(owner, '.', owner_length);
        const char *last = dot ? dot + 1 : owner;
        text_add_bytes(out, last, (size_t)(end - last));
        text_add_char(out, '.');
    }
    text_add_bytes(out, name, (size_t)(owner - (sizeof of - 1) - name));
}

void python_function_name(struct text *out, const char *name, size_t length)
{
    static const char function[] = "<built-in function ", method[] = "<built-in method ";
    struct python_frame frame = python_frame_read(name, length);

    if (text_bytes_begin_with(name, length, function))
        text_add_bytes(out, name + sizeof function - 1, length - (sizeof function - 1) - (name[length - 1] == '>'));
    else if (text_bytes_begin_with(name, length, method))
        add_method(out, name + sizeof method - 1, length - (sizeof method - 1));
    else
        text_add_bytes(out, frame.function, frame.function_length);
}
