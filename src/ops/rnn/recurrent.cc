#include "ops/rnn/recurrent.h"

#include <algorithm>
#include <cmath>

#include "kernel/gemm/reference.h"
#include "kernel/math/math.h"

namespace sdx::ops {
namespace {

using Kind = Activation::Kind;

struct NamedActivation {
  std::string_view name;  // in lower case: the specification's spelling varies
  Kind kind;
  bool takes_alpha, takes_beta;
  float alpha, beta;  // if not given
};
constexpr NamedActivation kActivations[] = {
    {"relu", Kind::relu, false, false, 0, 0},
    {"tanh", Kind::tanh, false, false, 0, 0},
    {"sigmoid", Kind::sigmoid, false, false, 0, 0},
    {"affine", Kind::affine, true, true, 1, 0},
    {"leakyrelu", Kind::leaky_relu, true, false, 0.01f, 0},
    {"thresholdedrelu", Kind::thresholded_relu, true, false, 1, 0},
    {"scaledtanh", Kind::scaled_tanh, true, true, 1, 1},
    {"hardsigmoid", Kind::hard_sigmoid, true, true, 0.2f, 0.5f},
    {"elu", Kind::elu, true, false, 1, 0},
    {"softsign", Kind::softsign, false, false, 0, 0},
    {"softplus", Kind::softplus, false, false, 0, 0},
};

// Each operation is rounded on its own.
template <class C>
C apply(const Activation& a, C x) {
  const C alpha = C(a.alpha), beta = C(a.beta);
  switch (a.kind) {
    case Kind::relu:
      return x > 0 || x != x ? x : C(0);
    case Kind::tanh:
      return math::tanh(x);
    case Kind::sigmoid:
      return math::sigmoid(x);
    case Kind::affine:
      return alpha * x + beta;
    case Kind::leaky_relu:
      return x >= 0 || x != x ? x : alpha * x;
    case Kind::thresholded_relu:
      return x >= alpha || x != x ? x : C(0);
    case Kind::scaled_tanh:
      return alpha * math::tanh(beta * x);
    case Kind::hard_sigmoid: {
      const C y = alpha * x + beta;
      return y < 0 ? C(0) : y > 1 ? C(1) : y;
    }
    case Kind::elu:
      return x >= 0 || x != x ? x : alpha * math::expm1(x);
    case Kind::softsign:
      return x / (C(1) + std::fabs(x));
    case Kind::softplus:
      return math::softplus(x);
  }
  return x;
}

Result<std::vector<Activation>> read_activations(const Node& node, std::vector<std::string> names) {
  const auto floats = [&](std::string_view attr) {
    return node.has(attr) ? node.get<std::vector<float>>(attr) : std::vector<float>{};
  };
  const std::vector<float> alphas = floats("activation_alpha"), betas = floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<Activation> result;
  for (std::string& name : names) {
    std::string lower = name;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    const auto* known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const NamedActivation& a) { return a.name == lower; });
    if (known == std::end(kActivations)) {
      return fail("SDX-T0401", "activation \"{}\" is not one that recurrent operators have", name);
    }
    Activation a{known->kind, known->alpha, known->beta};
    // Parameters belong, in order, to the functions that take one.
    if (known->takes_alpha && next_alpha < alphas.size()) a.alpha = alphas[next_alpha++];
    if (known->takes_beta && next_beta < betas.size()) a.beta = betas[next_beta++];
    result.push_back(a);
  }
  return result;
}

// The state of one sequence in one direction, and the weights that move it.
template <class C>
struct Walk {
  const Recurrent& a;
  const std::array<Activation, 3>& f_g_h;
  size_t input, hidden;
  const C *w, *r;       // [gates * hidden][input], [gates * hidden][hidden]
  const C *w_b, *r_b;   // [gates * hidden]; zeros if absent
  const C* p;           // [3 * hidden], peepholes i, o, f; null if absent
  std::vector<C> h, c;  // [hidden]

  C xw(const C* x, size_t gate, size_t j) const {
    return reference::dot<C>(input, x, 1, w + (gate * hidden + j) * input, 1);
  }
  C hr(const std::vector<C>& state, size_t gate, size_t j) const {
    return reference::dot<C>(hidden, state.data(), 1, r + (gate * hidden + j) * hidden, 1);
  }
  C bias(size_t gate, size_t j) const { return w_b[gate * hidden + j] + r_b[gate * hidden + j]; }
  C act(size_t which, C x) const {
    if (a.clip) x = x < C(-*a.clip) ? C(-*a.clip) : x > C(*a.clip) ? C(*a.clip) : x;
    return apply<C>(f_g_h[which], x);
  }
  // (x W^T + h R^T) + (Wb + Rb): two chains of fma and three rounded sums.
  C gate(const C* x, const std::vector<C>& state, size_t gate, size_t j) const {
    return (xw(x, gate, j) + hr(state, gate, j)) + bias(gate, j);
  }

