// sardonyx serve: the Open Inference Protocol over REST and gRPC on one port.
//
//   net/    reactors (epoll, one per core), connections, TLS
//   http/   HTTP/1.1 (our own parser) and HTTP/2 (nghttp2), as one kind of exchange
//   oip/    the protocol's messages: JSON (simdjson) and protobuf (our own wire reader)
//   model/  a model with its sessions, and the scheduler that batches requests
//   repo/   the folder of models
//   shm/    shared memory of the system, where clients may leave tensors
//   yaml/   settings in YAML
//   rest, grpc, core, tuning, metrics, span, record: the calls
//
// It sees the engine through include/sardonyx alone, and the engine does not know of it.
#pragma once

#include <functional>
#include <string>

#include "serve/settings.h"

namespace sardonyx::serve {

// Serves until SIGTERM or SIGINT, then answers what is at hand. The exit code; what went wrong at
// the start is on stderr. `confine` is called once the server listens, before it starts a thread or
// reads a model; what it returns, if anything, is why the server must not start.
int serve(const ServerSettings& settings, const std::function<std::string()>& confine = nullptr);

}  // namespace sardonyx::serve
