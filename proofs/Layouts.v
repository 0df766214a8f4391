(* How one tensor lies within another: axes that moved, axes of one element, channels in blocks.

   Sizes and indices stand innermost axis first, so that axes which broadcasting adds stand at the end. *)
From Coq Require Import List PeanoNat NArith Bool Lia.
Import ListNotations.
Local Open Scope N_scope.

Notation index := (list N).
Definition inside (ds : list N) (i : index) : Prop := Forall2 (fun d k => k < d) ds i.

(* Where a tensor of these sizes is read for an element of a larger one. *)
Fixpoint within (ds : list N) (i : index) : index :=
  match ds, i with d :: ds, k :: ks => (if d =? 1 then 0 else k) :: within ds ks | _, _ => [] end.
Fixpoint broadcasts (small large : list N) : bool :=
  match small, large with
  | [], _ => true
  | s :: ss, l :: ls => ((s =? 1) || (s =? l)) && broadcasts ss ls
  | _ :: _, [] => false
  end.
Lemma inside_length ds i : inside ds i -> length ds = length i.
Proof. induction 1; cbn; auto. Qed.
Lemma within_self ds i : inside ds i -> within ds i = i.
Proof. induction 1 as [|d k ds ks H I IH]; cbn; auto. rewrite IH. destruct (N.eqb_spec d 1); auto. f_equal. lia. Qed.
Lemma within_inside ds : forall big i, broadcasts ds big = true -> inside big i -> inside ds (within ds i).
Proof.
  induction ds as [|d ds IH]; intros big i B I; [constructor|]. destruct big as [|b big]; [discriminate|].
  cbn in B. apply andb_prop in B. destruct B as [B1 B2]. inversion I; subst. cbn. constructor; [|eapply IH; eauto].
  destruct (N.eqb_spec d 1) as [->|ND]; [lia|]. cbn in B1. apply N.eqb_eq in B1. lia.
Qed.
Lemma within_within a : forall b i, broadcasts a b = true -> (length b <= length i)%nat -> within a (within b i) = within a i.
Proof.
  induction a as [|x a IH]; intros [|y b] [|k i] H L; cbn in *; try discriminate; auto; try lia.
  apply andb_prop in H. destruct H as [H1 H2]. f_equal; [|apply IH; auto; lia].
  destruct (N.eqb_spec x 1) as [->|ND]; auto. cbn in H1. apply N.eqb_eq in H1. subst.
  destruct (N.eqb_spec y 1); [congruence|auto].
Qed.

(* All indices, in the order in which elements lie. *)
Definition below (d : N) : list N := map N.of_nat (seq 0 (N.to_nat d)).
Fixpoint indices (ds : list N) : list index :=
  match ds with [] => [[]] | d :: ds => flat_map (fun r => map (fun k => k :: r) (below d)) (indices ds) end.
Lemma in_below d k : In k (below d) <-> k < d.
Proof.
  unfold below. rewrite in_map_iff. split.
  - intros (n & <- & H). apply in_seq in H. lia.
  - intros H. exists (N.to_nat k). split; [lia|]. apply in_seq. lia.
Qed.
Lemma in_indices ds : forall i, In i (indices ds) <-> inside ds i.
Proof.
  induction ds as [|d ds IH]; intros i; cbn.
  - split; [intros [<-|[]]; constructor|]. intros H. inversion H. auto.
  - rewrite in_flat_map. split.
    + intros (r & R & H). apply in_map_iff in H. destruct H as (k & <- & K). constructor; [apply in_below; auto|apply IH; auto].
    + intros H. inversion H; subst. exists l'. split; [apply IH; auto|]. apply in_map_iff. exists y. rewrite in_below. auto.
Qed.

(* ---- layouts ------------------------------------------------------------------------------------- *)

Definition lanes : N := 16.
(* One stored axis: nothing but element 0; an axis as it is; its blocks; what is within a block. *)
Inductive atom := Zero | Axis (k : nat) | Block (k : nat) | Lane (k : nat).
Definition layout := list atom.
Definition part (i : index) (a : atom) : N :=
  match a with Zero => 0 | Axis k => nth k i 0 | Block k => nth k i 0 / lanes | Lane k => nth k i 0 mod lanes end.
