(* Replacements in graphs, and channels in blocks. *)
From Coq Require Import List PeanoNat PArith Bool Lia.
From Sardonyx Require Import Graph Programs.
Import ListNotations.

(* ---- a replacement within a graph ---------------------------------------------------------------- *)

Section Context.
Variables op value : Type.
Variable none : value.
Variable sem : op -> list value -> list value.
Notation run_nodes := (run_nodes op value none sem).
Notation run_node := (run_node op value none sem).

(* Two lists of nodes that agree on every wire but hidden ones, from every state, may stand for each
   other wherever nobody else reads the hidden ones. *)
Definition agree (hidden : id -> Prop) (e e' : env value) : Prop := forall x, ~ hidden x -> e x = e' x.
Lemma run_agree hidden ns : forall e e', (forall n x, In n ns -> In x (nins n) -> ~ hidden x) -> agree hidden e e' ->
  agree hidden (run_nodes ns e) (run_nodes ns e').
Proof.
  induction ns as [|n ns IH]; cbn; intros e e' N A; auto. apply IH; [intros m x M; apply N; auto|].
  intros z Z. unfold Graph.run_node. rewrite (vals_ext value e e'); [destruct (index z (nouts n)); auto|].
  intros w W. apply A. apply (N n); auto.
Qed.
Theorem replacement_in_context before old new after hidden e :
  (forall e, agree hidden (run_nodes old e) (run_nodes new e)) ->
  (forall n x, In n after -> In x (nins n) -> ~ hidden x) ->
  agree hidden (run_nodes (before ++ old ++ after) e) (run_nodes (before ++ new ++ after) e).
Proof. intros R N. rewrite !run_nodes_app. apply run_agree; auto. Qed.

(* DEAD NODES: without a node whose outputs nobody reads, every other wire is as it was. *)
Theorem dead_node before n after e : (forall m x, In m after -> In x (nins m) -> ~ In x (nouts n)) ->
  agree (fun x => In x (nouts n)) (run_nodes (before ++ [n] ++ after) e) (run_nodes (before ++ [] ++ after) e).
Proof.
  intros N. apply replacement_in_context; auto. intros e' x X. cbn. apply run_node_other. auto.
Qed.
(* EPILOGUES: a product and the program that reads it, run by one kernel, are still these two nodes; the
   validator asks of the kernel what the two nodes give (Plan.v: Exec of several nodes). *)
Theorem epilogue before product program after e :
  run_nodes (before ++ [product; program] ++ after) e = run_nodes after (run_node (run_node (run_nodes before e) product) program).
Proof. rewrite !run_nodes_app. reflexivity. Qed.
End Context.

(* ---- channels in blocks -------------------------------------------------------------------------- *)

Section Blocks.
Variable lanes : nat.
Hypothesis lanes_pos : lanes <> 0.

(* Channel c is lane c mod 16 of block c / 16. Sizes and indices are innermost first: [W, H, C, N] becomes
   [16, W, H, C / 16 rounded up, N]. *)
Definition block_index (i : list nat) : list nat :=
  match i with [w; h; c; n] => [c mod lanes; w; h; c / lanes; n] | _ => i end.
Definition blocks (channels : nat) : nat := (channels + lanes - 1) / lanes.
Definition block_dims (ds : list nat) : list nat :=
  match ds with [w; h; c; n] => [lanes; w; h; blocks c; n] | _ => ds end.
Definition unblock_index (i : list nat) : list nat :=
  match i with [l; w; h; b; n] => [w; h; b * lanes + l; n] | _ => i end.

(* BLOCKING IS A PERMUTATION into its padded form: there and back is where one was. *)
Theorem unblock_block w h c n : unblock_index (block_index [w; h; c; n]) = [w; h; c; n].
Proof. cbn. rewrite (Nat.mul_comm (c / lanes)), <- Nat.div_mod by auto. auto. Qed.
Lemma block_small c C : c < C -> c / lanes < blocks C.
Proof.
  intros H. unfold blocks. apply Nat.div_lt_upper_bound; auto.
  assert (D := Nat.div_mod (C + lanes - 1) lanes lanes_pos).
  assert (M := Nat.mod_upper_bound (C + lanes - 1) lanes lanes_pos). nia.
Qed.
Theorem block_inside ds i : length ds = 4 -> inside ds i -> inside (block_dims ds) (block_index i).
Proof.
  intros L I. destruct ds as [|w [|h [|c [|n [|]]]]]; try discriminate.
  repeat match goal with H : inside _ _ |- _ => inversion H; subst; clear H | H : Forall2 _ _ _ |- _ => inversion H; subst; clear H end.
  cbn. repeat constructor; auto. { apply Nat.mod_upper_bound; auto. } apply block_small. auto.
Qed.

(* A wire and its blocked form are read at places that belong together. *)
Theorem blocked_read w h n W H C N i : lanes <> 1 -> inside [W; H; C; N] i ->
  within (block_dims [w; h; C; n]) (block_index i) = block_index (within [w; h; C; n] i).
Proof.
  intros NL I. repeat match goal with X : inside _ _ |- _ => inversion X; subst; clear X | X : Forall2 _ _ _ |- _ => inversion X; subst; clear X end.
  cbn. destruct (Nat.eqb_spec lanes 1); [congruence|]. destruct (Nat.eqb_spec C 1) as [->|NC].
  - match goal with X : ?c < 1 |- _ => replace c with 0 by lia end.
    rewrite Nat.mod_0_l, Nat.div_0_l by auto. destruct (blocks 1 =? 1); auto.
  - destruct (Nat.eqb_spec (blocks C) 1) as [B|]; auto. do 4 f_equal.
    match goal with X : ?c < C |- _ => assert (c / lanes < 1) by (rewrite <- B; apply block_small; auto) end. f_equal. lia.
Qed.
(* One element for all is read at the same place in both. *)
Theorem single_read ds : forall i i', Forall (eq 1) ds -> length ds <= length i -> length ds <= length i' ->
  within ds i = within ds i'.
Proof.
  induction ds as [|d ds IH]; intros [|k i] [|k' i'] F L L'; cbn in *; auto; try lia. inversion F; subst. cbn.
  f_equal. apply IH; auto; lia.
Qed.

(* THE SAME REDUCTION ORDER: block by block and lane by lane, without the padding, is channel by channel. *)
Lemma seq_blocks n : forall b, flat_map (fun b => map (fun l => b * lanes + l) (seq 0 lanes)) (seq b n) = seq (b * lanes) (n * lanes).
Proof.
  assert (M : forall a k s, map (fun l => a + l) (seq s k) = seq (a + s) k).
  { intros a. induction k as [|k IH]; intros s; cbn; auto. rewrite IH. do 2 f_equal. lia. }
  induction n as [|n IH]; intros b; cbn [seq flat_map]; auto. rewrite IH, M, Nat.add_0_r.
  cbn [Nat.mul]. rewrite seq_app. f_equal. f_equal. lia.
Qed.
Lemma filter_below C n : C <= n -> filter (fun c => c <? C) (seq 0 n) = seq 0 C.
Proof.
  intros L. replace n with (C + (n - C)) by lia. rewrite seq_app, filter_app. cbn [Nat.add].
  assert (A : forall k s, s + k <= C -> filter (fun c => c <? C) (seq s k) = seq s k).
  { induction k as [|k IH]; intros s H; cbn [seq filter]; auto. rewrite (proj2 (Nat.ltb_lt s C)) by lia. rewrite IH by lia. auto. }
  assert (B : forall k s, C <= s -> filter (fun c => c <? C) (seq s k) = []).
  { induction k as [|k IH]; intros s H; cbn [seq filter]; auto. rewrite (proj2 (Nat.ltb_ge s C)) by lia. apply IH. lia. }
  rewrite A, B by lia. apply app_nil_r.
Qed.
Theorem blocked_channels_in_order C :
  filter (fun c => c <? C) (flat_map (fun b => map (fun l => b * lanes + l) (seq 0 lanes)) (seq 0 (blocks C))) = seq 0 C.
Proof.
  rewrite seq_blocks. cbn [Nat.mul]. apply filter_below. unfold blocks.
  assert (D := Nat.div_mod (C + lanes - 1) lanes lanes_pos).
  assert (M := Nat.mod_upper_bound (C + lanes - 1) lanes lanes_pos). nia.
Qed.
(* A sum over channels, in whatever order its terms stand that is made from the list of channels. *)
Theorem blocked_reduction (A T : Type) (add : A -> T -> A) (terms : list nat -> list T) start C :
  fold_left add (terms (filter (fun c => c <? C) (flat_map (fun b => map (fun l => b * lanes + l) (seq 0 lanes)) (seq 0 (blocks C))))) start =
  fold_left add (terms (seq 0 C)) start.
Proof. rewrite blocked_channels_in_order. auto. Qed.
End Blocks.

(* ---- element-wise programs on blocks -------------------------------------------------------------- *)

Section BlockedPrograms.
Variable S : Type.
Variable F : positive -> list S -> S.
Variable dims : id -> list nat.
Variable lanes : nat.
Hypothesis lanes_pos : lanes <> 0.
Hypothesis lanes_many : lanes <> 1.
Notation tensors := (tensors S).

(* The new wire holds the old one's elements in blocks. *)
Definition is_blocked (e e' : tensors) (x x' : id) : Prop :=
  forall i, inside (dims x) i -> e' x' (block_index lanes i) = e x i.
(* How a wire that the program reads is kept in the new graph: in blocks, with the result's channels; or
   as it was, with one element. *)
Definition kept (result x x' : id) : bool :=
  match dims result, dims x with
  | [W; H; C; N], [w; h; c; n] =>
      sizes_eqb (dims x') (block_dims lanes (dims x)) && broadcasts (dims x) (dims result) && (c =? C)
  | _, _ => false
  end.
Definition kept_single (x x' : id) : bool :=
  Pos.eqb x x' && forallb (Nat.eqb 1) (dims x).
Lemma within_inside ds : forall big i, broadcasts ds big = true -> inside big i -> inside ds (within ds i).
Proof.
  induction ds as [|d ds IH]; intros big i B I; [constructor|]. destruct big as [|b big]; [discriminate|].
  cbn in B. apply andb_prop in B. destruct B as [B1 B2]. inversion I; subst. cbn. constructor; [|eapply IH; eauto].
  destruct (Nat.eqb_spec d 1) as [->|ND]; [lia|]. cbn in B1. apply Nat.eqb_eq in B1. lia.
Qed.
(* ELEMENT-WISE OPERATORS WORK ON BLOCKS AS THEY ARE. *)
Theorem blocked_program old new x x' a r e e' :
  expand dims old x = Some a -> expand dims new x' = Some (renamed_expression r a) ->
  length (dims x) = 4 -> dims x' = block_dims lanes (dims x) ->
  (forall y, In y (leaves a) ->
     (kept x y (r y) = true /\ is_blocked e e' y (r y)) \/ (kept_single y (r y) = true /\ length (dims y) <= 4 /\ e y = e' y)) ->
  is_blocked (run_points S F dims old e) (run_points S F dims new e') x x'.
Proof.
  intros A B L4 DX H i I. assert (LI := inside_length _ _ I).
  assert (BI : inside (dims x') (block_index lanes i)) by (rewrite DX; apply block_inside; auto).
  assert (LB := inside_length _ _ BI).
  rewrite <- (within_self _ _ BI) at 1. symmetry. rewrite <- (within_self _ _ I) at 1.
  apply (moved_program_sound S F dims old new x x' a r e e' i (block_index lanes i)); auto; try lia.
  intros y Y. destruct (H y Y) as [[K R]|(K & LY & R)].
  - unfold kept in K. destruct (dims x) as [|W [|Hh [|C [|N [|]]]]] eqn:DXX; try discriminate.
    destruct (dims y) as [|w [|h [|c [|n [|]]]]] eqn:DY; try discriminate.
    apply andb_prop in K. destruct K as [K KC]. apply andb_prop in K. destruct K as [K KB]. apply Nat.eqb_eq in KC. subst c.
    unfold sizes_eqb in K. destruct (list_eq_dec _ _ _) as [E|]; [|discriminate]. rewrite E.
    rewrite (blocked_read lanes lanes_pos w h n W Hh C N i lanes_many I). symmetry. rewrite <- DY. apply R. rewrite DY.
    eapply within_inside; eauto.
  - unfold kept_single in K. apply andb_prop in K. destruct K as [K1 K2]. apply Pos.eqb_eq in K1. rewrite <- K1, <- R.
    f_equal. apply (single_read lanes lanes_pos); try lia.
    + apply Forall_forall. intros d Hd. rewrite forallb_forall in K2. specialize (K2 d Hd). apply Nat.eqb_eq in K2. auto.
    + rewrite <- LB, DX. destruct (dims x) as [|? [|? [|? [|? [|]]]]]; try discriminate. cbn. lia.
Qed.

(* What the checker computes: `leaves` pairs the wires that the old side reads with those of the new. *)
Definition renaming (pairs : list (id * id)) (x : id) : id :=
  match find (fun p => Pos.eqb (fst p) x) pairs with Some p => snd p | None => x end.
Definition same_blocked (pairs : list (id * id)) (old new : list point) (x x' : id) : bool :=
  Nat.eqb (length (dims x)) 4 && sizes_eqb (dims x') (block_dims lanes (dims x)) &&
  match expand dims old x, expand dims new x' with
  | Some a, Some b =>
      expression_eqb (renamed_expression (renaming pairs) a) b &&
      forallb (fun y => kept x y (renaming pairs y) || (kept_single y (renaming pairs y) && (length (dims y) <=? 4))) (leaves a)
  | _, _ => false
  end.
Theorem same_blocked_sound pairs old new x x' e e' : same_blocked pairs old new x x' = true ->
  (forall y, kept x y (renaming pairs y) = true -> is_blocked e e' y (renaming pairs y)) ->
  (forall y, kept_single y (renaming pairs y) = true -> e y = e' y) ->
  is_blocked (run_points S F dims old e) (run_points S F dims new e') x x'.
Proof.
  unfold same_blocked. intros H KB KS. apply andb_prop in H. destruct H as [H1 H]. apply andb_prop in H1. destruct H1 as [L D].
  apply Nat.eqb_eq in L. unfold sizes_eqb in D. destruct (list_eq_dec _ _ _) as [E|]; [|discriminate].
  destruct (expand dims old x) as [a|] eqn:A; [|discriminate]. destruct (expand dims new x') as [b|] eqn:B; [|discriminate].
  apply andb_prop in H. destruct H as [H1 H2]. apply expression_eqb_eq in H1. subst b. rewrite forallb_forall in H2.
  eapply blocked_program; eauto. intros y Y. specialize (H2 y Y). apply orb_prop in H2. destruct H2 as [K|K]; [left; auto|].
  apply andb_prop in K. destruct K as [K1 K2]. right. repeat split; auto. apply Nat.leb_le. auto.
Qed.
End BlockedPrograms.
