#include "infer/ask.h"

#include <algorithm>
#include <set>

#include "infer/net.h"
#include "typed/graph.h"

namespace sdx::infer {
namespace {

constexpr size_t kHighestRank = 8;
constexpr int64_t kUnlikely = 1000003;  // a prime that no weight has as a size
constexpr std::string_view kAsked = "?asked";

// The inputs with one size replaced.
Facts with(const Facts& in, size_t i, size_t axis, Dim size) {
  Facts changed = in;
  (*changed[i].shape)[axis] = std::move(size);
  return changed;
}

// Whether facts of outputs contradict what is known of them.
bool contradicts(const Facts& made, const Facts& known) {
  for (size_t slot = 0; slot < made.size() && slot < known.size(); ++slot) {
    const Fact &a = made[slot], &b = known[slot];
    if (!a.is_tensor() || !b.is_tensor() || !a.shape || !b.shape) continue;
    if (a.rank() != b.rank()) return true;
    for (size_t axis = 0; axis < a.rank(); ++axis) {
      const Dim &x = a.dim(axis), &y = b.dim(axis);
      if (x.is_const() && y.is_const() && !(x == y)) return true;
    }
  }
  return false;
}

// A size or rank that is refused for being too large may fit all the same.
bool fits(const sdx::Node& use, const Facts& in, const Facts& out) {
  const Result<Facts> made = forward(use, in, "probe");
  return made ? !contradicts(*made, out) : is_limit(made.error());
}

// Whether the size may be a rank: that of a list of sizes or axes. To ask with a large one costs as
// much memory as its shape.
bool may_be_rank(const Fact& fact) {
  return fact.rank() == 1 && !fact.value &&
         (fact.type == DType::undefined || fact.type == DType::i64 || fact.type == DType::i32);
}

// Integers that stand in the node: sizes of its inputs, elements of small constants, attributes,
// and what these are likely to be combined to.
std::set<int64_t> numbers(const sdx::Node& use, const Facts& in, size_t i, size_t axis,
                          const Facts& out) {
  std::set<int64_t> seen = {1};
  const auto list = [&](const std::vector<int64_t>& values) {
    int64_t sum = 0, times = 1;
    for (const int64_t value : values) {
      if (value <= 0 || value > kUnlikely) return;
      seen.insert(value);
      sum += value;
      times = std::min(times * value, kUnlikely);
    }
    seen.insert({sum, times});
  };
  int64_t others = 1;  // elements per step of the axis, if they are known
  for (size_t k = 0; k < in.size(); ++k) {
    if (!in[k].is_tensor()) continue;
    for (size_t a = 0; in[k].shape && a < in[k].rank(); ++a) {
      const Dim& dim = in[k].dim(a);
      if (dim.is_const()) seen.insert(dim.value());
      if (k == i && a != axis) others *= dim.is_const() ? dim.value() : 0;
    }
    if (const auto values = in[k].constant_integers(); values && values->size() <= 16)
      list(*values);
  }
  for (const Fact& fact : out) {
    if (!fact.is_concrete()) continue;
    const auto count = element_count(fact.dims());
    if (count && others > 0 && int64_t(*count) % others == 0) seen.insert(int64_t(*count) / others);
  }
  std::set<int64_t> all = seen;
  for (const auto& [name, value] : use.attrs) {
    if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
      list(*ints);
    } else if (const auto* number = std::get_if<int64_t>(&value); number && *number > 1) {
      for (const int64_t size : seen)
        all.insert(size * *number);  // channels are groups times these
    }
  }
  all.insert(seen.begin(), seen.end());
  return all;
}

}  // namespace

bool is_limit(const Error& error) { return error.code == "SDX-B0102"; }

Result<Facts> forward(const sdx::Node& use, const Facts& in, const std::string& tag) {
  typed::Graph scratch;
  scratch.name = "@asked:";  // no size of an input has a name that starts like this
  std::vector<typed::Outlet> inputs;
  for (const Fact& fact : in) {
    inputs.push_back(!fact.present() ? typed::Outlet{}
                     : fact.value    ? scratch.constant(*fact.value)
                                     : scratch.source("", fact));
  }
  const size_t id = scratch.size();
  SDX_ASSIGN(const auto outlets, scratch.add(use, std::move(inputs)));
  Facts out;
  for (size_t slot = 0; slot < outlets.size(); ++slot) {
    Fact fact = scratch.fact(outlets[slot]);
    for (size_t axis = 0; fact.shape && axis < fact.shape->size(); ++axis) {
      Dim& dim = (*fact.shape)[axis];
      if (!dim.is_const() && dim == Dim::symbol(fmt::format("?asked:{}.{}.{}", id, slot, axis))) {
        dim = Dim::symbol(fmt::format("?{}.{}.{}", tag, slot, axis));
      }
    }
    out.push_back(std::move(fact));
  }
  return out;
}

