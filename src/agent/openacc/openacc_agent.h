/* What libtacho-openacc.so calls in the agent. Both come from the same build. */
#ifndef TACHO_AGENT_OPENACC_OPENACC_AGENT_H
#define TACHO_AGENT_OPENACC_OPENACC_AGENT_H

#include "abi/models/openacc.h"

/* An OpenACC runtime has loaded the library that ACC_PROFLIB names: registers a callback for every event, if this
 * process records them. */
void tacho_agent_openacc(openacc_register_function *register_callback);

#endif
