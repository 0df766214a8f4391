(* What the nodes of both graphs say: which wires hold which others' elements, which are made element by element, and which
   operators they are. Here stands what is trusted of single operators (docs/proofs.md). *)
open Certificate
open Graphs
module V = Validator

(* Both graphs share one space of numbers: even ones before the pass, odd ones after it. *)
type side = Before | After
let wire side w = Z.add (Z.shift_left w 1) (if side = After then Z.one else Z.zero)

type state = {
  before : graph; after : graph;
  dims : (Z.t, Z.t list) Hashtbl.t;                  (* by number; of what has no sizes: a scalar *)
  ranked : (Z.t, unit) Hashtbl.t;                    (* those that have sizes *)
  points : (Z.t, V.point) Hashtbl.t;
  operators : (Z.t, V.laid) Hashtbl.t;
  plain_of : (side * int, Z.t list) Hashtbl.t;       (* the operators that a node is, on plain tensors *)
  laid_of : (int, Z.t list) Hashtbl.t;               (* and those that a new node is, on other layouts or within *)
  inner : (int, Z.t) Hashtbl.t;                      (* by new node: wires within what it is made of *)
  source : (Z.t, Z.t) Hashtbl.t;                     (* of a wire that a node only moved: what it was *)
  moves : (Z.t, Z.t * V.layout) Hashtbl.t;           (* by source: where nodes move it *)
  into : (Z.t, Z.t * V.layout) Hashtbl.t;            (* by target *)
  alike : (Z.t, Z.t) Hashtbl.t;                      (* by either: views *)
  traced : (Z.t, Z.t * V.layout) Hashtbl.t;          (* old wires: where they are in the new graph *)
  mutable zero : Z.t option;
  mutable facts : V.facts;
}

let dims s x = match Hashtbl.find_opt s.dims x with Some d -> d | None -> []
let rank s x = List.length (dims s x)
let has_rank s x = Hashtbl.mem s.ranked x
let point_of s x = Hashtbl.find_opt s.points x
let operator s x = Hashtbl.find_opt s.operators x
let known s f = V.known s.facts f
let take s step =
  match V.take (dims s) (point_of s) (operator s) s.facts step with
  | Some facts -> s.facts <- facts; true
  | None -> false
let give s f = if not (known s f) then s.facts <- V.learn s.facts f

let attribute_of n = text (field "attributes" n)
let label n = Printf.sprintf "%s.%s {%s}" (op_name n) (Z.to_string (integer (field "version" n))) (attribute_of n)
let plain s x = { V.held_in = x; lies = as_it_is (rank s x); sizes = dims s x }
let fresh = ref 0
let register s label ins outs =
  incr fresh;
  let id = Z.of_int !fresh in
  Hashtbl.replace s.operators id { V.label = number label; takes = ins; gives = outs };
  id

(* A wire of neither graph. *)
let named = ref 0
let first_name = Z.shift_left Z.one 45
let is_named x = Z.geq (Z.shift_right x 1) first_name
let name s side sizes =
  incr named;
  let id = wire side (Z.add first_name (Z.of_int !named)) in
  Hashtbl.replace s.dims id sizes;
  Hashtbl.replace s.ranked id ();
  id
let move s a b f = give s (V.Moved (a, b, f)); Hashtbl.add s.moves a (b, f); Hashtbl.add s.into b (a, f)
let move_both s a b f = move s a b f; Option.iter (move s b a) (inverse f)
let single s x = has_rank s x && List.for_all (Z.equal Z.one) (dims s x)
(* perm counts axes from the outermost, as ONNX does. *)
let transposed perm =
  let r = List.length perm in
  List.init r (fun j -> axis (r - 1 - List.nth perm (r - 1 - j)))

(* ---- operators by what they stand for ------------------------------------------------------------- *)

let attribute n key =
  List.find_map
    (fun a ->
      let k = key ^ "=" in
      let size = String.length k in
      if String.length a >= size && String.sub a 0 size = k then Some (String.sub a size (String.length a - size)) else None)
    (String.split_on_char ';' (attribute_of n))
let integers text = List.filter_map int_of_string_opt (String.split_on_char ',' text)
let quoted text = List.filteri (fun i _ -> i mod 2 = 1) (String.split_on_char '"' text)

(* One line of a program: its function, as points have it, and its operands. *)
let instruction line =
  match String.split_on_char ' ' line with
  | [ f; a; b ] -> Some (f ^ " 0 1", [ int_of_string a; int_of_string b ])
  | [ f; a; p; q ] -> Some (Printf.sprintf "%s 0 %s %s" f p q, [ int_of_string a ])
  | _ -> None

