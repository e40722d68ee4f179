/* What processes that could not attach leave in the folder of the session, which the collector reads and empties. They are
 * symbolic links, since to make one, and to see that one is there, takes no descriptor.
 *
 *     silent            the collector did not answer in time; whoever sees this does not wait for it
 *     unrecorded-NAME   one for each process, NAME is its own; the link's text is one of WIRE_MARK_CAUSES                  */
#ifndef TACHO_WIRE_MARKS_H
#define TACHO_WIRE_MARKS_H

#define WIRE_MARK_SILENT "silent"
#define WIRE_MARK_UNRECORDED "unrecorded-"

/* Name, the cause in the report, and the reason in words for the end of `tacho profile`. */
#define WIRE_MARK_CAUSES(X)                                                                                          \
    X(NO_ANSWER, "no-answer", "the collector did not answer within 2 s")                                              \
    X(NO_DESCRIPTOR, "no-descriptor", "no file descriptor was left (ulimit -n)")                                      \
    X(NO_MEMORY, "no-memory", "no memory could be mapped (ulimit -v)")

enum wire_mark_cause {
#define WIRE_MARK_ID(name, text, reason) WIRE_MARK_##name,
    WIRE_MARK_CAUSES(WIRE_MARK_ID)
#undef WIRE_MARK_ID
    WIRE_MARK_CAUSE_COUNT
};

#endif
