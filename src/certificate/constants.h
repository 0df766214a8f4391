// Constants that a pass moved: evaluated here, where their elements are at hand.
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/tensor.h"

namespace sdx::certificate {

// Numbers tensors so that equal numbers mean equal types, sizes and elements. Tensors that share
// memory are equal; small ones are compared.
class TensorNumbers {
 public:
  size_t of(const Tensor& tensor);

 private:
  std::map<std::tuple<const void*, DType, Dims>, size_t> shared_;
  std::vector<Tensor> kept_;  // while a number stands for an address, nothing else may lie there
  std::map<std::tuple<std::string, DType, Dims>, size_t> small_;
  size_t next_ = 1;
};

// Where axis i of a tensor lies in another: as this axis of it, or nowhere, since it has one
// element.
using StoredAxes = std::vector<std::optional<size_t>>;
// All ways in which every element of `old` is where its moved index says in `made`: for each axis
// of `made`, the axis of `old` that it is. Axes of one element may come and go.
std::vector<StoredAxes> moves_between(const Tensor& old, const Tensor& made);
// Whether it is small and all its bits are zero.
bool is_zero(const Tensor& tensor);
// Whether `made` holds [N, C, H, W] as [N, blocks of channels, H, W, channels within a block].
bool is_blocked_form(const Tensor& old, const Tensor& made);

}  // namespace sdx::certificate
