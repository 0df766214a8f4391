(* The operators that the validator knows by their shapes, with sizes in binary: what the checker
   computes. Views.v is why it is right. *)
From Coq Require Import List PeanoNat NArith Bool Lia.
From Sardonyx Require Import Graph Memory Plan Views.
Import ListNotations.
Local Open Scope N_scope.

(* Shapes are of bytes: an element's bytes are the innermost axis. *)
Inductive shape_op :=
| Same (bytes : N)                                       (* Reshape, Squeeze, Unsqueeze, Flatten, Identity *)
| Cuts (dims : list N) (cuts : list (list N * list N))   (* Slice, Split: starts and sizes of each output *)
| Turn (dims : list N) (perm : list nat)                 (* Transpose *)
| Cat (ones : nat) (inner sizes : list N).               (* Concat of [1, ..., 1, size, inner...] *)

Definition nats := map N.to_nat.
Section Sem.
Variable byte : Type.
Variable zero : byte.
Definition sem_shape (o : shape_op) (vs : list (value byte)) : list (value byte) :=
  match o with
  | Same _ => [hd [] vs]
  | Cuts dims cuts => map (fun c => cut byte zero (nats dims) (nats (fst c)) (nats (snd c)) (hd [] vs)) cuts
  | Turn dims perm => [turn byte zero (nats dims) perm (hd [] vs)]
  | Cat ones inner sizes => [cat byte zero ones (nats inner) (combine (nats sizes) vs)]
  end.
End Sem.

Definition product (dims : list N) : N := fold_right N.mul 1 dims.
Fixpoint position (dims starts : list N) : N :=
  match dims, starts with d :: ds, s :: ss => s * product ds + position ds ss | _, _ => 0 end.
Fixpoint all_of (dims starts sizes : list N) : bool :=
  match dims, starts, sizes with
  | [], [], [] => true
  | d :: ds, s :: ss, z :: zs => (s =? 0) && (z =? d) && all_of ds ss zs
  | _, _, _ => false
  end.
Fixpoint one_piece (dims starts sizes : list N) : bool :=
  match dims, starts, sizes with
  | [], [], [] => true
  | d :: ds, s :: ss, z :: zs => (s + z <=? d) && (all_of ds ss zs || (z =? 1) && one_piece ds ss zs)
  | _, _, _ => false
  end.
Definition size_at (dims : list N) (a : nat) : N := nth a dims 0.
Definition is_wide (dims : list N) (a : nat) : bool := negb (size_at dims a =? 1).
Fixpoint distinct (l : list nat) : bool :=
  match l with [] => true | x :: xs => negb (existsb (Nat.eqb x) xs) && distinct xs end.
Definition nats_eqb (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.
Definition moves_units (dims : list N) (perm : list nat) : bool :=
  Nat.eqb (length perm) (length dims) && distinct perm && forallb (fun a => Nat.ltb a (length dims)) perm &&
  nats_eqb (filter (is_wide dims) perm) (filter (is_wide dims) (seq 0 (length dims))).

Definition slice_of (o : shape_op) (k : nat) : option (N * N * N) :=
  match o, k with
  | Same n, O => Some (n, 0, n)
  | Cuts dims cuts, k =>
      match nth_error cuts k with
      | Some (starts, sizes) =>
          if one_piece dims starts sizes then Some (product dims, position dims starts, product sizes) else None
      | None => None
      end
  | Turn dims perm, O =>
      let n := product (map (size_at dims) perm) in if moves_units dims perm then Some (n, 0, n) else None
  | _, _ => None
  end.
Definition joins (o : shape_op) : option (list N) :=
  match o with Cat _ inner sizes => Some (map (fun a => product (a :: inner)) sizes) | _ => None end.

(* Split: its outputs' sizes along an axis, one after another; the other axes whole. *)
Fixpoint split_cuts (dims : list N) (axis : nat) (start : N) (sizes : list N) : list (list N * list N) :=
  match sizes with
  | [] => []
  | z :: zs =>
      (map (fun k => if Nat.eqb k axis then start else 0) (seq 0 (length dims)),
       map (fun k => if Nat.eqb k axis then z else size_at dims k) (seq 0 (length dims))) ::
      split_cuts dims axis (start + z) zs
  end.

(* ---- why ---------------------------------------------------------------------------------------- *)

Lemma product_nats dims : prod (nats dims) = N.to_nat (product dims).
Proof. induction dims as [|d ds IH]; auto. cbn [nats map prod product fold_right]. fold (nats ds). rewrite IH. unfold product. lia. Qed.
Lemma position_nats dims : forall starts, offset (nats dims) (nats starts) = N.to_nat (position dims starts).
Proof.
  induction dims as [|d ds IH]; intros [|s ss]; auto. cbn [nats map offset position]. fold (nats ds) (nats ss).
  rewrite IH, product_nats. lia.
Qed.
Lemma all_of_whole dims : forall starts sizes, all_of dims starts sizes = true -> whole (nats dims) (nats starts) (nats sizes).
Proof.
  induction dims as [|d ds IH]; intros [|s ss] [|z zs] H; cbn in H; try discriminate; cbn; auto. bools. subst.
  repeat split; try apply IH; auto.
Qed.
Lemma one_piece_contiguous dims : forall starts sizes, one_piece dims starts sizes = true ->
  contiguous (nats dims) (nats starts) (nats sizes).
Proof.
  induction dims as [|d ds IH]; intros [|s ss] [|z zs] H; cbn in H; try discriminate; cbn; auto. bools. split; [lia|].
  apply orb_prop in H0. destruct H0 as [H0|H0]; [left; apply all_of_whole; auto|]. bools. subst. right. split; try apply IH; auto.
Qed.
Lemma nth_nats dims : forall a, nth a (nats dims) 0%nat = N.to_nat (size_at dims a).
Proof. induction dims as [|d ds IH]; intros [|a]; auto. apply IH. Qed.
Lemma distinct_NoDup l : distinct l = true -> NoDup l.
Proof.
  induction l as [|x l IH]; cbn; intros H; constructor; bools; auto. intros I.
  assert (existsb (Nat.eqb x) l = true); [|congruence]. apply existsb_exists. exists x. split; auto. apply Nat.eqb_refl.
Qed.
Lemma moves_units_keeps_order dims perm : moves_units dims perm = true -> keeps_order (nats dims) perm.
Proof.
  unfold moves_units, keeps_order. intros H. bools. apply Nat.eqb_eq in H. apply distinct_NoDup in H2.
  replace (length (nats dims)) with (length dims) by (symmetry; apply map_length).
  split; [auto|split; [auto|split]].
  - intros a I. apply Nat.ltb_lt. auto.
  - unfold nats_eqb in H0. destruct (list_eq_dec _ _ _) as [E|]; [|discriminate].
    assert (W : forall l, filter (wide (nats dims)) l = filter (is_wide dims) l).
    { intros l. apply filter_ext. intros a. unfold wide, is_wide. rewrite nth_nats. f_equal.
      destruct (N.eqb_spec (size_at dims a) 1) as [->|N]; [auto|]. apply Nat.eqb_neq. lia. }
    rewrite !W. auto.
Qed.

Section Sound.
Variable byte : Type.
Variable zero : byte.
Notation sem_shape := (sem_shape byte zero).
Theorem slice_of_sound o k total d l v vs : slice_of o k = Some (total, d, l) -> bytes_of byte v = total ->
  nth k (sem_shape o (v :: vs)) [] = slice d l v.
Proof.
  unfold bytes_of. destruct o as [n|dims cuts|dims perm|ones inner sizes]; cbn [slice_of]; intros S L.
  - destruct k; [|discriminate]. injection S as <- <- <-. cbn. unfold slice. cbn. symmetry. apply firstn_all2. lia.
  - destruct (nth_error cuts k) as [[starts sizes]|] eqn:E; [|discriminate].
    destruct (one_piece dims starts sizes) eqn:O; [|discriminate]. injection S as <- <- <-.
    cbn [ShapeOps.sem_shape hd]. erewrite nth_error_nth; [|apply map_nth_error; exact E]. cbn [fst snd].
    rewrite cut_is_part.
    + unfold part, slice. rewrite position_nats, product_nats. auto.
    + apply one_piece_contiguous. auto.
    + rewrite product_nats. lia.
  - destruct k; [|discriminate]. destruct (moves_units dims perm) eqn:O; [|discriminate]. injection S as <- <- <-.
    cbn [ShapeOps.sem_shape hd nth]. rewrite turn_is_same.
    + unfold slice. cbn. symmetry. apply firstn_all2. lia.
    + apply moves_units_keeps_order. auto.
    + replace (map (fun a => nth a (nats dims) 0%nat) perm) with (nats (map (size_at dims) perm)).
      * rewrite product_nats. lia.
      * unfold nats at 1. rewrite map_map. apply map_ext. intros a. symmetry. apply nth_nats.
  - discriminate.
Qed.
Theorem joins_sound o ls vs : joins o = Some ls -> map (bytes_of byte) vs = ls -> sem_shape o vs = [concat vs].
Proof.
  destruct o as [n|dims cuts|dims perm|ones inner sizes]; try discriminate. cbn [joins]. intros J L. injection J as <-.
  cbn [ShapeOps.sem_shape]. f_equal. assert (H : forall p, In p (combine (nats sizes) vs) -> length (snd p) = prod (fst p :: nats inner)).
  { revert vs L. induction sizes as [|z zs IH]; intros [|v vs] L p P; cbn in L, P; try tauto; try discriminate.
    injection L as L1 L2. destruct P as [<-|P]; [|eapply IH; eauto]. unfold bytes_of in L1. cbn [fst snd].
    change (length v = prod (nats (z :: inner))). rewrite product_nats. unfold product in *. cbn [fold_right] in *. lia. }
  rewrite cat_is_concat by exact H. f_equal. revert vs L H. induction sizes as [|z zs IH]; intros [|v vs] L H; cbn in *; try discriminate; auto.
  injection L as L1 L2. f_equal. apply IH; auto.
Qed.
End Sound.
