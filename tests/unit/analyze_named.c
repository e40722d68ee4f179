/* Reports on tables of which no capture is at hand: each gets a small table with the columns that nsys gives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/registry.h"
#include "cmd/print/print.h"
#include "made_report.h"

/* A row by the names of its columns: "start", 5, "nameId", text("poll"), NULL. */
static void add(struct writer *writer, const char *table_name, ...)
{
    uint64_t row[65] = { 0 };
    int table = schema_find(table_name);
    va_list arguments;

    assert_true(table >= 0);
    va_start(arguments, table_name);
    for (const char *name; (name = va_arg(arguments, const char *)) != NULL;) {
        const struct schema_table *schema = &schema_tables[table];
        size_t column = 0;
        while (column < schema->column_count && strcmp(schema->columns[column].name, name) != 0)
            column++;
        if (column == schema->column_count)
            fail_msg("%s has no column %s", table_name, name);
        row[0] |= UINT64_C(1) << column;
        row[1 + column] = (uint64_t)va_arg(arguments, int64_t);
    }
    va_end(arguments);
    writer_append(writer, (enum table_id)table, row);
}

static int64_t number(int64_t value)
{
    return value;
}

static int64_t text(struct writer *writer, const char *bytes)
{
    return writer_string(writer, bytes, strlen(bytes));
}

static void expect(struct report *report, const char *name, const struct analysis_option *option, const char *expected)
{
    struct analysis_request request = { .options = option, .option_count = option != NULL };
    struct table *table;
    struct error err;
    struct text out = { 0 };

    if (analysis_run(analysis_find(name), report, &request, &table, &err) != 0)
        fail_msg("%s: %s", name, err.text);
    print_csv.table(&out, table, &(struct print_request){ .time = &time_unit_ns });
    assert_string_equal(text_string(&out), expected);
    text_free(&out);
    table_delete(table);
}

#define RANGES "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Range\n"
#define EVENTS "Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
#define CALLS "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
#define FIGURES "80.0,40,2,20.0,20.0,10,30,14.1,much\n20.0,10,1,10.0,10.0,10,10,0.0,little\n"

/* One table with a name and a class each: much for 10 and 30 ns, little for 10, and a row of
 * another class or without a name. */
static void summaries_by_name(void **state)
{
    static const struct {
        const char *report, *table, *name, *header;
        int64_t event_class, other_class;
    } reports[] = {
        { "openmp_sum", "OPENMP_EVENT_KIND_CRITICAL_SECTION", "nameId", EVENTS, 78, 0 },
        { "openacc_sum", "CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "nameId", EVENTS, 0, 0 },
        { "oshmem_sum", "TACHO_OSHMEM", "nameId", CALLS, 0, 0 },
        { "ucx_sum", "UCP_SUBMIT_EVENTS", "textId", CALLS, 0, 0 },
        { "opengl_khr_range_sum", "KHR_DEBUG_EVENTS", "textId", RANGES, 62, 63 },
        { "opengl_khr_gpu_range_sum", "KHR_DEBUG_EVENTS", "textId", RANGES, 63, 62 },
        { "vulkan_marker_sum", "VULKAN_DEBUG_API", "textId", RANGES, 66, 0 },
        { "vulkan_gpu_marker_sum", "VULKAN_WORKLOAD", "textId", RANGES, 54, 0 },
        { "vulkan_api_sum", "VULKAN_API", "nameId", CALLS, 53, 0 },
        { "syscall_sum", "SYSCALL", "nameId", CALLS, 107, 0 },
        { "dx11_pix_sum", "D3D11_PIX_DEBUG_API", "textId", RANGES, 0, 0 },
        { "dx12_pix_sum", "D3D12_PIX_DEBUG_API", "textId", RANGES, 0, 0 },
        { "dx12_gpu_marker_sum", "DX12_WORKLOAD", "textId", RANGES, 42, 0 },
    };

    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        static const struct {
            const char *name;
            int64_t start, end;
        } events[] = {
            { "much", 0, 10 },
            { "little", 20, 30 },
            { "much", 40, 70 },
        };
        struct writer *writer = start();
        char expected[512];
        for (size_t j = 0; j < 3; j++) {
            int64_t name = text(writer, events[j].name);
            if (reports[i].event_class)
                add(writer, reports[i].table, "start", events[j].start, "end", events[j].end, reports[i].name, name,
                    "eventClass", reports[i].event_class, NULL);
            else
                add(writer, reports[i].table, "start", events[j].start, "end", events[j].end, reports[i].name, name,
                    NULL);
        }
        if (reports[i].other_class)
            add(writer, reports[i].table, "start", number(0), "end", number(500), reports[i].name, text(writer, "much"),
                "eventClass", reports[i].other_class, NULL);
        if (strcmp(reports[i].name, "textId") == 0)
            add(writer, reports[i].table, "start", number(0), "end", number(500), NULL);
        struct report *report = finish(writer);
        snprintf(expected, sizeof expected, "%s%s", reports[i].header, FIGURES);
        expect(report, reports[i].report, NULL, expected);
        report_close(report);
    }
}

