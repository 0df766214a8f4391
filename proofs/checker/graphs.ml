(* The graphs before and after a pass, as a journal has them (docs/certificate.md), and words for layouts. *)
open Certificate
module V = Validator

type graph = {
  pass : string;
  kinds : (Z.t, string) Hashtbl.t;           (* of wires: their types *)
  shapes : (Z.t, Z.t list option) Hashtbl.t; (* innermost axis first *)
  nodes : J.t array;
  outputs : Z.t list;
  value : J.t;                               (* all of it *)
}

(* Sizes that are no numbers get one each, the same for the same text. *)
let open_sizes : (string, Z.t) Hashtbl.t = Hashtbl.create 50
let size = function
  | `String s -> (
      match Hashtbl.find_opt open_sizes s with
      | Some z -> z
      | None ->
          let z = Z.of_int ((1 lsl 40) + (1000003 * Hashtbl.length open_sizes)) in
          Hashtbl.replace open_sizes s z;
          z)
  | v -> integer v

let read_graph v =
  let kinds = Hashtbl.create 500 and shapes = Hashtbl.create 500 in
  List.iter
    (fun w ->
      let id = positive (field "wire" w) in
      Hashtbl.replace kinds id (text (field "type" w));
      Hashtbl.replace shapes id (Option.map (fun d -> List.rev_map size (list d)) (optional "dims" w)))
    (list (field "wires" v));
  { pass = text (field "pass" v); kinds; shapes; nodes = Array.of_list (list (field "nodes" v));
    outputs = List.map positive (list (field "outputs" v)); value = v }

(* ---- numbers for names -------------------------------------------------------------------------- *)

let names : (string, Z.t) Hashtbl.t = Hashtbl.create 500
let number name =
  match Hashtbl.find_opt names name with
  | Some n -> n
  | None -> let n = Z.of_int (Hashtbl.length names + 1) in Hashtbl.replace names name n; n

let nats = Array.init 64 nat
let axis k = V.Axis nats.(k)
let as_it_is rank = List.init rank axis
(* [N, C, H, W] with channels in blocks, and with channels last: innermost axis first. *)
let blocked = [ V.Lane nats.(2); axis 0; axis 1; V.Block nats.(2); axis 3 ]
let channels_last rank = if rank < 3 then as_it_is rank else axis (rank - 2) :: List.init (rank - 2) axis @ [ axis (rank - 1) ]
let inverse layout =
  let rank = List.length layout in
  let place k = List.find_map (fun (i, a) -> if a = axis k then Some i else None) (List.mapi (fun i a -> (i, a)) layout) in
  let places = List.init rank place in
  if List.mem None places then None else Some (List.map (fun p -> axis (Option.get p)) places)

let op_name n = match optional "operator" n with Some o -> text o | None -> ""
let ids key n = List.map (function `Null -> None | x -> Some (positive x)) (list (field key n))

(* Operators that apply one scalar function at every index, inputs broadcast. *)
let elementwise =
  [ "Abs"; "Acos"; "Acosh"; "Add"; "And"; "Asin"; "Asinh"; "Atan"; "Atanh"; "BitShift"; "BitwiseAnd"; "BitwiseNot"; "BitwiseOr";
    "BitwiseXor"; "Cast"; "Ceil"; "Celu"; "Clip"; "Cos"; "Cosh"; "Div"; "Elu"; "Equal"; "Erf"; "Exp"; "Floor"; "Gelu"; "Greater";
    "GreaterOrEqual"; "HardSigmoid"; "HardSwish"; "IsInf"; "IsNaN"; "LeakyRelu"; "Less"; "LessOrEqual"; "Log"; "Max"; "Mean";
    "Min"; "Mish"; "Mod"; "Mul"; "Neg"; "Not"; "Or"; "Pow"; "PRelu"; "Reciprocal"; "Relu"; "Round"; "Selu"; "Sigmoid"; "Sign";
    "Sin"; "Sinh"; "Softplus"; "Softsign"; "Sqrt"; "Sub"; "Sum"; "Swish"; "Tan"; "Tanh"; "ThresholdedRelu"; "Where"; "Xor";
    "sardonyx::MapBytes"; "sardonyx::QuantisedElementwise" ]
