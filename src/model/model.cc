#include "model/model.h"

namespace sdx::model {

const Attribute* Node::find(std::string_view attribute_name) const {
  for (const Attribute& candidate : attribute) {
    if (candidate.name == attribute_name) return &candidate;
  }
  return nullptr;
}

}  // namespace sdx::model
