#include "model/model.h"

template class std::vector<sdx::model::StringEntry>;
template class std::vector<sdx::model::TensorData>;
template class std::vector<sdx::model::ValueInfo>;
template class std::vector<sdx::model::Attribute>;
template class std::vector<sdx::model::Node>;
template class std::vector<sdx::model::Function>;

namespace sdx::model {

#define SDX_MADE_HERE(M)                   \
  M::M() = default;                        \
  M::M(const M&) = default;                \
  M::M(M&&) noexcept = default;            \
  M& M::operator=(const M&) = default;     \
  M& M::operator=(M&&) noexcept = default; \
  M::~M() = default;

SDX_MADE_HERE(TensorData)
SDX_MADE_HERE(Type)
SDX_MADE_HERE(ValueInfo)
SDX_MADE_HERE(Attribute)
SDX_MADE_HERE(NodeDeviceConfiguration)
SDX_MADE_HERE(Node)
SDX_MADE_HERE(Graph)
SDX_MADE_HERE(Function)
SDX_MADE_HERE(Model)

#undef SDX_MADE_HERE

const Attribute* Node::find(std::string_view attribute_name) const {
  for (const Attribute& candidate : attribute) {
    if (candidate.name == attribute_name) return &candidate;
  }
  return nullptr;
}

}  // namespace sdx::model
