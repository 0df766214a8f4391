// Every operator against inputs that do not fit: its own cases, changed in one place at a time. The
// answer is an error with a code or a defined result, the same for the reference and for kernels,
// and never a crash; the sanitizers see the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cases/cases.h"
#include "op/conform.h"
#include "ops/list.h"
#include "ops/noise.h"
#include "typed/eval.h"
#include "typed/graph.h"

namespace sdx {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct Tally {
  size_t answers = 0, errors = 0;
};

std::string label(const Op& op, const Case& test, const std::string& what) {
  return fmt::format("{}.{} (version {}), {}", op.name, test.name, test.opset, what);
}

// As a model's node would be made and run.
void feed(const Op& op, const Case& test, const std::string& what, Tally& tally) {
  const std::string who = label(op, test, what);
  if (std::getenv("SARDONYX_VERBOSE") != nullptr) fmt::print(stderr, "{}\n", who);
  sdx::Node use;
  use.op = &op;
  use.opset = test.opset;
  use.attrs = test.attrs;
  use.wanted.assign(test.outputs, true);
  typed::Graph graph;
  std::vector<typed::Outlet> wires;
  for (const Value& input : test.inputs)
    wires.push_back(input.is_none() ? typed::Outlet{} : graph.source("", fact_of(input)));
  const auto made = graph.add(use, wires);
  if (!made) {
    EXPECT_FALSE(made.error().code.empty()) << who;
    ++tally.errors;
    return;
  }
  const typed::Node& node = graph.nodes().back();
  if (node.kind != typed::Node::Kind::op) return;  // an operator without inputs, folded
  const auto want = typed::eval(node.use, test.inputs);
  const auto got = typed::eval(node.use, test.inputs, {.reference = false, .isa = native_isa()});
  EXPECT_EQ(want.ok(), got.ok()) << who << ": "
                                 << (want.ok() ? got.error().text() : want.error().text());
  if (!want || !got) {
    ++tally.errors;
    return;
  }
  ++tally.answers;
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_TRUE(equal((*want)[i], (*got)[i])) << who << ": output " << i << " of a kernel differs";
    if (node.outputs[i].present()) {
      EXPECT_TRUE(admits(node.outputs[i], (*want)[i]))
          << who << ": output " << i << " was inferred as " << node.outputs[i].text() << " and is "
          << fact_of((*want)[i]).text();
    }
  }
}

// A tensor of another shape with the elements of this one, again and again.
Tensor shaped(const Tensor& from, Dims dims) {
  Tensor to = Tensor::make(from.type(), std::move(dims));
  for (size_t i = 0; i < to.count(); ++i) {
    if (from.count() == 0) break;
    const size_t j = i % from.count();
    if (from.type() == DType::string) {
      to.data<std::string>()[i] = from.data<std::string>()[j];
    } else if (bits(from.type()) <= 64) {
      set_bits(from.type(), to.raw(), i, get_bits(from.type(), from.raw(), j));
    }
  }
  return to;
}

Tensor filled(const Tensor& like, double value) {
  Tensor to = Tensor::make(like.type(), like.dims());
  for (size_t i = 0; i < to.count(); ++i) set_f64(like.type(), to.raw(), i, value);
  return to;
}
Tensor filled_integers(const Tensor& like, int64_t value, bool all) {
  Tensor to = like.copy();
  for (size_t i = 0; i < (all ? to.count() : std::min<size_t>(to.count(), 1)); ++i)
    set_i64(like.type(), to.raw(), i, value);
  return to;
}

class Mutations {
 public:
  Mutations(const Op& op, const Case& base, Tally& tally) : op_(op), base_(base), tally_(tally) {}

  void all() {
    feed(op_, base_, "as it is", tally_);
    arity();
    attributes();
    for (size_t i = 0; i < base_.inputs.size(); ++i) {
      if (base_.inputs[i].is_tensor()) input(i, base_.inputs[i].tensor());
    }
    Case empty = base_;
    for (Value& value : empty.inputs) {
      if (value.is_tensor() && value.tensor().rank() > 0) {
        Dims dims = value.tensor().dims();
        dims[0] = 0;
        value = Tensor::make(value.tensor().type(), dims);
      }
    }
    feed(op_, empty, "all inputs empty", tally_);
  }

 private:
  void with_input(size_t i, Value value, const std::string& what) {
    Case test = base_;
    test.inputs[i] = std::move(value);
    feed(op_, test, fmt::format("input {} {}", i, what), tally_);
  }
  void with_attribute(const std::string& name, AttrValue value, const std::string& what) {
    Case test = base_;
    test.attrs.insert_or_assign(name, std::move(value));
    feed(op_, test, fmt::format("attribute {} {}", name, what), tally_);
  }

