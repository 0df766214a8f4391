(* A pass of the optimiser, checked wire by wire.

   All wires of the graph before and of the one after have numbers of their own; `e` gives each a tensor.
   What nodes compute is left open but for what moves elements and what works element by element, so
   what is shown holds however operators round. A fact says that a wire's elements are those of another,
   and where; facts follow from facts by steps that are checked one by one. *)
From Coq Require Import List PeanoNat PArith NArith Bool Lia FMapPositive.
From Sardonyx Require Import Graph Layouts.
Import ListNotations.
Local Open Scope N_scope.
Module Map := PositiveMap.

(* One scalar function, applied at every index of the result. *)
Record point := Point { made : id; fn : positive; args : list id }.
(* An operator on tensors that lie otherwise: what it computes is `label` applied to the tensors of the
   given sizes that its inputs hold in the given layouts; its outputs hold the results likewise. *)
Record operand := Operand { held_in : id; lies : layout; sizes : list N }.
Record laid := Laid { label : positive; takes : list (option operand); gives : list operand }.

Section Passes.
Variable S : Type.
Variable F : positive -> list S -> S.
Notation tensor := (list N * list S)%type.
Variable G : positive -> list (option tensor) -> nat -> index -> S.
Variable dims : id -> list N.
Variable e : id -> index -> S.

Definition elements (ds : list N) (t : index -> S) : list S := map t (indices ds).
Definition point_holds (p : point) : Prop := forall i, inside (dims (made p)) i ->
  e (made p) i = F (fn p) (map (fun a => e a (within (dims a) i)) (args p)).
Definition tensor_in (o : operand) : tensor := (sizes o, elements (sizes o) (fun i => e (held_in o) (move (lies o) i))).
Definition laid_holds (n : laid) : Prop := forall k o i, nth_error (gives n) k = Some o -> inside (sizes o) i ->
  e (held_in o) (move (lies o) i) = G (label n) (map (option_map tensor_in) (takes n)) k i.

(* Moved a b f: element i of a is element f(i) of b. Alike a b: the same elements in the same order. *)
Inductive fact := Moved (a b : id) (f : layout) | Alike (a b : id).
Definition holds (x : fact) : Prop :=
  match x with
  | Moved a b f => forall i, inside (dims a) i -> e b (move f i) = e a i
  | Alike a b => elements (dims a) (e a) = elements (dims b) (e b)
  end.

Definition sizes_eqb (a b : list N) : bool := if list_eq_dec N.eq_dec a b then true else false.
Definition layout_eqb (f g : layout) : bool :=
  (fix go f g := match f, g with [], [] => true | a :: f, b :: g => atom_eqb a b && go f g | _, _ => false end) f g.
Lemma sizes_eqb_eq a b : sizes_eqb a b = true -> a = b.
Proof. unfold sizes_eqb. destruct (list_eq_dec _ _ _); auto. discriminate. Qed.
Lemma layout_eqb_eq f : forall g, layout_eqb f g = true -> f = g.
Proof.
  induction f as [|a f IH]; intros [|b g] H; cbn in H; try discriminate; auto. apply andb_prop in H. destruct H as [A H].
  apply atom_eqb_eq in A. subst. f_equal. apply IH. exact H.
Qed.

(* ---- what is known ------------------------------------------------------------------------------- *)

Definition facts := Map.t (list fact).
Definition no_facts : facts := Map.empty _.
Definition first (x : fact) : id := match x with Moved a _ _ | Alike a _ => a end.
Definition among (a : id) (s : facts) : list fact := match Map.find a s with Some l => l | None => [] end.
Definition learn (s : facts) (x : fact) : facts := Map.add (first x) (x :: among (first x) s) s.
Definition fact_eqb (x y : fact) : bool :=
  match x, y with
  | Moved a b f, Moved a' b' f' => Pos.eqb a a' && Pos.eqb b b' && layout_eqb f f'
  | Alike a b, Alike a' b' => Pos.eqb a a' && Pos.eqb b b'
  | _, _ => false
  end.
