// gzip and deflate bodies, both ways.
#pragma once

#include "serve/failure.h"
#include "serve/http/body.h"

namespace sardonyx::serve {

// At most `most` bytes come out: a small body must not become a huge one.
Outcome<Body> unzipped(std::string_view bytes, size_t most);
std::string zipped(std::string_view bytes);

}  // namespace sardonyx::serve
