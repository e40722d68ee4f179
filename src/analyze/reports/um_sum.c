/* um_sum, um_total_sum and um_cpu_page_faults_sum: managed ("unified") memory: pages that moved between host and GPU,
 * and the faults that moved them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/report_options.h"
#include "analyze/engine/report_run.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { COPY_UNIFIED_TO_DEVICE = 11, COPY_UNIFIED_TO_HOST = 12 }; /* CUPTI_ACTIVITY_KIND_MEMCPY.copyKind */

/* Migrations and faults of one page. */
struct managed_page {
    int64_t to_device_bytes, to_host_bytes, moving_ns;
    int64_t cpu_faults, gpu_faults;
    int moved; /* 1: to the device, 2: to the host */
};

struct managed_pages {
    struct filter filter;
    struct keys addresses;
    struct managed_page *list; /* owned; by key */
    size_t capacity;
};

/* The page of an address; NULL when memory is short. */
static struct managed_page *find_page(struct managed_pages *pages, int64_t address)
{
    uint32_t key = keys_add(&pages->addresses, &address);

    if (key == NO_KEY || array_reserve_zeroed(&pages->list, &pages->capacity, key + 1u, sizeof *pages->list) != 0)
        return NULL;
    return &pages->list[key];
}

static int um_sum_add_copies(struct managed_pages *pages, const struct gpu_ops *ops)
{
    for (size_t row = 0; row < ops->count; row++) {
        int64_t kind = gpu_extra(ops, 0, row), bytes = gpu_extra(ops, 1, row);
        if ((kind != COPY_UNIFIED_TO_DEVICE && kind != COPY_UNIFIED_TO_HOST) || gpu_extra_is_null(ops, 2, row) ||
            !gpu_counts(ops, row, &pages->filter))
            continue;
        struct managed_page *page = find_page(pages, gpu_extra(ops, 2, row));
        if (!page)
            return ERR_NO_MEMORY;
        int64_t *moved = kind == COPY_UNIFIED_TO_DEVICE ? &page->to_device_bytes : &page->to_host_bytes;
        *moved = saturating_add(*moved, bytes);
        page->moved |= kind == COPY_UNIFIED_TO_DEVICE ? 1 : 2;
        page->moving_ns = saturating_add(page->moving_ns, saturating_duration(ops->start[row], ops->end[row]));
    }
    return 0;
}

