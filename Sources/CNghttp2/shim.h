// nghttp2 1.52: HTTP/2 sessions, client and server.
#pragma once
#include <nghttp2/nghttp2.h>
