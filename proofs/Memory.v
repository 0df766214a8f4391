(* Memory as plans see it: a few spaces of bytes (the arena, the caller's inputs and outputs,
   constants), and values that have memory of their own because their size is known only while
   running (strings and sequences are such values too). A wire is a tensor and its place. *)
From Coq Require Import List PeanoNat PArith NArith Bool Lia.
From Sardonyx Require Import Graph.
Import ListNotations.
Local Open Scope N_scope.

Inductive loc := Own | At (space : positive) (off len : N).
Record wire := W { wid : id; at_ : loc }.

Definition len_of (w : wire) : N := match at_ w with Own => 0 | At _ _ l => l end.
Definition disjoint (a b : wire) : bool :=
  match at_ a, at_ b with
  | Own, Own => negb (Pos.eqb (wid a) (wid b))
  | At s o l, At s' o' l' =>
      negb (Pos.eqb s s') || (o + l <=? o') || (o' + l' <=? o) || (l =? 0) || (l' =? 0)
  | _, _ => true
  end.
Definition loc_eqb (a b : loc) : bool :=
  match a, b with
  | Own, Own => true
  | At s o l, At s' o' l' => Pos.eqb s s' && (o =? o') && (l =? l')
  | _, _ => false
  end.
Definition wire_eqb (a b : wire) : bool := Pos.eqb (wid a) (wid b) && loc_eqb (at_ a) (at_ b).
(* The same bytes; values with memory of their own share it with nobody. *)
Definition same_bytes (a b : wire) : bool :=
  match at_ a with Own => false | At _ _ _ => loc_eqb (at_ a) (at_ b) end.

Definition slice {A} (d l : N) (v : list A) : list A := firstn (N.to_nat l) (skipn (N.to_nat d) v).

Ltac bools := repeat match goal with
  | H : _ && _ = true |- _ => apply andb_prop in H; destruct H
  | H : negb _ = true |- _ => apply negb_true_iff in H
  | H : negb _ = false |- _ => apply negb_false_iff in H
  | H : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in H
  | H : Pos.eqb _ _ = false |- _ => apply Pos.eqb_neq in H
  | H : (_ =? _) = true |- _ => apply N.eqb_eq in H
  | H : (_ <=? _) = true |- _ => apply N.leb_le in H
  | H : (_ <? _) = true |- _ => apply N.ltb_lt in H
  | H : forallb _ _ = true |- _ => rewrite forallb_forall in H
  end.

Section Memory.
Variable byte : Type.
Definition value := list byte.
Record mem := M { bytes : positive -> N -> byte; own : id -> value }.

Definition peek (m : mem) (s : positive) (o l : N) : value :=
  map (fun i => bytes m s (o + N.of_nat i)) (seq 0 (N.to_nat l)).
Definition read (m : mem) (w : wire) : value :=
  match at_ w with Own => own m (wid w) | At s o l => peek m s o l end.

(* Nothing outside of the wires `ws` changes from m to m'. *)
Definition covers (w : wire) (s : positive) (a : N) : Prop :=
  match at_ w with Own => False | At s' o l => s = s' /\ o <= a < o + l end.
Definition frame (ws : list wire) (m m' : mem) : Prop :=
  (forall s a, (forall w, In w ws -> ~ covers w s a) -> bytes m' s a = bytes m s a) /\
  (forall x, (forall w, In w ws -> at_ w = Own -> wid w <> x) -> own m' x = own m x).

Lemma loc_eqb_eq a b : loc_eqb a b = true -> a = b.
Proof. destruct a, b; cbn; intros; try congruence. bools. congruence. Qed.
Lemma wire_eqb_eq a b : wire_eqb a b = true -> a = b.
Proof. destruct a, b; unfold wire_eqb; cbn; intros. bools. f_equal; auto. apply loc_eqb_eq. auto. Qed.
Lemma loc_eqb_refl a : loc_eqb a a = true.
Proof. destruct a; cbn; auto. rewrite Pos.eqb_refl, !N.eqb_refl. auto. Qed.
Lemma wire_eqb_refl a : wire_eqb a a = true.
Proof. unfold wire_eqb. rewrite Pos.eqb_refl, loc_eqb_refl. auto. Qed.

Lemma disjoint_sym a b : disjoint a b = disjoint b a.
Proof.
  unfold disjoint. destruct (at_ a), (at_ b); auto; [rewrite Pos.eqb_sym; auto|].
  rewrite (Pos.eqb_sym space space0). destruct (Pos.eqb _ _), (off + len <=? off0), (off0 + len0 <=? off),
    (len =? 0), (len0 =? 0); auto.
Qed.
Lemma disjoint_covers a b s x : disjoint a b = true -> covers a s x -> covers b s x -> False.
Proof.
  unfold disjoint, covers. destruct (at_ a), (at_ b); cbn; try tauto.
  rewrite !orb_true_iff, negb_true_iff, Pos.eqb_neq, !N.leb_le, !N.eqb_eq. intros H [] []. subst.
  destruct H as [[[[H|H]|H]|H]|H]; try congruence; lia.
Qed.
Lemma peek_ext m m' s o l :
  (forall a, o <= a < o + l -> bytes m' s a = bytes m s a) -> peek m' s o l = peek m s o l.
Proof. intros H. unfold peek. apply map_ext_in. intros i I. apply in_seq in I. apply H. lia. Qed.
Lemma peek_length m s o l : length (peek m s o l) = N.to_nat l.
Proof. unfold peek. rewrite map_length, seq_length. auto. Qed.
Lemma frame_read ws m m' u :
  frame ws m m' -> (forall w, In w ws -> disjoint w u = true) -> read m' u = read m u.
Proof.
  intros [B O] D. unfold read. destruct (at_ u) as [|s o l] eqn:E.
  - apply O. intros w I Ow Eq. specialize (D w I). unfold disjoint in D. rewrite E, Ow in D. bools. congruence.
  - apply peek_ext. intros a R. apply B. intros w I C. specialize (D w I).
    apply (disjoint_covers w u s a D); auto. unfold covers. rewrite E. auto.
Qed.
Lemma frame_refl ws m : frame ws m m.
Proof. split; auto. Qed.
Lemma frame_trans ws a b c : frame ws a b -> frame ws b c -> frame ws a c.
Proof. intros [A B] [C D]. split; intros; [rewrite C, A|rewrite D, B]; auto. Qed.
Lemma frame_incl ws ws' m m' : incl ws ws' -> frame ws m m' -> frame ws' m m'.
Proof. intros I [A B]. split; intros; [apply A|apply B]; auto. Qed.

Lemma same_bytes_read m p q : same_bytes p q = true -> read m p = read m q.
Proof.
  unfold same_bytes, read. destruct (at_ p); [discriminate|]. intros H. apply loc_eqb_eq in H. rewrite <- H. auto.
Qed.

Lemma skipn_map_seq (A : Type) (f : nat -> A) d : forall a n,
  skipn d (map f (seq a n)) = map f (seq (a + d) (n - d)).
Proof.
  induction d as [|d IH]; intros a n; cbn.
  - rewrite Nat.add_0_r, Nat.sub_0_r. auto.
  - destruct n; cbn; auto. rewrite IH. do 2 f_equal. lia.
Qed.
Lemma firstn_map_seq (A : Type) (f : nat -> A) l : forall a n,
  (l <= n)%nat -> firstn l (map f (seq a n)) = map f (seq a l).
Proof. induction l as [|l IH]; intros a n H; cbn; auto. destruct n; [lia|]. cbn. rewrite IH by lia. auto. Qed.
Lemma map_shift_seq (A : Type) (f : nat -> A) d : forall n a,
  map f (seq (a + d) n) = map (fun i => f (i + d)%nat) (seq a n).
Proof. induction n as [|n IH]; intros a; cbn; auto. f_equal. rewrite <- IH. do 2 f_equal. Qed.
Lemma slice_peek m s o l d l' : d + l' <= l -> slice d l' (peek m s o l) = peek m s (o + d) l'.
Proof.
  intros H. unfold slice, peek. rewrite skipn_map_seq, firstn_map_seq by lia. rewrite map_shift_seq.
  apply map_ext. intros i. f_equal. lia.
Qed.
Lemma peek_app m s o a b : peek m s o (a + b) = peek m s o a ++ peek m s (o + a) b.
Proof.
  unfold peek. rewrite N2Nat.inj_add, seq_app, map_app. f_equal. rewrite map_shift_seq.
  apply map_ext. intros i. f_equal. lia.
Qed.
Lemma peek_0 m s o : peek m s o 0 = [].
Proof. auto. Qed.

End Memory.
Arguments bytes {byte}. Arguments own {byte}. Arguments M {byte}.
