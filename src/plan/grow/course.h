// Course: plans of one base that differ in numbers alone.
//
// From one token to the next the same nodes change, and stay what they were read as. What is to do
// for a new size is known from the last time: the kinds of wires that change must have room where
// they lie, kernels are asked once for all steps that do the same, and numbers are written where
// they stand. All that is kept here in few bytes: a plan's nodes lie apart, and have left the
// caches when the next token comes.
#pragma once

#include "plan/grow/formulas.h"
#include "plan/plan.h"

namespace sdx::plan {

struct Base;
class Branches;
class Resizing;

class Course {
 public:
  // Of a plan that was made from the base so.
  Course(const Base& base, const Resizing& sizes, const Plan& plan);
  // False: more than numbers changes, or may.
  bool is_usable() const { return usable_; }

  // Whether plans for these sizes are on the course if they have room.
  bool leads_to(const Base& base, const Formulas::Values& values) const;
  // Makes a plan that is on the course that of sizes to which it leads. False: it has no room, or a
  // kernel does not do, and the plan is what it was.
  bool follow(const Base& base, const Formulas::Values& values, size_t most_bytes, Pool& pool,
              Plan& plan);
  // Puts on it a plan that was made otherwise, for such sizes.
  static void join(std::shared_ptr<Course> course, const Base& base, Formulas::Values values,
                   Plan& plan);

  // Whether the node is another one than in the base's plan, and by which of the plan's numbers its
  // sizes then are.
  bool changes(uint32_t node) const { return changes_[node]; }
  std::span<const uint32_t> sizes_of(typed::Outlet wire) const;

 private:
  // What holds of a formula that is no integer: whether it is not as for the base, and what is told
  // apart of it.
  struct Number {
    uint32_t formula;
    bool differs;
    int64_t apart;
  };
  // Two formulas that a node reads, of which it may tell whether they are equal.
  struct Pair {
    uint32_t a, b;
    bool equal;
    auto operator<=>(const Pair&) const = default;
  };
  // Wires of one type and the same formulas.
  struct Kind {
    DType type;
    uint32_t first, last;    // in numbers_
    size_t room = SIZE_MAX;  // the least that one of them has
    size_t outputs = 0;      // how many of the graph's outputs are of it
  };
  // A wire in the memory of an output, which grows too.
  struct Inside {
    uint32_t kind, output;
    size_t offset;
    auto operator<=>(const Inside&) const = default;
  };
  // Steps that do the same, and what they are asked: a fact for each wire that one of them reads or
  // gives. Of a view, `at` tells where its outputs begin in its input; of other steps, where those
  // inputs begin in the result that were computed there.
  struct Probe {
    const Step* step;  // the base's
    const Op* op;
    std::shared_ptr<const void> resolved;
    uint32_t set;
    bool is_view;
    Facts in, out;
    std::vector<std::pair<uint32_t, size_t>> at;
    size_t most_scratch = SIZE_MAX;
    std::vector<uint32_t> steps;  // the plan's
    Choice now = {};
  };

  void add_numbers(const Base& base, const Formulas::Values& values, const Plan& plan);
  uint32_t kind_of(const Base& base, uint32_t wire, DType type);
  void add_step(const Base& base, uint32_t s, const Plan& plan);
  void add_room(const Base& base, typed::Outlet wire, const Plan& plan);
  void add_in_place(const Base& base, const typed::Node& node, uint32_t id, const Plan& plan);
  bool has_room(const Base& base, const Formulas::Values& values, size_t most_bytes);
  void fetch_all(const Plan& plan) const;
  static bool ask(Probe& probe, const Options& options, Pool& pool);

  bool usable_ = true;
  std::vector<bool> changes_;  // by node
  std::vector<Number> open_;
  std::vector<Pair> pairs_;
  std::vector<const Branches*> branches_;  // of nodes that are as in the base
  std::vector<uint32_t> numbers_;
  std::vector<Kind> kinds_;
  std::map<uint32_t, uint32_t> kinds_by_formulas_;
  std::map<typed::Outlet, uint32_t> kinds_by_wire_;
  std::vector<size_t> bytes_;  // by kind, of the sizes at hand
  std::vector<Inside> inside_;
  std::vector<std::pair<uint32_t, uint32_t>> same_;  // kinds whose sizes must be the same
  size_t other_outputs_ = 0;                         // bytes of those that stay as they are
  std::vector<Probe> probes_;
  Written asked_;  // where sizes stand in the probes
};

}  // namespace sdx::plan
