#include "job.h"

#include <algorithm>
#include <chrono>

#include "check/declared.h"
#include "model/tensor.h"

namespace sdx::fuzz {
namespace {

constexpr size_t kMostElements = 4096;  // of one input

// Numbers at the edges, among small ones.
double draw_real(Random& random) {
  static const double kOdd[] = {0.0,      -0.0,      1.0,     -1.0,    0.5,   1e-45,
                                -1e-39,   3.4e38,    -3.4e38, 65504.0, 448.0, 2147483648.0,
                                INFINITY, -INFINITY, NAN,     -9.3e18, 1e300, 16777217.0};
  if (random.one_in(16)) return random.pick(kOdd);
  return static_cast<double>(random.next() >> 11) / (1LL << 51) - 2;
}

int64_t draw_integer(Random& random) {
  static const int64_t kOdd[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -128, 127,
                                 255,       65535,     1LL << 32, -1,        100,  -100};
  if (random.one_in(32)) return random.pick(kOdd);
  return static_cast<int64_t>(random.below(8)) - 2;
}

Tensor draw_tensor(DType type, const Dims& dims, Random& random) {
  Tensor tensor = Tensor::make(type, dims);
  const DType part = type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type;
  const size_t parts = tensor.count() * (is_complex(type) ? 2 : 1);
  for (size_t i = 0; i < parts; ++i) {
    if (part == DType::string) {
      tensor.data<std::string>()[i] = std::string(random.below(4), char('a' + random.below(3)));
    } else if (is_float(part)) {
      set_f64(part, tensor.raw(), i, draw_real(random));
    } else if (part == DType::boolean) {
      tensor.data<bool>()[i] = random.one_in(2);
    } else {
      set_i64(part, tensor.raw(), i, draw_integer(random));
    }
  }
  return tensor;
}

// Sizes that are open get numbers, the same for the same symbol.
Result<Dims> draw_dims(const Fact& fact, Bindings& bindings, Random& random) {
  Dims dims;
  if (!fact.shape) {
    dims.resize(random.below(4));
    for (int64_t& dim : dims) dim = static_cast<int64_t>(random.below(4));
    return dims;
  }
  for (const Dim& dim : *fact.shape) {
    std::vector<std::string> symbols;
    dim.symbols(symbols);
    for (const std::string& symbol : symbols) {
      bindings.try_emplace(symbol, static_cast<int64_t>(1 + random.below(4)));
    }
    const auto size = dim.eval(bindings);
    if (!size || *size < 0) return fail("SDX-FUZZ", "no size");
    dims.push_back(*size);
  }
  return dims;
}

Result<Value> draw_value(const Fact& fact, Bindings& bindings, Random& random) {
  switch (fact.kind) {
    case Fact::Kind::tensor: {
      SDX_ASSIGN(Dims dims, draw_dims(fact, bindings, random));
      SDX_ASSIGN(const size_t count, element_count(dims));
      if (count > kMostElements) return fail("SDX-FUZZ", "too large");
      const DType type = fact.type == DType::undefined ? DType::f32 : fact.type;
      return Value(draw_tensor(type, dims, random));
    }
    case Fact::Kind::sequence: {
      Sequence items(random.below(4));
      for (Value& item : items) {
        SDX_ASSIGN(item, draw_value(*fact.element, bindings, random));
      }
      return Value::of(std::move(items));
    }
    case Fact::Kind::optional:
      if (random.one_in(3)) return Value();
      return draw_value(*fact.element, bindings, random);
    case Fact::Kind::map: {
      Map items;
      for (size_t i = random.below(4); i > 0; --i) {
        SDX_ASSIGN(Value value, draw_value(*fact.element, bindings, random));
        const int64_t key = static_cast<int64_t>(random.below(8));
        items.emplace(fact.type == DType::string ? MapKey(std::to_string(key)) : MapKey(key),
                      std::move(value));
      }
      return Value::of(std::move(items));
    }
    case Fact::Kind::absent:
      break;
  }
  return Value();
}

// Without the declared types of inner values, subgraphs and outputs: what is left is known.
void forget_claims(model::Graph& graph, bool outermost) {
  graph.value_info.clear();
  for (model::ValueInfo& output : graph.output) output.type.reset();
  if (!outermost) {
    for (model::ValueInfo& input : graph.input) input.type.reset();
  }
  for (model::Node& node : graph.node) {
    for (model::Attribute& attribute : node.attribute) {
      if (attribute.g) forget_claims(*attribute.g, false);
    }
  }
}

run::RunOptions quick(const Job& job) {
  run::RunOptions options;
  options.deadline = job.end;
  options.most_iterations = 10;
  return options;
}

}  // namespace

bool is_limit(const Error& error) {
  static constexpr std::string_view kLimits[] = {"SDX-R0020", "SDX-R0021", "SDX-R0022", "SDX-R0030",
                                                 "SDX-R0031"};
  return std::find(std::begin(kLimits), std::end(kLimits), error.code) != std::end(kLimits);
}

Result<Job> make_job(std::shared_ptr<const model::Model> model, uint64_t seed) {
  if (model == nullptr || !model->graph) return fail("SDX-FUZZ", "no graph");
  Random random(seed);
  Job job;
  job.end = run::RunOptions::Clock::now() + std::chrono::seconds(2);
  job.options.threads = 1;
  job.options.most_nodes = 1000;
  job.options.most_arena_bytes = 1 << 22;
  job.claims = random.one_in(2);
  if (!job.claims) {
    auto changed = std::make_shared<model::Model>(*model);
    forget_claims(*changed->graph, true);
    model = changed;
  }
  // An input that has an initializer is given its value from outside, or the graph folds it.
  std::map<std::string, const model::TensorData*> defaults;
  const bool given = !random.one_in(4);
  for (const model::TensorData& tensor : model->graph->initializer) defaults[tensor.name] = &tensor;
  for (const model::ValueInfo& input : model->graph->input) {
    if (given && defaults.contains(input.name)) job.options.overridden.insert(input.name);
    if (!input.type) continue;
    std::vector<std::string> symbols;
    const Fact fact = check::fact_of(*input.type, input.name);
    for (const Dim& dim : fact.shape.value_or(Shape{})) dim.symbols(symbols);
    for (const std::string& symbol : symbols) {
      job.options.set.try_emplace(symbol, static_cast<int64_t>(1 + random.below(4)));
    }
  }
  // Half of the time sizes stay open until the inputs are there.
  Bindings bindings = job.options.set;
  if (random.one_in(2)) job.options.set.clear();
  SDX_ASSIGN(job.graph, type(model, job.options));
  for (const typed::Outlet source : job.graph.inputs()) {
    const std::string& name = job.graph.node(source.node).use.name;
    if (const auto at = defaults.find(name); at != defaults.end()) {
      SDX_ASSIGN(Tensor tensor, model::to_tensor(*at->second));
      job.inputs.emplace_back(std::move(tensor));
    } else {
      SDX_ASSIGN(Value value, draw_value(job.graph.fact(source), bindings, random));
      job.inputs.push_back(std::move(value));
    }
  }
  return job;
}

Result<std::vector<Value>> outputs_of(const Job& job, const CompileOptions& options) {
  SDX_ASSIGN(const auto compiled, compile(job.graph, options));
  run::Session session(compiled);
  SDX_ASSIGN(std::vector<Value> outputs, session.run(job.inputs, quick(job)));
  const auto again = session.run(job.inputs, quick(job));
  if (!again) {
    if (is_limit(again.error())) return again.error();
    broken("the second run fails: " + again.error().text());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!equal(outputs[i], (*again)[i])) broken("the second run gives other bits");
  }
  return outputs;
}

}  // namespace sdx::fuzz
