// OpenSSL 3: TLS, signing, certificates. Functions for the macros that Swift cannot import.
#pragma once
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline int shim_set_minimum_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline void shim_set_options(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
}
static inline void shim_set_mode(SSL_CTX *context, long mode) { SSL_CTX_set_mode(context, mode); }
static inline void shim_set_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }
static inline int shim_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int shim_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline long shim_memory_bytes(BIO *bio, const char **bytes) { return BIO_get_mem_data(bio, (char **)bytes); }
static inline EVP_PKEY *shim_make_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline EVP_PKEY *shim_make_rsa_key(size_t bits) { return EVP_RSA_gen(bits); }
static inline const EVP_MD *shim_sha256(void) { return EVP_sha256(); }
static inline X509 *shim_take_first(STACK_OF(X509) *chain) { return chain ? sk_X509_shift(chain) : NULL; }
static inline void shim_free_chain(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }
static inline void shim_set_client_verification(SSL_CTX *context, int is_demanded) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (is_demanded ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
}
static inline void shim_free(void *memory) { OPENSSL_free(memory); }