static void video_calls_are_told_apart(void **state)
{
    struct writer *writer = start();

    add(writer, "NVVIDEO_ENCODER_API", "start", number(0), "end", number(30), "nameId", text(writer, "run"), NULL);
    add(writer, "NVVIDEO_DECODER_API", "start", number(0), "end", number(10), "nameId", text(writer, "run"), NULL);
    struct report *report = finish(writer);
    expect(report, "nvvideo_api_sum", NULL,
           "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Event Type,Name\n"
           "75.0,30,1,30.0,30.0,30,30,0.0,NVENC,run\n25.0,10,1,10.0,10.0,10,10,0.0,NVDEC,run\n");
    report_close(report);
}

static void vulkan_calls_one_by_one(void **state)
{
    struct writer *writer = start();
    int64_t thread = INT64_C(1) << 48 | 5 << 24 | 6;

    add(writer, "ThreadNames", "nameId", text(writer, "render"), "priority", number(20), "globalTid", thread, NULL);
    add(writer, "VULKAN_API", "start", number(50), "end", number(60), "eventClass", number(53), "globalTid", thread,
        "correlationId", number(9), "nameId", text(writer, "vkQueueSubmit"), "contextId", number(2), NULL);
    add(writer, "VULKAN_API", "start", number(10), "end", number(13), "eventClass", number(53), "globalTid", thread + 1,
        "nameId", text(writer, "vkQueueSubmit"), NULL);
    struct report *report = finish(writer);
    expect(report, "vulkan_api_trace", NULL,
           "Start (ns),Duration (ns),Name,Event Class,Context,CorrID,Pid,Tid,T-Pri,Thread Name\n"
           "10,3,vkQueueSubmit,53,,,5,7,,\n50,10,vkQueueSubmit,53,2,9,5,6,20,render\n");
    report_close(report);
}

static void mpi_calls(void **state)
{
    struct writer *writer = start();
    int64_t thread = INT64_C(1) << 48 | 5 << 24 | 5;

    add(writer, "MPI_RANKS", "globalTid", thread, "rank", number(3), NULL);
    add(writer, "MPI_COLLECTIVES_EVENTS", "start", number(40), "end", number(100), "globalTid", thread, "textId",
        text(writer, "MPI_Allreduce"), "size", number(4000000), "recvSize", number(8000000), NULL);
    add(writer, "MPI_P2P_EVENTS", "start", number(0), "end", number(20), "globalTid", thread, "textId",
        text(writer, "MPI_Send"), "tag", number(7), "remoteRank", number(1), "size", number(2000000), NULL);
    add(writer, "MPI_OTHER_EVENTS", "start", number(30), "globalTid", thread, "textId", text(writer, "MPI_Init"), NULL);
    struct report *report = finish(writer);
    expect(report, "mpi_event_sum", NULL,
           "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Source,Name\n"
           "75.0,60,1,60.0,60.0,60,60,0.0,MPI_COLLECTIVES_EVENTS,MPI_Allreduce\n"
           "25.0,20,1,20.0,20.0,20,20,0.0,MPI_P2P_EVENTS,MPI_Send\n"
           "0.0,0,1,0.0,0.0,0,0,0.0,MPI_OTHER_EVENTS,MPI_Init\n");
    expect(report, "mpi_msg_size_sum", NULL,
           "Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Source,Name\n"
           "4.000,1,4.000,4.000,4.000,4.000,0.000,MPI_COLLECTIVES_EVENTS,MPI_Allreduce\n"
           "2.000,1,2.000,2.000,2.000,2.000,0.000,MPI_P2P_EVENTS,MPI_Send\n");
    expect(report, "mpi_event_trace", NULL,
           "Start (ns),End (ns),Duration (ns),Event,Pid,Tid,Tag,Rank,PeerRank,RootRank,Size (MB),CollSendSize "
           "(MB),CollRecvSize (MB)\n"
           "0,20,20,MPI_Send,5,5,7,3,1,,2.000,,\n30,30,0,MPI_Init,5,5,,3,,,,,\n40,100,60,MPI_Allreduce,5,5,,3,,,,4.000,"
           "8.000\n");
    report_close(report);
}

