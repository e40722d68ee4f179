/* Which option records the call stacks of a row, by the type of the row: see unrecorded.h. Backtraces of calls have a
 * threshold of 80 µs by default, which most launches do not reach, so the options set it to 0. */
#include "unrecorded.h"

#include "base/json_write.h"

enum lack { LACKS_NOTHING, LACKS_CUDA, LACKS_OS, LACKS_OPERATORS, LACKS_SAMPLES, LACKS_PYTHON };

static const struct {
    const char *data;
    const char *of_python, *of_others; /* the option, for programs in Python and for others; NULL: there is none */
    const char *table;                 /* its rows show that the data was recorded; NULL: each event may lack it */
} lacks[] = {
    [LACKS_NOTHING] = { "", NULL, NULL, NULL },
    [LACKS_CUDA] = { "the call stack of the CUDA call", "--python-backtrace=cuda --cudabacktrace=all:0",
                     "--cudabacktrace=all:0", NULL },
    [LACKS_OS] = { "the call stack of the OS call", "--python-backtrace=cuda --osrt-backtrace-threshold=0",
                   "--osrt-backtrace-threshold=0", NULL },
    [LACKS_OPERATORS] = { "the call stack of the operator", "--pytorch-stacks=true", NULL, NULL },
    [LACKS_SAMPLES] = { "the call stack of the sample", "--backtrace=dwarf", "--backtrace=dwarf",
                        "SAMPLING_CALLCHAINS" },
    [LACKS_PYTHON] = { "the Python call stack", "--python-sampling=true", NULL, "TACHO_PYTHON_SAMPLE" },
};

static const unsigned char lack_of[ROW_TYPE_COUNT] = {
    [ROW_STREAM] = LACKS_CUDA,     [ROW_GPU_SYNC] = LACKS_CUDA,    [ROW_IDLE] = LACKS_CUDA,
    [ROW_CUDA_API] = LACKS_CUDA,   [ROW_OSRT] = LACKS_OS,          [ROW_TORCH] = LACKS_OPERATORS,
    [ROW_SAMPLES] = LACKS_SAMPLES, [ROW_LIBRARY] = LACKS_PYTHON,   [ROW_NVTX] = LACKS_PYTHON,
    [ROW_GPU_NVTX] = LACKS_PYTHON, [ROW_GPU_TORCH] = LACKS_PYTHON,
};

/* Whether a row shows that its process runs Python. */
static int shows_python(const struct view_row *row)
{
    return row->type == ROW_TORCH || row->type == ROW_PYTHON || row->type == ROW_PYTHON_SAMPLES ||
           row->type == ROW_GIL || (row->type == ROW_PROCESS && text_begins_with(row->label, "python"));
}

static int unrecorded_is_python(const struct view *view, int64_t process)
{
    for (size_t i = 0; i < view->row_count; i++)
        if ((process < 0 || view->rows[i].process == process) && shows_python(&view->rows[i]))
            return 1;
    return 0;
}

static int unrecorded_has_rows(struct view *view, const char *name)
{
    const struct report_table *table = name ? report_table(view->report, name) : NULL;

    return table && table->rows;
}

void unrecorded_add(struct view *view, struct text *out, int row, int64_t process)
{
    enum lack lack = lack_of[view->rows[row].type];
    const char *option = unrecorded_is_python(view, process) ? lacks[lack].of_python : lacks[lack].of_others;

    if (!option || unrecorded_has_rows(view, lacks[lack].table)) {
        text_add(out, "null");
        return;
    }
    json_addf(out, "{'data':%s,'option':%s}", lacks[lack].data, option);
}