/* Adds the faults of one side: one for each row of the table, or the numbers in one of its columns. */
static int add_faults(struct managed_pages *pages, struct report *report, const char *table, const char *count_column,
                      struct error *err)
{
    enum { START, PROCESS, ADDRESS, COUNT };
    const char *const names[] = { "start", "globalPid", "address", count_column, NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t start = row_int(&rows, START);
        if (!filter_process(&pages->filter, row_int(&rows, PROCESS), start, start))
            continue;
        struct managed_page *page = find_page(pages, row_int(&rows, ADDRESS));
        if (!page && (code = error_short_memory(err, "for the pages")) != 0)
            goto close_rows;
        if (count_column)
            page->gpu_faults = saturating_add(page->gpu_faults, row_int(&rows, COUNT));
        else
            page->cpu_faults++;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int pages_read(struct managed_pages *pages, struct report *report, const struct analysis_request *request,
                      struct error *err)
{
    static const char *const extra[] = { "copyKind", "bytes", "virtualAddress", NULL };
    struct gpu_ops ops = { 0 };
    int code;

    *pages = (struct managed_pages){ .addresses.width = 1 };
    if ((code = filter_open(&pages->filter, report, request, err)) != 0)
        goto free_ops;
    if ((code = gpu_read(&ops, report, GPU_MEMCPY, extra, err)) != 0)
        goto free_ops;
    if (um_sum_add_copies(pages, &ops) != 0 && (code = error_short_memory(err, "for the pages")) != 0)
        goto free_ops;
    if ((code = add_faults(pages, report, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", NULL, err)) != 0)
        goto free_ops;
    code = add_faults(pages, report, "CUDA_UM_GPU_PAGE_FAULT_EVENTS", "numberOfPageFaults", err);
free_ops:
    gpu_free(&ops);
    return code;
}

static void pages_free(struct managed_pages *pages)
{
    filter_close(&pages->filter);
    keys_free(&pages->addresses);
    free(pages->list);
}

static int set_address(struct table *table, struct table_cell *cell, int64_t address)
{
    char text[32];
    int length = snprintf(text, sizeof text, "0x%" PRIX64, (uint64_t)address);

    return cell_set_text(table, cell, text, (size_t)length);
}

enum { ADDRESS, TO_DEVICE, TO_HOST, CPU_FAULTS, GPU_FAULTS, THROUGHPUT, COLUMNS };
static const struct table_column um_sum_columns[COLUMNS] = {
    { "Virtual Address", CELL_TEXT, UNIT_NONE, 0 },          { "HtoD Migration size", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "DtoH Migration size", CELL_REAL, UNIT_MEGABYTES, 3 }, { "CPU Page Faults", CELL_INT, UNIT_NONE, 0 },
    { " GPU Page Faults", CELL_INT, UNIT_NONE, 0 },          { "Migration Throughput (MB/s)", CELL_REAL, UNIT_NONE, 3 },
};

static int um_sum_add_page(struct table *table, int64_t address, const struct managed_page *page)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (page->moved & 1)
        cell_set_real(&row[TO_DEVICE], (double)page->to_device_bytes / 1e6);
    if (page->moved & 2)
        cell_set_real(&row[TO_HOST], (double)page->to_host_bytes / 1e6);
    if (page->cpu_faults)
        cell_set_int(&row[CPU_FAULTS], page->cpu_faults);
    if (page->gpu_faults)
        cell_set_int(&row[GPU_FAULTS], page->gpu_faults);
    if (page->moving_ns > 0) /* whole moves per second, as in cuda_gpu_trace */
        cell_set_real(&row[THROUGHPUT], ((double)page->to_device_bytes + (double)page->to_host_bytes) *
                                            (double)(1000000000 / page->moving_ns) / 1e6);
    return set_address(table, &row[ADDRESS], address);
}

static int fill_pages(struct table *table, const struct managed_pages *pages, int64_t limit)
{
    for (uint32_t i = 0; i < pages->addresses.count; i++)
        if (um_sum_add_page(table, *keys_get(&pages->addresses, i), &pages->list[i]) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(THROUGHPUT), ADDRESS));
    if (limit >= 0)
        table_limit(table, (size_t)limit);
    return 0;
}

static int um_sum(struct report *report, const struct analysis_request *request, struct table **out, struct error *err)
{
    struct table *table = table_new(um_sum_columns, COLUMNS);
    struct managed_pages pages = { 0 };
    int64_t limit;
    int code;

    if ((code = option_number(request, "rows", 10, -1, INT64_MAX, &limit, err)) != 0)
        goto done;
    if ((code = pages_read(&pages, report, request, err)) != 0)
        goto done;
    code = table ? fill_pages(table, &pages, limit) : ERR_NO_MEMORY;
done:
    pages_free(&pages);
    return table_hand_over(table, code, out, err);
}

static int fill_totals(struct table *table, const struct managed_pages *pages)
{
    struct table_cell *row = table_add_row(table);
    struct managed_page total = { 0 };
    uint64_t least = UINT64_MAX, greatest = 0;

    if (!row)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < pages->addresses.count; i++) {
        const struct managed_page *page = &pages->list[i];
        uint64_t address = (uint64_t)*keys_get(&pages->addresses, i);
        total.to_device_bytes = saturating_add(total.to_device_bytes, page->to_device_bytes);
        total.to_host_bytes = saturating_add(total.to_host_bytes, page->to_host_bytes);
        total.cpu_faults += page->cpu_faults;
        total.gpu_faults = saturating_add(total.gpu_faults, page->gpu_faults);
        least = page->moved && address < least ? address : least;
        greatest = page->moved && address > greatest ? address : greatest;
    }
    cell_set_real(&row[0], (double)total.to_device_bytes / 1e6);
    cell_set_real(&row[1], (double)total.to_host_bytes / 1e6);
    cell_set_int(&row[2], total.cpu_faults);
    cell_set_int(&row[3], total.gpu_faults);
    if (least > greatest)
        return 0;
    if (set_address(table, &row[4], (int64_t)least) != 0)
        return ERR_NO_MEMORY;
    return set_address(table, &row[5], (int64_t)greatest);
}

static const struct table_column um_total_columns[] = {
    { "Total HtoD Migration Size", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "Total DtoH Migration Size", CELL_REAL, UNIT_MEGABYTES, 3 },
    { "Total CPU Page Faults", CELL_INT, UNIT_NONE, 0 },
    { "Total GPU PageFaults", CELL_INT, UNIT_NONE, 0 },
    { "Minimum Virtual Address", CELL_TEXT, UNIT_NONE, 0 },
    { "Maximum Virtual Address", CELL_TEXT, UNIT_NONE, 0 },
};
REPORT_RUN(um_total_sum, struct managed_pages, um_total_columns, pages_read, fill_totals, pages_free)

enum { FAULTS, FUNCTION, FILE_NAME, LINE, FAULT_COLUMNS };

/* Faults by the place in the program. */
struct fault_places {
    struct keys keys; /* function, file, line */
    int64_t *counts;  /* owned; by key */
    size_t room;
};

static int fill_faults(struct report *report, struct table *table, const struct fault_places *places)
{
    for (uint32_t i = 0; i < places->keys.count; i++) {
        const int64_t *key = keys_get(&places->keys, i);
        struct table_cell *row = table_add_row(table);
        if (!row || cell_set_pooled(table, &row[FUNCTION], report, key[0]) != 0 ||
            cell_set_pooled(table, &row[FILE_NAME], report, key[1]) != 0)
            return ERR_NO_MEMORY;
        cell_set_int(&row[FAULTS], places->counts[i]);
        cell_set_int(&row[LINE], key[2]);
    }
    table_sort_by(table, BY(DOWN(FAULTS), FUNCTION, FILE_NAME, LINE));
    return 0;
}

static int count_faults(struct fault_places *places, struct report *report, const struct filter *filter,
                        struct error *err)
{
    enum { START, PROCESS, INSTRUCTION, SOURCE_FILE, SOURCE_LINE };
    static const char *const names[] = { "start", "globalPid", "CpuInstruction", "sourceFile", "sourceLine", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "CUDA_UM_CPU_PAGE_FAULT_EVENTS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t start = row_int(&rows, START);
        if (!filter_process(filter, row_int(&rows, PROCESS), start, start))
            continue;
        int64_t place[] = { row_int(&rows, INSTRUCTION), row_int(&rows, SOURCE_FILE), row_int(&rows, SOURCE_LINE) };
        uint32_t key = keys_add(&places->keys, place);
        if ((key == NO_KEY ||
             array_reserve_zeroed(&places->counts, &places->room, key + 1u, sizeof *places->counts) != 0) &&
            (code = error_short_memory(err, "for the table")) != 0)
            goto close_rows;
        places->counts[key]++;
    }
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int um_cpu_page_faults_sum(struct report *report, const struct analysis_request *request, struct table **out,
                                  struct error *err)
{
    static const struct table_column fault_columns[FAULT_COLUMNS] = {
        { "CPU Page Faults", CELL_INT, UNIT_NONE, 0 },
        { "CPU Instruction Address", CELL_TEXT, UNIT_NONE, 0 },
        { "Source File", CELL_TEXT, UNIT_NONE, 0 },
        { "Source Line", CELL_INT, UNIT_ID, 0 },
    };
    struct table *table = table_new(fault_columns, FAULT_COLUMNS);
    struct fault_places places = { .keys.width = 3 };
    struct filter filter = { 0 };
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = count_faults(&places, report, &filter, err)) != 0)
        goto done;
    code = table ? fill_faults(report, table, &places) : ERR_NO_MEMORY;
done:
    filter_close(&filter);
    keys_free(&places.keys);
    free(places.counts);
    return table_hand_over(table, code, out, err);
}

static const char *const copy_tables[] = { "CUPTI_ACTIVITY_KIND_MEMCPY", NULL };
#define FAULTS_NEEDED { "CUDA Unified Memory CPU page faults data", TABLES("CUDA_UM_CPU_PAGE_FAULT_EVENTS") }

const struct analysis analysis_um_sum = {
    .name = "um_sum",
    .title = "Unified Memory Analysis Summary",
    .usage = "[:rows=<limit>]",
    .help = "Managed memory by address: bytes that migrated to the GPU and back, page faults, and migration "
            "throughput. The table has the rows with the highest throughput: 10, or the number in rows (-1: all).",
    .needs = { { "CUDA memory transfers data", copy_tables }, FAULTS_NEEDED },
    .by_default = 16,
    .run = um_sum,
};

const struct analysis analysis_um_total_sum = {
    .name = "um_total_sum",
    .title = "Unified Memory Totals Summary",
    .help = "Totals of managed memory: migrated bytes, CPU and GPU page faults, and the address range.",
    .needs = { { "CUDA memory transfers data", copy_tables }, FAULTS_NEEDED },
    .by_default = 17,
    .run = um_total_sum,
};

const struct analysis analysis_um_cpu_page_faults_sum = {
    .name = "um_cpu_page_faults_sum",
    .title = "Unified Memory CPU Page Faults Summary",
    .help = "CPU page faults on managed memory, by code location.",
    .needs = { FAULTS_NEEDED },
    .by_default = 18,
    .run = um_cpu_page_faults_sum,
};
