// An inference as both encodings of the Open Inference Protocol carry it: what was asked, and what
// the model answered.
#pragma once

#include <sardonyx/sardonyx.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "serve/failure.h"

namespace sardonyx::serve {

using Parameter = std::variant<bool, int64_t, double, std::string>;

// Element types by the protocol's names: "FP32", "BYTES". Those that the protocol lacks have names
// in its manner ("INT4", "FP8E4M3FN", "COMPLEX64").
std::string_view datatype_of(Type type);
Type type_of_datatype(std::string_view name);  // undefined if there is none
size_t element_bytes(Type type);               // 0: strings, and elements narrower than a byte
size_t packed_bytes(Type type, size_t count);  // not of strings

struct InputTensor {
  std::string name;
  Tensor tensor;
};

// Where in shared memory a tensor is, or is to go.
struct SharedPlace {
  std::string region;
  uint64_t offset = 0, bytes = 0;

  // One of the parameters "shared_memory_region", "..._offset" and "..._byte_size"; says what is
  // wrong with it, or "".
  std::string set(std::string_view name, const Parameter& value);
};

struct WantedOutput {
  std::string name;
  std::optional<bool> binary;  // not said: as the request says
  std::optional<SharedPlace> shared;
};

struct InferRequest {
  std::string model, version, id;
  std::vector<InputTensor> inputs;
  std::vector<WantedOutput> outputs;  // empty: all
  bool binary_outputs = false;
  bool digest = false;
  int64_t priority = 0;    // 0: the usual one; 1 the most urgent
  int64_t timeout_us = 0;  // 0: none
  std::string sequence;    // not empty: state is kept from one request of a sequence to the next
  bool sequence_start = false, sequence_end = false;
  std::vector<std::pair<std::string, Parameter>> others;  // parameters that mean nothing here
  std::shared_ptr<const void> alive;                      // memory that tensors look into

  // One parameter of the request; says what is wrong with it, or "".
  std::string set(std::string_view name, const Parameter& value);
};

struct OutputTensor {
  std::string name;
  Tensor tensor;
  std::optional<SharedPlace> shared = std::nullopt;  // where it was written to instead
};

struct InferResult {
  std::string model, version, id;
  std::vector<OutputTensor> outputs;
  std::vector<std::string> digests;   // as many as outputs, if asked for
  std::shared_ptr<const void> alive;  // memory that tensors look into
};

// Strings as binary tensors hold them: each its length in 4 little-endian bytes, then its bytes.
Outcome<Tensor> tensor_of_bytes(Type type, Dims dims, std::string_view bytes, std::string_view name,
                                bool may_look_into);
std::string string_bytes(const Tensor& tensor);
// How many elements, or nothing if a size is negative or there are more than 2^48.
std::optional<size_t> count_of(const Dims& dims);
std::string text_of(const Dims& dims);  // "[1,3]"
void append_dims(std::string& to, const Dims& dims);

}  // namespace sardonyx::serve
