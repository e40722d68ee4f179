/* The shared objects of the process: see modules.c. */
#ifndef TACHO_AGENT_CORE_MODULES_H
#define TACHO_AGENT_CORE_MODULES_H

/* Tells of objects that were loaded or unloaded since the last time. Not for signal handlers. */
void agent_note_modules(void);
/* Something is about to be loaded or unloaded, and nobody will be called when it is done: whoever comes next looks. */
void agent_modules_changed(void);
void agent_note_changed_modules(void);
void modules_after_fork_in_child(void);

/* The next function of this name after ours, or that of the loaded library whose file name begins so; NULL if there is
 * none. */
void *agent_find_function(const char *library, const char *symbol);

#endif
