/* Answers one job: see name_job.h. Each place is looked up once. */
#include "name_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "debug_file.h"
#include "runtime_names.h"
#include "symbols/names/debug_info.h"
#include "symbols/names/demangle.h"
#include "symbols/names/symbol_names.h"

static const char *demangled(struct name_job *job, const char *mangled)
{
    /* Places are sorted, so it is mostly the same function. */
    if (job->last_mangled && strcmp(mangled, job->last_mangled) == 0)
        return job->last_name;
    text_clear(&job->text);
    symbol_demangle(mangled, &job->text);
    const char *copy = arena_copy(&job->arena, text_string(&job->text), job->text.length);
    job->last_mangled = mangled;
    job->last_name = copy ? copy : "";
    return job->last_name;
}

/* Splits the name of a function in a kernel module: the name, and the module in brackets. */
static void split_kernel_name(struct name_job *job, const char *text, struct symbols_line *line)
{
    const char *tab = strchr(text, '\t');
    const char *part = tab ? arena_copy(&job->arena, tab + 1, strlen(tab + 1)) : NULL;
    /* A copy, since `names` is freed before the answers are used. */
    line->name = arena_copy(&job->arena, text, tab ? (size_t)(tab - text) : strlen(text));
    if (part)
        line->module = part;
    if (!line->name)
        line->name = "";
}

static int answer_place(struct name_job *job, size_t i, const struct symbol_names *names,
                        const struct debug_lines *found)
{
    const char *name = symbol_names_get(names, i);
    uint32_t count = found && found->count ? found->count : 1;
    struct symbols_line *lines = arena_alloc_zero(&job->arena, count * sizeof *lines);
    if (!lines)
        return -1;
    uint32_t flags = job->module->kind == MODULE_KERNEL ? SYMBOLS_KERNEL : 0;
    for (uint32_t k = 0; k < count; k++) {
        const struct debug_line *told = found && found->count ? &found->lines[k] : NULL;
        int is_outermost = k + 1 == count;
        lines[k] = (struct symbols_line){ .module = job->module->path,
                                          .flags = flags | (is_outermost ? 0 : SYMBOLS_INLINED) };
        if (told && *told->file) {
            lines[k].file = told->file;
            lines[k].line = told->line;
        }
        if (is_outermost && name && job->module->kind == MODULE_KERNEL)
            split_kernel_name(job, name, &lines[k]);
        else if (is_outermost && name)
            lines[k].name = demangled(job, name);
        else if (told && *told->name)
            lines[k].name = demangled(job, told->name);
        else
            lines[k].flags |= SYMBOLS_UNRESOLVED;
    }
    job->answers[i] = (struct name_answer){ lines, count };
    return 0;
}

#define SOON 4 /* lines wait if the limit reaches them when the program has run this many times as long */

/* What it takes to read the debug information: libdw walks through all of it, and decompresses it before. Measured on
 * libpython (9 MB) and libc (3 MB, compressed). */
static int64_t expected_ns(const struct elf_image *image)
{
    enum { PLAIN_NS = 8, PACKED_NS = 25 }; /* a byte */
    static const char *const names[] = { ".debug_info", ".zdebug_info", ".debug_line", ".debug_str", ".debug_abbrev" };
    uint64_t ns = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const Elf64_Shdr *section = elf_image_section(image, names[i]);
        int is_packed = section && (section->sh_flags & SHF_COMPRESSED || i == 1);
        if (section && section->sh_size <= image->size && (is_packed || i == 0))
            ns += section->sh_size * (is_packed ? PACKED_NS : PLAIN_NS);
    }
    return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

/* Returns whether the lines have to wait for a later round. */
static int name_job_find_lines(struct name_job *job, const struct elf_image *own, const struct elf_image *debug,
                               struct debug_lines *found)
{
    const struct elf_image *with_lines = elf_image_section(own, ".debug_info") || elf_image_section(own, ".zdebug_info")
                                             ? own
                                         : elf_image_section(debug, ".debug_info") ? debug
                                                                                   : NULL;
    int64_t long_ns = with_lines ? expected_ns(with_lines) : 0;
    int is_too_long = long_ns > job->lines_limit_ns;
    if (is_too_long && job->may_wait && long_ns / SOON <= job->lines_limit_ns)
        return 1;
    job->is_without_lines = is_too_long;
    if (with_lines && !is_too_long)
        debug_info_find(with_lines, job->places, job->place_count, found, &job->arena, &job->child_ns);
    return 0;
}

static void answer_all(struct name_job *job)
{
    const struct symbols_module *module = job->module;
    struct symbol_names names;
    struct elf_image debug = { .file = -1 };
    struct debug_lines *found = NULL;
    if (symbol_names_begin(&names, job->places, job->place_count) != 0) {
        job->failed = 1;
        return;
    }
    if (job->settings->no_names) {
        /* nothing is looked up */
    } else if (module->kind == MODULE_KERNEL) {
        names_add_kernel(&names, module->kernel);
    } else if (module->kind == MODULE_JIT) {
        job->is_cut = names_add_made(&names, &job->owner, &job->made_bytes);
    } else if (module->state == MODULE_OPEN) {
        found = calloc(job->place_count, sizeof *found);
        int has_debug = debug_file_open(job->settings, module, &debug) == 0;
        job->is_postponed = found && name_job_find_lines(job, &module->image, &debug, found);
        if (!job->is_postponed)
            symbol_names_add_image(&names, &module->image);
        if (!job->is_postponed && has_debug)
            symbol_names_add_image(&names, &debug);
    }
    symbol_names_settle(&names);
    for (size_t i = 0; i < job->place_count && !job->failed && !job->is_postponed; i++)
        job->failed = answer_place(job, i, &names, found ? &found[i] : NULL) != 0;
    free(found);
    symbol_names_free(&names);
    elf_image_close(&debug);
}

void name_job_do(struct name_job *job)
{
    int64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    answer_all(job);
    job->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns + job->child_ns;
}

void name_job_free(struct name_job *job)
{
    free(job->places);
    free(job->answers);
    arena_free(&job->arena);
    text_free(&job->text);
}