  // i = f(gate_i + P_i * c);  f = f(gate_f + P_f * c), or 1 - i;  g = g(gate_c);  c' = (f * c) + (i
  // * g); o = f(gate_o + P_o * c');  h' = o * h(c').
  void lstm(const C* x) {
    std::vector<C> next_h(hidden), next_c(hidden);
    for (size_t j = 0; j < hidden; ++j) {
      const auto peep = [&](C pre, size_t which, C cell) {
        return p != nullptr ? pre + p[which * hidden + j] * cell : pre;
      };
      const C i = act(0, peep(gate(x, h, 0, j), 0, c[j]));
      const C f = a.input_forget ? C(1) - i : act(0, peep(gate(x, h, 2, j), 2, c[j]));
      const C g = act(1, gate(x, h, 3, j));
      next_c[j] = f * c[j] + i * g;
      const C o = act(0, peep(gate(x, h, 1, j), 1, next_c[j]));
      const C squashed = apply<C>(f_g_h[2], clip(next_c[j]));
      next_h[j] = o * squashed;
    }
    h = next_h;
    c = next_c;
  }
  C clip(C x) const {
    return a.clip ? (x < C(-*a.clip) ? C(-*a.clip) : x > C(*a.clip) ? C(*a.clip) : x) : x;
  }

  // z = f(gate_z);  r = f(gate_r);  candidate = g((x W^T + (r * h) R^T) + (Wb + Rb)), or with
  // linear_before_reset g((x W^T + r * (h R^T + Rb)) + Wb);  h' = ((1 - z) * candidate) + (z * h).
  void gru(const C* x) {
    std::vector<C> reset(hidden), reset_h(hidden), next(hidden);
    for (size_t j = 0; j < hidden; ++j) {
      reset[j] = act(0, gate(x, h, 1, j));
      reset_h[j] = reset[j] * h[j];
    }
    for (size_t j = 0; j < hidden; ++j) {
      const C z = act(0, gate(x, h, 0, j));
      const size_t b = 2 * hidden + j;
      const C pre = a.linear_before_reset
                        ? (xw(x, 2, j) + reset[j] * (hr(h, 2, j) + r_b[b])) + w_b[b]
                        : gate(x, reset_h, 2, j);
      next[j] = (C(1) - z) * act(1, pre) + z * h[j];
    }
    h = next;
  }

  // h' = f(gate).
  void rnn(const C* x) {
    std::vector<C> next(hidden);
    for (size_t j = 0; j < hidden; ++j) next[j] = act(0, gate(x, h, 0, j));
    h = next;
  }
};

template <class T>
std::vector<Compute<T>> widened(const Args& args, size_t input) {
  std::vector<Compute<T>> out;
  if (!args.has(input)) return out;
  for (const T& x : args.in(input).template values<T>()) out.push_back(load(x));
  return out;
}

template <class T>
Status run(const Recurrent& a, const RecurrentSizes& s, Args& args) {
  using C = Compute<T>;
  const auto x = widened<T>(args, 0), w = widened<T>(args, 1), r = widened<T>(args, 2);
  auto b = widened<T>(args, 3);
  const auto h0 = widened<T>(args, 5), c0 = widened<T>(args, 6), p = widened<T>(args, 7);
  const size_t rows = s.gates * s.hidden;
  if (b.empty()) b.resize(s.directions * 2 * rows);
  const auto put = [&](size_t output, size_t at, const std::vector<C>& values) {
    for (size_t j = 0; j < s.hidden; ++j) {
      args.out(output).template data<T>()[at + j] = store<T>(values[j]);
    }
  };
  for (size_t d = 0; d < s.directions; ++d) {
    for (size_t n = 0; n < s.batch; ++n) {
      SDX_ASSIGN(const size_t length, sequence_length(args, s, n));
      Walk<C> walk{a,
                   a.f_g_h[d],
                   s.input,
                   s.hidden,
                   w.data() + d * rows * s.input,
                   r.data() + d * rows * s.hidden,
                   b.data() + d * 2 * rows,
                   b.data() + d * 2 * rows + rows,
                   p.empty() ? nullptr : p.data() + d * 3 * s.hidden,
                   std::vector<C>(s.hidden),
                   std::vector<C>(s.hidden)};
      const auto initial = [&](const std::vector<C>& from, std::vector<C>& state) {
        if (!from.empty())
          std::copy_n(from.begin() + ptrdiff_t(s.state(d, n)), s.hidden, state.begin());
      };
      initial(h0, walk.h);
      initial(c0, walk.c);
      for (size_t step = 0; step < s.steps; ++step) {
        if (step >= length) {
          if (args.wants(0)) put(0, s.y(step, d, n), std::vector<C>(s.hidden));
          continue;
        }
        const size_t t = a.reversed[d] ? length - 1 - step : step;
        const C* now = x.data() + s.x(t, n);
        if (a.cell == Cell::lstm) walk.lstm(now);
        if (a.cell == Cell::gru) walk.gru(now);
        if (a.cell == Cell::rnn) walk.rnn(now);
        if (args.wants(0)) put(0, s.y(t, d, n), walk.h);
      }
      if (args.wants(1)) put(1, s.state(d, n), walk.h);
      if (args.wants(2)) put(2, s.state(d, n), walk.c);
    }
  }
  return ok();
}

}  // namespace

