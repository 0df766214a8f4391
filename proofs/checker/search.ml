(* Looks for reasons why old wires are found in the new graph. Nothing here is trusted: every step goes through the proved
   `take`. *)
open Graphs
open Meanings
module V = Validator

let is_new x = Z.is_odd x
let found_in_new s a = List.exists (fun (b, _) -> is_new b && not (is_named b)) (Hashtbl.find_all s.traced a)
(* Old wire a lies in new wire b by f: and so do those that nodes move to or from them. *)
let rec follow s depth a b f =
  if depth > 0 && not (List.mem (b, f) (Hashtbl.find_all s.traced a)) then begin
    Hashtbl.add s.traced a (b, f);
    List.iter
      (fun (c, g) -> if is_new c then match V.after g f with
         | Some h when not (known s (V.Moved (a, c, h))) && take s (V.Compose (a, b, c, f, g)) -> follow s (depth - 1) a c h
         | _ -> ())
      (Hashtbl.find_all s.moves b);
    (* From a new wire that something was moved out of. *)
    List.iter
      (fun (c, g) ->
        let h = as_it_is (rank s a) in
        if is_new c && rank s c = rank s a && not (known s (V.Moved (a, c, h))) && take s (V.Return (a, c, b, g, f, h)) then follow s (depth - 1) a c h)
      (Hashtbl.find_all s.into b);
    (* Old wires that lie in a. *)
    List.iter
      (fun (c, g) -> if not (is_new c) then match V.after f g with
         | Some h when not (known s (V.Moved (c, b, h))) && take s (V.Compose (c, a, b, g, f)) -> follow s (depth - 1) c b h
         | _ -> ())
      (Hashtbl.find_all s.into a);
    if f = as_it_is (rank s a) && dims s a = dims s b && has_rank s a then ignore (in_order s depth a b)
  end
(* Equal tensors; so are views of them, where sizes are equal. *)
and in_order s depth a b =
  if take s (V.To_order (a, b)) then begin
    let rec reach side seen = function
      | [] -> seen
      | x :: rest ->
          let next = List.filter (fun y -> is_new y = side && not (List.mem_assoc y seen) && not (List.exists (fun (z, _) -> Z.equal z y) rest))
              (List.sort_uniq Z.compare (Hashtbl.find_all s.alike (fst x))) in
          reach side (seen @ [ x ]) (rest @ List.map (fun y -> (y, Some (fst x))) next)
    in
    let olds = reach false [] [ (a, None) ] and news = reach true [] [ (b, None) ] in
    let hop x y = known s (V.Alike (x, y)) || take s (V.Turned_order (x, y)) in
    List.iter
      (fun (x, from) ->
        (match from with
         | None -> ()
         | Some p -> if hop x p then ignore (take s (V.Chained_order (x, p, b))));
        List.iter
          (fun (y, from) ->
            (match from with
             | None -> ()
             | Some p -> if hop p y && not (known s (V.Alike (x, y))) then ignore (take s (V.Chained_order (x, p, y))));
            if (x <> a || y <> b) && dims s x = dims s y && known s (V.Alike (x, y)) then begin
              let f = as_it_is (rank s x) in
              if not (known s (V.Moved (x, y, f))) && take s (V.From_order (x, y)) then follow s (depth - 1) x y f
            end)
          news)
      olds
  end
let learn s a b f = follow s 6 a b f

(* Why wires a and b are read alike where the result has sizes ds and lies by f. *)
let readings s ds f a b =
  let found = Hashtbl.create 20 and steps = ref [] in
  let rec pair depth x y =
    if Hashtbl.mem found (x, y) then true
    else if depth = 0 then false
    else
      let by_fact = List.find_opt (fun (c, g) -> Z.equal c y && V.read_alike ds (dims s x) (dims s y) f g) (Hashtbl.find_all s.traced x) in
      let reading =
        match by_fact with
        | Some (_, g) when V.broadcasts (dims s x) ds -> Some (V.By_fact (x, y, g))
        | _ -> (
            match (point_of s x, point_of s y) with
            | Some p, Some q when Z.equal p.V.fn q.V.fn && List.length p.V.args = List.length q.V.args
                                  && List.for_all2 (pair (depth - 1)) p.V.args q.V.args -> Some (V.By_point (x, y))
            | _ -> None)
      in
      match reading with
      | Some r -> Hashtbl.replace found (x, y) (); steps := r :: !steps; true
      | None -> false
  in
  if pair 2000 a b then Some (List.rev !steps) else None

(* Layouts that a wire of these sizes may have in one of those. *)
let is_plain f = f = as_it_is (List.length f)
let layouts s a b =
  let r = rank s a in
  let turned = Hashtbl.fold (fun _ (_, f) all -> if List.mem f all then all else f :: all) s.traced [] in
  let candidates = as_it_is r :: channels_last r :: blocked :: turned in
  let fit = List.sort_uniq compare (List.filter (fun f -> V.stored f (dims s a) = dims s b) candidates) in
  List.filter is_plain fit @ List.filter (fun f -> not (is_plain f)) fit