(* A wire that holds 0, for both graphs. *)
let zero s =
  match s.zero with
  | Some z -> z
  | None ->
      let z = name s After [] in
      s.zero <- Some z;
      z
(* A point; replace_nan by a zero is what it stands for. *)
let add_point s side made fn args =
  if not (Hashtbl.mem s.dims made) then fail "a point makes a wire without sizes";
  match (fn, args) with
  | "replace_nan 0 0 0", [ x ] ->
      let test = name s side (dims s made) in
      Hashtbl.replace s.points test { V.made = test; fn = number "IsNaN"; args = [ x ] };
      Hashtbl.replace s.points made { V.made; fn = number "Where"; args = [ test; zero s; x ] }
  | _ -> Hashtbl.replace s.points made { V.made; fn = number fn; args }

(* The program `code` on these wires, with sizes `sizes`: the wire that holds its result. *)
let program s side sizes code operands =
  let values = ref operands in
  List.iter
    (fun line ->
      match instruction line with
      | Some (f, args) ->
          let made = name s side sizes in
          add_point s side made f (List.map (List.nth !values) args);
          values := !values @ [ made ]
      | None -> fail "no instruction: %s" line)
    code;
  List.nth !values (List.length !values - 1)

(* What operators of the engine are, whose operands lie otherwise: the operator of ONNX on what these hold. *)
let begins_with word text = String.length text >= String.length word && String.sub text 0 (String.length word) = word
let convolution n =
  let attributes = List.filter (fun a -> not (begins_with "plain=" a)) (String.split_on_char ';' (attribute_of n)) in
  "convolution {" ^ String.concat ";" attributes ^ "}"
