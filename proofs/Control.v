(* Graphs within graphs: functions, If, Loop and Scan by the meaning of their bodies.

   A body is a graph of its own: its inputs are the operator's formal inputs and then the outer wires
   that it uses. *)
From Coq Require Import List PArith Lia.
From Sardonyx Require Import Graph.
Import ListNotations.

Record graph (op : Type) := Graph_ { gins : list id; gnodes : list (node op); gouts : list id }.
Arguments Graph_ {op}. Arguments gins {op}. Arguments gnodes {op}. Arguments gouts {op}.

(* Loop: whether a trip count and a first condition are given, and how many values are carried. Scan:
   how many states. *)
Inductive control := Call | If | Loop (has_trips has_condition : bool) (carried : nat) | Scan (states : nat).

Section Control.
Variables prim value : Type.
Variable none : value.
Variable psem : prim -> list value -> list value.
(* A condition, a trip count and an iteration's number as tensors; rows of the scanned inputs; what was
   scanned, row by row, as tensors. *)
Variable truth : value -> bool.
Variable condition : bool -> value.
Variable trips : value -> nat.
Variable number : nat -> value.
Variable rows : list value -> list (list value).
Variable stacked : list (list value) -> list value.
(* How often a Loop without a trip count may go round; a run that wants more ends with an error. *)
Variable limit : nat.

Definition meaning := list value -> list value.
Fixpoint loop (fuel i : nat) (go : bool) (carried captured : list value) (scanned : list (list value)) (body : meaning)
  : list value * list (list value) :=
  match fuel with
  | O => (carried, scanned)
  | S fuel =>
      if go then
        let r := body (number i :: condition go :: carried ++ captured) in
        let k := length carried in
        loop fuel (S i) (truth (hd none r)) (firstn k (tl r)) captured (scanned ++ [skipn k (tl r)]) body
      else (carried, scanned)
  end.
Fixpoint scan (rs : list (list value)) (states captured : list value) (scanned : list (list value)) (body : meaning)
  : list value * list (list value) :=
  match rs with
  | [] => (states, scanned)
  | r :: rs =>
      let s := body (states ++ r ++ captured) in
      let k := length states in
      scan rs (firstn k s) captured (scanned ++ [skipn k s]) body
  end.
Definition no_body : meaning := fun _ => [].
Definition csem (c : control) (bodies : list meaning) (vs : list value) : list value :=
  match c with
  | Call => nth 0 bodies no_body vs
  | If => if truth (hd none vs) then nth 0 bodies no_body (tl vs) else nth 1 bodies no_body (tl vs)
  | Loop has_trips has_condition carried =>
      let n := if has_trips then trips (hd none vs) else limit in
      let vs := if has_trips then tl vs else vs in
      let go := if has_condition then truth (hd none vs) else true in
      let vs := if has_condition then tl vs else vs in
      let '(last, scanned) := loop n 0 go (firstn carried vs) (skipn carried vs) [] (nth 0 bodies no_body) in
      last ++ stacked scanned
  | Scan states =>
      let '(last, scanned) := scan (rows (skipn states vs)) (firstn states vs) [] [] (nth 0 bodies no_body) in
      last ++ stacked scanned
  end.

Inductive op := Prim (k : prim) | Control (c : control) (bodies : list (graph op)).

Definition bind (ins : list id) (vs : list value) : env value := fun x =>
  match index x ins with Some k => nth_error vs k | None => None end.
Definition value_of (e : env value) (x : id) : value := match e x with Some v => v | None => none end.
Fixpoint sem (o : op) : list value -> list value :=
  match o with
  | Prim k => psem k
  | Control c bodies =>
      csem c (map (fun g vs => map (value_of (fold_left (run_node op value none sem) (gnodes g) (bind (gins g) vs))) (gouts g)) bodies)
  end.
(* What a graph computes. *)
Definition apply (g : graph op) : meaning := fun vs =>
  map (value_of (run_nodes op value none sem (gnodes g) (bind (gins g) vs))) (gouts g).
Lemma sem_control c bodies : sem (Control c bodies) = csem c (map apply bodies).
Proof. reflexivity. Qed.

