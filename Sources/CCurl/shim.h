// libcurl for single HTTPS requests. Its option functions are variadic, which Swift cannot call.
#pragma once
#include <curl/curl.h>
