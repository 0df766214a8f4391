// Inference in JSON, with or without binary tensors behind it. Floats are read straight to their
// type and printed shortest, so JSON keeps bits; NaN and infinities are the strings "NaN",
// "Infinity" and "-Infinity".
#pragma once

#include "serve/http/message.h"
#include "serve/oip/request.h"
#include "serve/shm/regions.h"

namespace sardonyx::serve {

// `json_bytes`: how much of the body is JSON; what follows are binary tensors in the inputs' order.
// The body must have been padded and must outlive the request. Tensors in shared memory are read
// from `regions`.
Outcome<InferRequest> read_infer_json(Body& body, size_t json_bytes,
                                      const Regions& regions = no_regions());

// The whole answer; binary tensors look into the result's memory, which it then keeps.
Response infer_json(InferResult result, const InferRequest& request);

// A string with its quotes and escapes; what is not UTF-8 is replaced by U+FFFD.
void append_json_string(std::string& to, std::string_view text);
void append_json_elements(std::string& to, const Tensor& tensor);

}  // namespace sardonyx::serve
