// Groups of nodes that the page folds: from the paths that exporters put into names, and from
// blocks of operators that repeat where names say nothing.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace sdx::cli {

// One path per node, "encoder/layer.0"; "" for a node that stands alone.
std::vector<std::string> groups_of(const std::vector<model::Node>& nodes);

}  // namespace sdx::cli
