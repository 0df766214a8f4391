// Padding that a convolution can do itself, and padding by nothing.
//
//   Conv(Pad(x), w, b)   ->   Conv(x, w, b)        with the borders among its pads
//   Pad(x)               ->   x                    where no border has an element
//
// A convolution's own padding takes part as the value +0, or as the zero point where it is
// quantised (docs/numerics.md); so does a Pad with that constant, and every bit is kept. Frameworks
// whose convolutions pad unevenly export such a Pad before each of them, and most of them are
// empty.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/list.h"
#include "ops/quant/quantised_conv.h"
#include "ops/tensor/pad.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using ops::Borders;
using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

bool is_pad(const Node& node) { return node.kind == Node::Kind::op && node.is(ops::pad); }

std::optional<Borders> borders_of(const Rewriting& r, const Node& pad) {
  const Facts in = r.old.facts(pad.inputs);
  if (!in[0].has_rank()) return std::nullopt;
  return ops::known_borders(pad.as<ops::Pad>(), in[0].rank(), in);
}

bool is_nothing(const Borders& borders) {
  const auto zero = [](int64_t border) { return border == 0; };
  return std::all_of(borders.begins.begin(), borders.begins.end(), zero) &&
         std::all_of(borders.ends.begin(), borders.ends.end(), zero);
}

Result<Wires> empty_padding_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (!is_pad(node)) return Wires();
  const std::optional<Borders> borders = borders_of(r, node);
  if (!borders || !is_nothing(*borders)) return Wires();
  return Wires({r.now(node.inputs[0])});
}

// A convolution's window, and the input that its padding takes part as; none: +0.
struct Padded {
  const ops::Window& window;
  std::optional<size_t> zero_point;
};

std::optional<Padded> padded(const Node& node) {
  if (node.is(ops::conv)) return Padded{node.as<ops::Conv>().window, std::nullopt};
  if (node.is(ops::qlinear_conv)) return Padded{node.as<ops::QuantisedConv>().window, 2};
  if (node.is(ops::conv_integer)) return Padded{node.as<ops::QuantisedConv>().window, 2};
  return std::nullopt;
}

bool all_zero_bits(const Tensor& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.raw());
  return std::all_of(bytes, bytes + tensor.bytes(), [](char byte) { return byte == 0; });
}

// Whether what the Pad puts around its input is what the convolution would.
bool same_constant(const Rewriting& r, const Node& pad, const Node& conv, const Padded& at) {
  const ops::Pad& a = pad.as<ops::Pad>();
  if (a.mode != ops::Pad::Mode::constant) return false;
  const auto given = [&](const Node& node, size_t input) {
    return input < node.inputs.size() && node.inputs[input].present();
  };
  const auto constant = [&](const Node& node, size_t input) {
    return given(node, input) ? r.old.fact(node.inputs[input]).value : nullptr;
  };
  const auto value = constant(pad, 2);
  if (given(pad, 2) && (value == nullptr || value->count() > 1)) return false;
  const bool zero = value != nullptr && value->count() == 1
                        ? all_zero_bits(*value)
                        : a.value == 0 && !std::signbit(a.value);
  if (!at.zero_point || !given(conv, *at.zero_point)) return zero;
  const auto point = constant(conv, *at.zero_point);
  if (point == nullptr || point->count() != 1) return false;
  if (value == nullptr || value->count() == 0) return zero && all_zero_bits(*point);
  return value->type() == point->type() &&
         std::memcmp(value->raw(), point->raw(), point->bytes()) == 0;
}

// The convolution's pads together with the Pad's borders; none: it cannot have them.
std::optional<std::vector<int64_t>> joined_pads(const ops::Window& window, const Borders& borders) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const size_t rank = borders.begins.size(), spatial = window.spatial;
  const bool own = window.pad == ops::Window::Pad::given;
  if (rank != spatial + 2 || !(own || window.pad == ops::Window::Pad::valid)) return std::nullopt;
  std::vector<int64_t> pads;
  for (const bool behind : {false, true}) {
    const std::vector<int64_t>& more = behind ? borders.ends : borders.begins;
    const std::vector<int64_t>& has = behind ? window.end : window.begin;
    if (more[0] != 0 || more[1] != 0) return std::nullopt;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t border = more[i + 2];
      if (border < 0 || border > kMost) return std::nullopt;
      pads.push_back(border + (own && i < has.size() ? has[i] : 0));
    }
  }
  return pads;
}

Result<Wires> own_padding_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  const std::optional<Padded> at = padded(node);
  if (!at) return Wires();
  const Node& pad = r.old.node(node.inputs[0].node);
  if (!is_pad(pad) || !same_constant(r, pad, node, *at)) return Wires();
  const std::optional<Borders> borders = borders_of(r, pad);
  if (!borders || is_nothing(*borders)) return Wires();
  const auto pads = joined_pads(at->window, *borders);
  if (!pads) return Wires();
  std::vector<Outlet> inputs{r.now(pad.inputs[0])};
  for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(r.now(node.inputs[i]));
  const Node* stands_for[] = {&pad, &node};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add_like(node, node.op(), {{"pads", *pads}, {"auto_pad", std::string("NOTSET")}},
                        std::move(inputs), stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule empty_padding{"empty_padding", empty_padding_at};
const Rule own_padding{"own_padding", own_padding_at};

}  // namespace sdx::rewrite
