#include "picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/printable.h"

namespace sdx::cli {
namespace {

constexpr double kWidth = 150, kHeight = 36, kGap = 18, kThin = 6, kLayer = 62, kMargin = 12;
constexpr size_t kMostBends = 20000;

// A box, or a bend of an edge that passes a layer.
struct Spot {
  size_t layer = 0;
  bool bend = false;
  double x = 0, wish = 0;
  std::vector<size_t> up, down;
  double width() const { return bend ? kThin : kWidth; }
};

class Layout {
 public:
  explicit Layout(const std::vector<Box>& boxes) : spots(boxes.size()) {
    for (size_t i = 0; i < boxes.size(); ++i) {
      for (const size_t from : boxes[i].inputs) {
        spots[i].layer = std::max(spots[i].layer, spots[from].layer + 1);
      }
    }
    for (size_t i = 0; i < boxes.size(); ++i) {
      std::vector<size_t> sources = boxes[i].inputs;
      std::sort(sources.begin(), sources.end());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
      for (const size_t from : sources) connect(from, i);
    }
    size_t layers = 0;
    for (const Spot& spot : spots) layers = std::max(layers, spot.layer + 1);
    rows.resize(layers);
    for (size_t i = 0; i < spots.size(); ++i) rows[spots[i].layer].push_back(i);
    for (auto& row : rows) spread(row);
    for (int sweep = 0; sweep < 12; ++sweep) settle(sweep % 2 == 0, sweep < 8);
  }

  std::vector<Spot> spots;
  std::vector<std::vector<size_t>> rows;

 private:
  void connect(size_t from, size_t to) {
    size_t last = from;
    const size_t end = spots[to].layer;
    for (size_t layer = spots[from].layer + 1; layer < end && spots.size() < kMostBends; ++layer) {
      Spot bend;
      bend.layer = layer;
      bend.bend = true;
      spots.push_back(bend);
      join(last, spots.size() - 1);
      last = spots.size() - 1;
    }
    join(last, to);
  }
  void join(size_t from, size_t to) {
    spots[from].down.push_back(to);
    spots[to].up.push_back(from);
  }
  // Side by side, around zero.
  void spread(const std::vector<size_t>& row) {
    double total = -kGap;
    for (const size_t i : row) total += spots[i].width() + kGap;
    double x = -total / 2;
    for (const size_t i : row) {
      spots[i].x = x + spots[i].width() / 2;
      x += spots[i].width() + kGap;
    }
  }
  // Every spot moves towards its neighbours of the layer before (or after), as far as the others
  // of its layer let it.
  void settle(bool downwards, bool reorder) {
    for (size_t k = 0; k < rows.size(); ++k) {
      std::vector<size_t>& row = rows[downwards ? k : rows.size() - 1 - k];
      for (const size_t i : row) {
        const auto& near = downwards ? spots[i].up : spots[i].down;
        spots[i].wish = spots[i].x;
        if (near.empty()) continue;
        double sum = 0;
        for (const size_t other : near) sum += spots[other].x;
        spots[i].wish = sum / static_cast<double>(near.size());
      }
      if (reorder) {
        std::stable_sort(row.begin(), row.end(),
                         [&](size_t a, size_t b) { return spots[a].wish < spots[b].wish; });
      }
      // Leftmost and rightmost packings; the mean of both keeps the order and the gaps.
      std::vector<double> left(row.size()), right(row.size());
      for (size_t at = 0; at < row.size(); ++at) {
        const Spot& spot = spots[row[at]];
        left[at] = spot.wish;
        if (at > 0) {
          left[at] = std::max(left[at], left[at - 1] + apart(row[at - 1], row[at]));
        }
      }
      for (size_t at = row.size(); at-- > 0;) {
        right[at] = spots[row[at]].wish;
        if (at + 1 < row.size()) {
          right[at] = std::min(right[at], right[at + 1] - apart(row[at], row[at + 1]));
        }
      }
      for (size_t at = 0; at < row.size(); ++at) spots[row[at]].x = (left[at] + right[at]) / 2;
    }
  }
  double apart(size_t a, size_t b) const {
    return (spots[a].width() + spots[b].width()) / 2 + kGap;
  }
};

std::string_view class_of(Box::Look look) {
  switch (look) {
    case Box::Look::input:
      return "in";
    case Box::Look::output:
      return "out";
    case Box::Look::note:
      return "note";
    case Box::Look::warning:
      return "warning";
    case Box::Look::error:
      return "error";
    default:
      return "node";
  }
}

std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "\u2026";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, true)) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string draw(const std::vector<Box>& boxes) {
  const Layout layout(boxes);
  double low = 0, high = 0;
  for (const Spot& spot : layout.spots) {
    low = std::min(low, spot.x - spot.width() / 2);
    high = std::max(high, spot.x + spot.width() / 2);
  }
  const double width = high - low + 2 * kMargin;
  const double height = static_cast<double>(layout.rows.size()) * kLayer + 2 * kMargin;
  const auto x = [&](const Spot& spot) { return spot.x - low + kMargin; };
  const auto top = [&](const Spot& spot) {
    return static_cast<double>(spot.layer) * kLayer + kMargin;
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n",
      width, height);
  for (const Spot& spot : layout.spots) {
    for (const size_t to : spot.down) {
      const Spot& end = layout.spots[to];
      const double y0 = top(spot) + kHeight, y1 = top(end) + (end.bend ? kHeight : 0);
      const double y2 = end.bend ? top(end) : y1;
      svg += fmt::format(
          "<path class=\"edge\" d=\"M{:.0f},{:.0f} C{:.0f},{:.0f} {:.0f},{:.0f} "
          "{:.0f},{:.0f}{}\"/>\n",
          x(spot), y0, x(spot), y0 + 14, x(end), y2 - 14, x(end), y2,
          end.bend ? fmt::format(" V{:.0f}", y1) : "");
    }
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Spot& spot = layout.spots[i];
    const Box& box = boxes[i];
    const bool end = box.look == Box::Look::input || box.look == Box::Look::output;
    svg += fmt::format(
        "<g class=\"{}\"><title>{}</title><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" rx=\"{}\"/><text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>",
        class_of(box.look), escaped(box.tip), x(spot) - kWidth / 2, top(spot), kWidth, kHeight,
        end ? 16 : 3, x(spot), top(spot) + 15, escaped(cut(box.title, 22)));
    svg += fmt::format("<text class=\"small\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text></g>\n", x(spot),
                       top(spot) + 29, escaped(cut(box.subtitle, 28)));
  }
  return svg + "</svg>\n";
}

}  // namespace sdx::cli
