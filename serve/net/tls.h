// TLS 1.2 and 1.3 by OpenSSL: a certificate and its key from files, read again when they change;
// clients' certificates are asked for where an authority for them is given.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "serve/failure.h"

struct ssl_st;
struct ssl_ctx_st;

namespace sardonyx::serve {

struct TlsFiles {
  std::string certificate, key;  // PEM
  std::string client_authority;  // PEM; not empty: clients must show a certificate signed by it
  bool asked() const { return !certificate.empty(); }
};

class Tls {
 public:
  static Outcome<std::unique_ptr<Tls>> from(const TlsFiles& files);
  ~Tls();

  ssl_st* accept(int fd);
  // New connections use the files as they are now, if they have changed and are good. Answers what
  // is wrong with them, or "".
  std::string reload_if_changed();

 private:
  explicit Tls(TlsFiles files) : files_(std::move(files)) {}
  Outcome<std::shared_ptr<ssl_ctx_st>> load() const;
  std::string stamp() const;

  TlsFiles files_;
  std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;  // guarded by mutex_
  std::string stamp_;
};

}  // namespace sardonyx::serve
