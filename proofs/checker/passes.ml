(* Reads what the optimiser did and counts, by rule, the replacements that are proved. *)
open Certificate
open Graphs
open Meanings
open Search
module V = Validator

type counts = {
  proved : (string, int) Hashtbl.t; unproved : (string * string, int) Hashtbl.t;
  mutable early : int; mutable dead : int; mutable lost : int; mutable passes : int; mutable whole : int;
}
let all = { proved = Hashtbl.create 20; unproved = Hashtbl.create 20; early = 0; dead = 0; lost = 0; passes = 0; whole = 0 }
let more table key = Hashtbl.replace table key (1 + try Hashtbl.find table key with Not_found -> 0)

let setup before after =
  let table () = Hashtbl.create 1000 in
  let s =
    { before; after; dims = table (); ranked = table (); points = table (); operators = table (); plain_of = table (); laid_of = table ();
      inner = table (); source = table (); moves = table (); into = table (); alike = table (); traced = table (); zero = None;
      facts = V.no_facts }
  in
  List.iter
    (fun (side, g) ->
      Hashtbl.iter (fun w d -> match d with
        | Some d -> Hashtbl.replace s.dims (wire side w) d; Hashtbl.replace s.ranked (wire side w) ()
        | None -> ()) g.shapes)
    [ (Before, before); (After, after) ];
  read_nodes s Before before;
  read_nodes s After after;
  s

