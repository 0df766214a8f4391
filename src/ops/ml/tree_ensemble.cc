// TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor: how files describe trees.
#include <set>

#include "ops/ml/ensemble.h"

namespace sdx::ops {
namespace {

constexpr Version kEnsembleHistory[] = {
    {5,
     "(X: T) -> (Y: T) {aggregate_function: int = 1, leaf_targetids!: ints, leaf_weights!: "
     "tensor, membership_values: tensor, n_targets: int, nodes_falseleafs!: ints, "
     "nodes_falsenodeids!: ints, nodes_featureids!: ints, nodes_hitrates: tensor, "
     "nodes_missing_value_tracks_true: ints, nodes_modes!: tensor, nodes_splits!: tensor, "
     "nodes_trueleafs!: ints, nodes_truenodeids!: ints, post_transform: int = 0, tree_roots!: "
     "ints} T in floats"},
};
constexpr Version kClassifierHistory[] = {
    {1,
     "(X: T1) -> (Y: T2, Z: f32) {base_values: floats, class_ids: ints, class_nodeids: ints, "
     "class_treeids: ints, class_weights: floats, classlabels_int64s: ints, classlabels_strings: "
     "strings, nodes_falsenodeids: ints, nodes_featureids: ints, nodes_hitrates: floats, "
     "nodes_missing_value_tracks_true: ints, nodes_modes: strings, nodes_nodeids: ints, "
     "nodes_treeids: ints, nodes_truenodeids: ints, nodes_values: floats, post_transform: string "
     "= \"NONE\"} T1 in f32 f64 i32 i64 T2 in i64 string"},
    {3,
     "{base_values_as_tensor: tensor, class_weights_as_tensor: tensor, nodes_hitrates_as_tensor: "
     "tensor, nodes_values_as_tensor: tensor}"},
    {5, "deprecated"},
};
constexpr Version kRegressorHistory[] = {
    {1,
     "(X: T) -> (Y: f32) {aggregate_function: string = \"SUM\", base_values: floats, n_targets: "
     "int, nodes_falsenodeids: ints, nodes_featureids: ints, nodes_hitrates: floats, "
     "nodes_missing_value_tracks_true: ints, nodes_modes: strings, nodes_nodeids: ints, "
     "nodes_treeids: ints, nodes_truenodeids: ints, nodes_values: floats, post_transform: string "
     "= \"NONE\", target_ids: ints, target_nodeids: ints, target_treeids: ints, target_weights: "
     "floats} T in f32 f64 i32 i64"},
    {3,
     "{base_values_as_tensor: tensor, nodes_hitrates_as_tensor: tensor, nodes_values_as_tensor: "
     "tensor, target_weights_as_tensor: tensor}"},
    {5, "deprecated"},
};

using Ints = std::vector<int64_t>;

// A list of numbers, as floats or, since version 3, as a tensor.
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result(tensor.count());
  for (size_t i = 0; i < result.size(); ++i) result[i] = get_f64(tensor.type(), tensor.raw(), i);
  return result;
}
std::vector<double> numbers(const Node& node, const std::string& attr) {
  if (node.has(attr + "_as_tensor")) return numbers(node.get<Tensor>(attr + "_as_tensor"));
  const std::vector<float> list = floats(node, attr);
  return {list.begin(), list.end()};
}

Status same_length(std::string_view name, size_t found, size_t expected) {
  if (found == expected) return ok();
  return fail("SDX-T0673", "{} has {} entries, expected {}", name, found, expected);
}

// Whether the features, or the numbers they are compared with, need more than a float.
bool wide(const Node& node, const Facts& in, std::initializer_list<std::string_view> tensors) {
  if (in[0].type != DType::f32 && in[0].type != DType::f16) return true;
  return std::any_of(tensors.begin(), tensors.end(), [&](std::string_view name) {
    return node.has(name) && node.get<Tensor>(name).type() == DType::f64;
  });
}

Status check_targets(int64_t targets) {
  if (targets >= 1 && targets <= 1 << 24) return ok();
  return fail("SDX-T0674", "there are {} targets", targets);
}
Status check_features(const Ensemble& a, const Facts& in) {
  const auto width = row_width(in[0]);
  if (!width || int64_t(a.features()) <= *width) return ok();
  return fail("SDX-T0675", "a tree reads feature {}, rows have {}", a.features() - 1, *width);
}

// Versions 1 and 3: nodes are named by tree and number, and leaves are nodes.

struct Name {
  int64_t tree, node;
  bool operator<(const Name& o) const { return std::pair(tree, node) < std::pair(o.tree, o.node); }
};

class Names {
 public:
  static Result<Names> make(const Ints& trees, const Ints& nodes) {
    Names names;
    for (size_t i = 0; i < trees.size(); ++i) names.sorted_.push_back({{trees[i], nodes[i]}, i});
    std::sort(names.sorted_.begin(), names.sorted_.end());
    for (size_t i = 1; i < names.sorted_.size(); ++i) {
      if (!(names.sorted_[i - 1].first < names.sorted_[i].first)) {
        return fail("SDX-T0676", "tree {} has two nodes {}", names.sorted_[i].first.tree,
                    names.sorted_[i].first.node);
      }
    }
    return names;
  }
  Result<size_t> find(int64_t tree, int64_t node) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), Name{tree, node},
                                     [](const auto& a, const Name& b) { return a.first < b; });
    if (at == sorted_.end() || Name{tree, node} < at->first) {
      return fail("SDX-T0676", "tree {} has no node {}", tree, node);
    }
    return at->second;
  }

 private:
  std::vector<std::pair<Name, size_t>> sorted_;
};

