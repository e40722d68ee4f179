/* The marks of processes that could not attach. A process leaves them in the folder of the session, where the collector
 * reads and removes them. They are symbolic links, because creating or finding one takes no file descriptor.
 *
 *     silent            the collector did not answer in time; processes that see this mark do not wait for it
 *     unrecorded-NAME   one for each process, NAME is unique; the link's text is one of WIRE_CAUSES */
#ifndef TACHO_WIRE_WIRE_MARKS_H
#define TACHO_WIRE_WIRE_MARKS_H

#define WIRE_MARK_SILENT "silent"
#define WIRE_MARK_UNRECORDED "unrecorded-"

/* Why a process is not recorded: name, the cause in the report, and the reason for the summary of `tacho profile`. The
 * first two are left as marks. FILTERED to STATIC come with the record of a child or of an exec that did not pass the
 * agent on. The collector finds out the others itself, where no agent has attached. */
#define WIRE_CAUSES(X)                                                                                                 \
    X(NO_ANSWER, "no-answer", "the collector did not answer within 2 s")                                               \
    X(NO_DESCRIPTOR, "no-descriptor", "no file descriptor was left (ulimit -n)")                                       \
    X(FILTERED, "filtered", "a seccomp filter was installed during the capture")                                       \
    X(FOREIGN, "foreign", "the agent cannot be loaded into 32-bit programs and programs for other architectures")      \
    X(UNREADABLE, "unreadable", "the agent's file cannot be read by this user or from this root directory")            \
    X(STATIC, "static", "static programs cannot load the agent")                                                       \
    X(NO_MEMORY, "no-memory", "no address space was left for a buffer (ulimit -v)")                                    \
    X(NO_SHARED_MEMORY, "no-shared-memory", "the collector could not create shared memory for a buffer")               \
    X(NOT_ATTACHED, "not-attached",                                                                                    \
      "no agent was loaded, or it could not reach the collector (setuid programs, namespaces, containers)")

enum wire_cause {
    WIRE_CAUSE_UNKNOWN, /* or no cause: the process may well be recorded */
#define WIRE_CAUSE_ID(name, text, reason) WIRE_CAUSE_##name,
    WIRE_CAUSES(WIRE_CAUSE_ID) WIRE_CAUSE_COUNT
#undef WIRE_CAUSE_ID
};

#endif
