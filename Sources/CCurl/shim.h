#pragma once
#include <curl/curl.h>

/* Swift does not import C variadics: one inline wrapper per argument type. A wrapper's argument has exactly
   the type that libcurl reads with va_arg (long, curl_off_t, a pointer). */

static inline CURLcode celestiad_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode celestiad_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode celestiad_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode celestiad_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode celestiad_curl_set_headers(CURL *easy, struct curl_slist *list) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}
static inline CURLcode celestiad_curl_set_mime(CURL *easy, curl_mime *mime) {
    return curl_easy_setopt(easy, CURLOPT_MIMEPOST, mime);
}
static inline CURLcode celestiad_curl_set_transfer_function(CURL *easy, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(easy, option, function);
}
static inline CURLcode celestiad_curl_set_progress_function(CURL *easy, curl_xferinfo_callback function) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
}
static inline CURLcode celestiad_curl_set_prereq_function(CURL *easy, curl_prereq_callback function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}
static inline long celestiad_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
static inline curl_off_t celestiad_curl_get_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

static inline CURLMcode celestiad_curlm_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode celestiad_curlm_set_socket_function(CURLM *multi, curl_socket_callback function, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}
static inline CURLMcode celestiad_curlm_set_timer_function(CURLM *multi, curl_multi_timer_callback function, void *context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* Macros that Swift does not import, or imports with another type. */
static inline CURLcode celestiad_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }
static inline long celestiad_curl_http_version_1_1(void) { return CURL_HTTP_VERSION_1_1; }
static inline long celestiad_curl_tls_1_2(void) { return CURL_SSLVERSION_TLSv1_2; }
static inline size_t celestiad_curl_read_abort(void) { return CURL_READFUNC_ABORT; }
