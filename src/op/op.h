// An operator is declared once, as one OpOf<A> value in one file; checker, inference, planner,
// tests and docs read it.
#ifndef SDX_OP_OP_H_
#define SDX_OP_OP_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "op/args.h"
#include "op/node.h"
#include "op/signature.h"

namespace sdx {

class Program;  // kernel/program/program.h
struct Relay;   // op/layout.h
struct Relaid;
struct Streamed;  // op/streaming.h
struct Streaming;

// What is known when kernels are chosen: facts with concrete shapes (constants carry values), and
// the machine.
struct Call {
  const Facts& in;
  const Facts& out;
  Isa isa;
  int threads;
};

// A fast body. It gives the bits of the reference; the first that fits is used.
template <class A>
struct Kernel {
  std::string_view name;
  bool (*fits)(const A&, const Call&);
  Status (*run)(const A&, Args&);
  size_t (*scratch)(const A&, const Call&) = nullptr;  // bytes
  // Constant inputs rearranged once, at planning; run() finds the result in Args::packed.
  std::shared_ptr<const void> (*pack)(const A&, const Call&, Pool&) = nullptr;
  uint32_t packs = 0;  // bit i: input i is constant and only needed by pack()
  // Can run Args::epilogue on blocks of output 0: how many of its axes are the blocks' rows; 0:
  // not this time.
  size_t (*epilogue)(const A&, const Call&) = nullptr;
};

// Tests, benchmarks and examples of an operator. Without `expected`, kernels are compared with the
// reference.
struct Case {
  std::string name;
  int opset;
  AttrMap attrs;
  std::vector<Value> inputs;  // std::monostate: left out
  std::vector<Value> expected = {};
  double rtol = 0;  // 0: equal bits
  size_t outputs = 1;
};

}  // namespace sdx
extern template class std::vector<sdx::Case>;
namespace sdx {

// One instruction of an element-wise program: the UnaryOp or BinaryOp, and its parameters.
struct Pointwise {
  enum class Kind : uint8_t { unary, binary } kind;
  int code;
  float p0 = 0, p1 = 0;
};

template <class A>
struct OpOf {
  using Attributes = A;
  std::string_view name, doc;
  std::span<const Version> history;
  // The only code that knows opset numbers. `in` has one fact per input, absent ones included.
  Result<A> (*read)(const Node&, const Facts& in);
  // Pure. One fact per output; Dim::unknown() for a size that only running tells.
  Result<Facts> (*infer)(const A&, const Facts& in);
  // The meaning: scalar, simple, the order of operations in the open.
  Status (*reference)(const A&, Args&);
  std::span<const Kernel<A>> kernels = {};
  std::vector<Case> (*cases)() = nullptr;  // for tests, which read them by tests/cases

  std::string_view domain = "";  // "" is ai.onnx
  bool deterministic = true;
  // Takes or gives whole values (Args::value, give) even where all of them are tensors.
  bool whole_values = false;
  // Output 0 may take the memory of any input of its size and type: element i needs only elements
  // i.
  bool inplace = false;
  // What read() makes, and whether inputs fit together, follows from types, ranks, constants, and
  // of sizes and known integers only from which of them are equal, and which are 1, 0 or negative.
  // Where that is as it was, inputs of other sizes need not be asked about again.
  bool by_equality = false;
  // The nodes of such an operator of which that is not true: they compare products of sizes, say.
  bool (*by_more)(const A&) = nullptr;
  // If output `slot` is a contiguous piece of input 0: the byte at which it starts.
  std::optional<size_t> (*alias)(const A&, const Call&, size_t slot) = nullptr;
  // If input `i` is a contiguous piece of output 0: the byte at which it starts. It may then be
  // computed there.
  std::optional<size_t> (*joins)(const A&, const Call&, size_t i) = nullptr;
  // The node as a program of element-wise operations: a product that it follows can run it.
  const Program* (*program)(const A&) = nullptr;
  // If the facts tell which one of its subgraphs runs: that one, whose nodes may take its place.
  std::shared_ptr<const Body> (*taken)(const A&, const Facts& in) = nullptr;
  // As an instruction on f32 (and, rounded after each step, on f16 and bf16) elements.
  std::optional<Pointwise> (*pointwise)(const A&, const Facts& in) = nullptr;
  // How it runs on inputs that lie otherwise, if it can; families are in op/layout.h.
  std::optional<Relaid> (*layout)(const A&, const Relay&) = nullptr;
  // Multiply-adds, for people.
  uint64_t (*multiply_adds)(const A&, const Call&) = nullptr;
  // How it moves along a streamed axis; what works row by row along it need not say so.
  Streaming (*stream)(const A&, const Streamed&) = nullptr;
};

// Tells the attributes' types apart where only a const void* is left of them.
template <class A>
inline constexpr char kAttributesOf = 0;

// The same without A: what the lists hold. Attributes travel as the const void* that read() made.
struct Op {
  struct AnyKernel {
    std::string_view name;
    bool (*fits)(const void*, const Call&);
    Status (*run)(const void*, Args&);
    size_t (*scratch)(const void*, const Call&);
    std::shared_ptr<const void> (*pack)(const void*, const Call&, Pool&);
    uint32_t packs;
    size_t (*epilogue)(const void*, const Call&);
  };
  std::string_view domain, name, doc;
  std::span<const Version> history;
  const void* attributes;  // &kAttributesOf<A>
  Result<std::shared_ptr<const void>> (*read)(const Node&, const Facts&);
  Result<Facts> (*infer)(const void*, const Facts&);
  Status (*reference)(const void*, Args&);
  std::span<const AnyKernel> kernels;
  std::vector<Case> (*cases)();  // null in the library: see tests/cases
  bool deterministic, whole_values, inplace, by_equality;
  bool (*by_more)(const void*) = nullptr;
  std::optional<size_t> (*alias)(const void*, const Call&, size_t);
  std::optional<size_t> (*joins)(const void*, const Call&, size_t);
  const Program* (*program)(const void*);
  std::shared_ptr<const Body> (*taken)(const void*, const Facts&);
  std::optional<Pointwise> (*pointwise)(const void*, const Facts&);
  std::optional<Relaid> (*layout)(const void*, const Relay&);
  uint64_t (*multiply_adds)(const void*, const Call&);
  Streaming (*stream)(const void*, const Streamed&);

