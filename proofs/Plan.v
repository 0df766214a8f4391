(* A validator of plans, proved.

   A plan puts the wires of a graph into memory and runs kernels over them. `valid` looks at places
   alone. If it says yes, and every kernel keeps its contract, then what the plan leaves in memory
   are the values of the graph. *)
From Coq Require Import List PeanoNat PArith NArith Bool Lia FMapPositive.
From Sardonyx Require Import Graph Memory.
Import ListNotations.
Local Open Scope N_scope.
Module Map := PositiveMap.

Section Plan.
Variables op byte : Type.
Notation value := (value byte).
Notation mem := (mem byte).
Notation read := (read byte).
Notation frame := (frame byte).
Notation node := (node op).
Variable sem : op -> list value -> list value.
Notation env := (env value).
Notation run_node := (run_node op value [] sem).
Notation run_nodes := (run_nodes op value [] sem).

(* Operators that give bytes of their first input: output k of `o` is `len` bytes from byte `d` of an
   input of `total` bytes. And those that join their inputs, of so many bytes. Views.v proves which
   operators these are. *)
Variable slice_of : op -> nat -> option (N * N * N).
Variable joins : op -> option (list N).
Definition bytes_of (v : value) : N := N.of_nat (length v).
Hypothesis slice_of_sound : forall o k total d l v vs, slice_of o k = Some (total, d, l) ->
  bytes_of v = total -> nth k (sem o (v :: vs)) [] = slice d l v.
Hypothesis joins_sound : forall o ls vs, joins o = Some ls -> map bytes_of vs = ls ->
  sem o vs = [concat vs].

(* ---- plans ------------------------------------------------------------------------------------- *)

(* Exec: one kernel computes nodes in a row (a product, and the element-wise program that runs on its
     blocks); wires between them have no memory. `consts` are constants that the kernel has packed
     and reads no more. `inplace`: inputs of which element i of the first output needs only element i.
   View: outputs that are pieces of the first input's bytes; nothing runs.
   Join: parts may lie in the result already.
   After a step the wires `gone` are not asked for any more: a hint, which need not be right. *)
