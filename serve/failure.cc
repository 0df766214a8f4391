#include "serve/failure.h"

namespace sardonyx::serve {

int http_status(Kind kind) {
  switch (kind) {
    case Kind::bad_request:
      return 400;
    case Kind::unauthorized:
      return 401;
    case Kind::forbidden:
      return 403;
    case Kind::not_found:
      return 404;
    case Kind::wrong_method:
      return 405;
    case Kind::too_large:
      return 413;
    case Kind::overloaded:
      return 429;
    case Kind::unavailable:
      return 503;
    case Kind::deadline:
      return 504;
    case Kind::cancelled:
      return 499;
    case Kind::unimplemented:
      return 501;
    case Kind::internal:
      return 500;
  }
  return 500;
}

int grpc_status(Kind kind) {
  switch (kind) {
    case Kind::bad_request:
      return 3;  // INVALID_ARGUMENT
    case Kind::unauthorized:
      return 16;  // UNAUTHENTICATED
    case Kind::forbidden:
      return 7;  // PERMISSION_DENIED
    case Kind::not_found:
      return 5;  // NOT_FOUND
    case Kind::wrong_method:
      return 12;  // UNIMPLEMENTED
    case Kind::too_large:
      return 8;  // RESOURCE_EXHAUSTED
    case Kind::overloaded:
      return 8;  // RESOURCE_EXHAUSTED
    case Kind::unavailable:
      return 14;  // UNAVAILABLE
    case Kind::deadline:
      return 4;  // DEADLINE_EXCEEDED
    case Kind::cancelled:
      return 1;  // CANCELLED
    case Kind::unimplemented:
      return 12;  // UNIMPLEMENTED
    case Kind::internal:
      return 13;  // INTERNAL
  }
  return 13;
}

Failure failure_of(const Error& error) {
  Failure failure{Kind::bad_request, error.code() + ": " + error.message(), 0};
  size_t more = 0;
  for (const std::string& place : error.where()) {
    // Further errors are counted: an answer is to be read.
    if (place.starts_with("also ") || place.starts_with("and ")) {
      ++more;
    } else {
      failure.message += "; in " + place;
    }
  }
  if (more > 0) failure.message += "; and more errors: `sardonyx check` lists them";
  if (!error.help().empty()) failure.message += "; " + error.help();
  if (error.code() == "SDX-R0030") failure.kind = Kind::cancelled;
  if (error.code() == "SDX-R0031") failure.kind = Kind::deadline;
  if (error.code() == "SDX-A0102") failure.kind = Kind::unavailable;  // out of memory
  return failure;
}

}  // namespace sardonyx::serve