  // All versions, folded on first use.
  const std::vector<Signature>& signatures() const;
  // The version that a model importing `opset` means; null if the operator did not exist then.
  const Signature* at(int opset) const;
};

namespace detail {

// One kind of owner for all attributes: std::make_shared would make one for each type.
Result<std::shared_ptr<const void>> owned(const void* attributes, void (*destroy)(const void*));

template <const auto& kDecl>
struct Erased {
  using A = typename std::remove_cvref_t<decltype(kDecl)>::Attributes;
  static const A& as(const void* attrs) { return *static_cast<const A*>(attrs); }

  template <size_t I>
  static constexpr Op::AnyKernel kernel() {
    constexpr const Kernel<A>& k = kDecl.kernels[I];
    return {k.name,
            [](const void* a, const Call& call) { return kDecl.kernels[I].fits(as(a), call); },
            [](const void* a, Args& args) { return kDecl.kernels[I].run(as(a), args); },
            [](const void* a, const Call& call) -> size_t {
              return kDecl.kernels[I].scratch ? kDecl.kernels[I].scratch(as(a), call) : 0;
            },
            k.pack == nullptr
                ? nullptr
                : +[](const void* a, const Call& call,
                      Pool& pool) { return kDecl.kernels[I].pack(as(a), call, pool); },
            k.packs,
            k.epilogue == nullptr
                ? nullptr
                : +[](const void* a,
                      const Call& call) { return kDecl.kernels[I].epilogue(as(a), call); }};
  }
  template <size_t... I>
  static constexpr auto kernels(std::index_sequence<I...>) {
    return std::array<Op::AnyKernel, sizeof...(I)>{kernel<I>()...};
  }
  static constexpr auto kKernels = kernels(std::make_index_sequence<kDecl.kernels.size()>());
};

}  // namespace detail

// const Op softmax = erase<kSoftmax>();
template <const auto& kDecl>
constexpr Op erase() {
  Op op{};
  op.domain = kDecl.domain;
  op.name = kDecl.name;
  op.doc = kDecl.doc;
  op.history = kDecl.history;
#ifdef SDX_CASES  // tests/cases: the declarations again, for their cases alone
  op.cases = kDecl.cases;
#else
  using E = detail::Erased<kDecl>;
  using A = typename E::A;
  op.attributes = &kAttributesOf<A>;
  op.read = [](const Node& node, const Facts& in) -> Result<std::shared_ptr<const void>> {
    Result<A> attrs = kDecl.read(node, in);
    if (!attrs) return std::move(attrs).failure();
    return detail::owned(new A(*std::move(attrs)),
                         [](const void* a) { delete static_cast<const A*>(a); });
  };
  op.infer = [](const void* a, const Facts& in) { return kDecl.infer(E::as(a), in); };
  op.reference = [](const void* a, Args& args) { return kDecl.reference(E::as(a), args); };
  op.kernels = E::kKernels;
  op.deterministic = kDecl.deterministic;
  op.whole_values = kDecl.whole_values;
  op.inplace = kDecl.inplace;
  op.by_equality = kDecl.by_equality;
  if constexpr (kDecl.by_more != nullptr) {
    op.by_more = [](const void* a) { return kDecl.by_more(E::as(a)); };
  }
  if constexpr (kDecl.alias != nullptr) {
    op.alias = [](const void* a, const Call& call, size_t slot) {
      return kDecl.alias(E::as(a), call, slot);
    };
  }
  if constexpr (kDecl.joins != nullptr) {
    op.joins = [](const void* a, const Call& call, size_t i) {
      return kDecl.joins(E::as(a), call, i);
    };
  }
  if constexpr (kDecl.program != nullptr) {
    op.program = [](const void* a) { return kDecl.program(E::as(a)); };
  }
  if constexpr (kDecl.taken != nullptr) {
    op.taken = [](const void* a, const Facts& in) { return kDecl.taken(E::as(a), in); };
  }
  if constexpr (kDecl.pointwise != nullptr) {
    op.pointwise = [](const void* a, const Facts& in) { return kDecl.pointwise(E::as(a), in); };
  }
  if constexpr (kDecl.layout != nullptr) {
    op.layout = [](const void* a, const Relay& asked) { return kDecl.layout(E::as(a), asked); };
  }
  if constexpr (kDecl.multiply_adds != nullptr) {
    op.multiply_adds = [](const void* a, const Call& call) {
      return kDecl.multiply_adds(E::as(a), call);
    };
  }
  if constexpr (kDecl.stream != nullptr) {
    op.stream = [](const void* a, const Streamed& s) { return kDecl.stream(E::as(a), s); };
  }
#endif
  return op;
}

}  // namespace sdx

#endif  // SDX_OP_OP_H_
