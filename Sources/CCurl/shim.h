// libcurl for single HTTPS requests. Its option functions are variadic, which Swift cannot call.
#pragma once
#include <curl/curl.h>

typedef size_t (*shim_data_function)(char *bytes, size_t size, size_t count, void *context);
typedef CURLcode (*shim_tls_function)(CURL *easy, void *tls, void *context);

static inline CURLcode shim_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_set_large_number(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode shim_set_data_function(CURL *easy, CURLoption option, shim_data_function function) {
    return curl_easy_setopt(easy, option, function);
}
static inline CURLcode shim_set_tls_function(CURL *easy, shim_tls_function function) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}
static inline CURLcode shim_get_number(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}
