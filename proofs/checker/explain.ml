(* Why a plan is refused, for people. The verdict is the proved validator's; this only looks for words. *)
open Validator
open Certificate

let n = Z.to_string
let where c w =
  match w.at_ with
  | Own -> "memory of its own"
  | At (s, o, l) ->
      let memory =
        match Hashtbl.find_opt c.memories s with
        | Some m -> m.what ^ if m.label = "" then "" else " \"" ^ m.label ^ "\""
        | None -> "memory " ^ n s
      in
      Printf.sprintf "%s+%s, %s bytes" memory (n o) (n l)
let shown c w = Printf.sprintf "wire %s (%s)" (n w.wid) (where c w)

let overlap a b =
  match (a.at_, b.at_) with
  | At (_, o, l), At (_, o', l') -> Z.sub (Z.min (Z.add o l) (Z.add o' l')) (Z.max o o')
  | _ -> Z.zero

let rec pairs = function [] -> [] | x :: xs -> List.map (fun y -> (x, y)) xs @ pairs xs
let clash c what a b = Printf.sprintf "%s: %s and %s overlap by %s bytes" what (shown c a) (shown c b) (n (overlap a b))

let touches act w =
  let written = match act with Exec (_, _, _, ws, sc, _) -> ws @ sc | View _ -> [] | Join (_, _, d) -> [ d ] in
  List.exists (fun u -> not (disjoint u w)) written

(* What a step that may not be called has wrong. *)
let overlaps c = function
  | Exec (_, _, reads, writes, scratch, inplace) ->
      let both = List.filter_map (fun (a, b) -> if disjoint a b then None else Some (clash c "it writes twice" a b)) (pairs (writes @ scratch)) in
      let scratched =
        List.concat_map (fun s -> List.filter_map (fun r -> if disjoint s r then None else Some (clash c "scratch over an input" s r)) reads) scratch
      in
      let over =
        List.concat_map
          (fun (i, w) ->
            List.filter_map
              (fun r ->
                let taken = i = 0 && r.at_ = w.at_ && List.exists (Z.equal r.wid) inplace in
                if disjoint r w || taken then None else Some (clash c "an output over an input" w r))
              reads)
          (List.mapi (fun i w -> (i, w)) writes)
      in
      both @ scratched @ over
  | Join (_, parts, dst) ->
      List.filter_map (fun p -> if disjoint p dst then None else Some (clash c "a part lies askew in the result" p dst)) parts
  | View _ -> []

let lost c before w =
  let rec find best i = function
    | [] -> best
    | s :: rest -> find (if touches s.act w then Some (i, s.title) else best) (i + 1) rest
  in
  match find None 0 before with
  | Some (i, title) -> Printf.sprintf "%s does not hold its value: line %d (%s) wrote there last" (shown c w) i title
  | None -> Printf.sprintf "%s is read before it has a value" (shown c w)

let step c before (live, seen) s =
  let reads = match s.act with Exec (_, _, r, _, _, _) -> r | View (_, src, _) -> [ src ] | Join (_, p, _) -> p in
  let dead = List.filter (fun r -> not (is_live r live)) reads in
  let nodes = match s.act with Exec (ns, _, _, _, _, _) -> ns | View (x, _, _) | Join (x, _, _) -> [ x ] in
  let again = List.filter (knows seen) (List.concat_map (fun x -> x.nouts) nodes) in
  let early =
    List.filter (fun x -> not (knows seen x || List.exists (fun m -> List.exists (Z.equal x) m.nouts) nodes))
      (List.concat_map (fun x -> x.nins) nodes)
  in
  let read_only =
    let writes = match s.act with Exec (_, _, _, w, sc, _) -> w @ sc | View _ -> [] | Join (_, _, d) -> [ d ] in
    List.filter (fun w -> match w.at_ with At (m, _, _) -> not (c.rooms.writable m) | Own -> false) writes
  in
  match
    (if may_call_ s.act then [] else overlaps c s.act)
    @ List.map (lost c before) dead
    @ List.map (fun x -> Printf.sprintf "wire %s is made twice" (n x)) again
    @ List.map (fun x -> Printf.sprintf "wire %s is read before it is made" (n x)) early
    @ List.map (fun w -> Printf.sprintf "%s may not be written" (shown c w)) read_only
  with
  | [] -> (
      match s.act with
      | View (_, src, dsts) -> String.concat "; " (List.map (fun d -> Printf.sprintf "%s is not the piece of %s that the operator gives" (shown c d) (shown c src)) dsts)
      | Join (_, _, d) -> Printf.sprintf "the parts do not fill %s" (shown c d)
      | Exec _ -> "a node does not find its inputs among what the step reads, or an output is none of its nodes'")
  | reasons -> String.concat "; " reasons

let bounds c s =
  let wires = match s.act with Exec (_, _, r, w, sc, _) -> r @ w @ sc | View (_, src, d) -> src :: d | Join (_, p, d) -> d :: p in
  match List.filter (fun w -> not (fits c.rooms.room w)) wires with
  | [] -> (
      match s.act with
      | Exec (_, _, _, _, sc, _) when List.exists (fun w -> match w.at_ with At (_, o, _) -> not (Z.divisible o c.rooms.alignment) | Own -> false) sc ->
          Some "its scratch memory is not aligned"
      | _ -> None)
  | bad -> Some (String.concat "; " (List.map (fun w -> shown c w ^ " is out of bounds") bad))

(* The first thing that is wrong with this plan, not with those inside of it. *)
let plan c =
  let consts = const_ids_ c.plan in
  let rec go before i state (steps : checked_op step list) shown_steps =
    match (steps, shown_steps) with
    | t :: ts, s :: ss -> (
        match check_step_ c.rooms consts state t with
        | Some state' -> go (s :: before) (i + 1) state' ts ss
        | None -> Some (Printf.sprintf "line %d, %s: %s" i s.title (step c (List.rev before) state s)))
    | _ -> (
        let live, _ = state in
        match List.find_opt (fun (w, _) -> not (is_live w live)) c.plan.outputs with
        | Some (w, _) -> Some ("an output is not there at the end: " ^ lost c (List.rev before) w)
        | None -> None)
  in
  match go [] 0 (start_ c.plan) c.plan.steps c.steps with
  | Some reason -> Some reason
  | None -> (
      let out = List.find_map (fun (i, s) -> Option.map (fun r -> Printf.sprintf "line %d, %s: %s" i s.title r) (bounds c s)) (List.mapi (fun i s -> (i, s)) c.steps) in
      match out with
      | Some reason -> Some reason
      | None ->
          if not (delivered_ c.rooms c.plan) then Some "an output does not fill the caller's buffer"
          else if not (arrives_ c.rooms c.plan) then Some "an input lies where steps may write"
          else None)

let rec tree path c =
  match plan c with
  | Some reason -> Some (path ^ reason)
  | None -> List.find_map (fun (attribute, b) -> tree (path ^ attribute ^ ", ") b) c.bodies
