// What a worker asks of JetStream: streams and a consumer that are there, and who a message is.
#pragma once

#include <string>

#include "serve/queue/nats.h"
#include "serve/queue/worker.h"

namespace sardonyx::serve {

// The stream of results and that of dead letters are made where they are not there, as is the
// consumer. unavailable: try again later; anything else will not get better.
std::optional<Failure> prepare_streams(Nats& nats, const QueueSettings& settings);

// Whether nothing waits, neither to be delivered nor to be acknowledged.
Outcome<bool> all_done(Nats& nats, const QueueSettings& settings);

std::string results_stream(const QueueSettings& settings);
std::string dead_stream(const QueueSettings& settings);
std::string result_subject(const QueueSettings& settings, const std::string& token);
std::string dead_subject(const QueueSettings& settings, const std::string& token);

// Streams and consumers are words without dots, blanks and wildcards.
bool is_name(std::string_view text);

// What the subject on which a delivery is acknowledged says of it.
struct DeliveryInfo {
  int64_t deliveries = 0, sequence = 0;
};
std::optional<DeliveryInfo> delivery_of(std::string_view ack_subject);

// The part of a subject that stands for an id: itself if it may stand there, else its SHA-256.
std::string token_of(std::string_view id);

// What a publication to a stream came to.
enum class Published { stored, was_there, refused, nobody };
Published published(const NatsMessage& answer, std::string& reason);

}  // namespace sardonyx::serve
