(* Reads the replacements of a journal (docs/certificate.md) and counts, by rule, those that are proved. *)
open Certificate
module V = Validator

let lanes = 16
let nats : (int, V.nat) Hashtbl.t = Hashtbl.create 100
let size n = match Hashtbl.find_opt nats n with Some v -> v | None -> let v = nat n in Hashtbl.replace nats n v; v

type verdict = Proved | Open of string

(* Sizes that no proof computes with may be renamed as long as equal ones stay equal and 1 stays 1. *)
let read_dims ~exact v =
  let table = Hashtbl.create 50 and names = Hashtbl.create 50 in
  let number z =
    if Z.equal z Z.one then size 1
    else if exact && Z.lt z (Z.of_int 1_000_000) then size (Z.to_int z)
    else
      match Hashtbl.find_opt names z with
      | Some n -> size n
      | None ->
          let n = Hashtbl.length names + if exact then 1_000_001 else 2 in
          Hashtbl.replace names z n;
          size n
  in
  List.iter
    (fun w ->
      (* Innermost axis first. *)
      Hashtbl.replace table (positive (field "wire" w)) (List.rev_map (fun d -> number (integer d)) (list (field "dims" w))))
    (list v);
  fun x -> match Hashtbl.find_opt table x with Some d -> d | None -> []

let functions = Hashtbl.create 100
let function_number name =
  match Hashtbl.find_opt functions name with
  | Some n -> n
  | None -> let n = Z.of_int (Hashtbl.length functions + 1) in Hashtbl.replace functions name n; n

(* The last point stands first. *)
let points v =
  List.rev_map
    (fun p -> { V.made = positive (field "made" p); fn = function_number (text (field "function" p)); args = List.map positive (list (field "args" p)) })
    (list v)

(* Expressions are trees: a wire that is read twice is written twice. *)
let too_large ps =
  let cost = Hashtbl.create 50 in
  List.exists
    (fun (p : V.point) ->
      let c = List.fold_left (fun n a -> n + try Hashtbl.find cost a with Not_found -> 1) 1 p.V.args in
      Hashtbl.replace cost p.V.made (min c 10_000_000);
      c > 1_000_000)
    (List.rev ps)

let judge v =
  match text (field "kind" v) with
  | "points" | "blocked points" as kind ->
      let blocked = kind <> "points" in
      let dims = read_dims ~exact:blocked (field "dims" v) in
      let before = points (field "old" v) and after = points (field "new" v) in
      let x = positive (field "old_result" v) and x' = positive (field "new_result" v) in
      if too_large before || too_large after then Open "the expression is too large"
      else if not blocked then if V.same_program dims before after x x' then Proved else Open "the two programs differ"
      else
        let leaves = list (field "leaves" v) in
        let stand = List.for_all (fun l -> truth (field "stands_for" l)) leaves in
        let pairs = List.map (fun l -> (positive (field "old" l), positive (field "new" l))) leaves in
        if not stand then Open "a wire does not stand for the one that was read"
        else if V.same_blocked dims (size lanes) pairs before after x x' then Proved
        else Open "the two programs differ on blocks"
  | "blocked convolution" ->
      if text (field "old_attributes" v) <> text (field "new_attributes" v) then Open "attributes differ"
      else if truth (field "same_operands" v) then Proved
      else Open "an operand does not stand for the one that was read"
  | "epilogue" -> if truth (field "program_reads_product" v) then Proved else Open "the program does not read the product"
  | "other" -> Open "no proof for this rule yet"
  | kind -> fail "no replacement is called \"%s\"" kind

let proved : (string, int) Hashtbl.t = Hashtbl.create 20
let unproved : (string * string, int) Hashtbl.t = Hashtbl.create 20
let more table key = Hashtbl.replace table key (1 + try Hashtbl.find table key with Not_found -> 0)

let read v =
  List.iter
    (fun r ->
      let rule = text (field "rule" r) in
      match judge r with Proved -> more proved rule | Open reason -> more unproved (rule, reason))
    (list (field "replacements" v))

let report () =
  let sum table = Hashtbl.fold (fun _ n total -> n + total) table 0 in
  let good = sum proved and bad = sum unproved in
  if good + bad > 0 then begin
    Hashtbl.fold (fun rule n l -> (rule, n) :: l) proved [] |> List.sort compare
    |> List.iter (fun (rule, n) -> Printf.printf "  proved      %6d  %s\n" n rule);
    Hashtbl.fold (fun key n l -> (key, n) :: l) unproved [] |> List.sort compare
    |> List.iter (fun ((rule, reason), n) -> Printf.printf "  not proved  %6d  %s: %s\n" n rule reason);
    Printf.printf "%d replacements, %d proved (%.1f %%)\n" (good + bad) good (100. *. float good /. float (good + bad))
  end