(* Inputs and constants: what both graphs begin with. *)
let beginnings s =
  let keyed key side g =
    Array.to_list g.nodes
    |> List.filter_map (fun n -> match (optional key n, ids "outputs" n) with Some v, [ Some w ] -> Some (J.to_string v, wire side w) | _ -> None) in
  List.iter
    (fun key ->
      let news = keyed key After s.after in
      List.iter
        (fun (name, a) ->
          List.iter
            (fun (other, b) ->
              if name = other && dims s a = dims s b then begin
                give s (V.Moved (a, b, as_it_is (rank s a)));
                learn s a b (as_it_is (rank s a))
              end)
            news)
        (keyed key Before s.before))
    [ "input"; "value" ];
  List.iter
    (fun c ->
      let a = wire Before (positive (field "old" c)) and b = wire After (positive (field "new" c)) in
      let f =
        match optional "axes" c with
        | Some axes -> List.rev_map (function `Null -> V.Zero | k -> axis (rank s a - 1 - small k)) (list axes)
        | None -> blocked
      in
      give s (V.Moved (a, b, f));
      learn s a b f)
    (list (field "constants" s.after.value))

(* What an old wire is taken to be in the new graph where no proof says so. *)
let assume s a came =
  let fits b = Hashtbl.find_opt s.before.kinds (Z.shift_right a 1) = Hashtbl.find_opt s.after.kinds (Z.shift_right b 1) in
  let outs c = List.filter_map (Option.map (wire After)) (ids "outputs" s.after.nodes.(c)) in
  let rec go = function
    | [] -> ()
    | b :: rest -> (
        match if has_rank s a && has_rank s b && fits b then layouts s a b else [] with
        | f :: _ -> give s (V.Moved (a, b, f)); learn s a b f
        | [] when (not (has_rank s a)) && (not (has_rank s b)) && fits b -> give s (V.Moved (a, b, [])); learn s a b []
        | [] -> go rest)
  in
  go (List.concat_map (fun c -> List.rev (outs c)) (List.rev came))

let judge before after =
  let s = setup before after in
  beginnings s;
  let numbers key v = List.map (fun x -> Z.to_int (integer x)) (list (field key v)) in
  let made_for = Hashtbl.create 500 in
  List.iter (fun l -> match list l with
    | [ made; old ] -> Hashtbl.add made_for (Z.to_int (integer old)) (Z.to_int (integer made))
    | _ -> fail "a pair was expected") (list (field "made_for" after.value));
  let rules = Hashtbl.create 100 in
  List.iter
    (fun r -> match List.rev (numbers "gone" r) with
      | root :: _ -> Hashtbl.replace rules root (text (field "rule" r), numbers "came" r)
      | [] -> ())
    (list (field "replacements" after.value));
  let gone = Hashtbl.create 100 in
  List.iter (fun r -> List.iter (fun n -> Hashtbl.replace gone n ()) (numbers "gone" r)) (list (field "replacements" after.value));
  let assumed = ref false in
  Array.iteri
    (fun at n ->
      if optional "operator" n <> None then begin
        let rule = Hashtbl.find_opt rules at in
        let candidates = List.sort_uniq compare (Hashtbl.find_all made_for at @ match rule with Some (_, came) -> came | None -> []) in
        let outs = List.filter_map (Option.map (wire Before)) (ids "outputs" n) in
        let traced = found_in_new s in
        if not (by_operators s at candidates) then ignore (by_axis s at candidates);
        List.iter (fun a -> if not (traced a) then ignore (by_program s a candidates)) outs;
        List.iter (fun a -> if not (traced a) then through_views s 4 a candidates) outs;
        let found = List.for_all traced outs in
        match rule with
        | Some ("fold_constants", came) ->
            all.early <- all.early + 1;
            if not found then List.iter (fun a -> if not (traced a) then assume s a came) outs
        | Some (rule, came) ->
            if found then more all.proved rule
            else begin
              more all.unproved (rule, op_name n);
              assumed := true;
              List.iter (fun a -> if not (traced a) then assume s a came) outs
            end
        | None ->
            if candidates <> [] && (not found) && not (Hashtbl.mem gone at) then begin
              (* Made again as it was, on operands that cannot be told from those before. *)
              all.lost <- all.lost + 1;
              assumed := true;
              List.iter (fun a -> if not (traced a) then assume s a candidates) outs
            end
      end)
    before.nodes;
  all.passes <- all.passes + 1;
  all.dead <- all.dead + List.length (list (field "removed" after.value));
  let same a b = let a = wire Before a and b = wire After b in dims s a = dims s b && known s (V.Moved (a, b, as_it_is (rank s a))) in
  let equal = List.length before.outputs = List.length after.outputs && List.for_all2 same before.outputs after.outputs in
  if equal && not !assumed then all.whole <- all.whole + 1;
  equal

let read v =
  let r = field "replacements" v in
  let graphs = List.map read_graph (list (field "graphs" r)) in
  let rec pairs = function
    | a :: (b :: _ as rest) ->
        if not (judge a b) then Printf.printf "  pass %s: an output could not be traced\n" b.pass;
        pairs rest
    | _ -> ()
  in
  pairs graphs;
  (* A product and the program that reads it, as one step: Plan.v takes both as they are. *)
  List.iter
    (fun e ->
      let makes = positive (field "makes" e) in
      if List.exists (fun w -> Z.equal (positive w) makes) (list (field "reads" e)) then more all.proved "epilogue"
      else more all.unproved ("epilogue", "a program that does not read its product"))
    (list (field "epilogues" r))

let report () =
  let sum table = Hashtbl.fold (fun _ n total -> n + total) table 0 in
  let good = sum all.proved and bad = sum all.unproved in
  if all.passes > 0 || good + bad > 0 then begin
    Hashtbl.fold (fun rule n l -> (rule, n) :: l) all.proved [] |> List.sort compare
    |> List.iter (fun (rule, n) -> Printf.printf "  proved      %6d  %s\n" n rule);
    Hashtbl.fold (fun key n l -> (key, n) :: l) all.unproved [] |> List.sort compare
    |> List.iter (fun ((rule, what), n) -> Printf.printf "  not proved  %6d  %s: %s\n" n rule what);
    Printf.printf "%d replacements, %d proved (%.1f %%); %d passes, %d proved whole; %d nodes copied but not traced; %d dead, %d computed early\n"
      (good + bad) good (100. *. float good /. float (max 1 (good + bad))) all.passes all.whole all.lost all.dead all.early
  end
