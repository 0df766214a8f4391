// Reshapes of tensors that lie otherwise: Reshape, Flatten, Squeeze and Unsqueeze share one answer.
#pragma once

#include "op/layout.h"

namespace sdx::ops {

// The same on the stored tensor, if axes that are joined lie one after the other.
std::optional<Relaid> reshape_layout(const Relay& asked);

}  // namespace sdx::ops
