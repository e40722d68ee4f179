/* Counts the samples at each instruction of a function: see annotate_code.h. A sample has the address in the memory of
 * its process. The place of the file in that memory is in TACHO_MODULE, so that addresses in the file are known. */
#include "annotate_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/stacks/stacks.h"
#include "annotate_lines.h"
#include "annotate_objdump.h"
#include "base/array.h"
#include "symbols/elf/elf_image.h"
#include "symbols/names/symbol_names.h"

struct annotate_module {
    int64_t process, path, address, size; /* size: 0: not known */
    const char *build_id;                 /* in the report */
};

struct annotate_event {
    int64_t id, process;
};

/* The innermost frames of a sample: those of one address, the functions that are inlined there first. */
struct annotate_leaf {
    int64_t id, address, symbol, module;
    int is_named;
};

struct annotate_hit {
    int64_t symbol, module;
    uint64_t offset; /* from the first byte of the file in memory */
};

struct annotate_code_search {
    struct annotate_code *code;
    struct report *report;
    const char *name;
    struct annotate_module *modules; /* owned, as all below; by process and path */
    struct annotate_event *events;   /* samples on a CPU, by id */
    struct annotate_hit *hits;       /* samples in the function; by symbol, module and offset */
    size_t module_count, modules_room, event_count, events_room, hit_count, hits_room;
};

static void annotate_code_search_free(struct annotate_code_search *search)
{
    free(search->modules);
    free(search->events);
    free(search->hits);
}

