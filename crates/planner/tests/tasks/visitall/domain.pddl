; A robot that must visit places of a grid, in the vocabulary of the IPC-2011 domain.
(define (domain grid-visit-all)
  (:requirements :strips :typing)
  (:types place - object)
  (:predicates (connected ?x ?y - place) (at-robot ?x - place) (visited ?x - place))

  (:action move
    :parameters (?curpos ?nextpos - place)
    :precondition (and (at-robot ?curpos) (connected ?curpos ?nextpos))
    :effect (and (at-robot ?nextpos) (visited ?nextpos) (not (at-robot ?curpos)))))
