;; A robot with several arms carries boxes between the rooms of a workshop.
(define (domain workshop)
  (:requirements :strips :typing)
  (:types room box arm)
  (:predicates
    (door ?from ?to - room)
    (robot-in ?r - room)
    (box-in ?b - box ?r - room)
    (free ?a - arm)
    (holds ?a - arm ?b - box))

  (:action walk
    :parameters (?from ?to - room)
    :precondition (and (robot-in ?from) (door ?from ?to))
    :effect (and (robot-in ?to) (not (robot-in ?from))))

  (:action lift
    :parameters (?b - box ?a - arm ?r - room)
    :precondition (and (robot-in ?r) (box-in ?b ?r) (free ?a))
    :effect (and (holds ?a ?b) (not (box-in ?b ?r)) (not (free ?a))))

  (:action put
    :parameters (?b - box ?a - arm ?r - room)
    :precondition (and (robot-in ?r) (holds ?a ?b))
    :effect (and (box-in ?b ?r) (free ?a) (not (holds ?a ?b)))))
