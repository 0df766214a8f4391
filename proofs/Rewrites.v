(* Replacements within graphs; products and convolutions whose operands lie otherwise. *)
From Coq Require Import List PeanoNat PArith Bool Lia.
From Sardonyx Require Import Graph.
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

(* ---- products ------------------------------------------------------------------------------------- *)

(* The scalar operation of a chain is left open. What the operators of the engine that take operands in
   other layouts compute is the same chain: this is why Passes.v may say of them that they are the plain
   operator on what they hold (docs/proofs.md). *)
Section Products.
Variable S : Type.
Variable fma : S -> S -> S -> S.
Definition chain (T : Type) (x w : T -> S) (terms : list T) (start : S) : S :=
  fold_left (fun sum t => fma sum (x t) (w t)) terms start.
Lemma chain_ext (T : Type) (x x' w w' : T -> S) terms : forall start,
  (forall t, In t terms -> x t = x' t /\ w t = w' t) -> chain T x w terms start = chain T x' w' terms start.
Proof.
  unfold chain. induction terms as [|t ts IH]; cbn; intros start H; auto. destruct (H t) as [-> ->]; auto.
Qed.
(* TRANSPOSED WEIGHTS: a product that reads them across sums the same terms in the same order. *)
Theorem transposed_weights (a w wt : nat -> nat -> S) i j n start : (forall k, k < n -> wt j k = w k j) ->
  chain nat (fun k => a i k) (fun k => wt j k) (seq 0 n) start = chain nat (fun k => a i k) (fun k => w k j) (seq 0 n) start.
Proof. intros H. apply chain_ext. intros k K. apply in_seq in K. split; auto. apply H. lia. Qed.

(* A convolution's terms: channels and places of the window, in whatever order follows from the list of
   channels. Channels last: the image is read elsewhere, the terms are the same. *)
Variable place : Type.
Variable terms : list nat -> list (nat * place).
Hypothesis terms_of_channels : forall cs c p, In (c, p) (terms cs) -> In c cs.
Theorem channels_last (x x' : nat -> place -> S) w C start : (forall c p, c < C -> x' c p = x c p) ->
  chain _ (fun t => x' (fst t) (snd t)) w (terms (seq 0 C)) start = chain _ (fun t => x (fst t) (snd t)) w (terms (seq 0 C)) start.
Proof.
  intros H. apply chain_ext. intros [c p] I. apply terms_of_channels in I. apply in_seq in I. cbn in *. split; auto. apply H. lia.
Qed.

Variable lanes : nat.
Hypothesis lanes_pos : lanes <> 0.
Definition blocks (channels : nat) : nat := (channels + lanes - 1) / lanes.
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
(* CHANNELS IN BLOCKS: channel c is lane c mod 16 of block c / 16. *)
Theorem blocked_convolution (x : nat -> place -> S) (xb : nat -> nat -> place -> S) w C start :
  (forall c p, c < C -> xb (c / lanes) (c mod lanes) p = x c p) ->
  chain _ (fun t => xb (fst t / lanes) (fst t mod lanes) (snd t)) w
    (terms (filter (fun c => c <? C) (flat_map (fun b => map (fun l => b * lanes + l) (seq 0 lanes)) (seq 0 (blocks C))))) start =
  chain _ (fun t => x (fst t) (snd t)) w (terms (seq 0 C)) start.
Proof.
  intros H. rewrite blocked_channels_in_order. apply chain_ext. intros [c p] I. apply terms_of_channels in I.
  apply in_seq in I. cbn in *. split; auto. apply H. lia.
Qed.
End Products.