void annotate_code_free(struct annotate_code *code)
{
    free(code->list);
    text_free(&code->texts);
    *code = (struct annotate_code){ 0 };
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static int annotate_modules_by_path(const void *a, const void *b)
{
    const struct annotate_module *x = a, *y = b;

    return COMPARE(x->process, y->process) ?: COMPARE(x->path, y->path);
}

static int annotate_read_modules(struct annotate_code_search *search, struct error *err)
{
    static const char *const names[] = { "globalPid", "pathId", "address", "size", "buildId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, search->report, "TACHO_MODULE", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const struct annotate_module module = { row_int(&rows, 0), row_int(&rows, 1), row_int(&rows, 2),
                                                row_int_or(&rows, 3, 0), row_string(&rows, search->report, 4) };
        if (!row_is_null(&rows, 2) &&
            ARRAY_PUSH(search->modules, search->modules_room, search->module_count, module) != 0) {
            code = error_short_memory(err, "for the modules");
            goto close_rows;
        }
    }
    if (search->module_count)
        qsort(search->modules, search->module_count, sizeof *search->modules, annotate_modules_by_path);
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int annotate_events_by_id(const void *a, const void *b)
{
    const struct annotate_event *x = a, *y = b;

    return COMPARE(x->id, y->id);
}

static int annotate_read_events(struct annotate_code_search *search, struct error *err)
{
    static const char *const names[] = { "id", "globalTid", "threadState", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, search->report, "COMPOSITE_EVENTS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const struct annotate_event event = { row_int(&rows, 0), global_process(row_int_or(&rows, 1, 0)) };
        if (row_int_or(&rows, 2, 0) == THREAD_STATE_WAITING)
            continue;
        if (ARRAY_PUSH(search->events, search->events_room, search->event_count, event) != 0) {
            code = error_short_memory(err, "for the samples");
            goto close_rows;
        }
    }
    if (search->event_count)
        qsort(search->events, search->event_count, sizeof *search->events, annotate_events_by_id);
close_rows:
    row_cursor_close(&rows);
    return code;
}

/* A process has a file at several addresses one after the other, after exec() or dlclose(). */
static const struct annotate_module *annotate_module_of(const struct annotate_code_search *search, int64_t process,
                                                        const struct annotate_leaf *leaf)
{
    int64_t path = leaf->module;
    size_t at = BISECT(0, search->module_count, i,
                       search->modules[i].process < process ||
                           (search->modules[i].process == process && search->modules[i].path < path));

    for (; at < search->module_count; at++) {
        const struct annotate_module *module = &search->modules[at];
        if (module->process != process || module->path != path)
            return NULL;
        if (!module->size || (uint64_t)leaf->address - (uint64_t)module->address < (uint64_t)module->size)
            return module;
    }
    return NULL;
}

static int annotate_add_hit(struct annotate_code_search *search, const struct annotate_leaf *leaf)
{
    size_t at = BISECT(0, search->event_count, i, search->events[i].id < leaf->id);
    const struct annotate_module *module;

    if (!leaf->is_named || at == search->event_count || search->events[at].id != leaf->id ||
        !(module = annotate_module_of(search, search->events[at].process, leaf)))
        return 0;
    const struct annotate_hit hit = { leaf->symbol, leaf->module, (uint64_t)leaf->address - (uint64_t)module->address };
    return ARRAY_PUSH(search->hits, search->hits_room, search->hit_count, hit);
}

static int annotate_read_stacks(struct annotate_code_search *search, struct error *err)
{
    static const char *const names[] = { "id", "stackDepth", "originalIP", "symbol", "module", NULL };
    struct annotate_leaf leaf = { 0 };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, search->report, "SAMPLING_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t id = row_int(&rows, 0), address = row_int_or(&rows, 2, 0);
        if (row_int(&rows, 1) == 0) {
            if ((code = annotate_add_hit(search, &leaf)) != 0)
                goto close_rows;
            leaf = (struct annotate_leaf){ .id = id, .address = address };
        }
        if (id != leaf.id || address != leaf.address)
            continue;
        leaf.symbol = row_int(&rows, 3);
        leaf.module = row_int(&rows, 4);
        leaf.is_named |= annotate_is_named(search->name, row_string(&rows, search->report, 3));
    }
    code = annotate_add_hit(search, &leaf);
close_rows:
    row_cursor_close(&rows);
    return code != 0 ? error_short_memory(err, "for the stacks") : 0;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static int annotate_hits_by_offset(const void *a, const void *b)
{
    const struct annotate_hit *x = a, *y = b;

    return COMPARE(x->symbol, y->symbol) ?: COMPARE(x->module, y->module) ?: COMPARE(x->offset, y->offset);
}

/* Leaves the samples of the function that has most. */
static void annotate_keep_most(struct annotate_code_search *search)
{
    size_t first = 0, most = 0;

    qsort(search->hits, search->hit_count, sizeof *search->hits, annotate_hits_by_offset);
    for (size_t i = 0, next; i < search->hit_count; i = next) {
        const struct annotate_hit *hit = &search->hits[i];
        for (next = i + 1; next < search->hit_count && search->hits[next].symbol == hit->symbol &&
                           search->hits[next].module == hit->module;)
            next++;
        if (next - i > most) {
            most = next - i;
            first = i;
        }
    }
    memmove(search->hits, search->hits + first, most * sizeof *search->hits);
    search->hit_count = most;
}

/* The span of the function that has an address: the smallest one. */
struct annotate_extent {
    uint64_t wanted, start, end;
};

static void annotate_visit(void *context, const struct symbol_names_entry *symbol)
{
    struct annotate_extent *extent = context;
    uint64_t end = symbol->start + symbol->size;

    if (symbol->size && symbol->start <= extent->wanted && extent->wanted < end &&
        (!extent->end || symbol->size < extent->end - extent->start)) {
        extent->start = symbol->start;
        extent->end = end;
    }
}

static int annotate_is_same_file(const struct elf_image *image, const char *build_id)
{
    unsigned char id[ELF_IMAGE_BUILD_ID_MAX];
    size_t bytes = elf_image_build_id(image, id);
    char digits[3];

    for (size_t i = 0; i < bytes; i++) {
        snprintf(digits, sizeof digits, "%02x", id[i]);
        if (strncmp(build_id + 2 * i, digits, 2) != 0)
            return !*build_id;
    }
    return !*build_id || !build_id[2 * bytes];
}

/* The function's span in the file; `*first`: the address of the file's first byte. */
static int annotate_find_extent(struct annotate_code_search *search, struct annotate_extent *extent, uint64_t *first,
                                struct error *err)
{
    const char *path = search->code->file, *build_id = "";
    int file = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    struct elf_image image;
    int is_same;

    for (size_t i = 0; i < search->module_count; i++)
        if (search->modules[i].path == search->hits->module)
            build_id = search->modules[i].build_id;
    if (file < 0 || elf_image_open(&image, file) != 0)
        return error_set(err, ERR_NO_DATA, "cannot read '%s', which has the instructions of '%s'", path,
                         search->code->function);
    *first = elf_image_first_address(&image);
    *extent = (struct annotate_extent){ .wanted = *first + search->hits[search->hit_count / 2].offset };
    if ((is_same = annotate_is_same_file(&image, build_id)))
        symbol_names_visit_image(&image, annotate_visit, extent);
    elf_image_close(&image);
    if (!is_same)
        return error_set(err, ERR_NO_DATA,
                         "'%s' was built again since the report was recorded: its instructions are "
                         "others now",
                         path);
    return extent->end ? 0
                       : error_set(err, ERR_NO_DATA,
                                   "'%s' has no symbol for '%s', so that its instructions are not "
                                   "known",
                                   path, search->code->function);
}

/* ---- the instructions -------------------------------------------------------------------------------------------- */

/* "    1180:\tmov    %eax,%edx" is an instruction; "/src/a.c:27 (discriminator 3)" is the line of those that follow. */
static int annotate_take_row(struct annotate_code *code, const char *row, int64_t *line)
{
    const char *at = row + strspn(row, " "), *colon = strrchr(row, ':');
    char *end;
    uint64_t address = strtoull(at, &end, 16);

    if (end > at && end[0] == ':' && end[1] == '\t') {
        const struct annotate_instruction instruction = { address, *line, code->texts.length, 0 };
        text_add_bytes(&code->texts, end + 2, strlen(end + 2) + 1);
        return ARRAY_PUSH(code->list, code->room, code->count, instruction);
    }
    if (colon && colon > row && *row != ' ' && colon[1] >= '0' && colon[1] <= '9')
        *line = strtoll(colon + 1, NULL, 10);
    return 0;
}

static int annotate_take_rows(struct annotate_code *code, struct text *rows)
{
    int64_t line = 0;

    for (char *row = rows->bytes, *rest; row && *row; row = rest) {
        if ((rest = strchr(row, '\n')))
            *rest++ = 0;
        if (annotate_take_row(code, row, &line) != 0)
            return ERR_NO_MEMORY;
    }
    return text_failed(&code->texts) ? ERR_NO_MEMORY : 0;
}

/* ---- the samples ------------------------------------------------------------------------------------------------- */

static void annotate_count_hits(struct annotate_code_search *search, uint64_t first)
{
    struct annotate_code *code = search->code;

    for (size_t i = 0; i < search->hit_count; i++) {
        uint64_t address = first + search->hits[i].offset;
        size_t at = BISECT(0, code->count, k, code->list[k].address < address);
        if (at == code->count || code->list[at].address != address)
            continue;
        code->list[at].self++;
        code->self++;
    }
}

static int annotate_code_take(struct annotate_code_search *search, struct error *err)
{
    struct annotate_code *out = search->code;
    struct annotate_extent extent;
    struct text rows = { 0 };
    uint64_t first = 0;
    int code;

    annotate_keep_most(search);
    out->function = report_string(search->report, search->hits->symbol, NULL);
    out->file = report_string(search->report, search->hits->module, NULL);
    out->samples = (int64_t)search->event_count;
    if ((code = annotate_find_extent(search, &extent, &first, err)) != 0 ||
        (code = annotate_objdump(&rows, out->file, extent.start, extent.end, err)) != 0)
        goto free_rows;
    if (annotate_take_rows(out, &rows) != 0) {
        code = error_short_memory(err, "for the instructions");
        goto free_rows;
    }
    annotate_count_hits(search, first);
free_rows:
    text_free(&rows);
    return code;
}

int annotate_code_read(struct annotate_code *out, struct report *report, const char *name, struct error *err)
{
    struct annotate_code_search search = { .code = out, .report = report, .name = name };
    int code;

    *out = (struct annotate_code){ 0 };
    if ((code = annotate_read_modules(&search, err)) != 0 || (code = annotate_read_events(&search, err)) != 0 ||
        (code = annotate_read_stacks(&search, err)) != 0)
        goto free_search;
    code = search.hit_count
               ? annotate_code_take(&search, err)
               : error_set(err, ERR_NO_DATA, "no sample of the CPU is in the instructions of a function '%s'", name);
free_search:
    annotate_code_search_free(&search);
    return code;
}
