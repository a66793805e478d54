// libmicrohttpd: the HTTP/1.1 server. Its start function is variadic, which Swift cannot call.
#pragma once
#include <microhttpd.h>

// The library owns the listening socket from here on.
static inline struct MHD_Daemon *shim_http_start(
    int listening_socket, MHD_AccessHandlerCallback handler, void *context, MHD_RequestCompletedCallback completed,
    unsigned int timeout_seconds, unsigned int connection_limit, unsigned int connections_per_address) {
    return MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, handler, context, MHD_OPTION_LISTEN_SOCKET,
        (MHD_socket)listening_socket, MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_CONNECTION_TIMEOUT,
        timeout_seconds, MHD_OPTION_CONNECTION_LIMIT, connection_limit, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        connections_per_address, MHD_OPTION_END);
}
