(* Which operators are pieces of memory, proved from shapes.

   A tensor is a function from indices to elements; its bytes lie in row-major order, and the bytes of
   an element are one more axis, the innermost. Slice, Split, Transpose and Concat are defined on
   indices, as ONNX does; the theorems say when their bytes are a slice of the input's bytes or the
   inputs' bytes one after another. *)
From Coq Require Import List PeanoNat NArith Bool Lia.
From Sardonyx Require Import Memory.
Import ListNotations.

Section Tensor.
Variable A : Type.
Notation index := (list nat).

Fixpoint prod (dims : list nat) : nat := match dims with [] => 1 | d :: ds => d * prod ds end.
(* All indices, in the order of memory. *)
Fixpoint indices (dims : list nat) : list index :=
  match dims with [] => [[]] | d :: ds => flat_map (fun i => map (cons i) (indices ds)) (seq 0 d) end.
Definition flatten (dims : list nat) (T : index -> A) : list A := map T (indices dims).
Fixpoint offset (dims : list nat) (i : index) : nat :=
  match dims, i with d :: ds, k :: ks => k * prod ds + offset ds ks | _, _ => 0 end.
Variable zero : A.
Definition tensor_of (dims : list nat) (v : list A) : index -> A := fun i => nth (offset dims i) v zero.

(* ---- flattening -------------------------------------------------------------------------------- *)

Lemma flat_map_map (B C D : Type) (f : B -> list C) (g : C -> D) l :
  map g (flat_map f l) = flat_map (fun x => map g (f x)) l.
Proof. induction l; cbn; auto. rewrite map_app, IHl. auto. Qed.
Lemma flatten_cons d ds T : flatten (d :: ds) T = flat_map (fun i => flatten ds (fun r => T (i :: r))) (seq 0 d).
Proof.
  unfold flatten. cbn. rewrite flat_map_map. apply flat_map_ext. intros i. apply map_map.
Qed.
Lemma flat_map_ext_in' (B C : Type) (f g : B -> list C) l : (forall x, In x l -> f x = g x) -> flat_map f l = flat_map g l.
Proof. induction l; cbn; intros H; auto. rewrite H, IHl; auto. Qed.
Lemma flat_map_length (B : Type) (f : B -> list A) n l :
  (forall x, In x l -> length (f x) = n) -> length (flat_map f l) = length l * n.
Proof. induction l as [|x l IH]; cbn; intros H; auto. rewrite app_length, H, IH; auto. Qed.
Lemma flatten_length dims : forall T, length (flatten dims T) = prod dims.
Proof.
  induction dims as [|d ds IH]; intros T; auto. rewrite flatten_cons, (flat_map_length _ _ (prod ds)) by auto.
  rewrite seq_length. auto.
Qed.
Lemma flatten_ext dims T T' : (forall i, In i (indices dims) -> T i = T' i) -> flatten dims T = flatten dims T'.
Proof. intros H. apply map_ext_in. auto. Qed.
Lemma indices_cons d ds i : In i (indices (d :: ds)) <-> exists k r, i = k :: r /\ k < d /\ In r (indices ds).
Proof.
  cbn. rewrite in_flat_map. split.
  - intros (k & K & I). apply in_seq in K. apply in_map_iff in I. destruct I as (r & <- & R). exists k, r.
    repeat split; auto. lia.
  - intros (k & r & -> & K & R). exists k. split; [apply in_seq; lia|apply in_map; auto].
Qed.
Lemma seq_from b n : map (fun y => b + y) (seq 0 n) = seq b n.
Proof.
  assert (H : forall z, map (fun y => b + y) (seq z n) = seq (b + z) n).
  { induction n as [|n IH]; intros z; cbn; auto. rewrite IH. do 2 f_equal. lia. }
  rewrite H. f_equal. lia.
