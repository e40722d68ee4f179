/* Explicit tasks of libgomp: functions that run in place of a task's own, call it, and record it. */
#ifndef TACHO_AGENT_OPENMP_GOMP_TASKS_H
#define TACHO_AGENT_OPENMP_GOMP_TASKS_H

typedef void gomp_task_function(void *data);

/* The function to run in place of `function`; itself, if the program has too many of them. */
gomp_task_function *gomp_task_wrapper(gomp_task_function *function);

#endif