Result<std::optional<Branch>> branch_of(std::string_view mode) {
  constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (mode == "LEAF") return std::optional<Branch>();
  for (size_t i = 0; i < std::size(kModes); ++i) {
    if (mode == kModes[i]) return std::optional(Branch(i));
  }
  return fail("SDX-T0677", "\"{}\" is no mode of a node", mode);
}

// `votes` is the prefix of the leaves' lists: "class" or "target".
template <class T>
Result<Forest<T>> read_forest(const Node& node, const std::string& votes, size_t targets) {
  const Ints trees = node.ints_or_empty("nodes_treeids"), ids = node.ints_or_empty("nodes_nodeids");
  const Ints features = node.ints_or_empty("nodes_featureids");
  const Ints yes = node.ints_or_empty("nodes_truenodeids");
  const Ints no = node.ints_or_empty("nodes_falsenodeids");
  const Ints missing = node.ints_or_empty("nodes_missing_value_tracks_true");
  const std::vector<double> splits = numbers(node, "nodes_values");
  const std::vector<std::string> modes = strings(node, "nodes_modes");
  const size_t count = trees.size();
  SDX_TRY(same_length("nodes_nodeids", ids.size(), count));
  SDX_TRY(same_length("nodes_featureids", features.size(), count));
  SDX_TRY(same_length("nodes_truenodeids", yes.size(), count));
  SDX_TRY(same_length("nodes_falsenodeids", no.size(), count));
  SDX_TRY(same_length("nodes_values", splits.size(), count));
  SDX_TRY(same_length("nodes_modes", modes.size(), count));
  if (!missing.empty()) {
    SDX_TRY(same_length("nodes_missing_value_tracks_true", missing.size(), count));
  }
  SDX_ASSIGN(const Names names, Names::make(trees, ids));

  std::vector<NodeSource<T>> nodes;
  std::vector<int64_t> number(count);  // of the node, or ~leaf
  size_t leaves = 0;
  for (size_t i = 0; i < count; ++i) {
    SDX_ASSIGN(const std::optional<Branch> mode, branch_of(modes[i]));
    number[i] = mode ? int64_t(nodes.size()) : ~int64_t(leaves++);
    if (!mode) continue;
    SDX_ASSIGN(const size_t first, names.find(trees[i], yes[i]));
    SDX_ASSIGN(const size_t second, names.find(trees[i], no[i]));
    nodes.push_back({*mode, features[i], T(splits[i]), !missing.empty() && missing[i] == 1,
                     int64_t(first), int64_t(second)});
  }
  for (NodeSource<T>& source : nodes) {
    source.yes = number[size_t(source.yes)];
    source.no = number[size_t(source.no)];
  }
  // A tree starts at the first of its nodes.
  std::vector<int64_t> roots;
  std::set<int64_t> met;
  for (size_t i = 0; i < count; ++i) {
    if (met.insert(trees[i]).second) roots.push_back(number[i]);
  }

  const Ints vote_trees = node.ints_or_empty(votes + "_treeids");
  const Ints vote_nodes = node.ints_or_empty(votes + "_nodeids");
  const Ints vote_targets = node.ints_or_empty(votes + "_ids");
  const std::vector<double> weights = numbers(node, votes + "_weights");
  SDX_TRY(same_length(votes + "_nodeids", vote_nodes.size(), vote_trees.size()));
  SDX_TRY(same_length(votes + "_ids", vote_targets.size(), vote_trees.size()));
  SDX_TRY(same_length(votes + "_weights", weights.size(), vote_trees.size()));
  std::vector<std::vector<Vote<T>>> leaf_votes(leaves);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (vote_targets[i] < 0 || vote_targets[i] >= int64_t(targets)) {
      return fail("SDX-T0674", "{}_ids holds {}, there are {}", votes, vote_targets[i], targets);
    }
    SDX_ASSIGN(const size_t at, names.find(vote_trees[i], vote_nodes[i]));
    // Votes of inner nodes are never counted.
    if (number[at] >= 0) continue;
    leaf_votes[size_t(~number[at])].push_back({uint32_t(vote_targets[i]), T(weights[i])});
  }
  return Forest<T>::make(nodes, leaf_votes, roots);
}

