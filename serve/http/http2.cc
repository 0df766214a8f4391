// HTTP/2 on a connection, its frames by nghttp2: many requests at a time, each a stream.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "serve/net/connection.h"
#include "serve/oip/framing.h"

namespace sardonyx::serve {
namespace {

class Http2;

// The bytes of a body that are still to be sent: most are one short text.
class Outgoing {
 public:
  bool empty() const { return text_at_ == text_.size() && next_ == pieces_.size(); }
  void add(Response& part) {
    if (empty()) {
      text_ = std::move(part.text);
      text_at_ = 0;
      pieces_ = std::move(part.pieces);
      next_ = 0;
      return;
    }
    if (!part.text.empty()) pieces_.push_back(piece_of(std::move(part.text)));
    for (Piece& piece : part.pieces) pieces_.push_back(std::move(piece));
  }
  size_t read(uint8_t* to, size_t room) {
    size_t count = std::min(room, text_.size() - text_at_);
    std::memcpy(to, text_.data() + text_at_, count);
    text_at_ += count;
    while (count < room && next_ < pieces_.size()) {
      Piece& piece = pieces_[next_];
      const size_t part = std::min(room - count, piece.bytes.size());
      std::memcpy(to + count, piece.bytes.data(), part);
      piece.bytes.remove_prefix(part);
      count += part;
      if (!piece.bytes.empty()) break;
      piece.owner.reset();
      ++next_;
    }
    return count;
  }

 private:
  std::string text_;
  size_t text_at_ = 0;
  std::vector<Piece> pieces_;  // behind the text
  size_t next_ = 0;
};

class Http2Exchange final : public Exchange {
 public:
  Http2Exchange(Reactor& reactor, Http2* protocol, int32_t stream)
      : Exchange(reactor, reactor.now()), protocol(protocol), stream(stream) {
    // Of most heads: memory once, not at each field.
    request.head.reserve(512);
    fields.reserve(16);
  }
  void respond(Response response) override;
  void send_part(Response part) override;

  Http2* protocol;  // none once the stream is closed
  const int32_t stream;
  size_t place = 0;  // among the connection's streams
  struct Name {
    size_t name, name_size, value, value_size;
  };
  std::vector<Name> fields;  // of the head, until it is whole
  bool handed_over = false, began = false, ended = false;
  Outgoing out;
  int grpc_status = -1;
  std::string grpc_message;
};
using StreamPtr = std::shared_ptr<Http2Exchange>;

nghttp2_nv field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

// gRPC's messages are percent-encoded where they are not plain text.
std::string encoded(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text.substr(0, 4096)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '%') {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

class Http2 final : public Protocol {
 public:
  explicit Http2(Connection& connection);
  ~Http2() override { nghttp2_session_del(session_); }
  Http2(const Http2&) = delete;
  Http2& operator=(const Http2&) = delete;

  bool received(std::string_view bytes) override;
  bool more_output() override;
  bool tick(Reactor::Clock::time_point now) override;
  bool drain() override;
  void closed() override;

  void respond(Http2Exchange& stream, Response response);
  void send_part(Http2Exchange& stream, Response part);

 private:
  friend struct Callbacks;
  void begin(Http2Exchange& stream, const Response& response, bool body);
  void hand_over(const StreamPtr& stream);
  void pushed();
  Http2Exchange* find(int32_t id) const {
    return static_cast<Http2Exchange*>(nghttp2_session_get_stream_user_data(session_, id));
  }
  void add(StreamPtr stream) {
    nghttp2_session_set_stream_user_data(session_, stream->stream, stream.get());
    stream->place = streams_.size();
    streams_.push_back(std::move(stream));
  }
  StreamPtr take_out(Http2Exchange& stream) {
    StreamPtr taken = std::exchange(streams_[stream.place], std::move(streams_.back()));
    if (stream.place + 1 < streams_.size()) streams_[stream.place]->place = stream.place;
    streams_.pop_back();
    return taken;
  }

  Connection& connection_;
  const HttpLimits& limits_;
  nghttp2_session* session_ = nullptr;
  std::vector<StreamPtr> streams_;  // in no order
  bool in_callback_ = false;
  size_t buffered_ = 0;             // bytes of bodies that are not whole
  size_t given_up_ = 0, done_ = 0;  // streams that the client reset; that ended well
  Reactor::Clock::time_point since_;
};

// What nghttp2 calls.
struct Callbacks {
  static Http2& self(void* user) { return *static_cast<Http2*>(user); }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2& http = self(user);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    auto stream =
        std::make_shared<Http2Exchange>(http.connection_.reactor(), &http, frame->hd.stream_id);
    stream->peer = http.connection_.peer();
    stream->secure = http.connection_.secure();
    stream->http2 = true;
    http.add(std::move(stream));
    return 0;
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                    void* user) {
    Http2& http = self(user);
    Http2Exchange* stream = http.find(frame->hd.stream_id);
    if (stream == nullptr || stream->handed_over) return 0;  // trailers are not looked at
    std::string& head = stream->request.head;
    if (head.size() + name_size + value_size > http.limits_.head_bytes ||
        stream->fields.size() >= http.limits_.headers) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets this stream
    }
    stream->fields.push_back({head.size(), name_size, head.size() + name_size, value_size});
    head.append(reinterpret_cast<const char*>(name), name_size);
    head.append(reinterpret_cast<const char*>(value), value_size);
    return 0;
  }

