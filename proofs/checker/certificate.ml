(* Reads a certificate (docs/certificate.md) into the plan that the proved validator judges.

   Nothing here decides whether a plan is right, with one exception: what is read must be what the
   certificate says. Whatever is missing or of another form is an error, never a default. *)
open Validator
module J = Yojson.Safe

exception Malformed of string
(* It is a certificate, but no plan could be meant by it. *)
exception Refused of string

let fail fmt = Printf.ksprintf (fun text -> raise (Malformed text)) fmt
let refuse fmt = Printf.ksprintf (fun text -> raise (Refused text)) fmt
let field name = function
  | `Assoc fields -> (
      match List.assoc_opt name fields with Some v -> v | None -> fail "\"%s\" is missing" name)
  | _ -> fail "an object with \"%s\" was expected" name
let optional name = function `Assoc fields -> List.assoc_opt name fields | _ -> None
let integer = function
  | `Int n when n >= 0 -> Z.of_int n
  | `Intlit s -> ( match Z.of_string s with z when Z.sign z >= 0 -> z | _ -> fail "%s is negative" s)
  | v -> fail "%s is no natural number" (J.to_string v)
let positive v = match integer v with z when Z.sign z > 0 -> z | _ -> fail "0 is no identifier"
let list = function `List l -> l | v -> fail "%s is no list" (J.to_string v)
let text = function `String s -> s | v -> fail "%s is no text" (J.to_string v)
let truth = function `Bool b -> b | v -> fail "%s is no truth value" (J.to_string v)
let rec nat n = if n <= 0 then O else S (nat (n - 1))
let small v = match integer v with z when Z.leq z (Z.of_int 1000) -> Z.to_int z | z -> fail "%s is no axis" (Z.to_string z)

(* A wire as the certificate lists it. *)
type tensor = {
  wire : wire;
  kind : string;
  dims : Z.t list option;
  bytes : Z.t;
  released : bool;  (* a constant that kernels have packed: it has no bytes any more *)
}
type memory = { space : Z.t; what : string; size : Z.t; label : string }
type shown = { title : string; act : checked_op action }

type t = {
  nest : nested;
  plan : checked_plan;
  rooms : rooms;
  memories : (Z.t, memory) Hashtbl.t;
  steps : shown list;
  bodies : (string * t) list;
  open_bodies : int;  (* planned only when their sizes are known *)
}

(* Bits of an element; 0: not a fixed number of whole bytes. *)
let element_bytes = function
  | "bool" | "i8" | "u8" | "f8e4m3fn" | "f8e4m3fnuz" | "f8e5m2" | "f8e5m2fnuz" | "f8e8m0" -> 1
  | "i16" | "u16" | "f16" | "bf16" -> 2
  | "i32" | "u32" | "f32" -> 4
  | "i64" | "u64" | "f64" | "c64" -> 8
  | "c128" -> 16
  | _ -> 0

let place v = match field "memory" v with `Null -> Own | m -> At (positive m, integer (field "offset" v), Z.zero)
let sized bytes = function Own -> Own | At (s, o, _) -> At (s, o, bytes)

let read_wires v =
  let wires = Hashtbl.create 1000 in
  List.iter
    (fun w ->
      let wid = positive (field "wire" w) in
      let dims = Option.map (fun d -> List.map integer (list d)) (optional "dims" w) in
      let bytes = match optional "bytes" w with Some b -> integer b | None -> Z.zero in
      let released = match optional "released" w with Some r -> truth r | None -> false in
      let at_ = if released then Own else sized bytes (place w) in
      if Hashtbl.mem wires wid then fail "wire %s is listed twice" (Z.to_string wid);
      Hashtbl.replace wires wid { wire = { wid; at_ }; kind = text (field "type" w); dims; bytes; released })
    (list v);
  wires

let wire_of wires v =
  let id = positive v in
  match Hashtbl.find_opt wires id with Some t -> t | None -> refuse "wire %s has no place" (Z.to_string id)
let placed wires v =
  let t = wire_of wires v in
  if t.released then refuse "wire %s is a constant that was given back, and is read" (Z.to_string t.wire.wid);
  t.wire