Status read_common(const Node& node, const Facts& in, const std::string& votes, Ensemble& a) {
  SDX_TRY(check_matrix(in[0]));
  SDX_TRY(check_targets(int64_t(a.targets)));
  SDX_ASSIGN(a.transform, transform_of(node.s("post_transform")));
  if (wide(node, in, {"nodes_values_as_tensor"})) {
    SDX_ASSIGN(a.forest, read_forest<double>(node, votes, a.targets));
  } else {
    SDX_ASSIGN(a.forest, read_forest<float>(node, votes, a.targets));
  }
  a.base = numbers(node, "base_values");
  return check_features(a, in);
}

Result<Ensemble> read_classifier(const Node& node, const Facts& in) {
  Ensemble a;
  SDX_ASSIGN(a.labels, read_labels(node, "classlabels_int64s", "classlabels_strings"));
  a.targets = a.labels.count();
  SDX_TRY(read_common(node, in, "class", a));
  const Ints ids = node.ints_or_empty("class_ids");
  a.two_from_one = a.targets == 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
  const std::vector<double> weights = numbers(node, "class_weights");
  a.all_positive = std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  const bool one_base = a.two_from_one && a.base.size() == 1;
  if (!a.base.empty() && !one_base) {
    SDX_TRY(same_length("base_values", a.base.size(), a.targets));
  }
  return a;
}

Result<Aggregate> aggregate_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return Aggregate(i);
  }
  return fail("SDX-T0677", "aggregate_function is \"{}\"", name);
}

Result<Ensemble> read_regressor(const Node& node, const Facts& in) {
  Ensemble a;
  SDX_TRY(check_targets(node.i_or("n_targets", 1)));
  a.targets = size_t(node.i_or("n_targets", 1));
  SDX_TRY(read_common(node, in, "target", a));
  SDX_ASSIGN(a.aggregate, aggregate_of(node.s("aggregate_function")));
  if (!a.base.empty()) {
    SDX_TRY(same_length("base_values", a.base.size(), a.targets));
  }
  return a;
}

// Version 5: leaves have lists of their own, and nodes name each other by position.

// Sets of members, each ended by NaN, in the order of the nodes that test them.
template <class T>
Status read_members(const Node& node, std::vector<NodeSource<T>>& nodes) {
  std::vector<double> values;
  if (node.has("membership_values")) values = numbers(node.get<Tensor>("membership_values"));
  size_t at = 0;
  for (NodeSource<T>& source : nodes) {
    if (source.mode != Branch::member) continue;
    while (at < values.size() && values[at] == values[at])
      source.members.push_back(T(values[at++]));
    if (at == values.size()) {
      return fail("SDX-T0678", "membership_values ends before the last set is ended by NaN");
    }
    ++at;
  }
  if (at == values.size()) return ok();
  return fail("SDX-T0678", "membership_values holds more sets than nodes test");
}