(* Where element i is stored. *)
Definition move (f : layout) (i : index) : index := map (part i) f.
Definition part_size (ds : list N) (a : atom) : N :=
  match a with Zero => 1 | Axis k => nth k ds 1 | Block k => (nth k ds 1 + (lanes - 1)) / lanes | Lane _ => lanes end.
Definition stored (f : layout) (ds : list N) : list N := map (part_size ds) f.
Definition as_it_is (rank : nat) : layout := map Axis (seq 0 rank).

Lemma nth_inside ds i k : inside ds i -> nth k i 0 < nth k ds 1.
Proof. intros H. revert k. induction H; intros [|k]; cbn; auto; lia. Qed.
Lemma part_inside ds i a : inside ds i -> part i a < part_size ds a.
Proof.
  intros I. destruct a as [|k|k|k]; cbn [part part_size]; [lia|apply nth_inside; auto| |apply N.mod_lt; discriminate].
  assert (H := nth_inside ds i k I). apply N.div_lt_upper_bound; [discriminate|].
  assert (D := N.div_mod (nth k ds 1 + (lanes - 1)) lanes ltac:(discriminate)).
  assert (M := N.mod_lt (nth k ds 1 + (lanes - 1)) lanes ltac:(discriminate)).
  set (q := (nth k ds 1 + (lanes - 1)) / lanes) in *. change lanes with 16 in *. lia.
Qed.
Lemma move_inside ds f i : inside ds i -> inside (stored f ds) (move f i).
Proof. intros I. induction f as [|a f IH]; cbn; constructor; auto. apply part_inside. auto. Qed.
Lemma move_as_it_is i : move (as_it_is (length i)) i = i.
Proof.
  unfold move, as_it_is. rewrite map_map. cbn [part]. induction i as [|k i IH]; auto. cbn [length seq map nth]. f_equal.
  rewrite <- seq_shift, map_map. exact IH.
Qed.

(* One layout after another. *)
Definition after_atom (f : layout) (a : atom) : option atom :=
  match a with
  | Zero => Some Zero
  | Axis k => Some (nth k f Zero)
  | Block k => match nth k f Zero with Zero => Some Zero | Axis m => Some (Block m) | _ => None end
  | Lane k => match nth k f Zero with Zero => Some Zero | Axis m => Some (Lane m) | _ => None end
  end.
Fixpoint after (g f : layout) : option layout :=
  match g with
  | [] => Some []
  | a :: g => match after_atom f a, after g f with Some b, Some h => Some (b :: h) | _, _ => None end
  end.
