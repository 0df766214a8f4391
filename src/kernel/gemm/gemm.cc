#include "kernel/gemm/gemm.h"

#include <algorithm>

#include "base/aligned.h"
#include "base/fitting.h"
#include "kernel/gemm/block.h"
#include "kernel/isa.h"

namespace sdx {
namespace {

size_t panels_of(size_t n) { return (n + kPanel - 1) / kPanel; }
size_t type_bytes(DType type) { return type == DType::f32 ? 4 : 2; }

// B is read where it lies if nothing would reuse a packed copy: one row block, rows of contiguous
// floats.
bool reads_b_in_place(const GemmArgs& g) {
  return g.b_packed == nullptr && !g.trans_b && g.b_type == DType::f32 && g.m <= kRowBlock;
}

// Chains of floats that run from one end of k to the other.
bool has_whole_chains(const GemmArgs& g) {
  return g.a_type == DType::f32 && g.c_type == DType::f32 && !g.resume;
}

bool streams_b(const GemmArgs& g) {
  return reads_b_in_place(g) && has_whole_chains(g) && is_streamed(g.m, g.k, g.ldb);
}

// A transposed one cannot be read as it lies. If few rows wait for it, it is turned on its way
// through the cache: a copy of the whole would go through memory again.
bool turns_on_the_way(const GemmArgs& g) {
  return g.b_packed == nullptr && g.trans_b && g.batch == 1 && has_whole_chains(g) && !g.raw &&
         is_streamed(g.m, g.k, g.n);
}

// Whole products per thread where there are enough of them; each thread then packs for itself.
bool split_by_product(const GemmArgs& g, int threads) { return g.batch >= 2 * size_t(threads); }

// Scratch: per thread a packed row block of A; then packed B, shared or per thread.
struct Layout {
  size_t a_floats, b_floats, b_copies;
  size_t floats(int threads) const { return size_t(threads) * a_floats + b_copies * b_floats; }
};

Layout layout(const GemmArgs& g, int threads) {
  Layout l{aligned_floats(block_scratch_floats(g.m, g.k, g.c_type)), 0, 0};
  if (g.b_packed != nullptr) return l;
  if (turns_on_the_way(g)) return {};
  must_fit((double(g.n) + kPanel) * double(g.k));
  l.b_floats = reads_b_in_place(g) ? aligned_floats(panel_width(g.n % kPanel) * g.k)
                                   : gemm_packed_b_size(g.k, g.n);
  l.b_copies = g.b_batch != 0 && split_by_product(g, threads) ? size_t(threads) : 1;
  return l;
}

const void* at(const void* p, DType type, size_t i) {
  return static_cast<const char*>(p) + i * type_bytes(type);
}
void* at(void* p, DType type, size_t i) { return static_cast<char*>(p) + i * type_bytes(type); }

// One product of the batch, with B ready.
struct Product {
  const GemmArgs& g;
  size_t index;
  const float* b;
  size_t b_panel, b_step;
  const float* b_tail;