struct sent {
    int64_t at, thread, comm, peer, size;
    const char *name;
};

static void add_messages(struct writer *writer, const struct sent *sent, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(writer, "MPI_P2P_EVENTS", "start", sent[i].at, "end", sent[i].at + 1, "globalTid", sent[i].thread, "textId",
            text(writer, sent[i].name), "commHandle", sent[i].comm, "remoteRank", sent[i].peer, "size", sent[i].size,
            "requestHandle", number(70), NULL);
}

/* Rank 0 sends 2 × 10 bytes to rank 1, and 5 to rank 2, which is rank 1 of a communicator whose handle was another
 * one's before. Rank 1 starts a request that sends 100 bytes to rank 0 twice. Receives do not count, nor does a message
 * to MPI_PROC_NULL; a peer of a communicator without members has no rank. */
static void mpi_messages_by_pair(void **state)
{
    struct writer *writer = start();
    int64_t zero = INT64_C(1) << 48 | 5 << 24 | 5, one = INT64_C(1) << 48 | 6 << 24 | 6;
    const struct sent sent[] = {
        { 10, zero, 900, 1, 10, "MPI_Send" },       { 11, zero, 900, 1, 10, "MPI_Isend_c" },
        { 12, zero, 900, 1, 99, "MPI_Recv" },       { 13, zero, 901, 1, 3, "MPI_Sendrecv" },
        { 60, zero, 901, 1, 5, "MPI_Sendrecv" },    { 61, zero, 902, 1, 4, "MPI_Ssend" },
        { 62, zero, 900, 7, 4, "MPI_Ssend" },       { 20, one, 900, 0, 100, "MPI_Send_init" },
        { 40, one, 900, 0, 1000, "MPI_Recv_init" },
    };

    add(writer, "MPI_RANKS", "globalTid", zero, "rank", number(0), NULL);
    add(writer, "MPI_RANKS", "globalTid", one, "rank", number(1), NULL);
    for (int64_t rank = 0; rank < 2; rank++)
        add(writer, "MPI_COMMUNICATORS", "rank", rank, "timestamp", number(1), "commHandle", number(900), "members",
            text(writer, "0,1,2"), NULL);
    add(writer, "MPI_COMMUNICATORS", "rank", number(0), "timestamp", number(2), "commHandle", number(901), "members",
        text(writer, "0,1"), NULL);
    add(writer, "MPI_COMMUNICATORS", "rank", number(0), "timestamp", number(50), "commHandle", number(901), "members",
        text(writer, "0,2"), NULL);
    add_messages(writer, sent, COUNT_OF(sent));
    add(writer, "MPI_P2P_EVENTS", "start", number(63), "globalTid", zero, "textId", text(writer, "MPI_Send"),
        "commHandle", number(900), "size", number(8), NULL);
    for (int64_t at = 25; at <= 45; at += 10)
        add(writer, "MPI_START_WAIT_EVENTS", "start", at, "end", at + 1, "globalTid", one, "textId",
            text(writer, "MPI_Start"), "requestHandle", number(70), NULL);
    struct report *report = finish(writer);
    expect(report, "mpi_comm_matrix", NULL,
           "Rank,PeerRank,Messages,Total (B),Avg (B),Min (B),Max (B)\n"
           "0,1,3,23,7.7,3,10\n0,2,1,5,5.0,5,5\n0,,2,8,4.0,4,4\n1,0,2,200,100.0,100,100\n");
    report_close(report);
}