(* Control flow sees nothing of a body but its results. *)
Lemma loop_ext f g : (forall vs, f vs = g vs) -> forall fuel i go carried captured scanned,
  loop fuel i go carried captured scanned f = loop fuel i go carried captured scanned g.
Proof.
  intros H. induction fuel as [|fuel IH]; cbn; intros; auto. destruct go; auto. rewrite H. apply IH.
Qed.
Lemma scan_ext f g : (forall vs, f vs = g vs) -> forall rs states captured scanned,
  scan rs states captured scanned f = scan rs states captured scanned g.
Proof. intros H. induction rs as [|r rs IH]; cbn; intros; auto. rewrite H. apply IH. Qed.
Lemma csem_ext c fs gs : Forall2 (fun f g => forall vs, f vs = g vs) fs gs -> forall vs, csem c fs vs = csem c gs vs.
Proof.
  intros H vs. assert (N : forall k vs, nth k fs no_body vs = nth k gs no_body vs).
  { intros k. revert fs gs H. induction k; intros fs gs H; inversion H; subst; cbn; auto. }
  destruct c; cbn [csem].
  - apply N.
  - rewrite !N. auto.
  - rewrite (loop_ext _ _ (N 0)). auto.
  - rewrite (scan_ext _ _ (N 0)). auto.
Qed.

(* IF runs one branch. *)
Theorem if_runs_one_branch t e c vs :
  sem (Control If [t; e]) (c :: vs) = if truth c then apply t vs else apply e vs.
Proof. reflexivity. Qed.
(* LOOP: nothing to do, or the body once and then the rest. *)
Theorem loop_unrolls fuel i carried captured scanned body :
  loop (S fuel) i true carried captured scanned body =
  let r := body (number i :: condition true :: carried ++ captured) in
  loop fuel (S i) (truth (hd none r)) (firstn (length carried) (tl r)) captured
       (scanned ++ [skipn (length carried) (tl r)]) body.
Proof. reflexivity. Qed.
Theorem loop_stops fuel i carried captured scanned body :
  loop fuel i false carried captured scanned body = (carried, scanned).
Proof. destruct fuel; reflexivity. Qed.

(* ---- functions ----------------------------------------------------------------------------------- *)

Variable copy : prim.
Hypothesis copy_sem : forall v, psem copy [v] = [v].
Notation run_nodes := (run_nodes op value none sem).
Notation run_node := (run_node op value none sem).

