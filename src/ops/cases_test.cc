// Every operator's cases, each a test of its own name: Operator.case/reference gives what is
// expected, and Operator.case/kernel/level gives the reference's bits, with one and two threads;
// with inputs known beforehand and only at run time; in place; and as an instruction of an
// element-wise program.
#include "cases/cases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>

#include "kernel/isa_testing.h"
#include "kernel/math/ops.h"
#include "op/one_node.h"
#include "ops/elementwise/broadcast.h"
#include "ops/list.h"

namespace sdx {
namespace {

struct Use {
  const Op& op;
  const Case& test;
  Facts in, out;
  std::shared_ptr<const void> attrs;
  bool planned = true;  // all outputs' sizes are known before the run
};

// The case as a node, read and inferred. `constant`: the inputs' values are known to inference.
// `change`: what is known of an input in their place.
Result<Use> prepare(const Op& op, const Case& test, bool constant,
                    const std::function<void(Fact&)>& change = {}) {
  const Signature* signature = op.at(test.opset);
  if (signature == nullptr) return fail("SDX-TEST", "no version for opset {}", test.opset);
  Node node;
  node.op = &op;
  node.opset = test.opset;
  node.attrs = test.attrs;
  for (const AttrDecl& decl : signature->attributes) {
    if (decl.fallback) node.attrs.emplace(decl.name, *decl.fallback);
    if (decl.required && !node.has(decl.name))
      return fail("SDX-TEST", "the case lacks attribute {}", decl.name);
  }
  for (const auto& [name, value] : node.attrs) {
    if (signature->attribute(name) == nullptr)
      return fail("SDX-TEST", "there is no attribute {}", name);
  }
  node.wanted.assign(test.outputs, true);
  node.formal_inputs = test.inputs.size();
  Use use{op, test, {}, {}, nullptr};
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Value& input = test.inputs[i];
    use.in.push_back(input.is_none()                 ? Fact{}
                     : constant && input.is_tensor() ? Fact::constant(input.tensor())
                                                     : fact_of(input));
    const Formal* formal = signature->input(i);
    if (formal == nullptr) return fail("SDX-TEST", "too many inputs");
    const auto types = signature->types.find(formal->type);
    if (use.in[i].present() && types != signature->types.end() &&
        std::find(types->second.begin(), types->second.end(), use.in[i].onnx_type()) ==
            types->second.end()) {
      return fail("SDX-TEST", "input {} may not be {}", i, use.in[i].onnx_type());
    }
    if (change) change(use.in[i]);
  }
  SDX_ASSIGN(use.attrs, op.read(node, use.in));
  SDX_ASSIGN(use.out, op.infer(use.attrs.get(), use.in));
  if (use.out.size() < test.outputs) return fail("SDX-TEST", "{} outputs inferred", use.out.size());
  use.out.resize(test.outputs);
  for (const Fact& fact : use.out) use.planned = use.planned && fact.is_concrete();
  return use;
}

// Runs one body. `over`: the input whose memory output 0 takes.
Result<std::vector<Value>> run(const Use& use, const Op::AnyKernel* kernel, Isa isa, Pool& pool,
                               std::optional<size_t> over = {}) {
  std::vector<Value> inputs = use.test.inputs, results(use.test.outputs);
  std::vector<View> outs(use.test.outputs);
  if (over) {
    const Tensor& original = inputs[*over].tensor();
    Tensor copy = Tensor::make(original.type(), original.dims());
    std::memcpy(copy.raw(), original.raw(), original.bytes());
    results[0] = copy;
    inputs[*over] = copy;
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!use.out[i].is_concrete()) continue;
    if (!(over && i == 0)) results[i] = Tensor::make(use.out[i].type, use.out[i].dims());
    outs[i] = view_of(results[i].tensor());
    outs[i].dims = results[i].tensor().dims();
  }
  LateValues late(inputs, results, use.out);
  const std::vector<View> ins = views_of(inputs);
  const Call call{use.in, use.out, isa, pool.threads()};
  SDX_TRY(run_one({use.op, use.attrs.get(), kernel, call, ins, outs, pool, late}));
  return results;
}

bool close(const Value& got, const Value& want, double rtol) {
  if (rtol == 0 || !got.is_tensor() || !want.is_tensor()) return equal(got, want);
  const Tensor &a = got.tensor(), &b = want.tensor();
  if (a.type() != b.type() || a.dims() != b.dims() || !is_float(a.type())) return a == b;
  for (size_t i = 0; i < a.count(); ++i) {
    const double x = get_f64(a.type(), a.raw(), i), y = get_f64(b.type(), b.raw(), i);
    if (std::isnan(x) != std::isnan(y)) return false;
    if (x != y && !(std::fabs(x - y) <= rtol * std::fabs(y))) return false;
  }
  return true;
}

