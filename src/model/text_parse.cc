// Text to a model: its fields, functions, graphs and nodes.
#include "base/text_place.h"
#include "model/text.h"
#include "model/text_parser.h"
#include "model/walk.h"

namespace sdx::model {

Status TextParser::model(Model& m) {
  if (in_.take("<")) {
    do {
      const size_t start = (in_.skip(), in_.at());
      SDX_ASSIGN(const std::string_view key, in_.need_identifier());
      SDX_TRY(in_.expect(":"));
      if (key == "ir_version") {
        SDX_TRY(number(m, &Model::ir_version));
      } else if (key == "model_version") {
        SDX_TRY(number(m, &Model::model_version));
      } else if (key == "opset_import") {
        SDX_TRY(imports(m.opset_import));
      } else if (key == "producer_name") {
        SDX_TRY(words(m, &Model::producer_name));
      } else if (key == "producer_version") {
        SDX_TRY(words(m, &Model::producer_version));
      } else if (key == "domain") {
        SDX_TRY(words(m, &Model::domain));
      } else if (key == "doc_string") {
        SDX_TRY(words(m, &Model::doc_string));
      } else if (key == "metadata_props") {
        SDX_TRY(in_.expect("["));
        if (!in_.take("]")) {
          SDX_TRY(parse_entries(in_, m.metadata_props));
          SDX_TRY(in_.expect("]"));
        }
      } else {
        in_.go_to(start);
        return in_.unexpected("a field of the model such as ir_version or opset_import");
      }
    } while (in_.take(","));
    SDX_TRY(in_.expect(">"));
  }
  SDX_ASSIGN(std::string name, in_.name());
  SDX_TRY(graph(std::move(name), m.graph.emplace()));
  while (!in_.at_end() && in_.peek() != '#') SDX_TRY(function(m.functions.emplace_back()));
  SDX_TRY(extension("model", m));
  return in_.at_end() ? ok() : stray();
}

Status TextParser::functions(std::vector<Function>& list) {
  while (!in_.at_end()) SDX_TRY(function(list.emplace_back()));
  return ok();
}

Error TextParser::stray() {
  return fail("SDX-M0102", "\"{}\" does not belong here",
              in_.text().substr(in_.at(), in_.text().find_first_of(" \n", in_.at()) - in_.at()));
}

Status TextParser::imports(std::vector<OpsetId>& list) {
  SDX_TRY(in_.expect("["));
  if (in_.take("]")) return ok();
  do {
    OpsetId& import = list.emplace_back();
    SDX_TRY(words(import, &OpsetId::domain));
    SDX_TRY(in_.expect(":"));
    SDX_TRY(number(import, &OpsetId::version));
  } while (in_.take(","));
  return in_.expect("]");
}

Status TextParser::function(Function& f) {
  if (in_.take("<")) {
    do {
      const size_t start = (in_.skip(), in_.at());
      SDX_ASSIGN(const std::string_view key, in_.need_identifier());
      SDX_TRY(in_.expect(":"));
      if (key == "opset_import") {
        SDX_TRY(imports(f.opset_import));
      } else if (key == "domain") {
        SDX_TRY(words(f, &Function::domain));
      } else if (key == "overload") {
        SDX_TRY(words(f, &Function::overload));
      } else if (key == "doc_string") {
        SDX_TRY(words(f, &Function::doc_string));
      } else {
        in_.go_to(start);
        return in_.unexpected("domain, overload, opset_import or doc_string");
      }
    } while (in_.take(","));
    SDX_TRY(in_.expect(">"));
  }
  SDX_ASSIGN(std::string name, in_.name());
  put_name(f, &Function::name, std::move(name));
  if (in_.take("<") && !in_.take(">")) {
    do {
      SDX_ASSIGN(std::string parameter, in_.name());
      if (in_.peek() == ':' || in_.peek() == '=') {
        SDX_TRY(attribute(f.attribute_proto.emplace_back(), std::move(parameter)));
      } else {
        f.attribute.push_back(std::move(parameter));
      }
    } while (in_.take(","));
    SDX_TRY(in_.expect(">"));
  }
  SDX_TRY(parameters(f.input, f.value_info));
  SDX_TRY(in_.expect("=>"));
  SDX_TRY(parameters(f.output, f.value_info));
  if (in_.take("<") && !in_.take(">")) {
    SDX_TRY(values(f.value_info));
    SDX_TRY(in_.expect(">"));
  }
  SDX_TRY(nodes(f.node));
  return extension("function", f);
}

Status TextParser::parameters(std::vector<std::string>& list, std::vector<ValueInfo>& infos) {
  SDX_TRY(in_.expect("("));
  if (in_.take(")")) return ok();
  do {
    ValueInfo info;
    SDX_TRY(value(info));
    list.push_back(info.name);
    if (info.type) infos.push_back(std::move(info));
  } while (in_.take(","));
  return in_.expect(")");
}

Status TextParser::names(std::vector<std::string>& list) {
  while (in_.name_ahead() || in_.peek() == ',') {
    if (in_.peek() == ',') {
      list.emplace_back();
    } else {
      SDX_ASSIGN(std::string name, in_.name());
      list.push_back(std::move(name));
    }
    if (!in_.take(",")) break;
  }
  return ok();
}

Status TextParser::node(Node& n) {
  if (++nodes_ > in_.limits.nodes) {
    return fail("SDX-M0101", "more than {} nodes", in_.limits.nodes);
  }
  if (in_.take("[")) {
    SDX_ASSIGN(std::string name, in_.name());
    set(n, &Node::name, std::move(name));
    SDX_TRY(in_.expect("]"));
  }
  SDX_TRY(names(n.output));
  SDX_TRY(in_.expect("="));
  SDX_ASSIGN(std::string operation, dotted());
  const size_t dot = operation.rfind('.');
  if (dot != operation.npos) {
    set(n, &Node::domain, operation.substr(0, dot));
    operation.erase(0, dot + 1);
  }
  set(n, &Node::op_type, std::move(operation));
  if (in_.take(":")) {
    SDX_ASSIGN(const std::string_view overload, in_.need_identifier());
    set(n, &Node::overload, std::string(overload));
  }
  SDX_TRY(attributes(n.attribute));
  SDX_TRY(in_.expect("("));
  SDX_TRY(names(n.input));
  SDX_TRY(in_.expect(")"));
  if (n.attribute.empty()) SDX_TRY(attributes(n.attribute));
  return extension("node", n);
}

Status TextParser::nodes(std::vector<Node>& list) {
  SDX_TRY(in_.expect("{"));
  while (!in_.take("}")) {
    if (in_.at_end()) return in_.unexpected("a node or \"}\"");
    if (in_.peek() == '#') return stray();
    SDX_TRY(node(list.emplace_back()));
  }
  return ok();
}

Status TextParser::graph(std::string name, Graph& g) {
  SDX_TRY(in_.descend());
  put_name(g, &Graph::name, std::move(name));
  SDX_TRY(in_.expect("("));
  if (!in_.take(")")) {
    do {
      SDX_TRY(value_or_initializer(g.input, g.initializer, true));
    } while (in_.take(","));
    SDX_TRY(in_.expect(")"));
  }
  SDX_TRY(in_.expect("=>"));
  SDX_TRY(in_.expect("("));
  if (!in_.take(")")) {
    SDX_TRY(values(g.output));
    SDX_TRY(in_.expect(")"));
  }
  if (in_.take("<") && !in_.take(">")) {
    do {
      SDX_TRY(value_or_initializer(g.value_info, g.initializer, false));
    } while (in_.take(","));
    SDX_TRY(in_.expect(">"));
  }
  SDX_TRY(nodes(g.node));
  in_.ascend();
  return extension("graph", g);
}

Result<Model> parse_text(std::string_view text, const Limits& limits, std::string_view file,
                         std::shared_ptr<ExternalFiles> files) {
  TextParser parser(text, limits);
  Model model;
  if (Status status = parser.model(model); !status) {
    return at_place(std::move(status).error(), text, parser.at(), file);
  }
  SDX_TRY(each_tensor(model, [&](TensorData& tensor) -> Status {
    if (tensor.data_location == DataLocation::external) tensor.files = files;
    return ok();
  }));
  return model;
}

Result<std::vector<Function>> parse_functions(std::string_view text, const Limits& limits,
                                              std::string_view file) {
  TextParser parser(text, limits);
  std::vector<Function> functions;
  if (Status status = parser.functions(functions); !status) {
    return at_place(std::move(status).error(), text, parser.at(), file);
  }
  return functions;
}

}  // namespace sdx::model