float activate(const Activation& a, float x) { return apply(a, x); }
double activate(const Activation& a, double x) { return apply(a, x); }

Result<Recurrent> read_recurrent(Cell cell, const Node& node, const Facts&) {
  Recurrent a{cell,
              {},
              {},
              {},
              {},
              node.i_or("layout", 0) != 0,
              node.i_or("input_forget", 0) != 0,
              node.i_or("linear_before_reset", 0) != 0};
  const std::string& direction = node.s("direction");
  if (direction == "forward" || direction == "foward") {  // GRU-1's default is misspelt
    a.reversed = {false};
  } else if (direction == "reverse") {
    a.reversed = {true};
  } else if (direction == "bidirectional") {
    a.reversed = {false, true};
  } else {
    return fail("SDX-T0402", "direction \"{}\" is not forward, reverse or bidirectional",
                direction);
  }
  if (node.has("clip")) a.clip = node.f("clip");
  if (a.clip && !(*a.clip >= 0))
    return fail("SDX-T0403", "clip is {}; it must not be negative", *a.clip);
  if (node.has("hidden_size")) a.hidden = node.i("hidden_size");

  const std::vector<std::string> usual =
      cell == Cell::lstm  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : cell == Cell::gru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                          : std::vector<std::string>{"Tanh"};
  const size_t each = usual.size();
  std::vector<std::string> names;
  if (node.has("activations")) names = node.get<std::vector<std::string>>("activations");
  if (names.empty()) {
    for (size_t d = 0; d < a.directions(); ++d)
      names.insert(names.end(), usual.begin(), usual.end());
  }
  if (names.size() < each * a.directions()) {
    return fail("SDX-T0404", "{} activations are given; {} direction(s) of {} need {}",
                names.size(), a.directions(), each, each * a.directions());
  }
  SDX_ASSIGN(const std::vector<Activation> functions, read_activations(node, names));
  for (size_t d = 0; d < a.directions(); ++d) {
    std::array<Activation, 3> triple{};
    std::copy_n(functions.begin() + ptrdiff_t(d * each), each, triple.begin());
    a.f_g_h.push_back(triple);
  }
  return a;
}

Result<Facts> infer_recurrent(const Recurrent& a, const Facts& in) {
  const Fact &x = in[0], &w = in[1], &r = in[2];
  for (size_t i = 0; i < 3; ++i) {
    if (in[i].has_rank() && in[i].rank() != 3) {
      return fail("SDX-T0405", "{} has rank {}; it must have 3 dimensions",
                  i == 0   ? "X"
                  : i == 1 ? "W"
                           : "R",
                  in[i].rank());
    }
  }
  const Dim first = x.has_rank() ? x.dim(0) : Dim::unknown(),
            second = x.has_rank() ? x.dim(1) : Dim::unknown();
  const Dim steps = a.batch_first ? second : first, batch = a.batch_first ? first : second;
  const Dim hidden = a.hidden ? Dim(*a.hidden) : r.has_rank() ? r.dim(2) : Dim::unknown();
  if (r.has_rank() && r.dim(2).is_const() && hidden.is_const() && !(hidden == r.dim(2))) {
    return fail("SDX-T0406", "hidden_size is {} and R has shape {}", hidden.text(),
                to_string(*r.shape));
  }
  if (x.has_rank() && w.has_rank() && x.dim(2).is_const() && w.dim(2).is_const() &&
      !(x.dim(2) == w.dim(2))) {
    return fail("SDX-T0407", "X has {} features and W has shape {}", x.dim(2).text(),
                to_string(*w.shape));
  }
  const Dim directions = int64_t(a.directions());
  const DType type = x.type;
  const Dim rows = Dim(int64_t(a.gates())) * hidden;
  const Shape state =
      a.batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  const std::pair<std::string_view, Shape> expected[] = {{"W", {directions, rows, Dim::unknown()}},
                                                         {"R", {directions, rows, hidden}},
                                                         {"B", {directions, Dim(2) * rows}},
                                                         {"sequence_lens", {batch}},
                                                         {"initial_h", state},
                                                         {"initial_c", state},
                                                         {"P", {directions, Dim(3) * hidden}}};
  for (size_t i = 1; i < in.size() && i <= std::size(expected); ++i) {
    if (!in[i].has_rank()) continue;
    const auto& [name, shape] = expected[i - 1];
    bool fits = in[i].rank() == shape.size();
    for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
      const Dim &found = in[i].dim(axis), &wanted = shape[axis];
      fits = !found.is_const() || !wanted.is_const() || found == wanted;
    }
    if (!fits) {
      return fail("SDX-T0408", "{} has shape {}; the sizes of X and R ask for {}", name,
                  to_string(*in[i].shape), to_string(shape));
    }
  }
  Facts out;
  out.push_back(Fact::tensor(type, a.batch_first ? Shape{batch, steps, directions, hidden}
                                                 : Shape{steps, directions, batch, hidden}));
  for (size_t i = 0; i < a.states(); ++i) {
    out.push_back(Fact::tensor(
        type, a.batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden}));
  }
  return out;
}

