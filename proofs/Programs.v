(* Element-wise operators and the programs that replace them.

   An element-wise node gives, at every index, a scalar function of its inputs' elements at that index,
   inputs being broadcast. What the scalar functions compute is left open: whatever they are, and
   however they round, two sides that apply the same ones to the same elements in the same order are
   equal. *)
From Coq Require Import List PeanoNat PArith Bool Lia.
From Sardonyx Require Import Graph.
Import ListNotations.

Section Programs.
Variable S : Type.                      (* scalars *)
Variable F : positive -> list S -> S.   (* scalar functions by their names *)
(* Sizes of every wire, innermost axis first: so axes that broadcasting adds stand at the end. *)
Variable dims : id -> list nat.
Notation index := (list nat).
Definition tensors := id -> index -> S.

(* Where a wire of these sizes is read for an element of a larger one. *)
Fixpoint within (ds : list nat) (i : index) : index :=
  match ds, i with d :: ds, k :: ks => (if d =? 1 then 0 else k) :: within ds ks | _, _ => [] end.
Fixpoint broadcasts (small large : list nat) : bool :=
  match small, large with
  | [], _ => true
  | s :: ss, l :: ls => ((s =? 1) || (s =? l)) && broadcasts ss ls
  | _ :: _, [] => false
  end.

(* One scalar function, applied at every index of the result. *)
Record point := Point { made : id; fn : positive; args : list id }.
Definition run_point (e : tensors) (p : point) : tensors := fun x =>
  if Pos.eqb x (made p) then fun i => F (fn p) (map (fun a => e a (within (dims a) i)) (args p)) else e x.
(* The last point stands first. *)
Fixpoint run_points (ps : list point) (e : tensors) : tensors :=
  match ps with [] => e | p :: ps => run_point (run_points ps e) p end.

(* A result as one expression of the wires that come from outside. *)
Inductive expression := Read (x : id) | Apply (f : positive) (es : list expression).
Fixpoint value_at (e : tensors) (i : index) (x : expression) : S :=
  match x with
  | Read x => e x (within (dims x) i)
  | Apply f es => F f (map (value_at e i) es)
  end.
Fixpoint all_some {A} (l : list (option A)) : option (list A) :=
  match l with
  | [] => Some []
  | Some x :: l => option_map (cons x) (all_some l)
  | None :: _ => None
  end.
Fixpoint expand (ps : list point) (x : id) : option expression :=
  match ps with
  | [] => Some (Read x)
  | p :: ps =>
      if Pos.eqb x (made p) then
        if forallb (fun a => broadcasts (dims a) (dims x)) (args p)
        then option_map (Apply (fn p)) (all_some (map (expand ps) (args p))) else None
      else expand ps x
  end.

Lemma broadcasts_length a : forall b, broadcasts a b = true -> length a <= length b.
Proof.
  induction a as [|x a IH]; intros [|y b] H; cbn in *; try discriminate; try lia.
  apply andb_prop in H. destruct H as [_ H]. apply IH in H. lia.
Qed.
Lemma within_within a : forall b i, broadcasts a b = true -> length b <= length i ->
  within a (within b i) = within a i.
Proof.
  induction a as [|x a IH]; intros [|y b] [|k i] H L; cbn in *; try discriminate; auto; try lia.
  apply andb_prop in H. destruct H as [H1 H2]. f_equal; [|apply IH; auto; lia].
  destruct (Nat.eqb_spec x 1) as [->|N]; auto. cbn in H1. apply Nat.eqb_eq in H1. subst.
  destruct (Nat.eqb_spec y 1); [congruence|auto].
Qed.
Lemma all_some_map (A B : Type) (f : A -> option B) l : forall r, all_some (map f l) = Some r ->
  Forall2 (fun a b => f a = Some b) l r.
Proof.
  induction l as [|a l IH]; cbn; intros r H.
  - injection H as <-. constructor.
  - destruct (f a) eqn:E; [|discriminate]. destruct (all_some (map f l)) eqn:G; [|discriminate].
    injection H as <-. constructor; auto.
Qed.
Theorem expand_sound e ps : forall x s i, expand ps x = Some s -> length (dims x) <= length i ->
  run_points ps e x (within (dims x) i) = value_at e i s.
Proof.
  induction ps as [|p ps IH]; cbn [expand run_points]; intros x s i H L.
  - injection H as <-. reflexivity.
  - unfold run_point. destruct (Pos.eqb x (made p)); [|apply IH; auto].
    destruct (forallb _ _) eqn:B; [|discriminate].
    destruct (all_some (map (expand ps) (args p))) as [es|] eqn:A; [|discriminate]. injection H as <-.
    apply all_some_map in A. cbn [value_at]. f_equal. rewrite forallb_forall in B.
    induction A as [|a s l r E A IHA]; cbn [map]; auto. f_equal; [|apply IHA; intros y Y; apply B; right; auto].
    assert (Ba : broadcasts (dims a) (dims x) = true) by (apply B; left; auto).
    rewrite (within_within (dims a) (dims x) i Ba L). apply IH; auto. apply broadcasts_length in Ba. lia.