Qed.
Lemma flatten_offsets dims : map (offset dims) (indices dims) = seq 0 (prod dims).
Proof.
  induction dims as [|d ds IH]; auto. cbn [indices prod]. rewrite flat_map_map.
  assert (H : forall n a, flat_map (fun i => map (offset (d :: ds)) (map (cons i) (indices ds))) (seq a n) =
                          seq (a * prod ds) (n * prod ds)).
  { induction n as [|n IHn]; intros a; cbn [seq flat_map]; auto. rewrite IHn. cbn [Nat.mul].
    rewrite seq_app. f_equal.
    - rewrite map_map. cbn [offset].
      replace (fun x => a * prod ds + offset ds x) with (fun x => (fun y => a * prod ds + y) (offset ds x)) by auto.
      rewrite <- map_map, IH. apply seq_from.
    - f_equal; lia. }
  rewrite H. cbn. auto.
Qed.
Lemma map_nth_seq v : map (fun k => nth k v zero) (seq 0 (length v)) = v.
Proof. induction v as [|x v IH]; auto. cbn [length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH. Qed.
Lemma flatten_tensor_of dims v : length v = prod dims -> flatten dims (tensor_of dims v) = v.
Proof.
  intros L. unfold flatten, tensor_of. rewrite <- (map_map (offset dims) (fun k => nth k v zero)).
  rewrite flatten_offsets, <- L. apply map_nth_seq.
Qed.

(* ---- cuts --------------------------------------------------------------------------------------- *)

Fixpoint shift (starts i : index) : index :=
  match starts, i with s :: ss, k :: ks => s + k :: shift ss ks | _, _ => i end.
(* out[i] = in[starts + i] *)
Definition cut (dims starts sizes : list nat) (v : list A) : list A :=
  flatten sizes (fun i => tensor_of dims v (shift starts i)).

Fixpoint whole (dims starts sizes : list nat) : Prop :=
  match dims, starts, sizes with
  | [], [], [] => True
  | d :: ds, s :: ss, z :: zs => s = 0 /\ z = d /\ whole ds ss zs
  | _, _, _ => False
  end.
(* One element of some outer axes, then part of an axis, then all of the inner ones. *)
Fixpoint contiguous (dims starts sizes : list nat) : Prop :=
  match dims, starts, sizes with
  | [], [], [] => True
  | d :: ds, s :: ss, z :: zs => s + z <= d /\ (whole ds ss zs \/ z = 1 /\ contiguous ds ss zs)
  | _, _, _ => False
  end.

Definition part (d l : nat) (v : list A) : list A := firstn l (skipn d v).
Lemma part_mid a b c d l : length a = d -> length b = l -> part d l (a ++ b ++ c) = b.
Proof.
  intros <- <-. unfold part. rewrite skipn_app, skipn_all, Nat.sub_diag. cbn.
  rewrite firstn_app, Nat.sub_diag, firstn_all. cbn. apply app_nil_r.
Qed.
Lemma part_in a b c d x l : length a = d -> x + l <= length b -> part (d + x) l (a ++ b ++ c) = part x l b.
Proof.
  intros <- H. unfold part. rewrite skipn_app. rewrite skipn_all2 by lia. cbn.
  replace (length a + x - length a) with x by lia. rewrite skipn_app, firstn_app.
  rewrite skipn_length. replace (l - (length b - x)) with 0 by lia. cbn. apply app_nil_r.
Qed.
Lemma whole_shift dims : forall starts sizes i, whole dims starts sizes -> In i (indices dims) -> shift starts i = i.
Proof.
  induction dims as [|d ds IH]; intros [|s ss] [|z zs] i W I; cbn in W; try tauto.
  apply indices_cons in I. destruct I as (k & r & -> & K & R). destruct W as (-> & -> & W). cbn. f_equal. eauto.
Qed.
Lemma whole_sizes dims : forall starts sizes, whole dims starts sizes -> sizes = dims /\ offset dims starts = 0.
Proof.
  induction dims as [|d ds IH]; intros [|s ss] [|z zs] W; cbn in W; try tauto; auto.
  destruct W as (-> & -> & W). destruct (IH _ _ W) as [-> E]. cbn. rewrite E. auto.
Qed.
Lemma contiguous_fits dims : forall starts sizes, contiguous dims starts sizes ->
  offset dims starts + prod sizes <= prod dims.
Proof.
  induction dims as [|d ds IH]; intros [|s ss] [|z zs] C; cbn in C; try tauto; auto. destruct C as [B [W|[-> C]]].
  - destruct (whole_sizes _ _ _ W) as [-> E]. cbn. rewrite E. nia.
  - specialize (IH _ _ C). cbn. nia.
Qed.
Lemma flatten_part dims : forall starts sizes T, contiguous dims starts sizes ->
  flatten sizes (fun i => T (shift starts i)) = part (offset dims starts) (prod sizes) (flatten dims T).
Proof.
  induction dims as [|d ds IH]; intros [|s ss] [|z zs] T C; cbn [contiguous] in C; try tauto.
  destruct C as [B C]. set (g := fun i => flatten ds (fun r => T (i :: r))).
  assert (G : forall i, length (g i) = prod ds) by (intros; apply flatten_length).
  rewrite (flatten_cons d ds T). fold g.
  replace d with (s + (z + (d - s - z))) by lia. rewrite seq_app, flat_map_app, seq_app, flat_map_app. cbn [Nat.add].
  assert (LA : length (flat_map g (seq 0 s)) = s * prod ds).
  { rewrite (flat_map_length _ _ (prod ds)) by auto. rewrite seq_length. auto. }
  rewrite flatten_cons. destruct C as [W|[-> C]].
  - destruct (whole_sizes _ _ _ W) as [-> E]. cbn [offset]. rewrite E, Nat.add_0_r.
    rewrite part_mid; auto; [|rewrite (flat_map_length _ _ (prod ds)) by auto; rewrite seq_length; auto].
    assert (M : forall n a, flat_map (fun i => flatten ds (fun r => T (shift (s :: ss) (i :: r)))) (seq a n) =
                              flat_map g (seq (s + a) n)).
    { induction n as [|n IHn]; intros a; cbn [seq flat_map]; auto. rewrite IHn. rewrite Nat.add_succ_r.
      f_equal. unfold g. apply flatten_ext. intros r R. cbn. rewrite (whole_shift ds ss ds); auto. }
    rewrite M, Nat.add_0_r. auto.
  - cbn [seq flat_map offset]. rewrite !app_nil_r. replace (prod (1 :: zs)) with (prod zs) by (cbn; lia).
    rewrite part_in; auto.
    + cbn [shift]. rewrite Nat.add_0_r. apply (IH ss zs (fun q => T (s :: q)) C).
    + rewrite G. apply contiguous_fits. auto.
Qed.
(* SLICE AND SPLIT are bytes of their input. *)
Theorem cut_is_part dims starts sizes v : contiguous dims starts sizes -> length v = prod dims ->
  cut dims starts sizes v = part (offset dims starts) (prod sizes) v.
Proof. intros C L. unfold cut. rewrite (flatten_part dims); auto. rewrite flatten_tensor_of; auto. Qed.

(* ---- turned axes --------------------------------------------------------------------------------- *)

Fixpoint place (a : nat) (perm : list nat) : nat :=
  match perm with [] => 0 | p :: ps => if Nat.eqb a p then 0 else S (place a ps) end.
(* Axis k of the output is axis perm[k] of the input: out[i] = in[j] where j[perm[k]] = i[k]. *)
Definition source (perm : list nat) (i : index) : index :=
  map (fun a => nth (place a perm) i 0) (seq 0 (length perm)).
Definition turn (dims perm : list nat) (v : list A) : list A :=
  flatten (map (fun a => nth a dims 0) perm) (fun i => tensor_of dims v (source perm i)).

Definition wide (dims : list nat) (a : nat) : bool := negb (Nat.eqb (nth a dims 0) 1).
(* The axes that have more than one element keep their order. *)
Definition keeps_order (dims perm : list nat) : Prop :=
  length perm = length dims /\ NoDup perm /\ (forall a, In a perm -> a < length dims) /\
  filter (wide dims) perm = filter (wide dims) (seq 0 (length dims)).

Definition pairs_wide (p : nat * nat) : bool := negb (Nat.eqb (fst p) 1).
Fixpoint offset_pairs (ps : list (nat * nat)) : nat :=
  match ps with [] => 0 | (d, k) :: ps => k * prod (map fst ps) + offset_pairs ps end.
Lemma offset_combine dims : forall i, length i = length dims -> offset dims i = offset_pairs (combine dims i).
Proof.
  induction dims as [|d ds IH]; intros [|k ks] L; cbn in *; auto; try discriminate. rewrite IH by lia.
  do 3 f_equal. clear -L. revert ks L. induction ds; intros [|k' ks'] L; cbn in *; auto; try discriminate.
  f_equal. apply IHds. lia.
Qed.
Lemma offset_unit ps : (forall p, In p ps -> snd p < fst p) ->
  offset_pairs ps = offset_pairs (filter pairs_wide ps) /\ prod (map fst ps) = prod (map fst (filter pairs_wide ps)).
Proof.
  induction ps as [|[d k] ps IH]; cbn; intros H; auto. destruct IH as [X Y]; auto.
  assert (K := H (d, k) (or_introl eq_refl)). cbn in K. unfold pairs_wide. cbn.
  destruct (Nat.eqb_spec d 1) as [->|N]; cbn.
  - replace k with 0 by lia. cbn. rewrite Nat.add_0_r. auto.
  - rewrite X, Y. auto.
Qed.
Lemma indices_spec dims : forall i, In i (indices dims) <-> length i = length dims /\ forall p, In p (combine dims i) -> snd p < fst p.
Proof.
  induction dims as [|d ds IH]; intros i.
  - cbn. split; [intros [<-|[]]; auto|]. { split; auto. intros p []. } intros [L _]. destruct i; [auto|discriminate].
  - rewrite indices_cons. split.
    + intros (k & r & -> & K & R). apply IH in R. destruct R as [L P]. cbn. split; [lia|]. intros p [<-|I]; auto.
    + intros [L P]. destruct i as [|k r]; [discriminate|]. exists k, r. split; auto. split.
      * apply (P (d, k)). cbn. auto.
      * apply IH. split; [cbn in L; lia|]. intros p I. apply P. cbn. auto.
Qed.
Lemma place_nth perm : NoDup perm -> forall k, k < length perm -> place (nth k perm 0) perm = k.
Proof.
  induction perm as [|p ps IH]; intros N k K; cbn in *; [lia|]. inversion N; subst. destruct k; cbn.
  - rewrite Nat.eqb_refl. auto.
  - destruct (Nat.eqb_spec (nth k ps 0) p) as [E|E].
    + exfalso. apply H1. rewrite <- E. apply nth_In. lia.
    + f_equal. apply IH; auto. lia.
Qed.
Lemma filter_map (B C : Type) (f : B -> C) g l : filter g (map f l) = map f (filter (fun x => g (f x)) l).
Proof. induction l; cbn; auto. destruct (g (f a)); cbn; rewrite IHl; auto. Qed.
Lemma filter_ext_in' (B : Type) (f g : B -> bool) l : (forall x, In x l -> f x = g x) -> filter f l = filter g l.
Proof.
  induction l as [|x l IH]; cbn; intros H; auto. rewrite H by auto. rewrite IH by auto. auto.
Qed.
Lemma list_nth (B : Type) (l : list B) d : l = map (fun k => nth k l d) (seq 0 (length l)).
Proof. induction l as [|x l IH]; auto. cbn [length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH. Qed.

Lemma turned_offset dims perm i : keeps_order dims perm -> In i (indices (map (fun a => nth a dims 0) perm)) ->
  offset dims (source perm i) = offset (map (fun a => nth a dims 0) perm) i.
Proof.
  intros (LP & ND & IN & KO) I. apply indices_spec in I. destruct I as [LI BI]. rewrite map_length in LI.
  set (pair := fun a => (nth a dims 0, nth (place a perm) i 0)).
  assert (OUT : combine (map (fun a => nth a dims 0) perm) i = map pair perm).
  { assert (H : forall l, (forall k, In k l -> k < length perm) ->
      combine (map (fun x => nth (nth x perm 0) dims 0) l) (map (fun k => nth k i 0) l) =
      map (fun x => pair (nth x perm 0)) l).
    { induction l as [|k l IH]; cbn; intros H; auto. rewrite IH by auto. unfold pair.
      rewrite place_nth by auto. auto. }
    assert (E := H (seq 0 (length perm)) (fun k K => proj2 (proj1 (in_seq _ _ _) K))).
    rewrite <- (map_map (fun x => nth x perm 0) (fun a => nth a dims 0)) in E.
    rewrite <- (map_map (fun x => nth x perm 0) pair) in E. rewrite <- (list_nth _ perm 0) in E.
    rewrite <- LI in E at 1. rewrite <- (list_nth _ i 0) in E. exact E. }
  assert (SRC : combine dims (source perm i) = map pair (seq 0 (length dims))).
  { assert (H : forall l, combine (map (fun a => nth a dims 0) l) (map (fun a => nth (place a perm) i 0) l) = map pair l).
    { induction l as [|k l IH]; cbn; auto. rewrite IH. auto. }
    unfold source. rewrite LP, <- H. rewrite <- (list_nth _ dims 0). auto. }
  rewrite !offset_combine.
  - assert (BO : forall p, In p (map pair perm) -> snd p < fst p) by (rewrite <- OUT; auto).
    assert (COVER : forall a, a < length dims -> In a perm).
    { intros a La. assert (Hi : incl (seq 0 (length dims)) perm).
      { apply NoDup_length_incl; auto.
        - rewrite seq_length. lia.
        - intros x X. apply in_seq. specialize (IN x X). lia. }
      apply Hi. apply in_seq. lia. }
    assert (BS : forall p, In p (map pair (seq 0 (length dims))) -> snd p < fst p).
    { intros p P. apply in_map_iff in P. destruct P as (a & <- & Ia). apply in_seq in Ia. apply BO. apply in_map.
      apply COVER. lia. }
    rewrite OUT, SRC. rewrite (proj1 (offset_unit _ BO)).
    rewrite (proj1 (offset_unit (map pair (seq 0 (length dims))) BS)).
    rewrite !filter_map. f_equal. f_equal. symmetry. exact KO.
  - rewrite map_length. auto.
  - unfold source. rewrite map_length, seq_length. auto.
Qed.
(* TRANSPOSE of axes of one element is the identity on bytes. *)
Theorem turn_is_same dims perm v : keeps_order dims perm ->
  length v = prod (map (fun a => nth a dims 0) perm) -> turn dims perm v = v.
Proof.
  intros K L. unfold turn. transitivity (flatten (map (fun a => nth a dims 0) perm) (tensor_of (map (fun a => nth a dims 0) perm) v)).
  2:{ apply flatten_tensor_of. auto. }
  apply flatten_ext. intros i I. unfold tensor_of. rewrite (turned_offset dims perm i K I). auto.
Qed.

(* ---- joined tensors ------------------------------------------------------------------------------ *)

(* Along the axis, index k belongs to the first part that is long enough, else to those after it. *)
Fixpoint joined (parts : list (nat * (index -> A))) (outer : index) (i : index) : A :=
  match parts, i with
  | (a, T) :: ps, k :: r => if k <? a then T (outer ++ k :: r) else joined ps outer (k - a :: r)
  | _, _ => zero
  end.
Definition ones (n : nat) : list nat := repeat 1 n.
Definition total (parts : list (nat * list A)) : nat := fold_right (fun p n => fst p + n) 0 parts.
(* Concat along axis `n` of tensors [1, ..., 1, a, inner...], with n ones. *)
Definition cat (n : nat) (inner : list nat) (parts : list (nat * list A)) : list A :=
  flatten (ones n ++ total parts :: inner)
    (fun i => joined (map (fun p => (fst p, tensor_of (ones n ++ fst p :: inner) (snd p))) parts) (firstn n i) (skipn n i)).
Lemma flatten_ones n : forall dims T, flatten (ones n ++ dims) T = flatten dims (fun i => T (repeat 0 n ++ i)).
Proof.
  induction n as [|n IH]; intros dims T; auto. change (ones (S n) ++ dims) with (1 :: (ones n ++ dims)).
  rewrite flatten_cons. cbn [seq flat_map]. rewrite app_nil_r, IH. auto.
Qed.
Lemma prod_ones n dims : prod (ones n ++ dims) = prod dims.
Proof. induction n as [|n IH]; auto. change (ones (S n) ++ dims) with (1 :: (ones n ++ dims)). cbn [prod]. lia. Qed.
Lemma joined_flatten outer inner : forall parts : list (nat * (index -> A)),
  flatten (fold_right (fun p n => fst p + n) 0 parts :: inner) (joined parts outer) =
  concat (map (fun p => flatten (fst p :: inner) (fun i => snd p (outer ++ i))) parts).
Proof.
  induction parts as [|[a T] ps IH]; auto. cbn [fold_right map concat fst snd]. rewrite <- IH.
  rewrite !flatten_cons. rewrite seq_app, flat_map_app. f_equal.
  - apply flat_map_ext_in'. intros k K. apply in_seq in K. apply flatten_ext. intros r _. cbn [joined].
    rewrite (proj2 (Nat.ltb_lt _ _)) by lia. auto.
  - set (n := fold_right (fun p n => fst p + n) 0 ps). cbn [Nat.add].
    assert (H : forall n b, flat_map (fun k => flatten inner (fun r => joined ((a, T) :: ps) outer (k :: r))) (seq (a + b) n) =
                            flat_map (fun k => flatten inner (fun r => joined ps outer (k :: r))) (seq b n)).
    { clear n. induction n as [|n IHn]; intros b; cbn [seq flat_map]; auto. rewrite <- Nat.add_succ_r, IHn. f_equal.
      apply flatten_ext. intros r _. cbn [joined]. rewrite (proj2 (Nat.ltb_ge _ _)) by lia.
      replace (a + b - a) with b by lia. auto. }
    rewrite <- (Nat.add_0_r a) at 1. apply H.
Qed.
(* CONCAT with outer size 1 is its inputs' bytes one after another. *)
Theorem cat_is_concat n inner parts : (forall p, In p parts -> length (snd p) = prod (fst p :: inner)) ->
  cat n inner parts = concat (map snd parts).
Proof.
  intros L. unfold cat. rewrite flatten_ones.
  assert (H : forall T, flatten (total parts :: inner)
     (fun i => joined T (firstn n (repeat 0 n ++ i)) (skipn n (repeat 0 n ++ i))) =
     flatten (total parts :: inner) (joined T (repeat 0 n))).
  { intros T. apply flatten_ext. intros i _. rewrite firstn_app, skipn_app, repeat_length, Nat.sub_diag. cbn.
    rewrite firstn_all2, skipn_all2 by (rewrite repeat_length; auto). rewrite app_nil_r. auto. }
  rewrite H. set (Ts := map _ parts).
  replace (total parts) with (fold_right (fun p n => fst p + n) 0 Ts).
  2:{ unfold Ts, total. clear. induction parts; cbn; auto. }
  rewrite joined_flatten. unfold Ts. rewrite map_map. cbn [fst snd]. f_equal. apply map_ext_in. intros p P.
  rewrite <- (flatten_ones n (fst p :: inner) (tensor_of (ones n ++ fst p :: inner) (snd p))).
  apply flatten_tensor_of. rewrite prod_ones. auto.
Qed.
End Tensor.
