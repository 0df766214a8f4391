#include "typed/body.h"

namespace sdx::typed {

BodySources body_sources(const sdx::Node& use) {
  BodySources sources;
  for (const auto& [name, value] : use.attrs) {
    const auto* source = std::get_if<std::shared_ptr<const BodySource>>(&value);
    if (source != nullptr) sources.emplace(name, *source);
  }
  return sources;
}

sdx::Node with_body_sources(sdx::Node use, const BodySources& sources) {
  for (const auto& [name, source] : sources) use.attrs[std::string(name)] = source;
  return use;
}

}  // namespace sdx::typed
