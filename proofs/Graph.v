(* Graphs as the SONNX drafts mean them.

   A graph is a set of nodes over tensors. A tensor is undefined, then defined once. A node may run
   when all its inputs are defined; running it defines its outputs; on until nothing can run. This
   file says so, and proves that the order does not matter, that every execution ends, and that it
   defines every tensor exactly if the nodes can be listed so that each finds its inputs before it.

   What operators compute is left open (`sem`): nothing here depends on it. *)
From Coq Require Import List PArith Permutation Lia.
Import ListNotations.

Definition id := positive.

Record node (op : Type) := Node { nop : op; nins : list id; nouts : list id }.
Arguments Node {op}. Arguments nop {op}. Arguments nins {op}. Arguments nouts {op}.

Definition outs {op} (ns : list (node op)) : list id := flat_map nouts ns.

Fixpoint index (x : id) (xs : list id) : option nat :=
  match xs with
  | [] => None
  | y :: ys => if Pos.eqb x y then Some O else option_map S (index x ys)
  end.

Section Graph.
Variables op value : Type.
Variable none : value.  (* what stands beyond the last output of an operator *)
Variable sem : op -> list value -> list value.
Notation node := (node op).

(* A state: what every tensor is, if it is defined. *)
Definition env := id -> option value.
Definition defined (e : env) (x : id) : Prop := e x <> None.

Fixpoint vals (e : env) (xs : list id) : option (list value) :=
  match xs with
  | [] => Some []
  | x :: xs => match e x, vals e xs with Some v, Some vs => Some (v :: vs) | _, _ => None end
  end.
Definition run_node (e : env) (n : node) : env := fun x =>
  match index x (nouts n) with
  | Some k => option_map (fun vs => nth k (sem (nop n) vs) none) (vals e (nins n))
  | None => e x
  end.
Definition run_nodes (ns : list node) (e : env) : env := fold_left run_node ns e.

(* ---- execution --------------------------------------------------------------------------------- *)

Definition ready (s : env) (n : node) : Prop := forall x, In x (nins n) -> defined s x.
Definition unexecuted (s : env) (n : node) : Prop := forall x, In x (nouts n) -> s x = None.
(* From the inputs `e`, the nodes `trace` have been run, one after another; this is the state now. *)
Inductive reach (g : list node) (e : env) : list node -> env -> Prop :=
| reach_start s : (forall x, s x = e x) -> reach g e [] s
| reach_next trace s s' n : reach g e trace s -> In n g -> ready s n -> unexecuted s n ->
    (forall x, s' x = run_node s n x) -> reach g e (trace ++ [n]) s'.
Definition stuck (g : list node) (s : env) : Prop := forall n, In n g -> ready s n -> ~ unexecuted s n.

(* Every tensor has one writer, inputs have none, and every node has an output. *)
Definition named (g : list node) (D : id -> Prop) : Prop :=
  NoDup (outs g) /\ (forall x, D x -> ~ In x (outs g)) /\ forall n, In n g -> nouts n <> [].
(* As listed, every node finds its inputs in D or among the outputs of nodes before it. *)
Fixpoint closed (ns : list node) (D : id -> Prop) : Prop :=
  match ns with
  | [] => True
  | n :: ns => (forall x, In x (nins n) -> D x) /\ closed ns (fun x => In x (nouts n) \/ D x)
  end.
Definition well_formed (g : list node) (D : id -> Prop) : Prop :=
  named g D /\ exists g', Permutation g g' /\ closed g' D.

(* ---- lemmas ------------------------------------------------------------------------------------ *)

Lemma index_None x xs : index x xs = None <-> ~ In x xs.
Proof.
  induction xs as [|y ys IH]; cbn [index In]; [tauto|]. destruct (Pos.eqb_spec x y) as [E|E].
  - split; [discriminate|]. intros H. exfalso. apply H. auto.
  - destruct (index x ys); cbn.
    + split; [discriminate|]. intros H. exfalso. assert (Some n = None); [|discriminate].
      apply IH. intros J. apply H. auto.
    + split; auto. intros _ [J|J]; [congruence|]. apply (proj1 IH); auto.
Qed.
Lemma index_In x xs : In x xs -> exists k, index x xs = Some k.
Proof. intros I. destruct (index x xs) eqn:E; eauto. apply index_None in E. tauto. Qed.
Lemma index_Some x xs k : index x xs = Some k -> In x xs.
Proof. intros E. destruct (in_dec Pos.eq_dec x xs) as [i|i]; auto. apply index_None in i. congruence. Qed.

Lemma in_outs (g : list node) x : In x (outs g) <-> exists n, In n g /\ In x (nouts n).
Proof. unfold outs. rewrite in_flat_map. tauto. Qed.
Lemma outs_app (a b : list node) : outs (a ++ b) = outs a ++ outs b.
Proof. apply flat_map_app. Qed.

Lemma vals_ext e e' xs : (forall x, In x xs -> e x = e' x) -> vals e xs = vals e' xs.
Proof. induction xs as [|x xs IH]; cbn; intros H; auto. rewrite H, IH; auto. Qed.
Lemma vals_defined e xs : (forall x, In x xs -> defined e x) -> exists vs, vals e xs = Some vs.
Proof.
  induction xs as [|x xs IH]; cbn; intros H; eauto. destruct IH as [vs ->]; auto.
  specialize (H x (or_introl eq_refl)). unfold defined in H. destruct (e x); [eauto|congruence].
