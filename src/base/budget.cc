#include "base/budget.h"

#include <optional>

namespace sdx {
namespace {
thread_local std::optional<Budget> account;
}  // namespace

Budget::Scope::Scope() : opened_(!account) {
  if (opened_) account.emplace();
}

Budget::Scope::~Scope() {
  if (opened_) account.reset();
}

Budget* Budget::open() { return account ? &*account : nullptr; }

}  // namespace sdx
