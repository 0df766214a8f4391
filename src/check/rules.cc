#include "check/rules.h"

#include <fmt/format.h>

#include "check/accept/accept.h"

namespace sdx::check {
namespace {

constexpr const Rule* kRules[] = {&rule::ir_version,
                                  &rule::opset_missing,
                                  &rule::opset_conflict,
                                  &rule::opset_repeated,
                                  &rule::opset_version,
                                  &rule::opset_unknown,
                                  &rule::graph_missing,
                                  &rule::metadata_repeated,
                                  &rule::inner_metadata_repeated,
                                  &rule::newer_feature,
                                  &rule::newer_detail,
                                  &rule::text_encoding,

                                  &rule::graph_name,
                                  &rule::value_name,
                                  &rule::single_assignment,
                                  &rule::input_repeated,
                                  &rule::output_repeated,
                                  &rule::initializer_repeated,
                                  &rule::value_info_repeated,
                                  &rule::output_undefined,
                                  &rule::input_undefined,
                                  &rule::order,
                                  &rule::cycle,
                                  &rule::shadowing,
                                  &rule::initializer_not_input,
                                  &rule::subgraph_default,
                                  &rule::default_type,
                                  &rule::identifier,
                                  &rule::node_name_repeated,
                                  &rule::value_info_conflict,
                                  &rule::value_info_unknown,
                                  &rule::graph_without_outputs,

                                  &rule::op_type_missing,
                                  &rule::no_outputs,
                                  &rule::domain_not_imported,
                                  &rule::operator_unknown,
                                  &rule::operator_foreign,
                                  &rule::operator_too_new,
                                  &rule::operator_deprecated,
                                  &rule::input_count,
                                  &rule::output_count,
                                  &rule::input_left_out,
                                  &rule::output_left_out,
                                  &rule::branches,
                                  &rule::experimental,
                                  &rule::body_signature,
                                  &rule::input_type,
                                  &rule::output_type,
                                  &rule::body_scalars,

                                  &rule::attribute_name,
                                  &rule::attribute_repeated,
                                  &rule::attribute_type,
                                  &rule::attribute_value,
                                  &rule::attribute_unknown,
                                  &rule::attribute_kind,
                                  &rule::attribute_required,
                                  &rule::reference_outside,
                                  &rule::reference_unknown,
                                  &rule::attribute_text,

                                  &rule::type_missing,
                                  &rule::element_type,
                                  &rule::shape_missing,
                                  &rule::type_incomplete,
                                  &rule::dim_negative,
                                  &rule::dim_name,
                                  &rule::tensor_dims,
                                  &rule::tensor_storage,
                                  &rule::tensor_size,
                                  &rule::tensor_values,
                                  &rule::tensor_segment,
                                  &rule::external_data,
                                  &rule::sparse_tensor,
                                  &rule::tensor_text,
                                  &rule::data_location,

                                  &rule::function_name,
                                  &rule::function_repeated,
                                  &rule::parameter_repeated,
                                  &rule::recursion,
                                  &rule::function_versions,

                                  &rule::annotation,
                                  &rule::binding_key,
                                  &rule::binding_value,
                                  &rule::device_configuration,
                                  &rule::node_configuration,
                                  &rule::sharding,
                                  &rule::initialization_inputs,

                                  &rule::sonnx_c2,
                                  &rule::sonnx_r1,
                                  &rule::sonnx_r2,
                                  &rule::sonnx_f3,
                                  &rule::sonnx_p1,

                                  &rule::sonnx_gr1,
                                  &rule::sonnx_gr2,
                                  &rule::sonnx_gr3,
                                  &rule::sonnx_gr4,
                                  &rule::sonnx_n1,
                                  &rule::sonnx_n2,
                                  &rule::sonnx_op,
                                  &rule::sonnx_type,
                                  &rule::sonnx_conv,
                                  &rule::sonnx_pool,
                                  &rule::sonnx_gemm,
                                  &rule::sonnx_arg,
                                  &rule::sonnx_bn,
                                  &rule::sonnx_const,
                                  &rule::sonnx_lstm,
                                  &rule::sonnx_ql,
                                  &rule::sonnx_range};

// The title that stands before a rule, if a part of the page starts with it.
std::string_view title_before(const Rule& rule) {
  const std::pair<const Rule*, std::string_view> titles[] = {
      {&rule::ir_version, "Models"},
      {&rule::graph_name, "Graphs and names"},
      {&rule::op_type_missing, "Nodes"},
      {&rule::attribute_name, "Attributes"},
      {&rule::type_missing, "Types and tensors"},
      {&rule::function_name, "Functions"},
      {&rule::annotation, "Annotations, training, devices"},
      {&rule::sonnx_c2, "SONNX: graph rules (`--profile sonnx`)"},
      {&rule::sonnx_gr1, "SONNX: restrictions of later drafts (`--profile sonnx-full`)"}};
  for (const auto& [first, title] : titles) {
    if (first == &rule) return title;
  }
  return {};
}

struct Reason {
  std::string_view code;  // of a rule, or what the codes of a part start with
  std::string_view text;
};

// The first that fits counts.
constexpr Reason kReasons[] = {
    {"SONNX-C2", "an input that nothing reads is a sign of a graph that lost a part"},
    {"SONNX-R1", "a result that nobody uses is code that can be neither tested nor justified"},
    {"SONNX-R2", "an answer that cannot be repeated cannot be verified"},
    {"SONNX-F3", "a subgraph that reads outer values is no function of its inputs alone"},
    {"SONNX-P1", "what enters and what leaves must be told apart, so that memory is never shared"},
    {"SONNX-GR1", "one representation of a tensor needs one implementation to be verified"},
    {"SONNX-GR2", "a type that must be deduced can be deduced differently"},
    {"SONNX-GR3", "a conversion that is not written cannot be reviewed"},
    {"SONNX-GR4", "a default depends on the version of the operator set that the reader knows"},
    {"SONNX-N1", "an input that is left out means a default that the reader has to know"},
    {"SONNX-N2", "a node off every path computes nothing that the model's answer depends on"},
    {"SONNX-OP", "only these operators have a formal specification in the profile"},
    {"SONNX-TYPE", "only these types have a formal specification in the profile"},
    {"SONNX-", "the formal specification of the operator covers this case only"},
    {"SDX-K01", "a reader decides by these fields whether it can execute the model at all"},
    {"SDX-K02",
     "a name must mean one value to every reader, and values must be computable in order"},
    {"SDX-K03",
     "a node means something only if its operator exists and is called as it is declared"},
    {"SDX-K04", "an attribute that a reader ignores or misreads changes the answer without a word"},
    {"SDX-K05", "types and stored elements are what memory is sized by and what weights are"},
    {"SDX-K06", "a call must have exactly one body, which comes to an end"},
    {"SDX-K07", "what stands beside the computation must refer to what is in the model"}};

constexpr std::string_view kOpening =
    R"(# The rules of `sardonyx check`

Printed from src/check/rules.h; a test compares. A code never changes its meaning. Errors make a
model invalid (exit code 1), warnings and notes do not. The column SONNX names the rule of that
profile that says the same; under `--profile sonnx` the diagnostic prints it too.

What typing finds after these rules pass (shapes that do not fit, value_info that conflicts) has
codes that start with SDX-T or SDX-G.
)";

constexpr std::string_view kAccepted = R"(
## Accepted to run

`check` judges by the rules above. Loading a model to run it takes what breaks one of these rules and has exactly one
meaning all the same, and says so once (`accepted with 3 deviations: ...`); with `--accept strict`, and under a profile,
it does not. `fix` writes a model that keeps the rules. What is not here, or is still wrong when it is read so, is an error.

| code | how the model is then read |
|---|---|
)";

}  // namespace