std::string text(const Value& value) {
  if (!value.is_tensor()) return "(no tensor)";
  const Tensor& t = value.tensor();
  std::string result = fmt::format("{}{}", short_name(t.type()), to_string(t.dims()));
  const bool numbers = is_float(t.type()) || is_integer(t.type()) || t.type() == DType::boolean;
  for (size_t i = 0; numbers && i < std::min<size_t>(t.count(), 12); ++i) {
    result += fmt::format(" {}", get_f64(t.type(), t.raw(), i));
  }
  return result;
}

std::string first_difference(const Value& got, const Value& want) {
  if (!got.is_tensor() || !want.is_tensor()) return "values differ";
  const Tensor &a = got.tensor(), &b = want.tensor();
  if (a.type() != b.type() || a.dims() != b.dims()) return text(got) + " instead of " + text(want);
  for (size_t i = 0; bits(a.type()) != 0 && bits(a.type()) <= 64 && i < a.count(); ++i) {
    const uint64_t x = get_bits(a.type(), a.raw(), i), y = get_bits(b.type(), b.raw(), i);
    if (x == y) continue;
    return fmt::format("element {} of {}{}: {} ({:#x}) instead of {} ({:#x})", i,
                       short_name(a.type()), to_string(a.dims()), get_f64(a.type(), a.raw(), i), x,
                       get_f64(b.type(), b.raw(), i), y);
  }
  return "elements differ";
}

void expect_equal(const std::vector<Value>& got, const std::vector<Value>& want,
                  const std::string& who) {
  ASSERT_EQ(got.size(), want.size()) << who;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(equal(got[i], want[i]))
        << who << ", output " << i << ": " << first_difference(got[i], want[i]);
  }
}

// The instruction gives the operator's bits.
void check_pointwise(const Use& use, const std::vector<Value>& want, const std::string& who) {
  if (use.op.pointwise == nullptr) return;
  const auto step = use.op.pointwise(use.attrs.get(), use.in);
  if (!step) return;
  const Tensor& y = want[0].tensor();
  const Tensor& a = use.test.inputs[0].tensor();
  const bool binary = step->kind == Pointwise::Kind::binary;
  const Tensor& b = binary ? use.test.inputs[1].tensor() : a;
  const Broadcast<2> walk(y.dims(), {a.dims(), b.dims()});
  Tensor got = Tensor::make(y.type(), y.dims());
  walk.pieces(0, walk.count(), [&](size_t at, const auto& from, size_t length) {
    for (size_t i = 0; i < length; ++i) {
      const float x = float(get_f64(a.type(), a.raw(), from[0] + i * walk.step(0)));
      const float z = float(get_f64(b.type(), b.raw(), from[1] + i * walk.step(1)));
      const float result = binary ? scalar_binary(BinaryOp(step->code), x, z)
                                  : scalar_unary(UnaryOp(step->code), x, step->p0, step->p1);
      set_f64(y.type(), got.raw(), at + i, double(result));
    }
  });
  EXPECT_TRUE(got == y) << who << " as an instruction: " << first_difference(Value(got), want[0]);
}

// An output that lies in the first input, where the operator says so.
void check_alias(const Use& use, const std::vector<Value>& want, const std::string& who) {
  for (size_t slot = 0; use.op.alias != nullptr && slot < want.size(); ++slot) {
    const auto offset =
        use.op.alias(use.attrs.get(), Call{use.in, use.out, Isa::portable, 1}, slot);
    if (!offset) continue;
    const Tensor &x = use.test.inputs[0].tensor(), &y = want[slot].tensor();
    ASSERT_LE(*offset + y.bytes(), x.bytes()) << who;
    const char* there = static_cast<const char*>(x.raw()) + *offset;
    EXPECT_TRUE(Tensor::over(y.type(), y.dims(), nullptr, there) == y)
        << who << ": output " << slot << " does not lie in the input at byte " << *offset;
  }
}

