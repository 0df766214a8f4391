// Use: one node on its way from one version of its operator to another.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "fact/fact.h"
#include "infer/facts_by_name.h"
#include "model/model.h"
#include "op/op.h"

namespace sdx::opsets {

// What all nodes of a model share on the way.
struct Journey {
  std::string domain;
  int target = 0;            // the version of the set that is wanted
  infer::FactsByName facts;  // of the model's values, and of constants made on the way
  std::set<std::string, std::less<>> names;     // that are taken
  std::set<std::string, std::less<>> released;  // values that a node no longer reads
  std::string fresh(std::string_view hint);
};

class Use {
 public:
  Use(Journey& journey, model::Node node, const Op& op, const Signature& now)
      : node(std::move(node)), op(&op), now(&now), journey_(journey) {}

  model::Node node;      // as written now
  const Op* op;          // its operator
  const Signature* now;  // and the version of it
  // Nodes that stand before and behind it, in the wanted version.
  std::vector<model::Node> before, after;

  int target() const { return journey_.target; }

  // --- inputs
  bool has(size_t input) const { return input < node.input.size() && !node.input[input].empty(); }
  bool wants(size_t output) const {
    return output < node.output.size() && !node.output[output].empty();
  }
  const Fact& fact(size_t input) const;  // one that knows nothing if nothing is known
  const Fact& output_fact(size_t output) const;
  std::optional<size_t> rank(size_t input) const;
  // Its value, if it is known before anything runs.
  const Tensor* constant(size_t input) const;
  std::optional<std::vector<int64_t>> integers(size_t input) const;
  void set_input(size_t input, std::string name);
  void drop_input(size_t input);  // from the end, an empty place stays otherwise

  // --- attributes; of those that are not given the version's default
  const model::Attribute* given(std::string_view name) const { return node.find(name); }
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  std::string text(std::string_view name) const;
  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);

  // --- nodes that help
  std::string make(Tensor value, std::string_view hint);  // a constant
  // One output, by the newest version of the operator: it is written in the wanted one here.
  Result<std::string> make(std::string_view op, std::vector<std::string> inputs, AttrMap attributes,
                           std::string_view hint);
  // Its output is not yet what the graph knows by that name: `op` makes that of it. `rest` are the
  // inputs of `op` behind it.
  Status finish(size_t output, std::string_view op, std::vector<std::string> rest,
                AttrMap attributes);
  std::string fresh(std::string_view hint) { return journey_.fresh(hint); }

  // Goes on as another operator, at a version of that.
  Status become(std::string_view name, int version);

  // The wanted version cannot say it.
  template <class... Args>
  Error refuse(fmt::format_string<Args...> why, Args&&... args) const {
    return refused(fmt::format(why, std::forward<Args>(args)...));
  }

 private:
  Error refused(const std::string& why) const;
  Journey& journey_;
};

Tensor list_of(const std::vector<int64_t>& values);  // of rank 1
model::Attribute attribute_of(std::string_view name, const AttrValue& value);
// Whether an attribute says what this value says.
bool says(const model::Attribute& attribute, const AttrValue& value);

// Walks to the wanted version.
Status walk(Use& use);
// One version further, as far as the signatures tell.
Status by_signatures(Use& use, const Signature& to);
// What differs between two versions and signatures alone do not explain; none for most.
std::vector<std::string> unexplained(const Signature& from, const Signature& to);

}  // namespace sdx::opsets
