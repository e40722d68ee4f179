/* A host for the agent: its own code, without the hooks of libc's functions (src/agent/osrt/osrt_*.c, which would stand
 * before the sanitizer's) and with an arena of this process in place of the handshake (attach.c). What it writes is
 * read by the collector's own code.
 *
 * The agent keeps what it was told for as long as a process lives. Here a process lives as long as one input, so what
 * the files of NVTX and of the API keep is wiped between; that is why they are included and not linked. */
#include "agent/agent_api.c"
#include "agent/nvtx/nvtx_extensions.c"
#include "agent/nvtx/nvtx_journal.c"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent_host.h"
#include "collect/capture/capture_new.h"
#include "collect/capture/drain.h"
#include "collect/capture/process_end.h"
#include "collect/capture/recording.h"
#include "wire/wire_cuda.h"

#define HOST_PID 4242
#define PROCESSES_EACH 256

static struct {
    const char *path; /* of the report; NULL: none is kept */
    struct collector *collector;
    struct collect_result result;
    struct process *process;
    struct wire_header *arena;
    uint64_t processes;
} host;

/* Before the agent's own constructor, which looks for it. The number is the collector's count of seccomp filters: with
 * a large one the agent stays on in a container that has a filter. */
__attribute__((constructor(101))) static void name_session(void)
{
    setenv(WIRE_SESSION_VARIABLE, "host:100000:", 1);
}

/* ---- In place of what is left out ------------------------------------------------------------------------------ */

/* All of it is mapped from the start, in one window. */
static void set_area(struct area *area, void *units, size_t unit_bytes, uint32_t count, size_t link)
{
    memset(area, 0, sizeof *area);
    area->unit_bytes = (uint32_t)unit_bytes;
    area->count = area->per_window = count;
    area->link = (uint32_t)link;
    atomic_store(&area->mapped, count);
    atomic_store(&area->windows[0], units);
}

int attach_arena(enum wire_origin origin)
{
    if (!host.arena) /* the agent's own start, before there is any input */
        return -ENOTCONN;
    size_t private_bytes = (size_t)WIRE_THREAD_SLOTS * AGENT_THREAD_BYTES;
    if (agent.threads.count)
        munmap(area_unit(&agent.threads, 0), private_bytes);
    void *threads = mmap(NULL, private_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                         0);
    struct wire_chunk *chunks = wire_chunks(host.arena);
    set_area(&agent.threads, threads, AGENT_THREAD_BYTES, WIRE_THREAD_SLOTS, 0);
    set_area(&agent.slots, wire_threads(host.arena), sizeof(struct wire_thread), WIRE_THREAD_SLOTS,
             offsetof(struct wire_thread, next_free));
    set_area(&agent.note_chunks, chunks, sizeof *chunks, WIRE_NOTE_CHUNKS, offsetof(struct wire_chunk, next_free));
    set_area(&agent.chunks, chunks + WIRE_NOTE_CHUNKS, sizeof *chunks, host.arena->chunk_count,
             offsetof(struct wire_chunk, next_free));
    agent.clock = host.arena->clock;
    agent.sources = host.arena->sources;
    agent.pid = (uint32_t)sys_getpid();
    atomic_store(&agent.chosen, host.arena->sources);
    agent.arena = host.arena;
    return sources_attach(host.arena, -1, origin);
}

int attach_flush(void)
{
    host_drain();
    return 0;
}

const struct agent_source agent_source_osrt = { 0 };

/* ---- A process ------------------------------------------------------------------------------------------------- */

static void forget_names(void)
{
    for (struct nvtx_journal_block *block = atomic_load(&first_block), *next; block; block = next) {
        next = atomic_load(&block->next);
        munmap(block, BLOCK_WORDS * 8);
    }
    atomic_store(&first_block, NULL);
    atomic_store(&last_block, NULL);
    memset(&nvtx, 0, sizeof nvtx);
    memset(shapes, 0, sizeof shapes);
    atomic_store(&dynamic_ids, 0);
    memset(other_domains, 0, sizeof other_domains);
    atomic_store(&told_elsewhere, 0);
    memset(trigger_strings, 0, sizeof trigger_strings);
    atomic_store(&trigger_string_count, 0);
    atomic_store(&open_step, 0);
}

