#include "plan/grow/alike.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "typed/same_use.h"

namespace sdx::plan {

using typed::Graph;
using typed::Node;

bool same_fact(const Fact& a, const Fact& b) {
  return &a == &b || (a.kind == b.kind && a.type == b.type && a.value == b.value &&
                      a.shape == b.shape && a.symbolic == b.symbolic &&
                      (a.element == b.element ||
                       (a.element && b.element && same_fact(*a.element, *b.element))));
}

namespace {

// Sizes and axes as constants; larger ones are only like themselves.
bool is_small(const Fact& fact) {
  constexpr size_t kMost = 64;
  return fact.value != nullptr && fact.type != DType::string && fact.value->count() <= kMost;
}

bool are_integers(const std::vector<Dim>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_const(); });
}

}  // namespace

size_t hash_of(const Fact& fact) {
  if (!fact.is_concrete() || fact.element) return 0;
  if (fact.symbolic && !are_integers(*fact.symbolic)) return 0;
  if (fact.value != nullptr && !is_small(fact)) return 0;
  size_t hash = 1 + size_t(fact.type);
  const auto add = [&](uint64_t more) { hash = size_t((hash ^ more) * 0x9e3779b97f4a7c15); };
  for (const Dim& dim : *fact.shape) add(uint64_t(dim.value()));
  if (fact.symbolic) {
    for (const Dim& element : *fact.symbolic) add(uint64_t(element.value()));
  }
  if (fact.value != nullptr) {
    const auto* bytes = static_cast<const unsigned char*>(fact.value->raw());
    for (size_t i = 0; i < fact.value->bytes(); ++i) add(bytes[i] + 1U);
  }
  return hash == 0 ? 1 : hash;
}

bool alike_facts(const Fact& a, const Fact& b) {
  if (same_fact(a, b)) return true;
  return is_small(a) && is_small(b) && a.type == b.type && a.shape == b.shape &&
         a.symbolic == b.symbolic &&
         std::memcmp(a.value->raw(), b.value->raw(), a.value->bytes()) == 0;
}

Alike::Alike(const Graph& graph) : facts(1, 0), hashes(1, 0) {
  std::unordered_multimap<size_t, std::pair<const Fact*, uint32_t>> known;
  const auto number = [&](const Fact& fact) {
    const size_t hash = hashes.emplace_back(hash_of(fact));
    if (hash == 0) return all_facts++;
    const auto [first, last] = known.equal_range(hash);
    const auto found = std::find_if(
        first, last, [&](const auto& other) { return alike_facts(*other.second.first, fact); });
    if (found != last) return found->second.second;
    known.emplace(hash, std::pair(&fact, all_facts));
    return all_facts++;
  };
  constexpr size_t kMostTried = 64;  // kinds of an operator, of which each node is one or another
  std::unordered_map<const Op*, std::vector<uint32_t>> first_of_kind;
  first_read.push_back(0);
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    first_wire.push_back(uint32_t(facts.size()));
    for (const Fact& fact : node.outputs) facts.push_back(number(fact));
    for (const typed::Outlet input : node.inputs)
      reads.push_back(input.present() ? first_wire[input.node] + input.slot : 0);
    first_read.push_back(uint32_t(reads.size()));
    kinds.push_back(kNone);
    if (node.kind != Node::Kind::op || !node.op().deterministic || has_bodies(node.use)) continue;
    auto& firsts = first_of_kind[node.use.op];
    const auto like = std::find_if(firsts.begin(), firsts.end(), [&](uint32_t first) {
      return typed::same_use(graph.node(first).use, node.use);
    });
    if (like != firsts.end()) {
      kinds[id] = kinds[*like];
    } else if (firsts.size() < kMostTried) {
      firsts.push_back(id);
      kinds[id] = all_kinds++;
    }
  }
  first_wire.push_back(uint32_t(facts.size()));
  list_readers();
}

void Alike::list_readers() {
  first_reader.assign(facts.size() + 1, 0);
  for (const uint32_t wire : reads) ++first_reader[wire + 1];
  std::partial_sum(first_reader.begin(), first_reader.end(), first_reader.begin());
  readers.resize(reads.size());
  std::vector<uint32_t> next(first_reader.begin(), first_reader.end() - 1);
  for (uint32_t node = 0; node + 1 < first_read.size(); ++node) {
    for (uint32_t r = first_read[node]; r < first_read[node + 1]; ++r)
      readers[next[reads[r]]++] = node;
  }
}

}  // namespace sdx::plan
