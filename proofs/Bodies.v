(* The whole chain: operators are kernels, constants, shapes and control flow; the plans of subgraphs
   discharge the steps that hold them. *)
From Coq Require Import List PArith NArith Bool.
From Sardonyx Require Import Graph Memory Plan Control ShapeOps.
Import ListNotations.

Inductive prim (kernel : Type) := Kernel (k : kernel) | Constant (x : id) | Shape (s : shape_op).
Arguments Kernel {kernel}. Arguments Constant {kernel}. Arguments Shape {kernel}.
Definition operator (kernel : Type) := Control.op (prim kernel).

(* What the validator asks of an operator. *)
Definition piece_of {kernel} (o : operator kernel) (k : nat) : option (N * N * N) :=
  match o with Prim (Shape s) => slice_of s k | _ => None end.
Definition parts_of {kernel} (o : operator kernel) : option (list N) :=
  match o with Prim (Shape s) => joins s | _ => None end.

Section Bodies.
Variables kernel byte : Type.
Notation value := (list byte).
Notation op := (operator kernel).
Variable zero : byte.
Variable ksem : kernel -> list value -> list value.
Variable constant : id -> value.
(* How control flow sees tensors: see Control.v. *)
Variable truth : value -> bool.
Variable condition : bool -> value.
Variable trips : value -> nat.
Variable number : nat -> value.
Variable rows : list value -> list (list value).
Variable stacked : list (list value) -> list value.
Variable limit : nat.
Variable writable : positive -> bool.

Definition psem (p : prim kernel) (vs : list value) : list value :=
  match p with Kernel k => ksem k vs | Constant x => [constant x] | Shape s => sem_shape byte zero s vs end.
Definition sem : op -> list value -> list value :=
  Control.sem (prim kernel) value [] psem truth condition trips number rows stacked limit.
Definition apply := Control.apply (prim kernel) value [] psem truth condition trips number rows stacked limit.
Definition csem := Control.csem value [] truth condition trips number rows stacked limit.

Lemma piece_of_sound o k total d l v vs : piece_of o k = Some (total, d, l) -> bytes_of byte v = total ->
  nth k (sem o (v :: vs)) [] = slice d l v.