Result<RecurrentSizes> recurrent_sizes(const Recurrent& a, std::span<const View> ins) {
  const auto x = ins[0].dims, r = ins[2].dims;
  if (x.size() != 3 || ins[1].rank() != 3 || r.size() != 3) {
    return fail("SDX-T0405", "X, W and R must have 3 dimensions each");
  }
  RecurrentSizes s{size_t(x[a.batch_first ? 1 : 0]),
                   size_t(x[a.batch_first ? 0 : 1]),
                   size_t(x[2]),
                   size_t(r[2]),
                   a.gates(),
                   a.directions(),
                   a.batch_first};
  const int64_t d = int64_t(s.directions), rows = int64_t(s.gates * s.hidden),
                h = int64_t(s.hidden), n = int64_t(s.batch);
  struct Expected {
    std::string_view name;
    std::array<int64_t, 3> dims;
    size_t rank;
  };
  const std::array<int64_t, 3> state =
      a.batch_first ? std::array<int64_t, 3>{n, d, h} : std::array<int64_t, 3>{d, n, h};
  const Expected expected[] = {{"W", {d, rows, int64_t(s.input)}, 3},
                               {"R", {d, rows, h}, 3},
                               {"B", {d, 2 * rows}, 2},
                               {"sequence_lens", {n}, 1},
                               {"initial_h", state, 3},
                               {"initial_c", state, 3},
                               {"P", {d, 3 * h}, 2}};
  for (size_t i = 1; i < ins.size() && i <= std::size(expected); ++i) {
    const Expected& e = expected[i - 1];
    const std::span<const int64_t> dims(e.dims.data(), e.rank);
    if (ins[i].present() && !std::ranges::equal(ins[i].dims, dims)) {
      return fail("SDX-T0408", "{} has shape {}; the sizes of X and R ask for {}", e.name,
                  to_string(ins[i].dims), to_string(dims));
    }
  }
  return s;
}

Result<size_t> sequence_length(const Args& args, const RecurrentSizes& s, size_t n) {
  if (!args.has(4)) return s.steps;
  const int32_t length = args.in(4).data<int32_t>()[n];
  if (length < 0 || size_t(length) > s.steps) {
    return fail("SDX-R0401", "sequence_lens[{}] is {}; sequences have {} steps", n, length,
                s.steps);
  }
  return size_t(length);
}

Status recurrent_reference(const Recurrent& a, Args& args) {
  SDX_ASSIGN(const RecurrentSizes sizes, recurrent_sizes(a, args.ins));
  Status status;
  visit_floats(args.in(0).type, [&]<class T>() { status = run<T>(a, sizes, args); });
  return status;
}

Streaming stream_recurrent(const Recurrent& a, const Streamed& s) {
  if (!s.only_first()) return Streaming::refuse("its weights or states move along the axis");
  if (*s.axes[0] != (a.batch_first ? 1 : 0)) return Streaming::ask();
  for (const bool reversed : a.reversed) {
    if (reversed) return Streaming::refuse("it runs from the stream's end to its beginning");
  }
  if (s.in.size() > 4 && s.in[4].present())
    return Streaming::refuse("its sequences have lengths of their own");
  Streaming how = Streaming::of(Streaming::Kind::carry);
  how.pairs = {{5, 1}};
  if (a.cell == Cell::lstm) how.pairs.emplace_back(6, 2);
  return how;
}

}  // namespace sdx::ops
