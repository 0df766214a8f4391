// NonMaxSuppression.
#include <algorithm>

#include "base/deadline.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

struct NonMaxSuppression {
  bool centre;  // boxes are (x centre, y centre, width, height), not two corners (y, x, y, x)
};

constexpr Version kHistory[] = {
    {10,
     "(boxes: f32, scores: f32, max_output_boxes_per_class?: i64, iou_threshold?: f32, "
     "score_threshold?: "
     "f32) -> (selected_indices: i64) {center_point_box: int = 0}"},
    {11, ""},
};

Result<NonMaxSuppression> read(const Node& node, const Facts&) {
  return NonMaxSuppression{node.i("center_point_box") != 0};
}

Status check(std::span<const int64_t> boxes, std::span<const int64_t> scores) {
  if (boxes.size() == 3 && scores.size() == 3 && boxes[2] == 4 && boxes[0] == scores[0] &&
      boxes[1] == scores[2]) {
    return ok();
  }
  return fail("SDX-T0810",
              "boxes of shape {} and scores of shape {}; expected [batches, boxes, 4] and "
              "[batches, classes, boxes]",
              to_string(boxes), to_string(scores));
}

Result<Facts> infer(const NonMaxSuppression&, const Facts& in) {
  if (in[0].is_concrete() && in[1].is_concrete()) SDX_TRY(check(in[0].dims(), in[1].dims()));
  return Facts{Fact::tensor(DType::i64, {Dim::unknown(), Dim(3)})};
}

struct Box {
  float x0, y0, x1, y1;
};

Box box_at(const NonMaxSuppression& a, const float* p) {
  if (a.centre) {
    const float w = p[2] / 2, h = p[3] / 2;
    return {p[0] - w, p[1] - h, p[0] + w, p[1] + h};
  }
  return {std::min(p[1], p[3]), std::min(p[0], p[2]), std::max(p[1], p[3]), std::max(p[0], p[2])};
}

// Whether intersection / union > threshold, with union = (area a + area b) - intersection.
bool overlap(const Box& a, const Box& b, float threshold) {
  const float x0 = std::max(a.x0, b.x0), x1 = std::min(a.x1, b.x1);
  const float y0 = std::max(a.y0, b.y0), y1 = std::min(a.y1, b.y1);
  if (!(x1 > x0) || !(y1 > y0)) return false;
  const float common = (x1 - x0) * (y1 - y0);
  const float area_a = (a.x1 - a.x0) * (a.y1 - a.y0), area_b = (b.x1 - b.x0) * (b.y1 - b.y0);
  const float both = area_a + area_b - common;
  if (!(common > 0) || !(area_a > 0) || !(area_b > 0) || !(both > 0)) return false;
  return common / both > threshold;
}

// For each batch and class: boxes with a score above the threshold, by falling score (equal ones by
// rising index), each kept unless it overlaps one kept before. A NaN score is never above a
// threshold, and without one comes last.
Status reference(const NonMaxSuppression& a, Args& args) {
  const View &boxes = args.in(0), &scores = args.in(1);
  SDX_TRY(check(boxes.dims, scores.dims));
  const auto given = [&](size_t i) { return args.has(i) && args.in(i).count > 0; };
  const int64_t most = given(2) ? *args.in(2).data<int64_t>() : 0;
  const float iou = given(3) ? *args.in(3).data<float>() : 0;
  const size_t batches = size_t(boxes.dims[0]), count = size_t(boxes.dims[1]),
               classes = size_t(scores.dims[1]);
  std::vector<int64_t> selected;
  std::vector<size_t> order;
  std::vector<Box> kept;
  for (size_t batch = 0; most > 0 && batch < batches; ++batch) {
    const float* corner = boxes.data<float>() + batch * count * 4;
    for (size_t c = 0; c < classes; ++c) {
      const float* score = scores.data<float>() + (batch * classes + c) * count;
      order.clear();
      kept.clear();
      for (size_t i = 0; i < count; ++i) {
        if (!given(4) || score[i] > *args.in(4).data<float>()) order.push_back(i);
      }
      const auto before = [&](size_t i, size_t j) {
        if (score[i] > score[j] || score[j] > score[i]) return score[i] > score[j];
        const bool number_i = score[i] == score[i], number_j = score[j] == score[j];
        return number_i == number_j ? i < j : number_i;
      };
      // Most often few of the boxes are looked at: so many are put in order at a time.
      size_t sorted = 0, more = size_t(std::min<int64_t>(most, int64_t(order.size()))) + 32;
      for (size_t next = 0; next < order.size() && int64_t(kept.size()) < most; ++next) {
        if (next == sorted) {
          sorted = std::min(order.size(), sorted + more);
          more *= 2;
          const auto from = order.begin() + ptrdiff_t(next);
          if (sorted == order.size()) {
            std::sort(from, order.end(), before);
          } else {
            std::partial_sort(from, order.begin() + ptrdiff_t(sorted), order.end(), before);
          }
        }
        const size_t i = order[next];
        const Box box = box_at(a, corner + i * 4);
        const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
          Deadline::step();
          return overlap(box, other, iou);
        });
        if (covered) continue;
        kept.push_back(box);
        selected.insert(selected.end(), {int64_t(batch), int64_t(c), int64_t(i)});
      }
    }
  }
  SDX_ASSIGN(const View out, output(args, 0, {int64_t(selected.size() / 3), 3}));
  std::copy(selected.begin(), selected.end(), out.data<int64_t>());
  return ok();
}

std::vector<Case> cases() {
  // A hundred boxes in one place, and then others elsewhere.
  std::vector<float> corners;
  for (int i = 0; i < 200; ++i) {
    const float at = i < 100 ? 0.0f : float(2 * i);
    corners.insert(corners.end(), {at, at, at + 1, at + 1});
  }
  const std::vector<float> scores(200, 0.5f);
  return {{.name = "equal_scores_of_many_boxes_go_by_index",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 200, 4}, std::span(std::as_const(corners))),
                      Tensor::of<float>({1, 1, 200}, std::span(scores)),
                      Tensor::of<int64_t>({1}, {3}), Tensor::of<float>({1}, {0.5f})},
           .expected = {Tensor::of<int64_t>({3, 3}, {0, 0, 0, 0, 0, 100, 0, 0, 101})}}};
}

constexpr OpOf<NonMaxSuppression> kNonMaxSuppression{
    .name = "NonMaxSuppression",
    .doc = "The boxes of each class with the best scores that do not overlap too much.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op non_max_suppression = erase<kNonMaxSuppression>();

}  // namespace sdx::ops
