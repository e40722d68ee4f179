/* Collectives of NCCL, by its kernels: they run on the GPU from when the rank is ready until all are done.
 *
 * Traces of PyTorch say the process group, the operation and its size with each kernel. Without that, the kernels of a
 * stream are taken for those of one communicator: streams are counted in the order of their first kernel. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/communication.h"
#include "collective_order.h"

/* Arguments of the kernels in traces of PyTorch. */
struct kernel_about {
    uint64_t key; /* of process and correlation id */
    int64_t args; /* string id */
};
MAP(about_map, struct kernel_about, uint64_t, key, key, hash_number, map_is_same_number)

struct nccl_stream {
    uint64_t key;    /* of process and stream */
    uint64_t number; /* in the process, from 1 */
    int64_t first_ns, process;
};
MAP(stream_map, struct nccl_stream, uint64_t, key, key, hash_number, map_is_same_number)

struct nccl {
    struct collectives *all;
    struct gpu_ops kernels;
    struct about_map abouts;
    struct stream_map streams;
    struct ordered_calls calls;
};

static uint64_t coll_nccl_key_of(int64_t process, int64_t number)
{
    uint64_t key = hash_number((uint64_t)global_process(process)) ^ hash_number((uint64_t)number + 1);
    return key ?: 1;
}

/* ---- What PyTorch says ----------------------------------------------------------------------------------------- */

static int read_abouts(struct nccl *nccl, struct error *err)
{
    static const char *const names[] = { "globalPid", "correlationId", "category", "argsId", NULL };
    struct report *report = nccl->all->report;
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_TORCH_LINK", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (row_is_null(&rows, 1) || row_is_null(&rows, 3) ||
            strcmp(report_string(report, row_int_or(&rows, 2, 0), NULL), "kernel") != 0 ||
            !strstr(report_string(report, row_int(&rows, 3), NULL), "\"Collective name\""))
            continue;
        struct kernel_about about = { coll_nccl_key_of(row_int_or(&rows, 0, 0), row_int(&rows, 1)), row_int(&rows, 3) };
        if (about_map_find(&nccl->abouts, about.key) || about_map_add(&nccl->abouts, &about))
            continue;
        code = ERR_NO_MEMORY;
        break;
    }
    row_cursor_close(&rows);
    return code;
}

/* The value of a member, where it begins; NULL if there is none. Texts lose their quote. */
static const char *member_of(const char *args, const char *name, size_t *length)
{
    size_t wanted = strlen(name);

    for (const char *at = strchr(args, '"'); at; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, name, wanted) != 0 || at[1 + wanted] != '"')
            continue;
        at += wanted + 2;
        at += strspn(at, " :");
        int is_text = *at == '"';
        at += is_text;
        *length = strcspn(at, is_text ? "\"" : ",}");
        return at;
    }
    return NULL;
}

static int64_t coll_nccl_number_of(const char *args, const char *name)
{
    size_t length;
    const char *value = member_of(args, name, &length);

    return value ? strtoll(value, NULL, 10) : 0;
}

static int64_t type_bytes(const char *args)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = { { "Float", 4 }, { "Half", 2 }, { "BFloat16", 2 }, { "Double", 8 }, { "Int", 4 },
                  { "Long", 8 },  { "Byte", 1 }, { "Char", 1 },     { "Bool", 1 },   { "Short", 2 } };
    size_t length;
    const char *type = member_of(args, "dtype", &length);

    for (size_t i = 0; type && i < COUNT_OF(types); i++)
        if (strlen(types[i].name) == length && strncmp(types[i].name, type, length) == 0)
            return types[i].bytes;
    return 0;
}

static int64_t coll_nccl_bytes_of(const char *args)
{
    int64_t in = coll_nccl_number_of(args, "In msg nelems"), out = coll_nccl_number_of(args, "Out msg nelems"),
            each = type_bytes(args);

    return each && (in > 0 || out > 0) ? saturating_multiply(in > out ? in : out, each) : COLLECTIVE_UNKNOWN;
}

/* ---- Kernels --------------------------------------------------------------------------------------------------- */

static int is_collective(const struct nccl *nccl, size_t row)
{
    const char *name = report_string(nccl->all->report, gpu_extra(&nccl->kernels, 0, row), NULL);

    return communication_of_kernel(name) == COMMUNICATION_NCCL && collective_kind_of(name) != COLLECTIVE_OTHER;
}

