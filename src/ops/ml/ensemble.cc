#include "ops/ml/ensemble.h"

namespace sdx {
namespace {

// Sums are one chain of additions for each target, in the order of the trees.
template <class T>
void add(std::span<const Vote<T>> votes, T* scores) {
  for (const Vote<T>& vote : votes) scores[vote.target] += vote.weight;
}

// The least or largest vote for each target; 0 where there is none.
template <class T>
void select(const Ensemble& a, const Forest<T>& forest, const T* row, std::span<T> scores) {
  std::vector<bool> voted(scores.size(), false);
  for (size_t tree = 0; tree < forest.trees(); ++tree) {
    for (const Vote<T>& vote : forest.votes(tree, row)) {
      T& score = scores[vote.target];
      const bool better = a.aggregate == Aggregate::min ? vote.weight < score : vote.weight > score;
      if (!voted[vote.target] || better) score = vote.weight;
      voted[vote.target] = true;
    }
  }
}

// Aggregated votes become a row of the output; the class that the row belongs to.
template <class T>
size_t affine(const Ensemble& a, size_t trees, std::span<T> scores) {
  if (a.aggregate == Aggregate::average) {
    for (T& score : scores) score /= T(trees);
  }
  if (a.two_from_one) {
    T score = scores[0] + scores[1];  // one of them is +0
    if (!a.base.empty()) score += T(a.base.back());
    const bool opposite =
        a.transform == Transform::none ? !a.all_positive : a.transform != Transform::probit;
    scores[0] = opposite ? -score : T(1) - score;
    scores[1] = score;
  } else {
    for (size_t i = 0; i < a.base.size(); ++i) scores[i] += T(a.base[i]);
  }
  const size_t chosen = scores.size() == 1 ? scores[0] > 0 : largest(std::span<const T>(scores));
  apply(a.transform, scores);
  return chosen;
}

Status check_width(const Ensemble& a, const Rows& rows) {
  if (rows.width >= a.features() || rows.count == 0) return ok();
  return fail("SDX-R0648", "a tree reads feature {}, rows have {}", a.features() - 1, rows.width);
}

template <class T>
Status run(const Ensemble& a, const Forest<T>& forest, Args& args) {
  const Rows rows(args.in(0));
  SDX_TRY(check_width(a, rows));
  const size_t out = a.labels.count() != 0 ? 1 : 0;
  std::vector<T> row(rows.width), scores(a.targets);
  for (size_t n = 0; n < rows.count; ++n) {
    for (size_t i = 0; i < rows.width; ++i) row[i] = T(rows.at(n, i));
    std::fill(scores.begin(), scores.end(), T(0));
    if (a.aggregate == Aggregate::min || a.aggregate == Aggregate::max) {
      select(a, forest, row.data(), std::span<T>(scores));
    } else {
      for (size_t t = 0; t < forest.trees(); ++t) add(forest.votes(t, row.data()), scores.data());
    }
    const size_t chosen = affine(a, forest.trees(), std::span<T>(scores));
    if (out == 1 && args.wants(0)) a.labels.write(args.out(0), n, chosen);
    if (!args.wants(out)) continue;
    const View& y = args.out(out);
    visit_floats(y.type, [&]<class Y>() {
      for (size_t i = 0; i < a.targets; ++i) {
        y.data<Y>()[n * a.targets + i] = store<Y>(Compute<Y>(scores[i]));
      }
    });
  }
  return ok();
}

}  // namespace

Status run_ensemble(const Ensemble& a, Args& args) {
  return std::visit([&](const auto& forest) { return run(a, forest, args); }, a.forest);
}

bool blocks_fit(const Ensemble& a, const Call& call) {
  const size_t out = a.labels.count() != 0 ? 1 : 0;
  return std::holds_alternative<Forest<float>>(a.forest) && call.in[0].type == DType::f32 &&
         (a.aggregate == Aggregate::sum || a.aggregate == Aggregate::average) &&
         call.out.size() > out && call.out[out].present() && call.out[out].type == DType::f32;
}

Status run_blocks(const Ensemble& a, Args& args) {
  constexpr size_t kBlock = 64;
  const Forest<float>& forest = std::get<Forest<float>>(a.forest);
  const Rows rows(args.in(0));
  SDX_TRY(check_width(a, rows));
  const size_t out = a.labels.count() != 0 ? 1 : 0;
  const float* x = args.in(0).data<float>();
  float* y = args.out(out).data<float>();
  // A tree's nodes stay in the cache while it sees all rows of a block.
  const auto block = [&](size_t begin, size_t end) {
    std::fill(y + begin * a.targets, y + end * a.targets, 0.f);
    for (size_t tree = 0; tree < forest.trees(); ++tree) {
      size_t n = begin;
      for (; n + 8 <= end; n += 8) {
        std::span<const Vote<float>> votes[8];
        forest.votes8(tree, x + n * rows.width, rows.width, votes);
        for (size_t i = 0; i < 8; ++i) add(votes[i], y + (n + i) * a.targets);
      }
      for (; n < end; ++n) add(forest.votes(tree, x + n * rows.width), y + n * a.targets);
    }
    for (size_t n = begin; n < end; ++n) {
      const std::span<float> scores(y + n * a.targets, a.targets);
      const size_t chosen = affine(a, forest.trees(), scores);
      for (float& score : scores) score = store<float>(score);
      if (out == 1 && args.wants(0)) a.labels.write(args.out(0), n, chosen);
    }
  };
  const size_t blocks = (rows.count + kBlock - 1) / kBlock;
  args.pool->parallel(blocks, 1, [&](size_t first, size_t last, int) {
    for (size_t b = first; b < last; ++b) {
      block(b * kBlock, std::min((b + 1) * kBlock, rows.count));
    }
  });
  return ok();
}

}  // namespace sdx