  void arity() {
    for (size_t i = 0; i < base_.inputs.size(); ++i) with_input(i, Value(), "left out");
    for (const int change : {-1, 1, 2}) {
      Case test = base_;
      if (change < 0 && !test.inputs.empty()) test.inputs.pop_back();
      for (int k = 0; k < change; ++k) test.inputs.emplace_back(Tensor::of<float>({2}, {1, 2}));
      feed(op_, test, fmt::format("{} inputs", test.inputs.size()), tally_);
    }
    Case none = base_;
    none.inputs.clear();
    feed(op_, none, "no inputs", tally_);
    for (const size_t outputs : {size_t{0}, base_.outputs + 1, base_.outputs + 3}) {
      Case test = base_;
      test.outputs = outputs;
      feed(op_, test, fmt::format("{} outputs", outputs), tally_);
    }
  }

  void attributes() {
    const Signature* signature = op_.at(base_.opset);
    if (signature == nullptr) return;
    with_attribute("no_such_attribute", int64_t{1}, "given");
    for (const AttrDecl& decl : signature->attributes) {
      Case without = base_;
      if (without.attrs.erase(decl.name) > 0)
        feed(op_, without, "attribute " + decl.name + " left out", tally_);
      // Of another kind.
      with_attribute(decl.name, int64_t{1}, "an integer");
      with_attribute(decl.name, 1.5f, "a float");
      with_attribute(decl.name, std::string("word"), "a string");
      with_attribute(decl.name, std::vector<float>{1}, "floats");
      with_attribute(decl.name, std::vector<std::string>{"a", "b"}, "strings");
      with_attribute(decl.name, Tensor::of<float>({1}, {1}), "a tensor");
      if (decl.type == AttrType::int_) {
        for (const int64_t value : {kLeast, int64_t{-7}, int64_t{-1}, int64_t{0}, int64_t{2},
                                    int64_t{7}, int64_t{1} << 49, kMost}) {
          with_attribute(decl.name, value, fmt::format("is {}", value));
        }
      } else if (decl.type == AttrType::float_) {
        for (const float value : {0.f, -1.f, 1e30f, std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN()}) {
          with_attribute(decl.name, value, fmt::format("is {}", value));
        }
      } else if (decl.type == AttrType::ints) {
        using Ints = std::vector<int64_t>;
        for (const Ints& value :
             {Ints{}, Ints{0}, Ints{-1}, Ints{1, 1}, Ints{0, 0}, Ints{7, 7, 7}, Ints{kMost, kMost},
              Ints{kLeast}, Ints{-1, -2, -3, -4, -5}, Ints{1, 2, 3, 4, 5, 6, 7, 8, 9}}) {
          with_attribute(decl.name, value, fmt::format("is {}", to_string(value)));
        }
        const auto given = base_.attrs.find(decl.name);
        if (given == base_.attrs.end()) continue;
        const auto& usual = std::get<Ints>(given->second);
        for (size_t i = 0; i < usual.size(); ++i) {
          for (const int64_t value : {kLeast, int64_t{-7}, int64_t{0}, int64_t{7}, kMost}) {
            Ints changed = usual;
            changed[i] = value;
            with_attribute(decl.name, changed, fmt::format("is {}", to_string(changed)));
          }
        }
      } else if (decl.type == AttrType::floats) {
        with_attribute(decl.name, std::vector<float>{}, "is empty");
        with_attribute(decl.name, std::vector<float>{0, 1, 2, 3, 4, 5, 6}, "has seven numbers");
      } else if (decl.type == AttrType::strings) {
        with_attribute(decl.name, std::vector<std::string>{}, "is empty");
        with_attribute(decl.name, std::vector<std::string>{"", "\xff", "x"}, "has three strings");
      } else if (decl.type == AttrType::tensor) {
        with_attribute(decl.name, Tensor::make(DType::f32, {0}), "is empty");
        with_attribute(decl.name, Tensor::make(DType::i64, {2, 2}), "is a matrix");
        with_attribute(decl.name, Tensor::make(DType::string, {1}), "is text");
      }
    }
  }

