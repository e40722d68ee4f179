/* Finds the names of all frames, after a capture: see symbols.h.
 *
 * Frames are sorted by module and place. Each module is one job, done by any worker, and each place in it is looked
 * up once. Only the caller combines the results of the jobs, so numbers and texts need no lock. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/parallel.h"
#include "debug_file.h"
#include "module.h"
#include "runtime_names.h"
#include "symbols/names/debug_info.h"
#include "symbols/names/demangle.h"
#include "symbols/names/symbol_names.h"
#include "symbols_state.h"

struct answer { /* the lines of one place */
    struct symbols_line *lines;
    uint32_t count;
};

struct job {
    struct symbols *symbols;
    struct symbols_module *module;
    const uint32_t *frames; /* of the module, by place */
    size_t frame_count;
    uint64_t *places;       /* the same without duplicates */
    struct answer *answers;
    size_t place_count;
    struct arena arena;
    struct text text; /* for demangling */
    const char *last_mangled, *last_name;
    int has_names, is_refused, is_cut, failed;
};

/* ---- One job --------------------------------------------------------------------------------------------------- */

static const char *demangled(struct job *job, const char *mangled)
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
static void split_kernel_name(struct job *job, const char *text, struct symbols_line *line)
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

static int answer_place(struct job *job, size_t i, const struct symbol_names *names, const struct debug_lines *found)
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
    job->answers[i] = (struct answer){ lines, count };
    return 0;
}

static void find_lines(struct job *job, const struct elf_image *own, const struct elf_image *debug,
                       struct debug_lines *found)
{
    const struct elf_image *with_lines = elf_image_section(own, ".debug_info") || elf_image_section(own, ".zdebug_info")
                                             ? own
                                         : elf_image_section(debug, ".debug_info") ? debug
                                                                                   : NULL;
    if (with_lines)
        job->is_refused = debug_info_find(with_lines, job->places, job->place_count, found, &job->arena) != 0;
}

static void answer_all(struct job *job)
{
    struct symbols_module *module = job->module;
    struct symbol_names names;
    struct elf_image debug = { .file = -1 };
    struct debug_lines *found = NULL;
    if (symbol_names_begin(&names, job->places, job->place_count) != 0) {
        job->failed = 1;
        return;
    }
    if (job->symbols->settings.no_names) {
        /* nothing is looked up */
    } else if (module->kind == MODULE_KERNEL) {
        names_add_kernel(&names);
    } else if (module->kind == MODULE_JIT) {
        job->is_cut = names_add_made(&names, module->owner);
    } else if (module->state == MODULE_OPEN) {
        found = calloc(job->place_count, sizeof *found);
        symbol_names_add_image(&names, &module->image);
        if (debug_file_open(job->symbols, module, &debug) == 0)
            symbol_names_add_image(&names, &debug);
        if (found)
            find_lines(job, &module->image, &debug, found);
    }
    symbol_names_settle(&names);
    for (size_t i = 0; i < job->place_count && !job->failed; i++) {
        job->has_names |= symbol_names_get(&names, i) != NULL;
        job->failed = answer_place(job, i, &names, found ? &found[i] : NULL) != 0;
    }
    free(found);
    symbol_names_free(&names);
    elf_image_close(&debug);
}

static void work(void *argument, int worker, size_t i)
{
    struct job *job = (struct job *)argument + i;
    job->places = malloc(job->frame_count * sizeof *job->places);
    job->answers = calloc(job->frame_count, sizeof *job->answers);
    if (!job->places || !job->answers) {
        job->failed = 1;
        return;
    }
    for (size_t k = 0; k < job->frame_count; k++) {
        const struct symbols_frame_item *frame = item_table_item(&job->symbols->frames, job->frames[k]);
        if (job->place_count == 0 || job->places[job->place_count - 1] != frame->inside)
            job->places[job->place_count++] = frame->inside;
    }
    answer_all(job);
}

/* ---- Combining the results ------------------------------------------------------------------------------------- */

static int add_line(struct symbols *symbols, const struct symbols_line *line)
{
    if (array_reserve(&symbols->lines, &symbols->line_capacity, symbols->line_count + 1u, sizeof *line) != 0)
        return -1;
    symbols->lines[symbols->line_count++] = *line;
    return 0;
}