/* Captures of Tacho have messages. Those that were received are the same ones again; a peer in another world has no
 * rank. */
static void mpi_messages_of_tacho(void **state)
{
    static const struct {
        int64_t rank, peer, size, is_received;
    } messages[] = { { 0, 1, 10, 0 }, { 1, 0, 10, 1 }, { 0, 1, 20, 0 }, { 1, 0, 30, 0 }, { 1, -1, 4, 0 } };
    struct writer *writer = start();

    add(writer, "MPI_P2P_EVENTS", "start", number(1), "textId", text(writer, "MPI_Send"), "remoteRank", number(3),
        NULL);
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        if (messages[i].peer >= 0)
            add(writer, "TACHO_MPI_MESSAGE", "start", number(5), "end", number(6), "globalTid", number(77),
                "isReceived", messages[i].is_received, "rank", messages[i].rank, "size", messages[i].size, "peer",
                messages[i].peer, NULL);
        else
            add(writer, "TACHO_MPI_MESSAGE", "start", number(5), "globalTid", number(77), "isReceived",
                messages[i].is_received, "rank", messages[i].rank, "size", messages[i].size, NULL);
    }
    struct report *report = finish(writer);
    expect(report, "mpi_comm_matrix", NULL,
           "Rank,PeerRank,Messages,Total (B),Avg (B),Min (B),Max (B)\n"
           "0,1,2,30,15.0,10,20\n1,0,1,30,30.0,30,30\n1,,1,4,4.0,4,4\n");
    report_close(report);
}

static void congestion_is_above_the_threshold(void **state)
{
    static const char header[] = "Start (ns),End (ns),Duration (ns),Send wait rate,GUID,Name\n";
    struct analysis_option option = { "ticks_threshold", "30000" };
    struct writer *writer = start();
    char expected[256];

    add(writer, "TARGET_INFO_NETWORK_METRICS", "metricsListId", number(1), "metricsIdx", number(0), "name",
        text(writer, "Bytes sent"), NULL);
    add(writer, "TARGET_INFO_NETWORK_METRICS", "metricsListId", number(1), "metricsIdx", number(1), "name",
        text(writer, "Send waits"), NULL);
    add(writer, "TARGET_INFO_NIC_INFO", "nicId", number(4), "GUID", number(77), "name", text(writer, "mlx5_0"), NULL);
    add(writer, "NIC_ID_MAP", "nicId", number(4), "globalId", number(900), NULL);
    for (int64_t i = 0; i < 3; i++) {
        add(writer, "NET_NIC_METRIC", "start", i * 1000000, "end", (i + 1) * 1000000, "globalId", number(900),
            "metricsListId", number(1), "metricsIdx", number(0), "value", number(999999999), NULL);
        add(writer, "NET_NIC_METRIC", "start", i * 1000000, "end", (i + 1) * 1000000, "globalId", number(900),
            "metricsListId", number(1), "metricsIdx", number(1), "value", i * 20000, NULL);
    }
    struct report *report = finish(writer);
    snprintf(expected, sizeof expected,
             "%s1000000,2000000,1000000,20000.0,77,mlx5_0\n2000000,3000000,1000000,40000.0,77,mlx5_0\n", header);
    expect(report, "network_congestion", NULL, expected);
    snprintf(expected, sizeof expected, "%s2000000,3000000,1000000,40000.0,77,mlx5_0\n", header);
    expect(report, "network_congestion", &option, expected);
    report_close(report);
}