  void input(size_t i, const Tensor& x) {
    const auto again = [&](Dims dims) {
      const std::string what = "of shape " + to_string(dims);
      with_input(i, shaped(x, std::move(dims)), what);
    };
    again({});
    again({0});
    again({1});
    again({3});
    again({2, 3});
    again({1, 0, 2});
    again({2, 3, 1, 2, 1});
    Dims dims = x.dims();
    for (size_t axis = 0; axis < dims.size() && x.count() < 4096; ++axis) {
      for (const int64_t change : {-dims[axis], int64_t{-1}, int64_t{1}}) {
        Dims other = dims;
        other[axis] = std::max<int64_t>(0, other[axis] + change);
        again(other);
      }
    }
    dims.insert(dims.begin(), 1);
    again(dims);
    if (x.rank() > 0) again({dims.begin() + 2, dims.end()});
    for (const DType type :
         {DType::f32, DType::f64, DType::f16, DType::i64, DType::u8, DType::boolean, DType::string,
          DType::c64, DType::i4, DType::f8e4m3fn}) {
      if (type != x.type())
        with_input(i, Tensor::make(type, x.dims()), fmt::format("of type {}", short_name(type)));
    }
    if (is_float(x.type())) {
      for (const double value : {0., -1., 1e30, std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()}) {
        with_input(i, filled(x, value), fmt::format("full of {}", value));
      }
    }
    if (is_integer(x.type())) {
      for (const int64_t value : {kLeast, -kMost, int64_t{-7}, int64_t{-1}, int64_t{0}, int64_t{1},
                                  int64_t{3}, kMost - 1, kMost}) {
        with_input(i, filled_integers(x, value, true), fmt::format("full of {}", value));
        with_input(i, filled_integers(x, value, false), fmt::format("starting with {}", value));
      }
    }
    if (x.type() == DType::string) {
      for (const char* value : {"", "\xff\xfe", "a longer text with spaces", "-1e999"}) {
        Tensor text = x.copy();
        for (size_t k = 0; k < text.count(); ++k) text.data<std::string>()[k] = value;
        with_input(i, text, fmt::format("full of \"{}\"", value));
      }
    }
  }

  const Op& op_;
  const Case& base_;
  Tally& tally_;
};

// Sources of operators without cases of their own: inputs of the first type that each formal
// allows.
Case plain_case(const Signature& signature) {
  Case test{.name = "plain", .opset = signature.since, .attrs = {}, .inputs = {}};
  for (size_t i = 0; i < std::max<size_t>(signature.min_inputs, 1); ++i) {
    const Formal* formal = signature.input(i);
    if (formal == nullptr) break;
    DType type = DType::f32;
    const auto types = signature.types.find(formal->type);
    const std::string first = types != signature.types.end() ? types->second.back() : formal->type;
    for (const DType candidate : {DType::f32, DType::f64, DType::i64, DType::i32, DType::u8,
                                  DType::boolean, DType::string}) {
      if (Fact::tensor(candidate).onnx_type() == first) type = candidate;
    }
    test.inputs.emplace_back(type == DType::string ? Tensor::make(type, {2, 3})
                                                   : noise(type, {2, 3}));
  }
  test.outputs = std::max<size_t>(signature.min_outputs, 1);
  return test;
}

class BadInput : public testing::TestWithParam<const Op*> {};

TEST_P(BadInput, gives_an_error_or_a_defined_answer) {
  const Op* op = GetParam();
  std::vector<Case> bases = cases_of(*op);
  // A few of each operator suffice: what differs between them is what the changes reach.
  constexpr size_t kMostCases = 4, kMostElements = 2048;
  std::erase_if(bases, [](const Case& test) {
    return std::any_of(test.inputs.begin(), test.inputs.end(), [](const Value& input) {
      return input.is_tensor() && input.tensor().count() > kMostElements;
    });
  });
  for (const Signature& signature : op->signatures()) bases.push_back(plain_case(signature));
  const size_t own = bases.size() - op->signatures().size(), step = own / kMostCases + 1;
  Tally tally;
  for (size_t i = 0; i < bases.size(); i += i < own ? step : 1)
    Mutations(*op, bases[i], tally).all();
  EXPECT_GT(tally.errors, 0u);
}

std::vector<const Op*> published() {
  std::vector<const Op*> list(all_ops().begin(), all_ops().end());
  std::erase_if(list, [](const Op* op) { return op->domain == "sardonyx"; });  // made by rewrites
  return list;
}
INSTANTIATE_TEST_SUITE_P(Every, BadInput, testing::ValuesIn(published()), [](const auto& param) {
  std::string name(param.param->domain);
  std::replace(name.begin(), name.end(), '.', '_');
  return name + (name.empty() ? "" : "_") + std::string(param.param->name);
});

}  // namespace
}  // namespace sdx
