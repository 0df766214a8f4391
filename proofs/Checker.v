(* What the checker runs: a plan, and those of the subgraphs that its steps hold. *)
From Coq Require Import List PArith NArith Bool.
From Sardonyx Require Import Graph Memory Plan Control ShapeOps Bodies.
Import ListNotations.
Local Open Scope N_scope.

Definition checked_op := operator unit.
Definition checked_plan := Plan.plan checked_op.
(* The bytes of each memory, which of them may be written, and what scratch memory is aligned to. *)
Record rooms := Rooms { room : positive -> N; writable : positive -> bool; alignment : N }.

Definition valid_ (r : rooms) : checked_plan -> bool := Plan.valid checked_op piece_of parts_of (writable r).
Definition check_step_ (r : rooms) := Plan.check_step checked_op piece_of parts_of (writable r).
Definition start_ : checked_plan -> state := Plan.start checked_op.
Definition const_ids_ : checked_plan -> ids := Plan.const_ids checked_op.
Definition may_call_ := Plan.may_call checked_op parts_of.
Definition in_bounds_ (r : rooms) : checked_plan -> bool := Plan.in_bounds checked_op (room r) (alignment r).
Definition delivered_ (r : rooms) : checked_plan -> bool := Plan.delivered checked_op (room r).
Definition arrives_ (r : rooms) : checked_plan -> bool := Plan.arrives checked_op (writable r).
Definition accepted (r : rooms) (p : checked_plan) : bool := valid_ r p && in_bounds_ r p && delivered_ r p && arrives_ r p.

Inductive nested := Nest (r : rooms) (p : checked_plan) (bodies : list nested).
Fixpoint all_accepted (t : nested) : bool :=
  match t with Nest r p bodies => accepted r p && forallb all_accepted bodies end.
Inductive within : nested -> nested -> Prop :=
| within_here t : within t t
| within_body r p bodies b t : In b bodies -> within t b -> within t (Nest r p bodies).
(* A nest that is accepted holds no plan that is not. *)
Theorem every_plan_accepted t : all_accepted t = true ->
  forall r p bodies, within (Nest r p bodies) t -> 
    valid_ r p = true /\ in_bounds_ r p = true /\ delivered_ r p = true /\ arrives_ r p = true.
Proof.
  intros A r p bodies W. remember (Nest r p bodies) as u eqn:U. induction W as [t|r' p' bodies' b t I W IH].
  - subst t. cbn in A. apply andb_prop in A. destruct A as [A _]. unfold accepted in A.
    repeat (apply andb_prop in A; destruct A as [A ?]). tauto.
  - apply IH; auto. cbn in A. apply andb_prop in A. destruct A as [_ A]. rewrite forallb_forall in A. auto.
Qed.
