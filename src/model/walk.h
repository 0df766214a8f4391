// Visits every tensor of a message, wherever one can stand: initializers, sparse ones' parts,
// attributes, subgraphs, functions, training graphs.
#pragma once

#include "model/fields.h"

namespace sdx::model {

// visit(tensor) returns a Status; the first error ends the walk. Const messages give const tensors.
template <class M, class Visit>
Status each_tensor(M& message, const Visit& visit);

namespace walk {

template <class T, class Visit>
Status member(T& value, const Visit& visit) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_base_of_v<Message, Plain>) {
    return each_tensor(value, visit);
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    return value ? each_tensor(*value, visit) : ok();
  } else if constexpr (requires { typename Plain::value_type; }) {
    if constexpr (std::is_base_of_v<Message, typename Plain::value_type>) {
      for (auto& item : value) SDX_TRY(each_tensor(item, visit));
    }
  }
  return ok();
}

}  // namespace walk

template <class M, class Visit>
Status each_tensor(M& message, const Visit& visit) {
  using Plain = std::remove_const_t<M>;
  if constexpr (std::is_same_v<Plain, TensorData>) {
    return visit(message);
  } else {
    Status status;
    each_field<Plain>([&](const auto& field) {
      if constexpr (!kIsOneOf<std::remove_cvref_t<decltype(field)>>) {
        if (status) status = walk::member(message.*field.member, visit);
      }
    });
    return status;
  }
}

}  // namespace sdx::model