Qed.
Lemma vals_mono (s t : env) : (forall x v, s x = Some v -> t x = Some v) ->
  forall xs vs, vals s xs = Some vs -> vals t xs = Some vs.
Proof.
  intros H. induction xs as [|x xs IH]; cbn; intros vs E; auto. destruct (s x) eqn:X; [|discriminate].
  rewrite (H _ _ X). destruct (vals s xs); [|discriminate]. rewrite (IH _ eq_refl). auto.
Qed.

Lemma run_node_other e n x : ~ In x (nouts n) -> run_node e n x = e x.
Proof. intros H. unfold run_node. apply index_None in H. rewrite H. auto. Qed.
Lemma run_node_out e e' n x : In x (nouts n) -> vals e (nins n) = vals e' (nins n) ->
  run_node e n x = run_node e' n x.
Proof. intros I E. unfold run_node. destruct (index_In _ _ I) as [k ->]. rewrite E. auto. Qed.
Lemma run_node_defined e n x : ready e n -> In x (nouts n) -> defined (run_node e n) x.
Proof.
  intros R I. unfold defined, run_node. destruct (index_In _ _ I) as [k ->].
  destruct (vals_defined e (nins n) R) as [vs ->]. discriminate.
Qed.
Lemma run_node_ext e e' n : (forall x, e x = e' x) -> forall x, run_node e n x = run_node e' n x.
Proof.
  intros H x. unfold run_node. rewrite (vals_ext e e') by auto. destruct (index x (nouts n)); auto.
Qed.
Lemma run_nodes_ext ns : forall e e', (forall x, e x = e' x) -> forall x, run_nodes ns e x = run_nodes ns e' x.
Proof. induction ns as [|n ns IH]; cbn; intros; auto. apply IH. intros. apply run_node_ext. auto. Qed.
Lemma run_nodes_other ns : forall e x, ~ In x (outs ns) -> run_nodes ns e x = e x.
Proof.
  induction ns as [|n ns IH]; cbn; intros e x H; auto. rewrite in_app_iff in H.
  change (run_nodes ns (run_node e n) x = e x). rewrite IH by tauto. apply run_node_other. tauto.
Qed.
Lemma run_nodes_app a b e : run_nodes (a ++ b) e = run_nodes b (run_nodes a e).
Proof. apply fold_left_app. Qed.

Lemma closed_mono ns : forall D D' : id -> Prop, (forall x, D x -> D' x) -> closed ns D -> closed ns D'.
Proof.
  induction ns as [|n ns IH]; cbn; intros D D' H; auto. intros [A B]. split; auto.
  eapply IH; [|exact B]. cbn. intros x [?|?]; auto.
Qed.
Lemma closed_app a : forall b (D : id -> Prop),
  closed (a ++ b) D <-> closed a D /\ closed b (fun x => In x (outs a) \/ D x).
Proof.
  induction a as [|n a IH]; intros b D.
  - cbn. split; [intros H; split; auto|intros [_ H]]; (eapply closed_mono; [|exact H]); cbn; tauto.
  - cbn [app closed]. rewrite IH.
    assert (E : forall x, In x (outs (n :: a)) <-> In x (nouts n) \/ In x (outs a)).
    { intros x. unfold outs. cbn. apply in_app_iff. }
    split; [intros (A & B & C)|intros ((A & B) & C)]; repeat split; auto;
      (eapply closed_mono; [|exact C]); cbn; intros x; rewrite E; tauto.