/* In nsys's own order; that all of nsys's forty are there, golden/nsys_stats.py shows. */
static void the_default_list_is_that_of_nsys(void **state)
{
    static const char *const defaults[] = {
        "nvtx_sum",
        "osrt_sum",
        "cuda_api_sum",
        "cuda_gpu_kern_sum",
        "cuda_gpu_mem_time_sum",
        "cuda_gpu_mem_size_sum",
        "openmp_sum",
        "opengl_khr_range_sum",
        "opengl_khr_gpu_range_sum",
        "vulkan_marker_sum",
        "vulkan_gpu_marker_sum",
        "dx11_pix_sum",
        "dx12_gpu_marker_sum",
        "dx12_pix_sum",
        "wddm_queue_sum",
        "um_sum",
        "um_total_sum",
        "um_cpu_page_faults_sum",
        "openacc_sum",
        "syscall_sum",
    };
    size_t by_default = 0;

    for (size_t i = 0; analyses[i]; i++)
        by_default += analyses[i]->by_default > 0 && !analyses[i]->default_where;
    assert_int_equal(by_default, COUNT_OF(defaults));
    for (size_t i = 0; i < by_default; i++)
        assert_int_equal(analysis_find(defaults[i])->by_default, i + 1);
}

static void old_names_are_known(void **state)
{
    static const char *const names[][2] = {
        { "nvtxsum", "nvtx_sum" },
        { "osrtsum", "osrt_sum" },
        { "cudaapisum", "cuda_api_sum" },
        { "gpukernsum", "cuda_gpu_kern_sum" },
        { "gpumemtimesum", "cuda_gpu_mem_time_sum" },
        { "gpumemsizesum", "cuda_gpu_mem_size_sum" },
        { "openmpevtsum", "openmp_sum" },
        { "khrdebugsum", "opengl_khr_range_sum" },
        { "khrdebuggpusum", "opengl_khr_gpu_range_sum" },
        { "vulkanmarkerssum", "vulkan_marker_sum" },
        { "vulkangpumarkersum", "vulkan_gpu_marker_sum" },
        { "dx11pixsum", "dx11_pix_sum" },
        { "dx12gpumarkersum", "dx12_gpu_marker_sum" },
        { "dx12pixsum", "dx12_pix_sum" },
        { "wddmqueuesdetails", "wddm_queue_sum" },
        { "unifiedmemory", "um_sum" },
        { "unifiedmemorytotals", "um_total_sum" },
        { "umcpupagefaults", "um_cpu_page_faults_sum" },
        { "openaccsum", "openacc_sum" },
        { "apigpusum", "cuda_api_gpu_sum" },
        { "cudaapitrace", "cuda_api_trace" },
        { "gpukerngbsum", "cuda_gpu_kern_gb_sum" },
        { "gpusum", "cuda_gpu_sum" },
        { "gputrace", "cuda_gpu_trace" },
        { "kernexecsum", "cuda_kern_exec_sum" },
        { "kernexectrace", "cuda_kern_exec_trace" },
        { "nvtxgpuproj", "nvtx_gpu_proj_trace" },
        { "nvtxkernsum", "nvtx_kern_sum" },
        { "nvtxppsum", "nvtx_pushpop_sum" },
        { "nvtxpptrace", "nvtx_pushpop_trace" },
        { "nvtxsesum", "nvtx_startend_sum" },
        { "vulkanapisum", "vulkan_api_sum" },
        { "vulkanapitrace", "vulkan_api_trace" },
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_non_null(analysis_find(names[i][0]));
        assert_string_equal(analysis_find(names[i][0])->name, names[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_by_name),
        cmocka_unit_test(video_calls_are_told_apart),
        cmocka_unit_test(vulkan_calls_one_by_one),
        cmocka_unit_test(mpi_calls),
        cmocka_unit_test(mpi_messages_by_pair),
        cmocka_unit_test(mpi_messages_of_tacho),
        cmocka_unit_test(congestion_is_above_the_threshold),
        cmocka_unit_test(the_default_list_is_that_of_nsys),
        cmocka_unit_test(old_names_are_known),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
