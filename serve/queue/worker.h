// sardonyx worker: inferences out of a queue. A pull consumer of a NATS JetStream stream.
//
//   requests   stream S: bodies of POST /v2/models/M/infer, with its headers; Sardonyx-Model names
//   M results    stream S_results, subject results.S.ID: the answer, exactly one for each id dead
//   stream S_dead, subject dead.S.ID: a request that cannot be answered, and why
//
// A message is acknowledged when its result stands in the result stream, not before: whoever dies
// meanwhile, it is delivered again. A result is published on the condition that its subject has
// none yet, which the server checks, so an id that was answered twice has one result. ID is the
// header Nats-Msg-Id, or the message's number in the stream.
#pragma once

#include "serve/settings.h"

namespace sardonyx::serve {

struct QueueSettings {
  ServerSettings server;  // models, workers, threads
  std::string url, stream;
  std::string model;  // of requests that name none; "": the only one there is
  std::string consumer = "sardonyx";
  std::string objects;              // a folder for results that do not fit into a message
  size_t inline_bytes = 512 << 10;  // results up to this size travel in the message
  size_t pending = 0;               // messages at hand at a time; 0: 32 for each worker
  double ack_wait_s = 30;           // without a sign of life, a message is delivered again
  int64_t tries = 5;                // deliveries, then it is a dead letter
  bool create = false;              // the stream is made if it is not there
  bool until_empty = false;         // ends when nothing waits any more
};

// Works until SIGTERM or SIGINT, then finishes what is at hand. The exit code.
int work_queue(const QueueSettings& settings);

}  // namespace sardonyx::serve
