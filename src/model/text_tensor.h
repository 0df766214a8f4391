// The elements of tensors in the text syntax.
#pragma once

#include <string>

#include "model/model.h"
#include "model/text_lexer.h"

namespace sdx::model {

// What the printed elements say of a tensor.
struct PrintedElements {
  uint32_t carried = 0;  // the fields that parsing them gives back
  bool raw = false;      // they stand in raw_data
};

// Appends "{1, 2}", or the place of external data as ["location": "x"]. Elements of types narrower
// than a byte are shown byte by byte, float16 and narrower floats as the integers of their bits, as
// ONNX does.
PrintedElements print_elements(const TensorData& tensor, std::string& out);

// Reads either into the tensor, whose data_type is set: into the field that the protocol has for
// the type.
Status parse_elements(Lexer& in, TensorData& tensor);
// Moves elements from the type's own field to raw_data.
Status make_raw(TensorData& tensor);

// "key": "value" pairs, without brackets.
void print_entries(const StringEntries& entries, std::string& out);
Status parse_entries(Lexer& in, StringEntries& entries);
// Whether parsing what print_entries prints gives the same bytes.
bool carried_whole(const StringEntries& entries);

void print_quoted(std::string_view text, std::string& out);

}  // namespace sdx::model