std::string_view name_of(Severity severity) {
  constexpr std::string_view kNames[] = {"note", "warning", "error"};
  return kNames[static_cast<size_t>(severity)];
}

std::span<const Rule* const> all_rules() { return kRules; }

const Rule* find_rule(std::string_view code) {
  for (const Rule* rule : kRules) {
    if (rule->code == code) return rule;
  }
  return nullptr;
}

std::string_view rationale(const Rule& rule) {
  for (const Reason& reason : kReasons) {
    if (rule.code.starts_with(reason.code)) return reason.text;
  }
  return {};
}

std::string rules_page() {
  std::string page(kOpening);
  for (const Rule* rule : kRules) {
    if (const std::string_view title = title_before(*rule); !title.empty()) {
      page += fmt::format(
          "\n## {}\n\n| code | severity | rule | why | origin | SONNX "
          "|\n|---|---|---|---|---|---|\n",
          title);
    }
    page += fmt::format("| {} | {} | {} | {} | {} | {} |\n", rule->code, name_of(rule->severity),
                        rule->text, rationale(*rule), rule->origin, rule->sonnx);
  }
  page += kAccepted;
  for (const accept::Reading& reading : accept::readings()) {
    page += fmt::format("| {} | {} |\n", reading.rule->code, reading.meaning);
  }
  return page;
}

}  // namespace sdx::check