Definition known (s : facts) (x : fact) : bool := existsb (fact_eqb x) (among (first x) s).
Definition all_hold (s : facts) : Prop := forall a x, In x (among a s) -> holds x.
Lemma fact_eqb_eq x y : fact_eqb x y = true -> x = y.
Proof.
  destruct x, y; cbn; intros H; try discriminate; repeat (apply andb_prop in H; destruct H as [H ?]);
    repeat match goal with X : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in X | X : layout_eqb _ _ = true |- _ => apply layout_eqb_eq in X end;
    subst; auto.
Qed.
Lemma known_holds s x : all_hold s -> known s x = true -> holds x.
Proof.
  intros A K. apply existsb_exists in K. destruct K as (y & I & E). apply fact_eqb_eq in E. subst. eapply A; eauto.
Qed.
Lemma add_holds s x : all_hold s -> holds x -> all_hold (learn s x).
Proof.
  intros A H a y. unfold learn, among at 1. destruct (Pos.eq_dec a (first x)) as [->|N].
  - rewrite Map.gss. intros [<-|I]; auto. eapply A; eauto.
  - rewrite Map.gso by auto. apply A.
Qed.
Lemma adds_hold xs : forall s, all_hold s -> (forall x, In x xs -> holds x) -> all_hold (fold_left learn xs s).
Proof. induction xs as [|x xs IH]; cbn; intros s A H; auto. apply IH; auto. apply add_holds; auto. Qed.

(* ---- steps --------------------------------------------------------------------------------------- *)

Variable point_of : id -> option point.   (* by what it makes *)
Variable operator : positive -> option laid.
Definition plain (x : id) : layout := as_it_is (length (dims x)).

(* Two wires are read alike at every index of a result of sizes `ds` that lies by `f` after the pass. *)
Inductive reading := By_fact (a b : id) (g : layout) | By_point (a b : id).
Definition ends (r : reading) : id * id := match r with By_fact a b _ | By_point a b => (a, b) end.
Definition pair_in (l : list (id * id)) (a b : id) : bool := existsb (fun p => Pos.eqb (fst p) a && Pos.eqb (snd p) b) l.
Fixpoint pairs_in (l : list (id * id)) (xs ys : list id) : bool :=
  match xs, ys with
  | [], [] => true
  | x :: xs, y :: ys => pair_in l x y && pairs_in l xs ys
  | _, _ => false
  end.
Definition reads (s : facts) (ds : list N) (f : layout) (l : list (id * id)) (r : reading) : bool :=
  match r with
  | By_fact a b g =>
      known s (Moved a b g) && broadcasts (dims a) ds && read_alike ds (dims a) (dims b) f g
  | By_point a b =>
      match point_of a, point_of b with
      | Some p, Some q =>
          Pos.eqb (made p) a && Pos.eqb (made q) b && Pos.eqb (fn p) (fn q) && broadcasts (dims a) ds &&
          broadcasts (dims b) (stored f ds) && forallb (fun x => broadcasts (dims x) (dims a)) (args p) &&
          forallb (fun x => broadcasts (dims x) (dims b)) (args q) && pairs_in l (args p) (args q)
      | _, _ => false
      end
  end.
Fixpoint all_read (s : facts) (ds : list N) (f : layout) (l : list (id * id)) (rs : list reading) : option (list (id * id)) :=
  match rs with
  | [] => Some l
  | r :: rs => if reads s ds f l r then all_read s ds f (ends r :: l) rs else None
  end.

(* The same where both sides go through their elements in the order in which they lie, whatever their
   sizes. *)
Inductive line := By_order (a b : id) | By_single (a b : id) (g : layout) | By_points (a b : id).
Definition line_ends (r : line) : id * id := match r with By_order a b | By_single a b _ | By_points a b => (a, b) end.
Definition single (x : id) : bool := forallb (N.eqb 1) (dims x).
Definition product (ds : list N) : N := fold_right N.mul 1 ds.
Definition goes_along (s : facts) (ds ds' : list N) (l : list (id * id)) (r : line) : bool :=
  match r with
  | By_order a b => known s (Alike a b) && sizes_eqb (dims a) ds && sizes_eqb (dims b) ds'
  | By_single a b g =>
      known s (Moved a b g) && single a && single b && Nat.eqb (length g) (length (dims b)) &&
      broadcasts (dims a) ds && broadcasts (dims b) ds' && (product ds =? product ds')
  | By_points a b =>
      match point_of a, point_of b with
      | Some p, Some q =>
          Pos.eqb (made p) a && Pos.eqb (made q) b && Pos.eqb (fn p) (fn q) && broadcasts (dims a) ds && broadcasts (dims b) ds' &&
          forallb (fun x => broadcasts (dims x) (dims a)) (args p) && forallb (fun x => broadcasts (dims x) (dims b)) (args q) &&
          pairs_in l (args p) (args q) && negb (Nat.eqb (length (args p)) 0)
      | _, _ => false
      end
  end.