// A case read and run by its reference, with constant inputs or without. Tests of one case follow
// each other, so the last one is kept: making an operator's cases and running references takes a
// while.
struct Meaning {
  std::optional<Use> use;
  std::vector<Value> want;
  std::string error;
};
const Meaning& meaning_of(const Op& op, size_t index, bool constant, Pool& pool) {
  static const Op* current = nullptr;
  static std::vector<Case> cases;
  static size_t at = 0;
  static std::optional<Meaning> kept[2];
  if (current != &op || at != index) kept[0].reset(), kept[1].reset();
  if (current != &op) cases = cases_of(op);
  current = &op;
  at = index;
  std::optional<Meaning>& meaning = kept[constant ? 1 : 0];
  if (meaning) return *meaning;
  meaning.emplace();
  Result<Use> use = prepare(op, cases[index], constant);
  if (!use) {
    meaning->error = use.error().text();
    return *meaning;
  }
  meaning->use.emplace(*std::move(use));
  // Where the sizes follow from the inputs' values, the engine reads again once they are known.
  if (!constant && !meaning->use->planned) return *meaning;
  Result<std::vector<Value>> want = run(*meaning->use, nullptr, Isa::portable, pool);
  if (want) {
    meaning->want = *std::move(want);
  } else {
    meaning->error = want.error().text();
  }
  return *meaning;
}

// What a case means: the same with inputs that are constants and with those that are not.
class CaseTest : public testing::Test {
 public:
  CaseTest(const Op& op, size_t index) : op_(op), index_(index) {}
  void TestBody() override {
    for (const bool constant : {false, true}) {
      const std::string who = constant ? "with constants" : "without constants";
      const Meaning& meaning = meaning_of(op_, index_, constant, one());
      ASSERT_TRUE(meaning.error.empty()) << who << ": " << meaning.error;
      if (constant || meaning.use->planned) check(*meaning.use, meaning.want, who);
    }
  }

 protected:
  static Pool& one() {
    static Pool pool(1);
    return pool;
  }
  static Pool& two() {
    static Pool pool(2);
    return pool;
  }
  virtual void check(const Use& use, const std::vector<Value>& want, const std::string& who) {
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(admits(use.out[i], want[i]))
          << who << ": output " << i << " is not " << use.out[i].text();
    }
    for (size_t i = 0; i < use.test.expected.size(); ++i) {
      EXPECT_TRUE(close(want[i], use.test.expected[i], use.test.rtol))
          << who << ", output " << i << ": " << text(want[i]) << " instead of "
          << text(use.test.expected[i]);
    }
    if (!use.planned) return;
    check_pointwise(use, want, who);
    check_alias(use, want, who);
  }

 private:
  const Op& op_;
  const size_t index_;
};

// One kernel at one level against the reference.
class KernelTest final : public CaseTest {
 public:
  KernelTest(const Op& op, size_t index, const Op::AnyKernel& kernel, Isa isa)
      : CaseTest(op, index), kernel_(kernel), isa_(isa) {}

 private:
  void check(const Use& use, const std::vector<Value>& want, const std::string& who) override {
    if (!use.planned) return;
    for (Pool* pool : {&one(), &two()}) {
      const Call call{use.in, use.out, isa_, pool->threads()};
      if (!kernel_.fits(use.attrs.get(), call)) continue;
      const std::string body = fmt::format("{}, {} threads", who, pool->threads());
      Result<std::vector<Value>> got = run(use, &kernel_, isa_, *pool);
      ASSERT_TRUE(got) << body << ": " << got.error().text();
      expect_equal(*got, want, body);
      for (size_t i = 0; use.op.inplace && i < use.test.inputs.size(); ++i) {
        if (!use.test.inputs[i].is_tensor() || use.in[i].type != use.out[0].type ||
            use.in[i].type == DType::string || use.in[i].dims() != use.out[0].dims()) {
          continue;
        }
        got = run(use, &kernel_, isa_, *pool, i);
        ASSERT_TRUE(got) << body << ": " << got.error().text();
        expect_equal(*got, want, fmt::format("{}, in place of input {}", body, i));
      }
    }
  }

  const Op::AnyKernel& kernel_;
  const Isa isa_;
};

// Whether the kernel takes the case in any of the ways that KernelTest tries.
bool fits(const Op& op, const Case& test, const Op::AnyKernel& kernel, Isa isa) {
  for (const bool constant : {false, true}) {
    const Result<Use> use = prepare(op, test, constant);
    if (!use || !use->planned) continue;
    for (const int threads : {1, 2}) {
      if (kernel.fits(use->attrs.get(), Call{use->in, use->out, isa, threads})) return true;
    }
  }
  return false;
}

size_t registered_kernel_tests = 0;