Lemma nth_move k f i : nth k (move f i) 0 = part i (nth k f Zero).
Proof. unfold move. rewrite <- (map_nth (part i) f Zero k). reflexivity. Qed.
Lemma after_sound f g : forall h i, after g f = Some h -> move g (move f i) = move h i.
Proof.
  induction g as [|a g IH]; cbn [after]; intros h i H; [injection H as <-; auto|].
  destruct (after_atom f a) as [b|] eqn:B; [|discriminate]. destruct (after g f) as [h'|] eqn:G; [|discriminate]. injection H as <-.
  cbn [move map]. f_equal; [|apply IH; auto]. clear - B.
  destruct a as [|k|k|k]; cbn [after_atom part] in *.
  - injection B as <-. auto.
  - injection B as <-. apply nth_move.
  - rewrite nth_move. destruct (nth k f Zero); try discriminate; injection B as <-; auto.
  - rewrite nth_move. destruct (nth k f Zero); try discriminate; injection B as <-; auto.
Qed.

(* Layouts that are one and the same for a tensor of these sizes. *)
Definition is_zero (ds : list N) (a : atom) : bool :=
  match a with Zero => true | Axis k => nth k ds 1 <=? 1 | Block k => nth k ds 1 <=? lanes | Lane k => nth k ds 1 <=? 1 end.
Definition atom_eqb (a b : atom) : bool :=
  match a, b with
  | Zero, Zero => true
  | Axis k, Axis m | Block k, Block m | Lane k, Lane m => Nat.eqb k m
  | _, _ => false
  end.
Definition same_atom (ds : list N) (a b : atom) : bool := atom_eqb a b || (is_zero ds a && is_zero ds b).
Fixpoint same_layout (ds : list N) (f g : layout) : bool :=
  match f, g with
  | [], [] => true
  | a :: f, b :: g => same_atom ds a b && same_layout ds f g
  | _, _ => false
  end.
Lemma atom_eqb_eq a b : atom_eqb a b = true -> a = b.
Proof. destruct a, b; cbn; intros H; try discriminate; auto; apply Nat.eqb_eq in H; subst; auto. Qed.
Lemma zero_part ds i a : inside ds i -> is_zero ds a = true -> part i a = 0.
Proof.
  intros I. destruct a as [|k|k|k]; cbn [is_zero part]; intros Z; auto; apply N.leb_le in Z; assert (H := nth_inside ds i k I).
  - lia.
  - apply N.div_small. lia.
  - replace (nth k i 0) with 0 by lia. apply N.mod_0_l. discriminate.
Qed.
Lemma same_layout_sound ds i f : forall g, inside ds i -> same_layout ds f g = true -> move f i = move g i.
Proof.
  induction f as [|a f IH]; intros [|b g] I H; cbn in *; try discriminate; auto. apply andb_prop in H. destruct H as [A H].
  f_equal; [|apply IH; auto]. unfold same_atom in A. apply orb_prop in A. destruct A as [A|A].
  - apply atom_eqb_eq in A. congruence.
  - apply andb_prop in A. destruct A as [A B]. rewrite (zero_part ds i a), (zero_part ds i b); auto.
Qed.

(* A tensor with sizes `os` is broadcast to sizes `ds`; its elements lie by `g` in one with sizes `ns`,
   which is broadcast to the larger tensor as that lies by `f`. Whether both are read at one place. *)
Fixpoint narrowed (ns : list N) (f : layout) : layout :=
  match ns, f with n :: ns, a :: f => (if n =? 1 then Zero else a) :: narrowed ns f | _, _ => [] end.
Definition narrow_atom (os : list N) (a : atom) : atom :=
  match a with Zero => Zero | Axis k | Block k | Lane k => if nth k os 1 =? 1 then Zero else a end.
Definition read_alike (ds os ns : list N) (f g : layout) : bool :=
  same_layout ds (narrowed ns f) (map (narrow_atom os) g).
Lemma narrowed_sound ns : forall f i, within ns (move f i) = move (narrowed ns f) i.
Proof.
  induction ns as [|n ns IH]; intros [|a f] i; cbn; auto. f_equal; [destruct (n =? 1); auto|apply IH].
Qed.
Lemma nth_within os : forall k i, (length os <= length i)%nat -> nth k (within os i) 0 = if nth k os 1 =? 1 then 0 else nth k i 0.
Proof.
  induction os as [|d os IH]; intros [|k] [|x i] L; cbn in *; auto; try lia. apply IH. lia.
Qed.
Lemma narrow_sound os i g : (length os <= length i)%nat -> move g (within os i) = move (map (narrow_atom os) g) i.
Proof.
  intros L. unfold move. rewrite map_map. apply map_ext. intros [|k|k|k]; cbn [part narrow_atom]; auto; rewrite nth_within by auto;
    destruct (nth k os 1 =? 1); auto.
Qed.
Lemma read_alike_sound ds os ns f g i : read_alike ds os ns f g = true -> broadcasts os ds = true -> inside ds i ->
  within ns (move f i) = move g (within os i).
Proof.
  intros R B I. rewrite narrowed_sound, narrow_sound.
  - eapply same_layout_sound; eauto.
  - rewrite <- (inside_length _ _ I). clear - B. revert ds B. induction os as [|d os IH]; intros [|x ds] B; cbn in *; try discriminate; try lia.
    apply andb_prop in B. destruct B as [_ B]. apply IH in B. lia.
Qed.

(* CHANNELS IN BLOCKS ARE A PERMUTATION into a padded tensor: no two channels share a place. *)
Theorem blocks_apart c c' : c / lanes = c' / lanes -> c mod lanes = c' mod lanes -> c = c'.
Proof. intros Q R. rewrite (N.div_mod c lanes), (N.div_mod c' lanes), Q, R by discriminate. auto. Qed.
