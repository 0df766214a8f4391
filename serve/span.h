// W3C trace context: a request that carries "traceparent" gets a span of its own beneath it, which
// is sent by OTLP over HTTP where a collector was named.
#pragma once

#include "serve/http/message.h"
#include "serve/model/scheduler.h"
#include "serve/settings.h"

namespace sardonyx::serve {

// "00-<32 hex>-<16 hex>-<2 hex>", or nothing.
struct TraceParent {
  std::string trace, parent;
  bool sampled = false;
};
std::optional<TraceParent> read_trace_parent(std::string_view text);

// Notes how a request went. Costs nothing unless spans are sent somewhere.
void note_span(const ServerSettings& settings, const Exchange& exchange, const Job& job,
               const Failure* failure);

// Spans noted so far, as an OTLP request in JSON; empty if there are none.
std::string take_spans();
// Sends them; answers what went wrong, or "". Blocks: not for a reactor's thread.
std::string send_spans(const std::string& url, const std::string& json);

}  // namespace sardonyx::serve
