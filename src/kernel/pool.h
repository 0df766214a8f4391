// Pool: threads that share the iterations of a loop. Which thread runs what never decides the order
// of a sum.
#ifndef SDX_KERNEL_POOL_H_
#define SDX_KERNEL_POOL_H_

#include <cstddef>
#include <memory>
#include <type_traits>

namespace sdx {

class Pool {
 public:
  // `threads` including the caller; 0: the CPUs this process may use.
  explicit Pool(int threads = 0);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const;

  // body(begin, end, thread) over disjoint ranges that cover [0, n), each at least `grain` long
  // except the last; thread < threads(). Returns when all are done. Allocates nothing. Calls from
  // inside a body run in place.
  template <class Body>
  void parallel(size_t n, size_t grain, Body&& body) {
    using B = std::remove_reference_t<Body>;
    run(
        n, grain,
        [](void* b, size_t begin, size_t end, int thread) {
          (*static_cast<B*>(b))(begin, end, thread);
        },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Fn = void (*)(void*, size_t, size_t, int);
  void run(size_t n, size_t grain, Fn, void* body);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sdx

#endif  // SDX_KERNEL_POOL_H_
