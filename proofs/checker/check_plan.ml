(* sardonyx-check-plan [--quiet] FILE...: whether the plans of these certificates are right. A file may
   hold several, one after another; - is standard input. Exit code 0: all accepted; 1: one was refused;
   2: a file is no certificate. Of a journal (`sardonyx show --at plan --journal --format json`), which of
   its replacements are proved. *)
open Validator

type counts = {
  mutable plans : int; mutable refused : int; mutable steps : int; mutable views : int; mutable joins : int;
  mutable taken : int; mutable fused : int; mutable own : int; mutable bodies : int; mutable waiting : int; mutable seconds : float;
}
let all = { plans = 0; refused = 0; steps = 0; views = 0; joins = 0; taken = 0; fused = 0; own = 0; bodies = 0; waiting = 0; seconds = 0. }

let rec count (c : Certificate.t) =
  all.steps <- all.steps + List.length c.steps;
  all.bodies <- all.bodies + List.length c.bodies;
  List.iter
    (fun (s : Certificate.shown) ->
      match s.act with
      | View _ -> all.views <- all.views + 1
      | Join _ -> all.joins <- all.joins + 1
      | Exec (nodes, _, reads, writes, _, _) ->
          if List.length nodes > 1 then all.fused <- all.fused + 1;
          List.iter (fun w -> if w.at_ = Own then all.own <- all.own + 1) writes;
          if List.exists (fun w -> w.at_ <> Own && List.exists (fun r -> r.at_ = w.at_) reads) writes then all.taken <- all.taken + 1)
    c.steps;
  List.iter (fun (_, b) -> count b) c.bodies

let judge quiet file value =
  match Certificate.optional "format" value with
  | Some (`String "sardonyx-journal") -> Passes.read value
  | _ ->
  match Certificate.read value with
  | exception Certificate.Refused reason ->
      all.plans <- all.plans + 1;
      all.refused <- all.refused + 1;
      Printf.printf "%s: refused: %s\n" (match Certificate.optional "model" value with Some (`String m) -> m | _ -> file) reason
  | model, c ->
  let start = Sys.time () in
  let good = all_accepted c.nest in
  all.seconds <- all.seconds +. (Sys.time () -. start);
  all.plans <- all.plans + 1;
  all.waiting <- all.waiting + c.open_bodies;
  count c;
  let name = if model = "" then file else model in
  if good then (if not quiet then Printf.printf "%s: accepted\n" name)
  else begin
    all.refused <- all.refused + 1;
    Printf.printf "%s: refused: %s\n" name (match Explain.tree "" c with Some reason -> reason | None -> "the validator says no")
  end

let () =
  let quiet = Array.mem "--quiet" Sys.argv in
  let files = List.filter (fun a -> a <> "--quiet") (List.tl (Array.to_list Sys.argv)) in
  if files = [] then begin
    prerr_endline "usage: sardonyx-check-plan [--quiet] CERTIFICATE...";
    exit 2
  end;
  (try
     List.iter
       (fun file ->
         try
           let channel = if file = "-" then stdin else open_in_bin file in
           Seq.iter (judge quiet file) (Yojson.Safe.seq_from_channel channel);
           if file <> "-" then close_in channel
         with
         | Certificate.Malformed reason -> Printf.eprintf "%s: no certificate: %s\n" file reason; exit 2
         | Yojson.Json_error reason -> Printf.eprintf "%s: no JSON: %s\n" file reason; exit 2
         | Sys_error reason -> Printf.eprintf "%s\n" reason; exit 2)
       files
   with Stack_overflow -> prerr_endline "the certificate is nested too deeply"; exit 2);
  Passes.report ();
  if all.plans > 0 then Printf.printf
    "%d plans, %d refused; %d lines: %d views, %d joins, %d in place, %d fused, %d values of their own; %d subgraphs, %d more planned when run; %.3f s\n"
    all.plans all.refused all.steps all.views all.joins all.taken all.fused all.own all.bodies all.waiting all.seconds;
  exit (if all.refused = 0 then 0 else 1)
