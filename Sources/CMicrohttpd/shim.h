// libmicrohttpd: the HTTP/1.1 server. Functions for what is variadic, and for what stands in a union.
#pragma once
#include <microhttpd.h>
#include <sys/socket.h>

static inline struct MHD_Daemon *shim_http_start(
    const struct sockaddr *address, unsigned int is_ipv6, MHD_AccessHandlerCallback handler, void *context,
    MHD_RequestCompletedCallback completed, unsigned int timeout_seconds, unsigned int connection_limit,
    unsigned int connections_per_address) {
    unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | (is_ipv6 ? MHD_USE_IPv6 : 0);
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_NOTIFY_COMPLETED, completed,
        NULL, MHD_OPTION_CONNECTION_TIMEOUT, timeout_seconds, MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, connections_per_address, MHD_OPTION_END);
}

static inline uint16_t shim_http_port(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}
