/* The shared objects of the process: see modules.c. */
#ifndef TACHO_AGENT_CORE_MODULES_H
#define TACHO_AGENT_CORE_MODULES_H

/* Records the objects that were loaded or unloaded since the last time. Not for signal handlers. */
void agent_note_modules(void);
/* An object is about to be loaded or unloaded, and no hook runs afterwards: the next agent_note_changed_modules() walks
 * the list. */
void agent_modules_changed(void);
void agent_note_changed_modules(void);
void modules_after_fork_in_child(void);

/* The next function of this name after the agent's, or else that of a loaded library whose file name begins with
 * `library`; NULL if there is none. */
void *agent_find_function(const char *library, const char *symbol);

#endif