  // Rows [row, row_end) and panels [panel, panel_end).
  GemmBlock block(size_t row, size_t row_end, size_t panel, size_t panel_end, float* a_pack) const {
    GemmBlock k{};
    const size_t col = panel * kPanel;
    k.rows = row_end - row;
    k.cols = std::min(g.n, panel_end * kPanel) - col;
    k.k = g.k;
    k.a_type = g.a_type;
    k.a_row = g.trans_a ? 1 : g.lda;
    k.a_k = g.trans_a ? g.lda : 1;
    k.a = at(g.a, g.a_type, index * g.a_batch + row * k.a_row);
    k.b = b + panel * b_panel;
    k.b_panel = b_panel;
    k.b_step = b_step;
    k.b_tail = b_tail;
    k.c_type = g.c_type;
    k.ldc = g.ldc;
    k.c = at(g.c, g.c_type, index * g.c_batch + row * g.ldc + col);
    k.affine = g.affine;
    k.raw = g.raw;
    k.resume = g.resume;
    const size_t bias = index * g.bias_batch + row * g.affine.bias_row + col * g.affine.bias_col;
    if (g.affine.bias != nullptr) k.affine.bias = g.affine.bias + bias;
    if (g.affine.other != nullptr) {
      k.affine.other = g.affine.other + (index * g.m + row) * g.affine.other_row + col;
    }
    if (g.bias_16 != nullptr) k.bias_16 = at(g.bias_16, g.c_type, bias);
    k.epilogue = g.epilogue;
    k.row = index * g.m + row;
    k.col = col;
    k.a_pack = a_pack;
    return k;
  }
};

// B as panels of packed storage, or where it lies with only a ragged last panel packed.
void pack_panels(const GemmArgs& g, size_t index, float* out, size_t first, size_t end, Isa isa) {
  const size_t b_k = g.trans_b ? 1 : g.ldb, b_col = g.trans_b ? g.ldb : 1;
  for (size_t p = first; p < end; ++p) {
    SDX_PICK(gemm_pack_panel, isa)
    (at(g.b, g.b_type, index * g.b_batch + p * kPanel * b_col), g.b_type, b_k, b_col, g.k,
     std::min(kPanel, g.n - p * kPanel), out + p * kPanel * g.k);
  }
}

void pack_ragged(const GemmArgs& g, size_t index, float* out, Isa isa) {
  if (g.n % kPanel == 0) return;
  const float* b = static_cast<const float*>(g.b) + index * g.b_batch + g.n / kPanel * kPanel;
  SDX_PICK(gemm_pack_panel, isa)(b, DType::f32, g.ldb, 1, g.k, g.n % kPanel, out);
}

Product product(const GemmArgs& g, size_t index, const float* scratch) {
  if (reads_b_in_place(g)) {
    const float* b = static_cast<const float*>(g.b) + index * g.b_batch;
    return {g, index, b, kPanel, g.ldb, g.n % kPanel == 0 ? nullptr : scratch};
  }
  const float* b = g.b_packed != nullptr ? g.b_packed + index * g.b_batch : scratch;
  const float* tail = g.n % kPanel == 0 ? nullptr : b + g.n / kPanel * kPanel * g.k;
  return {g, index, b, kPanel * g.k, kPanel, tail};
}

// Panels [first, end) of a transposed B that is turned on its way.
void run_on_the_way(const GemmArgs& g, size_t first, size_t end, Isa isa) {
  const Product product{g, 0, nullptr, 0, 0, nullptr};
  const TransposedB b{at(g.b, g.b_type, first * kPanel * g.ldb), g.b_type, g.ldb};
  SDX_PICK(gemm_block_transposed, isa)(product.block(0, g.m, first, end, nullptr), b);
}

// How many parts rows and panels are cut into: near-square parts, a few per thread.
struct Grid {
  size_t rows = 1, panels = 1;
};

Grid grid(size_t row_blocks, size_t panels, size_t parts) {
  Grid g;
  while (g.rows * g.panels < parts) {
    const size_t height = row_blocks / g.rows * kRowBlock, width = panels / g.panels * kPanel;
    if (2 * g.rows <= row_blocks && (height >= width || 2 * g.panels > panels)) {
      g.rows *= 2;
    } else if (2 * g.panels <= panels) {
      g.panels *= 2;
    } else {
      break;
    }
  }
  return g;
}

}  // namespace

size_t gemm_packed_b_size(size_t k, size_t n) {
  must_fit((double(n) + kPanel) * double(k));
  return (n / kPanel * kPanel + panel_width(n % kPanel)) * k;
}

namespace {

GemmArgs packing_args(const void* b, DType type, size_t ldb, bool trans_b, size_t k, size_t n) {
  GemmArgs g;
  g.n = n;
  g.k = k;
  g.b = b;
  g.b_type = type;
  g.ldb = ldb;
  g.trans_b = trans_b;
  return g;
}

}  // namespace

void gemm_pack_b(const void* b, DType type, size_t ldb, bool trans_b, size_t k, size_t n,
                 float* packed, Pool& pool, Isa isa) {
  const GemmArgs g = packing_args(b, type, ldb, trans_b, k, n);
  pool.parallel(panels_of(n), 1,
                [&](size_t begin, size_t end, int) { pack_panels(g, 0, packed, begin, end, isa); });
}
void gemm_pack_b_here(const void* b, DType type, size_t ldb, bool trans_b, size_t k, size_t n,
                      float* packed, Isa isa) {
  pack_panels(packing_args(b, type, ldb, trans_b, k, n), 0, packed, 0, panels_of(n), isa);
}

bool gemm_reads_in_place(const GemmArgs& g) { return streams_b(g) || turns_on_the_way(g); }
bool gemm_gains_in_place(const GemmArgs& g) { return streams_b(g) && g.m > 1; }

size_t gemm_scratch_bytes(const GemmArgs& g, int threads) {
  return layout(g, threads).floats(threads) * sizeof(float);
}

void gemm_here(const GemmArgs& g, Isa isa) {
  if (g.m == 0 || g.n == 0) return;
  float* a_pack = static_cast<float*>(g.scratch);
  float* b_pack = a_pack + layout(g, 1).a_floats;
  if (turns_on_the_way(g)) return run_on_the_way(g, 0, panels_of(g.n), isa);
  if (reads_b_in_place(g)) {
    pack_ragged(g, 0, b_pack, isa);
  } else if (g.b_packed == nullptr) {
    pack_panels(g, 0, b_pack, 0, panels_of(g.n), isa);
  }
  SDX_PICK(gemm_block, isa)(product(g, 0, b_pack).block(0, g.m, 0, panels_of(g.n), a_pack));
}

void gemm(const GemmArgs& g, Pool& pool, Isa isa) {
  if (g.m == 0 || g.n == 0 || g.batch == 0) return;
  const auto run = SDX_PICK(gemm_block, isa);
  const Layout l = layout(g, pool.threads());
  const size_t panels = panels_of(g.n);
  float* a_pack = static_cast<float*>(g.scratch);
  float* b_pack = a_pack + size_t(pool.threads()) * l.a_floats;
  if (turns_on_the_way(g)) {
    return pool.parallel(
        panels, 1, [&](size_t begin, size_t end, int) { run_on_the_way(g, begin, end, isa); });
  }
  const bool in_place = reads_b_in_place(g);
  const bool shared_b = g.b_packed == nullptr && g.b_batch == 0;

  const auto pack_shared = [&](size_t index) {
    if (g.b_packed != nullptr) return;
    if (in_place) return pack_ragged(g, index, b_pack, isa);
    pool.parallel(panels, 1, [&](size_t begin, size_t end, int) {
      pack_panels(g, index, b_pack, begin, end, isa);
    });
  };
  if (shared_b) pack_shared(0);

  if (split_by_product(g, pool.threads())) {
    pool.parallel(g.batch, 1, [&](size_t begin, size_t end, int thread) {
      float* b = b_pack + (l.b_copies > 1 ? size_t(thread) * l.b_floats : 0);
      for (size_t i = begin; i < end; ++i) {
        if (in_place && !shared_b) pack_ragged(g, i, b, isa);
        if (!in_place && !shared_b && g.b_packed == nullptr) pack_panels(g, i, b, 0, panels, isa);
        run(product(g, i, b).block(0, g.m, 0, panels, a_pack + size_t(thread) * l.a_floats));
      }
    });
    return;
  }

  const size_t blocks = row_blocks(g.m);
  Grid cut = pool.threads() == 1 ? Grid{} : grid(blocks, panels, 4 * size_t(pool.threads()));
  // Parts of a row that goes by should be long.
  constexpr size_t kLongPart = 512 / kPanel;
  while (streams_b(g) && cut.panels > size_t(pool.threads()) && panels / cut.panels < kLongPart)
    cut.panels /= 2;
  for (size_t i = 0; i < g.batch; ++i) {
    if (!shared_b) pack_shared(i);
    const Product p = product(g, i, b_pack);
    pool.parallel(cut.rows * cut.panels, 1, [&](size_t begin, size_t end, int thread) {
      for (size_t part = begin; part < end; ++part) {
        // Those of a thread are mostly of the same columns: it reads its part of B once.
        const size_t r = part % cut.rows, c = part / cut.rows;
        const size_t row = row_block_begin(g.m, blocks, blocks * r / cut.rows);
        const size_t row_end = row_block_begin(g.m, blocks, blocks * (r + 1) / cut.rows);
        run(p.block(row, row_end, panels * c / cut.panels, panels * (c + 1) / cut.panels,
                    a_pack + size_t(thread) * l.a_floats));
      }
    });
  }
}

void gemm_f64(const GemmF64Args& g, Pool& pool, Isa isa) {
  const auto run = SDX_PICK(gemm_f64_rows, isa);
  // Rows of one call share what is packed of B.
  constexpr size_t kTogether = 24;
  const size_t grain = std::max<size_t>(kTogether, 16384 / std::max<size_t>(1, g.n * g.k));
  pool.parallel(g.batch * g.m, grain, [&](size_t begin, size_t end, int) {
    while (begin < end) {
      const size_t batch = begin / g.m, row = begin % g.m;
      const size_t stop = std::min(g.m, row + (end - begin));
      run(g, batch, row, stop);
      begin += stop - row;
    }
  });
}

}  // namespace sdx
