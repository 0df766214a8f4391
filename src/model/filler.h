// Filler: a message in which every field is set, for tests of what must not lose one.
#pragma once

#include <string>

#include "model/fields.h"

namespace sdx::model {

// A message in which every field is set, to a value of its own, `depth` messages deep.
class Filler {
 public:
  template <class M>
  requires std::is_base_of_v<Message, M>
  void fill(M& m, int depth, Rule = Rule::plain) {
    if (depth == 0) return;
    bool chosen = false;  // of the alternatives of a one-of, a different one each time
    const uint32_t choice = next_++ % 6;
    uint32_t alternative = 0;
    each_field<M>([&](const auto& field) {
      using F = std::remove_cvref_t<decltype(field)>;
      if constexpr (kIsOneOf<F>) {
        if (chosen || alternative++ < choice % std::variant_size_v<typename F::Value>) return;
        chosen = true;
        using A = typename F::Alternative;
        fill((m.*field.member).template emplace<A>(), depth - 1, field.rule);
      } else {
        fill(m.*field.member, depth - 1, field.rule);
        if constexpr (std::is_arithmetic_v<typename F::Value>) m.present |= 1u << field.number;
      }
    });
    if (depth > 2) m.unknown = "\xa2\x06\x03xyz";  // field 100
  }

 private:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void fill(T& value, int, Rule) {
    value = static_cast<T>(next_ % 2 == 0 ? -static_cast<int>(next_) : static_cast<int>(next_));
    ++next_;
  }
  void fill(std::string& value, int, Rule) { value = "s" + std::to_string(next_++); }
  void fill(Payload& value, int, Rule) {
    static const std::string bytes = "12345678";
    value.bytes = std::as_bytes(std::span(bytes));
  }
  template <class T>
  void fill(std::vector<T>& values, int depth, Rule rule) {
    for (int i = 0; i < 2 && depth > 0; ++i) fill(values.emplace_back(), depth, rule);
  }
  template <class T>
  void fill(std::optional<T>& value, int depth, Rule rule) {
    if (depth > 0) fill(value.emplace(), depth, rule);
  }
  template <class T>
  void fill(Box<T>& value, int depth, Rule rule) {
    if (depth > 0) fill(value.emplace(), depth, rule);
  }

  uint32_t next_ = 1;
};

}  // namespace sdx::model
