// Models and values from bytes and back. Reading trusts nothing: any bytes give a message or an
// error that names the byte offset and the field; payloads are not copied.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/fitting.h"
#include "base/result.h"
#include "model/model.h"

namespace sdx::model {

// What a file may ask of the reader. The defaults hold any model met in practice and bound memory
// by a small multiple of the file's size.
struct Limits {
  size_t file_bytes = fitting(uint64_t{64} << 30);
  size_t external_file_bytes = fitting(uint64_t{4} << 40);
  size_t depth = 100;                  // messages within messages; protobuf's own limit
  size_t nodes = size_t{4} << 20;      // over all graphs and functions
  size_t messages = size_t{64} << 20;  // of any kind
  size_t elements =
      size_t{256} << 20;  // of repeated numbers and strings, tensor payloads not counted
  size_t name_bytes =
      size_t{64} << 10;  // of names of values, nodes, operators, domains, dimensions
  size_t string_bytes =
      fitting(uint64_t{2} << 30);  // of documentation, metadata and string attributes
  size_t rank = 256;               // dimensions of a tensor or of a declared shape
  size_t tensor_bytes =
      fitting(uint64_t{1} << 40);                   // that one tensor's dimensions and type ask for
  size_t total_bytes = fitting(uint64_t{4} << 40);  // all tensors together
};

// An .onnx file, or one in the ONNX text syntax if its name ends in .txt or .onnxtxt.
Result<std::shared_ptr<const Model>> read_file(const std::string& path, const Limits& limits = {});

// Reads a copy of `bytes`, so they need not outlive the call. `folder`: where external data is
// looked up; none if empty, and then external tensors stay readable as messages but not as data.
Result<std::shared_ptr<const Model>> read_bytes(std::span<const std::byte> bytes,
                                                const Limits& limits = {},
                                                const std::string& folder = {});
// The same without the copy: `payload.owner` keeps the bytes alive for the model's tensors.
Result<std::shared_ptr<const Model>> read_shared(const Payload& payload, const Limits& limits = {},
                                                 const std::string& folder = {});

// Any other document, by type: M is TensorData, SparseTensorData, SequenceData, MapData,
// OptionalData, Type, ValueInfo, Graph, Node, Attribute, Function or OperatorSet.
template <class M>
Result<M> read_message_file(const std::string& path, const Limits& limits = {});
template <class M>
Result<M> read_message(std::span<const std::byte> bytes, const Limits& limits = {});

// The protocol's bytes, fields in the order of their numbers as protobuf writes them. M: as above,
// or Model.
template <class M>
std::string write(const M& message);
// The same into a file, which appears whole or not at all. External tensors keep their references.
template <class M>
Status write_file(const M& message, const std::string& path);

}  // namespace sdx::model