/* One for many processes, since it has a thread; but not for ever, since it keeps every text. */
static struct collector *new_collector(const struct collect_options *options)
{
    struct clock_pair first = { 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    struct capture *capture = capture_new(options, &host.result);
    struct collector *collector = capture ? &capture->collector : NULL;
    if (!collector || clock_map_init(&collector->clock, WIRE_CLOCK_MONOTONIC, &first, &second) != 0 ||
        writer_open(host.path ? host.path : "/dev/null", &(struct writer_options){ .overwrite = 1, .workers = 1 },
                    &collector->writer, NULL) != 0)
        abort();
    SOURCES_CALL(begin, collector, 0);
    return collector;
}

static void free_collector(struct collector *collector)
{
    SOURCES_CALL(free, collector);
    writer_close(collector->writer, NULL);
    clock_map_free(&collector->clock);
    collect_result_free(&host.result);
    memset(&host.result, 0, sizeof host.result);
    capture_free(capture_of(collector));
}

static struct wire_header *new_arena(uint32_t chunk_count)
{
    struct wire_header *arena = mmap(NULL, wire_arena_bytes(chunk_count, 0), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        abort();
    arena->chunk_count = chunk_count;
    arena->arena_bytes = wire_arena_bytes(chunk_count, 0);
    atomic_store(&arena->free_chunks, WIRE_LIST_EMPTY);
    atomic_store(&arena->free_note_chunks, WIRE_LIST_EMPTY);
    atomic_store(&arena->free_threads, WIRE_LIST_EMPTY);
    return arena;
}

void host_begin(const struct collect_options *options, uint32_t sources, uint32_t chunk_count)
{
    if (host.collector && host.processes % PROCESSES_EACH == 0) {
        free_collector(host.collector);
        host.collector = NULL;
    }
    if (!host.collector)
        host.collector = new_collector(options);
    host.processes++;
    host.collector->options = options;
    host.collector->sources = sources;
    host.collector->is_recording = options->range == COLLECT_RANGE_NONE;
    host.collector->recording_since_ns = host.collector->recorded_ns = 0;
    capture_of(host.collector)->recording = (struct capture_recording){ .cause = "start",
                                                                        .is_armed = 1,
                                                                        .ranges_left = 2 };
    host.arena = new_arena(chunk_count);
    recording_prepare_arena(host.collector, host.arena);
    host.process = process_add(host.collector, HOST_PID, 0, "launch");
    process_attach(host.process, host.arena, wire_arena_bytes(chunk_count, 0), chunk_count);
    agent.flags = WIRE_FLAG_TRACE_FORK;
    agent.preload[0] = 0;
    atomic_store(&agent_switch.state, AGENT_UNKNOWN);
    agent_after_fork_in_child();
    if (!agent_attached())
        abort();
}

void host_drain(void)
{
    drain_process(host.process, SIZE_MAX);
}

int host_was_warned(const char *text)
{
    for (size_t i = 0; i < host.result.warning_count; i++)
        if (strcmp(host.result.warnings[i], text) == 0)
            return 1;
    return 0;
}

/* All that was told finds room once the collector makes some: an entry that never does would hold up the others. */
static void send_all(void)
{
    for (int tries = 0; atomic_load(&nvtx.unsent); tries++) {
        if (tries == 10000) {
            fprintf(stderr, "what NVTX was told is not sent, however much room there is\n");
            abort();
        }
        host_drain();
        nvtx_send_unsent(agent_self);
        usleep(100);
    }
}

static uint64_t damaged_so_far(void)
{
    uint64_t damaged = 0;
    for (int source = 0; source < WIRE_SOURCE_COUNT; source++)
        damaged += host.result.counts[source].lost_damaged;
    return damaged;
}

void host_write_to(const char *path)
{
    host.path = path;
}

void host_close(void)
{
    free_collector(host.collector);
    host.collector = NULL;
}

uint64_t host_end(void)
{
    uint64_t before = damaged_so_far();
    send_all();
    nvtx_thread_end(agent_self);
    process_end(host.process, PROCESS_EXITED, 0, 1000000);
    uint64_t damaged = damaged_so_far() - before;
    process_table_free(host.collector); /* and with them the arena */
    host.arena = NULL;
    agent.arena = NULL;
    forget_names();
    return damaged;
}
