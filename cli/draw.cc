#include "draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/printable.h"

namespace sdx::cli {
namespace {

struct NodeBox {
  std::string title, name, type;
  std::vector<size_t> from;  // boxes whose wires it reads
  bool port = false;         // an input or output of the graph
  size_t layer = 0;
  double x = 0, y = 0, width = 0;
};

std::string escaped_label(std::string_view text, bool markup) {
  std::string out;
  for (const char c : printable(text)) {
    if (markup && c == '<') {
      out += "&lt;";
    } else if (markup && c == '>') {
      out += "&gt;";
    } else if (markup && c == '&') {
      out += "&amp;";
    } else if (!markup && (c == '"' || c == '\\')) {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
    }
  }
  return out;
}

std::string short_form(const std::string& text) {
  constexpr size_t kMost = 36;
  return text.size() <= kMost ? text : "…" + text.substr(text.size() - kMost);
}

std::string types_of(const Facts& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    if (fact.present()) text += (text.empty() ? "" : ", ") + fact.text();
  }
  return text;
}

// Constants are part of the operators that read them: a drawing of every weight shows nothing.
std::vector<NodeBox> boxes_of(const typed::Graph& graph) {
  std::vector<NodeBox> boxes;
  std::map<uint32_t, size_t> at;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    if (node.kind == typed::Node::Kind::constant) continue;
    NodeBox box;
    box.port = node.kind == typed::Node::Kind::source;
    box.title = box.port ? node.use.name : std::string(node.op().name);
    box.name = box.port ? "" : short_form(node.use.name);
    box.type = types_of(node.outputs);
    for (const typed::Outlet input : node.inputs) {
      const auto found = at.find(input.node);
      if (!input.present() || found == at.end()) continue;
      box.from.push_back(found->second);
      box.layer = std::max(box.layer, boxes[found->second].layer + 1);
    }
    at[id] = boxes.size();
    boxes.push_back(std::move(box));
  }
  for (const typed::Output& output : graph.outputs()) {
    NodeBox box;
    box.port = true;
    box.title = output.name;
    box.type = graph.fact(output.outlet).text();
    if (const auto found = at.find(output.outlet.node); found != at.end()) {
      box.from.push_back(found->second);
      box.layer = boxes[found->second].layer + 1;
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

constexpr double kLetter = 7.2, kLine = 15, kGapX = 24, kGapY = 34, kBorder = 12;

size_t lines_of(const NodeBox& box) {
  return 1 + (box.name.empty() ? 0 : 1) + (box.type.empty() ? 0 : 1);
}
double height_of(const NodeBox& box) { return 10 + kLine * double(lines_of(box)); }

// Layer by layer, each box below the middle of what it reads, as far as its neighbours let it.
void lay_out(std::vector<NodeBox>& boxes) {
  std::vector<std::vector<size_t>> layers;
  for (size_t i = 0; i < boxes.size(); ++i) {
    NodeBox& box = boxes[i];
    const size_t letters = std::max({box.title.size(), box.name.size(), box.type.size()});
    box.width = 20 + kLetter * double(letters);
    if (box.layer >= layers.size()) layers.resize(box.layer + 1);
    layers[box.layer].push_back(i);
  }
  double y = kBorder;
  for (auto& layer : layers) {
    const auto wish = [&](size_t i) {
      double sum = 0;
      for (const size_t from : boxes[i].from) sum += boxes[from].x;
      return boxes[i].from.empty() ? 0 : sum / double(boxes[i].from.size());
    };
    std::stable_sort(layer.begin(), layer.end(),
                     [&](size_t a, size_t b) { return wish(a) < wish(b); });
    double right = -1e9, height = 0, shift = 0;
    for (const size_t i : layer) {
      boxes[i].x = std::max(wish(i), right + kGapX + boxes[i].width / 2);
      shift += boxes[i].x - wish(i);
      right = boxes[i].x + boxes[i].width / 2;
      height = std::max(height, height_of(boxes[i]));
    }
    for (const size_t i : layer) {
      boxes[i].x -= shift / double(layer.size());
      boxes[i].y = y;
    }
    y += height + kGapY;
  }
  double left = 0;
  for (const NodeBox& box : boxes) left = std::min(left, box.x - box.width / 2);
  for (NodeBox& box : boxes) box.x += kBorder - left;
}

}  // namespace

std::string to_dot(const typed::Graph& graph) {
  const std::vector<NodeBox> boxes = boxes_of(graph);
  std::string text =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"sans-serif\"];\n",
                  escaped_label(graph.name, false));
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::string label = escaped_label(boxes[i].title, false);
    for (const std::string& line : {boxes[i].name, boxes[i].type}) {
      if (!line.empty()) label += "\\n" + escaped_label(line, false);
    }
    text +=
        fmt::format("  n{} [label=\"{}\"{}];\n", i, label, boxes[i].port ? ", style=rounded" : "");
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (const size_t from : boxes[i].from) text += fmt::format("  n{} -> n{};\n", from, i);
  }
  return text + "}\n";
}

std::string to_svg(const typed::Graph& graph) {
  std::vector<NodeBox> boxes = boxes_of(graph);
  lay_out(boxes);
  double width = 0, height = 0;
  for (const NodeBox& box : boxes) {
    width = std::max(width, box.x + box.width / 2);
    height = std::max(height, box.y + height_of(box));
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" "
      "text-anchor=\"middle\">\n<title>{2}</title>\n"
      "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#777\"/></marker>"
      "</defs>\n",
      width + kBorder, height + kBorder, escaped_label(graph.name, true));
  for (const NodeBox& box : boxes) {
    for (const size_t from : box.from) {
      const NodeBox& above = boxes[from];
      const double y0 = above.y + height_of(above), y1 = box.y, bend = (y1 - y0) / 2;
      text += fmt::format(
          "<path d=\"M{:.0f},{:.0f} C{:.0f},{:.0f} {:.0f},{:.0f} {:.0f},{:.0f}\" fill=\"none\" "
          "stroke=\"#777\" marker-end=\"url(#a)\"/>\n",
          above.x, y0, above.x, y0 + bend, box.x, y1 - bend, box.x, y1);
    }
  }
  for (const NodeBox& box : boxes) {
    text += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"{}\" "
        "fill=\"{}\" stroke=\"#555\"/>\n",
        box.x - box.width / 2, box.y, box.width, height_of(box), box.port ? 12 : 3,
        box.port ? "#eef6ff" : "#fff8ec");
    double y = box.y + kLine + 2;
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", box.x,
                        y, escaped_label(box.title, true));
    for (const std::string& line : {box.name, box.type}) {
      if (line.empty()) continue;
      y += kLine;
      text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"#555\">{}</text>\n", box.x, y,
                          escaped_label(line, true));
    }
  }
  return text + "</svg>\n";
}

}  // namespace sdx::cli