Inductive action :=
| Exec (ns : list node) (consts : list id) (reads writes scratch : list wire) (inplace : list id)
| View (n : node) (src : wire) (dsts : list wire)
| Join (n : node) (parts : list wire) (dst : wire).
Record step := Step { act : action; gone : list wire }.
(* Each output has a buffer of the caller: a space. *)
Record plan := Plan {
  constants : list id;       (* all of them *)
  inputs : list wire;        (* the caller's tensors, and constants that are still in memory *)
  steps : list step;
  outputs : list (wire * positive)
}.

Definition nodes_of (t : action) : list node :=
  match t with Exec ns _ _ _ _ _ => ns | View n _ _ => [n] | Join n _ _ => [n] end.
Definition graph_of (p : plan) : list node := flat_map (fun t => nodes_of (act t)) (steps p).

(* Where the parts of a join belong; and those of them that lie elsewhere. *)
Fixpoint targets (s : positive) (o : N) (parts : list wire) (ls : list N) : list (wire * wire) :=
  match parts, ls with
  | p :: ps, l :: ls => (p, W xH (At s o l)) :: targets s (o + l) ps ls
  | _, _ => []
  end.
Definition moved (ts : list (wire * wire)) : list (wire * wire) :=
  filter (fun t => negb (same_bytes (fst t) (snd t))) ts.
Definition join_targets (n : node) (parts : list wire) (dst : wire) : list (wire * wire) :=
  match at_ dst, joins (nop n) with At s o _, Some ls => targets s o parts ls | _, _ => [] end.

(* ---- the contract of kernels ------------------------------------------------------------------- *)

Fixpoint all_pairs (f : wire -> wire -> bool) (ws : list wire) : bool :=
  match ws with [] => true | w :: ws => forallb (f w) ws && all_pairs f ws end.
Definition has_id (x : id) (xs : list id) : bool := existsb (Pos.eqb x) xs.

(* What a kernel may rely on ... *)
Definition may_call (t : action) : bool :=
  match t with
  | Exec _ _ reads writes scratch inplace =>
      all_pairs disjoint (writes ++ scratch) &&
      forallb (fun s => forallb (disjoint s) reads) scratch &&
      match writes with
      | [] => true
      | w0 :: ws =>
          forallb (fun r => disjoint r w0 || (has_id (wid r) inplace && same_bytes r w0)) reads &&
          forallb (fun w => forallb (fun r => disjoint r w) reads) ws
      end
  | View _ _ _ => true
  | Join n parts dst =>
      let mv := moved (join_targets n parts dst) in
      forallb (fun t => forallb (fun u => disjoint (fst t) (snd u)) mv) mv
  end.
(* ... and what it then owes. `C`: the values of constants. *)
Definition env_of (C : env) (m : mem) (consts : list id) (reads : list wire) : env := fun x =>
  if has_id x consts then C x else option_map (read m) (find (fun r => Pos.eqb (wid r) x) reads).
Definition owes (C : env) (t : action) (m m' : mem) : Prop :=
  match t with
  | Exec ns consts reads writes scratch _ =>
      (forall w, In w writes -> run_nodes ns (env_of C m consts reads) (wid w) = Some (read m' w)) /\
      frame (writes ++ scratch) m m'
  | View _ _ _ => m' = m
  | Join n parts dst =>
      let mv := moved (join_targets n parts dst) in
      (forall t, In t mv -> read m' (snd t) = read m (fst t)) /\ frame (map snd mv) m m'
  end.
Definition kernels := action -> mem -> mem -> Prop.
Definition keeps_contract (C : env) (K : kernels) : Prop :=
  forall t m m', may_call t = true -> K t m m' -> owes C t m m'.
Inductive run (K : kernels) : list step -> mem -> mem -> Prop :=
| run_nil m : run K [] m m
| run_cons t ts m m1 m2 : K (act t) m m1 -> run K ts m1 m2 -> run K (t :: ts) m m2.

(* ---- which wires hold their value -------------------------------------------------------------- *)

(* Wires in different buckets do not touch. *)
Definition bucket (w : wire) : positive :=
  match at_ w with Own => xO (wid w) | At s _ _ => xI s end.
Definition live := Map.t (list wire).
Definition among (b : positive) (L : live) : list wire :=
  match Map.find b L with Some l => l | None => [] end.
Definition is_live (w : wire) (L : live) : bool := existsb (wire_eqb w) (among (bucket w) L).
Definition in_live (w : wire) (L : live) : Prop := In w (among (bucket w) L).
Definition add (L : live) (w : wire) : live := Map.add (bucket w) (w :: among (bucket w) L) L.
Definition kill (L : live) (w : wire) : live :=
  Map.add (bucket w) (filter (disjoint w) (among (bucket w) L)) L.
Definition forget (L : live) (w : wire) : live :=
  Map.add (bucket w) (filter (fun u => negb (wire_eqb w u)) (among (bucket w) L)) L.

Definition ids := Map.t unit.
Definition knows (s : ids) (x : id) : bool := match Map.find x s with Some _ => true | None => false end.
Definition note (s : ids) (x : id) : ids := Map.add x tt s.

(* ---- the validator ----------------------------------------------------------------------------- *)

Fixpoint fresh (xs : list id) (s : ids) : bool :=
  match xs with [] => true | x :: xs => negb (knows s x) && fresh xs (note s x) end.
Fixpoint finds_inputs (ns : list node) (known : list id) : bool :=
  match ns with
  | [] => true
  | n :: ns => forallb (fun x => has_id x known) (nins n) && finds_inputs ns (nouts n ++ known)
  end.
Definition has_outputs (n : node) : bool := match nouts n with [] => false | _ => true end.
(* Which spaces may be written: not the caller's inputs, and not constants. *)
Variable writable : positive -> bool.
Definition may_write (w : wire) : bool := match at_ w with Own => true | At s _ _ => writable s end.
Definition piece_fits (n : node) (src dst : wire) : bool :=
  match index (wid dst) (nouts n), at_ src, at_ dst with
  | Some k, At s o l, At s' o' l' =>
      match slice_of (nop n) k with
      | Some (total, d, len) =>
          Pos.eqb s s' && (l =? total) && (l' =? len) && (o' =? o + d) && (d + len <=? total)
      | None => false
      end
  | _, _, _ => false
  end.
Fixpoint lengths_fit (parts : list wire) (ls : list N) : bool :=
  match parts, ls with
  | [], [] => true
  | p :: ps, l :: ls => match at_ p with Own => true | At _ _ l' => l =? l' end && lengths_fit ps ls
  | _, _ => false
  end.
Definition sum (ls : list N) : N := fold_right N.add 0 ls.
Definition ids_eqb (a b : list id) : bool := if list_eq_dec Pos.eq_dec a b then true else false.

Definition state := (live * ids)%type.
Definition check_act (consts : ids) (st : state) (t : action) : option state :=
  let '(L, seen) := st in
  let made := outs (nodes_of t) in
  if negb (fresh made seen && forallb has_outputs (nodes_of t) && may_call t) then None else
  let seen' := fold_left note made seen in
  match t with
  | Exec ns packed reads writes scratch _ =>
      if forallb (fun r => is_live r L) reads && forallb (knows consts) packed &&
         finds_inputs ns (packed ++ map wid reads) &&
         forallb (fun w => has_id (wid w) made) writes && forallb may_write (writes ++ scratch)
      then Some (fold_left add writes (fold_left kill (writes ++ scratch) L), seen') else None
  | View n src dsts =>
      if is_live src L && match nins n with x :: xs => Pos.eqb x (wid src) && forallb (knows seen) xs | [] => false end &&
         forallb (piece_fits n src) dsts
      then Some (fold_left add dsts L, seen') else None
  | Join n parts dst =>
      match at_ dst, joins (nop n) with
      | At s o l, Some ls =>
          if forallb (fun r => is_live r L) parts && ids_eqb (nins n) (map wid parts) &&
             ids_eqb (nouts n) [wid dst] && lengths_fit parts ls && (sum ls =? l) && may_write dst
          then Some (add (fold_left kill (map snd (moved (targets s o parts ls))) L) dst, seen') else None
      | _, _ => None
      end
  end.
Definition check_step (consts : ids) (st : state) (t : step) : option state :=
  match check_act consts st (act t) with
  | Some (L, seen) => Some (fold_left forget (gone t) L, seen)
  | None => None
  end.
Fixpoint check (consts : ids) (st : state) (ts : list step) : option state :=
  match ts with
  | [] => Some st
  | t :: ts => match check_step consts st t with Some st' => check consts st' ts | None => None end
  end.
Definition const_ids (p : plan) : ids := fold_left note (constants p) (Map.empty unit).
Definition start (p : plan) : state :=
  (fold_left add (inputs p) (Map.empty _), fold_left note (constants p ++ map wid (inputs p)) (Map.empty unit)).
Definition valid (p : plan) : bool :=
  match check (const_ids p) (start p) (steps p) with
  | Some (L, _) => forallb (fun o => is_live (fst o) L) (outputs p)
  | None => false
  end.

(* ---- soundness --------------------------------------------------------------------------------- *)

Lemma has_id_spec x xs : has_id x xs = true <-> In x xs.
Proof.
  unfold has_id. rewrite existsb_exists. split.
  - intros (y & I & E). bools. subst; auto.
  - intros I. exists x. split; auto. apply Pos.eqb_refl.
Qed.
Lemma ids_eqb_eq a b : ids_eqb a b = true -> a = b.
Proof. unfold ids_eqb. destruct (list_eq_dec _ _ _); auto. discriminate. Qed.
Lemma is_live_spec w L : is_live w L = true <-> in_live w L.
Proof.
  unfold is_live, in_live. rewrite existsb_exists. split.
  - intros (u & I & E). apply wire_eqb_eq in E. congruence.
  - intros I. exists w. split; auto. apply wire_eqb_refl.
Qed.
Lemma among_add b c l (L : live) : among b (Map.add c l L) = if Pos.eq_dec b c then l else among b L.
Proof.
  unfold among. destruct (Pos.eq_dec b c) as [->|N]; [rewrite Map.gss|rewrite Map.gso]; auto.
Qed.
Lemma bucket_disjoint a b : bucket a <> bucket b -> disjoint a b = true.
Proof.
  unfold bucket, disjoint. destruct (at_ a), (at_ b); auto; intros H.
  - apply negb_true_iff, Pos.eqb_neq. congruence.
  - rewrite !orb_true_iff. do 4 left. apply negb_true_iff, Pos.eqb_neq. congruence.
Qed.
Lemma in_live_add u w L : in_live u (add L w) <-> u = w \/ in_live u L.
Proof.
  unfold in_live, add. rewrite among_add. destruct (Pos.eq_dec _ _) as [E|E]; cbn.
  - rewrite E. split; intros [H|H]; auto.
  - split; auto. intros [->|H]; auto. congruence.
Qed.
Lemma in_live_adds ws : forall u L, in_live u (fold_left add ws L) <-> In u ws \/ in_live u L.
Proof.
  induction ws as [|w ws IH]; cbn; intros u L; [tauto|]. rewrite IH, in_live_add. intuition congruence.
Qed.
Lemma in_live_kill u w L : in_live u (kill L w) <-> in_live u L /\ disjoint w u = true.
Proof.
  unfold in_live, kill. rewrite among_add. destruct (Pos.eq_dec _ _) as [E|E].
  - rewrite filter_In, E. tauto.
  - split; [|tauto]. intros H. split; auto. apply bucket_disjoint. congruence.
Qed.
Lemma in_live_kills ws : forall u L,
  in_live u (fold_left kill ws L) <-> in_live u L /\ forall w, In w ws -> disjoint w u = true.
Proof.
  induction ws as [|w ws IH]; cbn; intros u L; [intuition|]. rewrite IH, in_live_kill. split.
  - intros [[A B] D]. split; auto. intros v [<-|I]; auto.
  - intros [A B]. auto.
Qed.
Lemma in_live_forget u w L : in_live u (forget L w) <-> in_live u L /\ u <> w.
Proof.
  unfold in_live, forget. rewrite among_add. destruct (Pos.eq_dec _ _) as [E|E].
  - rewrite filter_In, E, negb_true_iff. split; intros [A B]; split; auto.
    + intros ->. rewrite wire_eqb_refl in B. discriminate.
    + destruct (wire_eqb w u) eqn:X; auto. apply wire_eqb_eq in X. congruence.
  - split; [|tauto]. intros H. split; auto. congruence.
Qed.
Lemma in_live_forgets ws : forall u L, in_live u (fold_left forget ws L) <-> in_live u L /\ ~ In u ws.
Proof.
  induction ws as [|w ws IH]; cbn; intros u L; [tauto|]. rewrite IH, in_live_forget. intuition congruence.
Qed.
Lemma in_live_empty u : ~ in_live u (Map.empty _).
Proof. unfold in_live, among. rewrite Map.gempty. cbn. auto. Qed.

Lemma knows_note s x y : knows (note s x) y = true <-> y = x \/ knows s y = true.
Proof.
  unfold knows, note. destruct (Pos.eq_dec y x) as [->|N]; [rewrite Map.gss|rewrite Map.gso by auto]; intuition.
Qed.
Lemma knows_notes xs : forall s y, knows (fold_left note xs s) y = true <-> In y xs \/ knows s y = true.
Proof.
  induction xs as [|x xs IH]; cbn; intros s y; [tauto|]. rewrite IH, knows_note. intuition congruence.
Qed.
Lemma knows_empty x : knows (Map.empty unit) x = false.
Proof. unfold knows. rewrite Map.gempty. auto. Qed.
Lemma fresh_spec xs : forall s, fresh xs s = true -> NoDup xs /\ forall x, In x xs -> knows s x = false.
Proof.
  induction xs as [|x xs IH]; cbn; intros s H; [split; [constructor|tauto]|]. bools.
  destruct (IH _ H0) as [N F]. split.
  - constructor; auto. intros I. specialize (F x I). assert (K : knows (note s x) x = true) by (apply knows_note; auto).
    congruence.
  - intros y [<-|I]; auto. specialize (F y I). destruct (knows s y) eqn:K; auto.
    assert (knows (note s x) y = true) by (apply knows_note; auto). congruence.
Qed.
Lemma finds_inputs_closed ns : forall known, finds_inputs ns known = true ->
  closed op ns (fun x => In x known).
Proof.
  induction ns as [|n ns IH]; cbn; intros known H; auto. bools. split.
  - intros x I. apply has_id_spec. auto.
  - eapply closed_mono; [|apply IH; eauto]. cbn. intros x. rewrite in_app_iff. auto.
Qed.

(* Live wires hold their values, and every wire that was made has one. *)
Definition inv (C e : env) (m : mem) (consts : ids) (st : state) : Prop :=
  (forall w, in_live w (fst st) -> e (wid w) = Some (read m w) /\ knows (snd st) (wid w) = true) /\
  (forall x, knows (snd st) x = true -> defined value e x) /\
  (forall x, knows consts x = true -> e x = C x /\ knows (snd st) x = true).

Lemma vals_live C e m consts st : inv C e m consts st -> forall parts,
  (forall p, In p parts -> in_live p (fst st)) -> vals value e (map wid parts) = Some (map (read m) parts).
Proof.
  intros I. induction parts as [|p ps IH]; cbn; intros H; auto.
  rewrite (proj1 (proj1 I p (H p (or_introl eq_refl)))), IH by auto. auto.
Qed.
Lemma find_reads (m : mem) reads x : In x (map wid reads) ->
  exists r, In r reads /\ wid r = x /\ option_map (read m) (find (fun r => Pos.eqb (wid r) x) reads) = Some (read m r).
Proof.
  induction reads as [|r rs IH]; cbn; [tauto|]. intros I. destruct (Pos.eqb_spec (wid r) x).
  - exists r. auto.
  - destruct IH as (q & Iq & E & F); [tauto|]. exists q. auto.
Qed.

Lemma targets_after s parts : forall o ls t, In t (targets s o parts ls) ->
  exists o' l, at_ (snd t) = At s o' l /\ o <= o'.
Proof.
  induction parts as [|p ps IH]; intros o [|l ls] t I; cbn in I; try tauto. destruct I as [<-|I].
  - exists o, l. split; auto. lia.
  - destruct (IH _ _ _ I) as (o' & l' & A & B). exists o', l'. split; auto. lia.
Qed.
Lemma targets_disjoint s parts : forall o ls t u,
  In t (targets s o parts ls) -> In u (targets s o parts ls) -> t = u \/ disjoint (snd t) (snd u) = true.
Proof.
  assert (F : forall o l o' l', o + l <= o' -> disjoint (W xH (At s o l)) (W xH (At s o' l')) = true).
  { intros. unfold disjoint. cbn. rewrite !orb_true_iff, !N.leb_le. auto. }
  induction parts as [|p ps IH]; intros o [|l ls] t u It Iu; cbn in It, Iu; try tauto.
  destruct It as [<-|It], Iu as [<-|Iu]; auto; [right|right|eapply IH; eauto].
  - destruct (targets_after _ _ _ _ _ Iu) as (o' & l' & A & B). cbn. destruct u as [? [x a]]. cbn in *. subst a.
    unfold disjoint. cbn. rewrite !orb_true_iff, !N.leb_le. auto.
  - rewrite disjoint_sym. destruct (targets_after _ _ _ _ _ It) as (o' & l' & A & B). cbn.
    destruct t as [? [x a]]. cbn in *. subst a. unfold disjoint. cbn. rewrite !orb_true_iff, !N.leb_le. auto.
Qed.
Lemma targets_concat (m m' : mem) s parts : forall o ls, lengths_fit parts ls = true ->
  (forall t, In t (targets s o parts ls) -> read m' (snd t) = read m (fst t)) ->
  concat (map (read m) parts) = peek byte m' s o (sum ls) /\ map bytes_of (map (read m) parts) = ls.
Proof.
  induction parts as [|p ps IH]; intros o [|l ls] F H; cbn in F; try discriminate; [split; auto|].
  bools. destruct (IH (o + l) ls) as [A B]; auto. { intros t I. apply H. right. auto. }
  assert (E := H _ (or_introl eq_refl)). unfold read at 1 in E. cbn [fst snd at_] in E.
  cbn [map concat]. change (sum (l :: ls)) with (l + sum ls). rewrite peek_app, <- A, <- E. split; auto. f_equal; auto.
  unfold bytes_of. rewrite peek_length. lia.
Qed.

Theorem check_act_sound C K e m m' consts st t st' :
  keeps_contract C K -> inv C e m consts st -> check_act consts st t = Some st' -> K t m m' ->
  inv C (run_nodes (nodes_of t) e) m' consts st'.
Proof.
  intros KC I CH KT. destruct st as [L seen]. unfold check_act in CH.
  destruct (negb _) eqn:F in CH; [discriminate|]. bools.
  specialize (KC t m m' H0 KT). apply fresh_spec in H. destruct H as [_ FR].
  assert (OLD : forall x, knows seen x = true -> run_nodes (nodes_of t) e x = e x).
  { intros x Kx. apply run_nodes_other. intros J. rewrite (FR x J) in Kx. discriminate. }
  destruct I as (LIVE & DEF & CONST). cbn [fst snd] in *.
  assert (SEEN : forall x, knows (fold_left note (outs (nodes_of t)) seen) x = true <->
                           In x (outs (nodes_of t)) \/ knows seen x = true) by (intros; apply knows_notes).
  (* what all kinds of steps have in common *)
  assert (REST : closed op (nodes_of t) (fun x => knows seen x = true) -> forall L',
    (forall w, in_live w L' -> run_nodes (nodes_of t) e (wid w) = Some (read m' w) /\
       (In (wid w) (outs (nodes_of t)) \/ knows seen (wid w) = true)) ->
    inv C (run_nodes (nodes_of t) e) m' consts (L', fold_left note (outs (nodes_of t)) seen)).
  { intros CL L' H. split; [|split]; cbn [fst snd].
    - intros w Iw. destruct (H w Iw). split; auto. apply SEEN. auto.
    - intros x Kx. apply SEEN in Kx. apply (run_nodes_defined op value [] sem _ (fun x => knows seen x = true)); auto.
      tauto.
    - intros x Kx. destruct (CONST x Kx) as [A B]. split; [rewrite OLD; auto|apply SEEN; auto]. }
  destruct t as [ns packed reads writes scratch ip|n src dsts|n parts dst]; cbn [nodes_of] in *.
  - destruct (_ && _) eqn:B in CH; [|discriminate]. injection CH as <-. bools. cbn [owes] in KC.
    destruct KC as [OUT FRM].
    assert (CL := finds_inputs_closed _ _ H4).
    assert (AG : forall x, In x (packed ++ map wid reads) -> env_of C m packed reads x = e x /\ knows seen x = true).
    { intros x Ix. unfold env_of. destruct (has_id x packed) eqn:P.
      - apply has_id_spec in P. destruct (CONST x) as [A B]; auto.
      - apply in_app_iff in Ix. destruct Ix as [Ix|Ix]; [apply has_id_spec in Ix; congruence|].
        destruct (find_reads m reads x Ix) as (r & Ir & E & V). rewrite V. subst x.
        destruct (LIVE r) as [A B]; [apply is_live_spec; auto|]. rewrite A. auto. }
    apply REST. { eapply closed_mono; [|exact CL]. cbn. intros x Hx. apply AG. auto. }
    intros w Iw. apply in_live_adds in Iw. destruct Iw as [Iw|Iw].
    + assert (Ow : In (wid w) (outs ns)) by (apply has_id_spec; auto). split; auto.
      rewrite <- (OUT w Iw). symmetry. eapply run_nodes_agree; eauto. intros x Hx. apply AG. auto.
    + apply in_live_kills in Iw. destruct Iw as [Iw D]. destruct (LIVE w Iw) as [A B]. split; auto.
      rewrite OLD by auto. rewrite (frame_read _ _ _ _ _ FRM) by auto. auto.
  - destruct (_ && _) eqn:B in CH; [|discriminate]. injection CH as <-. bools. cbn [owes] in KC. subst m'.
    apply is_live_spec in H. destruct (nins n) as [|x xs] eqn:NI; [discriminate|]. bools. subst x.
    assert (SRC : e (wid src) = Some (read m src) /\ knows seen (wid src) = true) by auto.
    assert (CL : closed op [n] (fun x => knows seen x = true)).
    { cbn. split; auto. rewrite NI. intros y [<-|Iy]; [tauto|auto]. }
    apply REST; auto. intros w Iw. apply in_live_adds in Iw. destruct Iw as [Iw|Iw].
    + specialize (H2 w Iw). unfold piece_fits in H2. destruct (index (wid w) (nouts n)) as [k|] eqn:IX; [|discriminate].
      split; [|left; cbn; rewrite app_nil_r; eapply index_Some; eauto].
      destruct (at_ src) as [|s o l] eqn:As; [discriminate|]. destruct (at_ w) as [|s' o' l'] eqn:Aw; [discriminate|].
      destruct (slice_of (nop n) k) as [[[total d] len]|] eqn:SL; [|discriminate]. bools. subst.
      cbn. unfold Graph.run_node. rewrite IX, NI. cbn [vals]. rewrite (proj1 SRC).
      destruct (vals_defined value e xs) as [vs V]. { intros y Iy. apply DEF. auto. }
      rewrite V. cbn [option_map]. f_equal. unfold Memory.read. rewrite As, Aw.
      rewrite (slice_of_sound _ _ _ _ _ (peek byte m s' o total) vs SL).
      * apply slice_peek. auto.
      * unfold bytes_of. rewrite peek_length. lia.
    + destruct (LIVE w Iw). rewrite OLD; auto.
  - destruct (at_ dst) as [|s o l] eqn:Ad; [discriminate|]. destruct (joins (nop n)) as [ls|] eqn:JN; [|discriminate].
    destruct (_ && _) eqn:B in CH; [|discriminate]. injection CH as <-. bools.
    apply ids_eqb_eq in H5, H6. cbn [owes] in KC. unfold join_targets in KC. rewrite Ad, JN in KC.
    destruct KC as [OUT FRM].
    assert (PARTS : forall p, In p parts -> in_live p L) by (intros; apply is_live_spec; auto).
    assert (PLACED : forall t, In t (targets s o parts ls) -> read m' (snd t) = read m (fst t)).
    { intros t It. destruct (same_bytes (fst t) (snd t)) eqn:S.
      - rewrite (same_bytes_read _ _ _ _ S). apply (frame_read _ _ _ _ _ FRM). intros u Iu.
        apply in_map_iff in Iu. destruct Iu as (v & <- & Iv). apply filter_In in Iv. destruct Iv as [Iv Nv].
        destruct (targets_disjoint _ _ _ _ _ _ Iv It); auto. subst. rewrite S in Nv. discriminate.
      - apply OUT. apply filter_In. rewrite S. auto. }
    destruct (targets_concat m m' s parts o ls) as [CAT LEN]; auto.
    apply REST.
    { cbn. split; auto. rewrite H6. intros x Ix. apply in_map_iff in Ix. destruct Ix as (p & <- & Ip). apply LIVE. auto. }
    intros w Iw. apply in_live_add in Iw. destruct Iw as [->|Iw].
    + split; [|left; cbn; rewrite H5; cbn; auto]. cbn. unfold Graph.run_node. rewrite H5. cbn [index].
      rewrite Pos.eqb_refl. rewrite H6.
      rewrite (vals_live C e m consts (L, seen)) by (auto; split; auto).
      cbn [option_map]. f_equal. rewrite (joins_sound _ _ _ JN LEN). cbn [nth]. rewrite CAT.
      unfold Memory.read. rewrite Ad. subst l. auto.
    + apply in_live_kills in Iw. destruct Iw as [Iw D]. destruct (LIVE w Iw) as [A B']. split; auto.
      rewrite OLD by auto. rewrite (frame_read _ _ _ _ _ FRM) by auto. auto.
Qed.

Lemma check_step_sound C K e m m' consts st t st' :
  keeps_contract C K -> inv C e m consts st -> check_step consts st t = Some st' -> K (act t) m m' ->
  inv C (run_nodes (nodes_of (act t)) e) m' consts st'.
Proof.
  intros KC I CH KT. unfold check_step in CH. destruct (check_act consts st (act t)) as [[L seen]|] eqn:E; [|discriminate].
  injection CH as <-. destruct (check_act_sound _ _ _ _ _ _ _ _ _ KC I E KT) as (A & B & D). split; [|split]; auto.
  cbn. intros w Iw. apply in_live_forgets in Iw. apply A. tauto.
Qed.
Lemma check_sound C K consts ts : forall e m m' st st', keeps_contract C K -> inv C e m consts st ->
  check consts st ts = Some st' -> run K ts m m' ->
  inv C (run_nodes (flat_map (fun t => nodes_of (act t)) ts) e) m' consts st'.
Proof.
  induction ts as [|t ts IH]; cbn [check flat_map]; intros e m m' st st' KC I CH R.
  - injection CH as <-. inversion R; subst. auto.
  - destruct (check_step consts st t) as [st1|] eqn:E; [|discriminate]. inversion R; subst.
    rewrite run_nodes_app. eapply IH; eauto. eapply check_step_sound; eauto.
Qed.

(* Memory is loaded: inputs and constants are where the plan says, and have values. *)
Definition loaded (C : env) (p : plan) (e : env) (m : mem) : Prop :=
  (forall w, In w (inputs p) -> e (wid w) = Some (read m w)) /\
  (forall x, In x (constants p) -> e x = C x /\ defined value e x).
Lemma start_inv C p e m : loaded C p e m -> inv C e m (const_ids p) (start p).
Proof.
  intros [A B]. assert (K : forall x, knows (snd (start p)) x = true <-> In x (constants p) \/ In x (map wid (inputs p))).
  { intros x. unfold start. cbn [snd]. rewrite knows_notes, knows_empty, in_app_iff. intuition discriminate. }
  split; [|split].
  - intros w Iw. apply in_live_adds in Iw. destruct Iw as [Iw|Iw]; [|exfalso; eapply in_live_empty; eauto].
    split; auto. apply K. right. apply in_map. auto.
  - intros x Kx. apply K in Kx. destruct Kx as [Kx|Kx]; [apply B; auto|].
    apply in_map_iff in Kx. destruct Kx as (w & <- & Iw). unfold defined. rewrite (A w Iw). discriminate.
  - intros x Kx. unfold const_ids in Kx. apply knows_notes in Kx. rewrite knows_empty in Kx.
    destruct Kx as [Kx|]; [|discriminate]. split; [apply B; auto|apply K; auto].
Qed.

(* A VALID PLAN COMPUTES ITS GRAPH: run by kernels that keep their contract, it leaves every output's
   value in that output's place. *)
Theorem valid_sound C p K e m m' : valid p = true -> keeps_contract C K -> loaded C p e m ->
  run K (steps p) m m' ->
  forall w s, In (w, s) (outputs p) -> run_nodes (graph_of p) e (wid w) = Some (read m' w).
Proof.
  unfold valid. intros V KC LD R w s Iw. destruct (check _ _ _) as [[L seen]|] eqn:CH; [|discriminate].
  bools. eapply check_sound in CH; eauto using start_inv. apply CH. apply is_live_spec. apply (V (w, s)). auto.
Qed.

(* ---- the graph of a valid plan is well formed --------------------------------------------------- *)

Lemma check_act_closed consts st t st' :
  (forall w, in_live w (fst st) -> knows (snd st) (wid w) = true) ->
  (forall x, knows consts x = true -> knows (snd st) x = true) -> check_act consts st t = Some st' ->
  snd st' = fold_left note (outs (nodes_of t)) (snd st) /\
  (forall w, in_live w (fst st') -> knows (snd st') (wid w) = true) /\
  closed op (nodes_of t) (fun x => knows (snd st) x = true) /\
  fresh (outs (nodes_of t)) (snd st) = true /\ forall n, In n (nodes_of t) -> nouts n <> [].
Proof.
  destruct st as [L seen]. intros LK CK CH. unfold check_act in CH. destruct (negb _) eqn:F in CH; [discriminate|].
  bools. cbn [fst snd] in *.
  assert (NE : forall n, In n (nodes_of t) -> nouts n <> []).
  { intros n In_ E. specialize (H1 n In_). unfold has_outputs in H1. rewrite E in H1. discriminate. }
  assert (K : forall w, is_live w L = true -> knows seen (wid w) = true) by (intros; apply LK, is_live_spec; auto).
  destruct t as [ns packed reads writes scratch ip|n src dsts|n parts dst]; cbn [nodes_of] in *.
  - destruct (_ && _) eqn:B in CH; [|discriminate]. injection CH as <-. bools. cbn [fst snd]. repeat split; auto.
    + intros w Iw. apply knows_notes. apply in_live_adds in Iw. destruct Iw as [Iw|Iw].
      * left. apply has_id_spec. auto.
      * right. apply LK. apply in_live_kills in Iw. tauto.
    + eapply closed_mono; [|apply finds_inputs_closed; eauto]. cbn. intros x. rewrite in_app_iff.
      intros [I|I]; [apply CK; auto|]. apply in_map_iff in I. destruct I as (w & <- & I). auto.
  - destruct (_ && _) eqn:B in CH; [|discriminate]. injection CH as <-. bools. cbn [fst snd].
    destruct (nins n) as [|x xs] eqn:NI; [discriminate|]. bools. subst. split; auto. split; [|split; auto].
    + intros w Iw. apply knows_notes. apply in_live_adds in Iw. destruct Iw as [Iw|Iw]; auto.
      left. specialize (H3 w Iw). unfold piece_fits in H3. destruct (index (wid w) (nouts n)) eqn:IX; [|discriminate].
      cbn. rewrite app_nil_r. eapply index_Some; eauto.
    + cbn. split; auto. rewrite NI. intros y [<-|Iy]; auto.
  - destruct (at_ dst); [discriminate|]. destruct (joins (nop n)); [|discriminate].
    destruct (_ && _) eqn:B in CH; [|discriminate]. injection CH as <-. bools. cbn [fst snd].
    apply ids_eqb_eq in H7, H6. split; auto. split; [|split; auto].
    + intros w Iw. apply knows_notes. apply in_live_add in Iw. destruct Iw as [->|Iw].
      * left. cbn. rewrite H6. cbn. auto.
      * right. apply LK. apply in_live_kills in Iw. tauto.
    + cbn. split; auto. rewrite H7. intros x Ix. apply in_map_iff in Ix. destruct Ix as (p & <- & Ip). auto.
Qed.
Lemma check_named consts ts : forall st st',
  (forall w, in_live w (fst st) -> knows (snd st) (wid w) = true) ->
  (forall x, knows consts x = true -> knows (snd st) x = true) -> check consts st ts = Some st' ->
  let g := flat_map (fun t => nodes_of (act t)) ts in
  named op g (fun x => knows (snd st) x = true) /\ closed op g (fun x => knows (snd st) x = true).
Proof.
  induction ts as [|t ts IH]; cbn [check flat_map]; intros st st' LK CK CH.
  - split; [|cbn; auto]. split; [constructor|split; [cbn; auto|intros n []]].
  - destruct (check_step consts st t) as [st1|] eqn:E; [|discriminate]. unfold check_step in E.
    destruct (check_act consts st (act t)) as [[L seen]|] eqn:E'; [|discriminate]. injection E as <-.
    destruct (check_act_closed _ _ _ _ LK CK E') as (S & LK1 & CL & FR & NE). cbn [fst snd] in *. subst seen.
    apply fresh_spec in FR. destruct FR as [ND FR].
    assert (KN : forall x, knows (fold_left note (outs (nodes_of (act t))) (snd st)) x = true <->
                 In x (outs (nodes_of (act t))) \/ knows (snd st) x = true) by (intros; apply knows_notes).
    destruct (IH (fold_left forget (gone t) L, fold_left note (outs (nodes_of (act t))) (snd st)) st'
                (fun w Iw => LK1 w (proj1 (proj1 (in_live_forgets (gone t) w L) Iw)))
                (fun x Kx => proj2 (KN x) (or_intror (CK x Kx))) CH) as [(N2 & F2 & E2) C2]. cbn [snd] in *.
    set (a := nodes_of (act t)) in *. split.
    + split; [|split].
      * rewrite outs_app. apply NoDup_app_intro; auto. intros x I. apply F2. apply KN. auto.
      * intros x Kx J. rewrite outs_app in J. apply in_app_iff in J. destruct J as [J|J].
        -- rewrite (FR x J) in Kx. discriminate.
        -- apply (F2 x); auto. apply KN. auto.
      * intros n In_. apply in_app_iff in In_. destruct In_; auto.
    + apply closed_app. split; auto. eapply closed_mono; [|exact C2]. cbn. intros x Kx. apply KN. auto.
Qed.

(* THE CHAIN: a valid plan, run by kernels that keep their contract, leaves in memory what every
   complete SONNX execution of its graph computes, in whatever order. *)
Theorem plan_meets_sonnx C p K e m m' trace s : valid p = true -> keeps_contract C K -> loaded C p e m ->
  (forall x, defined value e x <-> In x (constants p ++ map wid (inputs p))) ->
  run K (steps p) m m' -> reach op value [] sem (graph_of p) e trace s -> stuck op value (graph_of p) s ->
  forall w b, In (w, b) (outputs p) -> s (wid w) = Some (read m' w).
Proof.
  intros V KC LD DE R RE ST w b Iw. rewrite <- (valid_sound C p K e m m' V KC LD R w b Iw).
  unfold valid in V. destruct (check _ _ _) as [[L seen]|] eqn:CH; [|discriminate].
  destruct (start_inv _ _ _ _ LD) as (A & B & D).
  apply check_named in CH; [|intros u Iu; apply A; auto|intros x Kx; apply D; auto].
  assert (EQ : forall x, knows (snd (start p)) x = true <-> defined value e x).
  { intros x. unfold start. cbn [snd]. rewrite knows_notes, knows_empty, DE. intuition discriminate. }
  destruct CH as [(N & F & E) CL].
  assert (W : named op (graph_of p) (defined value e)).
  { split; auto. split; auto. intros x Dx. apply F. apply EQ. auto. }
  apply (any_order op value [] sem (graph_of p) (graph_of p) e trace s); auto.
  eapply closed_mono; [|exact CL]. cbn. intros x. apply EQ.
Qed.

(* ---- bounds, read-only memory, outputs ---------------------------------------------------------- *)

Definition wires_of (t : action) : list wire :=
  match t with
  | Exec _ _ reads writes scratch _ => reads ++ writes ++ scratch
  | View _ src dsts => src :: dsts
  | Join _ parts dst => dst :: parts
  end.
Definition fits (room : positive -> N) (w : wire) : bool :=
  match at_ w with Own => true | At s o l => o + l <=? room s end.
Definition aligned (align : N) (w : wire) : bool :=
  match at_ w with Own => true | At _ o _ => o mod align =? 0 end.
Definition scratch_of (t : action) : list wire := match t with Exec _ _ _ _ s _ => s | _ => [] end.
Definition in_bounds (room : positive -> N) (align : N) (p : plan) : bool :=
  forallb (fun t => forallb (fits room) (wires_of (act t)) && forallb (aligned align) (scratch_of (act t))) (steps p).
(* NO ADDRESS OUT OF BOUNDS. *)
Theorem in_bounds_sound room align p t w s a : in_bounds room align p = true -> In t (steps p) ->
  In w (wires_of (act t)) -> covers w s a -> a < room s.
Proof.
  unfold in_bounds, covers. intros B It Iw CV. bools. specialize (B t It). bools. specialize (H w Iw).
  unfold fits in H. destruct (at_ w); [tauto|]. bools. destruct CV as [-> CV]. lia.
Qed.

(* INPUTS AND CONSTANTS ARE NOT TOUCHED. *)
Lemma check_act_readonly C K consts st t st' m m' : keeps_contract C K -> check_act consts st t = Some st' ->
  K t m m' -> forall s a, writable s = false -> bytes m' s a = bytes m s a.
Proof.
  intros KC CH KT s a NW. destruct st as [L seen]. unfold check_act in CH.
  destruct (negb _) eqn:F in CH; [discriminate|]. bools. specialize (KC t m m' H0 KT).
  destruct t as [ns packed reads writes scratch ip|n src dsts|n parts dst]; cbn [owes] in KC.
  - destruct (_ && _) eqn:B in CH; [|discriminate]. bools. destruct KC as [_ [FR _]]. apply FR. intros w Iw CV.
    specialize (H3 w Iw). unfold may_write in H3. unfold covers in CV. destruct (at_ w); [tauto|].
    destruct CV as [-> _]. congruence.
  - subst. auto.
  - destruct (at_ dst) as [|s' o l] eqn:Ad; [discriminate|]. destruct (joins (nop n)) as [ls|] eqn:JN; [|discriminate].
    destruct (_ && _) eqn:B in CH; [|discriminate]. bools. destruct KC as [_ [FR _]]. apply FR. intros w Iw CV.
    unfold join_targets in Iw. rewrite Ad, JN in Iw. apply in_map_iff in Iw. destruct Iw as (u & <- & Iu).
    apply filter_In in Iu. destruct (targets_after _ _ _ _ _ (proj1 Iu)) as (o' & l' & A & _).
    unfold covers in CV. rewrite A in CV. destruct CV as [-> _]. unfold may_write in H3. rewrite Ad in H3. congruence.
Qed.
Lemma check_readonly C K consts ts : forall st st' m m', keeps_contract C K -> check consts st ts = Some st' ->
  run K ts m m' -> forall s a, writable s = false -> bytes m' s a = bytes m s a.
Proof.
  induction ts as [|t ts IH]; cbn; intros st st' m m' KC CH R s a NW; inversion R; subst; auto.
  destruct (check_step consts st t) as [st1|] eqn:E; [|discriminate].
  rewrite (IH _ _ _ _ KC CH H4 s a NW). unfold check_step in E.
  destruct (check_act consts st (act t)) eqn:E'; [|discriminate]. eapply check_act_readonly; eauto.
Qed.
Theorem inputs_untouched C p K m m' : valid p = true -> keeps_contract C K -> run K (steps p) m m' ->
  forall s a, writable s = false -> bytes m' s a = bytes m s a.
Proof.
  unfold valid. intros V KC R. destruct (check _ _ _) eqn:CH; [|discriminate]. eapply check_readonly; eauto.
Qed.

(* Inputs and constants lie where no step may write. *)
Definition arrives (p : plan) : bool :=
  forallb (fun w => match at_ w with Own => true | At s _ _ => negb (writable s) end) (inputs p).
(* So they hold their values throughout. *)
Theorem arrives_sound C p K m m' : valid p = true -> arrives p = true -> keeps_contract C K -> run K (steps p) m m' ->
  forall w, In w (inputs p) -> at_ w <> Own -> read m' w = read m w.
Proof.
  intros V A KC R w Iw NO. unfold arrives in A. bools. specialize (A w Iw). unfold Memory.read. destruct (at_ w) as [|s o l]; [congruence|].
  bools. apply peek_ext. intros a _. eapply inputs_untouched; eauto.
Qed.

(* EVERY OUTPUT FILLS ITS BUFFER, or has memory of its own. *)
Definition delivered (room : positive -> N) (p : plan) : bool :=
  forallb (fun o => match at_ (fst o) with
                    | Own => true
                    | At s off l => Pos.eqb s (snd o) && (off =? 0) && (l =? room s)
                    end) (outputs p).
Theorem delivered_sound room C p K e m m' : valid p = true -> delivered room p = true -> keeps_contract C K ->
  loaded C p e m -> run K (steps p) m m' -> forall w s, In (w, s) (outputs p) -> at_ w <> Own ->
  run_nodes (graph_of p) e (wid w) = Some (peek byte m' s 0 (room s)).
Proof.
  intros V D KC LD R w s Iw NO. rewrite (valid_sound C p K e m m' V KC LD R w s Iw). unfold delivered in D. bools.
  specialize (D (w, s) Iw). cbn in D. f_equal. unfold Memory.read. destruct (at_ w); [congruence|]. bools. subst. auto.
Qed.

(* ---- fewer outputs ------------------------------------------------------------------------------ *)

(* A run for some of the outputs leaves out steps. `keep` chooses those that run; what they need comes
   from steps that run. *)
Section Subset.
Variable keep : step -> bool.
Variable p : plan.
Definition kept_id (x : id) : Prop :=
  In x (constants p ++ map wid (inputs p)) \/
  exists t, In t (steps p) /\ keep t = true /\ In x (outs (nodes_of (act t))).
Definition needs (t : action) : list id :=
  match t with
  | Exec _ packed reads _ _ _ => packed ++ map wid reads
  | View n src _ => wid src :: nins n
  | Join _ parts _ => map wid parts
  end.
Hypothesis keep_closed : forall t x, In t (steps p) -> keep t = true -> In x (needs (act t)) -> kept_id x.

Lemma fresh_less xs : forall s s', (forall x, knows s' x = true -> knows s x = true) -> fresh xs s = true -> fresh xs s' = true.
Proof.
  induction xs as [|x xs IH]; cbn; intros s s' H F; auto. bools. apply andb_true_intro. split.
  - apply negb_true_iff. destruct (knows s' x) eqn:K; auto. apply H in K. congruence.
  - eapply IH; [|eauto]. intros y Ky. apply knows_note in Ky. apply knows_note. destruct Ky; auto.
Qed.
(* The smaller run's state, against the whole one's. *)
Definition follows (st st' : state) : Prop :=
  (forall w, in_live w (fst st) -> kept_id (wid w) -> in_live w (fst st')) /\
  (forall x, knows (snd st') x = true -> knows (snd st) x = true) /\
  (forall x, knows (snd st) x = true -> kept_id x -> knows (snd st') x = true).
Lemma follows_keep consts st st' t st1 : In t (steps p) -> keep t = true -> follows st st' ->
  check_step consts st t = Some st1 -> exists st1', check_step consts st' t = Some st1' /\ follows st1 st1'.
Proof.
  intros It Kt (FL & FA & FB) CH. unfold check_step in *.
  destruct (check_act consts st (act t)) as [[L1 seen1]|] eqn:E; [|discriminate]. injection CH as <-.
  destruct st as [L seen], st' as [L' seen']. cbn [fst snd] in *.
  assert (NEED : forall x, In x (needs (act t)) -> kept_id x) by (intros; eapply keep_closed; eauto).
  assert (MADE : forall x, In x (outs (nodes_of (act t))) -> kept_id x).
  { intros x I. right. exists t. auto. }
  assert (LV : forall w, is_live w L = true -> kept_id (wid w) -> is_live w L' = true).
  { intros w A B. apply is_live_spec. apply FL; auto. apply is_live_spec. auto. }
  unfold check_act in *. destruct (negb _) eqn:F in E; [discriminate|]. bools.
  assert (F' : fresh (outs (nodes_of (act t))) seen' = true) by (eapply fresh_less; eauto).
  assert (H1' : forallb has_outputs (nodes_of (act t)) = true) by (apply forallb_forall; auto).
  rewrite F', H1', H0. cbn [negb andb].
  assert (KN : forall s x, knows (fold_left note (outs (nodes_of (act t))) s) x = true <->
               In x (outs (nodes_of (act t))) \/ knows s x = true) by (intros; apply knows_notes).
  assert (SEEN : (forall x, knows (fold_left note (outs (nodes_of (act t))) seen') x = true ->
                            knows (fold_left note (outs (nodes_of (act t))) seen) x = true) /\
                 (forall x, knows (fold_left note (outs (nodes_of (act t))) seen) x = true -> kept_id x ->
                            knows (fold_left note (outs (nodes_of (act t))) seen') x = true)).
  { split; intros x; rewrite !KN; intuition. }
  assert (DONE : forall A A', (forall w, in_live w A -> kept_id (wid w) -> in_live w A') ->
    follows (fold_left forget (gone t) A, fold_left note (outs (nodes_of (act t))) seen)
            (fold_left forget (gone t) A', fold_left note (outs (nodes_of (act t))) seen')).
  { intros A A' H2. split; [|exact SEEN]. cbn [fst]. intros w. rewrite !in_live_forgets. intros [X Y] Z. auto. }
  destruct (act t) as [ns packed reads writes scratch ip|n src dsts|n parts dst]; cbn [nodes_of needs] in *.
  - destruct (_ && _) eqn:B in E; [|discriminate]. injection E as <- <-. bools.
    assert (R : forallb (fun r => is_live r L') reads = true).
    { apply forallb_forall. intros r Ir. apply LV; auto. apply NEED. apply in_app_iff. right. apply in_map. auto. }
    assert (P : forallb (knows consts) packed = true) by (apply forallb_forall; auto).
    assert (Q : forallb (fun w => has_id (wid w) (outs ns)) writes = true) by (apply forallb_forall; auto).
    assert (S : forallb may_write (writes ++ scratch) = true) by (apply forallb_forall; auto).
    rewrite R, P, H5, Q, S. cbn [andb]. eexists. split; eauto. apply DONE. intros w. rewrite !in_live_adds, !in_live_kills.
    intros [X|[X Y]] Z; auto.
  - destruct (_ && _) eqn:B in E; [|discriminate]. injection E as <- <-. bools.
    destruct (nins n) as [|x xs] eqn:NI; [discriminate|]. bools. subst x.
    assert (S : is_live src L' = true) by (apply LV; auto; apply NEED; cbn; auto).
    assert (X : forallb (knows seen') xs = true).
    { apply forallb_forall. intros x Ix. apply FB; auto. apply NEED. cbn. auto. }
    assert (Q : forallb (piece_fits n src) dsts = true) by (apply forallb_forall; auto).
    rewrite S, Pos.eqb_refl, X, Q. cbn [andb]. eexists. split; eauto. apply DONE. intros w. rewrite !in_live_adds.
    intros [Y|Y] Z; auto.
  - destruct (at_ dst); [discriminate|]. destruct (joins (nop n)); [|discriminate].
    destruct (_ && _) eqn:B in E; [|discriminate]. injection E as <- <-. bools.
    assert (R : forallb (fun r => is_live r L') parts = true).
    { apply forallb_forall. intros r Ir. apply LV; auto. apply NEED. apply in_map. auto. }
    rewrite R, H7, H6, H5, H3. replace (sum l =? len) with true by (symmetry; apply N.eqb_eq; auto). cbn [andb].
    eexists. split; eauto. apply DONE. intros w. rewrite !in_live_add, !in_live_kills. intros [X|[X Y]] Z; auto.
Qed.
Lemma follows_skip consts st st' t st1 : In t (steps p) -> keep t = false -> follows st st' ->
  (forall x, In x (outs (nodes_of (act t))) -> ~ kept_id x) ->
  check_step consts st t = Some st1 -> follows st1 st'.
Proof.
  intros It Kt (FL & FA & FB) NK CH. unfold check_step in CH.
  destruct (check_act consts st (act t)) as [[L1 seen1]|] eqn:E; [|discriminate]. injection CH as <-.
  destruct st as [L seen], st' as [L' seen']. cbn [fst snd] in *. unfold check_act in E.
  destruct (negb _) eqn:F in E; [discriminate|]. bools.
  assert (SEEN : (forall x, knows seen' x = true -> knows (fold_left note (outs (nodes_of (act t))) seen) x = true) /\
                 (forall x, knows (fold_left note (outs (nodes_of (act t))) seen) x = true -> kept_id x -> knows seen' x = true)).
  { split; intros x; rewrite knows_notes; [auto|]. intros [I|I] K; auto. exfalso. eapply NK; eauto. }
  assert (DONE : forall A, (forall w, in_live w A -> kept_id (wid w) -> in_live w L) ->
    follows (fold_left forget (gone t) A, fold_left note (outs (nodes_of (act t))) seen) (L', seen')).
  { intros A HA. split; [|exact SEEN]. cbn [fst]. intros w Iw Kw. apply in_live_forgets in Iw. apply FL; auto.
    apply HA; tauto. }
  destruct (act t) as [ns packed reads writes scratch ip|n src dsts|n parts dst]; cbn [nodes_of] in *.
  - destruct (_ && _) eqn:B in E; [|discriminate]. injection E as <- <-. bools. apply DONE. intros w.
    rewrite in_live_adds, in_live_kills. intros [I|[I _]] K; auto. exfalso. eapply NK; [apply has_id_spec|]; eauto.
  - destruct (_ && _) eqn:B in E; [|discriminate]. injection E as <- <-. bools. apply DONE. intros w.
    rewrite in_live_adds. intros [I|I] K; auto. exfalso. specialize (H3 w I). unfold piece_fits in H3.
    destruct (index (wid w) (nouts n)) eqn:IX; [|discriminate]. apply (NK (wid w)); auto. cbn. rewrite app_nil_r.
    eapply index_Some; eauto.
  - destruct (at_ dst); [discriminate|]. destruct (joins (nop n)); [|discriminate].
    destruct (_ && _) eqn:B in E; [|discriminate]. injection E as <- <-. bools. apply DONE. intros w.
    rewrite in_live_add, in_live_kills. intros [->|[I _]] K; auto. exfalso. apply ids_eqb_eq in H6.
    apply (NK (wid dst)); auto. cbn. rewrite H6. cbn. auto.
Qed.
Lemma check_follows consts ts : forall st st' st1, incl ts (steps p) -> follows st st' ->
  (forall t x, In t ts -> keep t = false -> In x (outs (nodes_of (act t))) -> ~ kept_id x) ->
  check consts st ts = Some st1 -> exists st1', check consts st' (filter keep ts) = Some st1' /\ follows st1 st1'.
Proof.
  induction ts as [|t ts IH]; cbn [check filter]; intros st st' st1 I FO NK CH.
  - injection CH as <-. exists st'. auto.
  - destruct (check_step consts st t) as [st2|] eqn:E; [|discriminate].
    assert (It : In t (steps p)) by (apply I; cbn; auto). assert (I' : incl ts (steps p)) by (intros u Iu; apply I; cbn; auto).
    assert (NK' : forall t x, In t ts -> keep t = false -> In x (outs (nodes_of (act t))) -> ~ kept_id x).
    { intros u x Iu. apply NK. cbn. auto. }
    destruct (keep t) eqn:K.
    + destruct (follows_keep _ _ _ _ _ It K FO E) as (st2' & E2 & FO2). cbn [check]. rewrite E2. eapply IH; eauto.
    + apply (IH st2 st' st1); auto. eapply follows_skip; eauto. intros x Ix. eapply NK; eauto. cbn. auto.
Qed.
(* SUBSETS STAY VALID. *)
Theorem subset_valid wanted : valid p = true -> incl wanted (outputs p) ->
  (forall w s, In (w, s) wanted -> kept_id (wid w)) ->
  (forall t x, In t (steps p) -> keep t = false -> In x (outs (nodes_of (act t))) -> ~ kept_id x) ->
  valid (Plan (constants p) (inputs p) (filter keep (steps p)) wanted) = true.
Proof.
  unfold valid. intros V I KW NK. destruct (check _ _ _) as [[L seen]|] eqn:CH; [|discriminate].
  destruct (check_follows _ _ _ (start p) _ (fun x H => H) (conj (fun w A _ => A) (conj (fun x A => A) (fun x A _ => A))) NK CH)
    as ([L' seen'] & E & FL & _).
  cbn [constants inputs steps outputs]. change (start _) with (start p).
  change (const_ids _) with (const_ids p). rewrite E. apply forallb_forall. intros [w s] Iw. cbn [fst] in *.
  apply is_live_spec. apply FL; [|eapply KW; eauto]. bools. apply is_live_spec. apply (V (w, s)). auto.
Qed.
End Subset.

(* ---- the contract can be kept ------------------------------------------------------------------- *)

(* Nothing above is empty talk: there are kernels that keep the contract, since each step's writes are
   apart from one another. The machine computes all results first and stores them then. *)
Variable zero : byte.
Definition store (m : mem) (w : wire) (v : value) : mem :=
  match at_ w with
  | Own => M (bytes m) (fun x => if Pos.eqb x (wid w) then v else own m x)
  | At s o l => M (fun s' a => if Pos.eqb s' s && (o <=? a) && (a <? o + l)
                               then nth (N.to_nat (a - o)) v zero else bytes m s' a) (own m)
  end.
Definition sized (w : wire) (v : value) : Prop := match at_ w with Own => True | At _ _ l => bytes_of v = l end.
Lemma map_nth_seq (v : value) : map (fun i => nth i v zero) (seq 0 (length v)) = v.
Proof. induction v as [|x v IH]; auto. cbn [length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH. Qed.
Lemma read_store m w v : sized w v -> read (store m w v) w = v.
Proof.
  unfold sized, Memory.read, store. destruct (at_ w) as [|s o l]; cbn; intros H; [rewrite Pos.eqb_refl; auto|].
  unfold peek. unfold bytes_of in H. replace (N.to_nat l) with (length v) by lia.
  rewrite <- (map_nth_seq v) at 2. apply map_ext_in. intros i I. apply in_seq in I. cbn. rewrite Pos.eqb_refl.
  rewrite (proj2 (N.leb_le _ _)) by lia. rewrite (proj2 (N.ltb_lt _ _)) by lia. cbn. f_equal. lia.
Qed.
Lemma frame_store m w v ws : In w ws -> frame ws m (store m w v).
Proof.
  intros I. split; unfold store.
  - intros s a H. specialize (H w I). unfold covers in H. destruct (at_ w) as [|s' o l]; cbn; auto.
    destruct (_ && _) eqn:E; auto. bools. exfalso. apply H. auto.
  - intros x H. specialize (H w I). destruct (at_ w); cbn; auto. destruct (Pos.eqb_spec x (wid w)); auto.
    exfalso. apply H; auto.
Qed.
Definition stores (m : mem) (l : list (wire * value)) : mem := fold_left (fun m wv => store m (fst wv) (snd wv)) l m.
Lemma stores_frame l : forall m, frame (map fst l) m (stores m l).
Proof.
  induction l as [|[w v] l IH]; cbn; intros m; [apply frame_refl|].
  eapply frame_trans; [apply (frame_store m w v); left; auto|]. eapply frame_incl; [|apply IH]. intros x Hx. right. auto.
Qed.
Lemma stores_read l : forall m, all_pairs disjoint (map fst l) = true -> (forall w v, In (w, v) l -> sized w v) ->
  forall w v, In (w, v) l -> read (stores m l) w = v.
Proof.
  induction l as [|[w v] l IH]; cbn; intros m P S x y I; [tauto|]. bools. destruct I as [E|I].
  - injection E as <- <-. fold (stores (store m w v) l). rewrite (frame_read _ (map fst l) (store m w v)).
    + apply read_store; auto.
    + apply stores_frame.
    + intros u Iu. rewrite disjoint_sym. auto.
  - apply IH; auto.
Qed.
Lemma all_pairs_app_l a : forall b, all_pairs disjoint (a ++ b) = true -> all_pairs disjoint a = true.
Proof.
  induction a as [|w a IH]; cbn; intros b H; auto. bools. apply andb_true_intro. split; eauto.
  apply forallb_forall. intros x Ix. apply H. apply in_app_iff. auto.
Qed.

(* A machine for steps that run kernels. *)
Definition result (C : env) (ns : list node) packed reads (m : mem) (w : wire) : value :=
  match run_nodes ns (env_of C m packed reads) (wid w) with Some v => v | None => [] end.
Theorem contract_can_be_kept C ns packed reads writes scratch ip m :
  may_call (Exec ns packed reads writes scratch ip) = true ->
  (forall w, In w writes -> exists v, run_nodes ns (env_of C m packed reads) (wid w) = Some v /\ sized w v) ->
  exists m', owes C (Exec ns packed reads writes scratch ip) m m'.
Proof.
  intros MC T. set (l := map (fun w => (w, result C ns packed reads m w)) writes). exists (stores m l).
  assert (E : map fst l = writes) by (unfold l; rewrite map_map; cbn; apply map_id). cbn in MC. bools. cbn. split.
  - intros w Iw. destruct (T w Iw) as (v & V & S). rewrite V. f_equal. symmetry. apply stores_read.
    + rewrite E. eapply all_pairs_app_l; eauto.
    + intros x y Ix. apply in_map_iff in Ix. destruct Ix as (z & Z & Iz). injection Z as <- <-.
      destruct (T z Iz) as (v' & V' & S'). unfold result. rewrite V'. auto.
    + apply in_map_iff. exists w. unfold result. rewrite V. auto.
  - eapply frame_incl; [|apply stores_frame]. rewrite E. intros x Ix. apply in_app_iff. auto.
Qed.

End Plan.
