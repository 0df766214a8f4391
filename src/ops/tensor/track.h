// Shape arithmetic: what an operator that only moves elements does to integers known as
// expressions.
#pragma once

#include "ops/common.h"

namespace sdx {

// Bit i set: input i brings elements; the other inputs say where elements go and must be constant.
using DataInputs = uint32_t;

namespace detail {
struct Numbered {
  std::vector<Dim> elements;   // element of number i
  std::vector<Tensor> inputs;  // as i64 numbers into `elements`, or as their constant values
  std::vector<View> views;
};
std::optional<Numbered> number_elements(const Facts& in, DataInputs data);
std::optional<std::vector<Tensor>> number_outputs(const Facts& out);
void take_symbolic(const Numbered& numbered, std::span<const Tensor> numbers, Facts& out);
}  // namespace detail

// Sets the outputs' `symbolic`: runs the operator on the numbers of its input elements instead of
// the elements. Number 0 stands for the integer 0, so a body may also fill with zero.
template <class A>
void track(const A& attrs, Status (*body)(const A&, Args&), DataInputs data, const Facts& in,
           Facts& out) {
  auto numbered = detail::number_elements(in, data);
  if (!numbered) return;
  auto numbers = detail::number_outputs(out);
  if (!numbers) return;
  std::vector<View> outs;
  for (const Tensor& tensor : *numbers) outs.push_back(view_of(tensor));
  Args args;
  args.ins = numbered->views;
  args.outs = outs;
  if (body(attrs, args)) detail::take_symbolic(*numbered, *numbers, out);
}

}  // namespace sdx