Qed.
Lemma run_nodes_defined ns : forall (D : id -> Prop) e, closed ns D -> (forall x, D x -> defined e x) ->
  forall x, D x \/ In x (outs ns) -> defined (run_nodes ns e) x.
Proof.
  induction ns as [|n ns IH]; cbn; intros D e C H x I.
  - apply H. tauto.
  - destruct C as [A B]. apply (IH (fun x => In x (nouts n) \/ D x)); auto.
    + intros y [J|J]; [apply run_node_defined; auto; intros z Z; auto|].
      destruct (in_dec Pos.eq_dec y (nouts n)); [apply run_node_defined; auto; intros z Z; auto|].
      unfold defined. rewrite run_node_other by auto. apply H; auto.
    + rewrite in_app_iff in I. unfold outs. tauto.
Qed.
(* Nodes that find their inputs in D do the same from any two states that agree on D. *)
Lemma run_nodes_agree ns : forall (D : id -> Prop) e e', closed ns D -> (forall x, D x -> e x = e' x) ->
  forall x, D x \/ In x (outs ns) -> run_nodes ns e x = run_nodes ns e' x.
Proof.
  induction ns as [|n ns IH]; cbn; intros D e e' C A x I.
  - apply A. tauto.
  - destruct C as [C1 C2]. apply (IH (fun x => In x (nouts n) \/ D x)); auto.
    + assert (V : vals e (nins n) = vals e' (nins n)) by (apply vals_ext; auto).
      intros y J. destruct (in_dec Pos.eq_dec y (nouts n)); [apply run_node_out; auto|].
      rewrite !run_node_other by auto. apply A. tauto.
    + rewrite in_app_iff in I. unfold outs. tauto.
Qed.

Lemma NoDup_app_l (A : Type) (a b : list A) : NoDup (a ++ b) -> NoDup a.
Proof. induction a; cbn; intros H; constructor; inversion H; subst; auto. rewrite in_app_iff in *. tauto. Qed.
Lemma NoDup_app_r (A : Type) (a b : list A) : NoDup (a ++ b) -> NoDup b.
Proof. induction a; cbn; auto. intros H. inversion H; auto. Qed.
Lemma NoDup_app_apart (A : Type) (a b : list A) x : NoDup (a ++ b) -> In x a -> ~ In x b.
Proof.
  induction a as [|y a IH]; cbn; intros H I J; [tauto|]. inversion H; subst. destruct I as [->|I]; [|apply IH; auto].
  apply H2. apply in_or_app. auto.
Qed.
Lemma NoDup_app_intro (A : Type) (a b : list A) :
  NoDup a -> NoDup b -> (forall x, In x a -> ~ In x b) -> NoDup (a ++ b).
Proof.
  induction a as [|x a IH]; cbn; intros Na Nb H; auto. inversion Na; subst. constructor.
  - rewrite in_app_iff. intros [J|J]; [auto|apply (H x); auto].
  - apply IH; auto.
Qed.

(* A tensor has one writer. *)
Lemma one_writer (g : list node) n m x : NoDup (outs g) -> In n g -> In m g ->
  In x (nouts n) -> In x (nouts m) -> n = m.
Proof.
  induction g as [|k g IH]; cbn; intros N In_ Im Xn Xm; [tauto|].
  assert (A : forall y, In y (nouts k) -> ~ In y (outs g)) by (intros y; apply NoDup_app_apart, N).
  apply NoDup_app_r in N. destruct In_ as [<-|In_], Im as [<-|Im]; auto.
  - exfalso. apply (A x Xn). apply in_outs. eauto.
  - exfalso. apply (A x Xm). apply in_outs. eauto.
Qed.
Lemma named_permutation g g' D : Permutation g g' -> named g D -> named g' D.
Proof.
  intros P (N & I & E). assert (Q : Permutation (outs g) (outs g')) by (apply Permutation_flat_map; auto).
  split; [eapply Permutation_NoDup; eauto|split].
  - intros x Dx J. apply (I x Dx). eapply Permutation_in; [symmetry|]; eauto.
  - intros n Hn. apply E. eapply Permutation_in; [symmetry|]; eauto.
Qed.
Lemma named_tail n g D : named (n :: g) D -> named g (fun x => In x (nouts n) \/ D x).
Proof.
  intros (N & I & E). cbn in N. split; [eapply NoDup_app_r; eauto|split].
  - intros x [J|J] K; [eapply NoDup_app_apart; eauto|]. apply (I x J). cbn. apply in_or_app. auto.
  - intros m Hm. apply E. right. auto.
Qed.
Lemma named_NoDup g : forall D, named g D -> NoDup g.
Proof.
  induction g as [|n g IH]; intros D H; constructor; [|eapply IH, named_tail; eauto].
  intros J. destruct H as (N & _ & E). assert (K := E n (or_introl eq_refl)).
  destruct (nouts n) as [|x xs] eqn:X; [congruence|].
  cbn in N. rewrite X in N. cbn in N. inversion N; subst. apply H1. apply in_or_app. right. apply in_outs.
  exists n. rewrite X. cbn. auto.
Qed.

(* In the state that a list leaves, the equation of each of its nodes holds. *)
Lemma final_solves g : forall (D : id -> Prop) e, named g D -> closed g D ->
  forall n x, In n g -> In x (nouts n) -> run_nodes g e x = run_node (run_nodes g e) n x.
Proof.
  induction g as [|m g IH]; intros D e W C n x I Ix; [destruct I|].
  assert (W' := named_tail _ _ _ W). destruct C as [C1 C2].
  change (run_nodes (m :: g) e) with (run_nodes g (run_node e m)).
  destruct I as [->|I]; [|eapply IH; eauto].
  destruct W' as (_ & F & _). destruct W as (N & F' & _).
  rewrite run_nodes_other at 1 by (apply F; auto). apply run_node_out; auto. apply vals_ext.
  intros y Iy. rewrite run_nodes_other by (apply F; auto). symmetry. apply run_node_other. intros J.
  apply (F' y); auto. cbn. apply in_or_app. auto.
Qed.

(* ---- what executions are ----------------------------------------------------------------------- *)

(* SINGLE ASSIGNMENT: what has a value keeps it. *)
Theorem single_assignment g e trace s n s' x v :
  reach g e trace s -> unexecuted s n -> (forall x, s' x = run_node s n x) -> s x = Some v -> s' x = Some v.
Proof.
  intros _ U E V. rewrite E, run_node_other; auto. intros J. rewrite (U x J) in V. discriminate.
Qed.

Lemma trace_facts g e trace s : named g (defined e) -> reach g e trace s ->
  (forall x, s x = run_nodes trace e x) /\ closed trace (defined e) /\ incl trace g /\ NoDup trace /\
  forall x, defined s x <-> defined e x \/ In x (outs trace).
Proof.
  intros W R. induction R as [s H|trace s s' n R IH I Rd Un H].
  - split; [auto|]. split; [cbn; auto|]. split; [intros x []|]. split; [constructor|].
    intros x. unfold defined. rewrite H. cbn. tauto.
  - destruct IH as (S & C & In_ & N & Df). repeat split.
    + intros x. rewrite H, run_nodes_app. cbn. apply run_node_ext. auto.
    + apply closed_app. split; auto. cbn. split; auto. intros x Hx. apply Rd in Hx. apply Df in Hx. tauto.
    + intros m Hm. apply in_app_iff in Hm. cbn in Hm. destruct Hm as [Hm|[<-|[]]]; auto.
    + apply NoDup_app_intro; auto; [repeat constructor; auto|]. intros m Hm [<-|[]].
      destruct W as (_ & _ & E). specialize (E n I). destruct (nouts n) as [|y ys] eqn:Y; [congruence|].
      assert (Dy : defined s y). { apply Df. right. apply in_outs. exists n. rewrite Y. cbn; auto. }
      apply Dy. apply Un. rewrite Y. cbn; auto.
    + intros Dx. rewrite outs_app, in_app_iff. cbn. rewrite app_nil_r.
      destruct (in_dec Pos.eq_dec x (nouts n)); auto. unfold defined in Dx. rewrite H, run_node_other in Dx by auto.
      apply Df in Dx. tauto.
    + rewrite outs_app, in_app_iff. cbn. rewrite app_nil_r. intros Dx. unfold defined. rewrite H.
      destruct (in_dec Pos.eq_dec x (nouts n)) as [i|i]; [apply run_node_defined; auto|].
      rewrite run_node_other by auto. apply Df. tauto.
Qed.

(* A node has run, or none of its outputs has a value. *)
Lemma executed_or_not g e trace s n : named g (defined e) -> reach g e trace s -> In n g ->
  In n trace \/ unexecuted s n.
Proof.
  intros W R I. destruct (trace_facts _ _ _ _ W R) as (_ & _ & Inc & _ & Df).
  destruct (in_dec (fun a b : id => Pos.eq_dec a b) (hd 1%positive (nouts n)) (outs trace)) as [i|i].
  - left. apply in_outs in i. destruct i as (m & Hm & X). assert (E := W). destruct E as (N & _ & E).
    specialize (E n I). replace n with m; auto. eapply one_writer; eauto.
    destruct (nouts n); [congruence|]. cbn. auto.
  - right. intros x Hx. destruct (s x) eqn:V; auto. exfalso.
    assert (Dx : defined s x) by (unfold defined; congruence). apply Df in Dx. destruct W as (N & F & E).
    destruct Dx as [Dx|Dx]; [apply (F x Dx); apply in_outs; eauto|].
    apply in_outs in Dx. destruct Dx as (m & Hm & X). apply i. apply in_outs. exists m. split; auto.
    replace m with n by (eapply one_writer; eauto). specialize (E n I). destruct (nouts n); [congruence|]. cbn; auto.
Qed.

(* TERMINATION: no execution runs more nodes than there are. *)
Theorem terminates g e trace s : named g (defined e) -> reach g e trace s -> length trace <= length g.
Proof.
  intros W R. destruct (trace_facts _ _ _ _ W R) as (_ & _ & I & N & _). apply NoDup_incl_length; auto.
Qed.

(* Executions of a list and of a permutation of it are the same. *)
Lemma reach_permutation g g' e trace s : Permutation g g' -> reach g e trace s -> reach g' e trace s.
Proof.
  intros P R. induction R; [constructor; auto|econstructor; eauto]. eapply Permutation_in; eauto.
Qed.

(* Whatever has been executed, in whatever order, agrees with the list's final state. *)
Lemma below g e trace s : named g (defined e) -> closed g (defined e) -> reach g e trace s ->
  forall x v, s x = Some v -> run_nodes g e x = Some v.
Proof.
  intros W C R. induction R as [s H|trace s s' n R IH I Rd Un H]; intros x v E.
  - rewrite H in E. rewrite run_nodes_other; auto. destruct W as (_ & F & _). apply F. unfold defined. congruence.
  - rewrite H in E. destruct (in_dec Pos.eq_dec x (nouts n)) as [i|i].
    + rewrite (final_solves g (defined e) e W C n x I i). unfold run_node in *.
      destruct (index x (nouts n)); auto. destruct (vals s (nins n)) eqn:V; [|discriminate].
      rewrite (vals_mono _ _ IH _ _ V). auto.
    + rewrite run_node_other in E by auto. auto.
Qed.
(* An execution that has come to its end has run every node. *)
Lemma stuck_ran_all g : forall (D : id -> Prop) (s : env), closed g D -> (forall x, D x -> defined s x) ->
  (forall n, In n g -> ready s n -> forall x, In x (nouts n) -> defined s x) ->
  forall x, In x (outs g) -> defined s x.
Proof.
  induction g as [|n g IH]; cbn; intros D s C Df St x I; [tauto|]. destruct C as [C1 C2].
  assert (Dn : forall y, In y (nouts n) -> defined s y).
  { apply St; auto. intros y Hy. auto. }
  apply in_app_iff in I. destruct I as [I|I]; auto.
  apply (IH (fun x => In x (nouts n) \/ D x) s); auto.
  - intros y [Hy|Hy]; auto.
  - intros m Hm. apply St. auto.
Qed.

(* ORDER INDEPENDENCE: every execution that has come to its end has given every tensor the value
   that it has when the nodes run as any fitting list has them. *)
Theorem any_order g g' e trace s : named g (defined e) -> Permutation g g' -> closed g' (defined e) ->
  reach g e trace s -> stuck g s -> forall x, s x = run_nodes g' e x.
Proof.
  intros W P C R St x. assert (W' := named_permutation _ _ _ P W). assert (R' := reach_permutation _ _ _ _ _ P R).
  destruct (trace_facts _ _ _ _ W R) as (_ & _ & _ & _ & Df).
  destruct (in_dec Pos.eq_dec x (outs g')) as [i|i].
  - assert (Dx : defined s x).
    { apply (stuck_ran_all g' (defined e) s); auto. { intros y Hy. apply Df. auto. }
      intros n Hn Rd y Hy. assert (I : In n g) by (eapply Permutation_in; [symmetry|]; eauto).
      destruct (executed_or_not _ _ _ _ n W R I) as [T|U].
      - apply Df. right. apply in_outs. eauto.
      - exfalso. apply (St n I Rd U). }
    unfold defined in Dx. destruct (s x) eqn:V; [|congruence]. symmetry. eapply below; eauto.
  - rewrite run_nodes_other by auto. destruct (s x) eqn:V.
    + symmetry. rewrite <- (below _ _ _ _ W' C R' _ _ V). symmetry. apply run_nodes_other. auto.
    + destruct (e x) eqn:E; auto. exfalso. assert (Dx : defined s x).
      { apply Df. left. unfold defined. congruence. } apply Dx. auto.
Qed.

(* A list in order is an execution, and one that has come to its end. *)
Lemma list_reaches e : forall rest done s, named (done ++ rest) (defined e) -> closed rest (defined s) ->
  reach (done ++ rest) e done s -> reach (done ++ rest) e (done ++ rest) (run_nodes rest s).
Proof.
  induction rest as [|n rest IH]; intros done s W C R.
  - rewrite app_nil_r in *. cbn. auto.
  - destruct C as [C1 C2]. replace (done ++ n :: rest) with ((done ++ [n]) ++ rest) in * by (rewrite <- app_assoc; auto).
    assert (I : In n ((done ++ [n]) ++ rest)) by (rewrite !in_app_iff; cbn; auto).
    cbn [run_nodes fold_left]. apply (IH (done ++ [n]) (run_node s n)); auto.
    + eapply closed_mono; [|exact C2]. cbn. intros x [Hx|Hx]; [apply run_node_defined; auto|].
      unfold defined. destruct (in_dec Pos.eq_dec x (nouts n)); [apply run_node_defined; auto|].
      rewrite run_node_other; auto.
    + apply (reach_next _ _ done s _ n); auto.
      destruct (executed_or_not _ _ _ _ n W R I) as [T|U]; auto. exfalso.
      assert (N := named_NoDup _ _ W). apply NoDup_app_l in N. eapply NoDup_app_apart; eauto. cbn; auto.
Qed.
Theorem list_executes g e : named g (defined e) -> closed g (defined e) ->
  reach g e g (run_nodes g e) /\ stuck g (run_nodes g e).
Proof.
  intros W C. split; [apply (list_reaches e g [] e); auto; constructor; auto|].
  intros n I Rd U. destruct W as (_ & _ & E). specialize (E n I). destruct (nouts n) as [|y ys] eqn:Y; [congruence|].
  assert (Iy : In y (nouts n)) by (rewrite Y; cbn; auto).
  apply (run_nodes_defined g (defined e) e C (fun _ H => H) y); auto. right. apply in_outs. eauto.
Qed.

(* COMPLETENESS: some execution defines every tensor exactly if the graph is well formed, that is if
   its nodes can be listed so that each finds its inputs before it. *)
Theorem complete_iff_well_formed g e : named g (defined e) ->
  (exists trace s, reach g e trace s /\ forall x, In x (outs g) -> defined s x) <->
  well_formed g (defined e).
Proof.
  intros W. split.
  - intros (trace & s & R & A). split; auto. exists trace.
    destruct (trace_facts _ _ _ _ W R) as (_ & C & I & N & Df). split; auto.
    apply NoDup_Permutation; auto. { eapply named_NoDup; eauto. }
    intros n. split; [|auto]. intros Hn. destruct (executed_or_not _ _ _ _ n W R Hn) as [T|U]; auto.
    exfalso. destruct W as (_ & _ & E). specialize (E n Hn). destruct (nouts n) as [|y ys] eqn:Y; [congruence|].
    assert (Iy : In y (nouts n)) by (rewrite Y; cbn; auto).
    apply (A y); [apply in_outs; eauto|]. apply U. auto.
  - intros (_ & g' & P & C). assert (W' := named_permutation _ _ _ P W).
    destruct (list_executes g' e W' C) as [R _]. exists g', (run_nodes g' e). split.
    + apply (reach_permutation g' g); auto. apply Permutation_sym. auto.
    + intros x I. apply (run_nodes_defined g' (defined e)); auto. right.
      eapply Permutation_in; [apply Permutation_flat_map; eauto|auto].
Qed.
(* ... and then every execution that has come to its end does. *)
Theorem well_formed_completes g e trace s : well_formed g (defined e) -> reach g e trace s -> stuck g s ->
  forall x, In x (outs g) -> defined s x.
Proof.
  intros (W & g' & P & C) R St x I. unfold defined. rewrite (any_order g g' e trace s); auto.
  apply (run_nodes_defined g' (defined e)); auto. right.
  eapply Permutation_in; [apply Permutation_flat_map; eauto|auto].
Qed.

End Graph.