Fixpoint all_along (s : facts) (ds ds' : list N) (l : list (id * id)) (rs : list line) : option (list (id * id)) :=
  match rs with
  | [] => Some l
  | r :: rs => if goes_along s ds ds' l r then all_along s ds ds' (line_ends r :: l) rs else None
  end.

Fixpoint same_inputs (s : facts) (xs ys : list (option operand)) : bool :=
  match xs, ys with
  | [], [] => true
  | None :: xs, None :: ys => same_inputs s xs ys
  | Some x :: xs, Some y :: ys =>
      layout_eqb (lies x) (plain (held_in x)) && sizes_eqb (sizes x) (dims (held_in x)) && sizes_eqb (sizes y) (sizes x) &&
      known s (Moved (held_in x) (held_in y) (lies y)) && same_inputs s xs ys
  | _, _ => false
  end.
Fixpoint outputs_fit (xs ys : list operand) : bool :=
  match xs, ys with
  | [], [] => true
  | x :: xs, y :: ys =>
      layout_eqb (lies x) (plain (held_in x)) && sizes_eqb (sizes x) (dims (held_in x)) && sizes_eqb (sizes y) (sizes x) && outputs_fit xs ys
  | _, _ => false
  end.
Fixpoint output_facts (xs ys : list operand) : list fact :=
  match xs, ys with x :: xs, y :: ys => Moved (held_in x) (held_in y) (lies y) :: output_facts xs ys | _, _ => [] end.

Inductive step :=
| Compose (a b c : id) (f g : layout)     (* a lies in b, and b in c *)
| Return (a b c : id) (f g h : layout)    (* a lies in c by g, b by f: so a lies in b by h *)
| Operators (p q : positive)              (* the same operator on what its inputs became *)
| Programs (a b : id) (f : layout) (rs : list reading)
| Ordered_programs (a b : id) (rs : list line)
| Itself (a : id)
| To_order (a b : id)                     (* equal tensors have equal elements in equal order *)
| From_order (a b : id)                   (* and the other way round, where sizes are equal *)
| Turned_order (a b : id)
| Chained_order (a b c : id).

Definition derive (s : facts) (t : step) : option (list fact) :=
  match t with
  | Compose a b c f g =>
      if known s (Moved a b f) && known s (Moved b c g) && sizes_eqb (dims b) (stored f (dims a))
      then option_map (fun h => [Moved a c h]) (after g f) else None
  | Return a b c f g h =>
      if known s (Moved a c g) && known s (Moved b c f) && sizes_eqb (dims b) (stored h (dims a)) &&
         match after f h with Some k => same_layout (dims a) k g | None => false end
      then Some [Moved a b h] else None
  | Operators p q =>
      match operator p, operator q with
      | Some x, Some y =>
          if Pos.eqb (label x) (label y) && same_inputs s (takes x) (takes y) && outputs_fit (gives x) (gives y)
          then Some (output_facts (gives x) (gives y)) else None
      | _, _ => None
      end
  | Programs a b f rs =>
      if sizes_eqb (dims b) (stored f (dims a)) then
        match all_read s (dims a) f [] rs with
        | Some l => if pair_in l a b then Some [Moved a b f] else None
        | None => None
        end
      else None
  | Ordered_programs a b rs =>
      match all_along s (dims a) (dims b) [] rs with
      | Some l => if pair_in l a b then Some [Alike a b] else None
      | None => None
      end
  | Itself a => Some [Moved a a (plain a)]
  | To_order a b => if known s (Moved a b (plain a)) && sizes_eqb (dims a) (dims b) then Some [Alike a b] else None
  | From_order a b => if known s (Alike a b) && sizes_eqb (dims a) (dims b) then Some [Moved a b (plain a)] else None
  | Turned_order a b => if known s (Alike b a) then Some [Alike a b] else None
  | Chained_order a b c => if known s (Alike a b) && known s (Alike b c) then Some [Alike a c] else None
  end.
Definition take (s : facts) (t : step) : option facts := option_map (fun xs => fold_left learn xs s) (derive s t).
Fixpoint take_all (s : facts) (ts : list step) : option facts :=
  match ts with [] => Some s | t :: ts => match take s t with Some s' => take_all s' ts | None => None end end.

(* ---- soundness ----------------------------------------------------------------------------------- *)

Hypothesis points_hold : forall a p, point_of a = Some p -> point_holds p.
Hypothesis operators_hold : forall p n, operator p = Some n -> laid_holds n.

Ltac bools := repeat match goal with
  | X : _ && _ = true |- _ => apply andb_prop in X; destruct X
  | X : Pos.eqb _ _ = true |- _ => apply Pos.eqb_eq in X
  | X : sizes_eqb _ _ = true |- _ => apply sizes_eqb_eq in X
  | X : layout_eqb _ _ = true |- _ => apply layout_eqb_eq in X
  end.

Lemma move_plain x i : inside (dims x) i -> move (plain x) i = i.
Proof. intros I. unfold plain. rewrite (inside_length _ _ I). apply move_as_it_is. Qed.
Definition alike_at (ds : list N) (f : layout) (p : id * id) : Prop := forall i, inside ds i ->
  e (fst p) (within (dims (fst p)) i) = e (snd p) (within (dims (snd p)) (move f i)).
Lemma pair_in_In l a b : pair_in l a b = true -> In (a, b) l.
Proof. intros H. apply existsb_exists in H. destruct H as ([x y] & I & E). cbn in E. bools. subst. auto. Qed.
Lemma point_read p ds i : point_holds p -> broadcasts (dims (made p)) ds = true -> inside ds i ->
  forallb (fun x => broadcasts (dims x) (dims (made p))) (args p) = true ->
  e (made p) (within (dims (made p)) i) = F (fn p) (map (fun a => e a (within (dims a) i)) (args p)).
Proof.
  intros H B I A. rewrite H by (eapply within_inside; eauto). f_equal. apply map_ext_in. intros a Ia.
  rewrite forallb_forall in A. rewrite within_within; auto. rewrite <- (inside_length _ _ I).
  clear - B. revert ds B. generalize (dims (made p)) as os. induction os as [|d os IH]; intros [|x ds] B; cbn in *; try discriminate; try lia.
  apply andb_prop in B. destruct B as [_ B]. apply IH in B. lia.
Qed.
Lemma reads_sound s ds f l r : all_hold s -> (forall p, In p l -> alike_at ds f p) -> reads s ds f l r = true -> alike_at ds f (ends r).
Proof.
  intros A L H i I. destruct r as [a b g|a b]; cbn [reads ends fst snd] in *.
  - bools. rewrite (read_alike_sound ds (dims a) (dims b) f g i) by auto. symmetry.
    apply (known_holds _ _ A H). eapply within_inside; eauto.
  - destruct (point_of a) as [p|] eqn:P; [|discriminate]. destruct (point_of b) as [q|] eqn:Q; [|discriminate]. bools.
    apply points_hold in P. apply points_hold in Q. subst a b.
    rewrite (point_read p ds i) by auto. rewrite (point_read q (stored f ds) (move f i)) by (auto; apply move_inside; auto).
    rewrite H5. f_equal. revert H0. generalize (args p), (args q). induction l0 as [|x xs IH]; intros [|y ys] H6; cbn in *; try discriminate; auto.
    apply andb_prop in H6. destruct H6 as [X Y]. f_equal; auto. apply (L (x, y)); auto. apply pair_in_In. auto.
Qed.
Lemma all_read_sound s ds f rs : forall l l', all_hold s -> (forall p, In p l -> alike_at ds f p) -> all_read s ds f l rs = Some l' ->
  forall p, In p l' -> alike_at ds f p.
Proof.
  induction rs as [|r rs IH]; cbn; intros l l' A L H; [injection H as <-; auto|].
  destruct (reads s ds f l r) eqn:R; [|discriminate]. eapply IH; [| |eauto]; auto.
  intros p [<-|I]; auto. eapply reads_sound; eauto.
Qed.

Definition along (ds : list N) (x : id) : list S := map (fun i => e x (within (dims x) i)) (indices ds).
Definition lined (ds ds' : list N) (p : id * id) : Prop := along ds (fst p) = along ds' (snd p).
Lemma length_indices ds : length (indices ds) = N.to_nat (product ds).
Proof.
  induction ds as [|d ds IH]; cbn [indices product fold_right]; auto. fold (product ds).
  assert (H : forall l : list index, length (flat_map (fun r => map (fun k => k :: r) (below d)) l) = (N.to_nat d * length l)%nat).
  { induction l as [|r l IHl]; cbn; [lia|]. rewrite app_length, IHl, map_length. unfold below. rewrite map_length, seq_length. lia. }
  rewrite H, IH. lia.
Qed.
Lemma map_constant (A : Type) (f : A -> S) c l : (forall x, In x l -> f x = c) -> map f l = repeat c (length l).
Proof. induction l as [|x l IH]; cbn; intros H; auto. rewrite H, IH by auto. auto. Qed.
Lemma within_single ds : forall i, forallb (N.eqb 1) ds = true -> (length ds <= length i)%nat -> within ds i = repeat 0 (length ds).
Proof.
  induction ds as [|d ds IH]; intros [|k i] H L; cbn [forallb length] in *; auto; try lia. apply andb_prop in H. destruct H as [H1 H2].
  apply N.eqb_eq in H1. subst d. cbn [within repeat]. rewrite IH by (auto; lia). auto.
Qed.
Lemma move_zeros g n : move g (repeat 0 n) = repeat 0 (length g).
Proof.
  unfold move. assert (Z : forall k m, nth k (repeat 0 m) 0 = 0) by (induction k; destruct m; cbn; auto).
  induction g as [|a g IH]; cbn; auto. rewrite IH. f_equal. destruct a; cbn; auto; rewrite Z; auto.
Qed.
Lemma broadcasts_length a : forall b, broadcasts a b = true -> (length a <= length b)%nat.
Proof.
  induction a as [|x a IH]; intros [|y b] H; cbn in *; try discriminate; try lia. apply andb_prop in H. destruct H as [_ H]. apply IH in H. lia.
Qed.
Lemma zip_points (A B : Type) (f : list S -> S) (xs ys : list id) (u : id -> A -> S) (v : id -> B -> S) l :
  length xs <> 0%nat -> (forall la lb, (forall x y, pair_in l x y = true -> map (u x) la = map (v y) lb) -> pairs_in l xs ys = true ->
    map (fun i => f (map (fun x => u x i) xs)) la = map (fun j => f (map (fun y => v y j) ys)) lb).
Proof.
  intros NE. induction la as [|i la IH]; intros [|j lb] H P; auto.
  - exfalso. destruct xs as [|x xs], ys as [|y ys]; cbn in *; try discriminate; try congruence.
    apply andb_prop in P. destruct P as [P _]. specialize (H _ _ P). discriminate.
  - exfalso. destruct xs as [|x xs], ys as [|y ys]; cbn in *; try discriminate; try congruence.
    apply andb_prop in P. destruct P as [P _]. specialize (H _ _ P). discriminate.
  - cbn [map]. f_equal.
    + f_equal. clear IH NE. revert ys P. induction xs as [|x xs IHx]; intros [|y ys] P; cbn in *; try discriminate; auto.
      apply andb_prop in P. destruct P as [P1 P2]. f_equal; auto. specialize (H _ _ P1). cbn in H. congruence.
    + apply IH; auto. intros x y X. specialize (H x y X). cbn in H. congruence.
Qed.
Lemma goes_along_sound s ds ds' l r : all_hold s -> (forall p, In p l -> lined ds ds' p) -> goes_along s ds ds' l r = true ->
  lined ds ds' (line_ends r).
Proof.
  intros A L H. unfold lined, along. destruct r as [a b|a b g|a b]; cbn [goes_along line_ends fst snd] in *.
  - bools. assert (X := known_holds _ _ A H). cbn in X. unfold elements in X. rewrite <- H0, <- H1.
    rewrite (map_ext_in _ (e a)), (map_ext_in _ (e b) (indices (dims b))); auto;
      intros i I; apply in_indices in I; rewrite within_self; auto.
  - bools. apply Nat.eqb_eq in H3. apply N.eqb_eq in H0. unfold single in *.
    set (z := e a (repeat 0 (length (dims a)))).
    rewrite (map_constant _ _ z), (map_constant _ _ z (indices ds')); [rewrite !length_indices, H0; auto| |].
    + intros i I. apply in_indices in I. apply broadcasts_length in H1. rewrite (inside_length _ _ I) in H1.
      rewrite within_single by auto. rewrite <- H3, <- (move_zeros g (length (dims a))). apply (known_holds _ _ A H).
      clear - H5. induction (dims a) as [|d t IH]; cbn [forallb repeat length] in *; constructor; apply andb_prop in H5; destruct H5 as [X Y].
      * apply N.eqb_eq in X. lia.
      * apply IH. auto.
    + intros i I. apply in_indices in I. apply broadcasts_length in H2. rewrite (inside_length _ _ I) in H2.
      rewrite within_single by auto. auto.
  - destruct (point_of a) as [p|] eqn:P; [|discriminate]. destruct (point_of b) as [q|] eqn:Q; [|discriminate]. bools.
    apply points_hold in P. apply points_hold in Q. subst a b.
    rewrite (map_ext_in _ (fun i => F (fn p) (map (fun x => e x (within (dims x) i)) (args p)))) by
      (intros i I; apply in_indices in I; eapply point_read; eauto).
    rewrite (map_ext_in (fun i => e (made q) _) (fun i => F (fn q) (map (fun x => e x (within (dims x) i)) (args q)))) by
      (intros i I; apply in_indices in I; eapply point_read; eauto).
    rewrite H6. apply (zip_points _ _ (F (fn q)) (args p) (args q) (fun x i => e x (within (dims x) i)) (fun x i => e x (within (dims x) i)) l); auto.
    + apply negb_true_iff, Nat.eqb_neq in H0. auto.
    + intros x y X. apply (L (x, y)). apply pair_in_In. auto.
Qed.
Lemma all_along_sound s ds ds' rs : forall l l', all_hold s -> (forall p, In p l -> lined ds ds' p) -> all_along s ds ds' l rs = Some l' ->
  forall p, In p l' -> lined ds ds' p.
Proof.
  induction rs as [|r rs IH]; cbn; intros l l' A L H; [injection H as <-; auto|].
  destruct (goes_along s ds ds' l r) eqn:R; [|discriminate]. eapply IH; [| |eauto]; auto.
  intros p [<-|I]; auto. eapply goes_along_sound; eauto.
Qed.

Lemma same_inputs_sound s xs : forall ys, all_hold s -> same_inputs s xs ys = true ->
  map (option_map tensor_in) xs = map (option_map tensor_in) ys.
Proof.
  induction xs as [|[x|] xs IH]; intros [|[y|] ys] A H; cbn in H; try discriminate; auto; cbn [map option_map].
  - bools. f_equal; [|apply IH; auto]. f_equal. unfold tensor_in. rewrite H2. f_equal. unfold elements.
    apply map_ext_in. intros i I. apply in_indices in I. rewrite H3 in I. rewrite H. rewrite (move_plain _ _ I).
    symmetry. apply (known_holds _ _ A H1). auto.
  - f_equal. apply IH; auto.
Qed.
Lemma output_facts_sound xs : forall ys, outputs_fit xs ys = true ->
  (forall k x y i, nth_error xs k = Some x -> nth_error ys k = Some y -> inside (sizes x) i ->
     e (held_in x) (move (lies x) i) = e (held_in y) (move (lies y) i)) ->
  forall z, In z (output_facts xs ys) -> holds z.
Proof.
  induction xs as [|x xs IH]; intros [|y ys] H E z I; cbn in *; try discriminate; try tauto. bools.
  destruct I as [<-|I].
  - cbn. intros i Hi. symmetry. rewrite <- (move_plain _ _ Hi) at 1. rewrite <- H. apply (E 0%nat x y); auto. congruence.
  - apply (IH ys); auto. intros k. apply (E (Datatypes.S k)).
Qed.
Lemma outputs_fit_nth xs : forall ys k x, outputs_fit xs ys = true -> nth_error xs k = Some x ->
  exists y, nth_error ys k = Some y /\ sizes y = sizes x.
Proof.
  induction xs as [|x xs IH]; intros [|y ys] [|k] z H N; cbn in *; try discriminate; bools.
  - injection N as <-. eauto.
  - eauto.
Qed.

(* EVERY STEP IS RIGHT. *)
Theorem derive_sound s t xs : all_hold s -> derive s t = Some xs -> forall x, In x xs -> holds x.
Proof.
  intros A D x I. destruct t as [a b c f g|a b c f g h|p q|a b f rs|a b rs|a|a b|a b|a b|a b c]; cbn [derive] in D.
  - destruct (_ && _) eqn:C in D; [|discriminate]. bools. destruct (after g f) as [h|] eqn:H2; [|discriminate]. injection D as <-.
    destruct I as [<-|[]]. intros i Hi. rewrite <- (after_sound f g h i H2).
    assert (X := known_holds _ _ A H i Hi). assert (Y := known_holds _ _ A H1 (move f i)). cbn in Y. rewrite <- X. apply Y.
    rewrite H0. apply move_inside. auto.
  - destruct (_ && _) eqn:C in D; [|discriminate]. bools. destruct (after f h) as [k|] eqn:K; [|discriminate]. injection D as <-.
    destruct I as [<-|[]]. intros i Hi.
    assert (X := known_holds _ _ A H i Hi). assert (Y := known_holds _ _ A H2 (move h i)). cbn in Y. cbn in X. rewrite <- X.
    rewrite <- (same_layout_sound _ _ _ _ Hi H0). rewrite <- (after_sound h f k i K). symmetry. apply Y. rewrite H1. apply move_inside. auto.
  - destruct (operator p) as [n|] eqn:P; [|discriminate]. destruct (operator q) as [m|] eqn:Q; [|discriminate].
    destruct (_ && _) eqn:C in D; [|discriminate]. injection D as <-. bools. apply operators_hold in P. apply operators_hold in Q.
    eapply output_facts_sound; eauto. intros k y z i Ny Nz Hi. rewrite (P k y i Ny Hi). rewrite (Q k z i Nz).
    + rewrite H. f_equal. eapply same_inputs_sound; eauto.
    + destruct (outputs_fit_nth _ _ _ _ H0 Ny) as (z' & Nz' & E). rewrite Nz in Nz'. injection Nz' as <-. congruence.
  - destruct (sizes_eqb _ _) eqn:E; [|discriminate]. destruct (all_read _ _ _ _ _) as [l|] eqn:R; [|discriminate].
    destruct (pair_in l a b) eqn:P; [|discriminate]. injection D as <-. destruct I as [<-|[]]. intros i Hi.
    apply pair_in_In in P. assert (N : forall p, In p [] -> alike_at (dims a) f p) by (intros p []).
    assert (X := all_read_sound _ _ _ _ _ _ A N R _ P i Hi). cbn in X.
    rewrite (within_self _ _ Hi) in X. apply sizes_eqb_eq in E. rewrite (within_self (dims b)) in X; auto.
    rewrite E. apply move_inside. auto.
  - destruct (all_along _ _ _ _ _) as [l|] eqn:R; [|discriminate]. destruct (pair_in l a b) eqn:P; [|discriminate]. injection D as <-.
    destruct I as [<-|[]]. apply pair_in_In in P.
    assert (N : forall p, In p [] -> lined (dims a) (dims b) p) by (intros p []).
    assert (X := all_along_sound _ _ _ _ _ _ A N R _ P). unfold lined, along in X. cbn in X. cbn. unfold elements.
    rewrite (map_ext_in (e a) (fun i => e a (within (dims a) i))), (map_ext_in (e b) (fun i => e b (within (dims b) i))); auto;
      intros i J; apply in_indices in J; rewrite within_self; auto.
  - injection D as <-. destruct I as [<-|[]]. intros i Hi. rewrite (move_plain _ _ Hi). auto.
  - destruct (_ && _) eqn:C in D; [|discriminate]. bools. injection D as <-. destruct I as [<-|[]]. cbn. rewrite <- H0. unfold elements.
    apply map_ext_in. intros i Hi. apply in_indices in Hi. rewrite <- (known_holds _ _ A H i Hi). rewrite (move_plain _ _ Hi). auto.
  - destruct (_ && _) eqn:C in D; [|discriminate]. bools. injection D as <-. destruct I as [<-|[]]. assert (X := known_holds _ _ A H).
    cbn in X. rewrite <- H0 in X. intros i Hi. rewrite (move_plain _ _ Hi). symmetry. clear - X Hi. unfold elements in X.
    apply in_indices in Hi. revert X Hi. generalize (indices (dims a)). induction l as [|j l IH]; cbn; intros X Hi; [tauto|].
    injection X as Y X. destruct Hi as [<-|Hi]; auto.
  - destruct (known _ _) eqn:K; [|discriminate]. injection D as <-. destruct I as [<-|[]]. cbn. symmetry. exact (known_holds _ _ A K).
  - destruct (_ && _) eqn:C in D; [|discriminate]. bools. injection D as <-. destruct I as [<-|[]]. cbn.
    transitivity (elements (dims b) (e b)); [exact (known_holds _ _ A H)|exact (known_holds _ _ A H0)].
Qed.
Theorem take_sound s t s' : all_hold s -> take s t = Some s' -> all_hold s'.
Proof.
  unfold take. intros A T. destruct (derive s t) as [xs|] eqn:D; [|discriminate]. injection T as <-.
  apply adds_hold; auto. intros x. eapply derive_sound; eauto.
Qed.
Theorem take_all_sound ts : forall s s', all_hold s -> take_all s ts = Some s' -> all_hold s'.
Proof.
  induction ts as [|t ts IH]; cbn; intros s s' A T; [injection T as <-; auto|].
  destruct (take s t) as [s1|] eqn:E; [|discriminate]. eapply IH; [|eauto]. eapply take_sound; eauto.
Qed.
(* WHAT A PASS KEEPS: if the graphs' nodes, equal inputs and equal constants are all that the facts began
   with, an output that lies as it is in the one after has equal elements. *)
Theorem pass_keeps_output given ts s a b : (forall x, In x given -> holds x) ->
  take_all (fold_left learn given no_facts) ts = Some s -> known s (Moved a b (plain a)) = true -> dims a = dims b ->
  elements (dims b) (e b) = elements (dims a) (e a).
Proof.
  intros H T K D. assert (A : all_hold s).
  { eapply take_all_sound; [|eauto]. apply adds_hold; auto. intros x y I. unfold among, no_facts in I. rewrite Map.gempty in I. destruct I. }
  rewrite <- D. unfold elements. apply map_ext_in. intros i I. apply in_indices in I.
  rewrite <- (known_holds _ _ A K i I). rewrite (move_plain _ _ I). auto.
Qed.
End Passes.

(* WIRES MAY BE NAMED: a wire of neither graph that is to hold what a point makes can be given its tensor
   without touching any other, so that points may speak of it. *)
Section Names.
Variable S : Type.
Variable F : positive -> list S -> S.
Variable dims : id -> list N.
Theorem a_name_is_free (e : id -> index -> S) (p : point) : ~ In (made p) (args p) ->
  exists e' : id -> index -> S, (forall x, x <> made p -> e' x = e x) /\ point_holds S F dims e' p.
Proof.
  intros N. exists (fun x => if Pos.eqb x (made p) then fun i => F (fn p) (map (fun a => e a (within (dims a) i)) (args p)) else e x).
  split.
  - intros x X. destruct (Pos.eqb_spec x (made p)); congruence.
  - intros i _. rewrite Pos.eqb_refl. f_equal. apply map_ext_in. intros a A. destruct (Pos.eqb_spec a (made p)); [subst; tauto|auto].
Qed.
End Names.
