/* Programming models as a source: it has no events, but says in the report which models each process could use, and
 * whether it is likely to (TACHO_MODEL). A library that is merely loaded is no sign: PyTorch brings libgomp, Open MPI
 * brings libucp. The file of the program itself importing functions of the model is one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/models/models.h"
#include "base/path.h"
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "symbols/elf/elf_image.h"
#include "symbols/symbols.h"

struct models {
    uint32_t seen, imported; /* bits by model */
    int is_read;             /* imported is known */
    char *program;           /* owned; path of its file, for when the process is gone */
};

struct models_collect_job {
    uint32_t loaded, recorded; /* bits by model; by source */
    int has_agent;             /* in one process or more */
};

static struct models_collect_job *job_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_MODELS];
}

/* ---- Imports of a program -------------------------------------------------------------------------------------- */

/* The names of undefined symbols among the dynamic ones. */
static uint32_t imports_in(const struct elf_piece *symbols, const struct elf_piece *names)
{
    uint32_t models = 0;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols->size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols->bytes + at, sizeof symbol);
        if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= names->size)
            continue;
        const char *name = (const char *)names->bytes + symbol.st_name;
        if (memchr(name, 0, names->size - symbol.st_name))
            models |= model_imports(name);
    }
    return models;
}

/* A section of a sane size; the program's file may say anything. */
static int read_section(const struct elf_image *image, const char *name, struct elf_piece *piece)
{
    const uint64_t most = UINT64_C(64) << 20;
    const Elf64_Shdr *section = elf_image_section(image, name);
    return section && section->sh_size <= most ? elf_image_section_piece(image, section, piece) : -1;
}

static uint32_t imports_of(int file)
{
    struct elf_image image;
    struct elf_piece symbols = { 0 }, names = { 0 };
    uint32_t models = 0;
    if (elf_image_open(&image, file) != 0)
        return 0;
    if (read_section(&image, ".dynsym", &symbols) == 0 && read_section(&image, ".dynstr", &names) == 0)
        models = imports_in(&symbols, &names);
    elf_piece_free(&symbols);
    elf_piece_free(&names);
    elf_image_close(&image);
    return models;
}

/* Reads the file of the program once. The process may have ended; then the file is found by its path. */
static uint32_t imported(struct process *process, struct models *models)
{
    char link[32];
    if (models->is_read)
        return models->imported;
    models->is_read = 1;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process->pid);
    int file = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && models->program)
        file = open(models->program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0)
        models->imported = imports_of(file);
    return models->imported;
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

/* The process waits: only its name is read. */
static void models_collect_take_process(struct process *process)
{
    char link[32], path[4096];
    struct models *models = calloc(1, sizeof *models);
    job_of(process->collector)->has_agent = 1;
    if (!models)
        return;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process->pid);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0) {
        path[length] = 0;
        models->program = strdup(path);
    }
    process->state[COLLECT_SOURCE_MODELS] = models;
}

static void models_collect_free_process(struct process *process)
{
    struct models *models = process->state[COLLECT_SOURCE_MODELS];
    if (models) {
        job_of(process->collector)->loaded |= models->seen;
        for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
            job_of(process->collector)->recorded |= process->counts[i].recorded ? 1u << i : 0;
        free(models->program);
    }
    free(models);
    process->state[COLLECT_SOURCE_MODELS] = NULL;
}

static const char *used_by(struct process *process, struct models *models, enum model model)
{
    if (imported(process, models) & 1u << model)
        return "program";
    return model_rows[model].of_ranks && process->place.launcher && process->place.world_size > 1 ? "ranks" : NULL;
}

static void models_collect_module_begin(struct process *process, const struct symbols_mapping *mapping)
{
    struct models *models = process->state[COLLECT_SOURCE_MODELS];
    struct collector *collector = process->collector;
    const char *file = path_base_name(mapping->path);
    int is_counted = 0;
    for (enum model model = 0; models && model < MODEL_COUNT; model++) {
        const char *implementation = model_implementation(model, file);
        const char *use = implementation ? used_by(process, models, model) : NULL;
        if (!implementation || (models->seen & 1u << model) || (is_counted && !use))
            continue;
        is_counted = 1;
        models->seen |= 1u << model;
        struct row_TACHO_MODEL row = { 0 };
        ROW_SET(&row, TACHO_MODEL, globalPid, process->global_pid);
        ROW_SET(&row, TACHO_MODEL, model, collector_string(collector, model_rows[model].name));
        ROW_SET(&row, TACHO_MODEL, implementation, collector_string(collector, implementation));
        ROW_SET(&row, TACHO_MODEL, pathId, collector_string(collector, mapping->path));
        if (use)
            ROW_SET(&row, TACHO_MODEL, usedBy, collector_string(collector, use));
        writer_append(collector->writer, TABLE_TACHO_MODEL, &row);
    }
}

/* A variable that switches the tools of a runtime off. Those that name another tool have sentences of their own. */
static const struct model_variable *switched_off(enum model model)
{
    for (const struct model_variable *at = model_variables; at->variable; at++) {
        const char *value = at->model == model && at->value ? getenv(at->variable) : NULL;
        if (value && strcmp(value, at->value) == 0)
            return at;
    }
    return NULL;
}

/* Whether -t names the model, and there is nothing of it. MPI says that itself. */
static int models_collect_is_missing(const struct collector *collector, enum model model)
{
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        if (model != MODEL_MPI && (collector->options->sources & ~collector->options->if_used) >> i & 1 &&
            !(job_of(collector)->recorded >> i & 1) && strcmp(wire_source_name(i), model_rows[model].sources) == 0)
            return 1;
    return 0;
}

static void models_collect_finish(struct collector *collector)
{
    const struct models_collect_job *job = job_of(collector);
    struct text absent = { 0 };
    if (collector->options->no_preload || collector->recorded_ns <= 0 || !job->has_agent)
        return;
    for (enum model model = 0; model < MODEL_COUNT; model++) {
        const struct model_variable *variable = switched_off(model);
        if (!models_collect_is_missing(collector, model))
            continue;
        if (variable)
            collector_warn(collector, 0, "No event of %s was recorded: %s is set: %s.", model_rows[model].name,
                           variable->variable, variable->effect);
        else if (!(job->loaded & 1u << model))
            text_addf(&absent, "%s%s", absent.length ? ", " : "", model_rows[model].name);
    }
    if (absent.length)
        collector_warn(collector, 0,
                       "No event of %s was recorded: no process has loaded a library for it. A library that is linked "
                       "statically cannot be traced.",
                       text_string(&absent));
    text_free(&absent);
}

const struct collect_source collect_source_models = {
    .state_bytes = sizeof(struct models_collect_job),
    .finish = models_collect_finish,
    .process_attach = models_collect_take_process,
    .process_end = models_collect_free_process,
    .process_free = models_collect_free_process,
    .module_begin = models_collect_module_begin,
};
