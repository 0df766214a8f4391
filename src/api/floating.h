// The floating-point environment that the numerics rule assumes, held while the engine runs.
#pragma once

#include <cfenv>

namespace sdx {

// Round to nearest, denormals kept, no traps; what the host had comes back at the end of the scope.
// Threads started within take it over.
class DefaultFloating {
 public:
  DefaultFloating() {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloating() { std::fesetenv(&host_); }
  DefaultFloating(const DefaultFloating&) = delete;
  DefaultFloating& operator=(const DefaultFloating&) = delete;

 private:
  std::fenv_t host_;
};

}  // namespace sdx