let with_dims t = match t.dims with Some d -> d | None -> fail "wire %s has no sizes" (Z.to_string t.wire.wid)
(* Its sizes, and the bytes of an element as the innermost axis. *)
let byte_dims t =
  let size = element_bytes t.kind in
  if size = 0 then fail "elements of type %s are no whole bytes" t.kind;
  with_dims t @ [ Z.of_int size ]

(* ---- nodes ------------------------------------------------------------------------------------- *)

let kernel = Prim (Kernel ())
let node_of op v =
  let ins = List.filter_map (function `Null -> None | x -> Some (positive x)) (list (field "inputs" v)) in
  { nop = op; nins = ins; nouts = List.map positive (list (field "outputs" v)) }
let name_of v =
  let name = text (field "name" v) in
  text (field "operator" v) ^ if name = "" then "" else " \"" ^ name ^ "\""

(* Operators whose output is their input's elements in the same order. Those of the second line are so
   by the conditions under which they declare it: equal types, equal counts, no training, full blocks. *)
let same_elements =
  [ "Reshape"; "Squeeze"; "Unsqueeze"; "Flatten"; "Identity";
    "Cast"; "CastLike"; "BitCast"; "Expand"; "Dropout"; "ToBlocked"; "FromBlocked" ]

let view_op wires v node =
  let source = wire_of wires (field "from" v) in
  let outputs = List.map (fun o -> wire_of wires (field "wire" o)) (list (field "to" v)) in
  let numbers () = List.map integer (list (field "numbers" v)) in
  let operator = text (field "operator" node) in
  let expect name = if operator <> name then fail "the rule \"%s\" is not one of %s" (text (field "rule" v)) operator in
  match text (field "rule" v) with
  | "same" ->
      if not (List.mem operator same_elements) then fail "no proof says that %s is a view" operator;
      Shape (Same source.bytes)
  | "slice" ->
      expect "Slice";
      let one = match outputs with [ o ] -> o | _ -> fail "a Slice has one output" in
      Shape (Cuts (byte_dims source, [ (numbers () @ [ Z.zero ], byte_dims one) ]))
  | "split" ->
      expect "Split";
      let axis = match list (field "numbers" v) with [ a ] -> small a | _ -> fail "a Split has one axis" in
      let slots = List.map positive (list (field "outputs" node)) in
      (* What follows the last output that anybody wants needs no sizes. *)
      let rec sizes = function
        | id :: rest when Hashtbl.mem wires id -> (
            match List.nth_opt (with_dims (Hashtbl.find wires id)) axis with
            | Some d -> d :: sizes rest
            | None -> fail "a Split has no axis %d" axis)
        | _ -> []
      in
      Shape (Cuts (byte_dims source, split_cuts (byte_dims source) (nat axis) Z.zero (sizes slots)))
  | "transpose" ->
      expect "Transpose";
      if element_bytes source.kind = 0 then
        (* Packed elements: the last axis of bytes is left out; only units move, so bytes are the same. *)
        let dims = with_dims source in
        let n = source.bytes in
        (match slice_of (Turn (dims, List.map (fun x -> nat (small x)) (list (field "numbers" v)))) O with
         | Some _ -> Shape (Same n)
         | None -> fail "this Transpose moves packed elements")
      else
        let perm = List.map small (list (field "numbers" v)) in
        Shape (Turn (byte_dims source, List.map nat (perm @ [ List.length perm ])))
  | rule -> fail "no rule is called \"%s\"" rule

let read_view wires v =
  let node = match list (field "nodes" v) with [ n ] -> n | _ -> fail "a view has one node" in
  let op = view_op wires v node in
  let source = placed wires (field "from" v) in
  let slots = List.map positive (list (field "outputs" node)) in
  let rec slot i id = function [] -> fail "wire %s is no output of its node" (Z.to_string id) | x :: xs -> if Z.equal x id then i else slot (i + 1) id xs in
  let outputs =
    List.map
      (fun o ->
        let t = wire_of wires (field "wire" o) in
        (* What the operator declares must be what follows from its shapes. *)
        let delta =
          match optional "delta" o with
          | Some d -> integer d
          | None -> refuse "%s has no step, and does not declare where in its input it lies" (name_of node)
        in
        (match op with
         | Shape s -> (
             match slice_of s (nat (slot 0 t.wire.wid slots)) with
             | Some ((_, d), _) when Z.equal d delta -> ()
             | Some ((_, d), _) ->
                 refuse "%s declares byte %s, its shapes say %s" (name_of node) (Z.to_string delta) (Z.to_string d)
             | None -> refuse "%s is not a piece of its input" (name_of node))
         | _ -> ());
        t.wire)
      (list (field "to" v))
  in
  { title = "view " ^ name_of node; act = View (node_of (Prim op) node, source, outputs) }

let read_join wires v =
  let node = match list (field "nodes" v) with [ n ] -> n | _ -> fail "a join has one node" in
  if text (field "operator" node) <> "Concat" then fail "only Concat joins";
  let parts = List.map (wire_of wires) (list (field "parts" v)) in
  let axis = small (field "axis" v) in
  let result = wire_of wires (field "to" v) in
  let dims = byte_dims result in
  let rec drop n l = if n = 0 then l else match l with [] -> fail "a Concat has no axis %d" axis | _ :: t -> drop (n - 1) t in
  let inner = drop (axis + 1) dims in
  let check_part p =
    let d = byte_dims p in
    if List.length d <> List.length dims then fail "parts of a Concat have one rank";
    List.iteri (fun i (a, b) -> if i <> axis && not (Z.equal a b) then fail "parts of a Concat differ in axis %d" i) (List.combine d dims);
    List.nth d axis
  in
  List.iteri (fun i d -> if i < axis && not (Z.equal d Z.one) then fail "axis %d of a join is %s, not 1" i (Z.to_string d)) dims;
  let op = Prim (Shape (Cat (nat axis, inner, List.map check_part parts))) in
  let wires_of = List.map (fun p -> if p.released then refuse "a part was given back" else p.wire) parts in
  { title = "join " ^ name_of node; act = Join (node_of op node, wires_of, result.wire) }

let read_run wires v =
  let nodes = list (field "nodes" v) in
  let ids key = List.map positive (list (field key v)) in
  let placed_all key = List.map (placed wires) (list (field key v)) in
  let scratch =
    match optional "scratch" v with
    | None -> []
    | Some s -> [ { wid = Z.one; at_ = sized (integer (field "bytes" s)) (place s) } ]
  in
  let title = String.concat ", then " (List.map name_of nodes) in
  { title = Printf.sprintf "%s [%s]" title (text (field "kernel" v));
    act = Exec (List.map (node_of kernel) nodes, ids "packed", placed_all "reads", placed_all "writes", scratch, ids "inplace") }

(* ---- plans ------------------------------------------------------------------------------------- *)

(* After which step a wire is not asked for any more: a hint that keeps the live set small. *)
let with_last_uses outputs steps =
  let last = Hashtbl.create 1000 in
  let uses = function
    | Exec (_, _, r, w, _, _) -> r @ w
    | View (_, s, d) -> s :: d
    | Join (_, p, d) -> d :: p
  in
  List.iteri (fun i s -> List.iter (fun w -> Hashtbl.replace last w.wid (i, w)) (uses s.act)) steps;
  List.iter (fun (w, _) -> Hashtbl.remove last w.wid) outputs;
  let gone = Array.make (List.length steps) [] in
  Hashtbl.iter (fun _ (i, w) -> gone.(i) <- w :: gone.(i)) last;
  List.mapi (fun i s -> { act = s.act; gone = gone.(i) }) steps

let rec read_plan v =
  let wires = read_wires (field "wires" v) in
  let memories = Hashtbl.create 100 in
  List.iter
    (fun m ->
      let space = positive (field "memory" m) in
      if Hashtbl.mem memories space then fail "memory %s is listed twice" (Z.to_string space);
      let label = match optional "name" m with Some n -> text n | None -> "" in
      Hashtbl.replace memories space { space; what = text (field "kind" m); size = integer (field "bytes" m); label })
    (list (field "memories" v));
  let constants = List.map positive (list (field "constants" v)) in
  (* Inputs are the caller's: the first in the first memory of that kind, and so on. *)
  let arrive kind w =
    match w.at_ with
    | Own -> ()
    | At (s, o, l) -> (
        match Hashtbl.find_opt memories s with
        | Some m when m.what = kind && Z.equal o Z.zero && Z.equal l m.size -> ()
        | _ -> refuse "wire %s is an input or a constant, and not the whole of its memory" (Z.to_string w.wid))
  in
  let inputs = List.map (placed wires) (list (field "inputs" v)) in
  List.iter (arrive "input") inputs;
  let in_memory =
    List.filter_map
      (fun id -> match Hashtbl.find_opt wires id with Some t when not t.released -> Some t.wire | _ -> None)
      constants
  in
  List.iter (arrive "constant") in_memory;
  let all = list (field "steps" v) in
  let steps =
    List.map
      (fun s ->
        match text (field "kind" s) with
        | "run" -> read_run wires s
        | "view" -> read_view wires s
        | "join" -> read_join wires s
        | kind -> fail "no step is called \"%s\"" kind)
      all
  in
  (* Outputs that are copied at the end: from the place that is given, into the caller's buffer. *)
  let fresh = ref (Hashtbl.fold (fun id _ most -> Z.max id most) wires Z.one) in
  List.iter (fun s -> List.iter (fun n -> List.iter (fun o -> fresh := Z.max !fresh (positive o)) (list (field "outputs" n))) (list (field "nodes" s))) all;
  let copies = ref [] in
  let outputs =
    List.map
      (fun o ->
        let t = wire_of wires (field "wire" o) and buffer = positive (field "buffer" o) in
        let from = { wid = t.wire.wid; at_ = sized t.bytes (place o) } in
        if truth (field "copied" o) then begin
          fresh := Z.succ !fresh;
          let at_ = match from.at_ with Own -> Own | At (_, _, n) -> At (buffer, Z.zero, n) in
          let into = { wid = !fresh; at_ } in
          let node = { nop = Prim (Shape (Same t.bytes)); nins = [ from.wid ]; nouts = [ into.wid ] } in
          copies := { title = "copy to output \"" ^ text (field "name" o) ^ "\""; act = Exec ([ node ], [], [ from ], [ into ], [], []) } :: !copies;
          (into, buffer)
        end
        else (from, buffer))
      (list (field "outputs" v))
  in
  let steps = steps @ List.rev !copies in
  let rooms =
    { room = (fun s -> match Hashtbl.find_opt memories s with Some m -> m.size | None -> Z.zero);
      writable = (fun s -> match Hashtbl.find_opt memories s with Some m -> m.what = "arena" || m.what = "output" | None -> false);
      alignment = (match integer (field "alignment" v) with z when Z.sign z > 0 -> z | _ -> fail "the alignment is 0") }
  in
  let plan = { constants; inputs = inputs @ in_memory; steps = with_last_uses outputs steps; outputs } in
  let held = List.concat_map (fun s -> match optional "bodies" s with Some b -> list b | None -> []) all in
  let planned = List.filter (fun b -> field "plan" b <> `Null) held in
  let bodies = List.map (fun b -> (text (field "attribute" b), read_plan (field "plan" b))) planned in
  let open_bodies = List.length held - List.length planned + List.fold_left (fun n (_, b) -> n + b.open_bodies) 0 bodies in
  { nest = Nest (rooms, plan, List.map (fun (_, b) -> b.nest) bodies); plan; rooms; memories; steps; bodies; open_bodies }

let read v =
  (match text (field "format" v) with
   | "sardonyx-plan-certificate" -> ()
   | other -> fail "the format is \"%s\"" other);
  (match field "version" v with `Int 1 -> () | v -> fail "version %s; this program reads version 1" (J.to_string v));
  (text (field "model" v), read_plan (field "plan" v))