Qed.

(* Equal expressions have equal values. *)
Fixpoint expression_eqb (a b : expression) : bool :=
  match a, b with
  | Read x, Read y => Pos.eqb x y
  | Apply f xs, Apply g ys =>
      Pos.eqb f g &&
      (fix all xs ys := match xs, ys with
        | [], [] => true
        | x :: xs, y :: ys => expression_eqb x y && all xs ys
        | _, _ => false
        end) xs ys
  | _, _ => false
  end.
Fixpoint expression_eqb_eq a {struct a} : forall b, expression_eqb a b = true -> a = b.
Proof.
  destruct a as [x|f xs]; intros [y|g ys] H; cbn in H; try discriminate.
  - apply Pos.eqb_eq in H. congruence.
  - apply andb_prop in H. destruct H as [H1 H2]. apply Pos.eqb_eq in H1. subst g. f_equal.
    revert ys H2. induction xs as [|x xs IH]; intros [|y ys] H2; try discriminate; auto.
    apply andb_prop in H2. destruct H2 as [H2 H3]. f_equal; [apply expression_eqb_eq; auto|apply IH; auto].
Defined.

Definition sizes_eqb (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.
(* Whether the new points give at x' what the old ones give at x. *)
Definition same_program (old new : list point) (x x' : id) : bool :=
  sizes_eqb (dims x) (dims x') &&
  match expand old x, expand new x' with Some a, Some b => expression_eqb a b | _, _ => false end.
Definition inside (ds : list nat) (i : index) : Prop := Forall2 (fun d k => k < d) ds i.
Lemma within_self ds i : inside ds i -> within ds i = i.
Proof.
  induction 1 as [|d k ds ks H I IH]; cbn; auto. rewrite IH. destruct (Nat.eqb_spec d 1); auto. f_equal. lia.
Qed.
Lemma inside_length ds i : inside ds i -> length ds = length i.
Proof. induction 1; cbn; auto. Qed.
(* FUSION KEEPS EVERY ELEMENT. *)
Theorem same_program_sound old new x x' : same_program old new x x' = true ->
  forall e i, inside (dims x) i -> run_points old e x i = run_points new e x' i.
Proof.
  unfold same_program, sizes_eqb. intros H e i I. apply andb_prop in H. destruct H as [D H].
  destruct (list_eq_dec _ _ _) as [E|]; [|discriminate].
  destruct (expand old x) as [a|] eqn:A; [|discriminate]. destruct (expand new x') as [b|] eqn:B; [|discriminate].
  apply expression_eqb_eq in H. subst b. assert (L := inside_length _ _ I).
  transitivity (value_at e i a).
  - rewrite <- (expand_sound e old x a i A) by lia. rewrite within_self; auto.
  - rewrite <- (expand_sound e new x' a i B) by (rewrite <- E; lia). rewrite within_self; auto. rewrite <- E. auto.
Qed.

(* ---- other layouts ------------------------------------------------------------------------------ *)

(* The new graph may keep elements elsewhere: `move i` is where element i of the old result is. What a
   new program computes there is what the old one computed at i, if every wire it reads has, at the
   place it is read, the element that the old one read. *)
Fixpoint leaves (s : expression) : list id :=
  match s with Read x => [x] | Apply _ es => flat_map leaves es end.
Fixpoint renamed_expression (r : id -> id) (s : expression) : expression :=
  match s with Read x => Read (r x) | Apply f es => Apply f (map (renamed_expression r) es) end.
Fixpoint value_moved e e' i i' r s {struct s} :
  (forall x, In x (leaves s) -> e (x) (within (dims x) i) = e' (r x) (within (dims (r x)) i')) ->
  value_at e i s = value_at e' i' (renamed_expression r s).
Proof.
  destruct s as [x|f es]; cbn; intros H; [apply H; cbn; auto|]. f_equal.
  revert H. induction es as [|s es IH]; cbn; intros H; auto. f_equal.
  - apply value_moved. intros x X. apply H. apply in_or_app. auto.
  - apply IH. intros x X. apply H. apply in_or_app. auto.
Defined.
Theorem moved_program_sound old new x x' a r e e' i i' :
  expand old x = Some a -> expand new x' = Some (renamed_expression r a) ->
  length (dims x) <= length i -> length (dims x') <= length i' ->
  (forall y, In y (leaves a) -> e y (within (dims y) i) = e' (r y) (within (dims (r y)) i')) ->
  run_points old e x (within (dims x) i) = run_points new e' x' (within (dims x') i').
Proof.
  intros A B L L' H. rewrite (expand_sound e old x a i A L). rewrite (expand_sound e' new x' _ i' B L').
  apply value_moved. auto.
Qed.
End Programs.