static int note_stream(struct nccl *nccl, size_t row)
{
    const struct gpu_ops *kernels = &nccl->kernels;
    struct nccl_stream stream = { .key = coll_nccl_key_of(kernels->process[row], kernels->stream[row]),
                                  .first_ns = kernels->start[row],
                                  .process = global_process(kernels->process[row]) };
    struct nccl_stream *found = stream_map_find(&nccl->streams, stream.key);

    if (found && stream.first_ns < found->first_ns)
        found->first_ns = stream.first_ns;
    return found || stream_map_add(&nccl->streams, &stream) ? 0 : ERR_NO_MEMORY;
}

static void number_streams(struct nccl *nccl)
{
    for (struct nccl_stream *at = stream_map_next(&nccl->streams, NULL); at; at = stream_map_next(&nccl->streams, at)) {
        at->number = 1;
        for (const struct nccl_stream *other = stream_map_next(&nccl->streams, NULL); other;
             other = stream_map_next(&nccl->streams, other))
            at->number += other->process == at->process &&
                          (other->first_ns < at->first_ns || (other->first_ns == at->first_ns && other->key < at->key));
    }
}

/* A group of PyTorch is named alike on all of its ranks, and so are others. */
static int coll_nccl_group_of(struct nccl *nccl, const char *args, uint64_t *name)
{
    size_t length = 0, ranks_length = 0;
    const char *group = member_of(args, "Process Group Name", &length);
    const char *ranks = member_of(args, "Process Group Ranks", &ranks_length);
    struct text label = { 0 };

    if (!group)
        return 0;
    *name = hash_bytes_seeded(group, length, hash_bytes(ranks ? ranks : "", ranks ? ranks_length : 0));
    text_add(&label, "process group ");
    text_add_bytes(&label, group, length);
    int code = text_failed(&label) ? ERR_NO_MEMORY
                                   : ordered_communicator(nccl->all, *name, text_string(&label), 0,
                                                          coll_nccl_number_of(args, "Group size"), 0);
    text_free(&label);
    return code;
}

static int coll_nccl_add_kernel(struct nccl *nccl, size_t row)
{
    const struct gpu_ops *kernels = &nccl->kernels;
    const struct kernel_about *about = about_map_find(&nccl->abouts, coll_nccl_key_of(kernels->process[row],
                                                                                      kernels->correlation[row]));
    const char *args = about ? report_string(nccl->all->report, about->args, NULL) : "";
    uint64_t number = stream_map_find(&nccl->streams, coll_nccl_key_of(kernels->process[row], kernels->stream[row]))
                          ->number;
    struct ordered_call call = {
        .communicator = hash_number(number ^ UINT64_C(0x4e43434c)),
        .rank = gpu_extra_is_null(kernels, 1, row) ? COLLECTIVE_UNKNOWN : gpu_extra(kernels, 1, row),
        .call = { .thread = global_process(kernels->process[row]),
                  .enter_ns = kernels->start[row],
                  .leave_ns = kernels->end[row],
                  .bytes = about ? coll_nccl_bytes_of(args) : COLLECTIVE_UNKNOWN,
                  .root = COLLECTIVE_UNKNOWN,
                  .operation = gpu_extra(kernels, 0, row) },
    };
    uint64_t stream_name = call.communicator;

    if (about && coll_nccl_group_of(nccl, args, &call.communicator) != 0)
        return ERR_NO_MEMORY;
    if (call.communicator == stream_name &&
        ordered_communicator(nccl->all, stream_name, "NCCL stream", (int64_t)number, 0, 1) != 0)
        return ERR_NO_MEMORY;
    return ordered_calls_append(&nccl->calls, &call);
}

static int coll_nccl_add_kernels(struct nccl *nccl)
{
    for (size_t row = 0; row < nccl->kernels.count; row++)
        if (is_collective(nccl, row) && note_stream(nccl, row) != 0)
            return ERR_NO_MEMORY;
    number_streams(nccl);
    for (size_t row = 0; row < nccl->kernels.count; row++)
        if (is_collective(nccl, row) && coll_nccl_add_kernel(nccl, row) != 0)
            return ERR_NO_MEMORY;
    return ordered_calls_add(nccl->all, &nccl->calls);
}

static int read_nccl(struct collectives *all, struct error *err)
{
    static const char *const extra[] = { "shortName", "rank", NULL };
    struct nccl nccl = { .all = all };
    int code;

    if ((code = gpu_read(&nccl.kernels, all->report, GPU_KERNEL, extra, err)) != 0)
        return code;
    if ((code = read_abouts(&nccl, err)) != 0)
        goto free_all;
    code = coll_nccl_add_kernels(&nccl);
free_all:
    gpu_free(&nccl.kernels);
    about_map_free(&nccl.abouts);
    stream_map_free(&nccl.streams);
    ordered_calls_free(&nccl.calls);
    return code;
}

const struct collective_source collective_source_nccl = { "CUPTI_ACTIVITY_KIND_KERNEL", read_nccl };
