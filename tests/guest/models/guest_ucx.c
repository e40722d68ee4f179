/* A program with UCX, which sends a message to itself. */
#include "guest.h"

#include <ucp/api/ucp.h>

static void complete(ucp_worker_h worker, void *request)
{
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    ucp_request_free(request);
}

static void say_message(ucp_worker_h worker, ucp_ep_h endpoint)
{
    char sent[] = "to myself", received[20] = "";
    const ucp_request_param_t none = { 0 };
    void *receive = ucp_tag_recv_nbx(worker, received, sizeof sent, 7, ~(ucp_tag_t)0, &none);
    complete(worker, ucp_tag_send_nbx(endpoint, sent, sizeof sent, 7, &none));
    complete(worker, receive);
    say("received '%s'", received);
}

PROGRAM(ucx_to_itself)
{
    const ucp_params_t params = { .field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG };
    const ucp_worker_params_t worker_params = { 0 };
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    ucp_ep_h endpoint;
    size_t length;
    if (ucp_init(&params, NULL, &context) != UCS_OK || ucp_worker_create(context, &worker_params, &worker) != UCS_OK)
        return skipped("UCX does not start here");
    say("address %d", ucp_worker_get_address(worker, &address, &length));
    const ucp_ep_params_t peer = { .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address };
    say("endpoint %d", ucp_ep_create(worker, &peer, &endpoint));
    say_message(worker, endpoint);
    complete(worker, ucp_ep_close_nb(endpoint, UCP_EP_CLOSE_MODE_FLUSH));
    ucp_worker_release_address(worker, address);
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
    return 0;
}
