;; Towers of blocks. A block is moved in one step, from a block or the table to another place.
(define (domain towers)
  (:requirements :strips :typing :negative-preconditions :equality)
  (:types block)
  (:predicates
    (on ?x ?y - block)
    (on-table ?x - block)
    (covered ?x - block))

  (:action move
    :parameters (?x ?from ?to - block)
    :precondition (and (on ?x ?from) (not (covered ?x)) (not (covered ?to))
                       (not (= ?x ?to)) (not (= ?from ?to)))
    :effect (and (on ?x ?to) (covered ?to) (not (on ?x ?from)) (not (covered ?from))))

  (:action stack
    :parameters (?x ?to - block)
    :precondition (and (on-table ?x) (not (covered ?x)) (not (covered ?to)) (not (= ?x ?to)))
    :effect (and (on ?x ?to) (covered ?to) (not (on-table ?x))))

  (:action unstack
    :parameters (?x ?from - block)
    :precondition (and (on ?x ?from) (not (covered ?x)))
    :effect (and (on-table ?x) (not (on ?x ?from)) (not (covered ?from)))))
