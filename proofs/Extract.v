(* The checker's core as OCaml. Numbers are zarith's. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt List.
From Sardonyx Require Import Graph Memory Plan ShapeOps Bodies Checker Layouts Passes Rewrites.
Extraction Language OCaml.
Extraction "validator.ml" accepted valid_ check_step_ start_ const_ids_ may_call_ in_bounds_ delivered_ arrives_
  all_accepted split_cuts slice_of joins is_live knows fits disjoint
  Passes.take Passes.known Passes.learn no_facts stored after read_alike broadcasts.
