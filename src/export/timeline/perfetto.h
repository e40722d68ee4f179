/* The state of the Perfetto exporter: perfetto.c makes packets of events, perfetto_spans.c writes spans in order. */
#ifndef TACHO_EXPORT_TIMELINE_PERFETTO_H
#define TACHO_EXPORT_TIMELINE_PERFETTO_H

#include "base/intern.h"
#include "export/outfile.h"
#include "export/protobuf.h"
#include "tracks.h"

/* Numbers of the fields of Perfetto's messages that are written. */
/* clang-format off */
enum {
    TRACE_PACKET = 1, PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11,
    PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_TRACK = 60, EVENT_CATEGORY = 3, EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_COUNTER = 30, EVENT_REAL_COUNTER = 44,
    EVENT_FLOW = 47, INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2, INTERNED_ANNOTATION = 3, INTERNED_STRING = 29, ANNOTATION_NAME = 1, ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5, ANNOTATION_JSON = 9, ANNOTATION_ARRAY = 12, ANNOTATION_STRING_ID = 17, TRACK_UUID = 1,
    TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8, CLOCK = 1, CLOCK_ID = 1,
    CLOCK_TIME = 2, PRIMARY_CLOCK = 2,
};
/* clang-format on */
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { CLOCK_UTC = 1, CLOCK_BOOT = 6 };
enum { SEQUENCE = 1, FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };

/* A span: the packet of its begin is written when all are known, since spans that begin or end in the same nanosecond
 * must be written in the order in which they nest. */
struct perfetto_span {
    int64_t start_ns, end_ns;
    uint64_t body; /* where its fields are in bodies */
    uint32_t body_length;
};

/* An end of an arrow, at the span that begins there. */
struct perfetto_flow {
    int64_t time_ns;
    uint64_t id;
    int is_written;
};

/* A track with its spans and ends of arrows, in the order in which they came. */
struct perfetto_track {
    uint64_t uuid;
    uint32_t overflow;           /* the track for spans that overlap, but do not nest; 0: none yet */
    uint32_t origin;             /* for an overflow track: the track its spans came from, which has the arrows */
    struct perfetto_span *spans; /* owned */
    size_t span_count, span_capacity;
    struct perfetto_flow *flows; /* owned */
    size_t flow_count, flow_capacity;
};

/* Texts with numbers, which count from 1 in the file. Most are found by their address, without hashing them: `recent`
 * has texts that never move, each at a place that depends on its address. */
enum { PERFETTO_RECENT = 1024 };
struct perfetto_texts {
    struct intern list;
    struct {
        const char *bytes;
        size_t length;
        uint64_t number;
    } recent[PERFETTO_RECENT];
};

struct perfetto_arg_name {
    const char *literal;
    uint64_t number;
};

enum perfetto_track_kind {
    TRACK_OF_PROCESS,
    TRACK_OF_THREAD,
    TRACK_OF_DEVICE,
    TRACK_OF_STREAM,
    TRACK_OF_COUNTER,
    TRACK_OF_METRIC,
    TRACK_OF_OVERFLOW,
    TRACK_OF_TRACE,
    TRACK_KINDS
};

struct perfetto {
    struct report *report;
    const struct export_options *options;
    struct outfile *output;
    struct text out;    /* not yet written */
    size_t packet;      /* the open packet in out, for protobuf_end() */
    struct text bodies; /* fields of the spans */
    struct text moment; /* the body of an event that is no span */
    struct tracks tracks;
    int64_t shift_ns;
    struct perfetto_texts categories, names, annotations, strings;
    struct perfetto_arg_name arg_names[TRACE_MOST_ARGS]; /* names of the last event's arguments, by place */
    struct keys placed;          /* the kind and the two ids of each track; numbers are those of list */
    uint32_t last_placed[TRACK_KINDS];
    struct perfetto_track *list; /* owned */
    size_t capacity;
};

/* A further track for spans of this one; its number, or NO_KEY when memory is short. */
uint32_t perfetto_overflow(struct perfetto *perfetto, uint32_t track);
/* Writes the packet of an event, whose fields are those of the body and then of the tail. */
int perfetto_write_event(struct perfetto *perfetto, int64_t time_ns, const char *body, size_t body_length,
                         const struct text *tail, struct error *err);

/* Writes all spans. */
int perfetto_write_spans(struct perfetto *perfetto, struct error *err);

#endif