template <class T>
Result<Forest<T>> read_forest(const Node& node, size_t targets) {
  const Ints &features = node.ints("nodes_featureids"), &yes = node.ints("nodes_truenodeids");
  const Ints &no = node.ints("nodes_falsenodeids"), &yes_leaf = node.ints("nodes_trueleafs");
  const Ints &no_leaf = node.ints("nodes_falseleafs"), &leaf_targets = node.ints("leaf_targetids");
  const Ints missing = node.ints_or_empty("nodes_missing_value_tracks_true");
  const std::vector<double> splits = numbers(node.get<Tensor>("nodes_splits"));
  const std::vector<double> modes = numbers(node.get<Tensor>("nodes_modes"));
  const std::vector<double> weights = numbers(node.get<Tensor>("leaf_weights"));
  const size_t count = features.size();
  SDX_TRY(same_length("nodes_truenodeids", yes.size(), count));
  SDX_TRY(same_length("nodes_falsenodeids", no.size(), count));
  SDX_TRY(same_length("nodes_trueleafs", yes_leaf.size(), count));
  SDX_TRY(same_length("nodes_falseleafs", no_leaf.size(), count));
  SDX_TRY(same_length("nodes_splits", splits.size(), count));
  SDX_TRY(same_length("nodes_modes", modes.size(), count));
  SDX_TRY(same_length("leaf_weights", weights.size(), leaf_targets.size()));
  if (!missing.empty()) {
    SDX_TRY(same_length("nodes_missing_value_tracks_true", missing.size(), count));
  }
  std::vector<NodeSource<T>> nodes;
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) {
      return fail("SDX-T0677", "{} is no mode of a node", modes[i]);
    }
    if (yes[i] < 0 || no[i] < 0) return fail("SDX-T0670", "node {} has a negative child", i);
    nodes.push_back({Branch(int(modes[i])), features[i], T(splits[i]),
                     !missing.empty() && missing[i] != 0, yes_leaf[i] != 0 ? ~yes[i] : yes[i],
                     no_leaf[i] != 0 ? ~no[i] : no[i]});
  }
  SDX_TRY(read_members(node, nodes));
  std::vector<std::vector<Vote<T>>> leaves;
  for (size_t i = 0; i < leaf_targets.size(); ++i) {
    if (leaf_targets[i] < 0 || leaf_targets[i] >= int64_t(targets)) {
      return fail("SDX-T0674", "leaf_targetids holds {}, there are {}", leaf_targets[i], targets);
    }
    leaves.push_back({{uint32_t(leaf_targets[i]), T(weights[i])}});
  }
  for (const int64_t root : node.ints("tree_roots")) {
    if (root < 0) return fail("SDX-T0670", "tree_roots holds {}", root);
  }
  return Forest<T>::make(nodes, leaves, node.ints("tree_roots"));
}

Result<Ensemble> read_ensemble(const Node& node, const Facts& in) {
  Ensemble a;
  SDX_TRY(check_matrix(in[0]));
  SDX_TRY(check_targets(node.i_or("n_targets", 1)));
  a.targets = size_t(node.i_or("n_targets", 1));
  const int64_t aggregate = node.i("aggregate_function"), transform = node.i("post_transform");
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4) {
    return fail("SDX-T0677", "aggregate_function {} or post_transform {} is none of ONNX's",
                aggregate, transform);
  }
  a.aggregate = Aggregate(aggregate);
  a.transform = Transform(transform);
  if (wide(node, in, {"nodes_splits", "leaf_weights"})) {
    SDX_ASSIGN(a.forest, read_forest<double>(node, a.targets));
  } else {
    SDX_ASSIGN(a.forest, read_forest<float>(node, a.targets));
  }
  SDX_TRY(check_features(a, in));
  return a;
}

Dim rows_of(const Facts& in) { return in[0].has_rank() ? row_count(in[0]) : Dim::unknown(); }

Result<Facts> infer_ensemble(const Ensemble& a, const Facts& in) {
  return Facts{Fact::tensor(in[0].type, {rows_of(in), Dim(int64_t(a.targets))})};
}
Result<Facts> infer_regressor(const Ensemble& a, const Facts& in) {
  return Facts{Fact::tensor(DType::f32, {rows_of(in), Dim(int64_t(a.targets))})};
}
Result<Facts> infer_classifier(const Ensemble& a, const Facts& in) {
  return Facts{Fact::tensor(a.labels.type(), {rows_of(in)}),
               Fact::tensor(DType::f32, {rows_of(in), Dim(int64_t(a.targets))})};
}

using F = std::vector<float>;
using S = std::vector<std::string>;

