#include "api/windowed.h"

#include <algorithm>
#include <map>

#include "model/tensor.h"

namespace sdx {
namespace {

using Names = std::map<std::string, std::string>;

void rename(std::string& name, const Names& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

// Names are unique in a graph and the graphs inside it.
void rename(model::Graph& graph, const Names& names) {
  for (model::Node& node : graph.node) {
    for (std::string& name : node.input) rename(name, names);
    for (std::string& name : node.output) rename(name, names);
    for (model::Attribute& attribute : node.attribute) {
      if (attribute.g) rename(*attribute.g, names);
      for (model::Graph& inside : attribute.graphs) rename(inside, names);
    }
  }
  for (model::ValueInfo& output : graph.output) rename(output.name, names);
  for (model::TensorData& tensor : graph.initializer) rename(tensor.name, names);
}

model::ValueInfo* find(std::vector<model::ValueInfo>& list, const std::string& name) {
  const auto at = std::find_if(list.begin(), list.end(),
                               [&](const model::ValueInfo& info) { return info.name == name; });
  return at == list.end() ? nullptr : &*at;
}

model::Attribute attribute(std::string name, int64_t value) {
  model::Attribute made;
  made.name = std::move(name);
  made.type = model::AttributeType::i;
  made.i = value;
  return made;
}

class Wrapping {
 public:
  Wrapping(const model::Model& model, const Windows& windows, const std::string& open)
      : windows_(windows), open_(open), made_(model), body_(*model.graph) {
    outer_.name = body_.name;
  }

  Result<std::shared_ptr<const model::Model>> run() {
    SDX_TRY(check_opset());
    SDX_TRY(inputs());
    SDX_TRY(outputs());
    body_.value_info.clear();
    rename(body_, names_);
    for (model::ValueInfo& info : body_.input) rename(info.name, names_);
    scan(frames());
    made_.graph = std::move(outer_);
    return std::make_shared<const model::Model>(std::move(made_));
  }

 private:
  Status check_opset() const {
    constexpr int64_t kLeast = 10;  // of Slice with its bounds as inputs
    for (const model::OpsetId& import : made_.opset_import) {
      if (import.domain.empty() && import.version < kLeast)
        return fail("SDX-S0075", "windows need opset {}, the model has {}", kLeast, import.version);
    }
    return ok();
  }

  // Outside: as they are, but for the axis. Inside: the states, then the window; the rest is read
  // from outside.
  Status inputs() {
    model::ValueInfo* x = find(body_.input, windows_.input);
    if (x == nullptr) return no_input(windows_.input);
    outer_.input = body_.input;
    std::erase_if(outer_.input, [&](const model::ValueInfo& info) { return is_weight(info.name); });
    std::vector<model::ValueInfo> inside;
    for (const auto& [output, input] : windows_.states) {
      const model::ValueInfo* state = find(body_.input, input);
      if (state == nullptr) return no_input(input);
      inside.push_back(*state);
      names_[input] = input + ".before";
    }
    inside.push_back(*x);
    names_[windows_.input] = windows_.input + ".window";
    auto* inner = shape_of(inside.back());
    auto* outer = shape_of(*find(outer_.input, windows_.input));
    if (inner == nullptr || windows_.axis >= inner->dim.size())
      return no_axis(windows_.input, windows_.axis);
    model::Dimension& rows = inner->dim[windows_.axis];
    if (rows.number() != nullptr && *rows.number() != windows_.rows)
      return fail("SDX-S0074", "input \"{}\" has {} rows, not windows of {}", windows_.input,
                  *rows.number(), windows_.rows);
    for (size_t i = windows_.axis + 1; i < inner->dim.size(); ++i) {
      if (inner->dim[i].number() == nullptr)
        return fail("SDX-S0074", "the size of axis {} of input \"{}\" is not known", i,
                    windows_.input);
      behind_.push_back(*inner->dim[i].number());
    }
    rows.value = windows_.rows;
    outer->dim[windows_.axis].value = open_;
    body_.input = std::move(inside);
    return ok();
  }
  bool is_weight(const std::string& name) const {
    return std::any_of(body_.initializer.begin(), body_.initializer.end(),
                       [&](const model::TensorData& tensor) { return tensor.name == name; });
  }
  static model::Shape* shape_of(model::ValueInfo& info) {
    auto* tensor = info.type ? std::get_if<model::TensorType>(&info.type->value) : nullptr;
    return tensor != nullptr && tensor->shape ? &*tensor->shape : nullptr;
  }

  // Outside in the model's order. Inside the states first, as they are after the last window; then
  // what each window gives.
  Status outputs() {
    std::vector<model::ValueInfo> inside;
    for (const auto& [output, input] : windows_.states) {
      const model::ValueInfo* state = find(body_.output, output);
      if (state == nullptr) return fail("SDX-S0071", "the model has no output \"{}\"", output);
      inside.push_back(*state);
    }
    for (const model::ValueInfo& output : body_.output) {
      if (find(inside, output.name) == nullptr) inside.push_back(output);
    }
    if (inside.size() == windows_.states.size())
      return fail("SDX-S0074", "all outputs of the model are states");
    outer_.output = body_.output;
    body_.output = std::move(inside);
    for (auto* outputs : {&outer_.output, &body_.output}) {
      for (model::ValueInfo& output : *outputs) {
        auto* type = output.type ? std::get_if<model::TensorType>(&output.type->value) : nullptr;
        if (type != nullptr) type->shape.reset();
        names_[output.name] = output.name + ".of_window";
      }
    }
    for (const model::ValueInfo& output : body_.output) scanned_.push_back(output.name);
    return ok();
  }

  std::string constant(const std::string& name, const std::vector<int64_t>& values) {
    outer_.initializer.push_back(model::from_tensor(
        Tensor::of<int64_t>({int64_t(values.size())}, std::span<const int64_t>(values)), name));
    return name;
  }
  std::string add(const char* op, std::vector<std::string> inputs, const std::string& output,
                  std::vector<model::Attribute> attributes = {}) {
    model::Node& node = outer_.node.emplace_back();
    node.op_type = op;
    node.name = output;
    node.input = std::move(inputs);
    node.output = {output};
    node.attribute = std::move(attributes);
    return output;
  }

  // [..., T, ...] -> [..., windows, rows, ...]
  std::string frames() {
    const std::string x = windows_.input;
    const int64_t parts = windows_.rows / windows_.hop;
    const auto axis = int64_t(windows_.axis);
    std::vector<int64_t> shape(windows_.axis, 0);
    shape.insert(shape.end(), {-1, windows_.hop});
    shape.insert(shape.end(), behind_.begin(), behind_.end());
    std::string hops = add("Reshape", {x, constant(x + ".shape", shape)}, x + ".hops");
    if (parts == 1) return hops;
    std::vector<std::string> pieces;
    const std::string along = constant(x + ".along", {axis});
    for (int64_t i = 0; i < parts; ++i) {
      const std::string name = fmt::format("{}.hops.{}", x, i);
      const int64_t after = i + 1 - parts;
      pieces.push_back(add("Slice",
                           {hops, constant(name + ".first", {i}),
                            constant(name + ".last", {after == 0 ? INT64_MAX : after}), along},
                           name));
    }
    return add("Concat", std::move(pieces), x + ".windows", {attribute("axis", axis + 1)});
  }

  void scan(const std::string& frames) {
    model::Node& node = outer_.node.emplace_back();
    node.op_type = "Scan";
    node.name = "windows";
    for (const auto& [output, input] : windows_.states) node.input.push_back(input);
    node.input.push_back(frames);
    node.output = scanned_;
    node.attribute.push_back(attribute("num_scan_inputs", 1));
    model::Attribute& axes = node.attribute.emplace_back();
    axes.name = "scan_input_axes";
    axes.type = model::AttributeType::ints;
    axes.ints = {int64_t(windows_.axis)};
    model::Attribute& body = node.attribute.emplace_back();
    body.name = "body";
    body.type = model::AttributeType::g;
    body.g = std::move(body_);
  }

  const Windows& windows_;
  const std::string& open_;
  model::Model made_;
  model::Graph body_, outer_;
  Names names_;                       // of the model, inside
  std::vector<std::string> scanned_;  // what Scan gives
  std::vector<int64_t> behind_;       // sizes of the input behind the axis
};

}  // namespace

Result<std::shared_ptr<const model::Model>> windowed(const model::Model& model,
                                                     const Windows& windows,
                                                     const std::string& open) {
  if (!model.graph) return no_graph();
  if (windows.rows < 1 || windows.hop < 1 || windows.rows % windows.hop != 0)
    return fail("SDX-S0074", "windows of {} rows cannot lie {} apart: expected a divisor",
                windows.rows, windows.hop);
  return Wrapping(model, windows, open).run();
}

}  // namespace sdx
