; One crane, blocks on a table.
(define (domain towers)
  (:requirements :strips)
  (:predicates (on ?x ?y) (down ?x) (free ?x) (idle) (hangs ?x))
  (:action lift
    :parameters (?x)
    :precondition (and (free ?x) (down ?x) (idle))
    :effect (and (not (down ?x)) (not (free ?x)) (not (idle)) (hangs ?x)))
  (:action lower
    :parameters (?x)
    :precondition (hangs ?x)
    :effect (and (not (hangs ?x)) (free ?x) (idle) (down ?x)))
  (:action put
    :parameters (?x ?y)
    :precondition (and (hangs ?x) (free ?y))
    :effect (and (not (hangs ?x)) (not (free ?y)) (free ?x) (idle) (on ?x ?y)))
  (:action take
    :parameters (?x ?y)
    :precondition (and (on ?x ?y) (free ?x) (idle))
    :effect (and (hangs ?x) (free ?y) (not (free ?x)) (not (idle)) (not (on ?x ?y)))))
