// What `sardonyx serve` is told: flags, and a file of settings (JSON or YAML) where they are many.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "serve/http/message.h"
#include "serve/model/settings.h"
#include "serve/net/tls.h"

namespace sardonyx::serve {

// Who may make which calls: a token names groups of them. Without any tokens all may do all that is
// switched on.
struct Token {
  std::string sha256;  // of the token, so that no file holds it in the clear; or
  std::string value;   // the token itself
  bool infer = false, manage = false, look = false;
};

struct ServerSettings {
  std::string models;  // the folder
  std::string host = "127.0.0.1";
  int port = 8000;
  size_t reactors = 0;  // threads that read and write; 0: one per CPU
  size_t workers = 0;   // requests that run at a time; 0: one per CPU
  // Microseconds that a reactor looks for the next request before it sleeps, if the last came as
  // soon; 0: it sleeps at once.
  int64_t look_us = 50;
  double poll_s = 1;    // between looks at the folder; 0: only at the start
  double drain_s = 30;  // most time for requests at hand after SIGTERM
  bool model_control = false;
  bool shared_memory = false;  // clients on this machine may leave tensors in it
  size_t working_memory = 0;   // bytes that all runs may hold together; 0: no such limit
  std::string pack_cache = "beside";
  TlsFiles tls;
  std::vector<Token> tokens;
  HttpLimits http;
  std::string record;  // a folder to which requests that ask for it are written
  std::string otlp;    // "http://host:port/v1/traces"; empty: spans go nowhere
  double trace_rate = 1;
  ModelSettings defaults;
  std::map<std::string, ModelSettings> by_model;

  // Adds what a file says: JSON, or YAML if its name ends so.
  std::optional<Failure> read_file(const std::string& path);
};

}  // namespace sardonyx::serve