Definition renamed (rho : id -> id) (n : node op) : node op := Node (nop n) (map rho (nins n)) (map rho (nouts n)).
Definition copies (xs rs : list id) : list (node op) := map (fun p => Node (Prim copy) [fst p] [snd p]) (combine xs rs).
(* The function's nodes in the place of the call, under new names, and its outputs copied. *)
Definition inlined (f : graph op) (rho : id -> id) (results : list id) : list (node op) :=
  map (renamed rho) (gnodes f) ++ copies (map rho (gouts f)) results.

Lemma index_map rho xs : forall x, (forall y, In y xs -> rho y = rho x -> y = x) -> index (rho x) (map rho xs) = index x xs.
Proof.
  induction xs as [|y ys IH]; cbn; intros x H; auto. destruct (Pos.eqb_spec x y) as [->|N].
  - rewrite Pos.eqb_refl. auto.
  - destruct (Pos.eqb_spec (rho x) (rho y)) as [E|E]; [exfalso; apply N; symmetry; apply H; auto|].
    rewrite IH by auto. auto.
Qed.
Lemma vals_map rho (e e0 : env value) xs : (forall x, In x xs -> e (rho x) = e0 x) -> vals value e (map rho xs) = vals value e0 xs.
Proof. induction xs as [|x xs IH]; cbn; intros H; auto. rewrite H, IH; auto. Qed.
Lemma renamed_run rho ns : forall (D : id -> Prop) e e0, closed op ns D -> (forall y, D y -> e (rho y) = e0 y) ->
  (forall y z, In y (outs ns) -> D z \/ In z (outs ns) -> rho y = rho z -> y = z) ->
  forall y, D y \/ In y (outs ns) -> run_nodes (map (renamed rho) ns) e (rho y) = run_nodes ns e0 y.
Proof.
  induction ns as [|n ns IH]; intros D e e0 C A INJ y I.
  - cbn in I. cbn. apply A. tauto.
  - destruct C as [C1 C2]. change (outs (n :: ns)) with (nouts n ++ outs ns) in *.
    assert (V : vals value e (map rho (nins n)) = vals value e0 (nins n)) by (apply vals_map; auto).
    cbn [map fold_left Graph.run_nodes]. change (run_nodes (map (renamed rho) ns) (run_node e (renamed rho n)) (rho y) =
                                                 run_nodes ns (run_node e0 n) y).
    apply (IH (fun x => In x (nouts n) \/ D x)); auto.
    + intros z Z. unfold Graph.run_node. cbn [renamed nop nins nouts]. rewrite index_map.
      * rewrite V. destruct (index z (nouts n)) eqn:IX; auto. apply index_None in IX. apply A. tauto.
      * intros w W E. apply INJ; auto; [apply in_or_app; auto|]. rewrite in_app_iff. tauto.
    + intros w z W Z. apply INJ; rewrite in_app_iff; tauto.
    + rewrite in_app_iff in I. tauto.
Qed.
Lemma copies_run xs : forall rs e, length xs = length rs -> NoDup rs -> (forall x, In x xs -> defined value e x /\ ~ In x rs) ->
  (forall k x, nth_error rs k = Some x -> run_nodes (copies xs rs) e x = match nth_error xs k with Some y => e y | None => None end) /\
  (forall x, ~ In x rs -> run_nodes (copies xs rs) e x = e x).
Proof.
  induction xs as [|y ys IH]; intros [|r rs] e L N H; try discriminate.
  - split; [intros [|k] x E; discriminate|auto].
  - inversion N; subst. cbn in L. change (copies (y :: ys) (r :: rs)) with (Node (Prim copy) [y] [r] :: copies ys rs).
    cbn [Graph.run_nodes fold_left]. set (e1 := run_node e (Node (Prim copy) [y] [r])).
    assert (E1 : forall x, x <> r -> e1 x = e x).
    { intros x X. apply run_node_other. cbn. intros [Y|[]]. congruence. }
    assert (ER : e1 r = e y).
    { unfold e1, Graph.run_node. cbn. rewrite Pos.eqb_refl. destruct (H y (or_introl eq_refl)) as [Dy _].
      unfold defined in Dy. destruct (e y) eqn:EY; [|congruence]. cbn. rewrite copy_sem. auto. }
    destruct (IH rs e1) as [A B]; [lia|auto| |].
    + intros x X. destruct (H x (or_intror X)) as [Dx Nx]. cbn in Nx. split; [|tauto]. unfold defined. rewrite E1; [auto|].
      intros ->. apply Nx. auto.
    + split.
      * intros [|k] x E; cbn in E.
        -- injection E as <-. cbn [nth_error]. change (run_nodes (copies ys rs) e1 r = e y). rewrite B by auto. auto.
        -- cbn [nth_error]. change (run_nodes (copies ys rs) e1 x = match nth_error ys k with Some z => e z | None => None end).
           rewrite (A k x E). destruct (nth_error ys k) as [z|] eqn:Z; auto. apply E1. intros ->.
           apply nth_error_In in Z. destruct (H r (or_intror Z)) as [_ Nx]. apply Nx. cbn. auto.
      * intros x X. cbn in X. change (run_nodes (copies ys rs) e1 x = e x). rewrite B by tauto. apply E1. intros ->. tauto.
Qed.

(* The names that the function's inner wires get belong to nobody else. *)
Record fit (f : graph op) (rho : id -> id) (args results : list id) (hidden : id -> Prop) : Prop := {
  fit_closed : closed op (gnodes f) (fun x => In x (gins f));
  fit_outs : forall x, In x (gouts f) -> In x (gins f) \/ In x (outs (gnodes f));
  fit_ins : NoDup (gins f);
  fit_args : map rho (gins f) = args;
  fit_hidden : forall x, In x (outs (gnodes f)) -> hidden (rho x);
  fit_seen : forall x, In x args \/ In x results -> ~ hidden x;
  fit_one : forall x y, In x (outs (gnodes f)) -> In y (outs (gnodes f)) -> rho x = rho y -> x = y;
  fit_results : NoDup results /\ length (gouts f) = length results;
  fit_no_echo : forall x, In x results -> ~ In x args
}.
Lemma bind_nth ins : forall vs k x v, NoDup ins -> nth_error ins k = Some x -> nth_error vs k = Some v -> bind ins vs x = Some v.
Proof.
  unfold bind. intros vs k x v N E V. assert (IX : index x ins = Some k); [|rewrite IX; auto].
  clear V. revert k E. induction ins as [|y ys IH]; intros [|k] E; cbn in E; try discriminate; cbn.
  - injection E as ->. rewrite Pos.eqb_refl. auto.
  - inversion N; subst. destruct (Pos.eqb_spec x y) as [->|X]; [exfalso; apply H1; eapply nth_error_In; eauto|].
    rewrite (IH H2 k E). auto.
Qed.
Lemma vals_nth (e : env value) xs : forall vs k x, vals value e xs = Some vs -> nth_error xs k = Some x ->
  exists v, nth_error vs k = Some v /\ e x = Some v.
Proof.
  induction xs as [|y ys IH]; intros vs [|k] x V E; cbn in *; try discriminate;
    destruct (e y) eqn:Y; try discriminate; destruct (vals value e ys) eqn:W; try discriminate; injection V as <-.
  - injection E as <-. eauto.
  - destruct (IH _ k x eq_refl E) as (u & A & B). eauto.
Qed.
Lemma index_nth xs : forall x k, index x xs = Some k -> nth_error xs k = Some x.
Proof.
  induction xs as [|y ys IH]; cbn; intros x k E; [discriminate|]. destruct (Pos.eqb_spec x y) as [->|X].
  - injection E as <-. auto.
  - destruct (index x ys) eqn:IX; [|discriminate]. injection E as <-. cbn. auto.
Qed.

(* A call and the function's body in its place define the same tensors, apart from hidden ones. *)
Theorem inlining_keeps_meaning f rho args results hidden e : fit f rho args results hidden ->
  (forall x, In x args -> defined value e x) ->
  forall x, ~ hidden x ->
  run_nodes [Node (Control Call [f]) args results] e x = run_nodes (inlined f rho results) e x.
Proof.
  intros F DA x NH. destruct (vals_defined value e args DA) as [vs V]. unfold inlined. rewrite run_nodes_app.
  set (e1 := run_nodes (map (renamed rho) (gnodes f)) e).
  assert (HID : forall y, In y (outs (map (renamed rho) (gnodes f))) -> hidden y).
  { intros y Y. apply in_outs in Y. destruct Y as (n & In_ & Y). apply in_map_iff in In_. destruct In_ as (m & <- & Im).
    cbn in Y. apply in_map_iff in Y. destruct Y as (z & <- & Z). apply (fit_hidden _ _ _ _ _ F). apply in_outs. eauto. }
  assert (OTHER : forall y, ~ hidden y -> e1 y = e y).
  { intros y Y. apply run_nodes_other. intros J. apply Y. auto. }
  assert (LV : length vs = length args).
  { clear -V. revert vs V. induction args as [|a args IH]; cbn; intros vs V; [injection V as <-; auto|].
    destruct (e a); [|discriminate]. destruct (vals value e args); [|discriminate]. injection V as <-. cbn. f_equal. auto. }
  assert (BIND : forall y, In y (gins f) -> e (rho y) = bind (gins f) vs y).
  { intros y Y. apply In_nth_error in Y. destruct Y as [k K].
    assert (KA : nth_error args k = Some (rho y)) by (rewrite <- (fit_args _ _ _ _ _ F); apply map_nth_error; auto).
    destruct (vals_nth _ _ _ _ _ V KA) as (v & A & B). rewrite B. symmetry. eapply bind_nth; eauto.
    apply (fit_ins _ _ _ _ _ F). }
  assert (BODY : forall y, In y (gins f) \/ In y (outs (gnodes f)) -> e1 (rho y) = run_nodes (gnodes f) (bind (gins f) vs) y).
  { intros y Y. apply (renamed_run rho (gnodes f) (fun x => In x (gins f))); auto.
    - apply (fit_closed _ _ _ _ _ F).
    - intros a b A [B|B] E; [|apply (fit_one _ _ _ _ _ F); auto]. exfalso.
      apply (fit_seen _ _ _ _ _ F (rho b)); [|rewrite <- E; apply (fit_hidden _ _ _ _ _ F); auto].
      left. rewrite <- (fit_args _ _ _ _ _ F). apply in_map. auto. }
  destruct (fit_results _ _ _ _ _ F) as [NR LR].
  assert (DEF : forall y, In y (map rho (gouts f)) -> defined value e1 y /\ ~ In y results).
  { intros y Y. apply in_map_iff in Y. destruct Y as (z & <- & Z). apply (fit_outs _ _ _ _ _ F) in Z. split.
    - unfold defined. rewrite BODY by auto. apply (run_nodes_defined op value none sem (gnodes f) (fun x => In x (gins f))).
      + apply (fit_closed _ _ _ _ _ F).
      + intros w W. unfold defined. rewrite <- BIND by auto. apply DA. rewrite <- (fit_args _ _ _ _ _ F). apply in_map. auto.
      + tauto.
    - intros R. destruct Z as [Z|Z].
      + apply (fit_no_echo _ _ _ _ _ F (rho z)); auto. rewrite <- (fit_args _ _ _ _ _ F). apply in_map. auto.
      + apply (fit_seen _ _ _ _ _ F (rho z)); auto. apply (fit_hidden _ _ _ _ _ F). auto. }
  destruct (copies_run (map rho (gouts f)) results e1) as [CR CO]; auto. { rewrite map_length. auto. }
  cbn [Graph.run_nodes fold_left]. unfold Graph.run_node at 1. cbn [nouts nins nop].
  destruct (index x results) as [k|] eqn:IX.
  - rewrite V. cbn [option_map]. rewrite sem_control. cbn [csem map nth]. apply index_nth in IX.
    rewrite (CR k x IX). unfold apply.
    destruct (nth_error (gouts f) k) as [y|] eqn:Y.
    + rewrite (map_nth_error rho _ _ Y). assert (IY := nth_error_In _ _ Y).
      assert (DY := proj1 (DEF (rho y) (in_map rho _ _ IY))). rewrite BODY in * by (apply (fit_outs _ _ _ _ _ F); auto).
      erewrite nth_error_nth; [|apply map_nth_error; eauto]. unfold value_of.
      unfold defined in DY. rewrite BODY in DY by (apply (fit_outs _ _ _ _ _ F); auto).
      destruct (run_nodes (gnodes f) (bind (gins f) vs) y); congruence.
    + exfalso. apply nth_error_None in Y. assert (k < length results) by (apply nth_error_Some; congruence). lia.
  - rewrite CO by (apply index_None; auto). rewrite OTHER; auto.
Qed.
(* ... and so does whatever runs before and after, in which hidden names do not occur. *)
Theorem inlining_in_context before after f rho args results hidden e : fit f rho args results hidden ->
  (forall x, In x args -> defined value (run_nodes before e) x) ->
  (forall n x, In n after -> In x (nins n) -> ~ hidden x) ->
  forall x, ~ hidden x ->
  run_nodes (before ++ Node (Control Call [f]) args results :: after) e x =
  run_nodes (before ++ inlined f rho results ++ after) e x.
Proof.
  intros F DA NA x NX. rewrite !run_nodes_app. change (Node (Control Call [f]) args results :: after) with
    ([Node (Control Call [f]) args results] ++ after). rewrite run_nodes_app.
  assert (H : forall ns e1 e2, (forall n y, In n ns -> In y (nins n) -> ~ hidden y) -> (forall y, ~ hidden y -> e1 y = e2 y) ->
              forall y, ~ hidden y -> run_nodes ns e1 y = run_nodes ns e2 y).
  { induction ns as [|n ns IH]; cbn; intros e1 e2 N E y Y; auto. apply IH; auto.
    - intros m z M. apply N. auto.
    - intros z Z. unfold Graph.run_node. rewrite (vals_ext value e1 e2); [destruct (index z (nouts n)); auto|].
      intros w W. apply E. apply (N n); auto. }
  apply H; auto. intros y Y. apply (inlining_keeps_meaning f rho args results hidden); auto.
Qed.

End Control.
Arguments Prim {prim}. Arguments Control {prim}.
