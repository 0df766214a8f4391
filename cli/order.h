// --order random:SEED[,COUNT]: valid orders of execution, drawn.
#pragma once

#include <string>

#include "command.h"
#include "facts.h"

namespace sdx::cli {

struct RandomOrders {
  uint64_t seed = 0;
  size_t count = 1;  // orders with the seeds seed, seed + 1, ...
};
Result<RandomOrders> read_orders(const std::string& text);

// Runs the model in these orders: its outputs are equal, byte by byte, to those of the usual one.
Status orders_agree(const std::shared_ptr<const model::Model>& model, const Named& inputs,
                    const CompileOptions& options, const RandomOrders& orders,
                    const run::RunOptions& how = {});

}  // namespace sdx::cli