  // Views into the head, now that it does not grow any more.
  static void look(Request& request, const std::vector<Http2Exchange::Name>& fields) {
    const std::string_view head = request.head;
    request.headers.reserve(fields.size());
    for (const auto& at : fields) {
      const std::string_view name = head.substr(at.name, at.name_size),
                             value = head.substr(at.value, at.value_size);
      if (name == ":method") {
        request.method = value;
      } else if (name == ":authority") {
        request.authority = value;
      } else if (name == ":path") {
        const size_t question = std::min(value.find('?'), value.size());
        request.path = value.substr(0, question);
        request.query = value.substr(std::min(question + 1, value.size()));
      } else if (!name.starts_with(':')) {
        request.headers.push_back({name, value});
      }
    }
  }

  static int frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Http2& http = self(user);
    if (frame->hd.type == NGHTTP2_RST_STREAM && ++http.given_up_ > 1000 + http.done_) {
      // A client that opens streams only to reset them costs more than it asks for.
      nghttp2_session_terminate_session(http.session_, NGHTTP2_ENHANCE_YOUR_CALM);
      return 0;
    }
    const bool headers = frame->hd.type == NGHTTP2_HEADERS, data = frame->hd.type == NGHTTP2_DATA;
    if (!headers && !data) return 0;
    Http2Exchange* found = http.find(frame->hd.stream_id);
    if (found == nullptr) return 0;
    const StreamPtr stream = http.streams_[found->place];
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (headers && !stream->handed_over && stream->request.method.empty()) {
      look(stream->request, stream->fields);
      stream->fields.clear();
      size_t aligned_at = 0;
      for (const char c : stream->request.header("inference-header-content-length").substr(0, 9)) {
        aligned_at = aligned_at * 10 + static_cast<size_t>(c - '0');
      }
      stream->request.body = Body(aligned_at);
      if (stream->request.path.ends_with("/ModelStreamInfer")) http.hand_over(stream);
    }
    if (!end) return 0;
    if (stream->on_data) {
      stream->on_data({}, true);
    } else if (!stream->handed_over) {
      http.buffered_ -= stream->request.body.size();
      http.hand_over(stream);
    }
    return 0;
  }

  // Memory for the whole body at once, so that a large one is not moved as it grows, and a tensor
  // in it lies where it can be read in place. What is promised is believed up to a bound.
  static void make_room(Request& request, std::string_view first, const HttpLimits& limits) {
    constexpr size_t kMostBelieved = 16 << 20;
    size_t bytes = 0;
    if (request.header("content-type").starts_with("application/grpc")) {
      const GrpcLayout layout = look_at_grpc(first);
      bytes = layout.bytes;
      if (layout.tensor_at > 0) request.body = Body(layout.tensor_at);
    } else {
      const std::string_view length = request.header("content-length");
      std::from_chars(length.data(), length.data() + length.size(), bytes);
    }
    if (bytes > first.size())
      request.body.reserve(std::min({bytes, limits.body_bytes, kMostBelieved}));
  }

  static int data(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                  void* user) {
    Http2& http = self(user);
    Http2Exchange* stream = http.find(id);
    if (stream == nullptr) return 0;
    const std::string_view part(reinterpret_cast<const char*>(bytes), size);
    if (stream->on_data) {
      const StreamPtr alive = http.streams_[stream->place];
      alive->on_data(part, false);
      return 0;
    }
    if (stream->handed_over) return 0;
    Body& body = stream->request.body;
    if (body.size() + size > http.limits_.body_bytes ||
        http.buffered_ + size > 2 * http.limits_.body_bytes) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM);
      return 0;
    }
    http.buffered_ += size;
    if (body.size() == 0) make_room(stream->request, part, http.limits_);
    body.append(part);
    return 0;
  }

  static int stream_closed(nghttp2_session*, int32_t id, uint32_t, void* user) {
    Http2& http = self(user);
    Http2Exchange* found = http.find(id);
    if (found == nullptr) return 0;
    const StreamPtr stream = http.take_out(*found);
    if (!stream->handed_over)
      http.buffered_ -= std::min(http.buffered_, stream->request.body.size());
    stream->protocol = nullptr;
    if (stream->ended) {
      ++http.done_;
    } else {
      stream->gone = true;
      if (stream->on_gone) stream->on_gone();
    }
    stream->on_data = nullptr;  // which may hold the stream itself
    return 0;
  }

  static ssize_t read(nghttp2_session* session, int32_t id, uint8_t* to, size_t room,
                      uint32_t* flags, nghttp2_data_source*, void* user) {
    Http2Exchange* stream = self(user).find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t count = stream->out.read(to, room);
    if (!stream->out.empty()) return static_cast<ssize_t>(count);
    if (!stream->ended) return count > 0 ? ssize_t(count) : ssize_t{NGHTTP2_ERR_DEFERRED};
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream->grpc_status >= 0) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const std::string status = std::to_string(stream->grpc_status);
      const nghttp2_nv trailers[] = {field("grpc-status", status),
                                     field("grpc-message", stream->grpc_message)};
      nghttp2_submit_trailer(session, id, trailers, stream->grpc_message.empty() ? 1 : 2);
    }
    return static_cast<ssize_t>(count);
  }

  static nghttp2_session_callbacks* make() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_received);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
    return callbacks;
  }
};