Proof.
  destruct o as [[k'|x|s]|c bodies]; cbn [piece_of]; intros H; try discriminate.
  apply (slice_of_sound byte zero s k total d l v vs H).
Qed.
Lemma parts_of_sound o ls vs : parts_of o = Some ls -> map (bytes_of byte) vs = ls -> sem o vs = [concat vs].
Proof.
  destruct o as [[k'|x|s]|c bodies]; cbn [parts_of]; intros H; try discriminate. apply (joins_sound byte zero s ls vs H).
Qed.

Notation plan := (Plan.plan op).
Notation valid := (Plan.valid op piece_of parts_of writable).
Notation kernels := (Plan.kernels op byte).
Notation keeps_contract := (Plan.keeps_contract op byte sem parts_of (fun x => Some (constant x))).
Notation run := (Plan.run op byte).

(* THE VALIDATOR IS RIGHT, for all operators. *)
Theorem valid_plan_computes_its_graph p (K : kernels) e m m' : valid p = true -> keeps_contract K ->
  Plan.loaded op byte (fun x => Some (constant x)) p e m -> run K (steps op p) m m' ->
  forall w s, In (w, s) (outputs op p) ->
  run_nodes op value [] sem (graph_of op p) e (wid w) = Some (read byte m' w).
Proof. apply Plan.valid_sound; [exact piece_of_sound|exact parts_of_sound]. Qed.
Theorem valid_plan_meets_sonnx p (K : kernels) e m m' trace s : valid p = true -> keeps_contract K ->
  Plan.loaded op byte (fun x => Some (constant x)) p e m ->
  (forall x, defined value e x <-> In x (constants op p ++ map wid (inputs op p))) ->
  run K (steps op p) m m' -> reach op value [] sem (graph_of op p) e trace s -> stuck op value (graph_of op p) s ->
  forall w b, In (w, b) (outputs op p) -> s (wid w) = Some (read byte m' w).
Proof. apply Plan.plan_meets_sonnx; [exact piece_of_sound|exact parts_of_sound]. Qed.

(* A body as a graph: its constants are nodes without inputs. *)
Definition constant_node (x : id) : node op := Node (Prim (Constant x)) [] [x].
Definition body_graph (formals : list id) (p : plan) : graph op :=
  Graph_ formals (map constant_node (constants op p) ++ graph_of op p) (map (fun o => wid (fst o)) (outputs op p)).
Definition body_env (formals : list id) (p : plan) (vs : list value) : env value :=
  run_nodes op value [] sem (map constant_node (constants op p)) (bind value formals vs).
(* The plan of a body, run on `vs`, gives `rs`. *)
Definition runs (K : kernels) (formals : list id) (p : plan) (vs rs : list value) : Prop :=
  exists m m', (forall w, In w (inputs op p) -> body_env formals p vs (wid w) = Some (read byte m w)) /\
               run K (steps op p) m m' /\ rs = map (fun o => read byte m' (fst o)) (outputs op p).

Lemma constants_defined xs : forall e x, In x xs ->
  run_nodes op value [] sem (map constant_node xs) e x = Some (constant x).
Proof.
  induction xs as [|y ys IH]; cbn [map]; intros e x I; [destruct I|].
  change (run_nodes op value [] sem (map constant_node ys) (run_node op value [] sem e (constant_node y)) x = Some (constant x)).
  destruct (in_dec Pos.eq_dec x ys) as [i|i]; [apply IH; auto|].
  rewrite run_nodes_other.
  - destruct I as [->|I]; [|tauto]. unfold run_node, constant_node. cbn. rewrite Pos.eqb_refl. auto.
  - intros J. apply i. apply in_outs in J. destruct J as (n & N & X). apply in_map_iff in N. destruct N as (z & <- & Z).
    cbn in X. destruct X as [->|[]]. auto.
Qed.
Lemma body_loaded formals p vs m : (forall w, In w (inputs op p) -> body_env formals p vs (wid w) = Some (read byte m w)) ->
  Plan.loaded op byte (fun x => Some (constant x)) p (body_env formals p vs) m.
Proof.
  intros H. split; auto. intros x I. unfold body_env, defined. rewrite constants_defined by auto. split; congruence.
Qed.
Theorem body_runs_right K formals p vs rs : valid p = true -> keeps_contract K -> runs K formals p vs rs ->
  rs = apply (body_graph formals p) vs.
Proof.
  intros V KC (m & m' & L & R & ->). unfold apply, Control.apply, body_graph. cbn [gins gnodes gouts].
  rewrite map_map. apply map_ext_in. intros [w s] I. cbn [fst]. unfold value_of. rewrite run_nodes_app.
  fold sem. change (run_nodes op value [] sem (map constant_node (constants op p)) (bind value formals vs)) with (body_env formals p vs).
  rewrite (valid_plan_computes_its_graph p K (body_env formals p vs) m m' V KC (body_loaded _ _ _ _ L) R w s I). auto.
Qed.

(* A VALID BODY PLAN DISCHARGES THE OUTER STEP: control flow over what the bodies' plans give is the
   operator's meaning. Where a body is never run, its plan says nothing. *)
Theorem bodies_discharge K c (bodies : list (list id * plan)) (fs : list (list value -> list value)) :
  keeps_contract K ->
  Forall2 (fun f b => valid (snd b) = true /\
             forall vs, runs K (fst b) (snd b) vs (f vs) \/ f vs = apply (body_graph (fst b) (snd b)) vs) fs bodies ->
  forall vs, csem c fs vs = sem (Control c (map (fun b => body_graph (fst b) (snd b)) bodies)) vs.
Proof.
  intros KC H vs. unfold sem. rewrite sem_control. apply csem_ext. rewrite map_map.
  induction H as [|f b fs bs [V R] H IH]; cbn; constructor; auto. intros ws.
  destruct (R ws) as [X|X]; auto. eapply body_runs_right; eauto.
Qed.
End Bodies.
