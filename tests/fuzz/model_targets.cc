// Targets of the first stage: bytes and text to models and back.
#include "fuzz.h"
#include "model/text.h"

namespace sdx::fuzz {
namespace {

// What is printed parses to the same model.
void expect_same_through_text(const model::Model& model, const std::string& bytes) {
  const std::string printed = model::print_text(model);
  model::Limits wide = limits();
  wide.file_bytes = SIZE_MAX;
  const auto parsed = model::parse_text(printed, wide);
  if (!parsed) broken("printed text does not parse: " + parsed.error().text() + "\n" + printed);
  if (model::write(*parsed) != bytes) broken("printed text parses to another model:\n" + printed);
  if (model::print_text(*parsed) != printed) broken("text prints differently again:\n" + printed);
}

}  // namespace

void bytes(Bytes input) {
  const auto model = read(input);
  if (model == nullptr) return;
  const std::string once = model::write(*model);
  const auto again = model::read_bytes(std::as_bytes(std::span(once)));
  if (!again) broken("written bytes cannot be read: " + again.error().text());
  if (model::write(**again) != once) broken("written bytes are read as another model");
}

void text(Bytes input) {
  const std::string_view characters(reinterpret_cast<const char*>(input.data()), input.size());
  if (const auto parsed = model::parse_text(characters, limits())) {
    expect_same_through_text(*parsed, model::write(*parsed));
  } else if (const auto model = read(input)) {
    expect_same_through_text(*model, model::write(*model));
  }
}

}  // namespace sdx::fuzz