Http2::Http2(Connection& connection)
    : connection_(connection),
      limits_(connection.reactor().shared().limits),
      since_(connection.reactor().now()) {
  static nghttp2_session_callbacks* const callbacks = Callbacks::make();
  nghttp2_session_server_new(&session_, callbacks, this);
  // Without a tree of priorities, which few clients use, streams that are closed need not be kept.
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<uint32_t>(limits_.streams)},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4 << 20},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 256 << 10},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits_.head_bytes)}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 16 << 20);
}

bool Http2::received(std::string_view bytes) {
  if (bytes.empty()) return true;
  since_ = connection_.reactor().now();
  in_callback_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  in_callback_ = false;
  // On an error nghttp2 has queued the GOAWAY that says what was wrong.
  return taken >= 0;
}

bool Http2::more_output() {
  while (connection_.unsent() < 256 << 10) {
    const uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) return false;
    if (size == 0) break;
    connection_.send(
        std::string_view(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)));
  }
  return nghttp2_session_want_read(session_) != 0 || nghttp2_session_want_write(session_) != 0;
}

void Http2::hand_over(const StreamPtr& stream) {
  stream->handed_over = true;
  connection_.reactor().shared().handler->handle(stream);
}

void Http2::begin(Http2Exchange& stream, const Response& response, bool body) {
  stream.began = true;
  const std::string status = std::to_string(response.status);
  const bool grpc = response.grpc_status >= 0 || response.content_type == "application/grpc";
  const std::string length = grpc ? "" : std::to_string(response.body_bytes());
  const std::string grpc_status = std::to_string(response.grpc_status);
  std::vector<nghttp2_nv> fields;
  fields.reserve(8);
  fields.push_back(field(":status", status));
  fields.push_back(field("content-type", response.content_type));
  if (!grpc) fields.push_back(field("content-length", length));
  std::vector<std::string> names;  // HTTP/2 has names in lower case
  names.reserve(response.headers.size());
  for (const auto& [name, value] : response.headers) {
    std::string& lower = names.emplace_back(name);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    fields.push_back(field(lower, value));
  }
  if (!body && grpc) {  // head and trailers in one
    fields.push_back(field("grpc-status", grpc_status));
    if (!stream.grpc_message.empty()) fields.push_back(field("grpc-message", stream.grpc_message));
  }
  nghttp2_data_provider provider{{.ptr = nullptr}, Callbacks::read};
  nghttp2_submit_response(session_, stream.stream, fields.data(), fields.size(),
                          body ? &provider : nullptr);
}

void Http2::send_part(Http2Exchange& stream, Response part) {
  if (!stream.began) begin(stream, part, true);
  stream.out.add(part);
  nghttp2_session_resume_data(session_, stream.stream);
  pushed();
}

void Http2::respond(Http2Exchange& stream, Response response) {
  if (stream.ended) return;
  stream.ended = true;
  stream.grpc_status = response.grpc_status;
  stream.grpc_message = encoded(response.grpc_message);
  const bool head_only = stream.request.method == "HEAD";
  const bool body = (response.body_bytes() > 0 && !head_only) || stream.began;
  if (!stream.began) begin(stream, response, body);
  if (body) {
    stream.out.add(response);
    nghttp2_session_resume_data(session_, stream.stream);
  }
  pushed();
}

// Those of answers that are made while the client's bytes are read go out after that anyway.
void Http2::pushed() {
  if (!in_callback_) connection_.flush_soon();
}

bool Http2::tick(Reactor::Clock::time_point now) {
  if (!streams_.empty()) {
    bool slow = connection_.unsent() > 0 || buffered_ > 0;
    return !slow || now - since_ < limits_.idle_time;
  }
  return now - since_ < limits_.idle_time;
}

bool Http2::drain() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  return !streams_.empty();
}

void Http2::closed() {
  for (const StreamPtr& stream : std::exchange(streams_, {})) {
    nghttp2_session_set_stream_user_data(session_, stream->stream, nullptr);
    stream->protocol = nullptr;
    stream->gone = true;
    if (stream->on_gone) stream->on_gone();
    stream->on_data = nullptr;
  }
}

void Http2Exchange::respond(Response response) {
  if (protocol != nullptr) protocol->respond(*this, std::move(response));
}
void Http2Exchange::send_part(Response part) {
  if (protocol != nullptr && !ended) protocol->send_part(*this, std::move(part));
}

}  // namespace

std::unique_ptr<Protocol> http2_protocol(Connection& connection) {
  return std::make_unique<Http2>(connection);
}

}  // namespace sardonyx::serve