// Two stumps: tree 0 is x0 <= 1 ? 1 : 2, tree 1 is x1 > 0 ? 10 : 20, and the leaves' weights.
AttrMap stumps(const std::string& votes, Ints targets) {
  return {{"nodes_treeids", Ints{0, 0, 0, 1, 1, 1}},
          {"nodes_nodeids", Ints{0, 1, 2, 0, 1, 2}},
          {"nodes_featureids", Ints{0, 0, 0, 1, 0, 0}},
          {"nodes_truenodeids", Ints{1, 0, 0, 1, 0, 0}},
          {"nodes_falsenodeids", Ints{2, 0, 0, 2, 0, 0}},
          {"nodes_values", F{1, 0, 0, 0, 0, 0}},
          {"nodes_modes", S{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"}},
          {votes + "_treeids", Ints{0, 0, 1, 1}},
          {votes + "_nodeids", Ints{1, 2, 1, 2}},
          {votes + "_ids", std::move(targets)},
          {votes + "_weights", F{1, 2, 10, 20}}};
}

Tensor sample() {
  std::vector<float> x;
  for (size_t i = 0; i < 9; ++i) x.insert(x.end(), {0, 1, 2, -1, NAN, 1});
  x.insert(x.end(), {1, NAN});
  return Tensor::of<float>({28, 2}, std::span<const float>(x));
}

std::vector<Case> regressor_cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, F expected) {
    AttrMap attrs = stumps("target", {0, 0, 0, 0});
    attrs["aggregate_function"] = name;
    attrs["base_values"] = F{100};
    cases.push_back({.name = name,
                     .opset = 1,
                     .attrs = std::move(attrs),
                     .inputs = {Tensor::of<float>({3, 2}, {0, 1, 2, -1, NAN, 1})},
                     .expected = {Tensor::of<float>({3, 1}, std::span<const float>(expected))}});
  };
  add("SUM", {111, 122, 112});
  add("AVERAGE", {105.5f, 111, 106});
  add("MIN", {101, 102, 102});
  add("MAX", {110, 120, 110});
  AttrMap missing = stumps("target", {0, 1, 0, 1});
  missing["nodes_missing_value_tracks_true"] = Ints{1, 0, 0, 1, 0, 0};
  missing["n_targets"] = int64_t{2};
  cases.push_back({.name = "nan_takes_the_branch_it_is_told_to",
                   .opset = 1,
                   .attrs = std::move(missing),
                   .inputs = {Tensor::of<double>({1, 2}, {NAN, NAN})},
                   .expected = {Tensor::of<float>({1, 2}, {11, 0})}});
  AttrMap integers = stumps("target", {0, 0, 0, 0});
  integers["nodes_modes"] = S{"BRANCH_LT", "LEAF", "LEAF", "BRANCH_NEQ", "LEAF", "LEAF"};
  cases.push_back({.name = "of_integers",
                   .opset = 3,
                   .attrs = std::move(integers),
                   .inputs = {Tensor::of<int64_t>({2, 2}, {1, 0, 0, 5})},
                   .expected = {Tensor::of<float>({2, 1}, {22, 11})}});
  AttrMap plain = stumps("target", {0, 0, 0, 0});
  plain["nodes_modes"] = S{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"};
  cases.push_back(
      {.name = "many_rows", .opset = 1, .attrs = std::move(plain), .inputs = {sample()}});
  return cases;
}

std::vector<Case> classifier_cases() {
  AttrMap three = stumps("class", {0, 1, 2, 1});
  three["classlabels_strings"] = S{"a", "b", "c"};
  AttrMap two = stumps("class", {0, 0, 0, 0});
  two["classlabels_int64s"] = Ints{5, 6};
  two["class_weights"] = F{-.5f, .25f, 0, .5f};
  two["base_values"] = F{.25f};
  AttrMap sure = two;
  sure["post_transform"] = std::string("LOGISTIC");
  AttrMap positive = stumps("class", {0, 0, 0, 0});
  positive["classlabels_int64s"] = Ints{5, 6};
  positive["class_weights"] = F{.125f, .25f, .25f, .5f};
  const Tensor x = Tensor::of<float>({2, 2}, {0, 1, 2, -1});
  return {
      {.name = "three_classes",
       .opset = 1,
       .attrs = three,
       .inputs = {x},
       .expected = {Tensor::of<std::string>({2}, {"c", "b"}),
                    Tensor::of<float>({2, 3}, {1, 0, 10, 0, 22, 0})},
       .outputs = 2},
      {.name = "two_classes_with_opposite_scores",
       .opset = 1,
       .attrs = two,
       .inputs = {x},
       .expected = {Tensor::of<int64_t>({2}, {5, 6}),
                    Tensor::of<float>({2, 2}, {.25f, -.25f, -1, 1})},
       .outputs = 2},
      {.name = "two_classes_with_logistic_scores",
       .opset = 3,
       .attrs = sure,
       .inputs = {x},
       .expected = {Tensor::of<int64_t>({2}, {5, 6}),
                    Tensor::of<float>({2, 2}, {.56217651f, .43782349f, .26894142f, .73105858f})},
       .rtol = 1e-6,
       .outputs = 2},
      {.name = "positive_weights_are_probabilities",
       .opset = 1,
       .attrs = positive,
       .inputs = {x},
       .expected = {Tensor::of<int64_t>({2}, {5, 6}),
                    Tensor::of<float>({2, 2}, {.625f, .375f, .25f, .75f})},
       .outputs = 2},
      {.name = "many_rows", .opset = 1, .attrs = three, .inputs = {sample()}, .outputs = 2}};
}

std::vector<Case> ensemble_cases() {
  // x0 in {1, 3} ? (x1 >= .5 ? 1 : 2 to target 0) : 4 to target 1
  const AttrMap attrs{{"n_targets", int64_t{2}},
                      {"tree_roots", Ints{0}},
                      {"nodes_modes", Tensor::of<uint8_t>({2}, {6, 2})},
                      {"nodes_splits", Tensor::of<float>({2}, {0, .5f})},
                      {"membership_values", Tensor::of<float>({3}, {3, 1, NAN})},
                      {"nodes_featureids", Ints{0, 1}},
                      {"nodes_trueleafs", Ints{0, 1}},
                      {"nodes_truenodeids", Ints{1, 0}},
                      {"nodes_falseleafs", Ints{1, 1}},
                      {"nodes_falsenodeids", Ints{2, 1}},
                      {"leaf_targetids", Ints{0, 0, 1}},
                      {"leaf_weights", Tensor::of<float>({3}, {1, 2, 4})}};
  return {{.name = "sets_of_members",
           .opset = 5,
           .attrs = attrs,
           .inputs = {Tensor::of<float>({5, 2}, {1, 1, 3, 0, 2, 1, NAN, 1, 3, NAN})},
           .expected = {Tensor::of<float>({5, 2}, {1, 0, 2, 0, 0, 4, 0, 4, 2, 0})}},
          {.name = "of_doubles",
           .opset = 5,
           .attrs = attrs,
           .inputs = {Tensor::of<double>({1, 2}, {3, .5})},
           .expected = {Tensor::of<double>({1, 2}, {1, 0})}},
          {.name = "of_halves",
           .opset = 5,
           .attrs = attrs,
           .inputs = {Tensor::of<F16>({1, 2}, {F16::from(3), F16::from(0)})},
           .expected = {Tensor::of<F16>({1, 2}, {F16::from(2), F16::from(0)})}}};
}

constexpr Kernel<Ensemble> kKernels[] = {{"blocks", blocks_fit, run_blocks}};

constexpr OpOf<Ensemble> kTreeEnsemble{
    .name = "TreeEnsemble",
    .doc = "The votes of decision trees for each target.",
    .history = kEnsembleHistory,
    .read = read_ensemble,
    .infer = infer_ensemble,
    .reference = run_ensemble,
    .kernels = kKernels,
    .cases = ensemble_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Ensemble> kTreeEnsembleClassifier{
    .name = "TreeEnsembleClassifier",
    .doc = "The class that decision trees vote for, and the votes.",
    .history = kClassifierHistory,
    .read = read_classifier,
    .infer = infer_classifier,
    .reference = run_ensemble,
    .kernels = kKernels,
    .cases = classifier_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Ensemble> kTreeEnsembleRegressor{
    .name = "TreeEnsembleRegressor",
    .doc = "The sum, mean, least or largest of the values that decision trees give.",
    .history = kRegressorHistory,
    .read = read_regressor,
    .infer = infer_regressor,
    .reference = run_ensemble,
    .kernels = kKernels,
    .cases = regressor_cases,
    .domain = kMlDomain,
};

}  // namespace

extern const Op tree_ensemble = erase<kTreeEnsemble>();
extern const Op tree_ensemble_classifier = erase<kTreeEnsembleClassifier>();
extern const Op tree_ensemble_regressor = erase<kTreeEnsembleRegressor>();

}  // namespace sdx::ops
