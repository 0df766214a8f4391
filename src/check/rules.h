// The rules a model is checked against: one constant each, with its stable code, severity, text and
// origin. docs/rules.md is printed from this list.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sdx::check {

enum class Severity { note, warning, error };
std::string_view name_of(Severity severity);  // "error"

struct Rule {
  std::string_view code;
  Severity severity;
  std::string_view text;
  std::string_view origin;      // a section of ONNX's IR.md, or of the SONNX documents
  std::string_view sonnx = {};  // the SONNX rule that says the same
};

// In the order of docs/rules.md.
std::span<const Rule* const> all_rules();
const Rule* find_rule(std::string_view code);
// Why there is such a rule, in a sentence.
std::string_view rationale(const Rule& rule);
// docs/rules.md.
std::string rules_page();

namespace rule {

using enum Severity;

// The model.
inline constexpr Rule ir_version{
    "SDX-K0101", error, "ir_version is present and is a version from 1 to 14", "IR.md, Models"};
inline constexpr Rule opset_missing{
    "SDX-K0102", error,
    "a model of IR version 3 or later imports operator sets; an earlier one imports none",
    "IR.md, Operator Sets"};
inline constexpr Rule opset_conflict{"SDX-K0103", error, "no domain is imported in two versions",
                                     "IR.md, Operator Set Identifiers"};
inline constexpr Rule opset_repeated{"SDX-K0104", warning, "a domain is imported once",
                                     "IR.md, Operator Set Identifiers"};
inline constexpr Rule opset_version{
    "SDX-K0105", error,
    "an imported version of a known domain is one that was published and is known here",
    "IR.md, Operator Sets"};
inline constexpr Rule opset_unknown{
    "SDX-K0106", warning, "an imported domain is known here or has functions in the model",
    "IR.md, Operator Sets"};
inline constexpr Rule graph_missing{"SDX-K0107", error, "the model has a graph", "IR.md, Models"};
inline constexpr Rule metadata_repeated{
    "SDX-K0108", error, "keys of the model's metadata are distinct", "IR.md, Models"};
inline constexpr Rule inner_metadata_repeated{
    "SDX-K0109", warning, "keys of metadata of graphs, nodes, functions and values are distinct",
    "IR.md, Other Metadata"};
inline constexpr Rule newer_feature{
    "SDX-K0110", error,
    "element types, optional and sparse types, functions, overloads, default attributes, sparse "
    "initializers, training information and device configurations exist in the IR version that the "
    "model states",
    "onnx.proto, Version"};
inline constexpr Rule newer_detail{
    "SDX-K0111", warning,
    "metadata, annotations and value_info of functions exist in the IR version that the model "
    "states",
    "onnx.proto, Version"};
inline constexpr Rule text_encoding{"SDX-K0112", error, "names are UTF-8",
                                    "onnx.proto, fields of type string"};

// Graphs and names.
inline constexpr Rule graph_name{"SDX-K0201", error, "a graph has a name", "IR.md, Graphs"};
inline constexpr Rule value_name{
    "SDX-K0202", error, "an input, output, initializer or value_info has a name", "IR.md, Graphs"};
inline constexpr Rule single_assignment{
    "SDX-K0203", error,
    "a value has one definition: a graph input, an initializer or a node output", "IR.md, Nodes",
    "SONNX-C1"};
inline constexpr Rule input_repeated{"SDX-K0204", error, "a name stands once among the inputs",
                                     "IR.md, Names Within a Graph", "SONNX-C1"};
inline constexpr Rule output_repeated{"SDX-K0205", error, "a name stands once among the outputs",
                                      "IR.md, Names Within a Graph"};
inline constexpr Rule initializer_repeated{"SDX-K0206", error,
                                           "a name stands once among the initializers",
                                           "IR.md, Names Within a Graph", "SONNX-C1"};
inline constexpr Rule value_info_repeated{
    "SDX-K0207", error, "a name stands once among the value_info", "onnx.proto, GraphProto"};
inline constexpr Rule output_undefined{"SDX-K0208", error,
                                       "every output of a graph or function is defined in it",
                                       "IR.md, Graphs", "SONNX-C3"};
inline constexpr Rule input_undefined{
    "SDX-K0209", error,
    "a node's input is a graph input, an initializer or the output of another node", "IR.md, Nodes",
    "SONNX-C6"};
inline constexpr Rule order{"SDX-K0210", error, "nodes stand in topological order",
                            "IR.md, Graphs"};
inline constexpr Rule cycle{"SDX-K0211", error, "the graph has no cycle", "IR.md, Nodes",
                            "SONNX-C4"};
inline constexpr Rule shadowing{"SDX-K0212", error,
                                "a subgraph does not define a name that is visible from outside it",
                                "IR.md, Nodes"};
inline constexpr Rule initializer_not_input{
    "SDX-K0213", error, "up to IR version 3, an initializer is also a graph input", "IR.md, Nodes"};
inline constexpr Rule subgraph_default{
    "SDX-K0214", error, "from IR version 4, a subgraph's input has no initializer", "IR.md, Nodes"};
inline constexpr Rule default_type{
    "SDX-K0215", error, "an initializer has the type and shape that the input of its name declares",
    "IR.md, Graphs"};
inline constexpr Rule identifier{"SDX-K0216", note,
                                 "names are C identifiers (an error under the SONNX profiles)",
                                 "IR.md, Names Within a Graph"};
inline constexpr Rule node_name_repeated{
    "SDX-K0217", error, "node names are unique within a graph (a model that breaks this runs)",
    "IR.md, Names Within a Graph"};
inline constexpr Rule value_info_conflict{
    "SDX-K0218", error,
    "value_info gives an input, initializer or output the type that it has there", "IR.md, Graphs"};
inline constexpr Rule value_info_unknown{"SDX-K0219", note, "value_info names values of the graph",
                                         "IR.md, Graphs"};
inline constexpr Rule graph_without_outputs{"SDX-K0220", warning, "the main graph has outputs",
                                            "IR.md, Graphs", "SONNX-C3"};

// Nodes.
inline constexpr Rule op_type_missing{"SDX-K0301", error, "a node names an operator",
                                      "IR.md, Nodes"};
inline constexpr Rule no_outputs{"SDX-K0302", error, "a node has at least one output",
                                 "IR.md, Graphs", "SONNX-C5"};
inline constexpr Rule domain_not_imported{
    "SDX-K0303", error, "the domain of a node's operator is imported", "IR.md, Operators"};
inline constexpr Rule operator_unknown{
    "SDX-K0304", error, "the imported operator set, or a function of the model, has the operator",
    "IR.md, Operators"};
inline constexpr Rule operator_foreign{"SDX-K0316", warning,
                                       "operators of domains that are not known here cannot be run",
                                       "IR.md, Operators"};
inline constexpr Rule operator_too_new{"SDX-K0305", error,
                                       "the operator exists in the imported version of its set",
                                       "IR.md, Operators"};
inline constexpr Rule operator_deprecated{
    "SDX-K0306", error, "the operator is not deprecated in the imported version of its set",
    "IR.md, Operators"};
inline constexpr Rule input_count{
    "SDX-K0307", error, "a node has as many inputs as its operator takes", "IR.md, Nodes"};
inline constexpr Rule output_count{
    "SDX-K0308", error, "a node has as many outputs as its operator gives", "IR.md, Nodes"};
inline constexpr Rule input_left_out{"SDX-K0309", error, "only optional inputs are left out",
                                     "IR.md, Optional Inputs and Outputs"};
inline constexpr Rule output_left_out{"SDX-K0310", error, "only optional outputs are left out",
                                      "IR.md, Optional Inputs and Outputs"};
inline constexpr Rule branches{
    "SDX-K0311", error, "both branches of If give the node's number of outputs, of the same types",
    "Operators.md, If", "SONNX-F2"};
inline constexpr Rule experimental{"SDX-K0312", warning, "the operator is not experimental",
                                   "IR.md, Operators"};
inline constexpr Rule body_signature{
    "SDX-K0313", error,
    "a subgraph has the inputs and outputs, in number and type, that its operator gives and takes",
    "Operators.md, If, Loop, Scan, SequenceMap"};
inline constexpr Rule input_type{
    "SDX-K0314", error, "inputs have types that the operator allows, equal where it says so",
    "IR.md, Nodes"};
inline constexpr Rule output_type{"SDX-K0315", error,
                                  "an output is declared with the type that the operator gives it",
                                  "IR.md, Nodes"};

inline constexpr Rule body_scalars{
    "SDX-K0317", error, "the body of a Loop takes the iteration and the condition as scalars",
    "Operators.md, Loop"};

// Attributes.
inline constexpr Rule attribute_name{"SDX-K0401", error, "an attribute has a name",
                                     "IR.md, Attributes"};
inline constexpr Rule attribute_repeated{"SDX-K0402", error, "a node gives an attribute once",
                                         "IR.md, Attributes"};
inline constexpr Rule attribute_type{
    "SDX-K0403", error, "an attribute states its type, one of ONNX's (from IR version 2)",
    "IR.md, Attributes"};
inline constexpr Rule attribute_value{
    "SDX-K0404", error, "an attribute has exactly one value, in the field that its type names",
    "IR.md, Attributes"};
inline constexpr Rule attribute_unknown{
    "SDX-K0405", error, "the operator has an attribute of that name", "IR.md, Nodes"};
inline constexpr Rule attribute_kind{
    "SDX-K0406", error, "an attribute is of the type that the operator declares", "IR.md, Nodes"};
inline constexpr Rule attribute_required{"SDX-K0407", error, "required attributes are given",
                                         "IR.md, Nodes"};
inline constexpr Rule reference_outside{
    "SDX-K0408", error, "ref_attr_name is used only within functions, and without a value",
    "IR.md, Attributes"};
inline constexpr Rule reference_unknown{
    "SDX-K0409", error, "ref_attr_name names an attribute of the function", "IR.md, Attributes"};
inline constexpr Rule attribute_text{
    "SDX-K0410", error, "string attributes of ONNX's operators are UTF-8", "IR.md, Attributes"};

// Types and tensors.
inline constexpr Rule type_missing{
    "SDX-K0501", error, "inputs and outputs of the main graph state their types", "IR.md, Graphs"};
inline constexpr Rule element_type{"SDX-K0502", error, "an element type is one of ONNX's",
                                   "IR.md, Tensor Element Types"};
inline constexpr Rule shape_missing{
    "SDX-K0503", error, "inputs and outputs of the main graph that are tensors have a shape",
    "IR.md, Graphs"};
inline constexpr Rule type_incomplete{"SDX-K0504", error,
                                      "sequences, maps, optionals and opaque types are complete",
                                      "IR.md, Input / Output Data Types"};
inline constexpr Rule dim_negative{"SDX-K0505", error, "a declared dimension is not negative",
                                   "IR.md, Static tensor shapes"};
inline constexpr Rule dim_name{"SDX-K0506", warning,
                               "a dimension's name is neither empty nor \"*\"",
                               "IR.md, Static tensor shapes"};
inline constexpr Rule tensor_dims{"SDX-K0507", error,
                                  "a tensor's dimensions are not negative and not too large",
                                  "IR.md, Tensor Definition"};
inline constexpr Rule tensor_storage{
    "SDX-K0508", error, "a tensor's elements stand in one field, that of its element type",
    "onnx.proto, TensorProto"};
inline constexpr Rule tensor_size{"SDX-K0509", error,
                                  "a tensor has as many elements as its dimensions say",
                                  "IR.md, Tensor Definition"};
inline constexpr Rule tensor_values{
    "SDX-K0510", error, "every element is one that its type can hold", "onnx.proto, TensorProto"};
inline constexpr Rule tensor_segment{"SDX-K0511", error, "a tensor is whole, not a segment",
                                     "onnx.proto, TensorProto"};
inline constexpr Rule external_data{
    "SDX-K0512", error, "external data is found, inside the model's folder, as described",
    "IR.md, External Tensor Data"};
inline constexpr Rule sparse_tensor{
    "SDX-K0513", error,
    "a sparse tensor has values of rank 1, positive dimensions and ascending indices inside them",
    "onnx.proto, SparseTensorProto"};

inline constexpr Rule tensor_text{
    "SDX-K0514", error, "strings are UTF-8, without a byte order mark and without a trailing zero",
    "onnx.proto, TensorProto"};
inline constexpr Rule data_location{"SDX-K0515", error,
                                    "data_location is DEFAULT, or EXTERNAL with external_data",
                                    "onnx.proto, TensorProto"};

// Functions.
inline constexpr Rule function_name{"SDX-K0601", error, "a function has a name and a domain",
                                    "IR.md, Functions"};
inline constexpr Rule function_repeated{
    "SDX-K0602", error, "domain, name and overload of a function are unique in the model",
    "IR.md, Functions"};
inline constexpr Rule parameter_repeated{"SDX-K0603", error,
                                         "inputs, outputs and attributes of a function are unique",
                                         "IR.md, Functions"};
inline constexpr Rule recursion{"SDX-K0604", error, "no function calls itself, directly or not",
                                "IR.md, Functions", "SONNX-F1"};
inline constexpr Rule function_versions{
    "SDX-K0605", error,
    "an operator means the same in the version the function imports and in the model's",
    "onnx.proto, FunctionProto"};

// Annotations, training, devices.
inline constexpr Rule annotation{
    "SDX-K0701", error,
    "quantization annotations name values of the graph, each once, under keys that ONNX defines",
    "onnx.proto, TensorAnnotation"};
inline constexpr Rule binding_key{"SDX-K0702", error,
                                  "a training binding's key is an initializer, and stands once",
                                  "IR.md, Training Related Information"};
inline constexpr Rule binding_value{
    "SDX-K0703", error,
    "a training binding's value is an output of its graph, of the type of the key",
    "IR.md, Training Related Information"};
inline constexpr Rule device_configuration{
    "SDX-K0704", error,
    "a device configuration has a unique name, a positive count and as many names of devices",
    "IR.md, Device Configurations"};
inline constexpr Rule node_configuration{"SDX-K0705", error,
                                         "a node's device configuration is one of the model's",
                                         "IR.md, Node Device Configuration"};
inline constexpr Rule sharding{
    "SDX-K0706", error,
    "sharding names an input or output of the node, devices that exist and a positive count",
    "IR.md, Sharding Specification"};

inline constexpr Rule initialization_inputs{"SDX-K0707", error,
                                            "the graph that initializes training has no inputs",
                                            "onnx.proto, TrainingInfoProto"};

// SONNX, graph rules.
inline constexpr Rule sonnx_c2{"SONNX-C2", error,
                               "every graph input is the input of at least one operation",
                               "SONNX graph semantics"};
inline constexpr Rule sonnx_r1{"SONNX-R1", error,
                               "each operation output is used by an operation or is a graph output",
                               "SONNX graph semantics"};
inline constexpr Rule sonnx_r2{"SONNX-R2", error, "operators are deterministic",
                               "SONNX graph semantics"};
inline constexpr Rule sonnx_f3{
    "SONNX-F3", note,
    "subgraphs do not capture outer values (an error with --sonnx-capture=forbid)",
    "SONNX graph semantics"};
inline constexpr Rule sonnx_p1{"SONNX-P1", error, "no graph input is itself a graph output",
                               "SONNX graph semantics"};

// SONNX, restrictions of later drafts.
inline constexpr Rule sonnx_gr1{"SONNX-GR1", error, "no sparse tensors", "SONNX drafts, graphs"};
inline constexpr Rule sonnx_gr2{"SONNX-GR2", error, "the element type of every value is explicit",
                                "SONNX drafts, graphs"};
inline constexpr Rule sonnx_gr3{"SONNX-GR3", error, "no implicit conversion",
                                "SONNX drafts, graphs"};
inline constexpr Rule sonnx_gr4{"SONNX-GR4", error, "every attribute is given",
                                "SONNX drafts, graphs"};
inline constexpr Rule sonnx_n1{"SONNX-N1", error, "no optional input or output is left out",
                               "SONNX drafts, nodes"};
inline constexpr Rule sonnx_n2{
    "SONNX-N2", error, "every node lies on a path from an input or a constant to a graph output",
    "SONNX drafts, nodes"};
inline constexpr Rule sonnx_op{"SONNX-OP", error, "only operators of the profile",
                               "SONNX drafts, operator list"};
inline constexpr Rule sonnx_type{"SONNX-TYPE", error, "only element types of the profile",
                                 "SONNX drafts, types"};
inline constexpr Rule sonnx_conv{
    "SONNX-CONV", error, "Conv: 2 spatial axes, auto_pad NOTSET, group 1", "SONNX drafts, Conv"};
inline constexpr Rule sonnx_pool{
    "SONNX-POOL", error,
    "MaxPool: 2 spatial axes, all attributes given, auto_pad NOTSET, ceil_mode 0, storage_order 0, "
    "every window meets the input",
    "SONNX drafts, MaxPool"};
inline constexpr Rule sonnx_gemm{
    "SONNX-GEMM", error, "Gemm: alpha 1, beta 1, no transposition, C given, no broadcasting",
    "SONNX drafts, Gemm"};
inline constexpr Rule sonnx_arg{
    "SONNX-ARG", error,
    "ArgMax: all attributes given, axis not negative, the reduced dimension not 0",
    "SONNX drafts, ArgMax"};
inline constexpr Rule sonnx_bn{"SONNX-BN", error,
                               "BatchNormalization: training_mode 0, epsilon positive",
                               "SONNX drafts, BatchNormalization"};
inline constexpr Rule sonnx_const{"SONNX-CONST", error, "Constant: only the attribute value",
                                  "SONNX drafts, Constant"};
inline constexpr Rule sonnx_lstm{
    "SONNX-LSTM", error,
    "LSTM: weights constant, optional tensors given, activations of the operator's list",
    "SONNX drafts, LSTM"};
inline constexpr Rule sonnx_ql{"SONNX-QL", error, "QuantizeLinear: float to uint8, per tensor",
                               "SONNX drafts, QuantizeLinear"};
inline constexpr Rule sonnx_range{"SONNX-RANGE", error, "Range: delta is not 0",
                                  "SONNX drafts, Range"};

}  // namespace rule
}  // namespace sdx::check