let by_operators s at candidates =
  List.exists
    (fun c ->
      let qs = (try Hashtbl.find s.plain_of (After, c) with Not_found -> []) @ (try Hashtbl.find s.laid_of c with Not_found -> []) in
      List.exists
        (fun p ->
          List.exists
            (fun q ->
              let x = Hashtbl.find s.operators p and y = Hashtbl.find s.operators q in
              Z.equal x.V.label y.V.label && take s (V.Operators (p, q))
              && (List.iter2 (fun (o : V.operand) (n : V.operand) -> learn s o.V.held_in n.V.held_in n.V.lies) x.V.gives y.V.gives; true))
            qs)
        (try Hashtbl.find s.plain_of (Before, at) with Not_found -> []))
    candidates

(* Concat joins along an axis, wherever that axis stands. *)
let by_axis s at candidates =
  let old = s.before.nodes.(at) in
  let wires side key n = List.filter_map (Option.map (wire side)) (ids key n) in
  let inner_axis n rank = Option.map (fun a -> if a < 0 then -a - 1 else rank - 1 - a) (Option.bind (attribute n "axis") int_of_string_opt) in
  let ins = wires Before "inputs" old and outs = wires Before "outputs" old in
  op_name old = "Concat"
  && List.for_all (has_rank s) (ins @ outs)
  && List.exists
       (fun c ->
         let made = s.after.nodes.(c) in
         let ins' = wires After "inputs" made and outs' = wires After "outputs" made in
         op_name made = "Concat"
         && List.length ins = List.length ins'
         && List.for_all (has_rank s) (ins' @ outs')
         &&
         let r = rank s (List.hd ins) in
         let turned = List.filter_map (fun (b, f) -> if Z.equal b (List.hd ins') && List.length f = r then Some f else None) (Hashtbl.find_all s.traced (List.hd ins)) in
         List.exists
           (fun f ->
             match (inverse f, inner_axis old r, inner_axis made r) with
             | Some back, Some k, Some k' when List.nth_opt f k' = Some (axis k) ->
                 let label = Printf.sprintf "Concat of axis %d" k in
                 let lying x = { V.held_in = x; lies = f; sizes = V.stored back (dims s x) } in
                 let p = register s label (List.map (fun x -> Some (plain s x)) ins) (List.map (plain s) outs) in
                 let q = register s label (List.map (fun x -> Some (lying x)) ins') (List.map lying outs') in
                 take s (V.Operators (p, q)) && (List.iter2 (fun a b -> learn s a b f) outs outs'; true)
             | _ -> false)
           (List.sort_uniq compare turned))
       candidates

let by_program s a candidates =
  has_rank s a
  && List.exists
       (fun c ->
         List.exists
           (fun b ->
             has_rank s b
             && List.exists
                  (fun f ->
                    match readings s (dims s a) f a b with
                    | Some rs when (match rs with [ V.By_fact _ ] -> false | _ -> true) -> take s (V.Programs (a, b, f, rs)) && (learn s a b f; true)
                    | _ -> false)
                  (layouts s a b))
           (List.filter_map (Option.map (wire After)) (ids "outputs" s.after.nodes.(c)) @ Hashtbl.find_all s.inner c))
       candidates

(* f(view(y), scalars) = view(f(y, scalars)): a name for what is within, on which the search goes on. *)
let rec through_views s depth a candidates =
  let plain_layout x = as_it_is (rank s x) in
  match point_of s a with
  | Some p when depth > 0 -> (
      let large, small = List.partition (fun x -> not (single s x)) p.V.args in
      match List.sort_uniq Z.compare large with
      | [ x ] when dims s x = dims s a && Hashtbl.mem s.source x && has_rank s (Hashtbl.find s.source x) ->
          let y = Hashtbl.find s.source x in
          let v = name s Before (dims s y) in
          Hashtbl.replace s.points v { V.made = v; fn = p.V.fn; args = List.map (fun z -> if Z.equal z x then y else z) p.V.args };
          List.iter (fun c -> ignore (take s (V.Itself c))) small;
          let linked =
            match List.find_opt (fun (b, _) -> Z.equal b y) (Hashtbl.find_all s.moves x) with
            | Some (_, f) ->
                let readings = (V.By_fact (x, y, f) :: List.map (fun c -> V.By_fact (c, c, plain_layout c)) small) @ [ V.By_point (a, v) ] in
                take s (V.Programs (a, v, f, readings)) && (Hashtbl.add s.into v (a, f); Hashtbl.add s.moves a (v, f); true)
            | None ->
                let lines = (V.By_order (x, y) :: List.map (fun c -> V.By_single (c, c, plain_layout c)) small) @ [ V.By_points (a, v) ] in
                (known s (V.Alike (x, y)) || take s (V.Turned_order (x, y)))
                && take s (V.Ordered_programs (a, v, lines))
                && (Hashtbl.add s.alike a v; Hashtbl.add s.alike v a; true)
          in
          if linked && not (by_program s v candidates) then through_views s (depth - 1) v candidates
      | _ -> ())
  | _ -> ()
