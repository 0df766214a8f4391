// sardonyx serve: the Open Inference Protocol over REST and gRPC on one port.
//
//   net/    reactors (epoll, one per core), connections, TLS
//   http/   HTTP/1.1 (our own parser) and HTTP/2 (nghttp2), as one kind of exchange
//   oip/    the protocol's messages: JSON (simdjson) and protobuf (our own wire reader)
//   model/  a model with its sessions, and the scheduler that batches requests
//   repo/   the folder of models
//   rest, grpc, core, metrics, span, record: the calls
//
// It sees the engine through include/sardonyx alone, and the engine does not know of it.
#pragma once

#include "serve/settings.h"

namespace sardonyx::serve {

// Serves until SIGTERM or SIGINT, then answers what is at hand. The exit code; what went wrong at
// the start is on stderr.
int serve(const ServerSettings& settings);

}  // namespace sardonyx::serve