let quantised_convolution n = "quantised convolution {" ^ attribute_of n ^ "}"
(* Of a convolution's image: as many channels as its weights want. *)
let image_sizes s n ~turned x w =
  let group = match Option.bind (attribute n "group") int_of_string_opt with Some g -> g | None -> 1 in
  let channels = Z.mul (List.nth (dims s w) (rank s w - 2)) (Z.of_int group) in
  match (turned, dims s x) with
  | `Blocked, [ _; w; h; _; n ] -> Some [ w; h; channels; n ]
  | `Last, c :: rest when Z.equal c channels ->
      let r = List.length rest in
      Some (List.filteri (fun i _ -> i < r - 1) rest @ [ c; List.nth rest (r - 1) ])
  | _ -> None

(* The nodes that an attention stands for, on wires of its own. *)
let attention s at n ins outs =
  let turned key x =
    match Option.map integers (attribute n key) with
    | None | Some [] -> x
    | Some perm ->
        let f = transposed perm in
        let y = name s After (V.stored f (dims s x)) in
        move_both s x y f;
        y
  in
  match (ins, outs) with
  | Some q :: Some k :: Some v :: more, [ y ] when List.for_all Option.is_some more && List.for_all (has_rank s) [ q; k; v; y ] -> (
      let more = List.map Option.get more in
      let q = turned "q_perm" q and k = turned "k_perm" k and v = turned "v_perm" v in
      match (dims s q, dims s k, dims s v) with
      | _ :: rows, keys :: _, width :: _ ->
          let inner sizes = let w = name s After sizes in Hashtbl.add s.inner at w; w in
          let code key = quoted (Option.value (attribute n key) ~default:"") in
          let sizes = keys :: rows in
          let scores = inner sizes in
          let masked = program s After sizes (code "scores") (scores :: more) in
          let weights = inner sizes in
          let kept = program s After sizes (code "weights") [ weights ] in
          List.iter (Hashtbl.add s.inner at) [ masked; kept ];
          let result = inner (width :: rows) in
          (match Option.map integers (attribute n "y_perm") with
           | None | Some [] -> move_both s result y (as_it_is (rank s y))
           | Some perm -> move_both s result y (transposed perm));
          let on l a b = register s l (List.map (fun x -> Some (plain s x)) a) [ plain s b ] in
          [ on "product" [ q; k ] scores; on "Softmax of the last axis" [ masked ] weights; on "product" [ kept; v ] result ]
      | _ -> [])
  | _ -> []

let laid_operators s at n =
  let ins = List.map (Option.map (wire After)) (ids "inputs" n) and outs = List.filter_map (Option.map (wire After)) (ids "outputs" n) in
  let others i xs = List.mapi (fun k x -> if k = i then None else Option.map (plain s) x) xs in
  let with_image i image xs = List.mapi (fun k x -> if k = i then Some image else x) (others i xs) in
  let result turned w y =
    (* As many channels as there are kernels. *)
    let kernels = List.nth (dims s w) (rank s w - 1) in
    match (turned, dims s y) with
    | `Blocked, [ _; b; h; _; n ] -> Some { V.held_in = y; lies = blocked; sizes = [ b; h; kernels; n ] }
    | `Last, c :: rest when Z.equal c kernels ->
        let r = List.length rest in
        Some { V.held_in = y; lies = channels_last (r + 1); sizes = List.filteri (fun i _ -> i < r - 1) rest @ [ c; List.nth rest (r - 1) ] }
    | _ -> None
  in
  let convolved name turned wi =
    match (ins, List.nth_opt ins wi, outs) with
    | Some x :: _, Some (Some w), [ y ] when rank s w > 2 -> (
        let image =
          if turned = `Blocked && rank s x = 4 then Some (plain s x)
          else
            let lies = if turned = `Blocked then blocked else channels_last (rank s x) in
            Option.map (fun sizes -> { V.held_in = x; lies; sizes }) (image_sizes s n ~turned x w)
        in
        match (image, result turned w y) with
        | Some image, Some out ->
            (* Optional inputs at the end may be left out or absent. *)
            let rec trim = function None :: rest -> trim rest | l -> List.rev l in
            [ register s name (trim (List.rev (with_image 0 image ins))) [ out ] ]
        | _ -> [])
    | _ -> []
  in
  match op_name n with
  | "sardonyx::ConvBlocked" -> convolved (convolution n) `Blocked 1
  | "sardonyx::ConvChannelsLast" when List.length ins <= 3 -> convolved (convolution n) `Last 1
  | "sardonyx::QLinearConvChannelsLast" when List.length ins <= 8 -> convolved (quantised_convolution n) `Last 3
  | "sardonyx::MatMulTransposed" -> (
      match (ins, outs) with
      | [ Some a; Some w ], [ y ] when rank s w = 2 ->
          [ register s "product" [ Some (plain s a); Some { V.held_in = w; lies = [ axis 1; axis 0 ]; sizes = List.rev (dims s w) } ] [ plain s y ] ]
      | _ -> [])
  | "sardonyx::MatMulIntegerToFloat" -> (
      match outs with
      | [ y ] when has_rank s y ->
          let u = name s After (dims s y) in
          Hashtbl.add s.inner at u;
          Hashtbl.replace s.points y { V.made = y; fn = number "Cast to 1"; args = [ u ] };
          [ register s "MatMulInteger" (List.map (Option.map (plain s)) ins) [ plain s u ] ]
      | _ -> [])
  | "sardonyx::MatMulQ4" -> (
      match (ins, outs) with
      | Some a :: (Some w :: _ as packed), [ y ] when has_rank s w ->
          let u = name s After (dims s w) in
          Hashtbl.add s.inner at u;
          [ register s (Printf.sprintf "DequantizeLinear {axis=0;%s}" (attribute_of n)) (List.map (Option.map (plain s)) packed) [ plain s u ];
            register s "product" [ Some (plain s a); Some (plain s u) ] [ plain s y ] ]
      | _ -> [])
  | "sardonyx::FusedAttention" when attribute n "repeat" = Some "1" -> attention s at n ins outs
  | _ -> []

(* For each node of the graph before the pass, how else it is called by what stands for several of them. *)
let other_names s n ins outs zeros =
  let rec trim = function None :: rest -> trim rest | l -> List.rev l in
  let as_ l ins = [ register s l (List.map (Option.map (plain s)) (trim (List.rev ins))) (List.map (plain s) outs) ] in
  match op_name n with
  | "Conv" -> as_ (convolution n) ins
  | "QLinearConv" -> (
      match List.nth_opt ins 5 with
      | Some (Some z) when not (Hashtbl.mem zeros z) -> []
      | _ -> as_ (quantised_convolution n) (List.filteri (fun i _ -> i <> 5) ins))
  | "MatMul" -> as_ "product" ins
  | "MatMulInteger" -> as_ "MatMulInteger" ins
  | "DequantizeLinear" -> as_ (Printf.sprintf "DequantizeLinear {%s}" (attribute_of n)) ins
  | "Softmax" when attribute n "axis" = Some "-1" && Z.geq (integer (field "version" n)) (Z.of_int 13) -> as_ "Softmax of the last axis" ins
  | _ -> []

(* Quantisation by one scale for all elements works element by element, whatever its axis. *)
let is_by_one_scale s n ins =
  List.mem (op_name n) [ "QuantizeLinear"; "DequantizeLinear" ]
  && (match ins with
      | Some x :: parameters -> has_rank s x && List.for_all (function Some p -> single s p | None -> true) parameters
      | _ -> false)
let without_axis n =
  String.concat ";" (List.filter (fun a -> not (begins_with "axis=" a)) (String.split_on_char ';' (attribute_of n)))

let read_nodes s side g =
  let zeros = Hashtbl.create 50 in
  Array.iter
    (fun n -> match (optional "zero" n, ids "outputs" n) with
      | Some _, [ Some w ] ->
          Hashtbl.replace zeros (wire side w) ();
          if single s (wire side w) then begin
            let c = wire side w in
            give s (V.Moved (c, zero s, []));
            Hashtbl.add s.traced c (zero s, [])
          end
      | _ -> ())
    g.nodes;
  Array.iteri
    (fun at n ->
      let outs = List.filter_map (Option.map (wire side)) (ids "outputs" n) in
      match optional "operator" n with
      | None -> ()
      | Some _ ->
          let ins = List.map (Option.map (wire side)) (ids "inputs" n) in
          let all_ranked = List.for_all (function Some x -> has_rank s x | None -> false) ins && List.for_all (has_rank s) outs in
          let plain_as l = register s l (List.map (Option.map (plain s)) ins) (List.map (plain s) outs) in
          let more = other_names s n ins outs zeros in
          Hashtbl.replace s.plain_of (side, at) (plain_as (label n) :: more);
          if side = After then Hashtbl.replace s.laid_of at (laid_operators s at n);
          (match optional "points" n with
           | Some ps when all_ranked ->
               let made = List.hd outs in
               List.iter
                 (fun p ->
                   let id = wire side (positive (field "made" p)) in
                   if not (Hashtbl.mem s.dims id) then Hashtbl.replace s.dims id (dims s made);
                   add_point s side id (text (field "function" p)) (List.map (fun a -> wire side (positive a)) (list (field "args" p))))
                 (list ps)
           | _ -> (
               match outs with
               | [ y ] when has_rank s y && is_by_one_scale s n ins ->
                   let f = Printf.sprintf "%s {%s}" (op_name n) (without_axis n) in
                   Hashtbl.replace s.points y { V.made = y; fn = number f; args = List.filter_map Fun.id ins }
               | [ y ] when all_ranked && List.mem (op_name n) elementwise && not (Hashtbl.mem s.points y) ->
                   let f =
                     match op_name n with
                     | "Where" -> "Where"
                     | "IsNaN" -> "IsNaN"
                     | "Cast" when attribute n "to" = Some "1" -> "Cast to 1"
                     | _ -> label n
                   in
                   Hashtbl.replace s.points y { V.made = y; fn = number f; args = List.filter_map Fun.id ins }
               | _ -> ()));
          let move = move s and both = move_both s in
          match (ins, outs) with
          | Some x :: _, y :: _ when has_rank s x && has_rank s y -> (
              let r = rank s x in
              let unit_axes wide = List.map (fun a -> wide - 1 - small a) (match optional "axes" n with Some a -> list a | None -> []) in
              let insert wide axes = (* the wide tensor's axes: Zero for those of one element *)
                let next = ref (-1) in
                List.init wide (fun i -> if List.mem i axes then V.Zero else (incr next; axis !next)) in
              let drop wide axes = List.filter_map (fun i -> if List.mem i axes then None else Some (axis i)) (List.init wide Fun.id) in
              let view () = give s (V.Alike (x, y)); Hashtbl.add s.alike x y; Hashtbl.add s.alike y x in
              if List.mem (op_name n) [ "Transpose"; "Identity"; "Unsqueeze"; "Squeeze"; "Reshape"; "Flatten" ] then Hashtbl.replace s.source y x;
              match op_name n with
              | "Transpose" when optional "perm" n <> None -> both x y (transposed (List.map small (list (field "perm" n))))
              | "Identity" -> both x y (as_it_is r)
              | "Unsqueeze" when optional "axes" n <> None ->
                  let wide = rank s y in
                  move x y (insert wide (unit_axes wide)); move y x (drop wide (unit_axes wide)); view ()
              | "Squeeze" when optional "axes" n <> None ->
                  move x y (drop r (unit_axes r)); move y x (insert r (unit_axes r)); view ()
              | "Reshape" | "Flatten" | "Unsqueeze" | "Squeeze" -> view ()
              | "sardonyx::ToBlocked" when r = 4 -> move x y blocked
              | "sardonyx::FromBlocked" when rank s y = 4 -> move y x blocked
              | _ -> ())
          | _ -> ())
    g.nodes
