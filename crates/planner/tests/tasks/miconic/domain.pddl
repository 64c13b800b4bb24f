; A lift and its passengers, in the vocabulary of the IPC-2000 domain.
; Boarding ends the wait at the origin, as in the IPC-2023 version: a passenger boards once.
(define (domain miconic)
  (:requirements :strips)
  (:predicates
    (origin ?person ?floor) (floor ?floor) (passenger ?passenger) (destin ?person ?floor)
    (above ?floor1 ?floor2) (boarded ?person) (served ?person) (lift-at ?floor))

  (:action board
    :parameters (?f ?p)
    :precondition (and (floor ?f) (passenger ?p) (lift-at ?f) (origin ?p ?f))
    :effect (and (boarded ?p) (not (origin ?p ?f))))

  (:action depart
    :parameters (?f ?p)
    :precondition (and (floor ?f) (passenger ?p) (lift-at ?f) (destin ?p ?f) (boarded ?p))
    :effect (and (served ?p) (not (boarded ?p))))

  (:action up
    :parameters (?f1 ?f2)
    :precondition (and (floor ?f1) (floor ?f2) (lift-at ?f1) (above ?f1 ?f2))
    :effect (and (lift-at ?f2) (not (lift-at ?f1))))

  (:action down
    :parameters (?f1 ?f2)
    :precondition (and (floor ?f1) (floor ?f2) (lift-at ?f1) (above ?f2 ?f1))
    :effect (and (lift-at ?f2) (not (lift-at ?f1)))))
