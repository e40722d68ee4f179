/* libtacho-openacc.so: the library that ACC_PROFLIB names. The OpenACC runtime loads it and calls
 * acc_register_library().
 *
 * The agent does not export that name itself: it would stand before that of a tool which is linked into the program. */
#include "agent/openacc/openacc_agent.h"

#pragma weak tacho_agent_openacc /* without the agent in the process, the library does nothing */

__attribute__((visibility("default"))) void acc_register_library(openacc_register_function *register_callback,
                                                                 openacc_register_function *unregister_callback,
                                                                 void *lookup);

void acc_register_library(openacc_register_function *register_callback, openacc_register_function *unregister_callback,
                          void *lookup)
{
    if (tacho_agent_openacc)
        tacho_agent_openacc(register_callback);
}