static int take_line(struct symbols *symbols, const struct symbols_line *told, uint64_t address)
{
    struct symbols_line line = *told;
    char hexadecimal[24];
    const char *name = line.name;
    if (line.flags & SYMBOLS_UNRESOLVED) {
        snprintf(hexadecimal, sizeof hexadecimal, "0x%" PRIx64, address);
        name = hexadecimal;
    }
    line.name = symbols_text(symbols, name, strlen(name));
    line.module = symbols_text(symbols, line.module, strlen(line.module));
    if (line.file)
        line.file = symbols_text(symbols, line.file, strlen(line.file));
    return add_line(symbols, &line);
}

/* Frames of one place share its lines, but frames without a name are named by their own addresses. */
static int take_job(struct symbols *symbols, const struct job *job)
{
    size_t place = 0;
    const struct symbols_frame_item *shared = NULL;
    for (size_t k = 0; k < job->frame_count; k++) {
        struct symbols_frame_item *frame = item_table_item(&symbols->frames, job->frames[k]);
        if (job->places[place] != frame->inside) {
            place++;
            shared = NULL;
        }
        const struct answer *answer = &job->answers[place];
        int is_named = !(answer->lines[answer->count - 1].flags & SYMBOLS_UNRESOLVED);
        if (shared && (is_named || shared->address == frame->address)) {
            frame->first_line = shared->first_line;
            frame->line_count = shared->line_count;
            continue;
        }
        frame->first_line = symbols->line_count;
        for (uint32_t i = 0; i < answer->count; i++)
            if (take_line(symbols, &answer->lines[i], frame->address) != 0)
                return -1;
        frame->line_count = answer->count;
        if (!shared) {
            symbols->counts.places++;
            symbols->counts.named += is_named;
            symbols->counts.with_source += answer->lines[0].file != NULL;
        }
        shared = frame;
    }
    symbols->counts.files++;
    symbols->counts.files_without_names += !job->has_names;
    symbols->counts.files_refused += job->is_refused;
    symbols->counts.maps_cut += job->is_cut;
    return 0;
}

static int by_place(const void *a, const void *b, void *context)
{
    const struct symbols *symbols = context;
    const struct symbols_frame_item *x = item_table_item(&symbols->frames, *(const uint32_t *)a),
                                    *y = item_table_item(&symbols->frames, *(const uint32_t *)b);
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->inside > y->inside) - (x->inside < y->inside);
}

/* Frames that wait for names, sorted. */
static size_t waiting_frames(struct symbols *symbols, uint32_t *order)
{
    size_t count = 0;
    for (uint32_t i = symbols->resolved_frames; i < symbols->frames.count; i++)
        order[count++] = i;
    qsort_r(order, count, sizeof *order, by_place, symbols);
    return count;
}

int symbols_resolve(struct symbols *symbols, struct parallel *pool)
{
    uint32_t *order = malloc(symbols->frames.count * sizeof *order);
    struct job *jobs = calloc(symbols->module_count + 1, sizeof *jobs);
    size_t job_count = 0;
    int result = order && jobs ? 0 : -1;
    size_t count = result == 0 ? waiting_frames(symbols, order) : 0;
    for (size_t i = 0; i < count; i++) {
        const struct symbols_frame_item *frame = item_table_item(&symbols->frames, order[i]);
        if (job_count == 0 || jobs[job_count - 1].module != symbols->modules[frame->module])
            jobs[job_count++] = (struct job){
                .symbols = symbols,
                .module = symbols->modules[frame->module],
                .frames = order + i,
            };
        jobs[job_count - 1].frame_count++;
    }
#if defined(DEBUG_INFO_SANITIZED)
    pool = NULL;
#endif
    parallel_for(pool, job_count, work, jobs);
    for (size_t i = 0; i < job_count; i++) {
        result |= jobs[i].failed ? -1 : take_job(symbols, &jobs[i]);
        free(jobs[i].places);
        free(jobs[i].answers);
        arena_free(&jobs[i].arena);
        text_free(&jobs[i].text);
    }
    if (result == 0)
        symbols->resolved_frames = symbols->frames.count;
    free(order);
    free(jobs);
    return result;
}
