;; A gardener waters plants with a can that holds water for one plant.
(define (domain greenhouse)
  (:requirements :strips :typing :disjunctive-preconditions :existential-preconditions
                 :negative-preconditions)
  (:types plant tap)
  (:predicates
    (near ?t - tap ?p - plant)
    (locked ?t - tap)
    (full)
    (wet ?p - plant)
    (lights-out))

  (:action fill
    :parameters (?t - tap)
    :precondition (and (not (full)) (not (locked ?t)))
    :effect (full))

  (:action water
    :parameters (?p - plant)
    :precondition (and (full) (or (wet ?p) (exists (?t - tap) (near ?t ?p))))
    :effect (and (wet ?p) (not (full))))

  ;; The gardener leaves with an empty can, past a plant that is wet.
  (:action leave
    :parameters ()
    :precondition (and (not (full)) (exists (?p - plant) (wet ?p)))
    :effect (lights-out)))
