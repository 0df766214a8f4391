#include "opset_flag.h"

#include <fmt/ranges.h>

#include <charconv>
#include <cstdio>

#include "model/names.h"
#include "same_answers.h"

namespace sdx::cli {

Result<opsets::Wanted> read_opset(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string number = equals == std::string::npos ? text : text.substr(equals + 1);
  opsets::Wanted wanted;
  if (equals != std::string::npos) wanted.domain = model::canonical(text.substr(0, equals));
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), wanted.version);
  if (error != std::errc{} || end != number.data() + number.size())
    return fail("SDX-C0174", "--opset {}: expected a version, or DOMAIN=VERSION", text);
  return wanted;
}

void OpsetFlags::add_to(CommandLine& app) {
  app.option("--opset", opset,
             "the version of ai.onnx to write it in, older or newer; both models then run and must "
             "give equal digests, and what that version cannot say is named")
      .called("[DOMAIN=]N");
  app.flag("--no-proof", unproved, "with --opset: do not run both models");
  inputs.add_to(app);
}

Result<model::Model> OpsetFlags::write(const model::Model& model, const LimitFlags& limits) const {
  SDX_ASSIGN(const opsets::Wanted wanted, read_opset(opset));
  SDX_ASSIGN(opsets::Written written, opsets::in_opset(model, wanted));
  if (!unproved) {
    SDX_ASSIGN(const Answers answers,
               answers_of(std::make_shared<const model::Model>(model),
                          std::make_shared<const model::Model>(written.model), inputs, limits));
    if (!answers.equal()) {
      if (written.expanded.empty())
        return fail("SDX-C0175", "the model gives other answers when written in {} {}",
                    model::shown(wanted.domain), wanted.version);
      return fail("SDX-C0175",
                  "{} {} does not have what {} needs; written as ONNX's function for it, the model "
                  "gives other bits",
                  model::shown(wanted.domain), wanted.version, fmt::join(written.expanded, ", "));
    }
  }
  std::fprintf(stderr, "%s %lld: %zu nodes written otherwise, %zu added%s\n",
               std::string(model::shown(wanted.domain)).c_str(),
               static_cast<long long>(wanted.version), written.changed, written.added,
               unproved ? "" : "; equal digests");
  return std::move(written.model);
}

}  // namespace sdx::cli
