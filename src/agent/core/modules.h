/* The shared objects of the process: see modules.c. */
#ifndef TACHO_AGENT_CORE_MODULES_H
#define TACHO_AGENT_CORE_MODULES_H

/* Records the objects that were loaded or unloaded since the last time. Not for signal handlers. */
void agent_note_modules(void);
/* An object is about to be loaded or unloaded, and no hook runs afterwards: the next agent_note_changed_modules() walks
 * the list. */
void agent_modules_changed(void);
/* Around a dlopen(): constructors of what it loads may load more. Nobody is told of that before all have run: to open a
 * library once more would run its constructors ahead of those that it depends on. */
void agent_modules_loading(void);
void agent_modules_loaded(int has_loaded);
void agent_note_changed_modules(void);
void modules_after_fork_in_child(void);

/* A symbol that the program exports, or a loaded library whose file name begins with `library` ("": any but the agent);
 * address NULL if there is none. Allocates nothing. */
struct agent_symbol {
    void *address;
    const char *path; /* of the object that has it; "" for the program itself */
};
struct agent_symbol agent_find_symbol(const char *library, const char *symbol);

#endif