namespace {

// "tensor(int64)" as an element type; undefined if it is no tensor.
DType element_of(std::string_view type) {
  if (!type.starts_with("tensor(")) return DType::undefined;
  return dtype_from_onnx(type.substr(7, type.size() - 8)).value_or(DType::undefined);
}

}  // namespace

void bind_types(const sdx::Node& use, Facts& in, Facts& out) {
  const Signature* signature = use.op->at(use.opset);
  if (signature == nullptr) return;
  std::map<std::string, DType> bound;
  const auto each = [&](auto&& visit) {
    const size_t formal = std::min(use.formal_inputs, in.size());
    for (size_t i = 0; i < formal; ++i) {
      if (const Formal* f = signature->input(i); f && in[i].is_tensor()) visit(*f, in[i]);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (const Formal* f = signature->output(i); f && out[i].is_tensor()) visit(*f, out[i]);
    }
  };
  each([&](const Formal& f, Fact& fact) {
    if (f.homogeneous && fact.type != DType::undefined) bound.emplace(f.type, fact.type);
  });
  each([&](const Formal& f, Fact& fact) {
    if (fact.type != DType::undefined) return;
    const auto allowed = signature->types.find(f.type);
    if (allowed == signature->types.end()) {
      fact.type = element_of(f.type);
    } else if (const auto at = bound.find(f.type); at != bound.end() && f.homogeneous) {
      fact.type = at->second;
    } else if (allowed->second.size() == 1) {
      fact.type = element_of(allowed->second[0]);
    }
  });
}

std::optional<Rank> rank_of(const sdx::Node& use, const Facts& in, size_t i, const Facts& out,
                            bool assume) {
  std::vector<size_t> fitting;
  for (size_t rank = 0; rank <= kHighestRank; ++rank) {
    Facts tried = in;
    tried[i].shape.emplace();
    for (size_t axis = 0; axis < rank; ++axis)
      tried[i].shape->push_back(Dim::symbol(fmt::format("{}.{}", kAsked, axis)));
    if (fits(use, tried, out)) fitting.push_back(rank);
  }
  if (fitting.size() == 1) return Rank{fitting[0], false};
  if (!assume) return std::nullopt;
  for (const Fact& other : in) {
    if (other.value && other.rank() >= 3 &&
        std::find(fitting.begin(), fitting.end(), other.rank()) != fitting.end()) {
      return Rank{other.rank(), true};
    }
  }
  return std::nullopt;
}

std::optional<Dim> size_of(const sdx::Node& use, const Facts& in, size_t i, size_t axis,
                           const Facts& out) {
  const Dim asked = Dim::symbol(std::string(kAsked));
  const Result<Facts> made = forward(use, with(in, i, axis, asked), "probe");
  if (!made) return std::nullopt;
  // An output has the size, or one that it decides.
  for (size_t slot = 0; slot < made->size() && slot < out.size(); ++slot) {
    const Fact &a = (*made)[slot], &b = out[slot];
    if (!a.shape || !b.shape || a.rank() != b.rank()) continue;
    for (size_t at = 0; at < a.rank(); ++at) {
      if (a.dim(at).is_const() || is_open(b.dim(at))) continue;
      if (a.dim(at) == asked) return b.dim(at);
      if (!b.dim(at).is_const()) continue;
      const auto solved = a.dim(at).solve(b.dim(at).value());
      if (solved && solved->first == kAsked && solved->second >= 0) return Dim(solved->second);
    }
  }
  // Another input decides the size: an unlikely one is refused, and of the numbers at hand one
  // fits.
  const auto accepted = [&](int64_t size) {
    return size >= 0 && fits(use, with(in, i, axis, size), out);
  };
  if (may_be_rank(in[i]) || accepted(kUnlikely)) return std::nullopt;
  std::optional<int64_t> found;
  for (const int64_t size : numbers(use, in, i, axis, out)) {
    if (!accepted(size)) continue;
    if (found) return std::nullopt;  // a broadcast: 1 fits too
    found = size;
  }
  if (!found) return std::nullopt;
  // A size that others must divide, or a bound, is no equality.
  for (const int64_t near : {*found - 1, *found + 1, 2 * *found, 3 * *found}) {
    if (near != *found && accepted(near)) return std::nullopt;
  }
  return Dim(*found);
}

}  // namespace sdx::infer
