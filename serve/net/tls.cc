#include "serve/net/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstring>

namespace sardonyx::serve {
namespace {

std::string openssl_says() {
  const unsigned long code = ERR_get_error();  // NOLINT: OpenSSL's type
  char text[256] = "no reason given";
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
  static const unsigned char ours[] = "\x02h2\x08http/1.1";
  if (SSL_select_next_proto(const_cast<unsigned char**>(out), out_size, ours, sizeof ours - 1, in,
                            in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Outcome<std::unique_ptr<Tls>> Tls::from(const TlsFiles& files) {
  std::unique_ptr<Tls> tls(new Tls(files));
  auto context = tls->load();
  if (!context) return context.failure();
  tls->context_ = *context;
  tls->stamp_ = tls->stamp();
  return tls;
}

Tls::~Tls() = default;

Outcome<std::shared_ptr<ssl_ctx_st>> Tls::load() const {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const auto wrong = [](const std::string& what) {
    return Failure{Kind::internal, "SDX-V0201: " + what + ": " + openssl_says(), 0};
  };
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files_.certificate.c_str()) != 1) {
    return wrong("the certificate " + files_.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), files_.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return wrong("the key " + files_.key);
  }
  if (!files_.client_authority.empty()) {
    if (SSL_CTX_load_verify_locations(context.get(), files_.client_authority.c_str(), nullptr) !=
        1) {
      return wrong("the clients' authority " + files_.client_authority);
    }
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    // Sessions of clients with certificates are resumed within this server alone.
    SSL_CTX_set_session_id_context(context.get(), reinterpret_cast<const unsigned char*>("sdx"), 3);
  }
  return std::shared_ptr<ssl_ctx_st>(context);
}

std::string Tls::stamp() const {
  std::string stamp;
  for (const std::string& file : {files_.certificate, files_.key, files_.client_authority}) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    const auto size = std::filesystem::file_size(file, error);
    stamp += std::to_string(time.time_since_epoch().count()) + ',' + std::to_string(size) + ';';
  }
  return stamp;
}

ssl_st* Tls::accept(int fd) {
  std::shared_ptr<ssl_ctx_st> context;
  {
    const std::lock_guard lock(mutex_);
    context = context_;
  }
  SSL* ssl = SSL_new(context.get());
  SSL_set_fd(ssl, fd);
  SSL_set_accept_state(ssl);
  return ssl;
}

std::string Tls::reload_if_changed() {
  const std::string now = stamp();
  if (now == stamp_) return "";
  auto context = load();
  if (!context) return context.failure().message;
  stamp_ = now;
  const std::lock_guard lock(mutex_);
  context_ = *context;
  return "";
}

}  // namespace sardonyx::serve