void register_cases() {
  const auto add = [](const Op& op, const std::string& name, auto make) {
    const std::string suite =
        op.domain.empty() ? std::string(op.name) : fmt::format("{}/{}", op.domain, op.name);
    testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [make]() -> CaseTest* { return make(); });
  };
  for (const Op* op : all_ops()) {
    const std::vector<Case> cases = cases_of(*op);
    for (size_t i = 0; i < cases.size(); ++i) {
      add(*op, cases[i].name + "/reference", [op, i] { return new CaseTest(*op, i); });
      for (const Op::AnyKernel& kernel : op->kernels) {
        for (const Isa isa : available_isas()) {
          if (!fits(*op, cases[i], kernel, isa)) continue;
          ++registered_kernel_tests;
          add(*op, fmt::format("{}/{}/{}", cases[i].name, kernel.name, isa_name(isa)),
              [op, i, &kernel, isa] { return new KernelTest(*op, i, kernel, isa); });
        }
      }
    }
  }
}

// ONNX's own suite has no test of these.
TEST(Cases, stand_for_what_the_official_suite_leaves_out) {
  for (const std::string_view name : {"CastMap",
                                      "CategoryMapper",
                                      "ConcatFromSequence",
                                      "DictVectorizer",
                                      "FeatureVectorizer",
                                      "GlobalLpPool",
                                      "Imputer",
                                      "LinearClassifier",
                                      "LinearRegressor",
                                      "MaxRoiPool",
                                      "Multinomial",
                                      "Normalizer",
                                      "OneHotEncoder",
                                      "Optional",
                                      "RandomNormal",
                                      "RandomNormalLike",
                                      "RandomUniform",
                                      "SVMClassifier",
                                      "SVMRegressor",
                                      "Scaler",
                                      "SequenceAt",
                                      "SequenceConstruct",
                                      "SequenceErase",
                                      "TreeEnsembleClassifier",
                                      "TreeEnsembleRegressor",
                                      "ZipMap"}) {
    const Op* op = find_op("", name);
    if (op == nullptr) op = find_op("ai.onnx.ml", name);
    ASSERT_NE(op, nullptr) << name;
    const std::vector<Case> cases = cases_of(*op);
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                            [](const Case& test) { return !test.expected.empty(); }))
        << name << " has no case with an expected value";
  }
}

bool lists_sizes(const Fact& fact) {
  return fact.value != nullptr && is_integer(fact.type) && fact.value->count() <= kMostTracked;
}

// An operator that is typed by equality takes inputs of other sizes that are equal where these are,
// and is read as the same.
TEST(Cases, typed_by_equality_hold_for_other_sizes) {
  Pool pool(1);
  size_t compared = 0;
  for (const Op* op : all_ops()) {
    if (!op->by_equality) continue;
    for (const Case& test : cases_of(*op)) {
      std::vector<int64_t> kept{0, 1};  // known integers, which stay what they are
      for (const Value& input : test.inputs) {
        if (!input.is_tensor()) continue;
        const Fact fact = Fact::constant(input.tensor());
        if (!lists_sizes(fact)) continue;
        const auto listed = fact.constant_integers();
        kept.insert(kept.end(), listed->begin(), listed->end());
      }
      const auto sizes_alone = [](Fact& fact) {
        if (!lists_sizes(fact)) fact.value.reset();
      };
      const auto other_sizes = [&](Fact& fact) {
        sizes_alone(fact);
        for (size_t axis = 0; !fact.value && fact.shape && axis < fact.rank(); ++axis) {
          const int64_t size = fact.dim(axis).value();
          if (std::find(kept.begin(), kept.end(), size) == kept.end())
            (*fact.shape)[axis] = size + 100003;
        }
      };
      Result<Use> use = prepare(*op, test, true, sizes_alone);
      if (use && op->by_more != nullptr && op->by_more(use->attrs.get())) continue;
      const Result<Use> other = prepare(*op, test, true, other_sizes);
      ASSERT_EQ(bool(use), bool(other)) << op->name << "." << test.name;
      if (!use || !use->planned) continue;
      for (size_t i = 0; i < use->out.size(); ++i)
        EXPECT_EQ(use->out[i].rank(), other->out[i].rank()) << op->name << "." << test.name;
      const auto expected = run(*use, nullptr, Isa::portable, pool);
      use->attrs = other->attrs;
      const auto found = run(*use, nullptr, Isa::portable, pool);
      ASSERT_EQ(bool(expected), bool(found)) << op->name << "." << test.name;
      for (size_t i = 0; expected && i < expected->size(); ++i)
        EXPECT_TRUE(equal((*found)[i], (*expected)[i])) << op->name << "." << test.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300U);
}

TEST(Cases, are_tests_of_every_kernel_at_every_level) {
  EXPECT_GT(registered_kernel_tests, 1000 * available_isas().size());
}

}  // namespace
}  // namespace sdx

// In place of gtest's own: the operators' cases become tests first.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  sdx::register_cases();
  return RUN_ALL_TESTS();
}
